"""The tags by which models set thoughts and tool calls apart from their words, found in a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

Kind = Literal["thought", "call"]
Action = Literal["open", "close", "end", "skip"]


class Block(NamedTuple):
    """A way of setting something apart."""

    kind: Kind
    openers: tuple[str, ...]
    closers: tuple[str, ...] = ()
    """Without any, the block goes on to the end of the text."""
    ends: tuple[str, ...] = ()
    """Tags that close it, but may also stand at the end of an answer."""
    skipped: tuple[str, ...] = ()
    """Tags around it that say nothing."""
    is_special: bool = True
    """Whether nobody would write its tags into a sentence."""


class Tag(NamedTuple):
    """A tag as it stands in a text."""

    raw: str
    action: Action
    block: Block


Part: TypeAlias = str | Tag

THOUGHTS = (
    Block(
        "thought",
        ("<think>", "<thinking>", "<thought>", "<reasoning>"),
        ("</think>", "</thinking>", "</thought>", "</reasoning>"),
        is_special=False,
    ),
    Block("thought", ("[THINK]",), ("[/THINK]",), is_special=False),
    Block("thought", ("◁think▷",), ("◁/think▷",)),
    Block(
        "thought",
        ("<|channel|>analysis<|message|>",),
        ("<|channel|>final<|message|>",),
        ends=("<|end|>", "<|return|>"),
        skipped=("<|start|>assistant", "<|channel|>commentary<|message|>"),
    ),
)
CALLS = (
    *(
        Block("call", (f"<{name}>",), (f"</{name}>",), is_special=False)
        for name in ("tool_call", "tool_calls", "function_call", "function_calls", "tool_use")
    ),
    Block("call", ("<tool name=",), ("</tool>",)),
    Block("call", ("<function=",), ("</function>",)),
    Block("call", ("<invoke name=",), ("</invoke>",)),
    Block("call", ("[TOOL_CALLS]",)),
    Block("call", ("<|python_tag|>",), ("<|eom_id|>", "<|eot_id|>")),
    Block("call", ("<|channel|>commentary to=",), ("<|call|>",)),
    Block("call", ("<|tool_calls_section_begin|>",), ("<|tool_calls_section_end|>",)),
    Block("call", ("<|tool_call_begin|>",), ("<|tool_call_end|>",)),
    Block("call", ("<｜tool▁calls▁begin｜>",), ("<｜tool▁calls▁end｜>",)),
)

_FIRST = "<[◁"
_PLAIN = re.compile(rf"[^{re.escape(_FIRST)}`\n]+")


class TagLexer:
    """Cuts a stream into tags, line breaks, backticks and runs of other characters; holds what may become a tag."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._tags = {tag.raw.lower(): tag for block in blocks for tag in _tags_of(block)}
        self._beginnings = {raw[:length] for raw in self._tags for length in range(1, len(raw))}
        self._held = ""

    def feed(self, text: str) -> list[Part]:
        """Take the next piece and return what is certain now."""
        parts: list[Part] = []
        place = 0
        while place < len(text):
            plain = None if self._held else _PLAIN.match(text, place)
            if plain:
                parts.append(plain.group())
                place = plain.end()
            else:
                parts += self._take(text[place])
                place += 1
        return parts

    def finish(self) -> list[Part]:
        """Return what is held, once: it is no tag."""
        held, self._held = self._held, ""
        return [held] if held else []

    def _take(self, char: str) -> list[Part]:
        held = self._held + char
        if held.lower() in self._beginnings:
            self._held = held
            return []
        self._held = ""
        if tag := self._tags.get(held.lower()):
            return [tag._replace(raw=held)]
        # The first character begins no tag; the others may.
        return [held[0], *self.feed(held[1:])]


def _tags_of(block: Block) -> Iterable[Tag]:
    yield from (Tag(raw, "open", block) for raw in block.openers)
    yield from (Tag(raw, "close", block) for raw in block.closers)
    yield from (Tag(raw, "end", block) for raw in block.ends)
    yield from (Tag(raw, "skip", block) for raw in block.skipped)
