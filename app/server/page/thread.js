// One question: its messages, plan, research and report; and the box below all questions.

import { h } from "./dom.js";
import { fileInput, fileList, sentFiles } from "./files.js";
import { markdown } from "./markdown.js";
import { button, count, day, DEPTHS, dot, duration, folded, money } from "./words.js";

const LONG_QUESTION = 220;
const FORMATS = { md: "Markdown", html: "Web page", docx: "Word", pdf: "PDF", bibtex: "BibTeX", "csl-json": "Citations (CSL JSON)", json: "All data (JSON)" };
const PLAIN = /^(summary|related passages|introduction|conclusions?|overview|sources|notes|contents|background|answer)\b/i;

// The part of the latest question that is at work: it is open and kept in view.
export function stageOf({ run, story }) {
  if (run.has_report && run.status !== "running") return "report";
  if (run.status === "waiting") return "plan" in run.waiting ? "plan" : "answer";
  if (["stopped", "failed", "ended"].includes(run.status)) return "end";
  if (story.isWriting && story.draft) return "report";
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

// Sorts the user's messages: question, answer, reply to a plan, message to researchers at work.
function partsOf(slice, edited) {
  const parts = { question: "", attached: [], before: [], during: [], isEdited: false };
  let last = "";
  for (const { role, kind, text, attached } of slice) {
    parts.attached.push(...(attached ?? []));
    if (role !== "user") {
      if (kind === "clarification") parts.before.push({ role, text });
    } else if (!parts.question) parts.question = text;
    else if (last === "plan") {
      const isPlan = text.trim() === edited.trim() || (text.match(/^\s*\d+[.)]/gm) ?? []).length > 1;
      parts.isEdited ||= isPlan;
      if (text !== "approve" && !isPlan) parts.before.push({ role, text });
    } else (last === "clarification" ? parts.before : parts.during).push({ role, text });
    last = role === "user" ? "user" : kind;
  }
  return parts;
}

const bubble = ({ role, text }, more) => h("li", { class: role, dir: "auto" }, role === "user" ? h("p", {}, folded(text, LONG_QUESTION)) : markdown(text), more);

function planPart(exchange, isEdited, stage) {
  const { run, story } = exchange;
  const isAsked = run.status === "waiting" && "plan" in run.waiting;
  const text = isAsked ? run.waiting.plan : story.isPlanning ? story.plan : run.plan || story.plan;
  if (isAsked) {
    return h("form", { class: "card review", "data-part": "plan", "data-do": "approve", "data-key": `review ${run.waiting.plan}` },
      h("h2", {}, "Does this plan look right?"), run.waiting.refused && h("p", { class: "notice bad", role: "alert" }, run.waiting.refused),
      h("label", { for: "plan-text" }, "Edit the plan"),
      h("textarea", { id: "plan-text", name: "plan", rows: String(Math.min(18, text.split("\n").length + 1)) }, text),
      h("label", { for: "plan-comment" }, "Or describe what should change, and the plan is rewritten"),
      h("input", { id: "plan-comment", name: "comment", autocomplete: "off" }),
      h("div", { class: "foot" }, h("button", { class: "main-action" }, "Start research"), button("end", "Cancel"),
        run.estimate && h("span", { class: "quiet" }, `Estimate: ${run.estimate.replace(/ \((?:max|researcher)_\w+\)/g, "")}`)));
  }
  if (!text) return stage === "plan" && run.status !== "waiting" && h("div", { class: "skeleton", "data-part": "plan", "aria-hidden": "true" }, h("i"), h("i"));
  const steps = text.split("\n").filter((line) => /^\s*\**\d+[.)]/.test(line)).length;
  const isOpen = stage === "plan";
  return h("details", { class: "part", "data-part": "plan", "data-key": `plan-${isOpen}`, open: isOpen },
    h("summary", {}, isOpen && run.status === "running" ? "Planning" : `Plan${steps ? `, ${count(steps, "step")}` : ""}${isEdited ? ", edited by you" : ""}`),
    h("div", { class: "prose" }, markdown(text)));
}

function names(found, noun) {
  if (!found.length) return null;
  return h("details", { class: "names", "data-key": noun }, h("summary", {}, count(found.length, noun)), h("ul", {}, found.map((name) => h("li", {}, name))));
}

function taskCard(branch, isAtWork) {
  const state = branch.state === "done" ? "done" : isAtWork ? branch.state : "stopped";
  return h("section", { class: `task ${state.replace(" ", "-")}`, "data-key": branch.key, "aria-label": branch.title },
    h("h3", { title: branch.task }, dot({ done: "completed", "at work": "running" }[state] ?? state), branch.title,
      h("span", { class: "quiet state" }, state)),
    state === "at work" && h("p", { class: "now" }, branch.now), branch.errors.map((words) => h("p", { class: "notice bad" }, words)),
    h("div", { class: "counts" },
      names(branch.searches, "search"), names([...branch.pages.values()], "page"), names([...new Set(branch.files.values())], "file"), names(branch.learned, "finding"),
      branch.finding && h("details", { class: "names", "data-key": "text" }, h("summary", {}, "Finding"), h("div", { class: "prose" }, markdown(branch.finding)))));
}

