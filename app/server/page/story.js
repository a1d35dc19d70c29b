// What the packets of one question tell: plan, researchers side by side, and the report as it is written.

const empty = () => ({
  plan: "", thoughts: [], branches: [], looking: [], activity: "", draft: "", isWriting: false, asked: "", notes: [],
  main: "", contradictions: [], stop: null,
});

export function read(packets) {
  const story = empty();
  const branches = new Map();
  for (const packet of packets) {
    const { turn_index: turn, tab_index: tab, sub_turn_index: step } = packet.placement;
    const key = `${turn}.${tab}`;
    const branch = branches.get(key);
    // A search before the plan belongs to no researcher.
    const place = branch ?? story;
    const list = branch ? branch.actions : story.looking;
    const action = () => list.find((one) => one.key === `${key}.${step}`) ?? list[list.push({ key: `${key}.${step}`, asked: [], found: null, thought: "" }) - 1];
    switch (packet.type) {
      case "deep_research_plan_start": story.plan = ""; break;
      case "deep_research_plan_delta": story.plan += packet.content; break;
      case "reasoning_start": if (step === null && !branch) story.thoughts.push(""); break;
      case "reasoning_delta":
        if (branch) action().thought += packet.reasoning;
        else story.thoughts[story.thoughts.length - 1] += packet.reasoning;
        break;
      case "research_agent_start":
        branches.set(key, { key, turn, title: packet.research_task, actions: [], finding: "", cited: [], errors: [], learned: [], state: "at work" });
        break;
      case "step_started":
        branches.set(key, { key, turn, title: packet.title, actions: [], finding: "", cited: [], errors: [], learned: [], state: "at work" });
        break;
      case "search_tool_start": Object.assign(action(), { kind: packet.is_internet_search ? "the web" : "documents" }); break;
      case "open_url_start": Object.assign(action(), { kind: "reading" }); break;
      case "search_tool_queries_delta": action().asked = packet.queries; break;
      case "open_url_urls": action().asked = packet.urls; break;
      case "search_tool_documents_delta":
      case "open_url_documents": action().found = packet.documents; break;
      case "intermediate_report_start": if (branch) Object.assign(branch, { finding: "", state: "writing" }); break;
      case "intermediate_report_delta": if (branch) branch.finding += packet.content; break;
      case "intermediate_report_cited_docs": if (branch) Object.assign(branch, { cited: packet.cited_docs, state: "done" }); break;
      case "step_learnings": if (branch) branch.learned.push(...packet.learnings.map((one) => one.text)); break;
      case "step_done": if (branch) Object.assign(branch, { state: packet.status === "completed" ? "done" : packet.status, errors: packet.reason ? [packet.reason] : [] }); break;
      case "error": place === story ? story.notes.push(packet.message) : branch.errors.push(packet.message); break;
      case "activity": story.activity = packet.text; break;
      case "report_framing": story.main = packet.main_message; break;
      case "contradictions_found": story.contradictions = packet.contradictions; break;
      case "message_start":
        story.isWriting = packet.final_documents !== null;
        story.draft = "";
        break;
      case "message_delta": if (story.isWriting) story.draft += packet.content; break;
      case "report_revised": story.draft = packet.content; break;
      case "notes_added": story.notes = packet.notes; break;
      case "stop": story.stop = packet; break;
    }
  }
  story.branches = [...branches.values()];
  return story;
}
