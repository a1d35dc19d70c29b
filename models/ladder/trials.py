"""Small calls that show what a model can do."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from ...run.calls import was_cut_off
from ..binding import bind_call
from ..faults import ToolsUnbound, kind_of, words_of
from .reply import read_reply
from .rungs import LADDER, RungName, prepare
from .thoughts import split

TRIAL_TOKENS = 200
LONG_TRIAL_TOKENS = 2000
"""Output tokens of the second try, where a model has used up those of the first for its thoughts."""
WORD = "amber"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "save_word",
        "description": "Save a word.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string", "description": "The word to save."}},
            "required": ["word"],
        },
    },
}
PROMPT: tuple[AnyMessage, ...] = (
    SystemMessage("You follow instructions exactly."),
    HumanMessage(f"Save the word {WORD}: call save_word with it."),
)
_ABOUT_SCHEMA = re.compile(r"response.?format|json.?schema|grammar|guided|structured.?output", re.IGNORECASE)

Call = Callable[[Runnable[Any, Any], Sequence[AnyMessage]], Awaitable[AIMessage]]
"""Makes one call of a bound model; foreign errors come through as they are."""


class Trial(NamedTuple):
    """What came of having a model call a tool."""

    works: bool
    is_refused: bool = False
    """Whether the server did not take the request."""


class Trials:
    """Makes the calls of one examination."""

    def __init__(self, model: BaseChatModel, call: Call) -> None:
        self.answers: list[str] = []
        """The texts as they came."""
        self._tried: dict[RungName, Trial] = {}
        self._model = model
        self._call = call

    async def ask(self, text: str, *, tokens: int = TRIAL_TOKENS, is_patient: bool = True) -> AIMessage:
        """Ask for words; `is_patient`: once more with more tokens, where thoughts have used them up."""
        messages = [HumanMessage(text)]
        message = await self._ask(bind_call(self._model, [], "auto", tokens, "", {}), messages)
        if is_patient and was_cut_off(message) and not split(message.text).text.strip():
            message = await self._ask(bind_call(self._model, [], "auto", LONG_TRIAL_TOKENS, "", {}), messages)
        return message

    async def climb(self) -> RungName | None:
        """The first rung that works; none if none does."""
        for rung in LADDER:
            if (await self.try_rung(rung)).works:
                return rung
        return None

    async def try_rung(self, rung: RungName) -> Trial:
        """Have the model call a tool in the way of the rung, once; errors that say nothing of the rung are raised."""
        if rung not in self._tried:
            self._tried[rung] = await self._try(rung)
        return self._tried[rung]

    async def _try(self, rung: RungName) -> Trial:
        try:
            message = await self._have_called(rung, TRIAL_TOKENS)
            if was_cut_off(message) and not _has_called(rung, message):
                message = await self._have_called(rung, LONG_TRIAL_TOKENS)
        except ToolsUnbound:
            return Trial(works=False, is_refused=True)
        except Exception as error:
            # Every provider has errors of its own.
            if not _speaks_against(rung, error):
                raise
            return Trial(works=False, is_refused=True)
        return Trial(_has_called(rung, message))

    async def _have_called(self, rung: RungName, tokens: int) -> AIMessage:
        prepared = prepare(rung, PROMPT, [TOOL], "any")
        bound = bind_call(self._model, prepared.tools, "any", tokens, "", prepared.settings)
        return await self._ask(bound, prepared.messages)

    async def _ask(self, model: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
        message = await self._call(model, messages)
        self.answers.append(message.text)
        return message


def _has_called(rung: RungName, message: AIMessage) -> bool:
    if rung == "native":
        calls = message.tool_calls
    elif rung == "schema" and not _is_json(message.text):
        return False
    else:
        calls = read_reply(message, [TOOL]).tool_calls
    return any(call["name"] == "save_word" and WORD in str(call["args"].get("word", "")).lower() for call in calls)


def _is_json(text: str) -> bool:
    """Whether the text is one JSON object as it stands: where a schema is kept to, nothing has to be repaired."""
    try:
        return isinstance(json.loads(split(text).text), dict)
    except (ValueError, RecursionError):
        return False


def _speaks_against(rung: RungName, error: Exception) -> bool:
    """Whether the error says that the server does not take what the rung needs."""
    kind = kind_of(error)
    if rung == "native":
        return kind in ("no_tools", "rejected")
    is_about_schema = kind is not None and bool(_ABOUT_SCHEMA.search(words_of(error)))
    return rung == "schema" and (kind == "rejected" or is_about_schema)
