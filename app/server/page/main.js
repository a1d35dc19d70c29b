// The page: which run is shown, what the reader does, and what the server sends.

import { parsed, show, h } from "./dom.js";
import * as server from "./server.js";
import { read } from "./story.js";
import { askForm, runList, runView, sourceView, STATES, talkView, tokenForm } from "./views.js";

const place = (id) => document.getElementById(id);
const NOTHING = { calls: 0, tokens: 0, usd: 0 };
const RUN = {
  status: "starting", question: "", graph: "deep_research", waiting: {}, messages: [], has_report: false, is_unfinished: false,
  failure: "", spent: NOTHING, seconds: 0, question_id: "", estimate: "",
};

let offer = null;
let runs = [];
// The run that is shown: its state, its packets, what its models have cost since the page listens.
let current = null;
// What was asked last, for the moment until the server has it.
let asked = { thread: "", question: "", run: "" };

function say(words) {
  place("said").textContent = words;
}

function fail(error) {
  if (error.name === "AbortError") return;
  if (error.status === 401) return showToken(server.hasToken() ? "The server does not know this token." : "");
  if (current) {
    current.failure = error.message;
    draw();
  } else if (offer) {
    show(place("main"), askForm(offer, error.message));
  } else {
    show(place("main"), h("p", { class: "failure", role: "alert" }, error.message));
  }
}

function showToken(words) {
  place("talk").hidden = true;
  show(place("main"), tokenForm(words));
}

async function refreshRuns() {
  runs = await server.ask("/research/runs");
  show(place("runs"), runList(runs, current?.thread));
}

function draw() {
  const { thread, run, story, live, failure, passing } = current;
  const isAtWork = run.status === "running" || run.status === "starting";
  const costs = { tokens: Math.max(run.spent.tokens, isAtWork ? live.tokens : 0), usd: Math.max(run.spent.usd, isAtWork ? live.usd : 0) };
  const seconds = run.seconds + (isAtWork ? (Date.now() - current.since) / 1000 : 0);
  const view = { thread, run, story, costs, seconds, failure, passing, formats: offer.formats };
  show(place("main"), runView(view));
  place("talk").hidden = false;
  show(place("talk"), talkView(view));
  document.title = `${STATES[run.status] ?? ""}: ${run.question || "Deep Research"}`;
}

async function showReport() {
  const { thread, run } = current;
  const shown = place("report");
  const wanted = run.has_report && run.status !== "running" ? `${thread} ${run.question_id}` : "";
  if (!shown || shown.dataset.of === wanted) return;
  if (!wanted) {
    delete shown.dataset.of;
    shown.replaceChildren();
    return;
  }
  shown.dataset.of = wanted;
  const html = await server.text(`/research/runs/${thread}/export?format=html`);
  // Its head has a style of its own, which this page has as a file.
  const page = parsed(html.replace(/<head>[\s\S]*?<\/head>/, ""));
  if (current?.thread !== thread || shown.dataset.of !== wanted) return;
  const report = h("div", { lang: page.documentElement.lang, dir: page.documentElement.dir });
  report.append(...page.querySelectorAll(".legend, main > *, aside.quote"));
  for (const quote of report.querySelectorAll("aside.quote")) {
    const number = quote.querySelector(".number").textContent;
    // It is for a quote that opens, not for the report that comes while somebody types.
    quote.removeAttribute("autofocus");
    quote.querySelector(".foot").prepend(h("button", { type: "button", "data-do": "open-source", value: number }, "Show it in the source"));
  }
  // A browser opens no file for a page: what was read of it is shown here.
  for (const link of report.querySelectorAll('a[href^="file:"]')) {
    const number = link.closest("li, tr, aside")?.querySelector(".number")?.textContent;
    link.replaceWith(number ? h("button", { type: "button", class: "link", "data-do": "open-source", value: number }, link.textContent) : link.textContent);
  }
  for (const element of report.querySelectorAll(".quote .foot button.link")) element.remove();
  for (const heading of report.querySelectorAll("#evidence, #audit, #not-read")) {
    const section = heading.parentElement;
    section.replaceWith(h("details", { class: "more" }, h("summary", {}, heading.textContent), [...section.children].slice(1)));
  }
  shown.replaceChildren(report);
  for (const quote of report.querySelectorAll("aside.quote")) quote.setAttribute("autofocus", "");
}

