"""Progress of a run while it works: plain lines, packets as JSON lines, and what every view has in common."""

from __future__ import annotations

import asyncio
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple, Self

from ..core.models.caller import pending_calls
from ..core.records.research import Estimate, Span, Value
from ..core.run.context import Clock, SystemClock
from ..core.run.conversation import clean
from ..core.run.events import packets
from ..core.run.events.packets import AnyPacket, OverallStop, Placement
from ..core.run.spending import dollars
from ..state import ResearchState
from .terminal import ReaderGone, put_out, say
from .words import counted, counts_line, in_words

WIDTH = 100
"""Characters of a task or query that are shown."""
EVERY = 100
"""Documents indexed from one plain line to the next."""
WAIT_SECONDS = 10.0
"""Seconds from one plain line that says what is waited for to the next."""


class Costs(NamedTuple):
    """What the models' calls have cost so far."""

    calls: int = 0
    tokens: int = 0
    """Input and output together."""
    usd: float = 0.0
    """Money, as far as it is known."""

    def plus(self, call: packets.CallFinished) -> Costs:
        """Return the costs with one more call."""
        tokens = self.tokens + call.input_tokens + call.output_tokens
        return Costs(self.calls + 1, tokens, self.usd + call.usd)

    def __str__(self) -> str:
        """Return tokens and money in words."""
        money = f", {dollars(self.usd)}" if self.usd else ""
        return f"{self.tokens:,} tokens".replace(",", " ") + money

    @property
    def line(self) -> str:
        """Return what was spent since the command began."""
        return f"spent: {counted(self.calls, 'model call')}, {self}"


def estimate_line(estimate: Estimate) -> str:
    """Return an estimate of the whole run in words: what is likely, and the range of each figure in brackets."""
    read, written = estimate.input_tokens, estimate.output_tokens
    if not (estimate.calls and read and written and estimate.seconds):
        limits = [f"{in_words(estimate.max_seconds)} of research (max_seconds)"] if estimate.max_seconds else []
        limits += [f"{estimate.max_tokens} tokens (max_tokens)"] if estimate.max_tokens else []
        limits += [f"{dollars(estimate.max_usd)} (max_usd)"] if estimate.max_usd else []
        known = f"more is known after three finished runs of this kind ({estimate.runs} so far)"
        return f"at most {', '.join(limits)}; {known}" if limits else known
    tokens = Span(low=read.low + written.low, likely=read.likely + written.likely, high=read.high + written.high)
    parts = [_in_range(estimate.calls, "{:.0f}".format, " model calls"), _in_range(tokens, about, " tokens")]
    parts += [_in_range(estimate.usd, dollars)] if estimate.usd else []
    parts += [_in_range(estimate.seconds, in_words)]
    return ", ".join(parts) + (f", by {estimate.runs} finished runs" if estimate.runs else "")


def _in_range(span: Span, words: Callable[[float], str], noun: str = "") -> str:
    return f"{words(span.likely)}{noun} ({words(span.low)} to {words(span.high)})"


def about(count: float) -> str:
    """Return a number to two significant digits."""
    return f"{round(count, 1 - math.floor(math.log10(max(1, count)))):,.0f}".replace(",", " ")


