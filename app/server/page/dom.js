// Creates elements and morphs a part of the page into a new version; also words and small elements that several views share.

export const byId = (id) => document.getElementById(id);
// For screen readers.
export const say = (words) => (byId("said").textContent = words);

export function h(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Keeps what the reader has changed: open details, typed text, the focus. An element with `data-keep` is never updated.
export function show(node, ...children) {
  const fresh = node.cloneNode(false);
  fresh.append(...children.flat(Infinity).filter(Boolean));
  morphChildren(node, fresh);
}

const MINE = { DETAILS: ["open"], DIALOG: ["open"], TEXTAREA: ["value"], INPUT: ["value", "checked"], OPTION: ["selected"] };
const isLike = (old, fresh) => old.nodeName === fresh.nodeName && (old.dataset?.key ?? "") === (fresh.dataset?.key ?? "");

export function morph(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if ("keep" in old.dataset) return;
  const mine = MINE[old.nodeName] ?? [];
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !mine.includes(name)) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !mine.includes(name)) old.removeAttribute(name);
  }
  morphChildren(old, fresh);
}

function morphChildren(node, fresh) {
  const keyed = new Map([...node.children].filter((child) => child.dataset.key).map((child) => [child.dataset.key, child]));
  const kept = new Set([...fresh.children].map((child) => child.dataset.key));
  // What goes would keep those behind it, such as the box with its words, from being found.
  for (const [key, child] of keyed) if (!kept.has(key)) child.remove();
  let next = node.firstChild;
  for (const child of [...fresh.childNodes]) {
    const known = child.dataset?.key && keyed.get(child.dataset.key);
    const old = known && known.nodeName === child.nodeName ? known : next;
    if (old && isLike(old, child)) {
      if (old !== next) node.insertBefore(old, next);
      else next = next.nextSibling;
      morph(old, child);
    } else {
      node.insertBefore(child, next);
    }
  }
  while (next) {
    const after = next.nextSibling;
    next.remove();
    next = after;
  }
}

const policy = globalThis.trustedTypes?.createPolicy("report", { createHTML: (html) => html });

// A document rendered by the server from its allow-list; the policy of this page keeps its scripts from running.
export const parsed = (html) => new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");

// Lets the page do what else there is to do.
export const pause = () => new Promise((goOn) => setTimeout(goOn));

// Many elements in pieces of a length, with a pause between two.
export async function* inPieces(elements, length, pause) {
  const all = [...elements];
  for (let at = 0; at < all.length; at += length) {
    if (at) await pause();
    yield all.slice(at, at + length);
  }
}

// Characters that are parsed at once.
const PARSED = 100_000;

// A long document like `parsed`, a piece at a time.
export async function parsedInPieces(html, pause) {
  const page = document.implementation.createHTMLDocument("");
  for (let at = 0; at < html.length; at += PARSED) {
    if (at) await pause();
    const piece = html.slice(at, at + PARSED);
    page.write(policy ? policy.createHTML(piece) : piece);
  }
  page.close();
  return page;
}

export const STATES = { running: "Running", waiting: "Waiting for you", completed: "Done", completed_with_gaps: "Done",
  stopped: "Stopped", failed: "Failed", ended: "Closed", unreadable: "Cannot be read", starting: "Starting" };
// How a run stands, and what keeps a finished one from being plainly done.
const isDone = ({ status }) => STATES[status] === STATES.completed;
export const outcomeOf = (run) => [STATES[run.status] ?? run.status, isDone(run) && run.doubts].filter(Boolean).join(", ");
export const outcomeDot = (run) => dot(isDone(run) ? (run.doubts ? "completed_with_gaps" : "completed") : run.status);
export const DEPTHS = { quick: "Quick", standard: "Standard", deep: "Deep", auto: "Standard", recalled: "From what was read" };
export const button = (action, words, more = {}) => h("button", { type: "button", "data-do": action, ...more }, words);
export const dot = (status) => h("span", { class: `dot ${status}`, "aria-hidden": "true" });
export const count = (number, noun) => `${number.toLocaleString("en").replaceAll(",", "\u202f")} ${noun}${number === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;
export const money = (usd) => `$${usd.toFixed(usd < 0.1 ? 3 : 2)}`;
export const duration = (seconds) => (seconds >= 7200 ? `${Math.round(seconds / 3600)} h` : 0) || [seconds >= 59.5 && `${Math.floor(Math.round(seconds) / 60)} min`, (Math.round(seconds) % 60 > 0 || seconds < 1) && `${Math.round(seconds) % 60} s`].filter(Boolean).join(" ");
const dateOf = (moment) => (moment && !Number.isNaN(new Date(moment).valueOf()) ? new Date(moment) : null);
export const day = (moment) => dateOf(moment)?.toLocaleDateString([], { dateStyle: "medium" }) ?? "";
// A time never breaks before "PM".
export const hour = (moment) => (dateOf(moment)?.toLocaleTimeString([], { timeStyle: "short" }) ?? "").replace(/\s/g, "\u00a0");
export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most).replace(/\s+\S*$/, "")}…` : text);

// A text that folds to its beginning if it has more than this number of characters.
export function folded(text, characters) {
  const line = text.trim().split("\n")[0];
  if (text.trim().length <= characters) return text.trim();
  const head = line.length > characters ? shortened(line, characters) : `${line} …`;
  return h("details", { class: "folded" }, h("summary", {}, head), h("span", { class: "whole" }, text.trim()));
}
