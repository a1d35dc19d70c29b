"""Continues the prose of a plan or finding after its stream broke."""

from __future__ import annotations

from abc import abstractmethod

from typing_extensions import override

from ..evidence.text.continuation import Continuation, join_continuation
from ..models.ask import Reply, ask_model
from ..models.request import Request
from ..run.context import Context
from ..run.events.call import ProseEvents
from ..run.events.log import Emitter
from ..run.events.packets import Placement
from ..run.transcripts import broke_off
from .write import go_on


class ContinuedEvents(ProseEvents):
    """Emits prose, dropping text that a continuation repeats."""

    def __init__(self, emitter: Emitter, placement: Placement) -> None:
        super().__init__(emitter, placement)
        self._seam: Continuation | None = None

    @abstractmethod
    def show(self, words: str) -> None:
        """Emit the next words."""

    @override
    def pass_on(self, words: str) -> None:
        if new := self._seam.feed(words) if self._seam else words:
            self.show(new)

    def begin_rest(self, text: str) -> None:
        """Begin a continuation of this text."""
        self._seam = Continuation(text)

    def end_rest(self) -> None:
        """End the continuation."""
        seam, self._seam = self._seam, None
        if seam:
            self.pass_on(seam.finish())


async def ask_for_prose(request: Request, context: Context, events: ContinuedEvents) -> Reply:
    """Return the whole answer; if its stream breaks, continue it once."""
    begun = await ask_model(request._replace(keeps_broken=True), context, events)
    if not broke_off(begun.message):
        return begun
    text = begun.message.text
    events.begin_rest(text)
    rest = await ask_model(request._replace(messages=[*request.messages, *go_on(text)]), context, events)
    events.end_rest()
    whole = rest.message.model_copy(update={"content": join_continuation(text, rest.message.text)})
    return rest._replace(message=whole, refused=tuple({*begun.refused, *rest.refused}))
