"""One turn of the orchestrator: decides which tasks to research next, or to write the report."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from ..core.dialogue.conversation import Conversation
from ..core.dialogue.transcripts import (
    MOST_GAPS,
    Calls,
    Transcript,
    mark_withheld,
)
from ..core.events.blocks import PlanPackets
from ..core.events.call import CallEvents
from ..core.events.packets import Placement
from ..core.evidence.memory.observations import ResearchMemory
from ..core.evidence.text.sentences import cited_sentences
from ..core.models.ask import Reply, ask_model
from ..core.models.request import Request
from ..core.models.resolve import RoleModels, profile_of
from ..core.records import tool_names
from ..core.records.plan import Observation
from ..core.records.research import Progress, Task
from ..prompts import fenced_knowledge, render_prompt
from ..state import ResearchState, StateUpdate
from ..tools.offer import ToolOffer
from ..tools.tool import tool_schema
from ._budget import Budget
from ._control import THINK_TOOL_SCHEMA
from ._orders import MOST_ANALYSES, Order, decide
from .turn import DECISION_TOKENS, NodeRuntime, Turn, begin_turn

_OF_PLAN = "plan-"
"""Id prefix of tasks that are steps of the plan, not requests of the model."""
_PLAN_USED = (
    "{} requested no research that could be run, even when asked again, so the steps of the plan "
    "were researched; another model may do better (models)."
)


class ResearchAgent(BaseModel):
    """Give one topic to a research agent, which sees nothing but the task. Returns its findings with source numbers."""  # noqa: E501

    task: str = Field(
        description=(
            "One or two descriptive sentences: what to find out and in which direction to look."
        )
    )
    title: str = Field(
        default="", description="The topic in at most six words, for the user who watches."
    )


class AnalyzeFindings(BaseModel):
    """Have the findings so far thought over, without a search: returns conclusions with the numbers of the sources."""  # noqa: E501

    task: str = Field(
        description="What to compare, and by which criteria, or which answer to challenge."
    )


class GenerateReport(BaseModel):
    """Everything has been researched, or no cycles are left: have the report written."""

    missing: list[str] = Field(
        default_factory=list,
        description="What the request asks for and no result answers, the most important first, "
        "each in a phrase that is understood alone; empty if everything is answered.",
    )
    is_disputed: bool = Field(
        default=False,
        description="Whether results contradict each other, or good sources advise differently, "
        "where `contradictions` do not say so.",
    )


RESEARCH_AGENT_SCHEMA = tool_schema(tool_names.RESEARCH_AGENT, ResearchAgent)
ANALYZE_FINDINGS_SCHEMA = tool_schema(tool_names.ANALYZE_FINDINGS, AnalyzeFindings)
GENERATE_REPORT_SCHEMA = tool_schema(tool_names.GENERATE_REPORT, GenerateReport)


async def orchestrate(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Dispatch waiting tasks or ask the orchestrator's model for a decision.

    Stops if a limit is reached, or if the user has ended the research.
    """
    turn = await begin_turn(state, runtime)
    context = turn.context
    heard = turn.hear()
    state = turn.state
    progress = state.progress
    await ToolOffer(context).load()
    reasons = profile_of("orchestrator", context).reasons
    max_cycles = context.limits.max_cycles
    setting = "max_cycles"
    if reasons:
        max_cycles = context.limits.max_cycles_reasoning
        setting = "max_cycles_reasoning"
    steering = _steering(turn)
    limit = turn.limit
    if not limit and not state.draft and progress.cycle >= max_cycles - 1:
        limit = f"the last of {max_cycles} cycles was reached ({setting})"
    if limit:
        memory = _gaps_left(turn)
        progress = progress.model_copy(update={"decision": "report", "waiting": ()})
        return {**turn.costs(stop_reason=limit), "progress": progress, "memory": memory}
    if progress.waiting and not steering:
        sent_out = _send_out(progress.waiting, progress, turn, state.transcript)
        return {**turn.costs(stop_reason=""), **sent_out}
    if (state.draft or _has_enough(state)) and not steering:
        progress = progress.model_copy(update={"decision": "report"})
        memory = {} if state.draft else _gaps_of_run(turn)
        return {**turn.costs(), "progress": progress, "tasks": [], "memory": memory}
    await turn.note_user()
    turn.note_read(heard, "orchestrator", turn.placement)
    events = CallEvents(turn.emitter, turn.placement)
    async with turn.paid(events):
        request = _request(steering, turn, max_cycles, reasons)
        reply = await ask_model(request, context, events)
        update, uses_plan = _carry_out(steering, reply, turn)
    notices = state.run.notices
    plan_used = _PLAN_USED.format(RoleModels(context).subject("orchestrator"))
    if uses_plan and plan_used not in notices:
        notices = (*notices, plan_used)
    # The research goes on: the limit that stopped it earlier may have been raised since.
    costs = turn.costs(stop_reason="", notices=notices)
    withheld = mark_withheld(state.findings, reply.refused)
    update = {**costs, **update, "findings": withheld}
    if heard:
        update["messages"] = heard
    return update


