// Marks in Markdown that survive its rendering: a character begins a mark, another ends it, and both become an element around the words between them.

import { h } from "./dom.js";

const END = "\uE00F";
const TAGS = { "\uE000": "mark", "\uE001": "del", "\uE002": "ins" };
const SIGNS = new RegExp(`([${Object.keys(TAGS).join("")}${END}])`);

export const signed = (tag, words) => Object.keys(TAGS).find((sign) => TAGS[sign] === tag) + words + END;

// Puts the elements in place of the signs.
export function setSigns(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  let tag = "";
  for (const text of texts) {
    const pieces = text.data.split(SIGNS);
    if (pieces.length === 1 && !tag) continue;
    text.replaceWith(...pieces.map((piece) => {
      if (SIGNS.test(piece)) tag = TAGS[piece] ?? "";
      return SIGNS.test(piece) ? "" : tag && piece.trim() ? h(tag, {}, piece) : piece;
    }));
  }
  return element;
}
