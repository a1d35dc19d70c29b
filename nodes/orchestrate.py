"""One turn of the orchestrator: what is researched next, or that the report is due."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.tool import tool_call
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..core.evidence.memory.learned import own_observations
from ..core.evidence.memory.observations import contradictions, declare_missing, open_gaps
from ..core.evidence.text.sentences import cited_sentences
from ..core.models.ask import Reply, ask_model
from ..core.models.request import Request
from ..core.models.resolve import profile_of, settings_of
from ..core.records.plan import Observation
from ..core.records.research import Finding, Progress, Run, Spent, Task
from ..core.run import tool_names
from ..core.run.context import Context, within_scope
from ..core.run.conversation import clean, latest_messages
from ..core.run.decisions import PENDING, Order, decide
from ..core.run.events.call import CallEvents
from ..core.run.events.log import emitter
from ..core.run.events.packets import Placement, TopLevelBranching
from ..core.run.limits import Limits
from ..core.run.spending import allowance, limit_reached, limits_of_round, recorded, unsettled_costs
from ..core.run.store.pages import pages_of
from ..core.run.transcripts import call_ids, earlier_findings, mark_withheld, read_calls, results_for, with_findings
from ..core.writing.facts import facts_of_run
from ..prompts import fenced_knowledge, render
from ..state import ResearchState
from ..tools.addresses import Addresses, addresses_in
from ..tools.control import GENERATE_REPORT, RESEARCH_AGENT, THINK_TOOL
from ..tools.offer import offered_tools
from ..tools.passed import load_servers, passed_tools
from ..tools.shown import note_user

OF_PLAN = "plan-"
"""What the ids of tasks begin with that are the plan's own steps."""


class OrchestrateUpdate(TypedDict, total=False):
    """What `orchestrate` writes."""

    run: Run
    progress: Progress
    transcript: list[list[AnyMessage]]
    tasks: list[Task]
    findings: dict[str, Finding]
    memory: dict[str, Observation]
    spending: dict[str, Spent]


async def orchestrate(state: ResearchState, runtime: Runtime[Context]) -> OrchestrateUpdate:
    """Ask the orchestrator for its next decision, unless a limit has made it already."""
    context, run, progress = settings_of(runtime), state.run, state.progress
    assert run is not None
    await load_servers(context)
    pages = pages_of(runtime.store, run.id)
    lost = await unsettled_costs(pages, run.id)
    new = lost.new(state.spending)
    run, state = lost.settled(run), replace(state, spending={**state.spending, **new})
    reasons = profile_of("orchestrator", context).reasons
    max_cycles = context.limits.max_cycles_reasoning if reasons else context.limits.max_cycles
    limit = limit_reached(context.limits, state.spending, run.active_seconds)
    if not limit and progress.cycle >= max_cycles - 1:
        limit = f"the last of {max_cycles} cycles was reached ({'max_cycles_reasoning' if reasons else 'max_cycles'})"
    if limit:
        run = run.model_copy(update={"stop_reason": limit})
        return {"run": run, "progress": progress.model_copy(update={"decision": "report"}), "spending": new}
    steering = _steering(state)
    named = [address for message in steering for address in addresses_in(clean(message.text))]
    await Addresses(pages, run.id).allow(named)
    await note_user(pages, state.messages, run)
    events = CallEvents(emitter(run.id), Placement(turn_index=progress.turn))
    async with recorded(pages, run.id, events.bill):
        reply = await ask_model(_request(state, steering, context, max_cycles, reasons), context, events)
        update = _carry_out(state, reply, context, events)
    # A limit that ended the research may have been raised since.
    run = run.model_copy(update={"active_seconds": run.active_seconds + events.bill.seconds, "stop_reason": ""})
    update["transcript"] = [steering, *update["transcript"]]
    update["findings"] = mark_withheld(state.findings, reply.refused)
    spending = {**new, **events.bill.costs}
    return {**update, "run": run, "spending": spending}


def _steering(state: ResearchState) -> list[AnyMessage]:
    """Return the user's messages since the orchestrator's last turn."""
    seen = state.progress.seen_messages
    return [message for message in state.messages[seen:] if isinstance(message, HumanMessage)] if seen else []


def _request(
    state: ResearchState, steering: list[AnyMessage], context: Context, max_cycles: int, reasons: bool
) -> Request:
    run, progress, limits = state.run, state.progress, context.limits
    assert run is not None and state.plan is not None
    system = render(
        "orchestrate",
        "system",
        date=run.date,
        language=run.language,
        plan=state.plan.text,
        reasons=reasons,
        offered=list(offered_tools(within_scope(context, run.scope))),
        further=list(passed_tools(context)),
        max_cycles=max_cycles,
        parallel=limits.max_parallel_researchers,
        documents=run.scope.documents,
        has_read_all=run.scope.reads_all,
    )
    reminder = render(
        "orchestrate",
        "reminder",
        cycle=progress.cycle,
        max_cycles=max_cycles,
        first_results=progress.cycle == 1,
        nudges=progress.nudges,
        knowledge=_noticed(state, limits),
    )
    messages = [
        SystemMessage(system),
        *latest_messages(state.messages[: progress.opening or len(state.messages)], limits.context_messages),
        *earlier_findings(state.findings, run.id),
        *with_findings(state.transcript, state.findings),
        *steering,
        HumanMessage(reminder),
    ]
    tools = [RESEARCH_AGENT, GENERATE_REPORT] if reasons else [RESEARCH_AGENT, GENERATE_REPORT, THINK_TOOL]
    facts = facts_of_run(state, context, "orchestrator")
    return Request(
        "orchestrator", run.id, messages, cited_sentences, tools, max_tokens=limits.decision_tokens, facts=facts
    )


