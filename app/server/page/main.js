// The page: chooses the view and handles what the reader does.

import { check, checkForm, leaveCheck } from "./check.js";
import { draw, drawStrip, drawTime, exchangeInView, follow, keepInView, latest, leave, listen, offerUse, openExchange, page, scrolled } from "./column.js";
import { button, byId, h, shortened, show } from "./dom.js";
import { forgetDraft, keepDraft, restoreDraft } from "./drafts.js";
import { addFiles, drawFiles, fileBlocks, removeFile, setFiles } from "./files.js";
import { dialogClosed, giveBack, openDialog, remember } from "./focus.js";
import { askForm, settingsOf, tokenForm } from "./home.js";
import * as notices from "./notify.js";
import { openFile } from "./original.js";
import { addLine, dropLine, moveLine, planOf } from "./plan.js";
import { hintOf, passagesBeside, sortTable, tableText } from "./report.js";
import { missingView, nameOfRun, runList, undoView } from "./runs.js";
import { lightSentence, watchSentences } from "./sentences.js";
import * as server from "./server.js";
import { sourceView } from "./side.js";
import { mayChange } from "./thread.js";
import { showStatement } from "./trust.js";
import { differenceView } from "./versions.js";

const UNDO_SECONDS = 10;
const list = { runs: [], current: "", renamed: "", deleted: null, search: "", isLoaded: false, typing: 0, leaving: 0 };
// The last question that was sent, until the server has stored it.
let asked = null;

const say = (words) => (byId("said").textContent = words);

function fail(error) {
  // That the server does not answer is shown above until it does; a check that it cut off begins anew.
  const isShown = error.status === 0 && location.hash !== "#/check";
  if (error.name === "AbortError" || isShown) return;
  if (error.status === 401) leave();
  if (page.thread) {
    latest().failure = error.message;
    return draw();
  }
  const form = location.hash === "#/check" ? checkForm : (words) => askForm(page.offer, words);
  show(byId("column"), error.status === 401 ? tokenForm(server.hasToken()) : form(error.message));
}

function missing(words) {
  leave();
  document.title = "Not found: Deep Research";
  show(byId("column"), missingView(words));
}

async function go() {
  const [, thread, linked] = /^#\/run\/([\w-]+)(?:\/source\/(\d+))?$/.exec(location.hash) ?? [];
  if (thread && thread === page.thread?.id) return linked && openSource(linked, "of=thread");
  if (location.hash && !location.hash.startsWith("#/")) return;
  leave();
  leaveCheck();
  byId("source").close();
  for (const name of ["runs", "side"]) toggle(name, false);
  drawRuns();
  const isCheck = location.hash === "#/check";
  if (!thread) {
    document.title = "Deep Research";
    show(byId("column"), isCheck ? checkForm() : askForm(page.offer));
    drawFiles();
    if (!isCheck) restoreDraft(byId("question"));
    byId(isCheck ? "foreign" : "question").focus();
  }
  page.offer ??= await server.ask("/research/offer");
  refreshRuns().catch(fail);
  if (thread) follow(thread, asked?.thread === thread ? asked : null, { refreshRuns, fail, missing, say, notify: notices.notify }).catch(fail);
  else if (byId("question")) show(byId("column"), askForm(page.offer));
  if (linked) await openSource(linked, "of=thread");
}

function toggle(name, isOpen) {
  const isWithin = byId(name).contains(document.activeElement);
  byId(`${name}-button`).setAttribute("aria-expanded", String(isOpen));
  document.body.classList.toggle(`has-${name}`, isOpen);
  if (isWithin && !isOpen) byId(`${name}-button`).focus();
}

function drawRuns() {
  list.current = page.thread?.id ?? "";
  show(byId("runs"), runList(list));
}

async function refreshRuns() {
  const { search } = list, runs = await server.ask(`/research/runs?search=${encodeURIComponent(search)}`);
  // An answer that comes late may be to an earlier search.
  if (search !== list.search) return;
  const before = new Map(list.runs.map((run) => [run.thread, run.status]));
  for (const run of runs) if (run.thread !== page.thread?.id && before.get(run.thread) === "running" && run.status !== "running") notices.notify(run.thread, run.status, nameOfRun(run));
  Object.assign(list, { runs, isLoaded: true });
  drawRuns();
}

