// One question: its messages, plan, research and report; and the box below all questions.

import { button, count, day, DEPTHS, dot, duration, folded, h, money, shortened } from "./dom.js";
import { undoButton } from "./exclusion.js";
import { fileInput, fileList, sentFiles } from "./files.js";
import { lineOf, silence, workedSince } from "./living.js";
import { markdown } from "./markdown.js";
import { finishButton, isBegunAnew, isHeard, messageList } from "./messages.js";
import { offerView } from "./notify.js";
import { review } from "./plan.js";
import { filledRows, tableHolder } from "./table.js";
import { trustLine } from "./trust.js";
import { isEdit, kindWords, reportTitle, reportsOf, revertWords, versionOf } from "./versions.js";

// Whether the run fills a table whose rows are researched.
export const isTable = ({ graph }) => graph === "table_research";

const FROM_READ = "Answering from what was read";
const LONG_QUESTION = 130, LONG_LINE = 300, MOST_CARDS = 30;

// The part (plan, answer, research, report, end) that a question has reached; it is open and kept in view.
function stageOf({ run, story }) {
  if (run.has_report && run.status !== "running") return "report";
  if (run.status === "waiting") return "plan" in run.waiting ? "plan" : "answer";
  if (["stopped", "failed", "ended"].includes(run.status)) return "end";
  if (story.isWriting) return "report";
  return story.branches.length ? "research" : "plan";
}

// The messages by question; a report ends its question.
export function slicesOf(messages) {
  const slices = [[]];
  for (const message of messages) {
    slices.at(-1).push(message);
    if (["report", "ended"].includes(message.kind)) slices.push([]);
  }
  return slices.filter((slice) => slice.length);
}

// Sorts the user's messages: question, answer, reply to a plan, message to running researchers, which is one of those sent.
function partsOf(slice, { plan: edited, sent }) {
  const parts = { question: "", attached: [], before: [], during: [], isEdited: false };
  let last = "";
  for (const { role, kind, text, attached, id } of slice) {
    parts.attached.push(...(attached ?? []));
    if (role !== "user") {
      if (kind === "clarification") parts.before.push({ role, text });
    } else if (sent.some((message) => message.id === id)) parts.during.push({ role, text, id });
    else if (!parts.question) parts.question = text;
    else if (last === "plan") {
      const isPlan = text.trim() === edited.trim() || (text.match(/^\s*\d+[.)]/gm) ?? []).length > 1;
      parts.isEdited ||= isPlan;
      if (text !== "approve" && !isPlan) parts.before.push({ role, text });
    } else (last === "clarification" ? parts.before : parts.during).push({ role, text, id });
    last = role === "user" ? "user" : kind;
  }
  return parts;
}

export const planText = ({ run, story }) => (story.isPlanning ? story.plan : run.plan || story.plan);

const bubble = ({ role, text }) => h("li", { class: role, dir: "auto" }, role === "user" ? h("p", {}, folded(text, LONG_QUESTION)) : markdown(text));

function planPart(exchange, isEdited, stage) {
  const { run, story } = exchange;
  if (run.status === "waiting" && "plan" in run.waiting) return review(run, isTable(run));
  const text = planText(exchange);
  if (!text) return stage === "plan" && run.status !== "waiting" && h("div", { class: "skeleton", "data-part": "plan", "aria-hidden": "true" }, h("i"), h("i"));
  const steps = text.split("\n").filter((line) => /^\s*\**\d+[.)]/.test(line)).length;
  const isOpen = stage === "plan";
  return h("details", { class: "part", "data-part": "plan", "data-key": `plan-${isOpen}`, open: isOpen },
    h("summary", {}, isOpen && story.isPlanning ? "Planning" : `Plan${steps ? `, ${count(steps, isTable(run) ? "column" : "step")}` : ""}${isEdited ? ", edited by you" : ""}`),
    h("div", { class: "prose" }, markdown(text)));
}

