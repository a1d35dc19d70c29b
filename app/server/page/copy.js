// Copies texts, and a report with its headings, lists, tables and links, as word processors and mail programs take them.

import { h } from "./dom.js";

const KEPT = ["H1", "H2", "H3", "H4", "H5", "H6", "P", "UL", "OL", "LI", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD", "BLOCKQUOTE", "STRONG", "EM", "CODE", "PRE", "SUP", "SUB", "BR", "DEL"];
const LEFT_OUT = "svg, aside, .table-head, .table-foot, .address, .number";

// Only elements that a document has, without what the page adds to them.
function plain(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  if (node.nodeType !== Node.ELEMENT_NODE || node.matches(LEFT_OUT)) return "";
  if (node.matches("button.cite")) return `[${node.textContent}]`;
  // Word processors take formulas as text only.
  if (node.localName === "math") return node.getAttribute("alttext") ?? node.textContent;
  const children = [...node.childNodes].map(plain);
  if (node.matches('a[href^="http"]')) return h("a", { href: node.href }, children);
  return KEPT.includes(node.nodeName) ? h(node.localName, { start: node.localName === "ol" && node.getAttribute("start") }, children) : children;
}

// The report that a control belongs to, as HTML, with its title and its sources.
export function formatted(control) {
  const part = control.closest(".report-part"), title = part.querySelector(":scope > .title") ?? part.closest(".exchange").querySelector(".question");
  const sources = [...part.querySelectorAll(".report .printed > ol > li")].map((source) => h("p", {}, `[${source.querySelector(".number").textContent}] `, plain(source)));
  const heading = part.querySelector(".report .printed h2")?.textContent;
  return h("div", {}, h("h1", {}, title.querySelector(".whole")?.textContent ?? title.textContent), plain(part.querySelector(".report article")), sources.length > 0 && h("h2", {}, heading), sources).innerHTML;
}

// Copies a text, which may still have to arrive, and HTML for programs that take it.
export async function put(text, html) {
  if (navigator.clipboard?.write) {
    const kinds = { "text/plain": Promise.resolve(text).then((words) => new Blob([words], { type: "text/plain" })) };
    if (html) kinds["text/html"] = new Blob([html], { type: "text/html" });
    return Promise.all([navigator.clipboard.write([new ClipboardItem(kinds)]), text]);
  }
  const words = await text;
  // Over plain HTTP, browsers have only this.
  addEventListener("copy", (event) => {
    event.preventDefault();
    event.clipboardData.setData("text/plain", words);
    if (html) event.clipboardData.setData("text/html", html);
  }, { once: true });
  if (!document.execCommand("copy")) throw new Error("The browser does not let this page copy.");
}
