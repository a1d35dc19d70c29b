"""Finds out by small calls how a model calls tools, how fast it is, and whether it reads a long prompt whole."""

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
from ..faults import ToolsUnbound, kind_of, message_of
from ..retries import has_words
from .reply import read_reply, reasoning_of, split
from .rungs import LADDER, Ability, RungName, prepare

TRIAL_TOKENS = (200, 2000)
"""Output tokens of the first try, and of a second one where a model has used up those of the first for its thoughts."""
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
WINDOW_TOKENS = 16_000
"""Tokens of the longest prompt that is tried."""
ANSWER_TOKENS = 1000
"""Tokens of the window that are left free for the answer."""
LONGEST_SECONDS = 30.0
"""Seconds that reading the longest prompt may take; a slower model is not sent it."""
NEEDLE = "marigold"
_LINE = "The harbour log of day {} notes calm water, a light wind from the west and two ferries on time.\n"
_ABOUT_SCHEMA = re.compile(r"response.?format|json.?schema|grammar|guided|structured.?output", re.IGNORECASE)
_FOUND: dict[RungName, str] = {
    "native": "Tools are called by the API's own means.",
    "schema": "No tool calls by the API's own means; they are asked for as JSON held to a schema.",
    "tags": "No tool calls by the API's own means and no JSON schema; they are asked for as tagged text.",
}

Call = Callable[[Runnable[Any, Any], Sequence[AnyMessage]], Awaitable[AIMessage]]
"""Makes one call of a bound model; foreign errors come through as they are."""


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    """`tools`, `speed` or `window`."""
    is_ok: bool
    words: str
    """What was found, and what to do about it, for the user."""


class Speed(NamedTuple):
    """Tokens a second."""

    read: float
    written: float


async def find_ability(model: BaseChatModel, call: Call) -> Ability | None:
    """Try the rungs from the top until one works, and return it; None if none does.

    `call` makes each call and lets foreign errors through: those that mean that a server cannot do something are
    answers here, all others are raised.
    """
    begins_inside = reasons = False
    for rung in LADDER:
        try:
            message = await _have_called(model, call, rung)
        except ToolsUnbound:
            continue
        except Exception as error:
            # Every provider has errors of its own.
            if not _speaks_against(rung, error):
                raise
            continue
        begins_inside |= split(message.text).began_inside
        reasons |= bool(reasoning_of(message))
        if _has_called(rung, message):
            return Ability(rung, begins_inside, reasons)
    return None


def check_rung(ability: Ability | None) -> Check:
    """Return the check of the tools, which is passed if the model calls one in any way."""
    words = "The model called a tool in none of the three ways; choose another model (setting models)."
    words = f"{_FOUND[ability.rung]} Rung: {ability.rung}." if ability else words
    return Check("tools", is_ok=ability is not None, words=words)


async def measure_speed(model: BaseChatModel, caller: Caller) -> Speed | None:
    """Return how fast a model reads and writes a few hundred tokens; none if its answer comes in one piece."""
    # A prompt that begins like no other is in no cache.
    prompt = [HumanMessage(f"{uuid4()}\n{_LINE.format(1) * 16}Write the numbers from one to twenty as words.")]
    seconds, times = caller.context.clock.seconds, list[float]()
    start = seconds()
    parts = caller.parts(bind_call(model, [], "auto", TRIAL_TOKENS[0], "", {}), prompt, is_streamed=True)
    async with aclosing(parts):
        async for part, answer in parts:  # noqa: B007 - the last one is the whole answer
            if part is None:
                start, times = seconds(), []
            elif has_words(part):
                times.append(seconds())
    spent = spent_on(answer.message(caller.role), prompt, caller.role, caller.context)
    if not spent or not times or not start < times[0] < times[-1]:
        return None
    fresh = spent.input_tokens - spent.cached_tokens
    return Speed(fresh / (times[0] - start), spent.output_tokens / (times[-1] - times[0]))


async def _have_called(model: BaseChatModel, call: Call, rung: RungName) -> AIMessage:
    prepared = prepare(rung, PROMPT, [TOOL], "any")
    for tokens in TRIAL_TOKENS:
        message = await call(bind_call(model, prepared.tools, "any", tokens, "", prepared.settings), prepared.messages)
        # What begins to answer in the open is no thought that wants more room.
        is_thinking = bool(reasoning_of(message)) or not split(message.text).text.strip()
        if not was_cut_off(message) or not is_thinking or _has_called(rung, message):
            break
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


async def check_window(model: BaseChatModel, window: int | None, call: Call, speed: Speed | None = None) -> Check:
    """Check whether a model reads a long prompt whole, unless that takes long; `window`: input tokens, if known."""
    tokens = min(window or WINDOW_TOKENS, WINDOW_TOKENS)
    if speed and tokens > speed.read * LONGEST_SECONDS:
        known = f"the window is {window} tokens" if window else "set window to what its server reads"
        words = f"No long prompt was tried: reading {tokens} tokens takes {tokens / speed.read:.0f} s; {known}."
        return Check("window", is_ok=True, words=words)
    prompt = [HumanMessage(_long_prompt(tokens))]
    try:
        for most in TRIAL_TOKENS:
            message = await call(bind_call(model, [], "auto", most, "", {}), prompt)
            if not was_cut_off(message) or split(message.text).text.strip():
                break
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
