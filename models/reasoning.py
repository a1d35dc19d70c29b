"""The words of a thought, wherever a provider puts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from ..run.calls import REASONING


def reasoning_of(message: AIMessage) -> str:
    """The thought in a chunk or in a whole message; empty if it has none."""
    kept = message.additional_kwargs.get(REASONING)
    if isinstance(kept, str) and kept:
        return kept
    if isinstance(message.content, str):
        return ""
    return "".join(_words(block) for block in message.content if isinstance(block, dict))


def _words(block: Mapping[str, Any]) -> str:
    if block.get("type") == "thinking":
        return _text(block.get("thinking"))
    if block.get("type") != "reasoning":
        return ""
    return _text(block.get("reasoning")) or _summary(block.get("summary") or [])


def _text(value: Any) -> str:
    """A text, or the texts of the blocks that stand for one."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _summary(parts: list[Any]) -> str:
    words = "\n\n".join(_text(part.get("text")) for part in parts if isinstance(part, dict))
    begins_next = bool(parts) and not words and parts[0].get("index", 0) > 0
    return "\n\n" if begins_next else words
