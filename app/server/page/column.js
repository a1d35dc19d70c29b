// The current thread: its questions, drawn one below the other and kept in view.

import { connected, isLost } from "./connection.js";
import { byId, h, outcomeOf, pause, say, show } from "./dom.js";
import { restoreDraft } from "./drafts.js";
import { excludedLine } from "./exclusion.js";
import { drawFiles } from "./files.js";
import { giveBack } from "./focus.js";
import { askingAgain, lineOf, noSigns, notice, workedNow, workedSince } from "./living.js";
import { Writing } from "./markdown.js";
import { mayOffer, notify } from "./notify.js";
import { page } from "./page.js";
import { becomeReport, chunksOf, forgetOwed, keepPlace, shift } from "./place.js";
import { markCells, markChanges, putLater, renderReport } from "./report.js";
import * as server from "./server.js";
import { sideView, sourcesOf } from "./side.js";
import { add, begin, read } from "./story.js";
import { columnsOf, RowTable } from "./table.js";
import { dockView, exchangeView, isFinished, isTable, planText, nextView, slicesOf, strip } from "./thread.js";
import { fillTrust } from "./trust.js";
import { isEdit, listLine, newerLine, reportsOf, versionList } from "./versions.js";

// Pixels: the bar above the column, and how near the end of a draft counts as at its end.
const BAR = 56, NEAR = 40, STEERING = 15_000;
// Milliseconds before a lost stream is opened again: at first, and at most.
const SOON = 500, LATER = 10_000;
const NOTHING = { calls: 0, tokens: 0, usd: 0 };
const RUN = { status: "starting", question: "", title: "", plan: "", graph: "deep_research", waiting: {}, messages: [], has_report: false, estimate: "",
  is_unfinished: false, is_edit: null, failure: "", spent: NOTHING, seconds: 0, question_id: "", sources: [], uncited: [], excluded: [], trust: null, doubts: "", follow_ups: [], sent: [], is_finishing: false, worked: 0, nodes: [], depth: "standard", changed: "", versions: [] };

// Whether the view follows the active part, the last scroll position, and the last active part.
const view = { isFollowing: true, scrolled: 0, stage: "" };
export const latest = () => page.thread?.exchanges.at(-1);
const isAtWork = () => ["running", "starting"].includes(latest()?.run.status);

// Sources are excluded and used again only between two runs.
export function offerUse() {
  const run = latest()?.run, isOffered = run && !run.is_unfinished && !isAtWork() && run.status !== "waiting";
  for (const control of document.querySelectorAll(".source-use > *")) control.hidden = !isOffered;
}

const sectionOf = (exchange) => byId("column").querySelector(`[data-key="exchange-${exchange.index}"]`);

const exchangeOf = (at, run) => ({
  index: at, run: { ...RUN, ...run }, story: begin(), packets: [], slice: [], sent: [], question: "", failure: "", passing: null, isLatest: true, headings: [],
  cited: new Map(), statements: new Map(), way: "follow-up", worked: 0, stepped: 0, signs: noSigns(), since: Date.now(), wasAtWork: false, steered: 0, live: { ...NOTHING },
});