function researchLine({ run, story }) {
  const files = new Set(), pages = new Set();
  for (const branch of story.branches) {
    for (const name of branch.files.values()) files.add(name);
    for (const id of branch.pages.keys()) pages.add(id);
  }
  const topics = story.branches.length;
  return [topics ? `Researched ${count(topics, "topic")}` : "First searches", files.size > 0 && count(files.size, "file"),
    pages.size > 0 && count(pages.size, "page"), run.seconds >= 1 && duration(run.seconds)].filter(Boolean).join(", ");
}

function researchPart(exchange, stage) {
  const { story, run } = exchange;
  if (!story.branches.length && !story.looking.length) return null;
  const isOpen = stage === "research" || (stage === "end" && story.branches.length > 0);
  const done = story.branches.filter((branch) => branch.state === "done").length;
  const rounds = [...new Set(story.branches.map((branch) => branch.turn))];
  const thoughts = story.thoughts.filter(Boolean);
  return h("details", { class: "part", "data-part": "research", "data-key": `research-${isOpen}`, open: isOpen },
    h("summary", {}, isOpen ? `Research: ${done} of ${story.branches.length} tasks done` : researchLine(exchange)),
    story.looking.length > 0 && h("p", { class: "quiet" }, `First searched for: ${story.looking.join(" · ")}`),
    rounds.map((turn, place) => h("div", { "data-key": `round-${turn}`, class: "round" }, rounds.length > 1 && h("p", { class: "quiet" }, `Round ${place + 1}`),
      h("div", { class: "tasks" }, story.branches.filter((branch) => branch.turn === turn).map((branch) => taskCard(branch, run.status === "running"))))),
    thoughts.length > 0 && h("details", { class: "names", "data-key": "thoughts" }, h("summary", {}, "Thoughts between the rounds"), thoughts.map((words) => h("p", { class: "quiet" }, words))));
}

function endPart({ run, failure, isLatest, story }) {
  const kept = story.branches.length > 0 && " What was found so far is kept.";
  const goOn = (words) => run.is_unfinished && button("go-on", words, { class: "main-action" });
  if (run.status === "failed" || (failure && ["stopped", "starting"].includes(run.status))) {
    return h("div", { class: "card bad", "data-part": "end", role: "alert" }, h("h2", {}, "This run failed"), h("p", {}, failure || run.failure),
      run.is_unfinished && h("p", { class: "quiet" }, "Fix the cause, then try again.", kept), h("div", { class: "foot" }, goOn("Try again")));
  }
  if (run.status === "stopped" && isLatest) {
    return h("div", { class: "card", "data-part": "end" }, h("p", {}, "This run was stopped.", kept), h("div", { class: "foot" }, goOn("Continue")));
  }
  return run.status === "ended" && h("p", { class: "quiet", "data-part": "end" }, "You ended this question without a report.");
}

export function byline({ run }) {
  return [day(run.changed), DEPTHS[run.depth], run.sources.length ? count(run.sources.length, "source") : "no sources", run.seconds >= 1 && duration(run.seconds), run.spent.usd > 0 && money(run.spent.usd)]
    .filter(Boolean).join(" · ");
}

function reportPart(exchange, formats) {
  const { run, question } = exchange;
  const isTitled = run.title && !question.replace(/\s+/g, " ").startsWith(run.title.replace(/…$/, ""));
  return h("div", { class: "report-part", "data-part": "report", "data-key": "finished" },
    isTitled && h("h2", { class: "title", dir: "auto" }, run.title), h("p", { class: "byline quiet" }, h("span", {}, byline(exchange)),
      h("span", { class: "tools" }, button("copy", "Copy", { title: "Copy the report as Markdown" }), button("print", "Print"),
        h("details", { class: "menu" }, h("summary", { class: "button" }, "Download"),
          h("div", { class: "menu-items" }, formats.map((format) => button("export", FORMATS[format] ?? format, { value: format })))))),
    h("div", { class: "report", "data-keep": true, "data-key": "report", "data-of": run.question_id }, h("div", { class: "skeleton", "aria-hidden": "true" }, h("i"), h("i"), h("i"))));
}

