"""Turns a stored run back into the packets that its client saw."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..evidence.citations.stream import CitationStream, cited_numbers
from ..records.plan import Iteration, PlanStep, StepOutcome
from ..records.report import Draft, Report
from ..records.research import Action, Finding, Plan, Run, Task
from ..run.conversation import mark_of
from ..run.errors import UnknownThread
from ..run.events import packets
from ..run.events.activities import ActivityKind, activity
from ..run.events.emit import place_key, researcher_failed, stop_told
from ..run.events.packets import (
    AnyPacket,
    Placement,
    PlanDelta,
    PlanStart,
    SectionEnd,
    Summary,
    TopLevelBranching,
    document,
)
from ..run.events.steps import iteration_told, step_done, step_failed, step_started
from ..state import ResearchState
from ..tools import shown
from ..writing.basis import disagreement, disagreement_told, framing_told
from ..writing.named_pages import NAMED_PAGES
from ..writing.teller import check_begun, check_place, draft_begun, draft_place, piece_told, report_told
from .embed import ResearchGraph, thread_config

UNFINISHED = "The run was stopped before its end."

Packets = Iterator[AnyPacket]


def replay_thread(graph: ResearchGraph, thread: str) -> Generator[AnyPacket, None, None]:
    """The packets of a thread's latest question, from the graph's checkpointer; raises `UnknownThread`."""
    yield from replay(_state(graph.get_state(thread_config(thread)).values, thread))


async def areplay_thread(graph: ResearchGraph, thread: str) -> AsyncGenerator[AnyPacket, None]:
    """As `replay_thread`, for callers inside an event loop."""
    snapshot = await graph.aget_state(thread_config(thread))
    for packet in replay(_state(snapshot.values, thread)):
        yield packet


def replay(state: ResearchState) -> Packets:
    """The packets of the latest question: the same as live, in the same places, each text whole.

    What calls cost and how long a client waited is not told again. Of a run that has not ended, what its finished
    steps brought is told.
    """
    turn = 0
    for packet in _told(state, state.run) if state.run else ():
        if packet.placement.sub_turn_index is None:
            turn = packet.placement.turn_index
        yield packet
    yield _stop(state, turn)


def _state(values: Mapping[str, Any], thread: str) -> ResearchState:
    if not values:
        raise UnknownThread(f"There is no run {thread!r}.")
    return ResearchState(**values)


def _told(state: ResearchState, run: Run) -> Packets:
    is_planned = bool(state.progress.activities)
    if is_planned:
        yield from turns_told(state, run, range(1))
    place = Placement(turn_index=int(is_planned))
    if question := _question_back(state):
        if is_planned:
            yield activity("clarify", run.question, place)
        yield packets.MessageStart(placement=place)
        yield packets.MessageDelta(placement=place, content=question)
    if is_planned:
        yield from turns_told(state, run, range(1, state.progress.turn))
        yield from _report(state, run)
        return
    if state.plan is None:
        return
    if (yield from _thought(state, run, place)):
        place = Placement(turn_index=1)
    yield from _plan(state.plan, place)
    cycle = 0
    for turn in range(place.turn_index + 1, state.progress.turn):
        place = Placement(turn_index=turn)
        # A thought takes a turn of its own; every other turn is a round of research.
        if not (yield from _thought(state, run, place)):
            yield from _round(state, run, cycle, place)
            cycle += 1
    yield from _report(state, run)


def _question_back(state: ResearchState) -> str:
    """What was asked back about the latest question; empty if nothing was."""
    messages = state.messages[: -1 if state.report else None]
    for message in reversed(messages):
        mark = mark_of(message)
        if mark in ("clarification", "report"):
            return message.text if mark == "clarification" else ""
    return ""


def _thought(state: ResearchState, run: Run, place: Placement) -> Generator[AnyPacket, None, bool]:
    """The thought that has this place; returns whether there is one."""
    thought = state.thoughts.get(place_key(run.id, place))
    if not thought:
        return False
    yield packets.ReasoningStart(placement=place)
    yield packets.ReasoningDelta(placement=place, reasoning=thought)
    yield packets.ReasoningDone(placement=place)
    return True


def _plan(plan: Plan, place: Placement) -> Packets:
    yield packets.PlanStart(placement=place)
    yield packets.PlanDelta(placement=place, content=plan.text)
    if plan.remark:
        yield packets.PlanDelta(placement=place, content=f"\n\n({plan.remark})")
    yield packets.SectionEnd(placement=place)


def _round(state: ResearchState, run: Run, cycle: int, place: Placement) -> Packets:
    findings = [finding for finding in state.findings.values() if finding.question_id == run.id]
    calls: list[Finding | Task] = [finding for finding in findings if finding.cycle == cycle]
    calls += [task for task in state.tasks if task.cycle == cycle and task.id not in state.findings]
    if len(calls) > 1:
        yield packets.TopLevelBranching(placement=place, num_parallel_branches=len(calls))
    for call in sorted(calls, key=lambda call: call.position):
        own = place.model_copy(update={"tab_index": call.position})
        if isinstance(call, Task):
            yield packets.ResearchAgentStart(placement=own, research_task=call.text)
        else:
            yield from _researcher(state, run, call, own)


def _researcher(state: ResearchState, run: Run, finding: Finding, place: Placement) -> Packets:
    yield packets.ResearchAgentStart(placement=place, research_task=finding.task)
    actions = list(finding.actions)
    prefix = f"{place_key(run.id, place)}."
    thoughts = sum(key.startswith(prefix) for key, thought in state.thoughts.items() if thought)
    # A thought takes a step of its own, every other step is a tool call.
    for number in range(len(actions) + thoughts):
        step = place.model_copy(update={"sub_turn_index": number})
        if not (yield from _thought(state, run, step)) and actions:
            yield from action_told(state, run, actions.pop(0), step)
    for failure in finding.failures:
        yield researcher_failed(place, failure)
    if finding.text:
        yield from _finding(state, finding, place)
    yield packets.SectionEnd(placement=place)


def _finding(state: ResearchState, finding: Finding, place: Placement) -> Packets:
    local = dict(enumerate(finding.sources, 1))
    cited = [state.sources[local[number]] for number in cited_numbers(finding.text, local)]
    yield packets.FindingStart(placement=place)
    yield packets.FindingDelta(placement=place, content=finding.text)
    yield packets.FindingCitedDocuments(placement=place, cited_docs=[document(source) for source in cited])


def _report(state: ResearchState, run: Run) -> Packets:
    draft = state.draft or (_as_draft(state.report) if state.report else None)
    if draft is None:
        return
    yield from _thought(state, run, Placement(turn_index=state.progress.turn))
    place = draft_place(state)
    yield draft_begun(state.sources.values(), place, draft.seconds_before)
    stream = CitationStream(dict(enumerate(draft.streamed_sources, 1)))
    for piece in [*stream.feed(draft.streamed), *stream.finish()]:
        yield from piece_told(piece, place)
    if state.report:
        yield from _check(replace(state, draft=draft), state.report)


def _as_draft(report: Report) -> Draft:
    """The report of a run that is older than drafts."""
    text, sources = report.text, report.sources
    return Draft(
        text=text,
        sources=sources,
        streamed=text,
        streamed_sources=sources,
        seconds_before=0.0,
        removed_markers=0,
        has_gaps=False,
    )


def _check(state: ResearchState, report: Report) -> Packets:
    if report.audit:
        yield check_begun(state)
        for failure in report.audit.failures:
            yield step_failed(check_place(state), failure)
    yield from report_told(state)


def _stop(state: ResearchState, turn: int) -> packets.OverallStop:
    run = state.run
    if run and run.status != "running":
        return stop_told(run, turn)
    return packets.OverallStop(
        placement=Placement(turn_index=turn),
        stop_reason="failed",
        message=UNFINISHED,
        is_resumable=True,
        elapsed_seconds=run.active_seconds if run else 0.0,
    )


def action_told(state: ResearchState, run: Run, action: Action, place: Placement) -> Packets:
    """One use of a tool."""
    yield from shown.asked(place, action.tool, action.inputs, run.scope)
    yield shown.brought(place, action.tool, [state.sources[key] for key in action.found])
    yield SectionEnd(placement=place)


def turns_told(state: ResearchState, run: Run, turns: Iterable[int]) -> Packets:
    """What came in these turns before the report."""
    activities = dict(state.progress.activities)
    for turn in turns:
        place = Placement(turn_index=turn)
        if kind := activities.get(turn):
            yield from _activity(state, run, kind, place)  # type: ignore[arg-type]  # only kinds are written
        else:
            yield from _steps_round(state, run, place)


def _activity(state: ResearchState, run: Run, kind: ActivityKind, place: Placement) -> Packets:
    yield activity(kind, run.question, place)
    for turn, failure in state.progress.failures:
        if turn == place.turn_index:
            yield step_failed(place, failure)
    if kind == "understand":
        for tab, action in enumerate(state.brief.actions, 1):
            yield from action_told(state, run, action, place.model_copy(update={"tab_index": tab}))
    if kind == "summarize":
        yield from _named_pages(state, run, place.model_copy(update={"tab_index": 1}))
        yield Summary(placement=place, summary=state.brief.summary)
    elif kind == "plan" and state.plan:
        yield PlanStart(placement=place)
        yield PlanDelta(placement=place, content=state.plan.text)
        yield SectionEnd(placement=place)
    elif kind == "cross_check":
        yield from disagreement_told(disagreement(state), place)
    elif kind == "frame":
        yield from framing_told(state, place)


def _named_pages(state: ResearchState, run: Run, place: Placement) -> Packets:
    finding = state.findings.get(f"{run.id[:8]}-{NAMED_PAGES}")
    for action in finding.actions if finding else ():
        yield from action_told(state, run, action, place)


def _steps_round(state: ResearchState, run: Run, place: Placement) -> Packets:
    steps = [step for step in state.steps if step.turn == place.turn_index and step.status != "pending"]
    begun = [step for step in steps if step.turn]
    if len(begun) > 1:
        yield TopLevelBranching(placement=place, num_parallel_branches=len(begun))
    for step in begun:
        yield from _step(state, run, step, place.model_copy(update={"tab_index": step.position}))


def _step(state: ResearchState, run: Run, step: PlanStep, place: Placement) -> Packets:
    yield step_started(step, place)
    finding = state.findings.get(f"{run.id[:8]}-{step.id}")
    outcome = state.outcomes.get(step.id) or StepOutcome(step=step.id)
    actions = list(finding.actions) if finding else []
    for iteration in outcome.iterations:
        count = max(0, iteration.turn - iteration.began - 1)
        yield from _iteration(state, run, step, iteration, actions[:count], place)
        actions = actions[count:]
    began = outcome.iterations[-1].turn + 1 if outcome.iterations else 0
    if began < outcome.turns:
        # What it had begun when it was ended.
        yield from _unfinished(state, run, step, actions, place.model_copy(update={"sub_turn_index": began}))
    for failure in finding.failures if finding else ():
        yield step_failed(place, failure)
    if step.is_over:
        yield step_done(step, place)
        yield SectionEnd(placement=place)


def _iteration(
    state: ResearchState, run: Run, step: PlanStep, iteration: Iteration, actions: list[Action], place: Placement
) -> Packets:
    first = place.model_copy(update={"sub_turn_index": iteration.began})
    yield activity("search" if step.requires_search else "analyze", run.question, first, step.title)
    for turn, action in enumerate(actions, iteration.began + 1):
        yield from action_told(state, run, action, place.model_copy(update={"sub_turn_index": turn}))
    last = place.model_copy(update={"sub_turn_index": iteration.turn})
    yield from iteration_told(step.id, iteration, state.learnings, last)


def _unfinished(state: ResearchState, run: Run, step: PlanStep, actions: list[Action], place: Placement) -> Packets:
    yield activity("search" if step.requires_search else "analyze", run.question, place, step.title)
    for turn, action in enumerate(actions, (place.sub_turn_index or 0) + 1):
        yield from action_told(state, run, action, place.model_copy(update={"sub_turn_index": turn}))