function toast(children) {
  show(byId("undo"), children);
  byId("undo").hidden = false;
  byId("undo").querySelector("button").focus();
}

const linkOf = (thread) => byId("runs").querySelector(`a[href="#/run/${thread}"]`) ?? byId("search");

function remove(run) {
  finishDelete();
  list.deleted = run;
  list.leaving = setTimeout(finishDelete, UNDO_SECONDS * 1000);
  toast(undoView(run));
  drawRuns();
  if (run.thread === page.thread?.id) location.hash = "#/";
}

function stopDelete() {
  clearTimeout(list.leaving);
  const isWithin = byId("undo").contains(document.activeElement), thread = list.deleted?.thread;
  list.deleted = null;
  byId("undo").hidden = true;
  drawRuns();
  if (isWithin) linkOf(thread).focus();
}

// Nothing is deleted before this.
function finishDelete() {
  const run = list.deleted;
  if (!run) return;
  list.runs = list.runs.filter((known) => known.thread !== run.thread);
  stopDelete();
  server.remove(run.thread).catch((error) =>
    toast([h("span", {}, `“${shortened(nameOfRun(run), 60)}” was not deleted: ${error.message}`), button("dismiss", "Close")])).then(refreshRuns).catch(fail);
}

const exchangeAt = (element) => page.thread.exchanges[element.closest(".exchange")?.dataset.index] ?? exchangeInView();

// `of` names the numbering: a report's (`question=ID`) or, in links of messages, the thread's.
async function openSource(number, of, quotes, at) {
  const source = await server.ask(`/research/runs/${page.thread.id}/sources/${number}?${of}`);
  const dialog = byId("source");
  dialog.replaceChildren(...sourceView(source, quotes ?? source.quotes, page.offer?.may_edit, at));
  offerUse();
  openDialog(dialog);
  dialog.querySelector("mark")?.scrollIntoView({ block: "center" });
}

// Asks on, or has the report changed; returns the run.
async function goOn(words, files, more) {
  const { thread } = page, known = latest();
  const run = await server.followUp(thread.id, known.run.graph, words, files, more);
  // The stream may have shown the new question before the request was confirmed.
  if (thread === page.thread && known === latest() && known.run.question_id) openExchange(words);
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
  return edit && goOn(edit, [], { edit: true });
}