// At most three follow-ups: what the report leaves open, then its headings.
export function followUps(run, headings) {
  const open = run.open_gaps.map((gap) => (gap.endsWith("?") ? gap : `Find out: ${gap}`));
  const more = headings.filter((words) => !PLAIN.test(words) && !words.endsWith("?")).map((words) => `Tell me more about “${words}”`);
  return [...open.slice(0, 2), ...more].slice(0, 3);
}

export function exchangeView(exchange, formats) {
  const { run, story, slice, isLatest } = exchange;
  const { question, attached, before, during, isEdited } = partsOf(slice, run.plan);
  const stage = isLatest ? stageOf(exchange) : run.has_report ? "report" : "end";
  exchange.question = question || run.question;
  const asked = run.status === "waiting" && !("plan" in run.waiting) ? run.waiting.question : "";
  const isSaid = before.some((part) => part.text === asked);
  const pending = exchange.sent.filter((words) => !during.some((part) => part.text === words));
  const isHeard = stage === "research" || stage === "plan";
  return h("section", { class: "exchange", "data-key": `exchange-${exchange.place}`, "data-place": exchange.place, "data-stage": stage },
    h("h1", { class: "question", dir: "auto" }, folded(exchange.question || "…", LONG_QUESTION)), sentFiles(attached),
    (before.length > 0 || asked) && h("ol", { class: "talk", "data-part": asked ? "answer" : null }, before.map((part) => bubble(part)), asked && !isSaid && bubble({ role: "assistant", text: asked }),
      run.waiting.refused && asked && h("li", { class: "notice bad", role: "alert" }, run.waiting.refused)),
    planPart(exchange, isEdited, stage),
    researchPart(exchange, stage),
    during.length + pending.length > 0 && h("ol", { class: "talk", "data-key": "during" }, [...during, ...pending.map((text) => ({ role: "user", text }))].map((part) =>
      bubble(part, h("p", { class: "quiet" }, isHeard && run.status === "running" ? "Sent. The researchers will read it at their next turn." : "Sent during research")))),
    stage === "report" && !(run.has_report && run.status !== "running")
      && h("div", { class: "report-part", "data-part": "report", "data-key": "writing" },
        h("article", { class: "report", "data-keep": true, "data-key": "draft", id: "draft", "aria-label": "Report, as it is written", dir: "auto" })),
    stage === "report" && run.has_report && run.status !== "running" && reportPart(exchange, formats),
    endPart(exchange),
    stage === "report" && isLatest && run.has_report && run.status !== "running" && h("div", { class: "next", id: "next", "data-keep": true, "data-key": "next" }));
}

const WAYS = {
  running: ["steer", "Message the researchers", "Send"],
  waiting: ["answer", "Your answer", "Answer"],
  stopped: ["steer", "Add a note and continue", "Continue"],
  failed: ["steer", "Add a note and continue", "Continue"],
};

export function strip({ run, story, passing }, seconds, costs) {
  const done = story.branches.filter((branch) => branch.state === "done").length;
  const stage = { report: story.isChecking ? "Checking the report" : "Writing the report", research: `Researching, ${done} of ${story.branches.length} done`, plan: story.isPlanning ? "Planning" : "Getting ready" };
  const facts = [costs.tokens > 0 && count(costs.tokens, "token"), costs.usd > 0 && money(costs.usd)].filter(Boolean);
  return [dot("running"), h("span", { class: "doing" }, passing || story.activity || stage[stageOf({ run, story })] || "At work"),
    h("span", { class: "quiet roomy" }, facts.join(" · ")), h("span", { class: "quiet clock" }, duration(seconds)), button("stop", "Stop", { class: "stop", disabled: run.status !== "running" })];
}

export function dockView(exchange) {
  const { run } = exchange;
  const [action, words, verb] = WAYS[run.status] ?? ["follow-up", "Ask a follow-up question", "Ask"];
  const isPlan = run.status === "waiting" && "plan" in run.waiting;
  const isAtWork = ["running", "starting"].includes(run.status);
  return [
    button("jump", "Jump to latest", { id: "jump", class: "jump", hidden: true }),
    h("p", { class: "strip", id: "strip", "data-keep": true, "data-key": "strip", hidden: !isAtWork }),
    exchange.failure && !["failed", "stopped", "starting"].includes(run.status) && h("p", { class: "notice bad", role: "alert", "data-key": "failure" }, exchange.failure),
    run.status === "waiting" && !isPlan && h("p", { class: "skip-line" }, button("skip", "Continue without answering"), button("end", "End this question")),
    // Kept in place so that unsent text survives.
    h("form", { class: "composer box", "data-do": action, "data-key": "composer", hidden: isPlan || run.status === "starting" },
      action === "follow-up" && fileInput(),
      h("textarea", { id: "words", name: "words", rows: "1", "aria-label": words, placeholder: words, "data-sends": true }),
      h("button", { class: "main-action" }, verb), action === "follow-up" && fileList()),
  ];
}
