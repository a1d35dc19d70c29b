// A thread: what the reader does in it, and the parts of the page that only a thread needs.

import { draw, drawStrip, drawTime, exchangeInView, follow, keepInView, latest, listen, offerUse, openExchange, scrolled } from "./column.js";
import { byId, say } from "./dom.js";
import { fillIn, forgetDraft, forgetPlanDraft } from "./drafts.js";
import { askFirst, dontAsk, excludedWords, toUseAgain } from "./exclusion.js";
import { fileBlocks, setFiles } from "./files.js";
import { dialogClosed, leadTo, openDialog } from "./focus.js";
import * as notices from "./notify.js";
import { openFile } from "./original.js";
import { page, research } from "./page.js";
import { addLine, dropLine, keepPlan, moveLine, planOf, putBackLine } from "./plan.js";
import { hintOf, markChanges, passagesBeside, showBlank, sortTable, tableText } from "./report.js";
import { lightSentence } from "./sentences.js";
import * as server from "./server.js";
import { sourceView } from "./side.js";
import { isBegunAnew, isHeard } from "./messages.js";
import { changeable } from "./thread.js";
import { showStatement } from "./trust.js";
import { differenceView } from "./versions.js";

export const open = (thread, on) => void follow(thread, on).catch(on.fail);

export function failed(words) {
  latest().failure = words;
  draw();
}

// Before each action, what the one before it has shown goes.
export function forget() {
  light(null);
  latest().failure = "";
}

const exchangeAt = (element) => page.thread.exchanges[element.closest(".exchange")?.dataset.index] ?? exchangeInView();

// `of` names the numbering: a report's (`question=ID`) or, in links of messages, the thread's.
export async function openSource(number, of, quotes, at, marked) {
  const source = await server.ask(`/research/runs/${page.thread.id}/sources/${number}?${of}`);
  const dialog = byId("source");
  dialog.replaceChildren(...sourceView(source, quotes ?? source.quotes, page.offer?.may_edit, at, marked, excludedWords(page.thread.exchanges, source.number_in_thread)));
  offerUse();
  openDialog(dialog);
  dialog.querySelector("mark")?.scrollIntoView({ block: "center" });
}

// Asks on, or has the report changed; returns the run. `isReviewed`: whether the reader wants to see the plan first.
async function goOn(words, files, more, isReviewed = false) {
  const { thread } = page, known = latest();
  const run = await server.followUp(thread.id, known.run.graph, words, files, more, isReviewed);
  // The stream may have shown the new question before the request was confirmed.
  if (thread === page.thread && known === latest() && known.run.question_id) openExchange(words, { edit: false, ...more });
  return run;
}

async function further({ words: { value }, review_plan: review }, more) {
  const run = await goOn(value, await fileBlocks(), more, Boolean(review?.checked));
  setFiles([]);
  return run;
}

async function changeUse(change, number) {
  try {
    return await change(page.thread.id, number);
  } finally {
    // It would cover what an error says.
    byId("source").close();
  }
}

// Stops using a source; a report that cites it is then made anew without it, or with others in its place.
async function exclude({ value: number }, replace = false) {
  const { edit } = await changeUse((thread) => server.exclude(thread, number, replace), number);
  say("From now on, nothing rests on this source alone.");
  light(null);
  if (edit) return goOn(edit, [], { edit: true });
  await openSource(number, "of=thread");
}

// Back to the version before the latest change, with the sources that the change did without.
async function undoChange({ value }) {
  const { id, exchanges } = page.thread, number = Number(value);
  byId("source").close();
  for (const source of toUseAgain(exchanges, number)) await server.include(id, source.number);
  await server.revert(id, number);
  say(`Back to version ${number}.`);
}

// Sends a failed researcher anew: research takes it as a message, a report as a change, anything else as a question.
async function again({ value: task }) {
  const { run, story } = latest(), wish = `Research this task again, because its researcher failed: ${task}`;
  if (run.status === "running" && isHeard({ run, story })) return void (await server.send(page.thread.id, wish));
  if (run.is_unfinished) return server.steer(page.thread.id, run.graph, wish);
  if (!changeable(run, page.offer)) return goOn(task, [], {});
  return goOn(`Research this again, because its researcher failed, and add to the report what is found: ${task}`, [], { edit: true });
}

async function include({ value: number }) {
  await changeUse(server.include, number);
  say("The source is used again.");
}

