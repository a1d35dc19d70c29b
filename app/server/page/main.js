// The page: chooses the view, keeps the list of runs, and handles what the reader does.

import { connected, lost, unconfirmed } from "./connection.js";
import { button, byId, h, say, shortened, show } from "./dom.js";
import { keepDraft } from "./drafts.js";
import { addFiles, removeFile } from "./files.js";
import { giveBack, remember } from "./focus.js";
import * as home from "./home.js";
import { notify } from "./notify.js";
import { offered, page } from "./page.js";
import { missingView, nameOfRun, runList, undoView } from "./runs.js";
import * as server from "./server.js";

const UNDO_SECONDS = 10;
const list = { runs: [], current: "", renamed: "", deleted: null, search: "", isLoaded: false, typing: 0, leaving: 0 };
// The current view: a module that opens itself, shows an error, and does what its controls name.
let view = home;

// The other views are loaded when they are needed, again if the server did not answer.
const VIEWS = { thread: () => import("./reading.js"), check: () => import("./check.js") };
const load = (name) => VIEWS[name]().catch(() => (lost(), connected().then(() => load(name))));

function fail(error) {
  // That the server does not answer is shown above until it does; a check that it cut off begins anew.
  const isShown = error.status === 0 && location.hash !== "#/check";
  if (error.name === "AbortError" || isShown) return;
  if (error.status !== 401) return view.failed(error.message);
  leave();
  show(byId("column"), home.tokenForm(server.hasToken()));
}

function missing(words) {
  leave();
  document.title = "Not found: Deep Research";
  document.body.classList.add("is-missing");
  show(byId("column"), missingView(words));
}

function leave() {
  page.stop.abort();
  Object.assign(page, { thread: null, stop: new AbortController() });
  document.body.classList.remove("in-thread", "is-missing");
  view = home;
  for (const id of ["dock", "side", "side-button"]) byId(id).hidden = true;
  byId("hint").togglePopover(false);
  byId("column").replaceChildren();
}

function viewOf(thread) {
  if (thread) return load("thread");
  return location.hash === "#/check" ? load("check") : home;
}

async function go() {
  const { hash } = location, [, thread, linked] = /^#\/run\/([\w-]+)(?:\/source\/(\d+))?$/.exec(hash) ?? [];
  if (thread && thread === page.thread?.id) return linked && view.openSource(linked, "of=thread");
  if (hash && !hash.startsWith("#/")) return;
  leave();
  byId("source").close();
  for (const name of ["runs", "side"]) toggle(name, false);
  drawRuns();
  // A thread is not drawn without the offer.
  const [opened] = await Promise.all([viewOf(thread), thread && offered()]);
  if (location.hash !== hash) return;
  view = opened;
  view.open(thread, { refreshRuns, fail, missing });
  await offered();
  refreshRuns().catch(fail);
  if (byId("question")) {
    home.draw();
    home.suggest();
  }
  if (linked) await opened.openSource(linked, "of=thread");
}

function toggle(name, isOpen) {
  const isWithin = byId(name).contains(document.activeElement);
  byId(`${name}-button`).setAttribute("aria-expanded", String(isOpen));
  document.body.classList.toggle(`has-${name}`, isOpen);
  if (isWithin && !isOpen) byId(`${name}-button`).focus();
}

function drawRuns() {
  list.current = page.thread?.id ?? "";
  // How the current run stands is known before the list is read.
  const { status, doubts } = page.thread?.exchanges.at(-1).run ?? {};
  const runs = list.runs.map((run) => (run.thread === list.current ? { ...run, status, doubts: doubts || run.doubts } : run));
  show(byId("runs"), runList({ ...list, runs }));
}

async function refreshRuns() {
  drawRuns();
  const { search } = list, runs = await server.ask(`/research/runs?search=${encodeURIComponent(search)}`);
  // An answer that comes late may be to an earlier search.
  if (search !== list.search) return;
  const before = new Map(list.runs.map((run) => [run.thread, run.status]));
  for (const run of runs) if (run.thread !== page.thread?.id && before.get(run.thread) === "running" && run.status !== "running") notify(run.thread, run.status, nameOfRun(run));
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

const submitted = {
  token: async (form) => (server.setToken(form.token.value), go()),
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
  "start-rename"(control) {
    list.renamed = control.value;
    drawRuns();
    byId("runs").querySelector(".rename input").select();
  },
  delete: (control) => remove(list.runs.find((run) => run.thread === control.value)),
  undo: stopDelete,
  detach: ({ value }) => removeFile(value),
  dismiss: () => (byId("undo").hidden = true),
};

async function act(work, control) {
  view.forget?.();
  const holder = remember();
  if (control) control.disabled = true;
  try {
    await work();
  } catch (error) {
    if (error.status === 0) unconfirmed();
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
  const action = submitted[name] ?? view.submitted[name];
  act(() => action(form, event.submitter?.value), event.submitter ?? form.querySelector("button:not([type], [value])"));
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
  const action = clicked[name] ?? view.clicked?.[name];
  act(() => action(element), name === "toggle" ? null : element);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches("[data-sends]")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
  if (["ArrowDown", "ArrowUp"].includes(event.key) && event.target.matches("#search, .runs a")) {
    const links = [...byId("runs").querySelectorAll("#search, a")], next = links[links.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) event.preventDefault();
    next?.focus();
  }
  if (event.key !== "Escape" || event.target.matches("#search:not(:placeholder-shown)")) return;
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

// Clearing the input empties its list.
const attach = (given) => addFiles([...given], page.offer?.attach).catch(fail);

document.addEventListener("change", ({ target }) => {
  if (target.name === "depth") home.draw("", target.value);
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

addEventListener("hashchange", () => go().catch(fail));
addEventListener("pagehide", finishDelete);
addEventListener("connected", () => (page.offer ? refreshRuns() : go()).catch(fail));
setInterval(() => (!document.hidden || list.runs.some(({ status }) => status === "running")) && page.offer && refreshRuns().catch(() => {}), 60_000);
server.takeToken();
// Once the first view is there, so that no thread waits for it.
go().catch(fail).then(() => load("thread"));
