"""Shows a run's progress as plain lines, or its packets (events for clients) as JSON; has the base
of all views."""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from ..core.dialogue.conversation import safe_text
from ..core.events import packets
from ..core.events.packets import AnyPacket, OverallStop, Placement
from ..core.models.request import pending_calls
from ..core.records.research import UsualCost, dollars
from ..core.settings.context import Clock, SystemClock
from ._terminal import Output, ReaderGone, print_output, say
from .words import ReportTrust, counted, usual_cost_words

if TYPE_CHECKING:
    from ..state import ResearchState

Value = TypeVar("Value")
_WIDTH = 100
"""Maximum length of a task or query in a line, in characters."""
_DOCUMENTS_PER_LINE = 100
"""Number of documents indexed between two progress lines."""
_WAIT_SECONDS = 10.0
"""Seconds between two lines that say what the run is waiting for."""


class Costs(NamedTuple):
    """Costs of the model calls since the command started; as text, tokens and dollars."""

    calls: int = 0
    tokens: int = 0
    """Input and output tokens together."""
    usd: float = 0.0
    """Only calls whose price is known are counted."""

    def plus(self, call: packets.CallFinished) -> Costs:
        """Return these costs plus those of a call."""
        tokens = self.tokens + call.input_tokens + call.output_tokens
        return Costs(self.calls + 1, tokens, self.usd + call.usd)

    def __str__(self) -> str:
        money = f", {dollars(self.usd)}" if self.usd else ""
        return f"{self.tokens:,} tokens".replace(",", " ") + money

    @property
    def line(self) -> str:
        """The costs with the number of calls, as a line to print."""
        return f"spent: {counted(self.calls, 'model call')}, {self}"


def usual_cost_line(cost: UsualCost) -> str:
    """Return what earlier runs cost, as a line to print with a plan."""
    return f"Earlier runs like this one: {usual_cost_words(cost)}"


