// The page: which run is shown, what the reader does, and what the server sends.

import { show, h } from "./dom.js";
import { askForm, settingsOf, tokenForm } from "./home.js";
import { Writing } from "./markdown.js";
import { hintOf, renderReport, sortTable, tableText } from "./report.js";
import { nameOfRun, runList, undoView } from "./runs.js";
import * as server from "./server.js";
import { sideView, sourceView } from "./side.js";
import { add, begin, read } from "./story.js";
import { dockView, exchangeView, followUps, slicesOf, stageOf, strip } from "./thread.js";
import { STATES, button } from "./words.js";

const place = (id) => document.getElementById(id);
const UNDO_SECONDS = 10;
const BAR = 56;
const NOTHING = { calls: 0, tokens: 0, usd: 0 };
const RUN = {
  status: "starting", question: "", title: "", plan: "", graph: "deep_research", waiting: {}, messages: [], has_report: false, is_unfinished: false,
  failure: "", spent: NOTHING, seconds: 0, question_id: "", estimate: "", sources: [], open_gaps: [], checked: "", depth: "standard", changed: "",
};

let offer = null;
const list = { runs: [], current: "", renamed: "", deleted: null, search: "", isLoaded: false };
// The thread that is shown: its questions, and what its models have cost since the page listens.
let current = null;
// What was asked last, for the moment until the server has it.
let asked = { thread: "", question: "", run: "" };
// Whether the view follows the part at work, where the page has scrolled to, and which part that was.
const view = { isFollowing: true, scrolled: 0, stage: "" };
let undoTimer = 0;

function say(words) {
  place("said").textContent = words;
}

const exchangeOf = (at, run) => ({
  place: at, run: { ...RUN, ...run }, story: begin(), packets: [], slice: [], sent: [], question: "", failure: "", passing: "", isLatest: true, headings: [],
  cited: new Map(), since: Date.now(), live: { ...NOTHING }, seconds: 0, costs: NOTHING,
});

const latest = () => current?.exchanges.at(-1);

function fail(error) {
  if (error.name === "AbortError") return;
  if (error.status === 401) return showToken(server.hasToken() ? "The server does not know this token." : "");
  if (current) {
    latest().failure = error.message;
    draw();
  } else {
    show(place("column"), askForm(offer, error.message));
  }
}

function leaveColumn() {
  current?.stop.abort();
  current = null;
  for (const id of ["dock", "side", "side-button"]) place(id).hidden = true;
  document.body.classList.remove("has-side");
  place("column").replaceChildren();
}

function showToken(words) {
  leaveColumn();
  show(place("column"), tokenForm(words));
}

function showMissing(words) {
  leaveColumn();
  document.title = "Not found: Deep Research";
  show(place("column"), h("div", { class: "card missing", role: "alert" }, h("h1", {}, "This run is not here"), h("p", {}, words),
    h("p", { class: "quiet" }, "It may have been deleted, or it belongs to another user or server. Choose another run from the list, or ask a new question."),
    h("p", {}, h("a", { class: "button main-action", href: "#/" }, "New question"))));
}

// The list of runs.

function drawRuns() {
  list.current = current?.thread ?? "";
  show(place("runs"), runList(list));
}

async function refreshRuns() {
  list.runs = await server.ask(`/research/runs${list.search ? `?search=${encodeURIComponent(list.search)}` : ""}`);
  list.isLoaded = true;
  drawRuns();
}

function remove(run) {
  finishDelete();
  list.deleted = run;
  undoTimer = setTimeout(finishDelete, UNDO_SECONDS * 1000);
  show(place("undo"), undoView(run));
  place("undo").hidden = false;
  drawRuns();
  if (run.thread === current?.thread) location.hash = "#/";
}

function stopDelete() {
  clearTimeout(undoTimer);
  place("undo").hidden = true;
  const run = list.deleted;
  list.deleted = null;
  return run;
}

// Until now nothing is gone.
function finishDelete() {
  const run = stopDelete();
  if (!run) return;
  list.runs = list.runs.filter((known) => known.thread !== run.thread);
  drawRuns();
  server.remove(run.thread).catch((error) => {
    show(place("undo"), h("span", {}, `“${nameOfRun(run).slice(0, 60)}” was not deleted: ${error.message}`), button("dismiss", "Close"));
    place("undo").hidden = false;
  }).then(() => refreshRuns()).catch(fail);
}

// The column of a thread.

