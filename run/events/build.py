"""Builds the packets that more than one node emits: of steps, tool calls, failures, and the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...records.plan import Iteration, Learning, PlanStep
from ...records.research import Run, Scope
from ...records.sources import Source
from .. import tool_names
from .packets import (
    LearningShown,
    OpenUrlDocuments,
    OpenUrlStart,
    OpenUrlUrls,
    OverallStop,
    Packet,
    PacketError,
    Placement,
    SearchToolDocuments,
    SearchToolFilters,
    SearchToolQueries,
    SearchToolStart,
    StepAssessed,
    StepDone,
    StepLearnings,
    StepStarted,
    StopReason,
    document,
)


def step_started(step: PlanStep, place: Placement) -> StepStarted:
    """Return the packet that opens a step."""
    return StepStarted(
        placement=place, step_id=step.id, title=step.title, task=step.task, kind=step.kind, parent_id=step.parent
    )


def iteration_packets(
    step_id: str, iteration: Iteration, learnings: Mapping[str, Learning], place: Placement
) -> list[StepLearnings | StepAssessed]:
    """Return the packets of an iteration whose results are known: what was learned, and each verdict on it."""
    known = [learnings[key] for key in iteration.learnings]
    learned = StepLearnings(
        placement=place,
        step_id=step_id,
        iteration=iteration.number,
        learnings=[LearningShown(id=one.id, text=one.text, document_id=one.source) for one in known],
        confidence=iteration.confidence,
    )
    assessed = (
        StepAssessed(
            placement=place,
            step_id=step_id,
            iteration=iteration.number,
            query=verdict.query,
            is_complete=verdict.is_complete,
            reasoning=verdict.reasoning,
            key_elements=list(verdict.key_elements),
        )
        for verdict in iteration.verdicts
    )
    return [learned, *assessed]


def step_done(step: PlanStep, place: Placement) -> StepDone:
    """Return the packet that ends a step, whose status is a final one."""
    assert step.status in ("completed", "failed", "skipped")
    return StepDone(placement=place, step_id=step.id, status=step.status, reason=step.reason)


def step_failed(place: Placement, reason: str) -> PacketError:
    """Return the packet for a part of a step that failed."""
    return PacketError(placement=place, message=f"A step went on without it: {reason}.")


_READING = (tool_names.OPEN_URL, tool_names.READ_DOCUMENTS)


def tool_call_packets(place: Placement, tool: str, inputs: Sequence[str], scope: Scope) -> list[Packet]:
    """Return the packets that open a tool call with these queries or addresses; `scope` bounds web searches."""
    if tool in _READING:
        return [OpenUrlStart(placement=place), OpenUrlUrls(placement=place, urls=list(inputs))]
    is_web = tool == tool_names.WEB_SEARCH
    start = SearchToolStart(placement=place, is_internet_search=is_web)
    shown: list[Packet] = [start, SearchToolQueries(placement=place, queries=list(inputs))]
    if is_web and (scope.domains_allow or scope.domains_deny or scope.published_after):
        filters = SearchToolFilters(
            placement=place,
            sources=list(scope.domains_allow),
            excluded=list(scope.domains_deny),
            time_start=scope.published_after or None,
        )
        shown.append(filters)
    return shown


def tool_result_packet(place: Placement, tool: str, sources: Iterable[Source]) -> Packet:
    """Return the packet with the sources that a tool call found."""
    documents = [document(source) for source in sources]
    if tool in _READING:
        return OpenUrlDocuments(placement=place, documents=documents)
    return SearchToolDocuments(placement=place, documents=documents)


def stop_packet(run: Run, turn: int) -> OverallStop:
    """Return the packet that ends a run, or a part of it that ends in a pause."""
    is_over = run.status in ("completed", "completed_with_gaps")
    reasons: Mapping[str, StopReason] = {"completed": "completed", "completed_with_gaps": "completed_with_gaps"}
    return OverallStop(
        placement=Placement(turn_index=turn),
        stop_reason=reasons.get(run.status, "waiting_for_user"),
        message=run.stop_reason if is_over else "",
        is_resumable=not is_over and run.is_resumable,
        elapsed_seconds=run.active_seconds,
    )


def researcher_failed(place: Placement, reason: str) -> PacketError:
    """Return the packet for a researcher that did not finish."""
    return PacketError(placement=place, message=f"A researcher did not finish: {reason}.")