async function follow(thread) {
  const stop = new AbortController();
  const run = { ...RUN, question: asked.thread === thread ? asked.question : "" };
  current = { thread, stop, run, packets: [], of: "", story: read([]), live: { ...NOTHING }, since: Date.now(), failure: "", passing: "", heard: "" };
  const mine = current;
  draw();
  if (asked.thread === thread) listen(mine, asked.run).catch(fail);
  while (mine === current) {
    try {
      for await (const { event, data } of server.events(`/research/runs/${thread}/packets`, stop.signal)) {
        if (mine !== current) return;
        if (event === "refused" && (await server.runAtWork(thread).catch(() => ""))) break;
        if (event === "refused") return fail(new server.Refused(404, data.detail));
        if (event === "packets") take(data);
        else stand(data);
        draw();
        showReport().catch(fail);
      }
    } catch (error) {
      if (mine !== current || error.name === "AbortError") return;
      if ([401, 404].includes(error.status)) return fail(error);
      // A server that was restarted comes back, and one that has too many streams has fewer later.
      say(error.status === 429 ? error.message : "The connection was lost; trying again.");
      if (error.status === 429) await new Promise((resolve) => setTimeout(resolve, 10_000));
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function take({ question_id: question, held, packets }) {
  if (current.of !== question) {
    current.of = question;
    current.packets = [];
  }
  current.packets.length = Math.min(held, current.packets.length);
  current.packets.push(...packets);
  current.story = read(current.packets);
}

function stand(run) {
  const before = current.run.status;
  if (run.question_id !== current.of) {
    Object.assign(current, { of: run.question_id, packets: [], story: read([]) });
  }
  Object.assign(current, { run, since: Date.now() });
  if (run.status === before) return;
  current.passing = "";
  say(STATES[run.status] ?? run.status);
  refreshRuns().catch(fail);
  if (run.status === "running") listen(current, "").catch(() => {});
}

// What says something of the moment only, and is in no log: costs, waits, and how far the documents are indexed.
async function listen(mine, started) {
  const run = started || (await server.runAtWork(mine.thread));
  if (!run || mine.heard === run) return;
  mine.heard = run;
  mine.live = { ...mine.run.spent };
  for await (const packet of server.live(mine.thread, run, mine.stop.signal)) {
    if (mine !== current) return;
    if (packet.type === "call_finished") {
      mine.live.tokens += packet.input_tokens + packet.output_tokens;
      mine.live.usd += packet.usd;
    }
    if (packet.type === "documents_indexed") mine.passing = packet.done < packet.total ? `Reading your documents: ${packet.done} of ${packet.total}` : "";
    else if (packet.type === "call_delayed") mine.passing = `The model's provider asks to wait ${Math.round(packet.seconds)} s: ${packet.reason}`;
    else if (packet.type !== "chat_heartbeat" && packet.type !== "elapsed_time") mine.passing = "";
  }
}

function leave() {
  current?.stop.abort();
  current = null;
}

async function go() {
  const [, thread, linked] = /^#\/run\/([\w-]+)(?:\/source\/(\d+))?$/.exec(location.hash) ?? [];
  if (thread && thread === current?.thread) return linked && openLinked(linked);
  if (location.hash && !location.hash.startsWith("#/")) return;
  leave();
  toggleRuns(false);
  place("main").replaceChildren();
  place("talk").replaceChildren();
  offer ??= await server.ask("/research/offer");
  if (thread) {
    follow(thread);
    if (linked) await openLinked(linked);
  } else {
    place("talk").hidden = true;
    document.title = "Deep Research";
    show(place("main"), askForm(offer));
    place("question").focus();
  }
  await refreshRuns();
}

function toggleRuns(isOpen) {
  place("runs-button").setAttribute("aria-expanded", String(isOpen));
  document.body.classList.toggle("has-runs", isOpen);
}

function settings(form) {
  const given = new FormData(form);
  const chosen = given.getAll("docs");
  const whole = offer.docs.filter((folder) => chosen.includes(folder.name) && !chosen.some((name) => name.startsWith(`${folder.name}/`)));
  const docs = [...whole.map((folder) => folder.name), ...chosen.filter((name) => name.includes("/"))];
  const context = { clarify: given.has("clarify") ? "ask" : "assume", review_plan: given.has("review_plan") };
  if (offer.docs.length && (docs.length !== offer.docs.length || docs.some((name) => name.includes("/")))) context.docs = docs;
  if (offer.engines.length && given.getAll("engines").length !== offer.engines.length) context.engines = given.getAll("engines");
  for (const name of ["language", "instructions", "models", "depth"]) if (given.get(name)) context[name] = given.get(name);
  return context;
}

function marked(text, quotes) {
  return quotes.reduce((pieces, quote) => pieces.flatMap((piece) => typeof piece === "string" ? markedOnce(piece, quote) : piece), [text]);
}

function markedOnce(text, quote) {
  const words = quote.trim().split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  const found = words ? new RegExp(words).exec(text) : null;
  if (!found) return text;
  return [text.slice(0, found.index), h("mark", {}, found[0]), text.slice(found.index + found[0].length)];
}

async function openSource(number, quote) {
  showSource(await server.ask(`/research/runs/${current.thread}/sources/${number}`), [quote]);
}

// What a report's message links to: its numbers are those of the report, but the thread's name a source for good.
async function openLinked(number) {
  const source = await server.ask(`/research/runs/${current.thread}/sources/${number}?of=thread`);
  showSource(source, source.quotes);
}

function showSource(source, quotes) {
  const dialog = place("source");
  dialog.replaceChildren(...sourceView(source, source.number || "", (text) => marked(text, quotes)).flat().filter(Boolean));
  dialog.showModal();
  dialog.querySelector("mark")?.scrollIntoView({ block: "center" });
}

const submitted = {
  async token(form) {
    server.setToken(new FormData(form).get("token"));
    await go();
  },
  async ask(form) {
    const given = new FormData(form);
    const context = settings(form);
    const thread = await server.newThread(given.get("graph"), context);
    const run = await server.put(thread, given.get("graph"), given.get("question"), context);
    asked = { thread, question: given.get("question"), run };
    location.hash = `#/run/${thread}`;
  },
  async approve(form) {
    const given = new FormData(form);
    const { run, thread } = current;
    const isChanged = given.get("plan").trim() !== run.waiting.plan.trim();
    const value = given.get("comment").trim() ? { action: "reject", comment: given.get("comment") }
      : isChanged ? { action: "edit", plan: given.get("plan") } : { action: "approve" };
    return server.reply(thread, run.graph, value);
  },
  answer: (form) => server.reply(current.thread, current.run.graph, new FormData(form).get("words")),
  steer: (form) => server.steer(current.thread, current.run.graph, new FormData(form).get("words")),
  "follow-up": (form) => server.put(current.thread, current.run.graph, new FormData(form).get("words")),
};

const clicked = {
  "toggle-runs": () => toggleRuns(place("runs-button").getAttribute("aria-expanded") !== "true"),
  stop: () => server.stop(current.thread),
  "go-on": () => server.goOn(current.thread, current.run.graph),
  async export(button) {
    const { name, content } = await server.download(`/research/runs/${current.thread}/export?format=${button.value}`);
    const link = h("a", { href: URL.createObjectURL(content), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    button.closest("details").open = false;
  },
  "open-source": (button) => openSource(button.value, button.closest("aside, tr")?.querySelector("blockquote")?.textContent ?? ""),
  "close-source": () => place("source").close(),
  "to-report": () => place("report").scrollIntoView(),
};

async function act(work, button) {
  if (current) current.failure = "";
  if (button) button.disabled = true;
  try {
    const run = await work();
    if (current && run) listen(current, run).catch(fail);
    if (current && button?.form?.isConnected) button.form.querySelectorAll("textarea:not([name=plan]), input[name=comment]").forEach((field) => (field.value = ""));
    if (current) draw();
  } catch (error) {
    fail(error);
  } finally {
    if (button) button.disabled = false;
  }
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  act(() => submitted[form.dataset.do](form), event.submitter ?? form.querySelector("button"));
});

document.addEventListener("click", (event) => {
  const within = event.target.closest('a[href^="#"]:not([href^="#/"], [data-do])');
  if (within) {
    // The address says which run is shown, and goes on saying so.
    event.preventDefault();
    const target = place(within.hash.slice(1));
    target?.scrollIntoView();
    target?.focus();
    return;
  }
  const element = event.target.closest("button[data-do], a[data-do]");
  if (!element) {
    if (!event.target.closest(".menu")) document.querySelectorAll(".menu[open]").forEach((menu) => (menu.open = false));
    return;
  }
  event.preventDefault();
  act(() => clicked[element.dataset.do](element), element.matches("button:not(#runs-button)") ? element : null);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) event.target.form.requestSubmit();
  if (event.key === "Escape") document.querySelectorAll(".menu[open]").forEach((menu) => (menu.open = false));
});

addEventListener("hashchange", () => go().catch(fail));
setInterval(() => current?.run.status === "running" && draw(), 1000);
setInterval(() => !document.hidden && offer && refreshRuns().catch(() => {}), 60_000);
server.takeToken();
go().catch(fail);