function draw() {
  const exchanges = current.exchanges;
  const exchange = latest();
  const slices = slicesOf(exchange.run.messages);
  const isAtWork = ["running", "starting"].includes(exchange.run.status);
  for (const each of exchanges) Object.assign(each, { slice: slices[each.place] ?? each.slice, isLatest: each === exchange });
  exchange.costs = { tokens: Math.max(exchange.run.spent.tokens, isAtWork ? exchange.live.tokens : 0), usd: Math.max(exchange.run.spent.usd, isAtWork ? exchange.live.usd : 0) };
  show(place("column"), exchanges.map((each) => {
    // One that is over is not drawn again.
    const isSettled = place("column").querySelector(`[data-key="exchange-${each.place}"][data-keep]`);
    return isSettled ? h("section", { "data-key": `exchange-${each.place}` }) : exchangeView(each, offer.formats);
  }));
  show(place("dock"), dockView(exchange));
  place("dock").hidden = false;
  for (const each of exchanges) mountReport(each).catch(fail);
  write();
  drawStrip();
  drawSide();
  keepInView();
  document.title = `${STATES[exchange.run.status] ?? ""}: ${exchange.question || "Deep Research"}`;
}

// What is written of the report so far; its work is that of the last block.
function write() {
  const { story } = latest();
  const draft = place("draft");
  if (!draft) return;
  if (current.writing?.element !== draft || current.drafts !== story.drafts) {
    draft.replaceChildren();
    Object.assign(current, { writing: new Writing(draft), drafts: story.drafts });
  }
  current.writing.show(story.draft);
}

function drawStrip() {
  const exchange = latest();
  const isAtWork = ["running", "starting"].includes(exchange.run.status);
  place("strip").hidden = !isAtWork;
  exchange.seconds = exchange.run.seconds + (isAtWork ? (Date.now() - exchange.since) / 1000 : 0);
  if (isAtWork) show(place("strip"), strip(exchange));
}

function drawSide() {
  const middle = innerHeight / 2;
  const inView = [...document.querySelectorAll(".exchange")].findLast((section) => section.getBoundingClientRect().top < middle);
  const exchange = current.exchanges[Number(inView?.dataset.place ?? 0)] ?? latest();
  show(place("side"), sideView(exchange));
  place("side").hidden = false;
  place("side-button").hidden = false;
  place("side-button").textContent = exchange.run.sources.length ? `Sources ${exchange.run.sources.length}` : "Sources";
}

async function mountReport(exchange) {
  const { run } = exchange;
  const shown = place("column").querySelector(`.report[data-of="${run.question_id}"]`);
  if (!run.question_id || !shown || "mounted" in shown.dataset) return;
  shown.dataset.mounted = "";
  const html = await server.text(`/research/runs/${run.thread}/export?format=html&question=${run.question_id}`);
  const { report, headings, cited } = renderReport(html, run);
  Object.assign(exchange, { headings, cited });
  shown.replaceChildren(report);
  for (const quote of report.querySelectorAll("aside.quote")) quote.setAttribute("autofocus", "");
  const next = shown.closest(".exchange").querySelector(".next");
  const further = followUps(run, headings.map((heading) => heading.words));
  if (next && further.length) next.replaceChildren(h("h2", {}, "Ask next"), ...further.map((words) => button("suggest", words, { class: "example" })));
  if (!exchange.isLatest) {
    next?.remove();
    shown.closest(".exchange").dataset.keep = "";
  }
  if (current?.exchanges.includes(exchange)) {
    drawSide();
    keepInView();
  }
}

// The part at work stays in view, unless the reader has scrolled away from it.

function partAtWork() {
  const section = place("column").lastElementChild;
  return [section, section?.querySelector(`[data-part="${section.dataset.stage}"]`) ?? section];
}

function isInView(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= BAR - 1 ? top < place("dock").getBoundingClientRect().top - 60 : bottom > BAR + 120;
}

function keepInView(isWanted = false) {
  const [section, part] = partAtWork();
  if (!part) return;
  if (isWanted) view.isFollowing = true;
  const stage = `${current.exchanges.length} ${section.dataset.stage}`;
  if (view.isFollowing && (isWanted || stage !== view.stage || !isInView(part))) {
    const [begins, at] = [section, part].map((element) => element.getBoundingClientRect().top + scrollY);
    scrollTo({ top: (at - begins < innerHeight * 0.45 ? begins : at) - BAR - 8, behavior: "instant" });
  }
  Object.assign(view, { stage, scrolled: scrollY });
  place("jump").hidden = isInView(part);
}

function scrolled() {
  if (!current) return;
  const [, part] = partAtWork();
  if (part && Math.abs(scrollY - view.scrolled) > 3) view.isFollowing = isInView(part);
  view.scrolled = scrollY;
  if (part) place("jump").hidden = isInView(part);
  drawSide();
}

