"""Trial calls that find out how a model calls tools, how fast it is, and whether it reads all of a long prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from ...run.transcripts import CHARACTERS_PER_TOKEN, was_cut_off
from ..caller import Caller, bind_call, spent_on
from ..faults import ToolsUnbound, fault_kind, message_of
from ..retries import has_content
from .reply import read_reply, reasoning_of, split_thoughts
from .rungs import LADDER, Ability, RungName, prepare

_TRIAL_TOKENS = (200, 2000)
"""Output limit in tokens of a trial call, and of its repetition if thoughts used up the first limit."""
_WORD = "amber"
_PARAMETERS = {
    "type": "object",
    "properties": {"word": {"type": "string", "description": "The word to save."}},
    "required": ["word"],
}
_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "save_word", "description": "Save a word.", "parameters": _PARAMETERS},
}
_PROMPT: tuple[AnyMessage, ...] = (
    SystemMessage("You follow instructions exactly."),
    HumanMessage(f"Save the word {_WORD}: call save_word with it."),
)
_PROMPT_TOKENS = 16_000
"""Maximum tokens of the long prompt."""
_ANSWER_TOKENS = 1000
"""Tokens of the window that are reserved for the answer."""
_LONGEST_SECONDS = 30.0
"""The long prompt is not sent to models that would take longer than this to read it."""
_NEEDLE = "marigold"
"""Word at the beginning of the long prompt that the model has to repeat."""
_LINE = "The harbour log of day {} notes calm water, a light wind from the west and two ferries on time.\n"
_ABOUT_SCHEMA = re.compile(r"response.?format|json.?schema|grammar|guided|structured.?output", re.IGNORECASE)
"""Matches errors that are about JSON schemas."""
_FOUND: dict[RungName, str] = {
    "native": "Tools are called through the API.",
    "schema": "No tool calls through the API; they are requested as JSON with a schema.",
    "tags": "No tool calls through the API and no JSON schema; they are requested as tagged text.",
}

Call = Callable[[Runnable[Any, Any], Sequence[AnyMessage]], Awaitable[AIMessage]]
"""Calls a bound model once and returns its answer; raises the errors of its client."""


class Check(NamedTuple):
    """The result of one check, for the user."""

    name: str
    """`tools`, `speed` or `window`."""
    is_ok: bool
    words: str
    """What was found, and what the user can do about it."""


class Speed(NamedTuple):
    """A model's speed in tokens per second."""

    read: float
    """Tokens of the prompt."""
    written: float
    """Tokens of the answer."""


async def find_ability(model: BaseChatModel, call: Call) -> Ability | None:
    """Have a model call a tool on each rung in turn; return its ability with the first rung that works, or None.

    If `call` fails because the server does not support a rung, the next one is tried; other errors are raised.
    """
    begins_inside = reasons = False
    for rung in LADDER:
        try:
            message = await _ask_for_call(model, call, rung)
        except ToolsUnbound:
            continue
        except Exception as error:
            kind = fault_kind(error)
            is_about_schema = kind is not None and bool(_ABOUT_SCHEMA.search(message_of(error)))
            is_unsupported = {
                "native": kind in ("no_tools", "rejected"),
                "schema": kind == "rejected" or is_about_schema,
                "tags": False,
            }
            if not is_unsupported[rung]:
                raise
            continue
        begins_inside |= split_thoughts(message.text).began_inside
        reasons |= bool(reasoning_of(message))
        if _has_called(rung, message):
            return Ability(rung, begins_inside, reasons)
    return None


def check_rung(ability: Ability | None) -> Check:
    """Return what `find_ability` found as a check, which passes unless it is None."""
    words = "The model called no tool in any of the three ways; choose another model (setting models)."
    words = f"{_FOUND[ability.rung]} Rung: {ability.rung}." if ability else words
    return Check("tools", is_ok=ability is not None, words=words)


