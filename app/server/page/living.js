// Signs of life that the log does not hold: what arrives of each model call, and how long nothing has.

import { count, duration } from "./dom.js";

// Milliseconds of silence after which it is shown, and after which a report of it is out of date: the server repeats it every ten seconds.
const LONG = 30_000, OLD = 25_000;
// Words from which a researcher's text is its finding, not a remark.
const MANY = 20;
const IS_ANSWER = /_delta$|^call_(finished|pending)$/;

export const noSigns = () => ({ heard: 0, calls: new Map() });
const keyOf = ({ turn_index: turn, tab_index: tab }) => `${turn}.${tab}`;

// Notes a packet of the live stream. `heard` is when any model last gave a sign, `since` when a silent one did or is asked `again`.
export function notice(signs, packet) {
  const { type, placement, silent_seconds: silent, words, facts } = packet, key = keyOf(placement), now = Date.now();
  const { again, then = 0 } = signs.calls.get(key) ?? {};
  if (type === "call_delayed") return signs.calls.set(key, { again: askingAgain(packet), then: now + packet.seconds * 1000 });
  if (type === "call_pending" && silent) return signs.calls.set(key, { since: Math.max(now - silent * 1000, then), noticed: now, again, then });
  if (IS_ANSWER.test(type)) signs.heard = now;
  if (type === "call_pending") signs.calls.set(key, { words, facts });
  else signs.calls.delete(key);
}

const isSilent = ({ noticed = 0 }) => Date.now() - noticed < OLD;
const noAnswer = (since) => Date.now() - since >= LONG && `No answer from the model for ${duration(Math.floor((Date.now() - since) / 1000))}, still trying`;

// Says in how long a call is tried again.
export function askingAgain({ seconds, reason }) {
  const then = Date.now() + seconds * 1000;
  return () => `Asking the model again ${then > Date.now() ? `in ${duration(Math.ceil((then - Date.now()) / 1000))}` : "now"}: ${reason}`;
}

// For the whole run: shown only if no other call has had an answer meanwhile.
export function silence({ heard, calls }) {
  const silent = [...calls.values()].filter(isSilent).map(({ since }) => since);
  return silent.length > 0 && noAnswer(Math.max(heard, Math.min(...silent)));
}

// What a researcher is doing, in one line, and for how long.
export function lineOf(exchange, { key, now, since, finding }) {
  const call = exchange.signs.calls.get(key) ?? {}, { words = 0, facts } = call, lasting = `${now} · ${workedSince(exchange, since)}`;
  if (call.again || isSilent(call)) return (isSilent(call) && noAnswer(call.since)) || call.again?.() || lasting;
  const written = finding ? { words: finding.split(/\s+/).filter(Boolean).length, facts: (finding.match(/\[\d[\d, ]*\](?!\s*\[\d)/g) ?? []).length } : { words, facts };
  return written.words >= (finding ? 1 : MANY) ? `Writing: ${count(written.words, "word")}${written.facts ? `, ${count(written.facts, "fact")}` : ""}` : lasting;
}

// The time for which a run has worked so far, in seconds, and for how long of it a researcher that began at `began`.
export const workedNow = ({ run, worked, since }) => worked + (["running", "starting"].includes(run.status) ? (Date.now() - since) / 1000 : 0);
export const workedSince = (exchange, began) => duration(Math.max(0, Math.floor(workedNow(exchange) - began)));
