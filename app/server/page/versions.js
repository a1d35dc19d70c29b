// The versions of a report: listed above the latest one, compared word by word, put back.

import { button, count, day, h, hour, shortened } from "./dom.js";
import { markdown } from "./markdown.js";
import { setSigns, signed } from "./signs.js";

const LONG_TITLE = 50;
const isEdited = ({ kind }) => kind === "edit";

// The title of the report that is changed; an edit of one without a title is named after the words that asked for it.
export const reportTitle = ({ versions }) => shortened(versions.findLast((version) => version.kind !== "answer" && !isEdited(version))?.title ?? "", LONG_TITLE);

const KINDS = { research: "First report", question: "Further question", edit: "Edited" };
const TAGS = { removed: "del", added: "ins" };
const HEADING = /^#{1,6}\s+/;
// What Markdown puts between words: the beginning of a line, and the borders of cells. A mark around it would hide it.
const LAYOUT = /([ \t]*\|[ \t]*|(?:^|\n)[ \t]*(?:[-*+•][ \t]+|\d+[.)][ \t]+|>[ \t]?|#{1,6}[ \t]+)|\n)/;
const DEFINITION = /^\[[^\]]+\]:\s/, CELLS = /^\s*\|(.*)\|\s*$/;

export const versionOf = (run) => run.versions.find((each) => each.question_id === run.question_id);
export const isEdit = (run) => isEdited(versionOf(run) ?? {});

// What a further message of the conversation was; empty until it is known.
export function kindWords(run) {
  const version = versionOf(run);
  if (run.is_edit) return version ? `Version ${version.number} of “${reportTitle(run)}”` : "Change of the report";
  return run.is_edit === false && !version?.restores && "Follow-up";
}

// The words above a version that was put back, which nobody has asked for in words; empty for all others.
export function revertWords(run) {
  const version = versionOf(run);
  return version?.restores ? `Back to version ${version.restores}` : "";
}

// The versions of the report, without short answers.
export const reportsOf = ({ versions }) => versions.filter(({ kind }) => kind !== "answer");

export const newerLine = ({ index }, { number }) => h("p", { class: "notice newer" }, h("a", { href: `#question-${index}` }, `Version ${number} of this report`), " is ready.");

// Leads from a report that a further question has followed to the list.
export const listLine = ({ index }, reports) => h("p", { class: "quiet" }, h("a", { href: `#question-${index}` }, `All ${count(reports.length, "version")}`));

export function versionList(run, exchanges) {
  const reports = reportsOf(run), latest = reports.at(-1);
  if (reports.length < 2) return null;
  const asked = new Map(exchanges.map((exchange) => [exchange.run.question_id, exchange.question]));
  const made = (version) => (version.restores ? `Back to version ${version.restores}` : KINDS[version.kind] + (version !== reports[0] && asked.get(version.question_id) ? `: “${shortened(asked.get(version.question_id), LONG_TITLE)}”` : ""));
  return h("details", { class: "versions" }, h("summary", {}, `${count(reports.length, "version")} of this report`),
    h("ol", { reversed: true }, reports.toReversed().map((version) => h("li", { "data-key": `version-${version.number}` },
      h("div", { class: "version" }, h("strong", {}, `Version ${version.number}`), h("span", { class: "quiet" }, [made(version), `${day(version.date)}, ${hour(version.date)}`].join(" · ")),
        version === latest ? h("span", { class: "tools quiet" }, "The latest") : h("span", { class: "tools" },
          button("compare", "Changes", { value: `old=${version.number}&new=${latest.number}`, "aria-label": `Changes from version ${version.number} to ${latest.number}`, "aria-expanded": "false" }),
          button("revert", "Back to this version", { value: version.number, "aria-label": `Back to version ${version.number}` })),
        h("span", { class: "version-title", dir: "auto" }, version.title)),
      h("div", { class: "difference", "data-keep": true, "data-key": "difference" })))));
}

const marked = ({ change, text }) => (change === "same" ? text : text.split(LAYOUT).map((piece, at) => (at % 2 || !piece.trim() ? piece : signed(TAGS[change], piece))).join(""));

// A block as it is read: marks around what changed, without the signs of Markdown. A row of a table stands without its head, so its cells stand in a line.
function blockView(pieces) {
  const text = pieces.map(marked).join(""), cells = CELLS.exec(text);
  const shown = cells ? [h("p", { class: "cells" }, cells[1].split("|").map((cell) => h("span", {}, markdown(cell).flatMap((part) => [...part.childNodes]))))] : markdown(text);
  const element = setSigns(h("div", {}, shown));
  for (const words of element.querySelectorAll("*")) for (const node of words.childNodes) if (node.nodeType === Node.TEXT_NODE) node.data = node.data.replaceAll("**", "");
  return element;
}

const isDefinition = (block) => DEFINITION.test(block[0].text);

// The changed blocks, each below its heading; unchanged ones are counted.
export function differenceView(blocks) {
  const shown = [];
  let heading = null, skipped = 0;
  const skip = () => {
    if (skipped > 0) shown.push(h("p", { class: "quiet" }, `${count(skipped, "part")} unchanged`));
    skipped = 0;
  };
  for (const block of blocks.filter((each) => !isDefinition(each))) {
    const isHeading = HEADING.test(block[0].text), view = blockView(block);
    if (block.every(({ change }) => change === "same")) {
      skipped += heading || !isHeading ? 1 : 0;
      heading = isHeading ? view : heading;
      continue;
    }
    skip();
    shown.push(heading, view);
    heading = null;
  }
  skip();
  return shown.some((view) => view?.querySelector("ins, del")) ? shown.filter(Boolean) : [h("p", { class: "quiet" }, "The texts are the same.")];
}