function names(found, noun) {
  if (!found.length) return null;
  return h("details", { class: "names", "data-key": noun }, h("summary", {}, count(found.length, noun)), h("ul", {}, found.map((name) => h("li", {}, name))));
}

// A finding as one paragraph of plain words: as it is rendered, without its tables and citations.
export function plain(text) {
  const rendered = h("div", {}, markdown(text));
  for (const part of rendered.querySelectorAll(".cite, .wide")) part.remove();
  const blocks = [...rendered.querySelectorAll("h2, h3, h4, h5, h6, p, li, pre, blockquote")];
  return blocks.map((block) => block.textContent.replace(/\s+/g, " ").replace(/ (?=[.,;:!?)])/g, "").trim()).filter(Boolean).join(" ");
}

const isOver = ({ state }) => state !== "at work";
const failures = (branches) => branches.filter(({ state }) => state === "failed").length;

// During research, the lead is asked for it once; after that, each try is a run.
function againControl({ run, story }, task) {
  const isAtWork = run.status === "running", isAsked = isAtWork && run.sent.some(({ text }) => text.endsWith(task));
  if (isAsked || (isAtWork && !isHeard({ run, story }))) return h("span", { class: "quiet" }, isAsked ? "You have asked for another try." : "You can send it again after this run.");
  return button("again", "Try again", { value: task });
}

// A single search, or what was read before, is handed on as passages, which are no finding.
const hasPassages = ({ depth }) => ["quick", "recalled"].includes(depth);

// A failed researcher shows why instead of the excerpts that it has left.
function taskCard(exchange, branch) {
  const { run, isLatest } = exchange;
  const isAtWork = run.status === "running", seconds = branch.ended - branch.began;
  const state = isOver(branch) || isAtWork ? branch.state : "stopped";
  return h("section", { class: `task ${state.replace(" ", "-")}`, "data-key": branch.key, "aria-label": branch.title },
    h("h3", { title: branch.task }, dot({ done: "completed", "at work": "running" }[state] ?? state), branch.title),
    state === "at work" && [branch.past.slice(-3).map((words) => h("p", { class: "past" }, words)), h("p", { class: "now", "data-line": branch.key }, lineOf(exchange, branch))],
    state === "done" && branch.finding && !hasPassages(run) && h("p", { class: "gist" }, shortened(plain(branch.finding), 240)), [...new Set(branch.errors)].map((words) => h("p", { class: "notice bad" }, words)),
    state === "failed" && isLatest && h("p", { class: "again" }, againControl(exchange, branch.task)),
    h("div", { class: "counts" }, h("span", {}, state, state === "at work" ? [" · ", h("span", { class: "clock", "data-since": branch.began }, workedSince(exchange, branch.began))] : seconds >= 1 && ` · ${duration(seconds)}`),
      names(branch.searches, "search"), names([...branch.pages.values()], "page"), names([...new Set(branch.files.values())], "file"), names(branch.learned.map(plain), "finding"),
      state === "done" && branch.finding && h("details", { class: "names", "data-key": "text" }, h("summary", {}, hasPassages(run) ? "Passages found" : "Whole finding"), h("div", { class: "prose" }, markdown(branch.finding)))));
}

function researchLine({ run, story }) {
  const files = new Set(story.branches.flatMap((branch) => [...branch.files.values()])), pages = new Set(story.branches.flatMap((branch) => [...branch.pages.keys()]));
  const topics = story.branches.length, took = Math.max(...story.branches.map((branch) => branch.ended)) - story.branches[0]?.began;
  return [isTable(run) && topics ? `Filled ${count(filledRows(story)[0], "row")}` : topics ? `Researched ${count(topics, "topic")}` : "First searches", failures(story.branches) > 0 && h("strong", {}, `${failures(story.branches)} failed`), files.size > 0 && count(files.size, "file"),
    pages.size > 0 && count(pages.size, "page"), took >= 1 && duration(took)].filter(Boolean).flatMap((words) => [", ", words]).slice(1);
}

