// What is shown, made anew from what is known each time something changes.

import { h } from "./dom.js";
import { markdown } from "./markdown.js";

export const STATES = {
  running: "At work", waiting: "Waits for you", completed: "Done", completed_with_gaps: "Done, with gaps",
  stopped: "Stopped", failed: "Failed", ended: "Ended", unreadable: "Cannot be read", starting: "Starting",
};
const STRATEGIES = {
  deep_research: ["Orchestrated", "rounds of research until nothing is missing"],
  planned_research: ["Planned", "a plan of steps, carried out within a time limit"],
};
const DEPTHS = {
  quick: "Quick: one search, for a fact or a definition", standard: "Standard: thorough research", deep: "Deep: further and longer",
  auto: "Auto: quick for a small question, else thorough",
};
const FORMATS = {
  md: "Markdown", html: "Web page", docx: "Word", pdf: "PDF", bibtex: "BibTeX", "csl-json": "Citations (CSL JSON)", json: "All data (JSON)",
};

const button = (action, words, more = {}) => h("button", { type: "button", "data-do": action, ...more }, words);
const dot = (status) => h("span", { class: `dot ${status}`, "aria-hidden": "true" });
const count = (number, noun) => `${number.toLocaleString("en").replaceAll(",", "\u202f")} ${noun}${number === 1 ? "" : "s"}`;

