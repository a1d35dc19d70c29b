"""Small calls that show what a model can do."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from deep_research.models.arguments import whole_message
from deep_research.models.faults import kind_of, words_of
from deep_research.models.ladder.rungs import LADDER, Rung, RungName
from deep_research.models.ladder.thoughts import split
from deep_research.run.calls import was_cut_off
from deep_research.run.errors import ModelFailed

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


async def streamed(model: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
    """The whole answer of one call, made as a run makes it: streamed."""
    whole: AIMessage | None = None
    async for part in model.astream(list(messages), {"tags": [TAG_NOSTREAM]}):
        whole = whole + part if isinstance(whole, AIMessageChunk) else part
    if whole is None:
        raise ModelFailed("The model broke off without an answer.")
    return whole_message(whole, whole.text) if isinstance(whole, AIMessageChunk) else whole


class Trial(NamedTuple):
    """What came of having a model call a tool."""

    works: bool
    is_refused: bool = False
    """Whether the server did not take the request."""


class Trials:
    """Makes the calls of one examination and counts them."""

    def __init__(self, model: BaseChatModel, call: Call) -> None:
        self.calls = self.input_tokens = self.output_tokens = 0
        self.answers: list[str] = []
        """The texts as they came."""
        self._tried: dict[RungName, Trial] = {}
        self._model = model
        self._call = call

    async def ask(self, text: str, *, tokens: int = TRIAL_TOKENS, is_patient: bool = True) -> AIMessage:
        """Ask for words; `is_patient`: once more with more tokens, where thoughts have used them up."""
        messages = [HumanMessage(text)]
        message = await self._ask(self._model.bind(max_tokens=tokens), messages)
        if is_patient and was_cut_off(message) and not split(message.text).text.strip():
            message = await self._ask(self._model.bind(max_tokens=LONG_TRIAL_TOKENS), messages)
        return message

    async def climb(self) -> Rung | None:
        """The first rung that works; none if none does."""
        for rung in LADDER:
            if (await self.try_rung(rung)).works:
                return rung
        return None

    async def try_rung(self, rung: Rung) -> Trial:
        """Have the model call a tool in the way of the rung, once; errors that say nothing of the rung are raised."""
        if rung.name not in self._tried:
            self._tried[rung.name] = await self._try(rung)
        return self._tried[rung.name]

    async def _try(self, rung: Rung) -> Trial:
        try:
            message = await self._have_called(rung, TRIAL_TOKENS)
            if was_cut_off(message) and not _has_called(rung, message):
                message = await self._have_called(rung, LONG_TRIAL_TOKENS)
        except NotImplementedError:
            return Trial(works=False, is_refused=True)
        except Exception as error:
            # Every provider has errors of its own.
            if not _speaks_against(rung, error):
                raise
            return Trial(works=False, is_refused=True)
        return Trial(_has_called(rung, message))

    async def _have_called(self, rung: Rung, tokens: int) -> AIMessage:
        prepared = rung.prepare(PROMPT, [TOOL], "any")
        settings = {**prepared.settings, "max_tokens": tokens}
        if prepared.tools:
            bound = self._model.bind_tools(prepared.tools, tool_choice="any", **settings)
        else:
            bound = self._model.bind(**settings)
        return await self._ask(bound, prepared.messages)

    async def _ask(self, model: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
        self.calls += 1
        message = await self._call(model, messages)
        usage = message.usage_metadata
        self.input_tokens += usage["input_tokens"] if usage else count_tokens_approximately(messages)
        self.output_tokens += usage["output_tokens"] if usage else count_tokens_approximately([message])
        self.answers.append(message.text)
        return message


def _has_called(rung: Rung, message: AIMessage) -> bool:
    if rung.name == "native":
        calls = message.tool_calls
    elif rung.name == "schema" and not _is_json(message.text):
        return False
    else:
        calls = rung.read(message, [TOOL]).tool_calls
    return any(call["name"] == "save_word" and WORD in str(call["args"].get("word", "")).lower() for call in calls)


def _is_json(text: str) -> bool:
    """Whether the text is one JSON object as it stands: where a schema is kept to, nothing has to be repaired."""
    try:
        return isinstance(json.loads(split(text).text), dict)
    except (ValueError, RecursionError):
        return False


def _speaks_against(rung: Rung, error: Exception) -> bool:
    """Whether the error says that the server does not take what the rung needs."""
    kind = kind_of(error)
    if rung.name == "native":
        return kind in ("no_tools", "rejected")
    is_about_schema = kind is not None and bool(_ABOUT_SCHEMA.search(words_of(error)))
    return rung.name == "schema" and (kind == "rejected" or is_about_schema)
