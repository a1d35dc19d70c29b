// Tells a reader who is not looking at the page that a run has ended, if they want that; they are asked at their first long run.

import { button, h, shortened } from "./dom.js";

const LONG_SECONDS = 30, REFUSED = "deep-research-silent";
const WORDS = { completed: "The report is finished", completed_with_gaps: "The report is finished", waiting: "Your answer is needed", failed: "The research has failed", stopped: "The research was stopped" };

export const mayOffer = (seconds) => seconds >= LONG_SECONDS && globalThis.Notification?.permission === "default" && !localStorage.getItem(REFUSED);
export const offerView = () => [h("span", { class: "doing" }, "This may take a while."), button("notify", "Notify me when it ends"), button("notify", "No", { value: "no", "aria-label": "No notifications" })];

export async function choose(answer) {
  if (answer === "no" || (await Notification.requestPermission()) === "denied") localStorage.setItem(REFUSED, "yes");
}

export function notify(thread, status, name) {
  const isSeen = !document.hidden && document.hasFocus();
  if (isSeen || globalThis.Notification?.permission !== "granted" || !WORDS[status]) return;
  try {
    const shown = new Notification(WORDS[status], { body: shortened(name, 120), tag: thread });
    shown.onclick = () => {
      focus();
      location.hash = `#/run/${thread}`;
      shown.close();
    };
  } catch {
    // Some phones let only service workers notify.
  }
}
