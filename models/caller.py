"""Makes calls for a role: with the patience of its run, under watch, and with what they cost told."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from ..run.context import Context, Role
from ..run.fencing import without_names
from ..run.pages import text_hash
from ..run.telling import Teller
from .costs import spent_on
from .patience import Patience
from .resolve import is_extractive, profile_of
from .timed import Assembly, timed_parts


class Caller(NamedTuple):
    """Who calls a model: with whose patience, and who hears of it."""

    role: Role
    context: Context
    patience: Patience
    teller: Teller

    @property
    def config(self) -> RunnableConfig:
        """What tracers are told of a call, and whether LangGraph's `messages` mode streams its words."""
        who = {"user_id": self.context.user, "session_id": self.context.session}
        return {
            "tags": [self.role, *([] if self.teller.is_report else [TAG_NOSTREAM])],
            "metadata": {"role": self.role, **{name: value for name, value in who.items() if value}},
        }

    async def parts(
        self,
        model: Runnable[Any, Any],
        messages: Sequence[AnyMessage],
        *,
        is_long: bool = False,
        is_streamed: bool = False,
    ) -> AsyncGenerator[tuple[AIMessage | None, Assembly], None]:
        """The parts of the answer as they come, each with all that came so far; no part: what came before is void.

        What each try has cost is told, also of one that broke off, which is made again unless its words were heard. An
        answer that was given to the calling node before it was stopped comes whole and costs nothing. `is_long` and
        `is_streamed` as in `timed_parts`; raises what that and `Patience.stream` raise.
        """
        answer, key = Assembly(), ""
        answers = None if is_extractive(self.role, self.context) else self.teller.bill.answers
        asked = self._name(messages) if answers else ""
        if answers and (earlier := await answers.earlier(asked)):
            answer.add(earlier.message)
            if spent := spent_on(earlier.message, messages, self.role, self.context):
                self.teller.bill.add(spent, earlier.key)
            yield earlier.message, answer
            return
        limits = self.context.limits
        tries = self.patience.stream(
            lambda: timed_parts(
                model, messages, self.role, self.config, limits, is_long=is_long, is_streamed=is_streamed
            ),
            profile_of(self.role, self.context).name,
            may_repeat=lambda: not self.teller.is_heard,
            on_wait=self.teller.waits,
        )
        try:
            async with aclosing(tries):
                async for part in tries:
                    if part is None:
                        self._tell_cost(answer, messages)
                        answer = Assembly()
                    else:
                        answer.add(part)
                    yield part, answer
            if answers and answer.whole is not None:
                key = await answers.keep(asked, answer.message(self.role))
        finally:
            self._tell_cost(answer, messages, key)

    async def message(self, model: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
        """The whole answer to a call that nobody watches."""
        answer = Assembly()
        parts = self.parts(model, messages)
        async with aclosing(parts):
            async for _, answer in parts:  # noqa: B007 - the last one is the whole answer
                pass
        return answer.message(self.role)

    def _tell_cost(self, answer: Assembly, messages: Sequence[AnyMessage], key: str = "") -> None:
        if answer.whole is None:
            return
        if spent := spent_on(answer.message(self.role), messages, self.role, self.context):
            self.teller.spent(spent, key)

    def _name(self, messages: Sequence[AnyMessage]) -> str:
        """The name of a call: the same for the same words to the same model."""
        said = [
            (one.type, one.content, getattr(one, "tool_calls", ""), getattr(one, "tool_call_id", ""))
            for one in messages
        ]
        words = json.dumps([self.role, profile_of(self.role, self.context).name, said], default=str)
        return text_hash(without_names(words))
