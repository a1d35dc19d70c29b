// A finished report: the server's HTML with citation chips, sortable tables and its check in one line.

import { button, count, h, inPieces, parsedInPieces, pause, shortened } from "./dom.js";
import { fileButton } from "./original.js";
import { linkSentences } from "./sentences.js";
import { nameOf } from "./story.js";

const REFERENCES = ["id", "popovertarget", "aria-labelledby", "href"];
// Why a number is marked, by its verdict; without a passage, the sentence was not compared with the source.
const MARKED = { unsupported: "No source cited here supports the sentence; the closest passage is below.", unchecked: "The number is dashed: whether this passage supports the sentence is not decided.",
  conclusion: "The number is dashed: the sentence is a conclusion or says what is missing, so it was not compared with this source.", none: "The number is dashed: this report was not compared with its sources." };
const UNPROVED = { unsupported: "No source cited here supports this", unchecked: "This was not checked", uncited: "No source is cited for this" };
// A table with at most so many rows is put into the page at once; a draft shows no more of them.
export const ROWS = 40;
// Rows of a longer table that are put into the page, and laid out, together.
const PIECE = 20;
// Cards that are put into the page, and elements that are changed, at once.
const MARKS = 200;
const LOOKED = "Looked in: ", NOT_FOUND = "Not found";
const FOLDED = ["notes", "evidence", "not-read", "audit"];

// Several reports share the page, so the ids of each get a prefix.
export const idOf = (run) => `${run.question_id.slice(0, 8)}-`;

function rename(element, name, prefix) {
  const value = element.getAttribute(name);
  if (name !== "href") element.setAttribute(name, prefix + value);
  else if (value.startsWith("#")) element.setAttribute(name, `#${prefix}${value.slice(1)}`);
}

const quoteOf = (report, chip) => report.querySelector(`#${CSS.escape(chip.getAttribute("popovertarget") ?? "none")}`);

function equipTable(table) {
  for (const [index, cell] of [...table.querySelectorAll("thead th")].entries()) {
    if (!cell.querySelector("button")) cell.replaceChildren(h("button", { type: "button", class: "sort", "data-do": "sort", value: String(index) }, [...cell.childNodes]));
  }
  (table.closest(".wide") ?? table).after(h("p", { class: "table-foot" }, button("copy-table", "Copy table", { class: "link" })));
}

// How many cells of a table whose rows were researched were found; those that were not open a card.
function headTable(table) {
  const cells = table.querySelectorAll("td").length, blanks = table.querySelectorAll("td.blank").length;
  (table.closest(".wide") ?? table).before(h("p", { class: "table-head quiet" }, `${cells - blanks} of ${count(cells, "cell")} found`, blanks > 0 && "; a dash says where it was looked for"));
}

const blankWords = ({ dataset: { looked } }) => (looked ? `${NOT_FOUND}. ${LOOKED}${looked}` : `${NOT_FOUND}. No source was read for this row.`);

// The card of a cell that was not found.
export function showBlank(control) {
  const cell = control.closest("td"), row = cell.parentElement, head = cell.closest("table").tHead.rows[0];
  const report = control.closest(".report"), { looked } = row.dataset;
  report.querySelector(":scope > .quote.missed")?.remove();
  const close = h("button", { type: "button" }, "Close");
  const card = h("aside", { class: "quote missed", popover: "auto", role: "dialog", tabindex: "-1", autofocus: "", "aria-label": NOT_FOUND },
    h("p", { class: "title", dir: "auto" }, [wordsOf(row, 0), wordsOf(head, cell.cellIndex)].filter(Boolean).join(" · ")),
    h("p", {}, looked ? `${NOT_FOUND}. ${LOOKED.trim()}` : blankWords(row)),
    looked && h("ul", { class: "small" }, looked.split("; ").map((place) => h("li", {}, place))),
    h("p", { class: "foot" }, close));
  close.addEventListener("click", () => card.hidePopover());
  report.append(card);
  card.showPopover({ source: control });
}

const oneLine = (element) => element.textContent.replace(/\s+/g, " ").trim();

// Puts formulas back as the report writes them: 10^3 is not 103.
function unsetFormulas(copy) {
  for (const formula of copy.querySelectorAll("math")) formula.replaceWith(formula.getAttribute("alttext"));
}

// A blank cell has no words.
function wordsOf(row, index) {
  if (row.cells[index]?.matches(".blank")) return "";
  const cell = row.cells[index]?.cloneNode(true) ?? h("td");
  for (const chip of cell.querySelectorAll(".cite")) chip.remove();
  unsetFormulas(cell);
  return oneLine(cell);
}

