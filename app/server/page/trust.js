// The line below the title that says how far a report can be relied on; each of its numbers opens its list.

import { button, h } from "./dom.js";
import { leadTo } from "./focus.js";
import { idOf, lettersOf } from "./report.js";

const VERDICTS = { answered: "✓", partly: "◐", "not answered": "○", "not judged": "–" };

const cite = (number) => number > 0 && button("open-source", String(number), { class: "cite", value: String(number), "aria-label": `Source ${number}` });
const place = (words) => button("show-statement", words, { class: "link", title: "Show it in the report" });

const LISTS = {
  corrected: ({ text, after, reason }) => [h("del", {}, text), " ", after ? h("ins", {}, place(after)) : h("span", { class: "quiet" }, "Taken out"), reason && h("p", { class: "quiet" }, reason)],
  not_verified: ({ text, verdict, reason, quote, number }) => [place(text), h("p", { class: "why" }, [verdict, reason].filter(Boolean).join(": ")), quote && h("p", { class: "quiet" }, "The source says: ", h("q", {}, quote), " ", cite(number))],
  contradictions: ({ sides, resolution }) => [sides.map(({ text, number, title, date }) => h("p", {}, text, " ", cite(number), h("span", { class: "quiet" }, ` ${[title, date].filter(Boolean).join(", ")}`))),
    h("p", { class: "quiet" }, resolution || "Not resolved: nothing decides between the two.")],
  open: ({ text }) => text,
  points: ({ text, verdict, missing }) => [h("span", { class: "point", "aria-hidden": "true" }, VERDICTS[verdict]), text, verdict !== "answered" && h("span", { class: "quiet" }, ` ${verdict === "not judged" ? "not graded" : verdict}${missing ? `: ${missing}` : ""}`)],
};
LISTS.not_judged = LISTS.not_verified;

function basis({ without_source: others, was_checked: wasChecked, not_judged: notJudged, failures }, id) {
  if (!wasChecked) return h("p", {}, "The statements of this report were not compared with its sources.");
  const how = notJudged ? "No model has judged them; only quotations and figures were looked up in the sources." : "Each was compared with passages of the sources that it cites.";
  return [failures.map((words) => h("p", { class: "notice bad" }, `During the check: ${words}`)),
    h("p", {}, `${how}${others ? ` ${others} more need no source: headings, conclusions, statements that something is missing.` : ""}`),
    h("p", {}, h("a", { href: `#${id}checked` }, "How it was checked, sentence by sentence"))];
}

export function trustLine(run) {
  const { trust } = run, key = `trust-${run.question_id}`;
  return trust && h("div", { class: "trust", role: "group", "aria-label": "How far this report can be relied on", "data-keep": true, "data-key": key },
    trust.parts.map(({ name, words, items }) => h("details", { name: key, class: name }, h("summary", {}, words),
      h("div", { class: "trust-list" }, name === "supported" ? basis(trust, idOf(run)) : items.length ? h("ol", {}, items.map((item) => h("li", { dir: "auto" }, LISTS[name](item)))) : "An earlier version stored this report without the list."))));
}

// Calculations are listed as in the report: with formula, inputs and their sources; first those that it cites.
export function fillTrust(section, report) {
  const list = section.querySelector(".trust .calculations .trust-list"), heading = report.querySelector('[aria-labelledby$="calculations"] > h2');
  if (!list || !heading) return;
  list.replaceChildren(...[...heading.parentElement.children].filter((part) => part !== heading).map((part) => part.cloneNode(true)));
  for (const element of list.querySelectorAll("[id]")) element.removeAttribute("id");
  const cited = new Set([...report.querySelectorAll("article .cite.calc")].map((chip) => chip.textContent));
  const others = [...list.querySelectorAll(":scope > ol > li")].filter((line) => !cited.has(line.querySelector(".number").textContent));
  const more = [others.length > 0 && h("ol", { class: "sources calculations" }, others), ...list.querySelectorAll(":scope > ul")].filter(Boolean);
  const number = others.length + list.querySelectorAll(":scope > ul > li > ul > li").length;
  if (more.length) list.append(h("details", {}, h("summary", {}, `and ${number} more, on which these rest or with which statements were checked`), more));
}

// Brings the statement with these words into view, or the row or paragraph that has most of it.
export function showStatement(control) {
  const wanted = lettersOf(control.textContent), report = control.closest(".exchange").querySelector(".report article");
  const claims = [...Map.groupBy(report?.querySelectorAll(".claim") ?? [], (claim) => claim.dataset.claim).values()];
  const wordsOf = (parts) => lettersOf(parts.map((part) => part.textContent).join(""));
  const found = claims.find((parts) => wordsOf(parts).includes(wanted)) ?? claims.find((parts) => wordsOf(parts).length > 2 && wanted.includes(wordsOf(parts)))
    ?? [...(report?.querySelectorAll("h2, h3, li, p, td") ?? [])].filter((block) => lettersOf(block.textContent).includes(wanted)).slice(-1);
  const [first] = found;
  if (!first) return;
  leadTo(first);
}