export function draw() {
  noticeScroll();
  const { exchanges, on } = page.thread, exchange = latest();
  const slices = slicesOf(exchange.run.messages);
  for (const each of exchanges) {
    each.isLatest = each === exchange;
    // Until a question that has failed is ended, the next one stands among its messages.
    if (each.isLatest || each.index !== slices.length - 1 || !each.slice.length) each.slice = slices[each.index] ?? each.slice;
  }
  document.body.classList.add("in-thread");
  byId("column").classList.toggle("broad", isTable(exchange.run));
  page.thread.isTyping ||= document.activeElement === byId("words");
  keepPlace(BAR, () => {
    // Finished questions are not redrawn.
    show(byId("column"), exchanges.map((each) => ("keep" in (sectionOf(each)?.dataset ?? {})
      ? h("section", { "data-key": `exchange-${each.index}` }) : exchangeView(each, page.offer))));
    drawVersions();
    show(byId("dock"), dockView(exchange, page.offer));
    byId("dock").hidden = false;
    drawFiles();
    drawStrip();
  });
  // Whoever asks by keyboard goes on in the box, which is hidden until the run has begun, or with the plan; what is typed must not press its button.
  const words = byId("words"), next = words.checkVisibility() ? words : !words.value && byId("column").querySelector(".review .main-action");
  if (page.thread.isTyping && next) {
    giveBack(next);
    page.thread.isTyping = false;
  }
  write();
  for (const each of exchanges) drawRows(each).catch(on.fail);
  for (const each of exchanges) mountReport(each).catch(on.fail);
  drawSide();
  keepInView();
  document.title = `${outcomeOf(exchange.run)}: ${exchange.question || "Deep Research"}`;
}

// Shows the report so far; only its last block is rendered again, and a reader at its end stays there.
function write() {
  const { story } = latest(), { thread } = page, draft = byId("draft");
  if (!draft) return;
  if (thread.writing?.element !== draft) Object.assign(thread, { writing: new Writing(draft), drafts: story.drafts });
  if (thread.drafts !== story.drafts) {
    thread.drafts = story.drafts;
    return keepPlace(BAR, () => thread.writing.replace(story.draft));
  }
  const { top, bottom } = draft.getBoundingClientRect();
  thread.writing.show(story.draft);
  if (top < BAR && bottom > BAR && bottom < byId("dock").getBoundingClientRect().top + NEAR) shift(draft.getBoundingClientRect().bottom - bottom);
}

// The latest version lists all of them, and those that were changed lead to what came of them; also in questions that are not redrawn.
function drawVersions() {
  const { exchanges } = page.thread, { run } = latest(), reports = reportsOf(run);
  const places = exchanges.map((each) => ({ each, at: reports.findIndex((version) => version.question_id === each.run.question_id), holder: sectionOf(each)?.querySelector("[data-key=versions]") }));
  // The newest report may not be shown yet.
  const last = Math.max(...places.filter(({ holder }) => holder).map(({ at }) => at));
  for (const { each, at, holder } of reports.length ? places : []) {
    if (!holder) continue;
    const next = reports.findIndex(({ kind }, index) => index > at && kind === "question"), newer = reports.at(next < 0 ? -1 : next - 1);
    const made = at >= 0 && newer !== reports[at] && exchanges.find((other) => other.run.question_id === newer.question_id);
    const listed = places.find((place) => place.at === last)?.each;
    show(holder, at >= 0 && at === last ? versionList(run, exchanges) : made ? newerLine(made, newer) : at >= 0 && listLine(listed, reports), !made && excludedLine(each, run));
  }
}

// Keeps the element with the rows of a table, which `draw` leaves alone, up to date.
async function drawRows(exchange) {
  const holder = sectionOf(exchange)?.querySelector("[data-key=rows]");
  if (!holder) return;
  if (exchange.table?.holder !== holder) exchange.table = new RowTable(holder, columnsOf(planText(exchange)));
  await exchange.table.show(exchange.story.rows, pause);
}

export function drawStrip() {
  byId("strip").hidden = !isAtWork();
  byId("offer").hidden = !isAtWork() || !mayOffer(workedNow(latest()));
  // Nobody knows what a run does whose server does not answer.
  if (!isAtWork() || isLost()) return;
  const { run, live } = latest();
  const costs = { tokens: Math.max(run.spent.tokens, live.tokens), usd: Math.max(run.spent.usd, live.usd) };
  show(byId("strip"), strip(latest(), workedNow(latest()), costs));
}

// What passes from second to second: the strip, and a line for each researcher.
export function drawTime() {
  drawStrip();
  if (!isAtWork() || isLost()) return;
  const { story } = latest(), section = sectionOf(latest());
  // Earlier questions have just been loaded.
  if (!section) return;
  for (const line of section.querySelectorAll("[data-line]")) line.textContent = lineOf(latest(), story.byKey.get(line.dataset.line));
  for (const time of section.querySelectorAll("[data-since]")) time.textContent = workedSince(latest(), Number(time.dataset.since));
}

