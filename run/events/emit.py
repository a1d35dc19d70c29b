"""Emits the packets of a run while it works."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import override

from ...records.research import Run, Spent
from ..ledger import Bill
from .log import Emitter
from .packets import (
    CallContinued,
    CallDelayed,
    CallFinished,
    OverallStop,
    Packet,
    PacketError,
    Placement,
    ReasoningDelta,
    ReasoningDone,
    ReasoningStart,
    StopReason,
)


class Teller:
    """Shows the thoughts of one call as a block in a place of its own, and what follows them in the next place.

    Words beside tool calls are thoughts too; `ProseTeller` shows words as words.
    """

    is_report = False
    """Whether the words are those of the report, which LangGraph's `messages` mode streams, too."""

    def __init__(self, emitter: Emitter, placement: Placement) -> None:
        """Take the place of the first packet."""
        self.emitter = emitter
        self.placement = placement
        """Where the next packet goes."""
        self.thoughts = ""
        """The thoughts so far, as they were shown."""
        self.is_heard = False
        """Whether words of prose of the present call were shown, which cannot be taken back."""
        self.bill = Bill()
        """What all calls have cost."""
        self._first_place = placement

    @property
    def is_watched(self) -> bool:
        """Whether somebody sees words and thoughts as they come."""
        return self.emitter.is_heard

    @property
    def has_thought(self) -> bool:
        """Whether a block of thoughts was shown."""
        return bool(self.thoughts)

    def thought(self, words: str) -> None:
        """Take words of a thought."""
        if not self.thoughts:
            words = words.lstrip()
        if not words or self.placement != self._first_place:
            return
        if not self.thoughts:
            self.tell(ReasoningStart(placement=self.placement))
        self.thoughts += words
        self.tell(ReasoningDelta(placement=self.placement, reasoning=words))

    def text(self, words: str) -> None:
        """Take words of the answer."""
        self.thought(words)

    def end(self) -> None:
        """Close the block of thoughts: what comes now has the next place."""
        if self.thoughts and self.placement == self._first_place:
            self.tell(ReasoningDone(placement=self.placement))
            self.placement = self._after_thought()

    def _after_thought(self) -> Placement:
        """A researcher's thoughts move on by a step, all others by a turn."""
        step, turn = self.placement.sub_turn_index, self.placement.turn_index
        next_place = {"turn_index": turn + 1} if step is None else {"sub_turn_index": step + 1}
        return self.placement.model_copy(update=next_place)

    def starts_over(self) -> None:
        """The call is made anew; what was thought before stands apart from what is thought now."""
        if self.thoughts:
            self.thought("\n\n")

    def waits(self, seconds: float, reason: str) -> None:
        """The call is delayed."""
        self.tell(CallDelayed(placement=self.placement, seconds=seconds, reason=reason))

    def goes_on(self, reason: str) -> None:
        """The call broke; what was shown of it stays and is continued."""
        self.tell(CallContinued(placement=self.placement, reason=reason))

    def spent(self, spent: Spent, key: str = "") -> None:
        """A call is over, or has broken off; `key` as in `Bill.add`."""
        self.bill.add(spent, key)
        costs = spent.model_dump(include={"role", "input_tokens", "cached_tokens", "output_tokens", "usd"})
        self.tell(CallFinished(placement=self.placement, **costs))

    def tell(self, *packets: Packet) -> None:
        """Emit packets."""
        self.emitter.emit(*packets)


class QuietTeller(Teller):
    """Holds words and thoughts back, where they would only be in the way."""

    @property
    @override
    def is_watched(self) -> bool:
        return False

    def thought(self, words: str) -> None:
        """Say nothing."""

    def text(self, words: str) -> None:
        """Say nothing."""


class ProseTeller(Teller):
    """Shows the words of the answer as they come, after a packet that begins them."""

    has_started = False
    """Whether words of any call were shown."""

    @override
    def thought(self, words: str) -> None:
        # Within the prose, a block of thoughts has no place of its own.
        if not self.has_started:
            super().thought(words)

    @override
    def text(self, words: str) -> None:
        self.is_heard = True
        self.end()
        if not self.has_started:
            self.has_started = True
            self.tell(self.start())
        self.pass_on(words)

    def start(self) -> Packet:
        """What comes before the first words."""
        raise NotImplementedError

    def pass_on(self, words: str) -> None:
        """Show the next words."""
        raise NotImplementedError


def stop_told(run: Run, turn: int) -> OverallStop:
    """That the run has ended or waits for the user, behind the block of this turn."""
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
    """What is said where a researcher stands that did not finish."""
    return PacketError(placement=place, message=f"A researcher did not finish: {reason}.")
