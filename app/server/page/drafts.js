// What was typed and not sent yet, words and changes of a plan: kept by view, over a reload.

import { byId } from "./dom.js";

const PREFIX = "deep-research-draft ";

// The address of the current view, without what it points at.
export const viewHere = () => /^#\/(?:run\/[\w-]+|check)?/.exec(location.hash)?.[0] ?? "#/";

const PLAN = " plan";

function keep(value, of = "") {
  const key = PREFIX + viewHere() + of;
  if (value.trim()) localStorage.setItem(key, value);
  else localStorage.removeItem(key);
}

export const keepDraft = ({ value }) => keep(value);
export const keepPlanDraft = (draft) => keep(JSON.stringify(draft), PLAN);
export const forgetPlanDraft = () => keep("", PLAN);

// The changes of a plan; none of another plan, which took its place.
export function planDraft(proposed) {
  const draft = JSON.parse(localStorage.getItem(PREFIX + viewHere() + PLAN) ?? "{}");
  return draft.proposed === proposed ? draft : {};
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
