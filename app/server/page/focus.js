// Gives the focus back to where the reader was before a dialog, a menu or a control that had to wait.

import { byId } from "./dom.js";

let pressed = null, opener = null;

// The control, or what stands for it once it is hidden: its menu, or the citation that has opened its passage.
function standIn(control) {
  if (!control || control === document.body) return null;
  if (control.isConnected && control.checkVisibility()) return control;
  const popover = control.closest("[popover]");
  return control.closest(".menu")?.querySelector("summary") ?? (popover && document.querySelector(`[popovertarget="${CSS.escape(popover.id)}"]`));
}

// What is hidden loses the focus only when the page is drawn.
const isLost = () => [null, document.body].includes(document.activeElement) || !document.activeElement.checkVisibility();

export const remember = () => (pressed = document.activeElement);

// To `other` if the control that had the focus is gone.
export function giveBack(control, other) {
  if (isLost()) (standIn(control) ?? other)?.focus({ preventScroll: true });
}

// To a place in the text, which is brought into view.
export function leadTo(element) {
  element.tabIndex = -1;
  element.scrollIntoView({ block: "center" });
  element.focus({ preventScroll: true });
}

export function openDialog(dialog) {
  opener = pressed;
  dialog.showModal();
}

export const dialogClosed = () => giveBack(opener, byId("main"));