const firstOrder = new WeakMap();

// Up, down, and back to the first order; blank cells stay last.
export async function sortTable(control) {
  const table = control.closest("table"), index = Number(control.value), cell = control.closest("th");
  const direction = { ascending: -1, descending: 0 }[cell.getAttribute("aria-sort")] ?? 1;
  const bodies = [...table.tBodies].map((body) => [body, body.rows.length]);
  const rows = [];
  for (const [body] of bodies) {
    rows.push(...[...body.rows].map((row) => [wordsOf(row, index), row]));
    await pause();
  }
  if (!firstOrder.has(table)) firstOrder.set(table, new Map(rows.map(([, row], at) => [row, at])));
  const order = firstOrder.get(table);
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  rows.sort(([left, row], [right, other]) => (direction ? (left === "") - (right === "") || direction * compare(left, right) : order.get(row) - order.get(other)));
  for (const head of table.querySelectorAll("th[aria-sort]")) head.removeAttribute("aria-sort");
  if (direction) cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  for (const [body, length] of bodies) {
    body.append(...rows.splice(0, length).map(([, row]) => row));
    await pause();
  }
}

export async function tableText(control) {
  const table = control.parentElement.previousElementSibling.querySelector("tr").closest("table"), lines = [];
  for await (const rows of inPieces(table.rows, PIECE, pause)) lines.push(...rows.map((row) => [...row.cells].map((_, index) => wordsOf(row, index)).join("\t")));
  return lines.join("\n");
}

function equipCard(card, run) {
  const number = card.querySelector(".number").textContent, foot = card.querySelector(".foot"), badge = card.querySelector(".badge");
  card.removeAttribute("autofocus");
  foot.prepend(h("button", { type: "button", "data-do": "open-source", value: number }, "Show it in the source"));
  // For ".badge ~ .small", browsers look through the whole page of each card.
  badge?.parentElement.querySelector(".small")?.remove();
  const before = card.querySelector(".before");
  before?.replaceChildren("Corrected by the check; the draft said: ", before.querySelector("del"));
  const marked = MARKED[badge?.className.split(" ")[1]];
  if (marked) badge.parentElement.after(h("p", { class: "small" }, marked));
  badge?.after(h("span", { class: "quiet" }, ` · ${aboutSource(run.sources.find((source) => String(source.number) === number))}`));
}

// One line about a source: its file or site, its facts, and whether it was read only in part; empty for an unknown source.
export const aboutSource = (source) => (source ? [source.place !== source.title && source.place, ...source.facts, source.extent !== "whole" && "read in part"].filter(Boolean).join(" · ") : "");

function howChecked(page, { trust }) {
  if (!trust.was_checked) return [];
  const judge = page.querySelector(".legend .small")?.textContent;
  return [h("p", {}, `Statements were compared with passages of the sources they cite. ${trust.without_source ? `${trust.without_source} more need no source. ` : ""}${judge ? `${judge}.` : ""}`),
    h("ul", { class: "key" }, h("li", {}, h("span", { class: "cite supported" }, "1"), " The passage supports the statement."),
      h("li", {}, h("span", { class: "cite" }, "1"), " A dashed number: the sentence was not compared with the source, or the passage does not decide it."), h("li", {}, h("span", { class: "claim unsupported" }, "Words"), " No cited source supports this."))];
}

// Takes what a long report has beyond the first rows of its tables and its first cards out of its page; returns the pieces, with the elements that they belong in.
async function takeLater(page, report, pause) {
  const later = [];
  for (const body of page.querySelectorAll("tbody")) {
    const table = body.parentElement;
    if (body.rows.length <= ROWS) continue;
    table.classList.add("long");
    table.style.setProperty("--columns", table.rows[0].cells.length);
    for await (const rows of inPieces([...body.rows].slice(PIECE), PIECE, pause)) {
      const part = body.cloneNode(false);
      part.append(...rows);
      later.push([table, part]);
    }
  }
  for await (const cards of inPieces([...page.querySelectorAll("aside.quote")].slice(MARKS), MARKS, pause)) {
    const part = new DocumentFragment();
    part.append(...cards);
    later.push([report, part]);
  }
  return later;
}

// Puts the pieces into a report that is in the page, and has its long tables sorted from then on.
export async function putLater(later, put, pause) {
  for (const [holder, piece] of later) {
    await pause();
    // Cards and rows that are folded away move no line, and looking for one would lay the page out.
    if (holder.matches("table") && !holder.closest("details:not([open])")) put(() => holder.append(piece));
    else holder.append(piece);
  }
  for (const holder of new Set(later.map(([holder]) => holder))) if (holder.closest("article table")) equipTable(holder);
}

