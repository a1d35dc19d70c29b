// Words and small elements that several views share.

import { h } from "./dom.js";

export const STATES = { running: "At work", waiting: "Waits for you", completed: "Done", completed_with_gaps: "Done, with gaps",
  stopped: "Stopped", failed: "Failed", ended: "Ended", unreadable: "Cannot be read", starting: "Starting" };
export const DEPTHS = { quick: "Quick", standard: "Standard", deep: "Deep", auto: "Standard" };
export const button = (action, words, more = {}) => h("button", { type: "button", "data-do": action, ...more }, words);
export const dot = (status) => h("span", { class: `dot ${status}`, "aria-hidden": "true" });
export const count = (number, noun) => `${number.toLocaleString("en").replaceAll(",", "\u202f")} ${noun}${number === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;
export const money = (usd) => `$${usd.toFixed(usd < 0.1 ? 3 : 2)}`;

export function duration(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
}

const dateOf = (moment) => (moment && !Number.isNaN(new Date(moment).valueOf()) ? new Date(moment) : null);
export const day = (moment) => dateOf(moment)?.toLocaleDateString([], { dateStyle: "medium" }) ?? "";
export const hour = (moment) => dateOf(moment)?.toLocaleTimeString([], { timeStyle: "short" }) ?? "";

export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most).replace(/\s+\S*$/, "")}…` : text);

// A long text folds to its beginning.
export function folded(text, characters) {
  const line = text.trim().split("\n")[0];
  if (text.trim().length <= characters) return text.trim();
  const head = line.length > characters ? shortened(line, characters) : `${line} …`;
  return h("details", { class: "folded" }, h("summary", {}, head), h("span", { class: "whole" }, text.trim()));
}