def _noticed(state: ResearchState, limits: Limits) -> str:
    """Return the open gaps and contradictions that code has noticed."""
    own = own_observations(state)
    pairs = [[pair.text, pair.other] for pair in contradictions(own)]
    gaps = [gap.text for gap in open_gaps(own)]
    earlier = [gap.text for gap in open_gaps(state.memory.values()) if gap not in own]
    return fenced_knowledge(gaps=gaps, earlier_gaps=earlier, contradictions=pairs[: limits.max_elements])


def _carry_out(state: ResearchState, reply: Reply, context: Context, events: CallEvents) -> OrchestrateUpdate:
    progress = state.progress
    tools = {tool_names.RESEARCH_AGENT, tool_names.GENERATE_REPORT, tool_names.THINK_TOOL}
    calls = read_calls(reply.message, tools, call_ids(state.transcript) | set(state.findings))
    has_findings = any(finding.ended != "failed" for finding in state.findings.values())
    limits = limits_of_round(context.limits, state.spending)
    order = decide(
        calls, progress, limits, has_findings=has_findings, has_handed_out=not all(map(_is_of_plan, state.findings))
    )
    transcript = _entries(calls.message, order)
    if order.uses_plan:
        message, order = _from_plan(state, order, context)
        transcript += _entries(message, order)
    progress = order.progress.model_copy(
        update={
            "opening": progress.opening or len(state.messages),
            "seen_messages": len(state.messages),
            "decision": order.decision,
            "thought": events.thoughts or progress.thought,
            "turn": events.placement.turn_index,
        }
    )
    tasks: list[Task] = []
    if order.decision == "research":
        tasks = _tasks(state, order, progress, context)
        if len(tasks) > 1:
            events.emit(TopLevelBranching(placement=events.placement, num_parallel_branches=len(tasks)))
        advance = {"cycle": progress.cycle + 1, "turn": progress.turn + 1, "thought": ""}
        progress = progress.model_copy(update=advance)
    update = OrchestrateUpdate(progress=progress, transcript=[transcript], tasks=tasks)
    if order.decision == "report" and order.missing is not None:
        assert state.run is not None
        own, question = own_observations(state), state.run.question
        gaps = declare_missing(order.missing, own, state.run.id, progress.cycle, about=question)
        update["memory"] = {gap.key: gap for gap in gaps}
    return update


def _entries(message: AIMessage, order: Order) -> list[AnyMessage]:
    """Return the message with the results of its calls; nothing for a message without calls."""
    return [message, *results_for(message, order.answers)] if message.tool_calls else []


def _from_plan(state: ResearchState, order: Order, context: Context) -> tuple[AIMessage, Order]:
    """Turn the plan's next steps into tasks, as if the model had called for them."""
    assert state.plan is not None and state.run is not None
    asked = {finding.task for finding in state.findings.values() if finding.question_id == state.run.id}
    most = limits_of_round(context.limits, state.spending).max_parallel_researchers
    steps = [step for step in state.plan.steps if step not in asked][:most]
    if not steps:
        return AIMessage(""), order._replace(decision="report")
    prefix = f"{OF_PLAN}{state.run.id[:8]}-{state.progress.cycle}"
    tasks = tuple((f"{prefix}-{n}", step) for n, step in enumerate(steps))
    calls = [tool_call(name=tool_names.RESEARCH_AGENT, args={"task": step}, id=call_id) for call_id, step in tasks]
    answers = {call_id: PENDING for call_id, _ in tasks}
    return AIMessage("", tool_calls=calls), order._replace(answers=answers, tasks=tasks)


def _is_of_plan(task: str) -> bool:
    return task.startswith(OF_PLAN)


def _tasks(state: ResearchState, order: Order, progress: Progress, context: Context) -> list[Task]:
    run = state.run
    assert run is not None
    share = allowance(context.limits, state.spending, len(order.tasks))
    return [
        Task(
            id=call_id,
            question_id=run.id,
            text=text,
            cycle=progress.cycle,
            position=position,
            turn=progress.turn,
            date=run.date,
            language=run.language,
            scope=run.scope,
            thought=progress.thought,
            **share._asdict(),
        )
        for position, (call_id, text) in enumerate(order.tasks)
    ]
