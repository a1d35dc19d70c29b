"""Separates the thoughts that models write into their text from the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import groupby
from typing import Literal, NamedTuple

from ..evidence.citations.markers import fence_after

_BEFORE_MENTION = " \t(\"'“‘`"
"""Characters that may stand before a tag that a sentence only mentions."""
_TagRole = Literal["opener", "closer", "noise"]
"""What a tag of a `TagPair` does."""


class TagPair(NamedTuple):
    """The tags around a thought or call in the text of a model's answer."""

    kind: Literal["thought", "call"]
    openers: tuple[str, ...]
    closers: tuple[str, ...] = ()
    """If empty, the thought or call extends to the end of the text."""
    noise: tuple[str, ...] = ()
    """Other tags of the same format: within the thought or call they close it, elsewhere they are
    dropped."""
    is_special: bool = True
    """Whether the tags are control tokens of a model, which no sentence mentions."""


_THOUGHT = TagPair("thought", (), noise=("<answer>", "</answer>"), is_special=False)
_THOUGHT_TAG = r"</?(?:\w{1,20}:)?[a-z_-]{0,20}(?:think|thinking|thoughts?|reason|reasoning)>"
_BEGUN_TAG = re.compile(r"</?[\w:-]{0,60}\Z", re.ASCII)
_BLOCKS = (
    _THOUGHT,
    TagPair("thought", ("[THINK]",), ("[/THINK]",), is_special=False),
    TagPair("thought", ("◁think▷",), ("◁/think▷",)),
    TagPair("thought", ("<|channel>thought", "<|channel>analysis"), ("<channel|>",)),
    TagPair(
        "thought",
        (),
        noise=(
            "</s>",
            "<eos>",
            "<end_of_turn>",
            "<|im_end|>",
            "<|eot_id|>",
            "<|endoftext|>",
            "<|end_of_text|>",
            "<|eom_id|>",
            "<|user|>",
            "<|assistant|>",
            "<｜end▁of▁sentence｜>",
            "[EOS]",
        ),
    ),
    TagPair(
        "thought",
        ("<|channel|>analysis<|message|>",),
        ("<|channel|>final<|message|>", "assistantfinal"),
        noise=("<|end|>", "<|return|>", "<|start|>assistant", "<|channel|>commentary<|message|>"),
    ),
    *(
        TagPair("call", (f"<{name}>",), (f"</{name}>",), is_special=False)
        for name in (
            "tool_call",
            "tool_calls",
            "function_call",
            "function_calls",
            "tool_use",
            "minimax:tool_call",
        )
    ),
    TagPair("call", ("<tool name=",), ("</tool>",)),
    TagPair("call", ("<function=",), ("</function>",)),
    TagPair("call", ("<invoke name=",), ("</invoke>",)),
    TagPair("call", ("[TOOL_CALLS]",)),
    TagPair("call", ("<|python_tag|>",), ("<|eom_id|>", "<|eot_id|>")),
    TagPair("call", ("<|channel|>commentary to=",), ("<|call|>",)),
    TagPair("call", ("<|tool_call>", "<|tool_call|>"), ("<tool_call|>", "<|/tool_call|>")),
    TagPair("call", ("<|tool_calls_section_begin|>",), ("<|tool_calls_section_end|>",)),
    TagPair("call", ("<|tool_call_begin|>",), ("<|tool_call_end|>",)),
    TagPair("call", ("<｜tool▁calls▁begin｜>",), ("<｜tool▁calls▁end｜>",)),
)


class Piece(NamedTuple):
    """A part of an answer: text to show, or a thought."""

    kind: Literal["text", "thought"]
    words: str


class _TagTable(NamedTuple):
    """The tags that a filter looks for; building it takes longer than reading a short answer."""

    roles: Mapping[str, tuple[_TagRole, TagPair]]
    """By tag, in lower case."""
    beginnings: frozenset[str]
    """The texts that begin a tag."""
    longest: int
    """Length of the longest tag."""
    pattern: re.Pattern[str]
    """Matches a tag."""


@cache
def _tag_table(*, hides_calls: bool) -> _TagTable:
    """Return the tags of thoughts and noise, with `hides_calls` those of calls too."""
    roles: dict[str, tuple[_TagRole, TagPair]] = {}
    for block in _BLOCKS:
        if block.kind == "call" and not hides_calls:
            continue
        roles |= {tag.lower(): ("opener", block) for tag in block.openers}
        roles |= {tag.lower(): ("closer", block) for tag in block.closers}
        roles |= {tag.lower(): ("noise", block) for tag in block.noise}
    beginnings = set[str]()
    first_characters = set[str]()
    for tag in roles:
        first_characters.add(tag[0])
        beginnings.update([tag[:length] for length in range(1, len(tag))])
    # The lookahead avoids trying the many tags at every position.
    starts = re.escape("".join(sorted(first_characters)))
    tags = "|".join([*map(re.escape, roles), _THOUGHT_TAG])
    pattern = re.compile(f"(?=[{starts}])(?:{tags})", re.IGNORECASE)
    return _TagTable(roles, frozenset(beginnings), max(map(len, roles)), pattern)


