// The list of runs: by day, searched, renamed, deleted.

import { button, day, h, hour, outcomeDot, outcomeOf, shortened } from "./dom.js";

// A run whose question is longer is listed under the title of its first report.
const LONG = 90;
const KINDS = { report: "Report", answer: "Answer", table: "Table" };
const titleOf = (run) => run.first_title || (run.question === run.asked && !run.title?.endsWith("…") && run.title);
export const nameOfRun = (run) => run.label || (run.asked?.length > LONG && titleOf(run)) || run.asked || run.title || run.question || "Untitled run";

function dayOf(moment) {
  const days = Math.floor((new Date().setHours(0, 0, 0, 0) - new Date(moment).setHours(0, 0, 0, 0)) / 86_400_000);
  return days <= 0 ? "Today" : days === 1 ? "Yesterday" : day(moment) || "Earlier";
}

// An excerpt in which the words that were searched for are marked.
function marked(text, words) {
  const any = new RegExp(`(${words.map((word) => word.replace(/[^\p{L}\p{N}]/gu, "\\$&")).join("|")})`, "i");
  return text.split(any).map((piece, at) => (at % 2 ? h("mark", {}, piece) : piece));
}

// A change that was discarded leaves the report as it was.
const asShown = (run) => (run.status === "ended" && run.kind ? { ...run, status: "completed" } : run);

function row(listed, current, renamed, words) {
  const run = asShown(listed), name = nameOfRun(run);
  if (run.thread === renamed) {
    return h("li", { "data-key": `rename-${run.thread}` }, h("form", { "data-do": "rename", class: "rename" },
      h("input", { name: "label", value: name, maxlength: "200", autocomplete: "off", "aria-label": "New name of the run" }), h("button", {}, "Save")));
  }
  return h("li", { "data-key": run.thread },
    h("a", { href: `#/run/${run.thread}`, "aria-current": run.thread === current ? "page" : null, title: run.asked || name },
      h("span", { class: "line", dir: "auto" }, name),
      h("span", { class: "quiet" }, h("span", { class: "state" }, outcomeDot(run), [outcomeOf(run), KINDS[run.kind]].filter(Boolean).join(" · ")), run.changed && h("span", {}, hour(run.changed))),
      run.found && h("span", { class: "found", dir: "auto" }, marked(run.found, words))),
    h("details", { class: "menu" }, h("summary", { "aria-label": `Actions for ${name}` }, "⋯"),
      h("div", { class: "menu-items" }, button("start-rename", "Rename", { value: run.thread }), button("delete", "Delete", { value: run.thread }))));
}

export function runList({ runs, current, renamed, deleted, search, isLoaded }) {
  const shown = runs.filter((run) => run.thread !== deleted?.thread);
  const isAtWork = ({ status }) => status === "running", ordered = [...shown.filter(isAtWork), ...shown.filter((run) => !isAtWork(run))];
  const days = Map.groupBy(ordered, (run) => (isAtWork(run) ? "In progress" : dayOf(run.changed)));
  const empty = !isLoaded ? h("div", { class: "skeleton", "aria-hidden": "true" }, h("i"), h("i"), h("i"))
    : h("p", { class: "quiet" }, search ? `No run matches “${shortened(search, 40)}”. Names, questions and reports were searched.` : "No runs yet. Your questions will be listed here.");
  return [
    h("input", { type: "search", id: "search", placeholder: "Search runs and reports", "aria-label": "Search runs", autocomplete: "off" }),
    shown.length === 0 && empty,
    [...days].map(([name, listed]) => h("section", { "data-key": name }, h("h2", {}, name),
      h("ul", {}, listed.map((run) => row(run, current, renamed, search.split(/\s+/)))))),
  ];
}

export const undoView = (run) => [h("span", {}, `Deleted: “${shortened(nameOfRun(run), 60)}”`), button("undo", "Undo")];

export const missingView = (words) => h("div", { class: "card missing", role: "alert" }, h("h1", {}, "Run not found"), h("p", { title: words }, "It may have been deleted, or it belongs to another user or server. Choose another run from the list, or ask a new question."),
  h("p", {}, h("a", { class: "button main-action", href: "#/" }, "New question")));