function light(chip) {
  lightSentence(chip);
  for (const card of document.querySelectorAll(".source-card.lit")) card.classList.remove("lit");
  const hint = byId("hint");
  if (!chip?.isConnected) return hint.matches(":popover-open") && hint.hidePopover();
  const card = byId("side").querySelector(`.source-card[value="${CSS.escape(chip.textContent)}"]`);
  card?.classList.add("lit");
  card?.scrollIntoView({ block: "nearest" });
  if (document.querySelector(".quote:popover-open")) return;
  hint.replaceChildren(...hintOf(chip, card?.querySelector(".quiet").textContent));
  hint.showPopover();
  const { left, top, bottom } = chip.getBoundingClientRect(), { width, height } = hint.getBoundingClientRect();
  hint.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  hint.style.top = `${bottom + height + 8 < innerHeight ? bottom + 6 : Math.max(8, top - height - 6)}px`;
}

async function copy(control, words, isFormatted) {
  const before = control.textContent, { formatted, put } = await import("./copy.js");
  await put(words, isFormatted && formatted(control));
  say((control.textContent = "Copied"));
  setTimeout(() => (control.textContent = before), 1500);
}

async function compare(control) {
  const shown = control.closest("li").querySelector(".difference"), isOpen = shown.childNodes.length > 0;
  shown.replaceChildren(...(isOpen ? [] : differenceView(await server.ask(`/research/runs/${page.thread.id}/differences?${control.value}`))));
  control.setAttribute("aria-expanded", String(!isOpen));
  // It opens below the control, which may stand just above the box.
  if (!isOpen) control.closest("li").scrollIntoView();
}

// Marks what the change of a report has changed once more, and leads to the first of it; of what was only taken out, to what differs from the version before.
async function showChange(control) {
  const exchange = control.closest("#source") ? latest() : exchangeAt(control), section = byId("column").querySelector(`[data-index="${exchange.index}"]`);
  byId("source").close();
  markChanges(section.querySelector(".report"), exchange.story.changed);
  const [first] = section.querySelectorAll("[data-changed]"), changes = section.querySelector(".versions [data-do=compare]");
  if (first || !changes) return first && leadTo(first);
  changes.closest("details").open = true;
  if (changes.ariaExpanded === "false") await compare(changes);
  leadTo(changes.closest("li"));
}

const exportOf = (element, format) => `/research/runs/${page.thread.id}/export?format=${format}&question=${exchangeAt(element).run.question_id}`;
// A PDF of a long report takes some seconds.
async function download(control) {
  const menu = control.closest(".menu").querySelector("summary");
  say((menu.textContent = `Making ${control.textContent}…`));
  try {
    await server.download(exportOf(control, control.value));
  } finally {
    menu.textContent = "Download";
  }
}

const reply = (value) => server.reply(page.thread.id, latest().run.graph, value);

async function replyToPlan(value) {
  const exchange = latest(), { run } = exchange, started = await reply(value);
  forgetPlanDraft();
  // A plan that is written again may read like this one, whose form must not stay with what was sent.
  if (exchange.run === run) {
    Object.assign(exchange, { run: { ...run, plan: value.plan ?? run.plan, status: "running", waiting: {} }, since: Date.now() });
    page.thread.on.refreshRuns().catch(page.thread.on.fail);
  }
  return started;
}

// A table is made on a thread of its own, with the request and the settings of this one.
async function asTable() {
  const { thread: { id } } = page, { run } = latest(), context = await server.settingsOf(id);
  await reply({ action: "end" });
  location.hash = await research(run.question, "table_research", context);
}

// Changes the lines of a plan by one of its controls or by a key, and keeps the changes.
function changeLines(change, element, way) {
  const form = element.closest("form");
  const words = change(element, way);
  keepPlan(form);
  return words;
}

// An action that may start a run, to which the page then listens; the words of its form have been sent.
const starting = (action) => async (control, choice) => {
  const run = await action(control, choice);
  if (!page.thread || !run) return;
  listen(run).catch(page.thread.on.fail);
  if (control.words) {
    control.words.value = "";
    forgetDraft();
  }
  draw();
};

// The research has ended, or waits for an answer, before the words arrived.
function unread(error) {
  if (error.status !== 409) throw error;
  throw new server.Refused(409, "Nobody has read this: no research is at work now. Your words are still in the box: send them once there is a report, or a question to you.");
}

