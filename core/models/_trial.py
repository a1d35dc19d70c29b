"""Trial calls that reveal how a model calls tools."""

from __future__ import annotations

import json
import re
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from ..dialogue.transcripts import Finish
from ._faults import fault_kind, message_of
from ._known_abilities import Ability
from ._reply import read_reply
from ._rungs import LADDER, RungName, prepare
from ._thoughts import split_thoughts
from ._wrapping import reasoning_of

_TRIAL_TOKENS = (200, 2000)
"""Output limit in tokens of a trial call, and of its repetition if thoughts used up the first
limit."""
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
_ABOUT_SCHEMA = re.compile(
    r"response.?format|json.?schema|grammar|guided|structured.?output", re.IGNORECASE
)
"""Matches errors that are about JSON schemas."""


async def find_ability(model: BaseChatModel) -> Ability | None:
    """Have a model call a tool on each rung in turn; return its ability with the first rung that
    works, or None.

    If a call fails because the server does not support a rung, the next one is tried; other errors
    are raised.
    """
    begins_inside = reasons = False
    for rung in LADDER:
        try:
            message = await _ask_for_call(model, rung)
        except NotImplementedError:
            # Its class cannot bind tools.
            continue
        except Exception as error:
            if not _is_unsupported(rung, error):
                raise
            continue
        begins_inside = begins_inside or split_thoughts(message.text).began_inside
        reasons = reasons or bool(reasoning_of(message))
        if _has_called(rung, message):
            return Ability(rung, begins_inside, reasons)
    return None


def _is_unsupported(rung: RungName, error: Exception) -> bool:
    """Whether a trial call failed because the server does not support its rung, or cannot read the
    model's calls on it."""
    kind = fault_kind(error)
    if kind == "bad_call":
        return True
    if rung == "native":
        return kind in ("no_tools", "rejected")
    if rung == "schema" and kind is not None:
        return kind == "rejected" or bool(_ABOUT_SCHEMA.search(message_of(error)))
    return False


async def _ask_for_call(model: BaseChatModel, rung: RungName) -> AIMessage:
    """Return the answer to a request to call the trial tool."""
    prepared = prepare(rung, _PROMPT, [_TOOL], "any")
    for tokens in _TRIAL_TOKENS:
        bound = prepared.bind(model, "any", max_tokens=tokens)
        message = await bound.ainvoke(prepared.messages)
        # A higher limit only helps a model that was still thinking.
        has_text = bool(split_thoughts(message.text).text.strip())
        is_thinking = bool(reasoning_of(message)) or not has_text
        if not Finish.of(message).was_cut_off or not is_thinking or _has_called(rung, message):
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
    if rung != "native":
        message = read_reply(message, [_TOOL])
    for call in message.tool_calls:
        if call["name"] == "save_word" and _WORD in str(call["args"].get("word", "")).lower():
            return True
    return False