// Researchers that began after the draft and are still at work: beside it, since what was done before it is folded.
export function moreResearch({ run, story }) {
  const late = story.branches.filter((branch) => branch.isLate);
  return run.status === "running" && !late.every(isOver) ? late : [];
}

// The rounds as a timeline; all but the last are folded.
function roundView(exchange, [turn, branches], at, rounds) {
  const [began, ended] = [branches[0].began, Math.max(...branches.map((branch) => branch.ended))], waited = began - rounds[0][1][0].began;
  const isDone = branches.every(isOver), isOpen = at === rounds.length - 1 || !isDone;
  const facts = [rounds.length > 1 && count(branches.length, "task"), waited >= 1 && `${duration(waited)} after the first`, isDone && ended - began >= 1 && `took ${duration(ended - began)}`];
  return h("details", { class: "round", "data-key": `round-${turn}-${isOpen}`, open: isOpen }, h("summary", {}, h("strong", {}, `Round ${at + 1}`), ` ${facts.filter(Boolean).join(" · ")}`),
    h("div", { class: "tasks" }, cardsOf(branches).map((branch) => taskCard(exchange, branch))));
}

// Of many tasks, such as the rows of a table, those that are done are only counted.
const cardsOf = (branches) => (branches.length > MOST_CARDS ? branches.filter(({ state }) => state !== "done").slice(-MOST_CARDS) : branches);

function researchPart(exchange, stage) {
  const { run, story } = exchange;
  // The finished answer says the same beside its date.
  if (run.depth === "recalled") return run.status === "running" && h("p", { class: "quiet", "data-part": "research" }, FROM_READ);
  if (!story.branches.length && !story.looking.length) return null;
  const isOpen = stage === "research" || (stage === "end" && story.branches.length > 0);
  const failed = failures(story.branches), done = story.branches.filter(isOver).length - failed;
  const later = moreResearch(exchange);
  const rounds = [...Map.groupBy(story.branches.filter((branch) => !later.includes(branch)), (branch) => branch.turn)], thoughts = story.thoughts.filter(Boolean);
  const state = [`${done} of ${count(story.branches.length, "task")} done`, failed > 0 && `, ${failed} failed`], views = rounds.map((round, at) => roundView(exchange, round, at, rounds));
  const [filled, found] = filledRows(story), isFolded = isTable(run);
  return h("details", { class: "part", "data-part": "research", "data-key": `research-${isOpen}`, open: isOpen },
    h("summary", {}, !isOpen ? researchLine(exchange) : isFolded ? (found ? `Table: ${filled} of ${count(found, "row")} filled` : "Looking for rows") : ["Research: ", state]),
    isFolded && tableHolder(),
    story.looking.length > 0 && h("p", { class: "quiet" }, `First searched for: ${story.looking.join(" · ")}`),
    isFolded ? h("details", { class: "names researchers", "data-key": "researchers", open: failed > 0 }, h("summary", {}, "Researchers: ", state), views) : views,
    thoughts.length > 0 && h("details", { class: "names", "data-key": "thoughts" }, h("summary", {}, "Thoughts between the rounds"), thoughts.map((words) => h("p", { class: "quiet" }, words))));
}

// Whether the reader can ask something else in place of a question that has failed.
const isReplaceable = (run) => run.status === "failed" && run.versions.length > 0;

// Whether the run changes the report; one that has not begun yet has no versions to go back to.
const isChange = (run) => run.is_edit && run.is_unfinished && reportsOf(run).length > 0;

function endPart({ run, failure, isLatest, story }) {
  const kept = story.branches.length > 0 && " The results so far are saved.";
  const goOn = (words) => run.is_unfinished && button("go-on", words, { class: "main-action" });
  if (run.status === "failed" || (failure && ["stopped", "starting"].includes(run.status))) {
    return h("div", { class: "card bad", "data-part": "end", role: "alert" }, h("h2", {}, "This run failed"), h("p", {}, failure || run.failure),
      run.is_unfinished && h("p", { class: "quiet" }, "Fix the problem, or ask the server's operator to fix it, then try again.", kept, isReplaceable(run) && " What you ask below takes its place."), h("div", { class: "foot" }, goOn("Try again")));
  }
  if (run.status === "stopped" && isLatest) {
    return h("div", { class: "card", "data-part": "end" }, h("p", {}, "This run was stopped.", kept),
      h("div", { class: "foot" }, goOn("Continue"), run.is_unfinished && finishButton({ run, story }), isChange(run) && button("revert", "Discard the change", { value: reportsOf(run).at(-1).number, title: "The report stays as it was" })));
  }
  return run.status === "ended" && h("p", { class: "quiet", "data-part": "end" }, run.is_edit ? "You closed this question; the report stays as it was." : "You closed this question without a report.");
}