class ThoughtFilter:
    """Separates the thoughts in a streamed text from the answer; the result does not depend on how
    it is chunked.

    Tags in a code fence, or that a sentence only mentions, are text. An unclosed thought extends to
    the end.
    """

    def __init__(self, *, begins_inside: bool = False, hides_calls: bool = False) -> None:
        """`begins_inside`: the text may begin with a thought that has only a closing tag, so it is
        withheld until then.

        Without it, such a closing tag stays in the text. `hides_calls`: drop calls that are written
        as text.
        """
        self.began_inside = False
        """Whether the text began with a thought that has only a closing tag; always false without
        `begins_inside`."""
        self._tags = _tag_table(hides_calls=hides_calls)
        self._held = ""
        self._line = self._fence = ""
        self._undecided: list[str] | None = [] if begins_inside else None
        self._open: TagPair | None = None
        self._pieces: list[Piece] = []
        self._has_block = self._has_words = self._has_thought = self._is_thinking = False

    def feed(self, text: str) -> list[Piece]:
        """Add the next piece of the stream; return the pieces that are now certain to be text or
        thought."""
        text = self._held + text
        position = 0
        for tag in self._tags.pattern.finditer(text):
            self._pass_on(text[position : tag.start()])
            self._read(tag.group())
            position = tag.end()
        end = self._certain_end(text, position)
        self._held = text[end:]
        self._pass_on(text[position:end])
        return self._drain()

    def _certain_end(self, text: str, position: int) -> int:
        """Return the offset from `position` on at which an incomplete tag begins; the end of the
        text if there is none."""
        end = len(text)
        for start in range(max(position, len(text) - self._tags.longest), len(text)):
            if text[start:].lower() in self._tags.beginnings:
                end = start
                break
        begun = _BEGUN_TAG.search(text, position)
        if begun:
            end = min(end, begun.start())
        return end

    def finish(self) -> list[Piece]:
        """Return the pieces that are still withheld; call it once, at the end of the stream."""
        self._pass_on(self._held)
        self._release()
        return self._drain()

    def _pass_on(self, words: str) -> None:
        """Add words without tags to the open thought or to the text; drop those of a call."""
        if self._open and self._open.kind == "thought":
            self._think(words)
        elif not self._open:
            self._say(words)

    def _read(self, tag: str) -> None:
        """Open or close a block, or treat the tag as text."""
        role: _TagRole = "closer" if tag.startswith("</") else "opener"
        role, block = self._tags.roles.get(tag.lower(), (role, _THOUGHT))
        if self._open:
            if block is self._open and role != "opener":
                self._open = None
                self._has_block = True
            else:
                self._pass_on(tag)
        elif self._is_mentioned(block):
            self._say(tag)
        elif role == "opener":
            self._release()
            self._open = block
            self._is_thinking = False
        elif role == "closer" and self._undecided is not None:
            thought = "".join(self._undecided).strip()
            self._undecided = None
            self.began_inside = bool(thought)
            self._think(thought)
            self._line = ""
            self._has_block = True
        elif role == "closer" and not block.is_special and (self._has_words or not self._has_block):
            self._say(tag)

    def _is_mentioned(self, block: TagPair) -> bool:
        """Whether the tag of a block that comes next is in a code fence, or only mentioned in a
        sentence."""
        if self._fence:
            return True
        if not self._line.strip():
            return False
        before = self._line[-1]
        return before == "`" or (before in _BEFORE_MENTION and not block.is_special)

    def _say(self, words: str) -> None:
        """Add words to the text, or withhold them while it is undecided whether the text begins
        with a thought."""
        *ended, last = words.split("\n")
        for line in ended:
            self._fence = fence_after(self._fence, self._line + line)
            self._line = ""
        self._line += last
        if self._undecided is None:
            self._emit_text(words)
        else:
            self._undecided.append(words)

    def _release(self) -> None:
        """Add the words withheld from the beginning to the text."""
        undecided = self._undecided or []
        self._undecided = None
        self._emit_text("".join(undecided))

    def _emit_text(self, words: str) -> None:
        # Drop the blank lines that models leave between a thought and the answer.
        if self._has_block and not self._has_words:
            words = words.lstrip()
        self._has_words = self._has_words or bool(words.strip())
        self._pieces.append(Piece("text", words))

    def _think(self, words: str) -> None:
        if not self._is_thinking:
            words = words.lstrip()
        if not words:
            return
        separator = "\n\n" if self._has_thought and not self._is_thinking else ""
        self._is_thinking = self._has_thought = True
        self._pieces.append(Piece("thought", separator + words))

    def _drain(self) -> list[Piece]:
        """Return and forget the pieces so far, with adjacent ones of the same kind joined."""
        pieces = [piece for piece in self._pieces if piece.words]
        self._pieces = []
        joined: list[Piece] = []
        for kind, neighbours in groupby(pieces, key=lambda piece: piece.kind):
            joined.append(Piece(kind, "".join([piece.words for piece in neighbours])))
        return joined


class Split(NamedTuple):
    """A text, split into answer and thought."""

    text: str
    thought: str
    began_inside: bool
    """Whether it began with a thought that has only a closing tag."""


def split_thoughts(text: str) -> Split:
    """Separate the thoughts in a complete text from the answer; it may begin with a thought that
    has no opening tag."""
    reader = ThoughtFilter(begins_inside=True)
    words: dict[str, list[str]] = {"text": [], "thought": []}
    for piece in (*reader.feed(text), *reader.finish()):
        words[piece.kind].append(piece.words)
    return Split("".join(words["text"]), "".join(words["thought"]), reader.began_inside)