// Sends a failed researcher anew: an unfinished run takes it as a message, a report as a change, anything else as a question.
function again({ value: task }) {
  const { run } = latest();
  if (run.is_unfinished) return server.steer(page.thread.id, run.graph, `Research this task again, because its researcher failed: ${task}`);
  const isChange = mayChange(run, page.offer);
  return isChange ? goOn(`Research this again, because its researcher failed, and add to the report what is found: ${task}`, [], { edit: true }) : goOn(task, [], {});
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

const exportOf = (element, format) => `/research/runs/${page.thread.id}/export?format=${format}&question=${exchangeAt(element).run.question_id}`;
const reply = (value) => server.reply(page.thread.id, latest().run.graph, value);
function fillIn(id, words) {
  const field = Object.assign(byId(id), { value: words });
  field.focus();
  keepDraft(field);
}

const submitted = {
  check,
  token: async (form) => (server.setToken(form.token.value), go()),
  async ask(form) {
    const question = form.question.value;
    if (!question.trim()) throw new server.Refused(422, "Write a question first.");
    page.offer ??= await server.ask("/research/offer");
    if (!form.graph) show(byId("column"), askForm(page.offer));
    const { graph, context } = settingsOf(form, page.offer);
    const thread = await server.newThread(graph, context);
    asked = { thread, question, run: await server.put(thread, graph, question, await fileBlocks(), context) };
    setFiles([]);
    forgetDraft();
    location.hash = `#/run/${thread}`;
  },
  async approve(form) {
    const plan = planOf(form), { value: comment } = form.comment, [proposed, chosen] = [form.plan.value, plan].map((text) => text.replace(/\s+/g, " ").trim());
    if (comment.trim()) return reply({ action: "reject", comment });
    return reply(proposed === chosen ? { action: "approve" } : { action: "edit", plan });
  },
  answer: (form) => reply(form.words.value),
  async steer({ words }) {
    const { thread } = page, { run, story } = latest();
    let started = "";
    if (story.isWriting) {
      latest().steered = Date.now();
      started = await server.steer(thread.id, run.graph, words.value);
      latest().sent.push(words.value);
    } else {
      await server.send(thread.id, words.value);
      words.value = "";
      if (run.status === "stopped") started = await server.goOn(thread.id, run.graph);
    }
    draw();
    byId("column").querySelector("[data-key=during] li:last-child")?.scrollIntoView({ block: "center" });
    return started;
  },
  async "follow-up"({ words: { value } }, choice) {
    const run = await goOn(value, await fileBlocks(), choice === "edit" ? { edit: true } : {});
    setFiles([]);
    return run;
  },
  async rename(form) {
    const thread = list.renamed;
    await server.rename(thread, form.label.value);
    list.renamed = "";
    await refreshRuns();
    linkOf(thread).focus();
  },
};

const clicked = {
  toggle: ({ value }) => toggle(value, !document.body.classList.contains(`has-${value}`)),
  jump: () => keepInView(true),
  stop: () => ((latest().steered = 0), server.stop(page.thread.id)),
  async finish() {
    const { thread } = page, { run } = latest();
    await server.finish(thread.id);
    run.is_finishing = true;
    draw();
    return run.status === "stopped" && server.goOn(thread.id, run.graph);
  },
  "go-on": () => server.goOn(page.thread.id, latest().run.graph),
  again,
  skip: () => reply({ action: "approve" }),
  end: () => reply({ action: "end" }),
  export: (control) => server.download(exportOf(control, control.value)),
  copy: (control) => copy(control, server.text(exportOf(control, "md")), true),
  "copy-markdown": (control) => copy(control, server.text(exportOf(control, "md"))),
  notify: ({ value }) => notices.choose(value).then(() => page.thread && drawStrip()),
  "copy-table": (control) => copy(control, tableText(control)),
  sort: sortTable,
  "show-statement": showStatement,
  print: () => print(),
  revert: ({ value }) => server.revert(page.thread.id, Number(value)),
  async compare(control) {
    const shown = control.closest("li").querySelector(".difference"), isOpen = shown.childNodes.length > 0;
    shown.replaceChildren(...(isOpen ? [] : differenceView(await server.ask(`/research/runs/${page.thread.id}/differences?${control.value}`))));
    control.setAttribute("aria-expanded", String(!isOpen));
  },
  example: (control) => fillIn("question", control.textContent),
  suggest: (control) => fillIn("words", control.value || control.textContent),
  "start-rename"(control) {
    list.renamed = control.value;
    drawRuns();
    byId("runs").querySelector(".rename input").select();
  },
  delete: (control) => remove(list.runs.find((run) => run.thread === control.value)),
  undo: stopDelete,
  "add-line": addLine,
  "drop-line": dropLine,
  "move-line": (control) => say(moveLine(control.parentElement, control.value)),
  detach: ({ value }) => removeFile(value),
  dismiss: () => (byId("undo").hidden = true),
  "open-source": (control) => openSource(control.value, `question=${exchangeAt(control).run.question_id}`, passagesBeside(control), control.closest(".quote")?.querySelector("[data-page]")?.dataset.page),
  "open-file": (control) => openFile(control, page.thread.id, control.closest("#source") ? "of=thread" : `question=${exchangeAt(control).run.question_id}`),
  "close-source": () => byId("source").close(),
  "exclude-source": (control) => exclude(control),
  "replace-source": (control) => exclude(control, true),
  "include-source": include,
};

const LISTENED = ["approve", "answer", "steer", "follow-up", "finish", "go-on", "again", "skip", "end", "exclude-source", "replace-source"];

async function act(name, work, control) {
  const holder = remember();
  if (page.thread) latest().failure = "";
  if (control) control.disabled = true;
  try {
    const run = await work();
    if (!page.thread || !run || !LISTENED.includes(name)) return;
    listen(run).catch(fail);
    if (control?.form?.words) {
      control.form.words.value = "";
      forgetDraft();
    }
    draw();
  } catch (error) {
    fail(error);
  } finally {
    if (control) control.disabled = false;
    giveBack(holder);
  }
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target, name = form.dataset.do;
  if (form.words && !form.words.value.trim()) return form.words.focus();
  act(name, () => submitted[name](form, event.submitter?.value), event.submitter ?? form.querySelector("button:not([type], [value])"));
});

