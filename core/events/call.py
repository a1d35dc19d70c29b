"""Emits the packets of model calls: thoughts, text, waits, costs."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage
from typing_extensions import override

from ..accounts.ledger import Bill
from ..records.research import Spent
from . import packets
from .log import Emitter
from .packets import Packet, Placement

_THOUGHTS_ALONE = (
    " It sent only thoughts, perhaps because its server has no or the wrong reasoning parser."
)
"""Ending of the error message for a model that answered with reasoning text but no content."""
_CITED = re.compile(r"\[\d[\d, ]*\](?!\s*\[\d)")
"""End of a statement's citations, such as `[1, 2]` or the last of `[1] [2]`."""


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
    def why_no_text(self) -> str:
        """Ending of the error message for a model that sent no text; empty if it sent no thoughts
        either."""
        return _THOUGHTS_ALONE if self.thoughts else ""

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

    def keeps_text(self, answer: AIMessage) -> bool:  # noqa: ARG002 - for observers that read it
        """Whether the text of an answer that may have calls is kept for the node, which shows it as
        something else than a thought."""
        return False

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

    def on_progress(self, text: str, silent_seconds: float = 0) -> None:
        """Emit how the answer of a call stands: its text so far, and how long nothing has come."""
        progress = packets.CallPending(
            placement=self.placement,
            silent_seconds=round(silent_seconds, 1),
            words=len(text.split()),
            facts=len(_CITED.findall(text)),
        )
        self.emit(progress)

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