def _steering(turn: Turn) -> list[AnyMessage]:
    """Return the user's messages since the orchestrator's last turn, as text."""
    seen = turn.state.progress.seen_messages
    if not seen:
        return []
    new = [message for message in turn.state.messages[seen:] if isinstance(message, HumanMessage)]
    return Conversation(new).for_models()


def _has_enough(state: ResearchState) -> bool:
    """Return whether the model wanted no further decision after these results, and they are
    whole."""
    has_results = all(finding.ended == "done" for finding in state.own_findings)
    return state.progress.writes_next and has_results


def _gaps_of_run(turn: Turn, missing: Sequence[str] | None = None) -> dict[str, Observation]:
    """Return the observations that leave open, for the whole run, what is `missing` or, if that is
    not known, what its researchers have declared; by key."""
    own = ResearchMemory(turn.state.own_observations)
    if missing is None:
        missing = [gap.text for gap in own.open_gaps()]
    changed = own.leaving_open(missing, turn.state.run, turn.state.progress.cycle)
    return {gap.key: gap for gap in changed}


def _gaps_left(turn: Turn) -> dict[str, Observation]:
    """Return the tasks that were never researched as gaps, by key."""
    state = turn.state
    gaps = dict[str, Observation]()
    if state.draft:
        # Its graded checklist says what is open.
        return gaps
    progress = state.progress
    for rank, (call_id, task) in enumerate(progress.waiting[:MOST_GAPS]):
        gap = Observation.of_gap(task, state.run.id, progress.cycle, call_id, rank)
        gaps[gap.key] = gap
    return gaps


def _request(steering: list[AnyMessage], turn: Turn, max_cycles: int, reasons: bool) -> Request:
    """Return the request for the model's decision; `steering`: the user's new messages."""
    context = turn.context
    limits = context.limits
    state = turn.state
    run = state.run
    progress = state.progress
    assert state.plan is not None
    max_analyses = MOST_ANALYSES if turn.is_capable("orchestrator") else 0
    further = ToolOffer(context).further()
    system = render_prompt(
        "orchestrate",
        "system",
        date=run.date,
        language=run.language,
        plan=state.plan.text,
        reasons=reasons,
        offered=turn.offered,
        own_sources=context.own_sources,
        further=further,
        max_cycles=max_cycles,
        max_analyses=max_analyses,
        parallel=limits.max_parallel_researchers,
        documents=run.scope.documents,
        has_read_all=run.scope.reads_all,
        has_no_search=_is_read_in_one_round(turn),
    )
    transcript = Transcript(state.transcript, state.findings)
    reminder = render_prompt(
        "orchestrate",
        "reminder",
        cycle=progress.cycle,
        max_cycles=max_cycles,
        parallel=limits.max_parallel_researchers,
        first_results=transcript.rounds == 1,
        nudges=progress.nudges,
        knowledge=_knowledge(turn),
    )
    opening = progress.opening or len(state.messages)
    messages = [
        SystemMessage(system),
        *Conversation(state.messages[:opening]).latest_for_models(),
        *transcript.earlier(),
        *transcript.filled(),
        *steering,
        HumanMessage(reminder),
    ]
    tools = [RESEARCH_AGENT_SCHEMA]
    if max_analyses:
        tools.append(ANALYZE_FINDINGS_SCHEMA)
    tools.append(GENERATE_REPORT_SCHEMA)
    if not reasons:
        tools.append(THINK_TOOL_SCHEMA)
    return turn.request(
        "orchestrator",
        messages,
        shorten=cited_sentences,
        tools=tools,
        max_tokens=DECISION_TOKENS,
    )


def _is_read_in_one_round(turn: Turn) -> bool:
    """Return whether a researcher reads everything there is at once, so that no later one finds
    more."""
    return turn.state.run.scope.needs_no_search and not ToolOffer(turn.context).further()


def _knowledge(turn: Turn) -> str:
    """Return what is still open, and which claims contradict each other, as fenced JSON."""
    state = turn.state
    own = state.own_observations
    memory = ResearchMemory(own)
    earlier_gaps = list[str]()
    for gap in ResearchMemory(state.memory.values()).open_gaps():
        if gap not in own:
            earlier_gaps.append(gap.text)
    pairs = list[list[str]]()
    for pair in memory.contradictions()[: turn.context.limits.max_elements]:
        pairs.append(list(pair.claims))
    return fenced_knowledge(
        gaps=[gap.text for gap in memory.open_gaps()],
        earlier_gaps=earlier_gaps,
        contradictions=pairs,
    )


