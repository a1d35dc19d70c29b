// The page: which view is shown, and what the reader does.

import { draw, drawStrip, exchangeInView, follow, keepInView, latest, leave, listen, openExchange, page, scrolled } from "./column.js";
import { h, place, show } from "./dom.js";
import { askForm, settingsOf, tokenForm } from "./home.js";
import { hintOf, sortTable, tableText } from "./report.js";
import { nameOfRun, runList, undoView } from "./runs.js";
import * as server from "./server.js";
import { sourceView } from "./side.js";
import { button, STATES } from "./words.js";

const UNDO_SECONDS = 10;
const list = { runs: [], current: "", renamed: "", deleted: null, search: "", isLoaded: false, typing: 0, leaving: 0 };
// What was asked last, for the moment until the server has it.
let asked = null;

const say = (words) => (place("said").textContent = words);

function fail(error) {
  if (error.name === "AbortError") return;
  if (error.status === 401) {
    leave();
    show(place("column"), tokenForm(server.hasToken() ? "The server does not know this token." : ""));
  } else if (page.thread) {
    latest().failure = error.message;
    draw();
  } else {
    show(place("column"), askForm(page.offer, error.message));
  }
}

function missing(words) {
  leave();
  document.title = "Not found: Deep Research";
  show(place("column"), h("div", { class: "card missing", role: "alert" }, h("h1", {}, "This run is not here"), h("p", {}, words),
    h("p", { class: "quiet" }, "It may have been deleted, or it belongs to another user or server. Choose another run from the list, or ask a new question."),
    h("p", {}, h("a", { class: "button main-action", href: "#/" }, "New question"))));
}

function changed(run) {
  say(STATES[run.status] ?? run.status);
  refreshRuns().catch(fail);
}

async function go() {
  const [, thread, linked] = /^#\/run\/([\w-]+)(?:\/source\/(\d+))?$/.exec(location.hash) ?? [];
  if (thread && thread === page.thread?.id) return linked && openLinked(linked);
  if (location.hash && !location.hash.startsWith("#/")) return;
  leave();
  for (const name of ["runs", "side"]) toggle(name, false);
  drawRuns();
  if (!thread) {
    document.title = "Deep Research";
    show(place("column"), askForm(page.offer));
    place("question").focus();
  }
  page.offer ??= await server.ask("/research/offer");
  refreshRuns().catch(fail);
  if (thread) follow(thread, asked?.thread === thread ? asked : null, { changed, fail, missing, say }).catch(fail);
  else if (place("question")) show(place("column"), askForm(page.offer));
  if (linked) await openLinked(linked);
}

function toggle(name, isOpen) {
  place(`${name}-button`).setAttribute("aria-expanded", String(isOpen));
  document.body.classList.toggle(`has-${name}`, isOpen);
}

// The list of runs.

function drawRuns() {
  list.current = page.thread?.id ?? "";
  show(place("runs"), runList(list));
}

async function refreshRuns() {
  list.runs = await server.ask(`/research/runs?search=${encodeURIComponent(list.search)}`);
  list.isLoaded = true;
  drawRuns();
}

function toast(children) {
  show(place("undo"), children);
  place("undo").hidden = false;
}

function remove(run) {
  finishDelete();
  list.deleted = run;
  list.leaving = setTimeout(finishDelete, UNDO_SECONDS * 1000);
  toast(undoView(run));
  drawRuns();
  if (run.thread === page.thread?.id) location.hash = "#/";
}

function stopDelete() {
  const run = list.deleted;
  clearTimeout(list.leaving);
  list.deleted = null;
  place("undo").hidden = true;
  return run;
}

// Until now nothing is gone.
function finishDelete() {
  const run = stopDelete();
  if (!run) return;
  list.runs = list.runs.filter((known) => known.thread !== run.thread);
  drawRuns();
  server.remove(run.thread).catch((error) =>
    toast([h("span", {}, `“${nameOfRun(run).slice(0, 60)}” was not deleted: ${error.message}`), button("dismiss", "Close")])).then(refreshRuns).catch(fail);
}

