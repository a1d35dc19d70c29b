"""Tells the run's listeners what a model's call brings, while it runs."""

from __future__ import annotations

from langgraph.types import StreamWriter

from deep_research.run.packets import (
    CallDelayed,
    CallFinished,
    Packet,
    Placement,
    ReasoningDelta,
    ReasoningDone,
    ReasoningStart,
    emit,
)
from deep_research.state import Spent


class Teller:
    """Shows the thoughts of one call as a block in a place of its own, and what follows them in the next place.

    Words beside tool calls are thoughts too; a subclass for prose overrides `text`.
    """

    has_started = False
    """Whether words of prose were shown, which cannot be taken back."""

    def __init__(self, writer: StreamWriter, placement: Placement) -> None:
        """Take the place of the first packet."""
        self.writer = writer
        self.placement = placement
        """Where the next packet goes."""
        self.thoughts = ""
        """The thoughts so far, as they were shown."""
        self._first_place = placement

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
            self.placement = self.after_thought()

    def after_thought(self) -> Placement:
        """Where packets go after a thought."""
        return self.placement.model_copy(update={"turn_index": self.placement.turn_index + 1})

    def waits(self, seconds: float, reason: str) -> None:
        """The call is delayed."""
        self.tell(CallDelayed(placement=self.placement, seconds=seconds, reason=reason))

    def spent(self, spent: Spent) -> None:
        """The call is over."""
        costs = spent.model_dump(include={"role", "input_tokens", "cached_tokens", "output_tokens", "usd"})
        self.tell(CallFinished(placement=self.placement, **costs))

    def tell(self, *packets: Packet) -> None:
        """Send packets."""
        emit(self.writer, *packets)

    def kept(self, question_id: str) -> dict[str, str]:
        """The thoughts under the place where they were shown, for the state."""
        return {place_key(question_id, self._first_place): self.thoughts} if self.thoughts else {}


class StepTeller(Teller):
    """A researcher's thoughts: they move on by a step, not by a turn."""

    def after_thought(self) -> Placement:
        """The next step of the same researcher."""
        return self.placement.model_copy(update={"sub_turn_index": (self.placement.sub_turn_index or 0) + 1})


def place_key(question_id: str, place: Placement) -> str:
    """The name of a place in the state's `thoughts`: `<question id>:<turn>.<tab>[.<sub turn>]`."""
    step = "" if place.sub_turn_index is None else f".{place.sub_turn_index}"
    return f"{question_id}:{place.turn_index}.{place.tab_index}{step}"