def _carry_out(steering: list[AnyMessage], reply: Reply, turn: Turn) -> tuple[StateUpdate, bool]:
    """Return the update that follows from the model's calls, and whether the plan's steps take
    their place.

    `steering`: the user's new messages.
    """
    events = turn.events
    state = turn.state
    progress = state.progress
    tools = {tool_names.RESEARCH_AGENT, tool_names.GENERATE_REPORT, tool_names.THINK_TOOL}
    if turn.is_capable("orchestrator"):
        tools.add(tool_names.ANALYZE_FINDINGS)
    calls = Calls.read(reply.message, tools, state.transcript, taken=state.findings)
    has_findings = any(finding.ended != "failed" for finding in state.findings.values())
    has_assigned = not all(call_id.startswith(_OF_PLAN) for call_id in state.findings)
    has_read = any(finding.ended == "done" for finding in state.own_findings)
    order = decide(
        calls,
        progress,
        has_findings=has_findings,
        has_assigned=has_assigned,
        may_write_next=_is_read_in_one_round(turn) and not has_read,
    )
    transcript = calls.answered(order.answers)
    if order.uses_plan:
        requested, order = _from_plan(order, turn)
        transcript += requested
    progress = order.progress.model_copy(
        update={
            "opening": progress.opening or len(state.messages),
            "seen_messages": len(state.messages),
            "decision": order.decision,
            "thought": events.thoughts or progress.thought,
            "turn": events.placement.turn_index,
            "waiting": (),
            "is_disputed": order.is_disputed,
            "writes_next": order.writes_next,
        }
    )
    logging.getLogger(__name__).info(
        "%s decides in cycle %d: %s, %d tasks, reminded of %s",
        state.run.id,
        progress.cycle,
        order.decision,
        len(order.tasks),
        ", ".join(order.progress.nudges) or "nothing",
    )
    update = StateUpdate(progress=progress, transcript=[steering, transcript], tasks=[])
    if order.decision == "research":
        update |= _send_out(order.tasks, progress, turn, transcript)
    if order.decision == "analyze":
        analyses = (*progress.analyses, *order.tasks)
        update["progress"] = progress.model_copy(update={"analyses": analyses})
    if order.decision == "report" and order.missing is not None:
        update["memory"] = _gaps_of_run(turn, order.missing)
    return update, order.uses_plan


def _send_out(
    tasks: Sequence[tuple[str, str]],
    progress: Progress,
    turn: Turn,
    transcript: Sequence[AnyMessage],
) -> StateUpdate:
    """Return the tasks of the next round with their shares of the budget.

    The progress has those that must wait. `tasks` are pairs (call id, text); `transcript` contains
    the calls, from which the titles are taken.
    """
    state = turn.state
    limits = turn.context.limits
    now = Budget(limits, state.spending).dispatched_now(tasks)
    waiting = tuple(tasks[len(now) :])
    if len(now) > 1:
        placement = Placement(turn_index=progress.turn)
        turn.emit(PlanPackets(placement).branching(len(now)))
    common = Budget(limits, state.spending).shared_task_fields(state.run, len(tasks))
    titles = Transcript(transcript, state.findings).titles(tasks)
    researched = list[Task]()
    for position, (call_id, text) in enumerate(now):
        task = Task(
            id=call_id,
            text=text,
            title=titles[call_id],
            cycle=progress.cycle,
            position=position,
            turn=progress.turn,
            thought=progress.thought,
            **common,
        )
        researched.append(task)
    advance = {
        "cycle": progress.cycle + 1,
        "turn": progress.turn + 1,
        "waiting": waiting,
        "thought": progress.thought if waiting else "",
    }
    return {"tasks": researched, "progress": progress.model_copy(update=advance)}


def _from_plan(order: Order, turn: Turn) -> tuple[list[AnyMessage], Order]:
    """Make tasks of plan steps that were not researched yet, as if the model had called for them.

    Returns the calls, with pending results. If there are none, the report is written.
    """
    state = turn.state
    assert state.plan is not None
    asked = {finding.task for finding in state.own_findings}
    left = [step for step in state.plan.steps if step not in asked]
    steps = Budget(turn.context.limits, state.spending).dispatched_now(left)
    if not steps:
        return [], order._replace(decision="report")
    prefix = f"{_OF_PLAN}{state.run.id[:8]}-{state.progress.cycle}"
    tasks = [(f"{prefix}-{number}", step) for number, step in enumerate(steps)]
    return Transcript.pending(tasks), order._replace(tasks=tuple(tasks))
