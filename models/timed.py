"""One try of a model's call: streamed under a watch for silence and length, and put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig

from ..run.context import Role
from ..run.errors import ModelFailed
from ..run.limits import Limits
from .arguments import whole_message
from .faults import AnswerSilent

SLICE_SECONDS = 0.02
"""How long the parts of an answer may be taken one after the other before others have their turn."""


async def timed_parts(
    model: Runnable[Any, Any],
    messages: Sequence[AnyMessage],
    role: Role,
    config: RunnableConfig,
    limits: Limits,
    *,
    is_long: bool,
    is_streamed: bool,
) -> AsyncGenerator[AIMessage, None]:
    """The parts of one try, a single one if it is not streamed, which takes a fraction of the work.

    `is_long` allows the longer silence of findings and reports, and so does an answer that comes whole.
    Raises `AnswerSilent` when the stream falls silent, `ModelFailed` when it lasts longer than `call_seconds`.
    """
    loop = asyncio.get_running_loop()
    stream = aiter(model.astream(list(messages), config) if is_streamed else _whole(model, messages, config))
    limit = "report_idle_seconds" if is_long or not is_streamed else "idle_seconds"
    idle: float = getattr(limits, limit)
    paused = loop.time()
    end = paused + limits.call_seconds
    while True:
        left = end - loop.time()
        silence = asyncio.timeout(min(idle, left))
        try:
            async with silence:
                part = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            if not silence.expired():
                raise
            if left < idle:
                limited = f"{limits.call_seconds:g} s for one answer (call_seconds)"
                raise ModelFailed(f"The {role}'s model took longer than {limited}.") from error
            raise AnswerSilent(idle, limit) from error
        # Parts that wait to be read come without a pause, in which others could work.
        if loop.time() - paused > SLICE_SECONDS:
            await asyncio.sleep(0)
            paused = loop.time()
        # A model that cannot stream hands over its whole message at once.
        if isinstance(part, AIMessage):
            yield part


async def _whole(
    model: Runnable[Any, Any], messages: Sequence[AnyMessage], config: RunnableConfig
) -> AsyncGenerator[Any, None]:
    yield await model.ainvoke(list(messages), config)


class Assembly:
    """Puts the parts of an answer together."""

    def __init__(self) -> None:
        self.whole: AIMessage | None = None
        """What came so far; none before the first part."""

    def add(self, part: AIMessage) -> None:
        """Take the next part."""
        can_be_added = isinstance(self.whole, AIMessageChunk) and isinstance(part, AIMessageChunk)
        self.whole = self.whole + part if can_be_added else part  # type: ignore[operator, assignment]  # both are chunks

    def message(self, role: Role) -> AIMessage:
        """The whole message with the text as it came; raises `ModelFailed` if nothing came."""
        if self.whole is None:
            raise ModelFailed(f"The {role}'s model broke off without an answer.")
        return whole_message(self.whole, self.whole.text) if isinstance(self.whole, AIMessageChunk) else self.whole
