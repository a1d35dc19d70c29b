// The rows of a table while they are found and filled: a change draws its own row alone, and many at once are drawn in pieces.

import { count, h } from "./dom.js";

// Rows that are drawn at once, and that are laid out together.
const PIECE = 40;
const isShown = (row) => row?.standing === "found" || row?.standing === "filled";

// The columns that a plan names: steps such as "3. Amount (money in EUR, key): what was paid".
const COLUMN = /^\s*\d+[.)]\s+([^(:]+?)\s*(?:\(([^()]*)\))?\s*(?::.*)?$/;
export function columnsOf(plan) {
  const columns = plan.split("\n").map((line) => COLUMN.exec(line)).filter(Boolean).map(([, name, kind = ""]) => ({ name, isKey: /(?:^|, )key$/.test(kind) }));
  return columns.some(({ isKey }) => isKey) ? columns : columns.map((column, at) => ({ ...column, isKey: at === 0 }));
}

// How many rows have been looked for in full, and how many there are.
export const filledRows = ({ rows }) => [[...rows.values()].filter(({ standing }) => standing === "filled").length, [...rows.values()].filter(isShown).length];

export const tableHolder = () => h("div", { class: "wide", tabindex: "0", "data-keep": true, "data-key": "rows" });

export class RowTable {
  // The names of rows stand for their key columns.
  constructor(holder, planned = []) {
    const keys = planned.filter(({ isKey }) => isKey).map(({ name }) => name);
    const caption = h("caption", {}, "The table so far: no row yet"), head = h("tr", {}, h("th", { scope: "col" }, keys.join(" · ") || "Row"));
    Object.assign(this, { holder, caption, head, keys, table: h("table", { class: "rows" }, caption, h("thead", {}, head)), columns: [], drawn: new Map(), lines: new Map(), isDrawing: false });
    for (const { name } of planned) this.add(name);
    holder.replaceChildren(this.table);
  }

  // Draws the rows that differ from what is shown; `pause` lets the page do what else there is to do.
  async show(rows, pause) {
    this.rows = rows;
    if (this.isDrawing) return;
    this.isDrawing = true;
    for (let changed = this.changed(); changed.length; changed = this.changed()) {
      for (const [id, row] of changed) this.draw(id, row);
      this.caption.textContent = `The table so far: ${count(this.lines.size, "row")}, not checked yet`;
      await pause();
    }
    this.isDrawing = false;
  }

  changed() {
    return [...this.rows].filter(([id, row]) => this.drawn.get(id) !== row).slice(0, PIECE);
  }

  draw(id, row) {
    this.drawn.set(id, row);
    if (!isShown(row)) {
      this.lines.get(id)?.remove();
      this.lines.delete(id);
      return;
    }
    for (const column of row.cells.keys()) this.add(column);
    if (!this.lines.has(id)) this.lines.set(id, this.part().appendChild(h("tr", {}, h("th", { scope: "row" }, row.name), this.columns.map(() => h("td", {}, "…")))));
    const [, ...cells] = this.lines.get(id).cells;
    for (const [at, column] of this.columns.entries()) {
      const words = row.cells.get(column) ?? "…";
      if (cells[at].textContent !== words) cells[at].textContent = words;
    }
  }

  // The part to which the next row is added: parts out of view are not laid out.
  part() {
    const last = [...this.table.tBodies].at(-1);
    return last && last.rows.length < PIECE ? last : this.table.appendChild(h("tbody"));
  }

  add(column) {
    if (this.columns.includes(column) || this.keys.includes(column)) return;
    this.columns.push(column);
    this.table.style.setProperty("--columns", this.columns.length + 1);
    this.head.append(h("th", { scope: "col" }, column));
    for (const line of this.lines.values()) line.append(h("td", {}, "…"));
  }
}