// Pauses between its steps, since a long report has thousands of statements.
export async function renderReport(html, run, pause) {
  // The style in its head is served as a file.
  const page = await parsedInPieces(html.replace(/<head>[\s\S]*?<\/head>/, ""), pause), prefix = idOf(run);
  const each = async (selector, change) => {
    for await (const elements of inPieces(page.querySelectorAll(selector), MARKS, pause)) elements.forEach(change);
  };
  await each("aside.quote:not(.calculation)", (card) => equipCard(card, run));
  await each("a.cite:not(.calc)", (cite) => cite.replaceWith(button("open-source", cite.textContent, { class: "cite", value: cite.textContent, "aria-label": cite.ariaLabel, "aria-description": cite.closest("article") && MARKED[run.trust.was_checked ? "conclusion" : "none"] })));
  await each(".claim:not(.supported)", (claim) => (claim.title = UNPROVED[claim.className.split(" ")[1]]));
  // Browsers do not open files from a page: the server sends the file from a card, elsewhere the text that was read is shown.
  await each('a[href^="file:"]', (link) => {
    const number = link.closest("li, tr, aside")?.querySelector(".number")?.textContent;
    if (link.matches(".quote .foot a")) link.replaceWith(fileButton(number, nameOf(link.href), /#page=(\d+)$/.exec(link.href)?.[1]));
    else link.replaceWith(number ? h("button", { type: "button", class: "link", "data-do": "open-source", value: number }, link.textContent) : link.textContent);
  });
  page.querySelectorAll("table.researched").forEach(headTable);
  await each("td.blank", (cell) => cell.replaceChildren(h("button", { type: "button", class: "link", "data-do": "show-blank", "aria-label": NOT_FOUND, title: blankWords(cell.parentElement) }, "–")));
  await each("table.researched td .claim", (words) => words.textContent === "n/a" && (words.title = "Does not apply, as the source says"));
  await linkSentences(page, pause);
  const corrected = new Set([...page.querySelectorAll(".before")].map((words) => words.closest("aside").id));
  await each("article button.cite", (chip) => corrected.has(chip.getAttribute("popovertarget")) && claimOf(chip)?.classList.add("corrected"));
  for (const name of REFERENCES) await each(`[${name}]`, (element) => rename(element, name, prefix));
  const cited = Map.groupBy(page.querySelectorAll("article .cite"), (chip) => chip.textContent);
  const statements = new Map([...cited].map(([number, chips]) => [number, new Set(chips.map((chip) => chip.closest("td") ?? (chip.dataset.sentence || chip.parentElement))).size]));
  await pause();
  const report = h("div", { lang: page.documentElement.lang, dir: page.documentElement.dir }), later = await takeLater(page, report, pause);
  for (const table of page.querySelectorAll("article table:not(.long)")) equipTable(table);
  report.append(...page.querySelectorAll("main > *, aside.quote"));
  const checked = h("details", { class: "checked", id: `${prefix}checked` }, h("summary", {}, run.trust.was_checked ? `How it was checked: ${run.trust.line}` : "Notes"), howChecked(page, run));
  for (const name of FOLDED) {
    const section = report.querySelector(`#${CSS.escape(prefix + name)}`)?.parentElement;
    if (section) checked.append(section);
  }
  report.querySelector(`#${CSS.escape(prefix)}sources`)?.parentElement.classList.add("printed");
  if (checked.children.length > 1) report.append(checked);
  const headings = [...report.querySelectorAll("article :is(h2, h3), :scope > section:not(.printed) h2")].map((heading) => ({ id: heading.id, words: heading.textContent.trim(), level: heading.tagName }));
  return { report, headings, later, cited: new Map([...cited].map(([number, chips]) => [number, chips.length])), statements };
}

// What is in the Markdown of a block, but not in its text: citations, addresses, the number of an item.
const UNSHOWN = /\[(?:calc )?\d+(?:, ?\d+)*\]|\[\^[^\]]+\]|\]\([^)]*\)|^\s*\d{1,3}[.)]\s/g;
const BLOCKS = "article :is(h2, h3, h4, h5, h6, p, li, table, pre)";
const MOMENT = 8_000;
export const lettersOf = (text) => text.replace(/[^\p{L}\p{N}]+/gu, "");