export function duration(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function day(moment) {
  const date = new Date(moment);
  return moment && !Number.isNaN(date.valueOf()) ? date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : "";
}

export function runList(runs, current) {
  if (!runs.length) return [h("p", { class: "quiet" }, "No runs yet.")];
  return [h("ul", {}, runs.map((run) => h("li", { "data-key": run.thread },
    h("a", { href: `#/run/${run.thread}`, "aria-current": run.thread === current ? "page" : null },
      h("span", { class: "line" }, run.title || run.question || "…"),
      h("span", { class: "quiet" }, dot(run.status), `${STATES[run.status] ?? run.status}`, run.changed ? ` · ${day(run.changed)}` : "")))))];
}

export function tokenForm(words) {
  return [h("form", { class: "ask", "data-do": "token" },
    h("h1", {}, "A token is needed"),
    h("p", {}, words || "The server prints an address that holds it: open that. Or put the token here."),
    h("label", { for: "token" }, "Token"), h("input", { id: "token", name: "token", type: "password", autocomplete: "off", required: true }),
    h("p", {}, h("button", { class: "main-action" }, "Go on")))];
}

function folderChoice(folder) {
  const box = (name, words, checked) => h("label", { class: "check" }, h("input", { type: "checkbox", name: "docs", value: name, checked }), words);
  return h("div", {}, box(folder.name, folder.name, true), folder.folders.length > 0 && h("details", { class: "inner" },
    h("summary", {}, "Only some of its folders"), folder.folders.map((name) => box(`${folder.name}/${name}`, name, false))));
}

export function askForm(offer, failure) {
  return [h("form", { class: "ask", "data-do": "ask", "data-key": "ask" },
    h("h1", {}, "What do you want to know?"),
    failure && h("p", { class: "failure", role: "alert" }, failure),
    h("label", { class: "unseen", for: "question" }, "Question"),
    h("textarea", { id: "question", name: "question", rows: "4", required: true, placeholder: "One question, or a brief with all that the report should cover" }),
    h("div", { class: "choices" },
      h("label", {}, "Strategy", h("select", { name: "graph" }, Object.values(offer.graphs).map((graph) =>
        h("option", { value: graph }, `${STRATEGIES[graph]?.[0] ?? graph}: ${STRATEGIES[graph]?.[1] ?? ""}`)))),
      h("label", {}, "Depth", h("select", { name: "depth" }, offer.depths.map((one) =>
        h("option", { value: one, selected: one === offer.depth }, DEPTHS[one] ?? one)))),
      offer.models.length > 0 && h("label", {}, "Model", h("select", { name: "models" },
        h("option", { value: "" }, "as the server has it"), offer.models.map((one) => h("option", { value: one }, one))))),
    offer.docs.length > 0 && h("fieldset", {}, h("legend", {}, "Documents"), offer.docs.map(folderChoice)),
    offer.engines.length > 0 && h("fieldset", {}, h("legend", {}, "The web"), offer.engines.map((name) =>
      h("label", { class: "check" }, h("input", { type: "checkbox", name: "engines", value: name, checked: true }), name))),
    h("fieldset", {}, h("legend", {}, "Before research begins"),
      h("label", { class: "check" }, h("input", { type: "checkbox", name: "clarify", checked: true }), "Ask me back if the question is unclear"),
      h("label", { class: "check" }, h("input", { type: "checkbox", name: "review_plan" }), "Show me the plan first")),
    h("details", {}, h("summary", {}, "More settings"),
      h("label", {}, "Language of the report", h("input", { name: "language", placeholder: "that of the question" })),
      h("label", {}, "Instructions", h("textarea", { name: "instructions", rows: "2", maxlength: "4000", placeholder: "Tone, length, audience" }))),
    offer.tracing && h("p", { class: "quiet" }, `Tracing is on: what a run asks and reads also goes to ${offer.tracing}.`),
    h("p", {}, h("button", { class: "main-action" }, "Start research")))];
}

function meta(view) {
  const { run, costs } = view;
  const parts = [
    h("span", { class: `state ${run.status}` }, dot(run.status), STATES[run.status] ?? run.status),
    STRATEGIES[run.graph]?.[0],
    view.seconds > 0 && duration(view.seconds),
    costs.tokens > 0 && count(costs.tokens, "token"),
    costs.usd > 0 && `$${costs.usd.toFixed(costs.usd < 0.1 ? 4 : 2)}`,
  ];
  return h("p", { class: "meta" }, parts.filter(Boolean).map((part) => h("span", {}, part)));
}

function actions(view) {
  const { run, formats } = view;
  return h("div", { class: "actions" },
    run.status === "running" && button("stop", "Stop"),
    run.is_unfinished && ["stopped", "failed"].includes(run.status) && button("go-on", "Go on", { class: "main-action" }),
    run.has_report && h("details", { class: "menu" }, h("summary", { class: "button" }, "Export"),
      h("div", { class: "menu-items" }, formats.map((format) => button("export", FORMATS[format] ?? format, { value: format })))));
}

function plan(view) {
  const { run, story } = view;
  const waiting = run.status === "waiting" && "plan" in run.waiting;
  const text = waiting ? run.waiting.plan : story.plan;
  if (!text) return null;
  if (!waiting) {
    return h("details", { class: "plan", "data-key": `plan-${run.has_report}`, open: !run.has_report }, h("summary", {}, "Plan"), markdown(text));
  }
  return h("form", { class: "plan review", "data-do": "approve", "data-key": "review" },
    h("h2", {}, "Is this plan good?"),
    run.waiting.refused && h("p", { class: "failure", role: "alert" }, run.waiting.refused),
    run.estimate && h("p", { class: "quiet" }, `Estimated: ${run.estimate}`),
    h("label", { for: "plan-text" }, "The plan; change it as you like"),
    h("textarea", { id: "plan-text", name: "plan", rows: String(Math.min(24, text.split("\n").length + 2)) }, text),
    h("label", { for: "plan-comment" }, "Or say what should be different, and it is written anew"),
    h("input", { id: "plan-comment", name: "comment", autocomplete: "off" }),
    h("p", {}, h("button", { class: "main-action" }, "Start research")));
}

const sources = (documents) => h("ul", { class: "found" }, documents.slice(0, 8).map((one) => h("li", {}, one.title || one.link)),
  documents.length > 8 && h("li", { class: "quiet" }, `and ${documents.length - 8} more`));

function step(action) {
  if (!action.kind) return action.thought ? h("li", { class: "thought", "data-key": action.key }, action.thought) : null;
  const verb = action.kind === "reading" ? "Reads" : `Searches ${action.kind}:`;
  const found = action.found === null ? h("span", { class: "quiet" }, " …") : action.found.length === 0 ? h("span", { class: "quiet" }, " nothing")
    : h("details", {}, h("summary", {}, count(action.found.length, "source")), sources(action.found));
  return h("li", { "data-key": action.key }, h("span", { class: "quiet" }, `${verb} `), action.asked.join(" · "), found);
}

function card(branch, isAtWork) {
  const state = branch.state === "done" ? "done" : isAtWork ? branch.state : "stopped";
  return h("section", { class: `card ${state.replace(" ", "-")}`, "data-key": branch.key, "aria-label": branch.title },
    h("h3", {}, branch.title),
    h("p", { class: "quiet" }, dot(state === "done" ? "completed" : isAtWork ? "running" : "stopped"), state),
    branch.errors.map((words) => h("p", { class: "failure" }, words)),
    h("ol", { class: "steps" }, branch.actions.map(step).filter(Boolean)),
    branch.learned.length > 0 && h("details", {}, h("summary", {}, `${count(branch.learned.length, "thing")} learned`),
      h("ul", {}, branch.learned.map((words) => h("li", {}, words)))),
    branch.finding && h("details", {}, h("summary", {}, branch.cited.length ? `Finding, cites ${count(branch.cited.length, "source")}` : "Finding"), markdown(branch.finding)));
}

function research(view) {
  const { story, run } = view;
  if (!story.branches.length && !story.looking.length) return null;
  const isAtWork = run.status === "running";
  const rounds = [...new Set(story.branches.map((branch) => branch.turn))];
  return h("details", { class: "research", "data-key": `research-${run.has_report}`, open: !run.has_report },
    h("summary", {}, "Research", story.branches.length > 0 && h("span", { class: "quiet" }, ` ${count(story.branches.length, "task")}`)),
    story.looking.length > 0 && h("ol", { class: "steps" }, story.looking.map(step).filter(Boolean)),
    story.thoughts.filter(Boolean).length > 0 && h("details", {}, h("summary", {}, "Thoughts"), story.thoughts.filter(Boolean).map((words) => h("p", { class: "thought" }, words))),
    rounds.map((turn, place) => h("div", { "data-key": `round-${turn}` }, rounds.length > 1 && h("h3", { class: "round" }, `Round ${place + 1}`),
      h("div", { class: "cards" }, story.branches.filter((branch) => branch.turn === turn).map((branch) => card(branch, isAtWork))))));
}

function draft(view) {
  const { story, run } = view;
  if (run.has_report && run.status !== "running") return null;
  if (!story.draft) return null;
  return h("article", { class: "draft", "data-key": "draft", "aria-label": "Report, as it is written", dir: "auto" }, markdown(story.draft));
}

export function runView(view) {
  const { run, story } = view;
  const doing = run.status === "running" ? view.passing || (story.isWriting && !story.stop ? story.activity || "Writing the report" : story.activity) : "";
  return [
    h("h1", { class: "question", dir: "auto" }, run.title || run.question || "…"),
    run.title && run.title !== run.question && h("p", { class: "quiet", dir: "auto" }, run.question),
    meta(view), run.estimate && run.status !== "waiting" && h("p", { class: "quiet estimate", "data-key": "estimate" }, `Estimated: ${run.estimate}`), actions(view),
    view.failure && view.failure !== run.failure && h("p", { class: "failure", role: "alert", "data-key": "failure" }, view.failure),
    run.failure && run.status === "failed" && h("p", { class: "failure", "data-key": "failed" }, run.failure),
    run.status === "stopped" && h("p", { class: "quiet", "data-key": "stopped" }, "The run was stopped; what was found is kept."),
    doing && h("p", { class: "doing", "data-key": "doing" }, doing),
    plan(view), research(view), draft(view),
    h("div", { class: "report", id: "report", "data-keep": true, "data-key": "report" }),
  ];
}

const WAYS = {
  running: ["steer", "Say something to the researchers", "Send"],
  waiting: ["answer", "Your answer", "Answer"],
  stopped: ["steer", "Go on, and mind this", "Go on"],
  failed: ["steer", "Go on, and mind this", "Go on"],
};

function message(one, isLastReport) {
  if (one.kind === "report") {
    return isLastReport ? h("li", { class: "assistant" }, h("a", { href: "#report", "data-do": "to-report" }, "The report"))
      : h("li", { class: "assistant" }, h("details", {}, h("summary", {}, "An earlier report"), markdown(one.text)));
  }
  if (one.kind === "plan") return h("li", { class: "assistant" }, h("details", {}, h("summary", {}, "A plan"), markdown(one.text)));
  return h("li", { class: one.role, dir: "auto" }, one.role === "user" ? h("p", {}, one.text) : markdown(one.text));
}

export function talkView(view) {
  const { run } = view;
  const last = run.messages.findLastIndex((one) => one.kind === "report");
  const [action, words, verb] = WAYS[run.status] ?? ["follow-up", "A further question", "Ask"];
  const isPlan = run.status === "waiting" && "plan" in run.waiting;
  const asked = run.status === "waiting" && !isPlan ? run.waiting.question : "";
  const isSaid = run.messages.some((one) => one.kind === "clarification" && one.text === asked);
  return [
    h("h2", {}, "Conversation"),
    h("ol", { class: "messages" }, run.messages.map((one, place) => message(one, place === last)),
      asked && !isSaid && h("li", { class: "assistant", dir: "auto" }, markdown(asked))),
    run.waiting.refused && !isPlan && h("p", { class: "failure", role: "alert" }, run.waiting.refused),
    isPlan && h("p", { class: "quiet" }, "The plan waits for you."),
    // It stays, so that what a reader is typing in it stays.
    h("form", { class: "composer", "data-do": action, "data-key": "composer", hidden: isPlan || run.status === "starting" },
      h("label", { for: "words" }, words),
      h("textarea", { id: "words", name: "words", rows: "3", required: true }),
      h("button", { class: "main-action" }, verb)),
  ];
}

export function sourceView(source, number, mark) {
  return [
    h("div", { class: "source-head" }, h("h2", { id: "source-title" }, h("span", { class: "number" }, String(number)), " ", source.title),
      button("close-source", "Close")),
    source.link && h("p", {}, h("a", { href: source.link, target: "_blank", rel: "noopener noreferrer nofollow" }, source.link)),
    h("p", { class: "quiet" }, source.texts.length ? `This is what was read${source.read_at ? ` on ${day(source.read_at)}` : ""}.` : "The text of this source is not kept."),
    source.texts.map((text) => h("div", { class: "source-text", tabindex: "0", dir: "auto" }, mark(text))),
  ];
}