export const submitted = {
  approve: starting((form, choice) => {
    // Without words there is nothing to rewrite, and nobody has asked to start.
    if (!form.comment.value.trim() && (choice === "rewrite" || document.activeElement === form.comment)) return form.comment.focus();
    const plan = planOf(form), { value: comment } = form.comment, [proposed, chosen] = [form.plan.value, plan].map((text) => text.replace(/\s+/g, " ").trim());
    if (comment.trim()) return replyToPlan({ action: "reject", comment });
    return replyToPlan(proposed === chosen ? { action: "approve" } : { action: "edit", plan });
  }),
  answer: starting((form) => reply(form.words.value)),
  steer: starting(async ({ words }) => {
    const { thread } = page, { run } = latest();
    let started = "";
    if (isBegunAnew(latest())) {
      latest().steered = Date.now();
      started = await server.steer(thread.id, run.graph, words.value);
      latest().sent.push(words.value);
    } else {
      await server.send(thread.id, words.value).catch(unread);
      words.value = "";
      if (run.status === "stopped") started = await server.goOn(thread.id, run.graph);
    }
    draw();
    byId("column").lastElementChild.querySelector("[data-key=during] li:last-child")?.scrollIntoView({ block: "center" });
    return started;
  }),
  "follow-up": starting((form) => further(form, {})),
  edit: starting((form) => further(form, { edit: true })),
};

export const clicked = {
  jump: () => keepInView(true),
  stop: () => ((latest().steered = 0), server.stop(page.thread.id)),
  finish: starting(async () => {
    const { thread } = page, { run } = latest();
    await server.finish(thread.id);
    run.is_finishing = true;
    draw();
    return run.status === "stopped" && server.goOn(thread.id, run.graph);
  }),
  "go-on": starting(() => server.goOn(page.thread.id, latest().run.graph)),
  again: starting(again),
  skip: starting(() => reply({ action: "approve" })),
  end: starting(() => replyToPlan({ action: "end" })),
  "as-table": asTable,
  export: download,
  copy: (control) => copy(control, server.text(exportOf(control, "md")), true),
  "copy-markdown": (control) => copy(control, server.text(exportOf(control, "md"))),
  notify: ({ value }) => notices.choose(value).then(() => page.thread && drawStrip()),
  "copy-table": (control) => copy(control, tableText(control)),
  sort: sortTable,
  "show-blank": showBlank,
  "show-statement": showStatement,
  "show-change": showChange,
  print: () => print(),
  revert: ({ value }) => server.revert(page.thread.id, Number(value)),
  compare,
  suggest: (control) => fillIn("words", control.value || control.textContent),
  "add-line": (control) => changeLines(addLine, control),
  "drop-line": (control) => changeLines(dropLine, control),
  "put-back-line": (control) => changeLines(putBackLine, control),
  "move-line": (control) => say(changeLines(moveLine, control.parentElement, control.value)),
  "open-source": (control) => openSource(control.value, `question=${exchangeAt(control).run.question_id}`, passagesBeside(control), control.closest(".quote")?.querySelector("[data-page]")?.dataset.page, control.getAttribute("aria-description")),
  "open-file": (control) => openFile(control, page.thread.id, control.closest("#source") ? "of=thread" : `question=${exchangeAt(control).run.question_id}`),
  "close-source": () => byId("source").close(),
  "exclude-source": (control) => askFirst(control, page.thread.exchanges),
  "replace-source": (control) => askFirst(control, page.thread.exchanges),
  "keep-source": dontAsk,
  "exclude-now": starting((control) => exclude(control)),
  "replace-now": starting((control) => exclude(control, true)),
  "undo-change": undoChange,
  "include-source": include,
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") light(null);
  const line = event.altKey ? event.target.closest(".lines > li") : null;
  if (!line?.querySelector("textarea") || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
  event.preventDefault();
  say(changeLines(moveLine, line, event.key === "ArrowUp" ? "up" : "down"));
});

document.addEventListener("change", ({ target }) => {
  if (target.name !== "way") return;
  latest().way = target.value;
  draw();
});

document.addEventListener("input", ({ target }) => {
  const form = target.closest(".review");
  if (form) keepPlan(form);
});

for (const kind of ["pointerover", "focusin", "pointerout", "focusout"]) {
  document.addEventListener(kind, (event) => {
    const chip = event.target.closest?.(".report button.cite");
    // On touch screens, a tap opens the citation instead.
    if (chip && page.thread && event.pointerType !== "touch") requestAnimationFrame(() => light(/over|in$/.test(kind) ? chip : null));
  });
}

addEventListener("scroll", () => requestAnimationFrame(scrolled), { passive: true });
// Browsers name the printed file after the page.
let shownTitle = "";
addEventListener("beforeprint", () => {
  shownTitle = document.title;
  if (page.thread) document.title = exchangeInView().run.title || exchangeInView().question;
});
addEventListener("afterprint", () => (document.title = shownTitle));
byId("source").addEventListener("close", dialogClosed);
setInterval(() => page.thread && drawTime(), 1000);
