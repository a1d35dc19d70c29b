// The state of one question, folded from its packets: plan, researchers, and the report as it is written.

const SHORT = 6;
// Packets with which the run begins to do something else.
const BEGINS = new Set(["activity", "deep_research_plan_start", "message_start", "research_agent_start", "step_started"]);

export const begin = () => ({
  plan: "", isPlanning: false, thoughts: [], branches: [], byKey: new Map(), rows: new Map(), looking: [], activity: "", draft: "", drafts: 0,
  isWriting: false, documents: new Map(), changed: [], heard: [], asked: 0, last: 0, worked: 0, since: 0,
});

// The name of an address for a reader: that of the file, or the host of the page.
export function nameOf(address) {
  const web = /^https?:\/\/(?:www\.)?([^/]+)/.exec(address);
  if (web) return web[1];
  const name = address.replace(/#.*$/, "").split("/").pop() || address;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

const isFile = (address) => !/^https?:/.test(address);
const short = (text) => {
  const words = text.trim().split(/\s+/);
  return words.length > SHORT ? `${words.slice(0, SHORT).join(" ").replace(/[,;:.]$/, "")}…` : words.join(" ");
};

function branchOf(key, turn, task, title, began) {
  const names = { searches: [], pages: new Map(), files: new Map() };
  return { key, turn, task, isLate: false, title: short(title || task), now: "Starting", past: [], ...names, finding: "", errors: [], learned: [], state: "at work", began, since: began, ended: began };
}

// Adds documents to the sources of the story and of a researcher; opened ones are marked as read.
function note(branch, story, documents, isOpened) {
  for (const found of documents) {
    const known = story.documents.get(found.document_id) ?? { title: found.title || nameOf(found.link), link: found.link, date: found.date, isRead: false };
    known.isRead ||= isOpened;
    story.documents.set(found.document_id, known);
    const isDocument = isFile(found.link || found.document_id);
    (isDocument ? branch.files : branch.pages).set(found.document_id, isDocument ? nameOf(found.link || found.document_id) : known.title);
  }
}

// The title of a document, if a search has brought it.
const titleOf = ({ documents }, address) => [...documents].find(([id, { link }]) => address === id || address === link)?.[1].title ?? nameOf(address);

const listed = (names) => names.slice(0, 2).join(", ") + (names.length > 2 ? ` and ${names.length - 2} more` : "");

// What a researcher is doing now; earlier searches and readings stay in its history.
function does(branch, words) {
  if (/^(Searching .* for|Reading) /.test(branch.now)) branch.past.push(branch.now);
  Object.assign(branch, { now: words, since: branch.ended });
}

function addTo(branch, story, packet) {
  branch.ended = story.worked;
  switch (packet.type) {
    case "reasoning_start": does(branch, "Thinking"); break;
    case "search_tool_start": branch.where = packet.is_internet_search ? "the web" : "your documents"; does(branch, `Searching ${branch.where}`); break;
    case "search_tool_queries_delta": branch.searches.push(...packet.queries); does(branch, `Searching ${branch.where} for ${listed(packet.queries)}`); break;
    case "open_url_start": does(branch, "Opening sources"); break;
    case "open_url_urls": if (packet.urls.length) does(branch, `Reading ${listed([...new Set(packet.urls.map((address) => titleOf(story, address)))])}`); break;
    case "search_tool_documents_delta": note(branch, story, packet.documents, false); does(branch, packet.documents.length ? "Looking at what was found" : "Nothing found; trying other words"); break;
    case "open_url_documents": note(branch, story, packet.documents, true); does(branch, "Thinking about what was read"); break;
    case "intermediate_report_start": branch.finding = ""; does(branch, "Writing down what was found"); break;
    case "intermediate_report_delta": branch.finding += packet.content; break;
    case "intermediate_report_cited_docs": if (branch.state !== "failed") branch.state = "done"; break;
    case "step_learnings": branch.learned.push(...packet.learnings.map((learning) => learning.text)); does(branch, "Evaluating what was learned"); break;
    case "step_done": Object.assign(branch, { state: packet.status === "completed" ? "done" : packet.status, errors: packet.reason ? [packet.reason] : [] }); break;
    case "research_agent_title": if (packet.title.length > 2) branch.title = short(packet.title); break;
    case "error": branch.errors.push(packet.message); if (packet.is_final) branch.state = "failed"; break;
  }
}

// A row of a table as it stands now; cells that were filled before stay.
function noteRow({ rows }, { row_id: id, name, standing, cells }) {
  const known = rows.get(id)?.cells ?? new Map();
  for (const cell of cells) known.set(cell.column, cell.text || (cell.state === "found" ? "" : cell.state));
  rows.set(id, { name, standing, cells: known });
}

// The texts of the blocks that a new version of the report has changed; offsets count code points.
function blocksOf({ content, changed = [] }) {
  const characters = [...content];
  return changed.map(({ start, end }) => characters.slice(start, end).join(""));
}

export function add(story, packet) {
  story.asked ||= packet.at;
  // The time of work, without pauses; logs of earlier versions have only the time of day.
  Object.assign(story, { last: packet.at, worked: packet.worked ?? packet.at - story.asked });
  if (BEGINS.has(packet.type) && !packet.is_progress) story.since = story.worked;
  const { turn_index: turn, tab_index: tab, sub_turn_index: step } = packet.placement;
  const key = `${turn}.${tab}`;
  const begins = { research_agent_start: [packet.research_task, ""], step_started: [packet.task, packet.title] }[packet.type];
  if (begins) {
    story.byKey.set(key, { ...branchOf(key, turn, ...begins, story.worked), isLate: story.draft !== "" });
    return Object.assign(story, { branches: [...story.byKey.values()], activity: "" });
  }
  if (packet.type === "message_read") return story.heard.push({ id: packet.message_id, reader: packet.reader, key });
  if (packet.type === "table_row") return noteRow(story, packet);
  const branch = story.byKey.get(key);
  if (branch) return addTo(branch, story, packet);
  switch (packet.type) {
    case "deep_research_plan_start": Object.assign(story, { plan: "", isPlanning: true, activity: "" }); break;
    case "deep_research_plan_delta": story.plan += packet.content; break;
    case "section_end": story.isPlanning = false; break;
    case "reasoning_start": if (step === null) story.thoughts.push(""); break;
    case "reasoning_delta": if (story.thoughts.length) story.thoughts[story.thoughts.length - 1] += packet.reasoning; break;
    case "search_tool_queries_delta": story.looking.push(...packet.queries); break;
    case "open_url_urls": story.looking.push(...packet.urls.map(nameOf)); break;
    case "search_tool_documents_delta":
    case "open_url_documents": note({ files: new Map(), pages: new Map() }, story, packet.documents, packet.type === "open_url_documents"); break;
    case "activity": story.activity = packet.text; break;
    case "message_start": Object.assign(story, { isWriting: packet.final_documents !== null, draft: "", drafts: story.drafts + 1, activity: "" }); break;
    case "citation_info": if (story.documents.has(packet.document_id)) Object.assign(story.documents.get(packet.document_id), { number: packet.citation_number, isRead: true }); break;
    case "message_delta": if (story.isWriting) story.draft += packet.content; break;
    case "report_revised": Object.assign(story, { draft: packet.content, drafts: story.drafts + 1, isWriting: true, changed: [...story.changed, ...blocksOf(packet)] }); break;
  }
}

export function read(packets) {
  const story = begin();
  for (const packet of packets) add(story, packet);
  return story;
}