export function exchangeInView() {
  const begun = page.thread.exchanges.filter((exchange) => sectionOf(exchange)?.getBoundingClientRect().top < innerHeight / 2);
  return begun.at(-1) ?? page.thread.exchanges[0];
}

function drawSide() {
  const exchange = exchangeInView(), count = sourcesOf(exchange, page.thread.exchanges).length;
  show(byId("side"), sideView(exchange, page.thread.exchanges));
  byId("side").hidden = byId("side-button").hidden = false;
  byId("side-button").textContent = count ? `Sources ${count}` : "Sources";
  offerUse();
}

// Puts a report into its place. Its draft becomes the report, whose other parts are put around it; returns the report.
async function place(holder, report) {
  const draft = holder.querySelector("#draft"), article = report.querySelector("article"), body = article.querySelector(":scope > div"), blocks = [...body.children];
  if (!draft) {
    body.replaceWith(...chunksOf(blocks));
    keepPlace(BAR, () => holder.replaceChildren(h("div", { class: "report" }, report)));
    return report;
  }
  const shown = draft.parentElement;
  keepPlace(BAR, () => {
    body.remove();
    draft.prepend(...article.childNodes);
    for (const name of ["id", "class", "aria-label"]) draft.removeAttribute(name);
    article.remove();
    shown.append(...report.childNodes);
    Object.assign(shown, { lang: report.lang, dir: report.dir });
    shown.parentElement.className = "report";
  });
  await becomeReport(draft, blocks, BAR, pause);
  return shown;
}

// Shows the finished report; the blocks of its draft that did not change stay as they are.
async function mountReport(exchange) {
  const { run } = exchange, section = sectionOf(exchange), holder = section?.querySelector(".text:not([data-mounted])");
  if (!holder || !isFinished(run)) return;
  holder.dataset.mounted = "";
  const html = await server.text(`/research/runs/${run.thread}/export?format=html&question=${run.question_id}`).catch((error) => {
    delete holder.dataset.mounted;
    throw error;
  });
  const { report: rendered, headings, cited, statements, later } = await renderReport(html, run, pause);
  Object.assign(exchange, { headings, cited, statements });
  if (page.thread) noticeScroll();
  if (exchange.isLatest && run.follow_ups.length) rendered.querySelector("article").after(nextView(run));
  const report = await place(holder, rendered);
  fillTrust(section, report);
  view.scrolled = scrollY;
  if (!exchange.isLatest) settle(exchange);
  if (page.thread?.exchanges.includes(exchange)) {
    drawSide();
    keepInView();
  }
  await putLater(later, (put) => keepPlace(BAR, put), pause);
  if (exchange.wasAtWork && isEdit(run)) markChanges(report, exchange.story.changed);
  if (exchange.wasAtWork && isTable(run)) await markTable(exchange, report);
  // Done only now, so that an arriving report does not take the focus.
  for (const quote of report.querySelectorAll("aside.quote")) quote.setAttribute("autofocus", "");
}

// Marks in a table what the one before it in the thread does not have.
async function markTable({ index }, report) {
  const table = report.querySelector("table.researched");
  const before = page.thread?.exchanges.slice(0, index).map((each) => sectionOf(each)?.querySelector("table.researched")).findLast(Boolean);
  if (table && before) await markCells(table, before, pause);
}

// Draws a finished question for the last time.
function settle(exchange) {
  const section = sectionOf(exchange);
  for (const part of section?.querySelectorAll(".next, .again, .undo") ?? []) part.remove();
  if (section?.querySelector("[data-mounted]")) section.dataset.keep = "";
}

