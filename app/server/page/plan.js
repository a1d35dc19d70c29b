// The plan while it is reviewed: a field per step and checklist item, which can be changed, moved, added and removed.

import { button, h, shortened } from "./dom.js";
import { keepPlanDraft, planDraft } from "./drafts.js";

// Text between the steps and items is shown unchanged.
const FIELD = /^[ \t]*(\d+[.)][ \t]+|[-*][ \t]+|(?=\S))(.*(?:\n(?![ \t]*(?:\d+[.)]|[-*]|#|$)).+)*)/gm;
const BUILDS_ON = /\((?:thought alone; )?builds on ([\d., ]+)\)\s*$/;
const planFields = (text) => [...text.matchAll(FIELD)].map(([, lead, words]) => ({ lead, words: words.replace(/\n\s*/g, "\n") }));
const nounOf = (lead) => (/\d/.test(lead) ? "step" : lead && "item");
// What the lines of a plan are called: of a report, and of a table.
const WORDS = {
  report: { question: "Does this plan look right?", step: "Step", item: "Checklist item", addStep: "Add a step", addItem: "Add an item" },
  table: { question: "Does this table look right?", step: "Column", item: "Line about the rows", addStep: "Add a column", addItem: "Add a line about the rows" },
};
const KINDS = "In brackets: what a column holds, which is text, number (with a unit: “number in km”), money (“money in EUR”), date, yes/no, choice (“choice: open; closed”) or link. “key” marks the columns that tell rows apart.";
const fieldOf = (line) => line?.querySelector("textarea[data-lead]");
const move = (way, sign, key) => button("move-line", sign, { class: "plain", value: way, "aria-keyshortcuts": `Alt+${key}`, title: `Move ${way} (Alt+${sign})` });

const lineField = (lead, words) => h("li", {}, h("span", { class: "quiet" }), h("textarea", { name: "line", rows: String(Math.ceil(words.length / 90) || 1), "data-lead": lead }, words),
  move("up", "↑", "ArrowUp"), move("down", "↓", "ArrowDown"), button("drop-line", "×", { class: "plain" }));

// The line with which a line changes its place; none at the end of the steps or of the checklist.
function neighbour(line, way) {
  const next = way === "up" ? "previousElementSibling" : "nextElementSibling";
  let other = line[next];
  while (other?.matches(".dropped")) other = other[next];
  return nounOf(fieldOf(other)?.dataset.lead ?? "") === nounOf(fieldOf(line).dataset.lead) ? other : null;
}

// Numbers and names follow the order, but steps keep their numbers where others refer to them.
function settle(list) {
  const counts = { step: 0, item: 0 }, words = WORDS[list.dataset.of];
  for (const line of list.children) {
    const field = fieldOf(line);
    if (!field) continue;
    const noun = nounOf(field.dataset.lead), number = (counts[noun] += 1);
    if (noun === "step" && !("tied" in list.dataset)) field.dataset.lead = `${number}. `;
    const { lead } = field.dataset, name = noun === "step" ? `${words.step} ${Number.parseInt(lead)}` : `${words.item} ${number}`;
    line.firstChild.textContent = noun === "step" ? lead.trim() : "•";
    field.setAttribute("aria-label", name);
    for (const control of line.querySelectorAll("button")) {
      const verb = control.dataset.do === "drop-line" ? "Remove" : `Move ${control.value}:`;
      control.setAttribute("aria-label", `${verb} ${name.toLowerCase()}`);
      // Disabled, it would lose the focus.
      if (control.value) control.setAttribute("aria-disabled", String(!neighbour(line, control.value)));
    }
  }
}

export function addLine(control) {
  const last = control.parentElement, list = last.parentElement;
  const numbers = [...list.querySelectorAll("[data-lead]")].map((field) => Number.parseInt(field.dataset.lead) || 0);
  last.before(lineField(control.value.replace(/\d+/, Math.max(...numbers) + 1), ""));
  settle(list);
  fieldOf(last.previousElementSibling).focus();
}

// The lines that were removed, each by the line in its place.
const dropped = new WeakMap();

export function dropLine(control) {
  const line = control.parentElement, list = line.parentElement, next = neighbour(line, "down") ?? neighbour(line, "up");
  const name = fieldOf(line).getAttribute("aria-label"), left = h("li", { class: "dropped quiet" }, h("span", {}, `Removed: ${shortened(fieldOf(line).value, 60)}`), button("put-back-line", "Undo", { class: "link", "aria-label": `Put back ${name.toLowerCase()}` }));
  dropped.set(left, line);
  line.replaceWith(left);
  settle(list);
  (fieldOf(next) ?? list.querySelector("button")).focus();
}

export function putBackLine(control) {
  const left = control.parentElement, line = dropped.get(left), list = left.parentElement;
  left.replaceWith(line);
  settle(list);
  fieldOf(line).focus();
}

const builtOn = (line) => BUILDS_ON.exec(fieldOf(line).value)?.[1].match(/\d+(?:\.\d+)*/g) ?? [];

// Moves a line by one and returns what to say. Its neighbour is moved around it, so that the focus stays.
export function moveLine(line, way) {
  const other = neighbour(line, way), list = line.parentElement;
  if (!other) return "";
  const [upper, lower] = way === "up" ? [other, line] : [line, other];
  const [first, second] = [upper, lower].map((each) => String(Number.parseInt(fieldOf(each).dataset.lead)));
  if (builtOn(lower).includes(first)) return `Step ${second} builds on step ${first}, so it stays below it.`;
  if (way === "up") line.after(other);
  else line.before(other);
  settle(list);
  return `Moved ${way}: it is now number ${[...list.children].filter((each) => nounOf(fieldOf(each)?.dataset.lead ?? "") === nounOf(fieldOf(line).dataset.lead)).indexOf(line) + 1}.`;
}

// The plan from its fields; those that are empty have no number.
export function planOf(form) {
  const isTied = form.querySelector("[data-tied]");
  let number = 0;
  const lines = [...form.querySelectorAll("[name=line]")].filter((field) => field.value.trim()).map(({ dataset: { lead }, value }) => {
    const before = nounOf(lead) === "step" && !isTied ? `${(number += 1)}. ` : lead;
    return before ? before + value.trim().replace(/\s*\n\s*/g, "\n   ") : `\n${value}\n`;
  });
  return lines.join("\n").trim();
}

export const keepPlan = (form) => keepPlanDraft({ proposed: form.plan.value, plan: planOf(form), comment: form.comment.value });

// With the changes that the reader has not sent yet.
export function review({ waiting, estimate }, isTable) {
  const of = isTable ? "table" : "report", words = WORDS[of];
  const { plan = waiting.plan, comment } = planDraft(waiting.plan), fields = planFields(plan), firstStep = fields.findIndex(({ lead }) => nounOf(lead) === "step");
  const lines = h("ol", { class: "lines", "data-keep": true, "data-key": "lines", "data-of": of, "data-tied": waiting.plan.includes("(builds on"), "aria-label": "Plan" }, fields.map(({ lead, words: text }, at) => [
    isTable && lead && at === firstStep && [h("li", {}, h("h3", {}, "Columns")), h("li", { class: "kinds quiet" }, KINDS)],
    lead ? lineField(lead, text) : h("li", {}, h("h3", {}, text.replace(/^#+\s*|\*\*/g, "").replace(/^Checklist$/, "What the report must answer")), h("input", { type: "hidden", name: "line", "data-lead": "", value: text })),
    lead && nounOf(lead) !== nounOf(fields[at + 1]?.lead ?? "") && h("li", {}, button("add-line", nounOf(lead) === "step" ? words.addStep : words.addItem, { class: "link", value: lead }))]));
  settle(lines);
  return h("form", { class: "card review", "data-part": "plan", "data-do": "approve", "data-key": `review ${waiting.plan}` },
    h("h2", {}, words.question), waiting.refused && h("p", { class: "notice bad", role: "alert" }, waiting.refused),
    h("input", { type: "hidden", name: "plan", value: waiting.plan }), lines,
    h("div", { class: "decide" }, h("div", { class: "foot" }, h("button", { class: "main-action" }, "Start research"), button("end", "Cancel"), estimate && h("span", { class: "quiet" }, estimate)),
      h("div", { class: "foot" }, h("input", { name: "comment", value: comment, autocomplete: "off", "aria-label": "What should change", placeholder: "Or describe a change" }), h("button", { value: "rewrite" }, "Rewrite the plan"))));
}
