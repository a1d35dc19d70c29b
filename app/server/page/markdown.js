// Markdown of plans, sources and of a report that is still being written; the finished report is rendered by the server.

import { count, h, morph } from "./dom.js";
import { arrange, blocksIn, CHUNK } from "./place.js";
import { ROWS } from "./report.js";

const INLINE = /(\*\*[^*]+\*\*|`[^`]+`|\*[^*\s][^*]*\*|!?\[[^\]]*\]\([^)\s]*\)|(?:\[(?:calc )?\d+\])+[.,;:!?)]*)/;
const BREAK = /\n[ \t]*\n/g;

// Each number in brackets of its own: "[1, 2]", "[1], [2]".
const separate = (text) => text.replace(/\[\d+(?:, ?\d+)+\]/g, (numbers) => numbers.replace(/, ?/g, "][")).replace(/\], \[(?=\d|calc \d)/g, "][");

function inline(text) {
  return separate(text).split(INLINE).filter(Boolean).map((piece) => {
    if (/^\*\*.+\*\*$/s.test(piece)) return h("strong", {}, inline(piece.slice(2, -2)));
    if (/^`.+`$/s.test(piece)) return h("code", {}, piece.slice(1, -1));
    if (/^\*.+\*$/s.test(piece)) return h("em", {}, piece.slice(1, -1));
    // Keeps a citation, and the citations and punctuation right after it, on one line.
    if (/^\[(?:calc )?\d+\]/.test(piece)) return h("span", { class: "glued" }, piece.split(/[[\]]+/).filter(Boolean).map((part) => (/^(?:calc )?\d+$/.test(part) ? h("span", { class: "cite" }, part) : part)));
    return piece.replace(/^!?\[([^\]]*)\]\([^)\s]*\)$/, "$1");
  });
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
const figure = (cell) => ({ class: /^[−+–-]?[\d\s.,]*%?$/.test(cell ?? "") && "figure" });

function table(lines) {
  const [head, , ...rows] = lines.slice(0, ROWS + 2).map(cells), more = lines.length - rows.length - 2;
  return h("div", { class: "wide", tabindex: "0" }, h("table", {},
    h("thead", {}, h("tr", {}, head.map((cell, at) => h("th", { scope: "col", ...(at && rows.length ? figure(rows[0][at]) : {}) }, inline(cell))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", figure(cell), inline(cell))))),
      more > 0 && h("tr", {}, h("td", { class: "quiet", colspan: head.length }, `… and ${count(more, "more row")}`)))));
}

function list(items, lines) {
  const joined = [];
  items.forEach((item, index) => (item ? joined.push(item[2]) : (joined[joined.length - 1] += ` ${lines[index].trim()}`)));
  const number = items[0][1];
  return h(number ? "ol" : "ul", { start: number > 1 ? number : null }, joined.map((words) => h("li", {}, inline(words))));
}

function block(lines) {
  if (!lines.length) return [];
  const heading = /^(#{1,6})\s+(.*)$/.exec(lines[0]);
  if (heading) return [h(`h${Math.max(2, heading[1].length)}`, {}, inline(heading[2])), ...block(lines.slice(1))];
  if (lines.length > 1 && /^\s*\|?\s*:?-+/.test(lines[1]) && lines[0].includes("|")) return lines.length > 2 ? [table(lines)] : [];
  if (lines[0].startsWith("```")) return [h("pre", {}, lines.slice(1).join("\n").replace(/\n?```\s*$/, ""))];
  const items = lines.map((line) => /^\s*(?:[-*+•]|(\d+)[.)])\s+(.*)$/.exec(line));
  if (items[0]) return [list(items, lines)];
  const first = items.findIndex(Boolean);
  if (lines[0].startsWith(">")) return [h("blockquote", {}, inline(lines.map((line) => line.replace(/^>\s?/, "")).join(" ")))];
  const end = first > 0 ? first : lines.length;
  return [h("p", {}, inline(lines.slice(0, end).join("\n"))), ...block(lines.slice(end))];
}

const linesOf = (part) => part.split("\n").filter((line) => line.trim());
export const markdown = (text) => text.split(BREAK).flatMap((part) => block(linesOf(part)));

// Renders a text that grows: only its last block is rendered again, and chunks of blocks keep layout cheap.
const chunkIn = (element) => element.appendChild(h("div", { class: "chunk" }));

export class Writing {
  constructor(element) {
    Object.assign(this, { element, start: 0, part: "", last: [], chunk: chunkIn(element) });
  }

  show(text) {
    BREAK.lastIndex = this.start;
    for (let found = BREAK.exec(text); found; found = BREAK.exec(text)) {
      this.replaceLast(text.slice(this.start, found.index));
      Object.assign(this, { start: BREAK.lastIndex, part: "", last: [] });
      if (this.chunk.childElementCount >= CHUNK) this.beginChunk();
    }
    this.replaceLast(text.slice(this.start));
  }

  // From now on, the chunk before is laid out only where it is in view, but it stays as high as it was.
  beginChunk() {
    this.chunk.style.containIntrinsicBlockSize = `auto ${this.chunk.getBoundingClientRect().height}px`;
    this.chunk = chunkIn(this.element);
  }

  // Shows another text; the blocks that it shares with the one before stay.
  replace(text) {
    const parts = text.split(BREAK).map((part) => block(linesOf(part))), { blocks, stale } = arrange(this.element, blocksIn(this.element), parts.flat());
    for (const { element, fresh } of stale) morph(element, fresh);
    const part = text.split(BREAK).at(-1), count = parts.at(-1).length;
    Object.assign(this, { start: text.length - part.length, part, last: count ? blocks.slice(-count) : [], chunk: this.element.lastChild });
  }

  replaceLast(part) {
    if (part === this.part) return;
    this.part = part;
    for (const element of this.last) element.remove();
    this.last = block(linesOf(part));
    this.chunk.append(...this.last);
  }
}