// The time that the run has worked; if it has paused, also the time from its beginning to its end.
const PAUSE = 60;
function times({ run, story }) {
  const seconds = story.worked || run.seconds, passed = story.last - story.asked;
  return seconds >= 1 && (passed - seconds > PAUSE ? `${duration(seconds)} of work in ${duration(passed)}` : duration(seconds));
}

function byline(exchange) {
  const { run } = exchange;
  return [day(run.changed), DEPTHS[run.depth], run.sources.length ? count(run.sources.length, "source") : run.has_report && "no sources", times(exchange), run.spent.usd > 0 && money(run.spent.usd)]
    .filter(Boolean).join(" · ");
}

// The title of the report, unless it only repeats the question.
const titleOf = ({ run, question }) => run.title && !question.replace(/\s+/g, " ").startsWith(run.title.replace(/…$/, "")) && h("h2", { class: "title", dir: "auto" }, run.title);

export const isFinished = ({ has_report, status }) => has_report && status !== "running";

// Whether a draft is written to its end; what is done then is announced.
const isWritten = ({ story }) => story.isWriting && story.activity !== "";

// What stands above a draft.
function draftLine(exchange) {
  if (exchange.run.status !== "running") return [h("strong", {}, "Unfinished draft"), ", not checked against its sources"];
  return [h("strong", {}, "Draft"), isWritten(exchange) ? ", written and being checked: it can still change" : ", still being written"];
}

// What a change has done, and the way back.
function doneLine({ run, story, isLatest }) {
  const undo = isLatest && undoButton(run, run.question_id);
  return h("p", { class: "notice done", dir: "auto" }, h("strong", {}, `Version ${versionOf(run).number}`), run.done && `: ${shortened(run.done, LONG_LINE)}`, (story.changed.length > 0 || undo) && [" ", button("show-change", "Show the change", { class: "link" })], undo && [" ", undo]);
}

// Of a table, the formats of tables come first.
const SHEETS = ["csv", "xlsx"];
const isSheet = ({ name }) => SHEETS.includes(name);
const inOrder = (formats, run) => (isTable(run) ? [...formats.filter(isSheet), ...formats.filter((format) => !isSheet(format))] : formats);

// The report, or its draft, whose element it keeps; a run that has ended early leaves its draft.
function reportPart(exchange, formats) {
  const { run, story } = exchange, isDone = isFinished(run);
  return h("div", { class: isWritten(exchange) ? "report-part written" : "report-part", "data-part": "report", "data-key": "report" },
    titleOf(exchange), h("p", { class: "byline quiet" }, h("span", {}, isDone ? byline(exchange) : draftLine(exchange)),
      isDone && h("span", { class: "tools" }, button("copy", "Copy", { title: "Copy the report with its formatting" }), button("copy-markdown", "Copy Markdown"), button("print", "Print"),
        h("details", { class: "menu" }, h("summary", { class: "button" }, "Download"),
          h("div", { class: "menu-items" }, inOrder(formats, run).map(({ name, label }) => button("export", label, { value: name })))))),
    isDone && trustLine(run),
    isDone && isEdit(run) && doneLine(exchange),
    isDone && h("div", { class: "version-line", "data-keep": true, "data-key": "versions" }),
    h("div", { class: "text", "data-keep": true, "data-key": "text" }, isDone ? h("div", { class: "skeleton", "aria-hidden": "true" }, h("i"), h("i"), h("i"))
      : h("div", {}, h("div", {}, h("article", { class: "report", id: "draft", "aria-label": "Report, as it is written", dir: "auto" })))), moreView(exchange));
}