export function openExchange(question, { edit = null } = {}) {
  const { thread } = page, { graph, messages, status, versions } = latest().run;
  latest().isLatest = false;
  if (status === "failed") Object.assign(latest().run, { status: "ended", is_unfinished: false });
  settle(latest());
  thread.exchanges.push({ ...exchangeOf(thread.exchanges.length, { thread: thread.id, graph, messages, question, is_edit: edit, versions }), wasAtWork: true });
  view.isFollowing = true;
}

// The active part stays in view, unless the reader has scrolled away from it.
function partAtWork() {
  const section = byId("column").lastElementChild;
  return [section, section?.querySelector(`[data-part="${section.dataset.stage}"]`) ?? section];
}

function isInView(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= BAR - 1 ? top < byId("dock").getBoundingClientRect().top - 60 : bottom > BAR + 120;
}

export function keepInView(isWanted = false) {
  const [section, part] = partAtWork();
  view.isFollowing ||= isWanted;
  const stage = `${page.thread.exchanges.length} ${section.dataset.stage}`;
  if (view.isFollowing && (isWanted || stage !== view.stage || !isInView(part))) {
    const [begins, at] = [section, part].map((element) => element.getBoundingClientRect().top + scrollY);
    forgetOwed();
    scrollTo({ top: (at - begins < innerHeight * 0.45 ? begins : at) - BAR - 8, behavior: "instant" });
  }
  Object.assign(view, { stage, scrolled: scrollY });
  byId("jump").hidden = isInView(part) || !isAtWork();
}

// A reader who has scrolled the active part out of view is reading something else.
function noticeScroll() {
  const [section, part] = partAtWork();
  if (section && Math.abs(scrollY - view.scrolled) > 3) {
    forgetOwed();
    view.isFollowing = isInView(part);
  }
  view.scrolled = scrollY;
}

export function scrolled() {
  if (!page.thread) return;
  noticeScroll();
  byId("jump").hidden = isInView(partAtWork()[1]) || !isAtWork();
  drawSide();
}

// Shows a thread and follows its run, from the moment in which its question is sent; `on` holds the callbacks.
export async function follow(id, on) {
  const asked = page.asked?.thread === id ? page.asked : null;
  const mine = { id, on, signal: page.stop.signal, exchanges: [exchangeOf(0, { thread: id, question: asked?.question ?? "" })], heard: "", isTyping: asked?.isTyping };
  page.thread = mine;
  Object.assign(view, { isFollowing: true, stage: "" });
  draw();
  restoreDraft(byId("words"));
  if (asked) listen(asked.run).catch(on.fail);
  for (let isLoaded = Boolean(asked), isBack = false, wait = SOON; mine === page.thread; isBack = true) {
    try {
      isLoaded ||= await loadEarlier(mine);
      for await (const { event, data } of server.events(`/research/runs/${id}/packets`, mine.signal)) {
        if (mine !== page.thread) return;
        wait = SOON;
        if (event === "refused" && (await server.runAtWork(id).catch(() => ""))) break;
        if (event === "refused") return latest().failure ? draw() : on.missing(data.detail);
        if (event === "packets") take(data);
        else stand(data);
        if (isBack && isAtWork()) listen("").catch(() => {});
        isBack = false;
      }
    } catch (error) {
      if (mine !== page.thread || error.name === "AbortError") return;
      if (error.status === 404) return on.missing(error.message);
      if (error.status === 401) return on.fail(error);
      // A restarted server comes back, and a busy one frees streams.
      if (error.status === 429) say(error.message);
      if (error.status === 429) wait = LATER;
    }
    await connected();
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(2 * wait, LATER);
  }
}

async function loadEarlier(mine) {
  const earlier = await server.ask(`/research/runs/${mine.id}/earlier`).catch(async (error) => {
    // A run that is about to begin has stored nothing yet.
    if (error.status === 404 && (await server.runAtWork(mine.id).catch(() => ""))) return [];
    throw error;
  });
  mine.exchanges = [...earlier, { thread: mine.id }].map((run, at) => exchangeOf(at, run));
  for (const [at, { packets }] of earlier.entries()) mine.exchanges[at].story = read(packets);
  return true;
}

