// The first view: the box for a question, what will be searched, and the options; and the form for a token.

import { button, byId, count, DEPTHS, h, show } from "./dom.js";
import { fillIn, forgetDraft, restoreDraft } from "./drafts.js";
import { drawFiles, fileBlocks, fileInput, fileList, setFiles } from "./files.js";
import { offered, page, research } from "./page.js";
import * as server from "./server.js";

const METHODS = { deep_research: "Adaptive: until nothing is missing", planned_research: "Planned: the steps of one plan",
  table_research: "Table: a row for each thing" };
const CHOICES = { quick: "One search, for facts", standard: "Several researchers", deep: "More rounds, more time" };
const ANYTHING = ["How well do heat pumps work in cold winters?", "What changed in the EU AI Act since it was adopted?",
  "How do PostgreSQL and MySQL compare for a small team?"];

export function tokenForm(isKnown) {
  return h("form", { class: "ask", "data-do": "token" }, h("h1", {}, "A token is needed"),
    h("p", {}, isKnown ? "The server does not know this token." : "Open the address that the server printed, which contains its token, or paste your own token here."),
    h("label", { for: "token" }, "Token"), h("input", { id: "token", name: "token", type: "password", autocomplete: "off", required: true }),
    h("p", {}, h("button", { class: "main-action" }, "Continue")));
}

const isEmpty = ({ files, engines }) => files === 0 && engines.length === 0;
const namesOf = (folders) => folders.map(({ name }) => name).join(", ");

// What is searched; a setting that was made and finds nothing is named.
function sourcesOf({ uses: { files, engines }, docs }) {
  const own = files > 0 && `your ${count(files, "file")}`, web = engines.length > 0 && `the web (${engines.join(", ")})`;
  if (own && web) return `${own} and ${web}`;
  return web ? web + (docs.length ? `; no file can be read in ${namesOf(docs)}` : "") : `${own} (web search off)`;
}

// Before the question: what you get, from where, by which model, and what runs of the chosen depth usually took.
function promise(offer, depth) {
  const { uses, docs, times } = offer, { fault, model, has_model: hasModel } = uses;
  if (fault) return h("p", { class: "notice", role: "alert" }, fault);
  if (isEmpty(uses)) {
    return h("p", { class: "notice" }, docs.length ? `There is nothing to search yet: no file can be read in ${namesOf(docs)}, and web search is off. ` : "There is nothing to search yet. ",
      "Attach files to ask about them. To search a whole folder, start the server with --docs FOLDER.");
  }
  const made = hasModel ? ["You get a report with citations", model && `, written by ${model}`] : "You get quotations that answer your question";
  return h("div", { class: "uses" }, h("p", { id: "promise" }, made, ", from ", sourcesOf(offer), times[depth] && `. Usually takes ${times[depth]}`, "."),
    !hasModel && h("details", { class: "notice", "data-key": "model" }, h("summary", {}, "No language model is set: reports only quote the sources."),
      "Set one with the environment variable ", h("code", {}, "DEEP_RESEARCH_MODELS"), ", such as openai:gpt-5-mini, and restart the server."));
}

function depths(offer) {
  const chosen = usual(offer);
  return h("fieldset", { class: "depths" }, h("legend", { class: "unseen" }, "Depth"),
    Object.entries(CHOICES).map(([name, words]) => h("label", { class: "depth" },
      h("input", { type: "radio", name: "depth", value: name, checked: name === chosen }),
      h("span", {}, h("strong", {}, DEPTHS[name]), h("span", {}, words), offer.costs[name] && h("span", { class: "price" }, `Earlier runs: ${offer.costs[name]}`)))));
}

function folderChoice(folder) {
  const box = (name, words, checked) => h("label", { class: "check" }, h("input", { type: "checkbox", name: "docs", value: name, checked }), words);
  return h("div", {}, box(folder.name, folder.name, true), folder.folders.length > 0 && h("details", { class: "inner" },
    h("summary", {}, "Only some subfolders"), folder.folders.map((name) => box(`${folder.name}/${name}`, name, false))));
}