function moreView(exchange) {
  const late = moreResearch(exchange);
  return late.length > 0 && h("section", { class: "more", "data-key": "more" }, h("h2", {}, "Research on what the draft leaves open"), h("div", { class: "tasks" }, late.map((branch) => taskCard(exchange, branch))));
}

export function exchangeView(exchange, offer) {
  const { run, story, slice, isLatest } = exchange;
  const { question, attached, before, during, isEdited } = partsOf(slice, run);
  const stage = isLatest ? stageOf(exchange) : run.has_report ? "report" : "end";
  exchange.question = question || revertWords(run) || run.question;
  const asked = run.status === "waiting" && !("plan" in run.waiting) ? run.waiting.question : "";
  const isSaid = before.some((part) => part.text === asked);
  return h("section", { class: "exchange", "data-key": `exchange-${exchange.index}`, "data-index": exchange.index, "data-stage": stage },
    exchange.index > 0 && kindWords(run) && h("p", { class: "kind quiet" }, kindWords(run)),
    h("h1", { class: "question", id: `question-${exchange.index}`, tabindex: "-1", dir: "auto" }, folded(exchange.question || "…", LONG_QUESTION)), sentFiles(attached, ["running", "starting"].includes(run.status)),
    (before.length > 0 || asked) && h("ol", { class: "talk", "data-part": asked ? "answer" : null }, before.map((part) => bubble(part)), asked && !isSaid && bubble({ role: "assistant", text: asked }),
      run.waiting.refused && asked && h("li", { class: "notice bad", role: "alert" }, run.waiting.refused)),
    planPart(exchange, isEdited, stage),
    researchPart(exchange, stage),
    messageList(exchange, during),
    endPart(exchange),
    (stage === "report" || (stage === "end" && isLatest && story.draft && run.status !== "ended")) && reportPart(exchange, offer.formats));
}

// Stands between the text of a report and what its sections say about it.
export const nextView = ({ follow_ups: further }) => h("div", { class: "next" }, h("h2", {}, "Ask next"), further.map((words) => button("suggest", words, { class: "example", dir: "auto" })));

const WAYS = {
  running: ["steer", "Message the researchers", "Send"],
  waiting: ["answer", "Your answer", "Answer"],
  stopped: ["steer", "Add a note and continue", "Continue"],
};

const FURTHER = {
  "follow-up": ["follow-up", "Ask a follow-up", "Ask"],
  edit: ["edit", "What to change", "Change it"],
};

// Nodes that announce no activity; the last one that was announced is over when they are at work.
const NODES = { look_up: "Looking it up", plan: "Planning", researcher: "Researching", analyze_findings: "Thinking over what was found", write_report: "Writing the report", write_table: "Writing the table" };

// What the run is doing, in a few words.
function doing(exchange) {
  const { run, story } = exchange, [late] = moreResearch(exchange).filter((branch) => !isOver(branch)), isResearched = story.branches.length > 0;
  if (run.status === "starting") return "Getting ready";
  if (run.is_finishing && !story.isWriting && !run.nodes.some((name) => name.startsWith("write_"))) return "Finishing with what was found";
  if (late) return `More research: ${late.title}`;
  if (run.nodes.includes("orchestrate")) return isResearched ? "Evaluating what was found" : "Deciding what to research";
  if (run.depth === "recalled" && run.nodes.includes("look_up")) return FROM_READ;
  // The node that has written it may still wait for its check.
  if (isWritten(exchange)) return story.activity;
  return run.nodes.map((name) => NODES[name]).find(Boolean) || story.activity || (isResearched ? "Researching" : run.plan ? "Deciding what to research" : "Reading the question");
}

