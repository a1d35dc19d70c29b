// What the views share: the server's offer, the question that was sent last, the current thread, and what ends the requests of the current view.

import * as server from "./server.js";

export const page = { offer: null, asked: null, thread: null, isSuggested: false, stop: new AbortController() };

export const offered = async () => (page.offer ??= await server.ask("/research/offer"));

// Asks a question on a thread of its own; resolves to its address.
export async function research(question, graph, context, files = []) {
  const isTyping = document.activeElement?.matches("[data-sends]"), thread = await server.newThread(graph, context);
  page.asked = { thread, question, isTyping, run: await server.put(thread, graph, question, files, context) };
  return `#/run/${thread}`;
}