export function lettersIn(element) {
  const copy = element.cloneNode(true);
  for (const inner of copy.querySelectorAll(".cite, li > :is(ul, ol)")) inner.remove();
  unsetFormulas(copy);
  return lettersOf(copy.textContent);
}

// Marks elements, each for a moment from when it is first in view.
function marker() {
  const watch = new IntersectionObserver((entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      watch.unobserve(target);
      setTimeout(() => (target.dataset.changed = "seen"), MOMENT);
    }
  });
  return (element) => {
    element.dataset.changed = "new";
    watch.observe(element);
  };
}

// Marks the blocks with these texts, each for a moment from when it is first in view.
export function markChanges(report, texts) {
  const changed = new Set(texts.map((text) => lettersOf(text.replace(UNSHOWN, "")))), mark = marker();
  for (const block of report.querySelectorAll(BLOCKS)) {
    if (block.parentElement.closest("[data-changed]") || !changed.has(lettersIn(block))) continue;
    mark(block);
  }
}

// Marks the cells of a table that differ from those of the version before, or are new in it.
export async function markCells(table, before, pause) {
  const mark = marker(), headings = (row) => [...row.cells].map((_, index) => wordsOf(row, index)), columns = headings(table.rows[0]);
  const known = new Map();
  for await (const rows of inPieces(before.rows, PIECE, pause)) for (const row of rows) known.set(wordsOf(row, 0), row);
  const places = headings(before.rows[0]), positions = columns.map((name) => places.indexOf(name));
  for await (const rows of inPieces([...table.rows].slice(1), PIECE, pause)) {
    for (const row of rows) {
      const other = known.get(wordsOf(row, 0));
      for (const [index, cell] of [...row.cells].entries()) {
        const had = other && positions[index] >= 0 ? wordsOf(other, positions[index]) : "";
        if (!other || (wordsOf(row, index) && wordsOf(row, index) !== had)) mark(cell);
      }
    }
  }
}

function claimOf(chip) {
  let claim = chip?.previousElementSibling;
  while (claim && !claim.matches(".claim")) claim = claim.previousElementSibling;
  return claim;
}

// The words of a quote that decided the verdict; or its lines with figures of the citing statement; all of it if no line has any.
function decisive(quote, chip) {
  const deciding = [...quote.querySelectorAll("mark")].map((part) => part.textContent);
  if (deciding.length) return deciding;
  const figures = claimOf(chip)?.textContent.match(/\d[\d.,]*\d|\d/g) ?? [];
  const lines = quote.textContent.split("\n").filter((line) => figures.some((figure) => line.includes(figure)));
  return lines.length ? lines : [quote.textContent];
}

// The preview of a citation: title, verdict, what is known about the source, and passages.
export function hintOf(chip, about) {
  if (chip.matches(".calc")) return [...quoteOf(chip.closest(".report"), chip).children].slice(0, -1).map((part) => part.cloneNode(true));
  const quote = quoteOf(chip.closest(".report"), chip), badge = quote?.querySelector(".badge");
  const reasons = [h("p", {}, badge ? "" : chip.getAttribute("aria-description"))].filter((part) => part.textContent);
  for (let part = badge?.parentElement.nextElementSibling; part && !part.matches("blockquote, .foot"); part = part.nextElementSibling) reasons.push(part.cloneNode(true));
  const passages = [...(quote?.querySelectorAll("blockquote") ?? [])].slice(0, 2).map((passage) => decisive(passage, chip).join("\n"));
  return [h("p", { class: "title" }, quote ? oneLine(quote.querySelector(".title")) : chip.getAttribute("aria-label")),
    h("p", { class: "quiet" }, badge ? badge.cloneNode(true) : "Not checked against the source", about && ` · ${about}`),
    ...reasons,
    ...[...(quote?.querySelectorAll("blockquote ~ ul code") ?? [])].map((line) => h("p", {}, line.cloneNode(true))),
    ...passages.map((passage) => h("blockquote", {}, shortened(passage, 280)))];
}

// The passages next to a control, to be marked in the source: the words of an input, or those of the card or row; null on a source's card, for all that the report quotes.
export function passagesBeside(control) {
  if (control.matches(".source-card")) return null;
  const stated = control.parentElement.querySelector(":scope > q");
  if (stated) return [stated.textContent];
  // An input of a calculation may come without words, and from another source than the card.
  const holder = control.closest("li") ? null : control.closest(".quote, tr"), chip = document.querySelector(`[popovertarget="${CSS.escape(holder?.id || "none")}"]`);
  return [...(holder?.querySelectorAll("blockquote") ?? [])].flatMap((quote) => decisive(quote, chip));
}