class ProgressView(ABC):
    """Shows a run while it works, from its packets."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.costs = Costs()
        self.typed: list[str] = []
        """What the user has typed and no run has been told yet."""
        self.is_researching = False
        """Whether researchers are at work whom words can steer."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def begin(self, notices: Iterable[str] = ()) -> None:
        """Print what the user should know before anything is spent."""
        for notice in notices:
            self.print(f"Note: {notice}")

    def __call__(self, packet: AnyPacket) -> None:
        """Take a packet; the first shows that the run exists, so that its title can be printed."""
        if self.title and not isinstance(packet, packets.ChatHeartbeat):
            self.print(self.title)
            self.title = ""
        # A quick answer has one search and nobody who would decide anew.
        if isinstance(packet, packets.ResearchAgentTitle | packets.StepStarted):
            self.is_researching = True
        elif is_report_start(packet):
            self.is_researching = False
        if isinstance(packet, packets.CallFinished):
            self.costs = self.costs.plus(packet)
        self.take(packet)

    def steering(self) -> str:
        """Return what the user has typed to researchers at work, once; empty if nothing."""
        if not self.is_researching or not self.typed:
            return ""
        words = "\n".join(self.typed)
        self.typed.clear()
        self.print(f"The researchers are told: {words}")
        return words

    @property
    def pending(self) -> str:
        """The calls of models that are waited for, in words; empty if there are none."""
        calls = ", ".join([*pending_calls.values()])
        return f"waiting for the model's answer to {calls}" if calls else ""

    def print(self, text: str) -> None:
        """Print something that stays."""
        say(text)

    @abstractmethod
    def take(self, packet: AnyPacket) -> None:
        """Show a packet."""

    @abstractmethod
    def recall(self, state: ResearchState) -> None:
        """Show what a resumed run has done before."""


def describe(packet: AnyPacket) -> str:
    """Return a packet in words; empty for those that say nothing new to a reader of lines."""
    match packet:
        case packets.ResearchAgentTitle():
            return f"researching: {packet.title}"
        case packets.ToolProblems():
            return f"failed: {'; '.join(map(shorten, packet.problems))}"
        case packets.SearchToolQueries():
            return f"searching: {shorten(' | '.join(packet.queries))}"
        case packets.OpenUrlUrls():
            return f"reading: {shorten(', '.join(packet.urls))}"
        case packets.SearchToolDocuments():
            return f"found {counted(len(packet.documents), 'source') if packet.documents else 'nothing'}"
        case packets.OpenUrlDocuments():
            return f"read {counted(len(packet.documents), 'source') if packet.documents else 'nothing'}"
        case packets.FindingStart():
            return "writing its finding"
        case packets.FindingCitedDocuments():
            return f"done, cites {counted(len(packet.cited_docs), 'source')}"
        case packets.CallDelayed():
            return f"waiting {packet.seconds:.0f} s: {shorten(packet.reason)}"
        case packets.CallContinued():
            return f"going on where it broke off: {shorten(packet.reason)}"
        case packets.PacketError():
            return shorten(packet.message)
        case packets.ReportGraded():
            return _grades_line(packet)
        case packets.ReportAudited():
            return counts_line(packet.audit)
        case packets.EstimateMade():
            return f"estimated: {estimate_line(packet.estimate)}"
        case _:
            return _describe_step(packet)


def _grades_line(packet: packets.ReportGraded) -> str:
    left = [grade for grade in packet.grades if grade.verdict != "answered"]
    line = f"{len(packet.grades) - len(left)} of {counted(len(packet.grades), 'point')} of the request answered"
    if not left:
        return line
    named = "; ".join(shorten(grade.requirement) for grade in left)
    return f"{line}; {'looking for more on' if packet.is_researched else 'open'}: {named}"


def describe_index(packet: packets.DocumentsIndexed) -> str:
    """Return how far indexing is; at its end also what could not be read, the first few by name."""
    if not packet.unread_total:
        return f"documents indexed: {packet.done} of {packet.total}"
    named = [f"{one.path} ({one.reason})" for one in packet.unread]
    more = packet.unread_total - len(named)
    rest = f", and {more} more: `deep-research doctor` with the same --docs lists them" if more else ""
    count = f"documents indexed: {packet.readable} of {packet.readable + packet.unread_total}"
    return clean(f"{count}; {packet.unread_total} could not be read: {', '.join(named)}{rest}")


