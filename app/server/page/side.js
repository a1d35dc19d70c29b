// The column beside the conversation: contents and source cards; and the dialog with the text of a source.

import { button, count, day, h, shortened } from "./dom.js";
import { markdown } from "./markdown.js";
import { fileButton } from "./original.js";
import { aboutSource } from "./report.js";
import { setSigns, signed } from "./signs.js";
import { nameOf } from "./story.js";
import { reportsOf } from "./versions.js";

const SECTIONS = 4;
const SHOWN_WHILE_READING = 40;

function cardOf(source, times, isExcluded) {
  const value = String(source.number);
  return h("li", { "data-key": value }, h("button", { type: "button", class: "source-card", "data-do": "open-source", value, title: "Read it, or stop using it" },
    h("span", { class: "number" }, value), h(isExcluded ? "s" : "span", { class: "source-title" }, source.title),
    h("span", { class: "quiet" }, [isExcluded && "excluded", aboutSource(source), times > 0 && `cited ${times === 1 ? "once" : times === 2 ? "twice" : `${times} times`}`].filter(Boolean).join(" · "))),
  isExcluded && h("p", { class: "source-use" }, button("include-source", "Include again", { class: "link", value, "aria-label": `Include again: ${source.title}` })));
}

// The sources of a report, and below them those that the reader has excluded since.
function cards(sources, excluded, cited) {
  const isExcluded = ({ number }) => excluded.some((source) => source.number === number), left = excluded.filter(({ number }) => !sources.some((source) => source.number === number));
  return [...sources, ...left].map((source) => cardOf(source, cited.get(String(source.number)) ?? 0, isExcluded(source)));
}

// The sources of a report; while it is changed, those that it had before.
export function sourcesOf({ run }, exchanges) {
  const before = run.is_edit && !run.has_report ? reportsOf(run).at(-1)?.question_id : run.question_id;
  return (exchanges.find((each) => each.run.question_id === before)?.run ?? run).sources;
}

export function sideView(exchange, exchanges) {
  const { run, story, headings, cited, index: at } = exchange, sources = sourcesOf(exchange, exchanges);
  const sections = headings.length ? headings : [...story.draft.matchAll(/^(#{2,3}) (.+)$/gm)].map(([, signs, words]) => ({ words, level: `H${signs.length}` }));
  const found = [...story.documents.values()].sort((left, right) => (left.number || Infinity) - (right.number || Infinity) || right.isRead - left.isRead);
  const { excluded } = exchanges.at(-1).run;
  return [
    exchanges.length > 1 && h("nav", { class: "contents-list", "aria-label": "Questions", "data-key": "questions" }, h("h2", {}, "Questions"),
      h("ol", {}, exchanges.map(({ question, index }) => h("li", {}, h("a", { href: `#question-${index}`, "aria-current": index === at ? "true" : null, dir: "auto" }, shortened(question, 60)))))),
    sections.length > SECTIONS && h("nav", { class: "contents-list", "aria-label": "Contents", "data-key": "contents" }, h("h2", {}, "Contents"),
      h("ol", {}, sections.map(({ id, words, level }) => h("li", { class: level }, h("a", { href: id && `#${id}`, dir: "auto" }, words))))),
    h("div", { class: "side-head" }, h("h2", {}, at ? `Sources of answer ${at + 1}` : "Sources"), h("span", { class: "quiet" }, sources.length || found.length || ""), button("toggle", "Close", { value: "side", class: "sheet-close" })),
    sources.length + excluded.length > 0 && h("ol", { class: "source-cards", "data-key": `cards-${run.question_id}` }, cards(sources, excluded, cited)),
    // Sources have their numbers from when they were read.
    sources.length > 0 && run.uncited.length > 0 && h("details", { class: "names uncited", "data-key": `uncited-${run.question_id}` }, h("summary", {}, `${count(run.uncited.length, "more source")} read and not cited`),
      h("ol", { class: "source-cards" }, run.uncited.map((source) => cardOf(source, 0, false)))),
    run.sources.length === 0 && found.length > 0 && h("ol", { class: "source-cards", "data-key": "found" }, found.slice(0, SHOWN_WHILE_READING).map((source) =>
      h("li", {}, h("div", { class: source.number ? "source-card" : "source-card unnumbered" }, source.number && h("span", { class: "number" }, String(source.number)), h("span", { class: "source-title" }, source.title), h("span", { class: "quiet" }, [nameOf(source.link), source.date, source.isRead ? "read" : "found"].filter(Boolean).join(" · ")))))),
    found.length > SHOWN_WHILE_READING && run.sources.length === 0 && h("p", { class: "quiet" }, `and ${count(found.length - SHOWN_WHILE_READING, "more source")}`),
    sources.length === 0 && found.length === 0 && h("p", { class: "quiet" }, run.has_report ? "The report cites no source." : ["running", "starting", "waiting"].includes(run.status) ? "Sources appear here as they are found." : "No sources."),
  ];
}

// Marks a quote in a text. Punctuation is ignored, since table cells and list items are rendered with other characters between them.
function withSigns(text, quote) {
  const pattern = (quote.match(/[\p{L}\p{N}]+/gu) ?? []).join("[^\\p{L}\\p{N}]+");
  const found = pattern ? new RegExp(pattern, "u").exec(text) : null;
  if (!found) return text;
  const lead = /^(?:\d+[.)]\s+)?/.exec(found[0])[0].length;
  const end = found.index + found[0].length;
  return text.slice(0, found.index + lead) + signed("mark", text.slice(found.index + lead, end)) + text.slice(end);
}

// `marked`: why the number that opens it is marked; `excluded`: what to say if the reader has excluded it.
export function sourceView(source, quotes, mayReplace, page, marked, excluded) {
  const value = String(source.number_in_thread);
  const replace = (words) => mayReplace && button("replace-source", words, { value, title: "Other sources are searched for what this one alone supports" });
  return [
    h("div", { class: "source-head" }, h("h2", { id: "source-title" }, source.number > 0 && h("span", { class: "number" }, String(source.number)), " ", source.title),
      h("div", { class: "foot" }, source.file && fileButton(value, source.file, page), button("close-source", "Close"))),
    marked && h("p", { class: "notice" }, marked),
    source.link && h("p", {}, h("a", { href: source.link, target: "_blank", rel: "noopener noreferrer nofollow" }, source.link)),
    h("p", { class: "quiet" }, source.texts.length ? `The text as it was read${source.read_at ? ` on ${day(source.read_at)}` : ""}.` : "The text of this source was not stored."),
    source.number_in_thread > 0 && h("p", { class: "source-use" }, source.is_excluded
      ? [excluded, button("include-source", "Include again", { value }), replace("Find others in its place")]
      : [button("exclude-source", "Don’t use this source", { value }), replace("Replace it"), h("span", { class: "quiet" }, "A report that cites it gets a version without it.")]),
    source.texts.map((text) => setSigns(h("div", { class: "source-text prose", tabindex: "0", dir: "auto", role: "region", "aria-label": "Text of the source" },
      markdown(quotes.reduce(withSigns, text))))),
  ].flat().filter(Boolean);
}