document.addEventListener("click", (event) => {
  const within = event.target.closest('a[href^="#"]:not([href^="#/"])');
  if (within) {
    // Scrolls without changing the address, which names the run.
    event.preventDefault();
    toggle("side", false);
    const target = byId(decodeURIComponent(within.hash.slice(1)));
    target.closest("details")?.setAttribute("open", "");
    target.scrollIntoView();
    target.focus();
  }
  // A click outside an open sheet or list closes it.
  if (event.target === document.body) for (const name of ["runs", "side"]) toggle(name, false);
  for (const menu of document.querySelectorAll(".menu[open]")) menu.open = menu.contains(event.target) && !event.target.closest("button");
  const element = event.target.closest("button[data-do]"), name = element?.dataset.do;
  if (!element) return;
  light(null);
  act(name, () => clicked[name](element), name === "toggle" ? null : element);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches("[data-sends]")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
  const line = event.altKey ? event.target.closest(".lines > li") : null;
  if (line?.querySelector("textarea") && ["ArrowUp", "ArrowDown"].includes(event.key)) {
    event.preventDefault();
    say(moveLine(line, event.key === "ArrowUp" ? "up" : "down"));
  }
  if (event.key !== "Escape" || event.target.matches("#search:not(:placeholder-shown)")) return;
  light(null);
  const { renamed } = list, holder = remember();
  list.renamed = "";
  drawRuns();
  if (renamed) linkOf(renamed).focus();
  for (const menu of document.querySelectorAll(".menu[open]")) menu.open = false;
  giveBack(holder);
  if (!document.querySelector("dialog[open], .quote:popover-open")) for (const name of ["runs", "side"]) toggle(name, false);
});

document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-sends]")) keepDraft(target);
  if (target.id !== "search") return;
  clearTimeout(list.typing);
  Object.assign(list, { search: target.value.trim(), typing: setTimeout(() => refreshRuns().catch(fail), 250) });
});

for (const kind of ["pointerover", "focusin", "pointerout", "focusout"]) {
  document.addEventListener(kind, (event) => {
    const chip = event.target.closest?.(".report button.cite");
    // On touch screens, a tap opens the citation instead.
    if (chip && page.thread && event.pointerType !== "touch") requestAnimationFrame(() => light(/over|in$/.test(kind) ? chip : null));
  });
}

// Clearing the input empties its list.
const attach = (given) => addFiles([...given], page.offer?.attach).catch(fail);

document.addEventListener("change", ({ target }) => {
  if (target.name === "depth") show(byId("column"), askForm(page.offer, "", target.value));
  if (!target.matches("[data-files]")) return;
  attach(target.files);
  target.value = "";
});

// Otherwise the browser would open a dropped file.
for (const kind of ["dragover", "drop", "paste"]) {
  document.addEventListener(kind, (event) => {
    const given = event.dataTransfer ?? event.clipboardData;
    if (!given?.types.includes("Files")) return;
    // A table that was copied comes as text and as a picture of it.
    if (kind === "paste" && given.types.includes("text/plain")) return;
    event.preventDefault();
    if (kind !== "dragover" && byId("files")) attach(given.files);
  });
}

addEventListener("scroll", () => requestAnimationFrame(scrolled), { passive: true });
addEventListener("hashchange", () => go().catch(fail));
addEventListener("pagehide", finishDelete);
addEventListener("connected", () => (page.offer ? refreshRuns() : go()).catch(fail));
// Browsers name the printed file after the page.
let shownTitle = "";
addEventListener("beforeprint", () => {
  shownTitle = document.title;
  if (page.thread) document.title = exchangeInView().run.title || exchangeInView().question;
});
addEventListener("afterprint", () => (document.title = shownTitle));
byId("source").addEventListener("close", dialogClosed);
setInterval(() => page.thread && drawTime(), 1000);
setInterval(() => (!document.hidden || list.runs.some(({ status }) => status === "running")) && page.offer && refreshRuns().catch(() => {}), 60_000);
watchSentences();
server.takeToken();
go().catch(fail);
