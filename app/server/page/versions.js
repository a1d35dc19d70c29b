// The versions of a report: listed above the latest one, compared word by word, put back.

import { button, count, day, h, hour } from "./dom.js";

const KINDS = { research: "First report", question: "Further question", edit: "Edited" };
const TAGS = { same: "span", removed: "del", added: "ins" };
const HEADING = /^#{1,6}\s+/;

const versionOf = (run) => run.versions.find((each) => each.question_id === run.question_id);
export const isEdit = (run) => versionOf(run)?.kind === "edit";

// What a further message of the conversation was; empty until it is known.
export function kindWords(run) {
  const version = versionOf(run);
  if (run.is_edit) return `Change of the report${version ? `: version ${version.number}` : ""}`;
  return run.is_edit === false && !version?.restores && "Follow-up";
}

// The words above a version that was put back, which nobody has asked for in words; empty for all others.
export function revertWords(run) {
  const version = versionOf(run);
  return version?.restores ? `Back to version ${version.restores}` : "";
}

export function versionList({ versions }) {
  const reports = versions.filter(({ kind }) => kind !== "answer"), latest = reports.at(-1);
  if (reports.length < 2) return null;
  return h("details", { class: "versions", "data-key": "versions" }, h("summary", {}, `${count(reports.length, "version")} of this report`),
    h("ol", { reversed: true }, reports.toReversed().map((version) => h("li", { "data-key": `version-${version.number}` },
      h("div", { class: "version" }, h("strong", {}, `Version ${version.number}`), h("span", { class: "quiet" }, [version.restores ? `Back to version ${version.restores}` : KINDS[version.kind], `${day(version.date)}, ${hour(version.date)}`].join(" · ")),
        version === latest ? h("span", { class: "tools quiet" }, "The latest") : h("span", { class: "tools" },
          button("compare", "Changes", { value: `old=${version.number}&new=${latest.number}`, "aria-label": `Changes from version ${version.number} to ${latest.number}`, "aria-expanded": "false" }),
          button("revert", "Back to this version", { value: version.number, "aria-label": `Back to version ${version.number}` })),
        h("span", { class: "version-title", dir: "auto" }, version.title)),
      h("div", { class: "difference", "data-keep": true, "data-key": "difference" })))));
}

// The changed blocks, each below its heading; unchanged ones are counted.
export function differenceView(blocks) {
  const shown = [];
  let heading = null, skipped = 0;
  const skip = () => {
    if (skipped > 0) shown.push(h("p", { class: "quiet" }, `${count(skipped, "part")} unchanged`));
    skipped = 0;
  };
  for (const block of blocks) {
    const isHeading = HEADING.test(block[0].text);
    const view = h(isHeading ? "h3" : "p", {}, block.map(({ change, text }, at) => h(TAGS[change], {}, at === 0 ? text.replace(HEADING, "") : text)));
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
