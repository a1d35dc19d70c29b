// Messages to the run at work, each with who has read it, and the end of research that the reader wants.

import { button, count, folded, h } from "./dom.js";

const LONG = 130, NAMED = 3;
const ROLES = { orchestrator: "the lead", planner: "the planner", writer: "the writer" };

const listed = (names) => [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and ");

// Who has read a message, researchers by their tasks.
function readersOf({ byKey, heard }, id) {
  const readers = heard.filter((each) => each.id === id);
  const branches = [...new Set(readers.filter(({ reader }) => !(reader in ROLES)).map(({ key }) => byKey.get(key)))].filter(Boolean);
  const roles = [...new Set(readers.map(({ reader }) => ROLES[reader]))].filter(Boolean);
  const names = branches.length > NAMED ? [count(branches.length, "researcher")] : branches.map(({ title }) => `“${title}”`);
  return { branches, words: listed([...names, ...roles]) };
}

// A message that interrupted the run, as other clients send it, has no known readers.
function fate({ run, story }, { id, text }) {
  const { branches, words } = readersOf(story, id), isOpen = ["running", "stopped"].includes(run.status);
  const left = story.branches.filter((branch) => branch.state === "at work" && !branches.includes(branch)).length;
  if (words) return [`Read by ${words}.`, run.status === "running" && left > 0 && ` ${count(left, "researcher")} at work ${left === 1 ? "reads" : "read"} it before the next call.`];
  if (!run.sent.some((sent) => sent.id === id)) return `The run ${isOpen ? "goes" : "went"} on with this.`;
  if (run.status === "stopped") return "Sent. The researchers read it when the run goes on.";
  if (isOpen) return `Sent. ${story.branches.length ? "Each researcher at work reads" : "The researchers read"} it before the next call.`;
  return ["No model has read this. ", button("suggest", "Ask it now", { class: "link", value: text })];
}

// The messages of the conversation during research (`during`), and those that are not part of it yet.
export function messageList(exchange, during) {
  const { run, sent } = exchange, isNew = ({ id, text }) => !during.some((part) => (id ? part.id === id : part.text === text));
  const messages = [...during, ...[...run.sent, ...sent.map((text) => ({ id: "", text }))].filter(isNew)];
  return messages.length > 0 && h("ol", { class: "talk", "data-key": "during" }, messages.map((message) =>
    h("li", { class: "user", dir: "auto" }, h("p", {}, folded(message.text, LONG)), h("p", { class: "quiet" }, fate(exchange, message)))));
}

// Whether a message is read by the research at work; a report that is being written or changed is begun anew for it.
export const isBegunAnew = ({ run, story }) => story.isWriting || Boolean(run.is_edit);
export const isHeard = (exchange) => !isBegunAnew(exchange) && !exchange.run.is_finishing;

// Research that has begun can be finished with what it has.
export const finishButton = ({ run, story }) => story.branches.length > 0 && run.depth !== "recalled" && isHeard({ run, story })
  && button("finish", ["Finish", h("span", { class: "roomy" }, " with what you have")], { class: "stop", "aria-label": "Finish with what you have", title: "No new searches; the report is written from what was found" });