async def measure_speed(model: BaseChatModel, caller: Caller) -> Speed | None:
    """Measure a model's speed with a prompt of a few hundred tokens; None if its answer arrives in one piece."""
    # A unique beginning keeps the server from using its prompt cache.
    prompt = [HumanMessage(f"{uuid4()}\n{_LINE.format(1) * 16}Write the numbers from one to twenty as words.")]
    seconds, times = caller.context.clock.seconds, list[float]()
    start = seconds()
    parts = caller.parts(bind_call(model, [], "auto", _TRIAL_TOKENS[0], "", {}), prompt, is_streamed=True)
    async with aclosing(parts):
        async for part, answer in parts:  # noqa: B007 - the last one is the whole answer
            if part is None:
                start, times = seconds(), []
            elif has_content(part):
                times.append(seconds())
    spent = spent_on(answer.message(caller.role), prompt, caller.role, caller.context)
    if not spent or not times or not start < times[0] < times[-1]:
        return None
    fresh = spent.input_tokens - spent.cached_tokens
    return Speed(fresh / (times[0] - start), spent.output_tokens / (times[-1] - times[0]))


async def _ask_for_call(model: BaseChatModel, call: Call, rung: RungName) -> AIMessage:
    """Return the answer to a request to call the trial tool."""
    prepared = prepare(rung, _PROMPT, [_TOOL], "any")
    for tokens in _TRIAL_TOKENS:
        message = await call(bind_call(model, prepared.tools, "any", tokens, "", prepared.settings), prepared.messages)
        # A higher limit only helps a model that was still thinking.
        is_thinking = bool(reasoning_of(message)) or not split_thoughts(message.text).text.strip()
        if not was_cut_off(message) or not is_thinking or _has_called(rung, message):
            break
    return message


def _has_called(rung: RungName, message: AIMessage) -> bool:
    """Whether the answer calls the trial tool as asked, in the form of the rung."""
    if rung == "schema":
        # JSON that would need repair shows that the server does not enforce the schema.
        try:
            if not isinstance(json.loads(split_thoughts(message.text).text), dict):
                return False
        except (ValueError, RecursionError):
            return False
    calls = message.tool_calls if rung == "native" else read_reply(message, [_TOOL]).tool_calls
    return any(call["name"] == "save_word" and _WORD in str(call["args"].get("word", "")).lower() for call in calls)


async def check_window(model: BaseChatModel, window: int | None, call: Call, speed: Speed | None = None) -> Check:
    """Check whether a model reads a long prompt from its beginning; passes without a call if the model is slow.

    `window`: the model's window in tokens, if known. `speed`: as measured; None if not known.
    """
    tokens = min(window or _PROMPT_TOKENS, _PROMPT_TOKENS)
    if speed and tokens > speed.read * _LONGEST_SECONDS:
        known = f"the window is {window} tokens" if window else "set window to the limit of its server"
        words = f"No long prompt was tried: reading {tokens} tokens takes {tokens / speed.read:.0f} s; {known}."
        return Check("window", is_ok=True, words=words)
    characters = max(tokens - _ANSWER_TOKENS, _ANSWER_TOKENS) * CHARACTERS_PER_TOKEN
    lines = "".join(_LINE.format(day) for day in range(1, characters // len(_LINE) + 1))
    question = "What is the word of this log? Answer with the word alone."
    prompt = [HumanMessage(f"The word of this log is {_NEEDLE}.\n\n{lines}\n{question}")]
    try:
        for most in _TRIAL_TOKENS:
            message = await call(bind_call(model, [], "auto", most, "", {}), prompt)
            if not was_cut_off(message) or split_thoughts(message.text).text.strip():
                break
    except Exception as error:
        if fault_kind(error) != "long":
            raise
        words = f"A prompt of about {tokens} tokens was refused as too long; set window to the limit of the server."
        return Check("window", is_ok=False, words=words)
    if _NEEDLE in split_thoughts(message.text).text.lower():
        return Check("window", is_ok=True, words=f"A prompt of about {tokens} tokens was read from its beginning.")
    counted = message.usage_metadata["input_tokens"] if message.usage_metadata else 0
    words = (
        f"The beginning of a prompt of about {tokens} tokens did not reach the model"
        f"{f' (the server counted {counted})' if counted else ''}: raise the server's own limit (Ollama: "
        "OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size), or set window to it."
    )
    return Check("window", is_ok=False, words=words)
