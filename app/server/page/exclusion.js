// What it means for the report and the answers of a thread that the reader does not want a source used.

import { button, h } from "./dom.js";
import { reportsOf } from "./versions.js";

const cites = ({ run }, number) => run.sources.some((source) => source.number === number);
const exchangeOf = (exchanges, version) => exchanges.find(({ run }) => run.question_id === version?.question_id);

// Answers stay as they are.
function answersCiting(exchanges, number) {
  const reports = reportsOf(exchanges.at(-1).run), isReport = ({ run }) => reports.some((version) => version.question_id === run.question_id);
  return exchanges.filter((exchange) => !isReport(exchange) && cites(exchange, number)).length;
}

// What becomes of the report and the answers if a source is excluded, or replaced by others.
function effect(exchanges, number, isReplaced) {
  const version = reportsOf(exchanges.at(-1).run).at(-1), report = exchangeOf(exchanges, version), answers = answersCiting(exchanges, number);
  const kept = answers ? ` ${answers === 1 ? "The answer that cites it stays as it is." : `The ${answers} answers that cite it stay as they are.`}` : "";
  const found = isReplaced ? " Other sources are searched for what it alone supports, which takes minutes." : "";
  if (!report || !cites(report, number)) return `The report does not cite it. Answers from now on do without it.${found}${kept}`;
  const statements = report.statements.get(String(number));
  const noun = report.run.graph === "table_research" ? "cell or statement" : "statement", nouns = noun === "statement" ? "statements" : "cells and statements";
  const those = statements === 1 ? `the ${noun} that cites it is rewritten or taken out` : `the ${statements ? `${statements} ` : ""}${nouns} that cite it are rewritten or taken out`;
  return `Makes version ${version.number + 1} of the report without [${number}]: ${those}. You can go back to version ${version.number}.${found}${kept}`;
}

// Asks before a source is excluded, in place of the controls beside it.
export function askFirst(control, exchanges) {
  const { value, dataset } = control, isReplaced = dataset.do === "replace-source", holder = control.closest(".source-use");
  const sure = button(isReplaced ? "replace-now" : "exclude-now", isReplaced ? "Replace it" : "Take it out", { value, class: "main-action" });
  holder.hidden = true;
  holder.after(h("p", { class: "source-use notice", role: "group", "aria-label": "Are you sure?" }, h("span", {}, effect(exchanges, Number(value), isReplaced)), sure, button("keep-source", "Cancel")));
  sure.focus();
}

export function dontAsk(control) {
  const asked = control.closest(".source-use"), holder = asked.previousElementSibling;
  asked.remove();
  holder.hidden = false;
  holder.querySelector("button").focus();
}

// The version that a change has made, if it is the latest: the one before it is a click away.
export function undoButton({ versions }, questionId) {
  const [before, now] = reportsOf({ versions }).slice(-2);
  return now?.question_id === questionId && now.kind === "edit" && button("undo-change", "Undo", { class: "link undo", value: before.number, title: `Back to version ${before.number}` });
}

// What has become of an excluded source.
export function excludedWords(exchanges, number) {
  const { run } = exchanges.at(-1), version = reportsOf(run).at(-1), report = exchangeOf(exchanges, version);
  if (!report || cites(report, number)) return ["You have excluded this source: answers from now on do without it."];
  const undo = version.question_id === run.question_id && undoButton(run, run.question_id);
  return [`You have excluded this source: version ${version.number} of the report and answers from now on do without it.`, undo && button("show-change", "Show the change", { class: "link" }), undo];
}

// The sources that going back to a version uses again: it cites them, and the latest does not.
export function toUseAgain(exchanges, number) {
  const { run } = exchanges.at(-1), before = exchangeOf(exchanges, reportsOf(run).find((version) => version.number === number));
  return before ? run.excluded.filter((source) => cites(before, source.number) && !cites({ run }, source.number)) : [];
}

// A line for an answer or a report that cites sources which the reader has excluded since.
export function excludedLine({ run, question }, { excluded, versions }) {
  const cited = excluded.filter(({ number }) => cites({ run }, number)).map(({ number }) => `[${number}]`);
  if (!cited.length) return null;
  const isReport = reportsOf({ versions }).some((version) => version.question_id === run.question_id);
  return h("p", { class: "notice cites-excluded" }, `This ${isReport ? "report" : "answer"} cites ${cited.join(", ")}, which you have excluded since. `,
    !isReport && button("suggest", "Ask again without", { class: "link", value: question }));
}
