"""What one call of a model brings, emitted as it comes: thoughts, words, waits, costs."""

from __future__ import annotations

from typing_extensions import override

from ...records.research import Spent
from ..ledger import Bill
from .log import Emitter
from .packets import (
    CallContinued,
    CallDelayed,
    CallFinished,
    Packet,
    Placement,
    ReasoningDelta,
    ReasoningDone,
    ReasoningStart,
)


class CallEvents:
    """Emits the thoughts of a call as a block in a place of its own; what follows them takes the next place.

    Words beside tool calls count as thoughts; `ProseEvents` emits words as words.
    """

    is_report = False
    """Whether the words are the report's, which LangGraph's `messages` mode streams as well."""

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

    @property
    def has_thought(self) -> bool:
        """Whether a block of thoughts was emitted."""
        return bool(self.thoughts)

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
        """The call is made anew: its thoughts stand apart from those before."""
        if self.thoughts:
            self.on_thought("\n\n")

    def on_delay(self, seconds: float, reason: str) -> None:
        """The call waits so many seconds."""
        self.emit(CallDelayed(placement=self.placement, seconds=seconds, reason=reason))

    def on_continue(self, reason: str) -> None:
        """The stream broke; the words that came stay and are continued."""
        self.emit(CallContinued(placement=self.placement, reason=reason))

    def on_spent(self, spent: Spent, key: str = "") -> None:
        """A call has ended or broken off; `key` as in `Bill.add`."""
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
