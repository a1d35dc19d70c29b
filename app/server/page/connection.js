// Whether the server answers. The first request without an answer shows a line, and the server is asked again until it is back.

import { byId } from "./dom.js";

// Milliseconds between two tries, and after which one is given up.
const PAUSE = 2000, LIMIT = 2000;
let coming = null;

export const isLost = () => coming !== null;
// Resolves once the server answers; at once if nothing is known to be wrong.
export const connected = () => Promise.resolve(coming);
export const lost = () => (coming ??= back());

// A browser that is online again, or a tab that is shown again, need not wait; timers of hidden tabs are slow.
const pause = () => new Promise((go) => {
  setTimeout(go, PAUSE);
  for (const sign of ["online", "visibilitychange"]) addEventListener(sign, go, { once: true });
});

// What the reader did meanwhile may not have arrived.
export const unconfirmed = () => coming && (byId("link").textContent = "The connection was lost; trying again. Your last step may not have arrived: repeat it once it is back.");

async function back() {
  byId("link").textContent = "The connection was lost; trying again.";
  do await pause();
  while (!(await fetch("/ok", { signal: AbortSignal.timeout(LIMIT) }).then(({ ok }) => ok, () => false)));
  coming = null;
  byId("link").textContent = "";
  dispatchEvent(new Event("connected"));
}
