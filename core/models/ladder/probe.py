"""Tries out by small calls how a model calls tools, and what else it can do."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from ...run.transcripts import CHARACTERS_PER_TOKEN, was_cut_off
from ..caller import bind_call
from ..faults import ToolsUnbound, kind_of, message_of
from .reply import read_reply, split
from .rungs import LADDER, Ability, RungName, prepare

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

    @property
    def begin_inside(self) -> bool:
        """Whether an answer began within a thought, without a tag that opens it."""
        return any(split(answer).began_inside for answer in self.answers)

    @property
    def ability(self) -> Ability | None:
        """How the model calls tools, by what was tried so far."""
        rung = next((rung for rung, trial in self._tried.items() if trial.works), None)
        return Ability(rung, self.begin_inside) if rung else None

    async def climb(self) -> RungName | None:
        """Try the rungs from the top, and return the first that works."""
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
    is_about_schema = kind is not None and bool(_ABOUT_SCHEMA.search(message_of(error)))
    return rung == "schema" and (kind == "rejected" or is_about_schema)


STOP_TOKENS = 16
WINDOW_TOKENS = 16_000
"""Tokens of the longest prompt that is tried."""
ANSWER_TOKENS = 1000
"""Tokens of the window that are left free for the answer."""
NEEDLE = "marigold"
_LINE = "The harbour log of day {} notes calm water, a light wind from the west and two ferries on time.\n"
_SAMPLES = ("Hello! Who are you?", "What is 17 + 25? Think it over, then give the number alone.")


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    """`tools`, `schema`, `stop`, `reasoning leak` or `window`."""
    is_ok: bool
    words: str
    """What was found, and what to do about it, for the user."""


class Examined(NamedTuple):
    """What a model can do."""

    checks: list[Check]
    ability: Ability | None
    """How it calls tools; None if it calls them in no way."""


async def find_ability(model: BaseChatModel, call: Call) -> Ability | None:
    """Try the rungs from the top until one works, and return it; None if none does.

    `call` makes each call and lets foreign errors through: those that mean that a server cannot do something are
    answers here, all others are raised.
    """
    trials = Trials(model, call)
    await trials.climb()
    return trials.ability


async def check_model(model: BaseChatModel, window: int | None, call: Call) -> Examined:
    """Check what a run needs of a model; `window` in input tokens, if it is known.

    The check of the tools is passed if the model calls one in any way.
    """
    trials = Trials(model, call)
    rung = await trials.climb()
    checks = [_check_tools(rung), await _check_schema(trials), await _check_stop(trials)]
    checks += [await _check_leak(trials), await _check_window(trials, window)]
    return Examined(checks, trials.ability)


def _check_tools(rung: RungName | None) -> Check:
    if rung is None:
        words = "The model called a tool in none of the four ways; choose another model (setting models)."
        return Check("tools", is_ok=False, words=words)
    words = {
        "native": "Tools are called by the API's own means.",
        "schema": "No tool calls by the API's own means; they are asked for as JSON held to a schema.",
        "json": "No tool calls by the API's own means; they are asked for as JSON text.",
        "tags": "No tool calls by the API's own means and no JSON; they are asked for as tagged text.",
    }[rung]
    return Check("tools", is_ok=True, words=f"{words} Rung: {rung}.")


async def _check_schema(trials: Trials) -> Check:
    trial = await trials.try_rung("schema")
    if trial.works:
        return Check("schema", is_ok=True, words="Answers keep to a JSON schema.")
    fault = "The server takes no JSON schema" if trial.is_refused else "The answer did not keep to the JSON schema"
    return Check("schema", is_ok=False, words=f"{fault}; tool_calls=schema cannot be used.")


async def _check_stop(trials: Trials) -> Check:
    prompt = "Write the numbers from 1 to 200 in words, separated by commas."
    message = await trials.ask(prompt, tokens=STOP_TOKENS, is_patient=False)
    if was_cut_off(message):
        return Check(
            "stop", is_ok=True, words=f"An answer that is cut off at {STOP_TOKENS} tokens is reported as such."
        )
    reason = message.response_metadata.get("finish_reason")
    words = (
        f"An answer limited to {STOP_TOKENS} tokens ended with finish_reason {reason!r} instead of 'length': reports "
        "that are cut off would be taken for whole ones; update the server, or choose another one (OPENAI_BASE_URL)."
    )
    return Check("stop", is_ok=False, words=words)


async def _check_leak(trials: Trials) -> Check:
    for sample in _SAMPLES:
        await trials.ask(sample)
    if trials.begin_inside:
        words = (
            "Thoughts leak into the answers without a tag that opens them; answers are shown only once they are whole."
        )
    elif any(split(answer).thought for answer in trials.answers):
        words = "Thoughts leak into the answers; their tags separate them from the text."
    else:
        return Check("reasoning leak", is_ok=True, words="No thoughts in the text of answers.")
    return Check("reasoning leak", is_ok=False, words=f"{words} The server's reasoning parser would mend it.")


async def _check_window(trials: Trials, window: int | None) -> Check:
    tokens = min(window or WINDOW_TOKENS, WINDOW_TOKENS)
    try:
        message = await trials.ask(_long_prompt(tokens))
    except Exception as error:
        # Every provider has errors of its own.
        if kind_of(error) != "long":
            raise
        words = f"A prompt of about {tokens} tokens was refused as too long; set window to what the server reads."
        return Check("window", is_ok=False, words=words)
    if NEEDLE in split(message.text).text.lower():
        return Check("window", is_ok=True, words=f"A prompt of about {tokens} tokens was read from its beginning.")
    counted = message.usage_metadata["input_tokens"] if message.usage_metadata else 0
    words = (
        f"The beginning of a prompt of about {tokens} tokens did not reach the model"
        f"{f' (the server counted {counted})' if counted else ''}: raise the server's own limit (Ollama: "
        "OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size), or set window to it."
    )
    return Check("window", is_ok=False, words=words)


def _long_prompt(tokens: int) -> str:
    """Return a prompt that leaves room for the answer, with a word at its beginning that is asked for at its end."""
    characters = max(tokens - ANSWER_TOKENS, ANSWER_TOKENS) * CHARACTERS_PER_TOKEN
    lines = "".join(_LINE.format(day) for day in range(1, characters // len(_LINE) + 1))
    return f"The word of this log is {NEEDLE}.\n\n{lines}\nWhat is the word of this log? Answer with the word alone."