class ProgressView(ABC):
    """Base class of views, which are called with the packets of a run and show its progress."""

    def __init__(self, title: str) -> None:
        self.title = title
        """Printed before the first packet, then empty."""
        self.costs = Costs()
        self.typed: list[str] = []
        """Lines that the user has typed and that were not yet passed to the run."""
        self.is_researching = False
        """Whether researchers are running, to whom a typed line can be passed as a hint."""
        self._read = set[tuple[str, str]]()
        """Which messages have been read, each by which role."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def begin(self, notices: Iterable[str] = ()) -> None:
        """Print notices on the settings of the run; called before anything is spent."""
        for notice in notices:
            self.print(f"Note: {notice}")

    def __call__(self, packet: AnyPacket) -> None:
        """Show a packet, after the title if it is the first packet of the run itself."""
        if self.title and not isinstance(packet, packets.ChatHeartbeat):
            self.print(self.title)
            self.title = ""
        # Hints typed meanwhile reach researchers and steps only: a quick answer, which has neither,
        # makes no decisions after its only search.
        if isinstance(packet, packets.ResearchAgentTitle | packets.StepStarted):
            self.is_researching = True
        elif is_report_start(packet):
            self.is_researching = False
        if isinstance(packet, packets.MessageRead):
            self._say_read(packet)
        if isinstance(packet, packets.CallFinished):
            self.costs = self.costs.plus(packet)
        self.take(packet)

    def steering(self) -> str:
        """Return the typed lines as one hint for the running researchers, and clear them; empty if
        there are none."""
        if not self.is_researching or not self.typed:
            return ""
        words = "\n".join(self.typed)
        self.typed.clear()
        return words

    def _say_read(self, packet: packets.MessageRead) -> None:
        """Print that a message was read, once for all researchers."""
        read = (packet.message_id, packet.reader)
        if read not in self._read:
            self._read.add(read)
            self.print(f"Your message was read by the {packet.reader}.")

    @property
    def pending(self) -> str:
        """Which model calls have not been answered yet, in words; empty if there are none."""
        calls = ", ".join(pending_calls.values())
        if not calls:
            return ""
        return f"waiting for the model's answer to {calls}"

    def print(self, text: str) -> None:
        """Print a line that stays visible."""
        say(text)

    @abstractmethod
    def take(self, packet: AnyPacket) -> None:
        """Show one packet, in the way of this view."""

    def recall(self, state: ResearchState) -> None:  # noqa: B027 - optional
        """Show the earlier progress of a resumed run; does nothing by default."""


def describe(packet: AnyPacket) -> str:
    """Return what a packet says, as one line; empty for packets that no view shows as a line."""
    match packet:
        case packets.Activity():
            return shorten(packet.text)
        case packets.StepStarted():
            return f"step {packet.step_id} ({packet.kind}): {shorten(packet.title)}"
        case packets.StepLearnings():
            learnings = {learning.text for learning in packet.learnings}
            number = counted(len(learnings), "thing") if learnings else "nothing new"
            return f"learned {number}, confidence {packet.confidence:.2g}"
        case packets.StepAssessed() if packet.is_complete:
            return "complete"
        case packets.StepAssessed():
            return f"not complete: {shorten(packet.reasoning)}"
        case packets.StepDone():
            line = f"step {packet.step_id} {packet.status}"
            if packet.reason:
                line += f": {packet.reason}"
            return shorten(line)
        case packets.ContradictionsFound():
            return f"found {counted(len(packet.contradictions), 'contradiction')} between sources"
        case packets.ReportFraming():
            return f"the report will say: {shorten(packet.main_message)}"
        case packets.ResearchAgentTitle():
            return f"researching: {packet.title}"
        case packets.ToolProblems():
            return f"failed: {'; '.join(map(shorten, packet.problems))}"
        case packets.SearchToolQueries():
            return f"searching: {shorten(' | '.join(packet.queries))}"
        case packets.OpenUrlUrls():
            return f"reading: {shorten(', '.join(packet.urls))}"
        case packets.SearchToolDocuments():
            return f"found {_number_of_sources(packet.documents)}"
        case packets.OpenUrlDocuments():
            return f"read {_number_of_sources(packet.documents)}"
        case packets.FindingStart():
            return "writing its finding"
        case packets.FindingCitedDocuments():
            return f"done, cites {counted(len(packet.cited_docs), 'source')}"
        case packets.CallDelayed():
            return f"waiting {packet.seconds:.0f} s: {shorten(packet.reason)}"
        case packets.CallContinued():
            return f"continuing an answer that broke off: {shorten(packet.reason)}"
        case packets.PacketError():
            return shorten(packet.message)
        case packets.ReportGraded():
            return _describe_grades(packet)
        case packets.ReportAudited():
            return ReportTrust.of_audit(packet.audit).line
        case packets.EstimateMade():
            return usual_cost_line(packet.estimate)
    return ""


def _number_of_sources(documents: Sequence[object]) -> str:
    return counted(len(documents), "source") if documents else "nothing"


def _describe_grades(packet: packets.ReportGraded) -> str:
    """Return how many points of the request the report answers, and which it does not."""
    points = counted(len(packet.grades), "point")
    answered = [grade for grade in packet.grades if grade.verdict == "answered"]
    line = f"{len(answered)} of {points} of the request answered"
    still_open = [shorten(grade.requirement) for grade in packet.grades if grade.is_open]
    if still_open:
        intent = "looking for more on" if packet.is_researched else "open"
        line += f"; {intent}: {'; '.join(still_open)}"
    not_judged = [
        shorten(grade.requirement) for grade in packet.grades if grade.verdict == "not judged"
    ]
    if not_judged:
        line += f"; not judged: {'; '.join(not_judged)}"
    return line


def describe_index(packet: packets.DocumentsIndexed) -> str:
    """Return the progress of indexing; at its end also the number, and the first few, of the
    unreadable files."""
    if not packet.unread_total:
        return f"documents indexed: {packet.done} of {packet.total}"
    count = f"documents indexed: {packet.readable} of {packet.readable + packet.unread_total}"
    unread = ", ".join(f"{file.path} ({file.reason})" for file in packet.unread)
    line = f"{count}; {packet.unread_total} could not be read: {unread}"
    more = packet.unread_total - len(packet.unread)
    if more:
        line += f", and {more} more: `deep-research doctor` with the same --docs lists them"
    return safe_text(line)


class PlainLines(ProgressView):
    """Prints one line per event, for pipes and logs."""

    def __init__(self, title: str = "", clock: Clock | None = None) -> None:
        super().__init__(title)
        self.plan: list[str] = []
        """Text of the plan, in the pieces that have arrived."""
        self.plan_turn = -1
        """Turn in which the plan is written."""
        self.clock = clock or SystemClock()

    async def during(self, work: Awaitable[Value]) -> Value:
        """Await `work` and return its result; every `_WAIT_SECONDS`, print what it is waiting
        for."""

        async def report() -> None:
            while True:
                await self.clock.sleep(_WAIT_SECONDS)
                self.print(self.pending or "still running")

        reporting = asyncio.create_task(report())
        try:
            return await work
        finally:
            reporting.cancel()

    def take(self, packet: AnyPacket) -> None:
        """Print a packet as a line; skip it if there is nothing to show."""
        turn = packet.placement.turn_index
        match packet:
            case packets.PlanStart():
                self.plan = []
                self.plan_turn = turn
            case packets.PlanDelta():
                self.plan.append(packet.content)
            case packets.SectionEnd() if turn == self.plan_turn:
                self.print(f"plan:\n{''.join(self.plan).strip()}")
            case packets.DocumentsIndexed() if (
                packet.done == packet.total or packet.done % _DOCUMENTS_PER_LINE == 0
            ):
                self.print(describe_index(packet))
            case packets.EstimateMade():
                self.print(describe(packet))
            case packets.OverallStop() if not is_completed(packet) and self.costs.calls:
                self.print(self.costs.line)
            case _ if is_report_start(packet):
                self.print("writing the report")
            case _:
                words = describe(packet)
                if words:
                    self.print(f"[{turn}.{packet.placement.tab_index + 1}] {words}")

    def recall(self, state: ResearchState) -> None:
        """Add the plan of the resumed run to the title."""
        if state.plan:
            self.title += f"\ncontinuing with the plan:\n{state.plan.text}"


def is_completed(stop: packets.OverallStop) -> bool:
    """Whether the run has ended with a report; the command then prints the costs below it."""
    return stop.stop_reason in ("completed", "completed_with_gaps")


def is_report_start(packet: AnyPacket) -> bool:
    """Whether this packet starts the report; a question to the user starts with the same packet
    without sources."""
    return isinstance(packet, packets.MessageStart) and packet.final_documents is not None


def shorten(words: str) -> str:
    """Shorten a text to one line of at most `_WIDTH` characters."""
    line = " ".join(safe_text(words).split())
    if len(line) > _WIDTH:
        line = f"{line[: _WIDTH - 1]}…"
    return line


class PacketLines(ProgressView):
    """Prints packets as JSON lines on standard output; the last one is always a stop packet."""

    def __init__(self) -> None:
        super().__init__("")
        self.has_stopped = False
        """Whether the last packet was a stop packet."""
        self.start = time.monotonic()

    def take(self, packet: AnyPacket) -> None:
        """Print a packet; raises `ReaderGone`, which stops the run, if the reader has closed the
        pipe."""
        self.has_stopped = isinstance(packet, OverallStop)
        # Pure ASCII works with any encoding of the reader.
        if not print_output(json.dumps(packet.model_dump(mode="json"))):
            raise ReaderGone

    def close(self, message: str, *, is_cancelled: bool) -> None:
        """Print a stop packet with this message unless there was one: a command can fail before its
        run begins."""
        if self.has_stopped:
            return
        stop = OverallStop(
            placement=Placement(turn_index=0),
            stop_reason="user_cancelled" if is_cancelled else "failed",
            message=message,
            elapsed_seconds=round(time.monotonic() - self.start, 3),
        )
        self.take(stop)


Outlet = Output | PacketLines
"""Where the report goes, while progress goes to standard error; or packets instead of both."""