// Seconds for which it has been doing that.
function doingFor({ story, stepped }, seconds) {
  const ended = story.branches.every(isOver) ? Math.max(0, ...story.branches.map((branch) => branch.ended)) : 0;
  return Math.floor(seconds - Math.max(story.since, stepped, ended));
}

export function strip(exchange, seconds, costs) {
  const { run, story, passing, signs } = exchange, lasted = doingFor(exchange, seconds);
  const facts = [costs.tokens > 0 && count(costs.tokens, "token"), costs.usd > 0 && money(costs.usd)].filter(Boolean);
  return [dot("running"), h("span", { class: "doing" }, silence(signs) || passing?.() || [doing(exchange), lasted > 0 && h("span", { class: "quiet" }, ` · ${duration(lasted)}`)]),
    h("span", { class: "quiet roomy" }, facts.join(" · ")), h("span", { class: "quiet clock", title: "Time of work; pauses do not count" }, duration(seconds)), run.status === "running" && finishButton({ run, story }), button("stop", "Stop", { class: "stop", disabled: run.status !== "running" })];
}

// The report that words can change; none without a model.
export const changeable = (run, offer) => (offer?.may_edit ? reportsOf(run).at(-1) : undefined);

// What the words in the box do: they ask on, or change the report, which is named.
function wayChoice({ way, index, run }, { number, question_id: changed }) {
  const choice = (value, words) => h("label", {}, h("input", { type: "radio", name: "way", value, checked: value === way }), h("span", {}, words));
  const effect = way === "edit" ? [`Makes version ${number + 1} of `, h("strong", { dir: "auto" }, reportTitle(run)), `${changed === run.question_id || !run.has_report ? "" : ", not of the answer above"}; your words say what to change.`] : isTable(run) ? "Adds columns or rows as a new version, or gets an answer below." : "Gets a new answer below; the report stays as it is.";
  const review = way === "follow-up" && h("label", { class: "check" }, h("input", { type: "checkbox", name: "review_plan" }), "Show me the plan first");
  return h("fieldset", { class: "ways", "data-key": `ways-${index}` }, h("legend", { class: "unseen" }, "What to do"), choice("follow-up", "Ask a follow-up"), choice("edit", isTable(run) ? "Change the table" : "Change the report"), h("p", { class: "quiet" }, effect), review);
}

export function dockView(exchange, offer) {
  const { run } = exchange, report = changeable(run, offer), way = report ? exchange.way : "follow-up";
  const [action, words, verb] = isBegunAnew(exchange) && run.status === "running" ? ["steer", "Instruction for the report", "Send"] : WAYS[run.status] ?? FURTHER[way];
  const isPlan = run.status === "waiting" && "plan" in run.waiting;
  const isAtWork = ["running", "starting"].includes(run.status);
  return [
    button("jump", "Jump to latest", { id: "jump", class: "jump", hidden: true }),
    h("p", { class: "offer", id: "offer", "data-keep": true, "data-key": "offer", hidden: true }, offerView()),
    h("p", { class: "strip", id: "strip", "data-keep": true, "data-key": "strip", hidden: !isAtWork }),
    exchange.failure && !["failed", "stopped", "starting"].includes(run.status) && h("p", { class: "notice bad", role: "alert", "data-key": "failure" }, exchange.failure),
    run.status === "waiting" && !isPlan && h("p", { class: "skip-line" }, run.waiting.strategy === "table" && button("as-table", "As a table"), button("skip", "Continue without answering"), button("end", "Close this question")),
    // Kept in place so that unsent text survives.
    h("form", { class: "composer box", "data-do": action, "data-key": "composer", hidden: isPlan || run.status === "starting" || (run.status === "failed" && !isReplaceable(run)) },
      action in FURTHER && report && wayChoice(exchange, report), fileInput(),
      h("textarea", { id: "words", name: "words", rows: "1", "aria-label": words, placeholder: words, "data-sends": true }),
      h("button", { class: verb !== "Continue" && "main-action" }, verb), fileList(),
      !(action in FURTHER) && h("p", { class: "quiet later" }, "Files go with your next question: this one is answered from the documents with which it began.")),
  ];
}