def _describe_step(packet: AnyPacket) -> str:
    """Return a packet of the planned strategy in words."""
    match packet:
        case packets.Activity():
            return shorten(packet.text)
        case packets.StepStarted():
            return f"step {packet.step_id} ({packet.kind}): {shorten(packet.title)}"
        case packets.StepLearnings():
            learned = (
                counted(len({one.text for one in packet.learnings}), "thing") if packet.learnings else "nothing new"
            )
            return f"learned {learned}, confidence {packet.confidence:.2g}"
        case packets.StepAssessed():
            return "complete" if packet.is_complete else f"not complete: {shorten(packet.reasoning)}"
        case packets.StepDone():
            return shorten(f"step {packet.step_id} {packet.status}{packet.reason and f': {packet.reason}'}")
        case packets.ContradictionsFound():
            return f"found {counted(len(packet.contradictions), 'contradiction')} between sources"
        case packets.ReportFraming():
            return f"the report will say: {shorten(packet.main_message)}"
    return ""


class PlainLines(ProgressView):
    """One line an event, for pipes and logs."""

    def __init__(self, title: str = "", clock: Clock | None = None) -> None:
        super().__init__(title)
        self.plan: list[str] = []
        self.plan_turn = -1
        self.clock = clock or SystemClock()

    async def during(self, work: Awaitable[Value]) -> Value:
        """Await the work, and print what it waits for every `WAIT_SECONDS`."""

        async def tell() -> None:
            while True:
                await self.clock.sleep(WAIT_SECONDS)
                self.print(self.pending or "still at work")

        ticking = asyncio.create_task(tell())
        try:
            return await work
        finally:
            ticking.cancel()

    def take(self, packet: AnyPacket) -> None:
        """Print what a packet says."""
        place = packet.placement
        match packet:
            case packets.PlanStart():
                self.plan, self.plan_turn = [], place.turn_index
            case packets.PlanDelta():
                self.plan.append(packet.content)
            case packets.SectionEnd() if place.turn_index == self.plan_turn:
                self.print(f"plan:\n{''.join(self.plan).strip()}")
            case packets.DocumentsIndexed() if packet.done == packet.total or packet.done % EVERY == 0:
                self.print(describe_index(packet))
            case packets.EstimateMade():
                self.print(describe(packet))
            case packets.OverallStop() if not is_completed(packet) and self.costs.calls:
                self.print(self.costs.line)
            case _ if is_report_start(packet):
                self.print("writing the report")
            case _ if words := describe(packet):
                self.print(f"[{place.turn_index}.{place.tab_index + 1}] {words}")

    def recall(self, state: ResearchState) -> None:
        """Name the plan that the run goes on with."""
        if state.plan:
            self.title += f"\ngoing on with the plan:\n{state.plan.text}"


def is_completed(stop: packets.OverallStop) -> bool:
    """Whether the run has a report; the command then says itself what the whole run has cost."""
    return stop.stop_reason in ("completed", "completed_with_gaps")


def is_report_start(packet: AnyPacket) -> bool:
    """Whether the report follows."""
    # A question to the user starts with the same packet, but has no sources.
    return isinstance(packet, packets.MessageStart) and packet.final_documents is not None


def shorten(words: str) -> str:
    """Return a text as one line of bearable length."""
    line = " ".join(clean(words).split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


class PacketLines(ProgressView):
    """Every packet as a line of JSON on standard output; the last line is a stop, whatever happens."""

    def __init__(self) -> None:
        super().__init__("")
        self.has_stopped = False
        self.start = time.monotonic()

    def take(self, packet: AnyPacket) -> None:
        """Print a packet; raises `ReaderGone`, which stops the run, if nobody reads it."""
        self.has_stopped = isinstance(packet, OverallStop)
        # ASCII alone, so that no reader's encoding matters.
        if not put_out(json.dumps(packet.model_dump(mode="json"))):
            raise ReaderGone

    def recall(self, state: ResearchState) -> None:
        """Print nothing: packets are about what happens now."""

    def close(self, message: str, *, is_cancelled: bool) -> None:
        """Print a stop, unless the stream ended with one: what went wrong may have done so before it began."""
        if self.has_stopped:
            return
        stop = OverallStop(
            placement=Placement(turn_index=0),
            stop_reason="user_cancelled" if is_cancelled else "failed",
            message=message,
            elapsed_seconds=round(time.monotonic() - self.start, 3),
        )
        self.take(stop)
