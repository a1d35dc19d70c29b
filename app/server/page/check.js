// Checks a report from elsewhere against its sources: the form, the progress, and the report with its verdicts.

import { byId, h, parsed, pause, show } from "./dom.js";
import { addFiles, drawFiles, fileBlocks, fileInput, fileList, setFiles } from "./files.js";
import { page } from "./page.js";
import { linkSentences } from "./sentences.js";
import * as server from "./server.js";

const checkForm = (failure) => h("form", { class: "ask", "data-do": "check", "data-key": "check" }, h("h1", {}, "Check a report"),
  h("p", {}, "Paste a report from another tool or a colleague, or attach it (Markdown, HTML, Word). Each statement is compared with the sources it cites: web addresses are fetched, files are looked up in your documents. This takes some minutes."),
  h("div", { class: "box" }, h("label", { class: "unseen", for: "foreign" }, "Report"),
    h("textarea", { id: "foreign", name: "foreign", rows: "8", placeholder: "The report with its list of sources" }), fileList(),
    h("div", { class: "box-foot" }, fileInput(), h("span", { class: "grows" }), h("button", { class: "main-action" }, "Check"))),
  h("label", {}, "What it was asked for (optional)", h("textarea", { name: "asked", rows: "2", placeholder: "The request, with your own figures if it calculates with them" })),
  failure && h("p", { class: "notice bad", role: "alert" }, failure));

export const failed = (words) => show(byId("column"), checkForm(words));

export function open() {
  document.title = "Deep Research";
  failed();
  drawFiles();
  byId("foreign").focus();
}

async function check(form) {
  if (form.foreign.value.trim()) await addFiles([new File([form.foreign.value], "report.md")]);
  const [sent] = await fileBlocks();
  if (!sent) throw new server.Refused(422, "Paste a report, or attach it.");
  setFiles([]);
  show(byId("column"), h("div", { class: "ask", "data-key": "checking" }, h("h1", {}, "Checking the report"), h("p", { id: "checking", role: "status" }, "Reading it"), h("div", { class: "skeleton", "aria-hidden": "true" }, h("i"), h("i"), h("i"))));
  const body = { name: sent.extras.filename, base64: sent.base64, request: form.asked.value };
  for await (const { event, data } of server.events("/research/check", page.stop.signal, { method: "POST", body })) {
    if (event === "refused") throw new server.Refused(409, data.detail);
    if (event === "notice") byId("checking").textContent = data.words;
    if (event === "checked") {
      const report = h("div", { class: "report" }, [...parsed(data.html.replace(/<head>[\s\S]*?<\/head>/, "")).querySelectorAll("main > *, aside.quote")]);
      await linkSentences(report, pause);
      return byId("column").replaceChildren(h("h1", {}, "Checked report"), h("p", { class: "standing" }, data.summary), report, h("p", {}, h("a", { class: "button", href: "#/" }, "New question")));
    }
  }
  throw new server.Refused(503, "The connection to the server was lost. Check the report again.");
}

export const submitted = { check };
