"""Packets that several nodes emit, and those of a model's call: thoughts, words, waits, costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from typing_extensions import override

from ...records.plan import Iteration, Learning, PlanStep
from ...records.research import Run, Scope, Spent
from ...records.sources import Source
from .. import tool_names
from ..spending import Bill
from .log import Emitter
from .packets import (
    CallContinued,
    CallDelayed,
    CallFinished,
    Document,
    LearningShown,
    OpenUrlDocuments,
    OpenUrlStart,
    OpenUrlUrls,
    OverallStop,
    Packet,
    PacketError,
    Placement,
    ReasoningDelta,
    ReasoningDone,
    ReasoningStart,
    SearchToolDocuments,
    SearchToolFilters,
    SearchToolQueries,
    SearchToolStart,
    SectionEnd,
    StepAssessed,
    StepDone,
    StepLearnings,
    StepStarted,
    StopReason,
    ToolProblems,
)

STOP_REASONS: Mapping[str, StopReason] = {
    "completed": "completed",
    "completed_with_gaps": "completed_with_gaps",
    "ended": "user_cancelled",
}
"""How a stop calls the states of a run in which it is over."""
_READING = (tool_names.OPEN_URL, tool_names.READ_DOCUMENTS)


def document(source: Source) -> Document:
    """Return a source as packets name it while research goes on."""
    return Document(document_id=source.key, title=source.title, link=source.location)


def final_document(source: Source) -> Document:
    """Return a source as packets name it once research has ended."""
    return document(source).model_copy(update={"date": source.date, "extent": source.extent})


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


def tool_result_packets(
    place: Placement, tool: str, sources: Iterable[Source], problems: Sequence[str]
) -> Iterator[Packet]:
    """Yield the packets that end a tool call: the problems that it met, and the sources that it found."""
    if problems:
        yield ToolProblems(placement=place, problems=list(problems))
    found = OpenUrlDocuments if tool in _READING else SearchToolDocuments
    yield found(placement=place, documents=[document(source) for source in sources])
    yield SectionEnd(placement=place)


def stop_packet(run: Run, turn: int) -> OverallStop:
    """Return the packet that ends a run, or a part of it that ends in a pause."""
    is_over = run.status in STOP_REASONS
    return OverallStop(
        placement=Placement(turn_index=turn),
        stop_reason=STOP_REASONS.get(run.status, "waiting_for_user"),
        message=run.stop_reason if is_over else "",
        is_resumable=not is_over and run.is_resumable,
        elapsed_seconds=run.active_seconds,
    )


def researcher_failed(place: Placement, reason: str) -> PacketError:
    """Return the packet for a researcher that did not finish."""
    return PacketError(placement=place, message=f"A researcher did not finish: {reason}.")


class CallEvents:
    """Emits the thoughts of a call as a block in a place of its own; what follows them takes the next place.

    Words beside tool calls count as thoughts; `ProseEvents` emits words as words.
    """

    def __init__(self, emitter: Emitter, placement: Placement) -> None:
        self.emitter = emitter
        self.placement = placement
        """Place of the next packet."""
        self.thoughts = ""
        """The thoughts emitted so far."""
        self.has_shown = False
        """Whether words of the present call were emitted as prose, which cannot be taken back."""
        self.bill = Bill()
        """What all calls have cost."""
        self._first_place = placement

    @property
    def is_watched(self) -> bool:
        """Whether a client sees words and thoughts as they come."""
        return self.emitter.has_listener

    def on_thought(self, words: str) -> None:
        """Take words of a thought."""
        if not self.thoughts:
            words = words.lstrip()
        if not words or self.placement != self._first_place:
            return
        if not self.thoughts:
            self.emit(ReasoningStart(placement=self.placement))
        self.thoughts += words
        self.emit(ReasoningDelta(placement=self.placement, reasoning=words))

    def on_text(self, words: str) -> None:
        """Take words of the answer."""
        self.on_thought(words)

    def end(self) -> None:
        """Close the block of thoughts: what comes now takes the next place."""
        if self.thoughts and self.placement == self._first_place:
            self.emit(ReasoningDone(placement=self.placement))
            step, turn = self.placement.sub_turn_index, self.placement.turn_index
            # A researcher's thoughts take a step, all others a turn.
            following = {"turn_index": turn + 1} if step is None else {"sub_turn_index": step + 1}
            self.placement = self.placement.model_copy(update=following)

    def on_restart(self) -> None:
        """Separate the thoughts of a call that is made anew from those before."""
        if self.thoughts:
            self.on_thought("\n\n")

    def on_delay(self, seconds: float, reason: str) -> None:
        """Emit that the call waits so many seconds."""
        self.emit(CallDelayed(placement=self.placement, seconds=seconds, reason=reason))

    def on_continue(self, reason: str) -> None:
        """Go on after the stream broke; the words that came stay and are continued."""
        self.emit(CallContinued(placement=self.placement, reason=reason))

    def on_spent(self, spent: Spent, key: str = "") -> None:
        """Record what a call that has ended or broken off has cost; `key` as in `Bill.add`."""
        self.bill.add(spent, key)
        costs = spent.model_dump(include={"role", "input_tokens", "cached_tokens", "output_tokens", "usd"})
        self.emit(CallFinished(placement=self.placement, **costs))

    def emit(self, *packets: Packet) -> None:
        """Emit packets."""
        self.emitter.emit(*packets)


class SilentEvents(CallEvents):
    """Emits costs and waits only, where words and thoughts would be in the way."""

    @property
    @override
    def is_watched(self) -> bool:
        return False

    def on_thought(self, words: str) -> None:
        """Drop the words."""

    def on_text(self, words: str) -> None:
        """Drop the words."""


class ProseEvents(CallEvents):
    """Emits the words of the answer as they come, after a packet that opens them."""

    has_started = False
    """Whether words of any call were emitted."""

    @override
    def on_thought(self, words: str) -> None:
        # Within the prose, a block of thoughts has no place of its own.
        if not self.has_started:
            super().on_thought(words)

    @override
    def on_text(self, words: str) -> None:
        self.has_shown = True
        self.end()
        if not self.has_started:
            self.has_started = True
            self.emit(self.start())
        self.pass_on(words)

    def start(self) -> Packet:
        """Return the packet that opens the prose."""
        raise NotImplementedError

    def pass_on(self, words: str) -> None:
        """Emit the next words."""
        raise NotImplementedError
