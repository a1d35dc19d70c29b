"""Makes the packets that several nodes emit; `CallEvents` emits those of a model call: thoughts,
text, waits, costs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Literal, cast

from typing_extensions import override

from ..accounts.ledger import Bill
from ..records import tool_names
from ..records.dispute import Dispute
from ..records.plan import Iteration, Learning, PlanStep
from ..records.research import Run, Scope, Spent
from ..records.sources import Source, short_hash
from . import packets
from .log import Emitter
from .packets import Icon, Packet, Placement, StopReason

ActivityKind = Literal[
    "understand",
    "clarify",
    "summarize",
    "plan",
    "search",
    "analyze",
    "adapt",
    "cross_check",
    "frame",
    "grade",
    "verify",
]
STOP_REASONS: Mapping[str, StopReason] = {
    "completed": "completed",
    "completed_with_gaps": "completed_with_gaps",
    "ended": "user_cancelled",
}
"""The reason in the `stop` packet, by the status of a finished run."""
_READING = (tool_names.OPEN_URL, tool_names.READ_DOCUMENTS)
"""Tools that open sources; all others search."""


def activity(
    kind: ActivityKind, seed: str, placement: Placement, step_title: str = ""
) -> packets.Activity:
    """Return a status message of this kind; the same seed (the question) and placement give the
    same text.

    `step_title`: title of the step that it belongs to, if any.
    """
    wordings = wordings_of(kind)
    choice = int(short_hash(seed, kind, placement.model_dump_json()), 16) % len(wordings)
    icon = cast(Icon, _table()["icons"][kind])
    return packets.Activity(
        placement=placement, text=wordings[choice], icon=icon, step_title=step_title
    )


def wordings_of(kind: ActivityKind) -> list[str]:
    """Return the texts of which `activity` chooses one."""
    return _table()["wordings"][kind].splitlines()


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(
        resources.files(__package__).joinpath("activities.toml").read_text("utf-8")
    )


def document(source: Source) -> packets.Document:
    """Return a source as packets show it during research."""
    return packets.Document(document_id=source.key, title=source.title, link=source.location)


def final_document(source: Source) -> packets.Document:
    """Return a source as packets show it after the research: also with its date and how much of it
    was read."""
    return document(source).model_copy(update={"date": source.date, "extent": source.extent})


def disputes_found(
    disputes: Iterable[Dispute], placement: Placement
) -> packets.ContradictionsFound:
    """Return the packet that shows these disputes."""
    shown = list[packets.DisputeShown]()
    for dispute in disputes:
        first, second = dispute.sides
        shown.append(
            packets.DisputeShown(
                claim=first.text,
                document_id=first.source,
                date=first.date,
                origin=first.origin,
                other_claim=second.text,
                other_document_id=second.source,
                other_date=second.date,
                other_origin=second.origin,
                newer_document_id=dispute.newer,
                about=dispute.about,
                resolution=dispute.resolution,
            )
        )
    return packets.ContradictionsFound(placement=placement, contradictions=shown)


def step_started(step: PlanStep, placement: Placement) -> packets.StepStarted:
    """Return the packet that opens a step."""
    return packets.StepStarted(
        placement=placement,
        step_id=step.id,
        title=step.title,
        task=step.task,
        kind=step.kind,
        parent_id=step.parent,
    )


def iteration_packets(
    step_id: str, iteration: Iteration, learnings: Mapping[str, Learning], placement: Placement
) -> list[packets.StepLearnings | packets.StepAssessed]:
    """Return the packets of a finished iteration: its learnings, taken from `learnings` by id, and
    its verdict."""
    learned: list[packets.LearningShown] = []
    for key in iteration.learnings:
        learning = learnings[key]
        learned.append(
            packets.LearningShown(id=learning.id, text=learning.text, document_id=learning.source)
        )
    first = packets.StepLearnings(
        placement=placement,
        step_id=step_id,
        iteration=iteration.number,
        learnings=learned,
        confidence=iteration.confidence,
    )
    shown: list[packets.StepLearnings | packets.StepAssessed] = [first]
    for verdict in iteration.verdicts:
        assessed = packets.StepAssessed(
            placement=placement,
            step_id=step_id,
            iteration=iteration.number,
            query=verdict.query,
            is_complete=verdict.is_complete,
            reasoning=verdict.reasoning,
            key_elements=list(verdict.key_elements),
        )
        shown.append(assessed)
    return shown


def step_done(step: PlanStep, placement: Placement) -> packets.StepDone:
    """Return the packet that ends a step, which must be completed, failed or skipped."""
    assert step.status in ("completed", "failed", "skipped")
    return packets.StepDone(
        placement=placement, step_id=step.id, status=step.status, reason=step.reason
    )


def step_failed(placement: Placement, reason: str) -> packets.PacketError:
    """Return the packet for a failed part of a step."""
    return packets.PacketError(placement=placement, message=f"Part of a step failed: {reason}.")


def tool_call_packets(
    placement: Placement, tool: str, inputs: Sequence[str], scope: Scope
) -> list[Packet]:
    """Return the packets that open a tool call; `inputs`: its queries or addresses; `scope` has the
    web filters."""
    if tool in _READING:
        return [
            packets.OpenUrlStart(placement=placement),
            packets.OpenUrlUrls(placement=placement, urls=list(inputs)),
        ]
    is_web = tool == tool_names.WEB_SEARCH
    start = packets.SearchToolStart(placement=placement, is_internet_search=is_web)
    shown: list[Packet] = [
        start,
        packets.SearchToolQueries(placement=placement, queries=list(inputs)),
    ]
    if is_web and (scope.domains_allow or scope.domains_deny or scope.published_after):
        filters = packets.SearchToolFilters(
            placement=placement,
            sources=list(scope.domains_allow),
            excluded=list(scope.domains_deny),
            time_start=scope.published_after or None,
        )
        shown.append(filters)
    return shown


def tool_result_packets(
    placement: Placement, tool: str, sources: Iterable[Source], problems: Sequence[str]
) -> Iterator[Packet]:
    """Yield the packets that end a tool call: problems, then sources."""
    if problems:
        yield packets.ToolProblems(placement=placement, problems=list(problems))
    documents = [document(source) for source in sources]
    if tool in _READING:
        yield packets.OpenUrlDocuments(placement=placement, documents=documents)
    else:
        yield packets.SearchToolDocuments(placement=placement, documents=documents)
    yield packets.SectionEnd(placement=placement)


def stop_packet(run: Run, turn: int) -> packets.OverallStop:
    """Return the last packet of a run that has ended or pauses; `turn`: its `turn_index`."""
    is_over = run.status in STOP_REASONS
    return packets.OverallStop(
        placement=Placement(turn_index=turn),
        stop_reason=STOP_REASONS.get(run.status, "waiting_for_user"),
        message=run.stop_reason if is_over else "",
        is_resumable=not is_over and run.is_resumable,
        elapsed_seconds=run.active_seconds,
    )


def researcher_failed(placement: Placement, reason: str) -> packets.PacketError:
    """Return the packet for a researcher that did not finish."""
    return packets.PacketError(
        placement=placement, message=f"A researcher did not finish: {reason}."
    )


class CallEvents:
    """Emits the packets of a node's model calls, and adds up their costs.

    Thoughts are a block with its own placement; later packets get the next placement. Here, text
    that comes with tool calls counts as thoughts; `ProseEvents` emits it as text.
    """

    def __init__(self, emitter: Emitter, placement: Placement) -> None:
        self.emitter = emitter
        self.placement = placement
        """Placement of the next packet."""
        self.thoughts = ""
        """The thoughts emitted so far."""
        self.has_shown = False
        """Whether text of the current call was emitted; then the call cannot be repeated."""
        self.bill = Bill()
        """Costs of all calls."""
        self._first_placement = placement

    @property
    def is_watched(self) -> bool:
        """Whether a client sees text and thoughts while they are generated."""
        return self.emitter.has_listener

    def on_thought(self, words: str) -> None:
        """Emit a piece of a thought; nothing if the block of thoughts is closed."""
        if not self.thoughts:
            words = words.lstrip()
        if not words or self.placement != self._first_placement:
            return
        if not self.thoughts:
            self.emit(packets.ReasoningStart(placement=self.placement))
        self.thoughts += words
        self.emit(packets.ReasoningDelta(placement=self.placement, reasoning=words))

    def on_text(self, words: str) -> None:
        """Emit a piece of the answer."""
        self.on_thought(words)

    def end(self) -> None:
        """Close the block of thoughts, if there is one, and move on to the next placement."""
        if self.thoughts and self.placement == self._first_placement:
            self.emit(packets.ReasoningDone(placement=self.placement))
            # A researcher's thoughts take up a step, all others a turn.
            step = self.placement.sub_turn_index
            if step is None:
                following = {"turn_index": self.placement.turn_index + 1}
            else:
                following = {"sub_turn_index": step + 1}
            self.placement = self.placement.model_copy(update=following)

    def on_restart(self) -> None:
        """Called when a call is repeated: emit an empty line between the thoughts of the two
        attempts."""
        if self.thoughts:
            self.on_thought("\n\n")

    def on_delay(self, seconds: float, reason: str) -> None:
        """Emit that the call is retried after so many seconds, and why."""
        self.emit(packets.CallDelayed(placement=self.placement, seconds=seconds, reason=reason))

    def on_continue(self, reason: str) -> None:
        """Emit that the stream broke off, why, and that the model continues its text."""
        self.emit(packets.CallContinued(placement=self.placement, reason=reason))

    def on_spent(self, spent: Spent, key: str = "") -> None:
        """Record and emit the cost of a call that completed or broke off; `key` as in
        `Bill.add`."""
        self.bill.add(spent, key)
        costs = spent.model_dump(
            include={"role", "input_tokens", "cached_tokens", "output_tokens", "usd"}
        )
        self.emit(packets.CallFinished(placement=self.placement, **costs))

    def emit(self, *packets: Packet) -> None:
        """Emit packets."""
        self.emitter.emit(*packets)


class SilentEvents(CallEvents):
    """Emits the costs and waits of calls, but neither their text nor their thoughts."""

    @property
    @override
    def is_watched(self) -> bool:
        return False

    @override
    def on_thought(self, words: str) -> None:
        pass


class ProseEvents(CallEvents):
    """Emits the text of an answer while it is generated, after an opening packet; subclasses make
    the packets."""

    has_started = False
    """Whether text of any call was emitted."""

    @override
    def on_thought(self, words: str) -> None:
        # A block of thoughts cannot interrupt the text.
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
        """Return the packet that opens the text."""
        raise NotImplementedError

    def pass_on(self, words: str) -> None:
        """Emit the next piece of text."""
        raise NotImplementedError