// Sources.

const exchangeAt = (element) => page.thread.exchanges[element.closest(".exchange")?.dataset.place] ?? exchangeInView();

async function openSource(exchange, number, quotes) {
  const source = await server.ask(`/research/runs/${page.thread.id}/sources/${number}?question=${exchange.run.question_id}`);
  showSource(source, quotes ?? source.quotes);
}

// What a report's message links to: its number names a source of the thread for good.
async function openLinked(number) {
  const source = await server.ask(`/research/runs/${page.thread.id}/sources/${number}?of=thread`);
  showSource(source, source.quotes);
}

function showSource(source, quotes) {
  const dialog = place("source");
  dialog.replaceChildren(...sourceView(source, quotes));
  dialog.showModal();
  dialog.querySelector("mark")?.scrollIntoView({ block: "center" });
}

function light(chip) {
  for (const card of document.querySelectorAll(".source-card.lit")) card.classList.remove("lit");
  const hint = place("hint");
  if (!chip?.isConnected) return hint.matches(":popover-open") && hint.hidePopover();
  const card = place("side").querySelector(`.source-card[value="${CSS.escape(chip.textContent)}"]`);
  card?.classList.add("lit");
  card?.scrollIntoView({ block: "nearest" });
  if (document.querySelector(".quote:popover-open")) return;
  hint.replaceChildren(...hintOf(chip).flat());
  hint.showPopover();
  const { left, top, bottom } = chip.getBoundingClientRect(), { width, height } = hint.getBoundingClientRect();
  hint.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  hint.style.top = `${bottom + height + 8 < innerHeight ? bottom + 6 : Math.max(8, top - height - 6)}px`;
}

// What the reader does.

async function copy(control, words) {
  const before = control.textContent;
  await navigator.clipboard.writeText(words);
  control.textContent = "Copied";
  say("Copied");
  setTimeout(() => (control.textContent = before), 1500);
}

const exportOf = (element, format) => `/research/runs/${page.thread.id}/export?format=${format}&question=${exchangeAt(element).run.question_id}`;
const reply = (value) => server.reply(page.thread.id, latest().run.graph, value);

function fillIn(id, words) {
  place(id).value = words;
  place(id).focus();
}

const submitted = {
  async token(form) {
    server.setToken(form.token.value);
    await go();
  },
  async ask(form) {
    const question = form.question.value;
    if (!question.trim()) throw new server.Refused(0, "Write a question first.");
    page.offer ??= await server.ask("/research/offer");
    if (!form.graph) show(place("column"), askForm(page.offer));
    const { graph, context } = settingsOf(form, page.offer);
    const thread = await server.newThread(graph, context);
    asked = { thread, question, run: await server.put(thread, graph, question, context) };
    location.hash = `#/run/${thread}`;
  },
  async approve({ plan, comment }) {
    if (comment.value.trim()) return reply({ action: "reject", comment: comment.value });
    return reply(plan.value.trim() === latest().run.waiting.plan.trim() ? { action: "approve" } : { action: "edit", plan: plan.value });
  },
  answer: (form) => reply(form.words.value),
  async steer(form) {
    const words = form.words.value;
    const run = await server.steer(page.thread.id, latest().run.graph, words);
    latest().sent.push(words);
    return run;
  },
  async "follow-up"(form) {
    const words = form.words.value;
    const run = await server.put(page.thread.id, latest().run.graph, words);
    if (latest().run.question_id) openExchange(words);
    return run;
  },
  async rename(form) {
    await server.rename(list.renamed, form.label.value);
    list.renamed = "";
    await refreshRuns();
  },
};

