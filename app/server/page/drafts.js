// Words that were typed and not sent yet: kept by view, over a reload.

import { byId } from "./dom.js";

const PREFIX = "deep-research-draft ";

// The address of the current view, without what it points at.
export const viewHere = () => /^#\/(?:run\/[\w-]+|check)?/.exec(location.hash)?.[0] ?? "#/";

export function keepDraft({ value }) {
  if (value.trim()) localStorage.setItem(PREFIX + viewHere(), value);
  else localStorage.removeItem(PREFIX + viewHere());
}

export const forgetDraft = () => keepDraft({ value: "" });

export function restoreDraft(field) {
  field.value = localStorage.getItem(PREFIX + viewHere()) ?? "";
}

// Puts words into a field, which the reader may change before they are sent.
export function fillIn(id, words) {
  const field = Object.assign(byId(id), { value: words });
  field.focus();
  keepDraft(field);
}
