"""Turns a stored run of the planned strategy back into the packets that its client saw, up to its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..knowledge import Iteration, PlanStep, StepOutcome
from ..run.activities import ActivityKind, activity
from ..run.packet import Placement
from ..run.packets import AnyPacket, PlanDelta, PlanStart, SectionEnd, TopLevelBranching
from ..run.step_packets import Summary
from ..run.step_telling import iteration_told, step_done, step_failed, step_started
from ..state import Action, ResearchState, Run
from ..tools import shown
from ..tools.disagreement import disagreement, disagreement_told
from ..tools.framing import framing_told
from ..tools.named_pages import NAMED_PAGES

Packets = Iterator[AnyPacket]


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
            yield from _round(state, run, place)


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


def _round(state: ResearchState, run: Run, place: Placement) -> Packets:
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