// What the server sends.

async function follow(thread) {
  const isNew = asked.thread === thread;
  current = { thread, stop: new AbortController(), exchanges: [exchangeOf(0, { thread, question: isNew ? asked.question : "" })], heard: "" };
  const mine = current;
  Object.assign(view, { isFollowing: true, stage: "" });
  draw();
  if (isNew) {
    listen(mine, asked.run).catch(fail);
  } else if (!(await loadEarlier(mine))) {
    return;
  }
  while (mine === current) {
    try {
      for await (const { event, data } of server.events(`/research/runs/${thread}/packets`, mine.stop.signal)) {
        if (mine !== current) return;
        if (event === "refused" && (await server.runAtWork(thread).catch(() => ""))) break;
        if (event === "refused") return latest().failure ? draw() : showMissing(data.detail);
        if (event === "packets") take(data);
        else stand(data);
      }
    } catch (error) {
      if (mine !== current || error.name === "AbortError") return;
      if (error.status === 404) return showMissing(error.message);
      if (error.status === 401) return fail(error);
      // A server that was restarted comes back, and one that has too many streams has fewer later.
      say(error.status === 429 ? error.message : "The connection was lost; trying again.");
      if (error.status === 429) await new Promise((resolve) => setTimeout(resolve, 10_000));
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

// The thread's earlier questions; there is nothing to follow if there is no such run and none is about to begin.
async function loadEarlier(mine) {
  try {
    const earlier = await server.ask(`/research/runs/${mine.thread}/earlier`);
    if (mine !== current) return false;
    mine.exchanges = [...earlier, { thread: mine.thread }].map((run, at) => exchangeOf(at, run));
    for (const [at, { packets }] of earlier.entries()) mine.exchanges[at].story = read(packets);
  } catch (error) {
    if (mine !== current) return false;
    const isBeginning = error.status === 404 && (await server.runAtWork(mine.thread).catch(() => ""));
    if (!isBeginning) error.status === 404 ? showMissing(error.message) : fail(error);
    return Boolean(isBeginning);
  }
  return true;
}

function take({ question_id: question, held, packets }) {
  const exchange = current.exchanges.findLast((each) => each.run.question_id === question) ?? latest();
  if (held < exchange.packets.length) {
    exchange.packets.length = held;
    exchange.story = read(exchange.packets);
  }
  exchange.packets.push(...packets);
  for (const packet of packets) add(exchange.story, packet);
  const isWords = place("draft") && packets.every((packet) => ["message_delta", "citation_info"].includes(packet.type));
  if (!isWords) return draw();
  write();
  keepInView();
}

function stand(run) {
  const before = current.exchanges.at(-2);
  let exchange = latest();
  const isNext = exchange.run.question_id && run.question_id !== exchange.run.question_id;
  if (isNext || slicesOf(run.messages).length > current.exchanges.length) exchange = openExchange("");
  const status = exchange.run.status;
  // A question that has come in and has not begun stands beside how the one before it ended.
  const previous = exchange === latest() && current.exchanges.length > 1 ? current.exchanges.at(-2) : before;
  const isBegun = current.exchanges.length === 1 || run.question_id !== previous.run.question_id;
  const { thread, status: now, failure, is_unfinished, messages, graph } = run;
  exchange.run = isBegun ? run : { ...RUN, thread, status: now === "completed" || now === "completed_with_gaps" ? "running" : now, failure, is_unfinished, messages, graph, question: exchange.run.question };
  exchange.since = Date.now();
  if (exchange.run.status !== status) {
    exchange.passing = "";
    say(STATES[exchange.run.status] ?? exchange.run.status);
    refreshRuns().catch(fail);
    if (exchange.run.status === "running") listen(current, "").catch(() => {});
  }
  draw();
}

function openExchange(question) {
  const exchange = exchangeOf(current.exchanges.length, { thread: current.thread, graph: latest().run.graph, messages: latest().run.messages, question });
  const settled = place("column").lastElementChild;
  latest().isLatest = false;
  settled?.querySelector(".next")?.remove();
  current.exchanges.push(exchange);
  view.isFollowing = true;
  return exchange;
}

// What says something of the moment only, and is in no log: costs, waits, and how far the documents are indexed.
async function listen(mine, started) {
  const run = started || (await server.runAtWork(mine.thread));
  if (!run || mine.heard === run) return;
  mine.heard = run;
  const exchange = mine.exchanges.at(-1);
  exchange.live = { ...exchange.run.spent };
  for await (const packet of server.live(mine.thread, run, mine.stop.signal)) {
    if (mine !== current) return;
    if (packet.type === "call_finished") {
      exchange.live.tokens += packet.input_tokens + packet.output_tokens;
      exchange.live.usd += packet.usd;
    }
    if (packet.type === "documents_indexed") exchange.passing = packet.done < packet.total ? `Reading your documents: ${packet.done} of ${packet.total}` : "";
    else if (packet.type === "call_delayed") exchange.passing = `The model's provider asks to wait ${Math.round(packet.seconds)} s: ${packet.reason}`;
    else if (packet.type !== "chat_heartbeat" && packet.type !== "elapsed_time") exchange.passing = "";
  }
}

async function loadOffer() {
  return (offer ??= await server.ask("/research/offer"));
}

async function go() {
  const [, thread, linked] = /^#\/run\/([\w-]+)(?:\/source\/(\d+))?$/.exec(location.hash) ?? [];
  if (thread && thread === current?.thread) return linked && openLinked(linked);
  if (location.hash && !location.hash.startsWith("#/")) return;
  leaveColumn();
  toggle("runs", false);
  drawRuns();
  if (!thread) {
    document.title = "Deep Research";
    show(place("column"), askForm(offer));
    place("question").focus();
  }
  await loadOffer();
  refreshRuns().catch(fail);
  if (thread) {
    follow(thread).catch(fail);
    if (linked) await openLinked(linked);
  } else if (place("question")) {
    show(place("column"), askForm(offer));
  }
}

function toggle(name, isOpen) {
  place(`${name}-button`).setAttribute("aria-expanded", String(isOpen));
  document.body.classList.toggle(`has-${name}`, isOpen);
}

const toggleOther = (name) => toggle(name, place(`${name}-button`).getAttribute("aria-expanded") !== "true");

// Sources.

const exchangeAt = (element) => current.exchanges[Number(element.closest(".exchange")?.dataset.place ?? sideExchange())];
const sideExchange = () => current.exchanges.findIndex((exchange) => place("side").querySelector(`[data-key="cards-${exchange.run.question_id}"]`));

async function openSource(exchange, number, quotes) {
  const source = await server.ask(`/research/runs/${current.thread}/sources/${number}?question=${exchange.run.question_id}`);
  showSource(source, quotes ?? source.quotes);
}

// What a report's message links to: its number names a source of the thread for good.
async function openLinked(number) {
  const source = await server.ask(`/research/runs/${current.thread}/sources/${number}?of=thread`);
  showSource(source, source.quotes);
}

function showSource(source, quotes) {
  const dialog = place("source");
  dialog.replaceChildren(...sourceView(source, source.number || "", quotes));
  dialog.showModal();
  dialog.querySelector("mark")?.scrollIntoView({ block: "center" });
}

function light(chip) {
  for (const card of document.querySelectorAll(".source-card.lit")) card.classList.remove("lit");
  const hint = place("hint");
  if (!chip) return hint.matches(":popover-open") && hint.hidePopover();
  const card = place("side").querySelector(`.source-card[value="${CSS.escape(chip.textContent)}"]`);
  card?.classList.add("lit");
  card?.scrollIntoView({ block: "nearest" });
  if (document.querySelector(".quote:popover-open")) return;
  hint.replaceChildren(...hintOf(chip).flat());
  hint.showPopover();
  const { left, top, bottom } = chip.getBoundingClientRect();
  const { width, height } = hint.getBoundingClientRect();
  hint.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  hint.style.top = `${bottom + height + 8 < innerHeight ? bottom + 6 : Math.max(8, top - height - 6)}px`;
}

// What the reader does.

async function copy(control, words) {
  await navigator.clipboard.writeText(words);
  const before = control.textContent;
  control.textContent = "Copied";
  say("Copied");
  setTimeout(() => (control.textContent = before), 1500);
}

const exportOf = (element, format) => `/research/runs/${current.thread}/export?format=${format}&question=${exchangeAt(element).run.question_id}`;

const submitted = {
  async token(form) {
    server.setToken(new FormData(form).get("token"));
    await go();
  },
  async ask(form) {
    const question = form.question.value;
    if (!question.trim()) throw new server.Refused(0, "Write a question first.");
    if (!offer) show(place("column"), askForm(await loadOffer()));
    const { graph, context } = settingsOf(form, offer);
    const thread = await server.newThread(graph, context);
    const run = await server.put(thread, graph, question, context);
    asked = { thread, question, run };
    location.hash = `#/run/${thread}`;
  },
  async approve(form) {
    const { run, thread } = { ...latest(), thread: current.thread };
    const isChanged = form.plan.value.trim() !== run.waiting.plan.trim();
    const value = form.comment.value.trim() ? { action: "reject", comment: form.comment.value }
      : isChanged ? { action: "edit", plan: form.plan.value } : { action: "approve" };
    return server.reply(thread, run.graph, value);
  },
  answer: (form) => server.reply(current.thread, latest().run.graph, form.words.value),
  async steer(form) {
    const words = form.words.value;
    const run = await server.steer(current.thread, latest().run.graph, words);
    latest().sent.push(words);
    return run;
  },
  async "follow-up"(form) {
    const words = form.words.value;
    const run = await server.put(current.thread, latest().run.graph, words);
    if (!latest().run.question_id || latest().run.has_report || latest().run.status === "ended") openExchange(words);
    return run;
  },
  async rename(form) {
    const thread = list.renamed;
    await server.rename(thread, form.label.value);
    list.renamed = "";
    await refreshRuns();
  },
};

const clicked = {
  "toggle-runs": () => toggleOther("runs"),
  "toggle-side": () => toggleOther("side"),
  jump: () => keepInView(true),
  stop: () => server.stop(current.thread),
  "go-on": () => server.goOn(current.thread, latest().run.graph),
  skip: () => server.reply(current.thread, latest().run.graph, { action: "approve" }),
  end: () => server.reply(current.thread, latest().run.graph, { action: "end" }),
  async export(control) {
    const { name, content } = await server.download(exportOf(control, control.value));
    const link = h("a", { href: URL.createObjectURL(content), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    control.closest("details").open = false;
  },
  copy: async (control) => copy(control, await server.text(exportOf(control, "md"))),
  "copy-table": (control) => copy(control, tableText(control)),
  sort: (control) => sortTable(control),
  print(control) {
    control.closest(".exchange").classList.add("printed");
    print();
    control.closest(".exchange").classList.remove("printed");
  },
  example(control) {
    place("question").value = control.textContent;
    place("question").focus();
  },
  suggest(control) {
    place("words").value = control.textContent;
    place("words").focus();
  },
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
  "open-source": (control) => openSource(exchangeAt(control), control.value, [...(control.closest("aside, tr")?.querySelectorAll("blockquote") ?? [])].map((quote) => quote.textContent)),
  "open-card": (control) => openSource(exchangeAt(control), control.value),
  "close-source": () => place("source").close(),
};

const LISTENED = ["approve", "answer", "steer", "follow-up", "go-on", "skip", "end"];

async function act(name, work, control) {
  if (current) latest().failure = "";
  if (control) control.disabled = true;
  try {
    const run = await work();
    if (!current) return;
    if (LISTENED.includes(name)) {
      listen(current, run).catch(fail);
      if (control?.form?.words) control.form.words.value = "";
      draw();
    }
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
  const within = event.target.closest('a[href^="#"]:not([href^="#/"], [data-do])');
  if (within) {
    // The address says which run is shown, and goes on saying so.
    event.preventDefault();
    const target = document.getElementById(decodeURIComponent(within.hash.slice(1)));
    target?.closest("details")?.setAttribute("open", "");
    target?.scrollIntoView();
    target?.focus();
    toggle("side", false);
    return;
  }
  for (const menu of document.querySelectorAll(".menu[open]")) menu.open = menu.contains(event.target) && !event.target.closest("button");
  const element = event.target.closest("button[data-do]");
  if (!element) return;
  event.preventDefault();
  light(null);
  const name = element.dataset.do;
  act(name, () => clicked[name](element), name.startsWith("toggle") ? null : element);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches("[data-sends]")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
  if (event.key !== "Escape") return;
  light(null);
  for (const menu of document.querySelectorAll(".menu[open]")) menu.open = false;
  if (list.renamed) {
    list.renamed = "";
    drawRuns();
  }
});

document.addEventListener("input", (event) => {
  if (event.target.id !== "search") return;
  list.search = event.target.value.trim();
  clearTimeout(list.timer);
  list.timer = setTimeout(() => refreshRuns().catch(fail), 250);
});

for (const [kind, isOver] of [["pointerover", true], ["focusin", true], ["pointerout", false], ["focusout", false]]) {
  document.addEventListener(kind, (event) => {
    const chip = event.target.closest?.(".report button.cite");
    if (chip && current) light(isOver ? chip : null);
  });
}

addEventListener("scroll", () => requestAnimationFrame(scrolled), { passive: true });
addEventListener("hashchange", () => go().catch(fail));
addEventListener("pagehide", finishDelete);
setInterval(() => current && latest().run.status === "running" && drawStrip(), 1000);
setInterval(() => !document.hidden && offer && refreshRuns().catch(() => {}), 60_000);
server.takeToken();
go().catch(fail);
