// Elements from code, and the least change that makes a part of the page like a new one.

export const place = (id) => document.getElementById(id);

export function h(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// What the reader has changed stays: what is open, what is typed, where the focus is. An element with `data-keep` is
// changed by nobody else once it stands there.
export function show(place, ...children) {
  const fresh = place.cloneNode(false);
  fresh.append(...children.flat(Infinity).filter(Boolean));
  morphChildren(place, fresh);
}

const MINE = { DETAILS: ["open"], DIALOG: ["open"], TEXTAREA: ["value"], INPUT: ["value", "checked"], OPTION: ["selected"] };

function isLike(old, fresh) {
  return old.nodeName === fresh.nodeName && (old.dataset?.key ?? "") === (fresh.dataset?.key ?? "");
}

function morph(old, fresh) {
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

function morphChildren(place, fresh) {
  const keyed = new Map([...place.children].filter((child) => child.dataset.key).map((child) => [child.dataset.key, child]));
  let next = place.firstChild;
  for (const child of [...fresh.childNodes]) {
    const known = child.dataset?.key && keyed.get(child.dataset.key);
    const old = known && known.nodeName === child.nodeName ? known : next;
    if (old && isLike(old, child)) {
      if (old !== next) place.insertBefore(old, next);
      else next = next.nextSibling;
      morph(old, child);
    } else {
      place.insertBefore(child, next);
    }
  }
  while (next) {
    const after = next.nextSibling;
    next.remove();
    next = after;
  }
}

const policy = globalThis.trustedTypes?.createPolicy("report", { createHTML: (html) => html });

// A page that the server has rendered by its allow-list; nothing in it runs here, by the policy of this page.
export function parsed(html) {
  return new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
}
