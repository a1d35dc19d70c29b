// The server's API, which any client may use: LangGraph's threads and runs, and the routes of `app/server/_routes.py`.

import { lost } from "./connection.js";
import { h } from "./dom.js";

const KEY = "deep-research-token";

// The address that the server prints ends in the token; it is kept here and taken out of the address.
export function takeToken() {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (found) {
    localStorage.setItem(KEY, decodeURIComponent(found[1]));
    history.replaceState(null, "", `${location.pathname}#/`);
  }
}

export const hasToken = () => Boolean(localStorage.getItem(KEY));
export const setToken = (token) => localStorage.setItem(KEY, token.trim());

// Status 0: the server did not answer, which `connection.js` shows until it does.
export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

function cutOff(error) {
  if (error.name === "AbortError") throw error;
  lost();
  throw new Refused(0, "The connection to the server was lost. Try again once it is back.");
}

// JSON in which files (`Blob`) are never joined with the rest in memory.
const FILE = "\uE000file\uE000";
function bodyOf(value) {
  const files = [];
  const rest = JSON.stringify(value, (_, inner) => (inner instanceof Blob ? files.push(inner) && FILE : inner)).split(FILE);
  return files.length ? new Blob(rest.flatMap((part, at) => [part, files[at]]).slice(0, -1)) : rest[0];
}

async function answer(path, { method = "GET", body, signal, keepalive } = {}) {
  const headers = { "X-Api-Key": localStorage.getItem(KEY) ?? "" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { method, headers, signal, keepalive, body: body && bodyOf(body) }).catch(cutOff);
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  const words = typeof said.detail === "string" ? said.detail : `The server answers with status ${response.status}.`;
  throw new Refused(response.status, words);
}

export const ask = async (path, options) => (await answer(path, options)).json();
export const text = async (path) => (await answer(path)).text();
export const blob = async (path) => (await answer(path)).blob();
export const rename = (thread, label) => ask(`/research/runs/${thread}`, { method: "PATCH", body: { label } });
export const revert = (thread, version) => ask(`/research/runs/${thread}/revert`, { method: "POST", body: { version } });
export const exclude = (thread, number, replace) => ask(`/research/runs/${thread}/excluded/${number}`, { method: "PUT", body: { replace } });
export const include = (thread, number) => answer(`/research/runs/${thread}/excluded/${number}`, { method: "DELETE" });
// The request is sent even if the user is leaving the page.
export const remove = (thread) => answer(`/research/runs/${thread}`, { method: "DELETE", keepalive: true });

export async function download(path) {
  const response = await answer(path);
  const [, name = "report"] = /filename\*=UTF-8''(\S+)/.exec(response.headers.get("Content-Disposition")) ?? [];
  const link = h("a", { href: URL.createObjectURL(await response.blob()), download: decodeURIComponent(name) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Server-sent events, with the token in a header, which an EventSource cannot send.
export async function* events(path, signal, options = {}) {
  const response = await answer(path, { signal, ...options });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch(cutOff);
    if (done) return;
    const blocks = (rest + value.replaceAll("\r", "")).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const event = lines.find((line) => line.startsWith("event:"))?.slice(6).trim();
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
      if (event && data) yield { event, data: JSON.parse(data) };
    }
  }
}

const WIRE = { stream_mode: ["custom"], stream_subgraphs: true, durability: "sync" };
const said = (words, files = [], more = {}) => ({ messages: [{ role: "user", content: files.length ? [{ type: "text", text: words }, ...files] : words }], ...more });

export const newThread = async (graph, context) =>
  (await ask("/threads", { method: "POST", body: { metadata: { research: { graph, context } } } })).thread_id;

// A run of the command line is not among the server's threads until somebody continues it.
export async function settingsOf(thread) {
  const made = await ask("/threads", { method: "POST", body: { thread_id: thread, if_exists: "do_nothing" } });
  return made.metadata?.research?.context ?? {};
}

async function start(thread, graph, more, context) {
  const body = { assistant_id: graph, context: context ?? (await settingsOf(thread)), ...WIRE, ...more };
  return (await ask(`/threads/${thread}/runs`, { method: "POST", body })).run_id;
}

export const put = (thread, graph, words, files, context) => start(thread, graph, { input: said(words, files) }, context);
// With `edit: true` in `more`, the words say what to change in the report. Whether the plan is shown first is decided with each question, also for what goes on with it later.
export async function followUp(thread, graph, words, files, more, isReviewed) {
  const { outline, ...context } = await settingsOf(thread);
  if (isReviewed !== Boolean(context.review_plan)) {
    context.review_plan = isReviewed;
    await ask(`/threads/${thread}`, { method: "PATCH", body: { metadata: { research: { graph, context: { outline, ...context } } } } });
  }
  return start(thread, graph, { input: said(words, files, more) }, context);
}
export const reply = (thread, graph, value) => start(thread, graph, { command: { resume: value } });
export const goOn = (thread, graph) => start(thread, graph, { input: null });
export const send = (thread, text) => ask(`/research/runs/${thread}/messages`, { method: "POST", body: { text } });
export const finish = (thread) => answer(`/research/runs/${thread}/finish`, { method: "POST" });
// The only way for a report that is being written, which then begins anew.
export const steer = (thread, graph, words) => start(thread, graph, { command: { update: said(words) }, multitask_strategy: "interrupt" });

export async function runAtWork(thread) {
  for (const status of ["running", "pending"]) {
    const [run] = await ask(`/threads/${thread}/runs?status=${status}&limit=1`);
    if (run) return run.run_id;
  }
  return "";
}

export async function stop(thread) {
  const run = await runAtWork(thread).catch(() => "");
  if (!run) throw new Refused(409, "This run has ended or is running in another process; in that case, stop it there.");
  await answer(`/threads/${thread}/runs/${run}/cancel?wait=false&action=interrupt`, { method: "POST" });
}

// Unstored packets of a run, and the error that ended it: an error before the first step reaches only this client.
export async function* live(thread, run, signal) {
  for await (const { event, data } of events(`/threads/${thread}/runs/${run}/stream?stream_mode=custom`, signal)) {
    if (event === "error") throw new Refused(409, data.message ?? "The run failed.");
    if (event.split("|")[0] === "custom") yield data;
  }
}