const clicked = {
  "toggle-runs": () => toggle("runs", !document.body.classList.contains("has-runs")),
  "toggle-side": () => toggle("side", !document.body.classList.contains("has-side")),
  jump: () => keepInView(true),
  stop: () => server.stop(page.thread.id),
  "go-on": () => server.goOn(page.thread.id, latest().run.graph),
  skip: () => reply({ action: "approve" }),
  end: () => reply({ action: "end" }),
  async export(control) {
    const { name, content } = await server.download(exportOf(control, control.value));
    const link = h("a", { href: URL.createObjectURL(content), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  },
  copy: async (control) => copy(control, await server.text(exportOf(control, "md"))),
  "copy-table": (control) => copy(control, tableText(control)),
  sort: sortTable,
  print(control) {
    const section = control.closest(".exchange");
    section.classList.add("printed");
    print();
    section.classList.remove("printed");
  },
  example: (control) => fillIn("question", control.textContent),
  suggest: (control) => fillIn("words", control.textContent),
  "start-rename"(control) {
    list.renamed = control.value;
    drawRuns();
    place("runs").querySelector(".rename input").select();
  },
  delete: (control) => remove(list.runs.find((run) => run.thread === control.value)),
  undo() {
    stopDelete();
    drawRuns();
  },
  dismiss: () => (place("undo").hidden = true),
  "open-source": (control) => openSource(exchangeAt(control), control.value, [...control.closest("aside, tr").querySelectorAll("blockquote")].map((quote) => quote.textContent)),
  "open-card": (control) => openSource(exchangeInView(), control.value),
  "close-source": () => place("source").close(),
};

const LISTENED = ["approve", "answer", "steer", "follow-up", "go-on", "skip", "end"];

async function act(name, work, control) {
  if (page.thread) latest().failure = "";
  if (control) control.disabled = true;
  try {
    const run = await work();
    if (!page.thread || !LISTENED.includes(name)) return;
    listen(run).catch(fail);
    if (control?.form?.words) control.form.words.value = "";
    draw();
  } catch (error) {
    fail(error);
  } finally {
    if (control) control.disabled = false;
  }
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target, name = form.dataset.do;
  if (form.words && !form.words.value.trim()) return form.words.focus();
  act(name, () => submitted[name](form), event.submitter ?? form.querySelector("button:not([type])"));
});

document.addEventListener("click", (event) => {
  const within = event.target.closest('a[href^="#"]:not([href^="#/"])');
  if (within) {
    // The address says which run is shown, and goes on saying so.
    event.preventDefault();
    const target = place(decodeURIComponent(within.hash.slice(1)));
    target?.closest("details")?.setAttribute("open", "");
    target?.scrollIntoView();
    target?.focus();
    toggle("side", false);
  }
  for (const menu of document.querySelectorAll(".menu[open]")) menu.open = menu.contains(event.target) && !event.target.closest("button");
  const element = event.target.closest("button[data-do]"), name = element?.dataset.do;
  if (!element) return;
  light(null);
  act(name, () => clicked[name](element), name.startsWith("toggle") ? null : element);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches("[data-sends]")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
  if (event.key !== "Escape") return;
  light(null);
  list.renamed = "";
  drawRuns();
  for (const menu of document.querySelectorAll(".menu[open]")) menu.open = false;
});

document.addEventListener("input", (event) => {
  if (event.target.id !== "search") return;
  list.search = event.target.value.trim();
  clearTimeout(list.typing);
  list.typing = setTimeout(() => refreshRuns().catch(fail), 250);
});

for (const kind of ["pointerover", "focusin", "pointerout", "focusout"]) {
  document.addEventListener(kind, (event) => {
    const chip = event.target.closest?.(".report button.cite");
    // A finger that touches a citation opens it.
    if (chip && page.thread && event.pointerType !== "touch") requestAnimationFrame(() => light(/over|in$/.test(kind) ? chip : null));
  });
}

addEventListener("scroll", () => requestAnimationFrame(scrolled), { passive: true });
addEventListener("hashchange", () => go().catch(fail));
addEventListener("pagehide", finishDelete);
setInterval(() => page.thread && drawStrip(), 1000);
setInterval(() => !document.hidden && page.offer && refreshRuns().catch(() => {}), 60_000);
server.takeToken();
go().catch(fail);