function options(offer) {
  const check = (name, words, checked) => h("label", { class: "check" }, h("input", { type: "checkbox", name, checked }), words);
  return h("details", { class: "options", "data-key": "options" }, h("summary", {}, "Options"), h("div", { class: "choices" },
      h("fieldset", {}, h("legend", {}, "Before research begins"),
        check("clarify", "Ask me if the question is unclear", true), check("review_plan", "Show me the plan first", false),
        check("auto", "Answer small questions quickly", offer.depth === "auto"),
        check("earlier", "Also search what my earlier runs have read", false)),
      offer.docs.length > 0 && h("fieldset", {}, h("legend", {}, "Documents"), offer.docs.map(folderChoice)),
      offer.engines.length > 0 && h("fieldset", {}, h("legend", {}, "Web search"), offer.engines.map((name) =>
        h("label", { class: "check" }, h("input", { type: "checkbox", name: "engines", value: name, checked: true }), name))),
      h("label", {}, "Method", h("select", { name: "graph" }, Object.values(offer.graphs).map((graph) => h("option", { value: graph }, METHODS[graph] ?? graph)))),
      offer.models.length > 0 && h("label", {}, "Model", h("select", { name: "models" },
        h("option", { value: "" }, "Server default"), offer.models.map((name) => h("option", { value: name }, name)))),
      h("label", {}, "Language of the report", h("input", { name: "language", placeholder: "Same as the question" })),
      h("label", {}, "Instructions", h("textarea", { name: "instructions", rows: "2", maxlength: "4000", placeholder: "Tone, length, audience" })),
      h("label", {}, "Outline of the report", h("textarea", { name: "outline", rows: "4", maxlength: "20000", placeholder: "## Summary\nThree sentences\n## Risks\nWhat could go wrong (about 200 words)" }))),
    offer.tracing && h("p", { class: "quiet" }, `Tracing is on: questions and the texts that are read are also sent to ${offer.tracing}.`));
}

const usual = ({ depth }) => (depth === "auto" ? "standard" : depth);

const checkLink = () => h("p", { class: "quiet" }, "Or ", h("a", { href: "#/check" }, "check a report from elsewhere"), " against its sources.");

// Shows a skeleton until the offer has arrived.
function askForm(offer, failure, depth) {
  const examples = offer?.examples.length ? offer.examples : ANYTHING;
  return h("form", { class: "ask", "data-do": "ask", "data-key": "ask" }, h("h1", {}, "What do you want to know?"), offer ? promise(offer, depth ?? usual(offer)) : h("div", { class: "uses" }), h("div", { class: "box", "data-key": "box" },
      h("label", { class: "unseen", for: "question" }, "Question"),
      h("textarea", { id: "question", name: "question", rows: "3", "data-sends": true, "aria-describedby": "keys",
        placeholder: "Ask a question, or describe everything that the report should cover" }),
      fileList(),
      h("div", { class: "box-foot" }, fileInput(), h("span", { id: "keys", class: "quiet grows" }, "Enter sends, Shift+Enter starts a new line"),
        h("button", { class: "main-action", disabled: !offer }, "Start research"))),
    failure && h("p", { class: "notice bad", role: "alert" }, failure),
    offer ? [depths(offer), options(offer),
      // Nothing would answer them otherwise.
      !isEmpty(offer.uses) && h("section", { class: "examples", "aria-label": "Examples" }, h("h2", {}, "Try"), examples.map((words) => button("example", words, { class: "example" }))), checkLink()]
      : h("div", { class: "skeleton", "aria-hidden": "true" }, h("i"), h("i"), h("i")));
}

function settingsOf(form, offer) {
  const given = new FormData(form);
  const chosen = given.getAll("docs");
  const whole = offer.docs.filter((folder) => chosen.includes(folder.name) && !chosen.some((name) => name.startsWith(`${folder.name}/`)));
  const docs = [...whole.map((folder) => folder.name), ...chosen.filter((name) => name.includes("/"))];
  const context = { clarify: given.has("clarify") ? "ask" : "assume", review_plan: given.has("review_plan"), earlier: given.has("earlier") };
  if (offer.docs.length && (docs.length !== offer.docs.length || docs.some((name) => name.includes("/")))) context.docs = docs;
  if (offer.engines.length && given.getAll("engines").length !== offer.engines.length) context.engines = given.getAll("engines");
  for (const name of ["language", "instructions", "outline", "models", "depth"]) if (given.get(name)) context[name] = given.get(name);
  if (given.has("auto") && context.depth === "standard") context.depth = "auto";
  return { graph: given.get("graph"), context };
}

export const draw = (failure, depth) => show(byId("column"), askForm(page.offer, failure, depth));
export const failed = draw;

// Once the view is there, the model words examples from the documents; until then, and if it does not, those of the offer stay.
export async function suggest() {
  const { uses } = page.offer;
  if (!uses.has_model || !uses.files || page.isSuggested) return;
  page.isSuggested = true;
  const examples = await server.ask("/research/examples").catch(() => []);
  if (!examples.length) return;
  page.offer.examples = examples;
  if (byId("question")) draw("", byId("column").querySelector("[name=depth]:checked")?.value);
}

export function open() {
  document.title = "Deep Research";
  draw();
  drawFiles();
  restoreDraft(byId("question"));
  byId("question").focus();
}

async function ask(form) {
  const question = form.question.value;
  if (!question.trim()) throw new server.Refused(422, "Write a question first.");
  const offer = await offered();
  if (!form.graph) draw();
  const { graph, context } = settingsOf(form, offer);
  const address = await research(question, graph, context, await fileBlocks());
  setFiles([]);
  forgetDraft();
  location.hash = address;
}

export const submitted = { ask };
export const clicked = { example: (control) => fillIn("question", control.textContent) };
