// The Markdown of a text that is still being written; the finished report is rendered by the server.

import { h } from "./dom.js";

const INLINE = /(\*\*[^*]+\*\*|`[^`]+`|\*[^*\s][^*]*\*|\[\d+\])/;

function inline(text) {
  return text.split(INLINE).filter(Boolean).map((piece) => {
    if (/^\*\*.+\*\*$/.test(piece)) return h("strong", {}, piece.slice(2, -2));
    if (/^`.+`$/.test(piece)) return h("code", {}, piece.slice(1, -1));
    if (/^\*.+\*$/.test(piece)) return h("em", {}, piece.slice(1, -1));
    if (/^\[\d+\]$/.test(piece)) return h("span", { class: "cite" }, piece.slice(1, -1));
    return piece;
  });
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

function table(lines) {
  const [head, , ...rows] = lines.map(cells);
  return h("div", { class: "wide", tabindex: "0" }, h("table", {},
    h("thead", {}, h("tr", {}, head.map((cell) => h("th", { scope: "col" }, inline(cell))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, inline(cell))))))));
}

function block(lines) {
  const heading = /^(#{1,6})\s+(.*)$/.exec(lines[0]);
  if (heading) {
    const level = Math.min(6, heading[1].length + 1);
    return [h(`h${level}`, {}, inline(heading[2])), ...(lines.length > 1 ? block(lines.slice(1)) : [])];
  }
  if (lines.length > 1 && /^\s*\|?\s*:?-+/.test(lines[1]) && lines[0].includes("|")) return [table(lines)];
  const items = lines.map((line) => /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/.exec(line));
  if (items[0]) {
    const joined = [];
    items.forEach((item, place) => (item ? joined.push(item[2]) : (joined[joined.length - 1] += ` ${lines[place].trim()}`)));
    return [h(items[0][1] ? "ol" : "ul", {}, joined.map((words) => h("li", {}, inline(words))))];
  }
  if (lines[0].startsWith(">")) return [h("blockquote", {}, inline(lines.map((line) => line.replace(/^>\s?/, "")).join(" ")))];
  return [h("p", {}, inline(lines.join(" ")))];
}

export function markdown(text) {
  return text.split(/\n\s*\n/).map((part) => part.split("\n").filter((line) => line.trim())).filter((lines) => lines.length).flatMap(block);
}