function take({ question_id: question, held, packets }) {
  const exchange = page.thread.exchanges.findLast((each) => each.run.question_id === question) ?? latest();
  if (held < exchange.packets.length) exchange.story = read((exchange.packets = exchange.packets.slice(0, held)));
  exchange.packets.push(...packets);
  for (const packet of packets) add(exchange.story, packet);
  if (!byId("draft") || packets.some((packet) => !["message_delta", "citation_info"].includes(packet.type))) return draw();
  noticeScroll();
  write();
  keepInView();
}

function stand(run) {
  const { exchanges, on } = page.thread, { question_id: id } = latest().run;
  if ((id && run.question_id !== id) || slicesOf(run.messages).length > exchanges.length) openExchange("");
  const exchange = latest(), before = exchanges.at(-2)?.run, { status, nodes } = exchange.run, shown = workedNow(exchange), { messages, failure, is_unfinished } = run;
  // A question with nothing left to do is not at work: its follow-up is, which has stored nothing yet.
  const hasEnded = run.question_id && !is_unfinished && run.status === "running";
  // Until a follow-up begins, the server still reports how the question before it ended.
  const hasBegun = run.question_id !== before?.question_id;
  if (!hasBegun && run.status === "failed" && run.changed === before.changed && run.failure === before.failure) return;
  exchange.run = hasBegun ? { ...run, status: hasEnded ? status : run.status }
    : { ...exchange.run, messages, failure, is_unfinished, status: is_unfinished ? run.status : "running" };
  // A message interrupts the run briefly.
  if (exchange.run.status === "stopped" && Date.now() - exchange.steered < STEERING) exchange.run = { ...exchange.run, status: "running" };
  exchange.wasAtWork ||= exchange.run.status === "running";
  // At the first look, nobody knows since when these nodes are at work.
  if (nodes.length && String(nodes) !== String(exchange.run.nodes)) exchange.stepped = shown;
  Object.assign(exchange, { worked: Math.max(shown, run.question_id === exchange.run.question_id ? run.worked : 0), since: Date.now() });
  if (exchange.run.status !== status) {
    if (["running", "starting"].includes(status)) notify(run.thread, exchange.run.status, exchange.question);
    exchange.passing = null;
    say(outcomeOf(exchange.run));
    on.refreshRuns().catch(on.fail);
    if (exchange.run.status === "running") listen("").catch(() => {});
  }
  draw();
}

// Listens to packets that are not stored: costs, delays and the progress of indexing.
export async function listen(started) {
  const { thread } = page, exchange = latest();
  const run = started || (await server.runAtWork(thread.id));
  if (!run || thread.heard === run) return;
  thread.heard = run;
  exchange.signs = noSigns();
  exchange.live = { tokens: Math.max(exchange.live.tokens, exchange.run.spent.tokens), usd: Math.max(exchange.live.usd, exchange.run.spent.usd) };
  try {
    for await (const packet of server.live(thread.id, run, thread.signal)) {
      if (thread !== page.thread) return;
      hear(exchange, packet);
    }
  } catch (error) {
    if (error.status !== 0) throw error;
    // The server has stopped: `follow` listens again once it is back, and the run may go on then.
    thread.heard = "";
  }
}

// `passing` is what goes on for the moment instead of the work: a function of time, or null.
function hear(exchange, packet) {
  const { type, input_tokens: read, output_tokens: written, usd } = packet;
  if (["chat_heartbeat", "elapsed_time"].includes(type)) return;
  notice(exchange.signs, packet);
  if (type === "call_finished") exchange.live = { tokens: exchange.live.tokens + read + written, usd: exchange.live.usd + usd };
  if (type === "documents_indexed") exchange.passing = packet.done < packet.total ? () => `Reading your documents: ${packet.done} of ${packet.total}` : null;
  else if (type === "call_delayed") exchange.passing = askingAgain(packet);
  else if (type !== "call_pending") exchange.passing = null;
}
