"""Takes thoughts, and calls written as text, out of the words that a model streams."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from ...evidence.citations.markers import fence_after


def raw(part: Part) -> str:
    """The part as it was written."""
    return part.raw if isinstance(part, Tag) else part


class CodeReader:
    """Passes parts on, those in code as plain text.

    What follows a backtick is held until the same number of backticks comes, at the latest until the line ends:
    inline code is taken to close on the line it opens on.
    """

    def __init__(self) -> None:
        self._fence = ""
        self._line: list[str] = []
        self._backticks = 0
        self._held: list[Part] = []

    def feed(self, part: Part) -> list[Part]:
        """Take the next part and return what is certain now."""
        if part == "\n":
            return [*self.finish(), "\n"]
        self._line.append(raw(part))
        if self._fence:
            return [raw(part)]
        if part == "`":
            self._backticks += 1
            return []
        certain = self._end_backticks()
        if not self._held:
            return [*certain, part]
        self._held.append(part)
        return certain

    def finish(self) -> list[Part]:
        """End the line and return what was held of it."""
        certain = self._end_backticks()
        self._fence = fence_after(self._fence, "".join(self._line))
        held, self._held = self._held, []
        self._line.clear()
        return certain + ([_as_text(held)] if held and self._fence else _settled(held))

    def _end_backticks(self) -> list[Part]:
        ticks, self._backticks = "`" * self._backticks, 0
        if not ticks:
            return []
        is_closed = bool(self._held) and self._held[0] == ticks
        self._held.append(ticks)
        if not is_closed:
            return []
        held, self._held = self._held, []
        return [_as_text(held)]


def _settled(held: list[Part]) -> list[Part]:
    """The parts of a line whose first backticks never close, with the inline code after them as text."""
    closing: dict[int, int] = {}
    latest: dict[Part, int] = {}
    for place in reversed(range(len(held))):
        if raw(held[place]).startswith("`"):
            closing[place] = latest.get(held[place], place)
            latest[held[place]] = place
    parts: list[Part] = []
    place = 0
    while place < len(held):
        end = closing.get(place, place)
        parts.append(_as_text(held[place : end + 1]) if end > place else held[place])
        place = end + 1
    return parts


def _as_text(parts: list[Part]) -> str:
    return "".join(map(raw, parts))


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


_BEGINS_CALL = re.compile(r"\s*[\[{<]")
_BEFORE_MENTION = " \t(\"'“‘"
_AFTER_MENTION = " \t.,;:!?)\"'”’"


class Piece(NamedTuple):
    """A part of what a model said."""

    kind: Literal["text", "thought"]
    words: str


class ThoughtFilter:
    """Tells thoughts from text; the result does not depend on how the stream was cut.

    Tags in code are text. A tag within a line, which may be there as a word, is held with what follows until its
    counterpart comes, and is text if none does. A block that begins a line may stay open: all of it is thought.
    """

    def __init__(
        self, *, begins_inside: bool = False, hides_calls: bool = False, only_at_line_start: bool = False
    ) -> None:
        """`begins_inside`: the text may begin within a thought, so that nothing is told before a closing tag decides.

        Without it such a closing tag stays in the text, where `split` finds it. `hides_calls`: calls written as text
        are left out. `only_at_line_start`: tags within a line are words.
        """
        self._lexer = TagLexer((*THOUGHTS, *CALLS) if hides_calls else THOUGHTS)
        self._code = CodeReader()
        self._pieces: list[Piece] = []
        self._open: Tag | None = None
        self._doubtful: list[Part] = []
        self._undecided: list[str] | None = [] if begins_inside else None
        self._only_at_line_start = only_at_line_start
        self.began_inside = False
        """Whether the text began within a thought, as far as it was read; never without `begins_inside`."""
        self._stray: Tag | None = None
        self._line = _Line()
        self._has_words = self._has_block = self._is_thinking = self._has_thought = False

    def feed(self, text: str) -> list[Piece]:
        """Take the next piece of the stream and return what is certain now."""
        for part in self._lexer.feed(text):
            self._take(part)
        return self._drain()

    def finish(self) -> list[Piece]:
        """Return the rest, once."""
        for part in self._lexer.finish():
            self._take(part)
        if not self._open:
            self._finish_code()
        if self._doubtful:
            self._give_up()
            self._finish_code()
        self._settle_stray("")
        self._release()
        return self._drain()

    def _take(self, part: Part) -> None:
        for ready in [part] if self._open else self._code.feed(part):
            self._place(ready)

    def _finish_code(self) -> None:
        for part in self._code.finish():
            self._place(part)

    def _place(self, part: Part) -> None:
        self._settle_stray(raw(part))
        if self._open:
            self._read_inside(self._open, part)
        elif isinstance(part, str) or self._is_word(part):
            self._say(raw(part))
        elif part.action == "open":
            self._begin(part)
        elif part.action != "skip":
            self._stray = part

    def _is_word(self, tag: Tag) -> bool:
        ends_leak = tag.action == "close" and self._undecided is not None
        return self._only_at_line_start and not self._line.is_blank and not ends_leak

    def _begin(self, tag: Tag) -> None:
        is_certain = self._line.is_blank or tag.block.is_special
        self._release()
        self._open = tag
        self._doubtful = [] if is_certain else [tag]
        self._is_thinking = False

    def _read_inside(self, opened: Tag, part: Part) -> None:
        if isinstance(part, Tag) and part.block is opened.block and part.action in ("close", "end"):
            doubtful, self._doubtful = self._doubtful, []
            self._hide(opened, "".join(map(raw, doubtful[1:])))
            self._open, self._has_block = None, True
        elif self._doubtful:
            self._doubtful.append(part)
        else:
            self._hide(opened, raw(part))

    def _give_up(self) -> None:
        """The tag within a line was a word: what was held is text after all, unless it looks like a call."""
        opened, *held = self._doubtful
        self._open, self._doubtful, self._only_at_line_start = None, [], True
        if isinstance(opened, Tag) and opened.block.kind == "call" and _BEGINS_CALL.match("".join(map(raw, held))):
            return
        self._say(raw(opened))
        for part in held:
            self._take(part)

    def _settle_stray(self, following: str) -> None:
        """Decide what a closing tag means that nothing opened, once it is known what follows it."""
        stray, self._stray = self._stray, None
        if stray is None:
            return
        if self._line.last in _BEFORE_MENTION and following and following[0] in _AFTER_MENTION:
            self._say(stray.raw)
        elif stray.action == "close" and self._undecided is not None:
            thought, self._undecided = "".join(self._undecided).strip(), None
            self.began_inside = bool(thought)
            self._think(thought)
            self._line, self._has_block = _Line(), True
        elif stray.action == "close" and not self._has_block and not stray.block.is_special:
            self._say(stray.raw)

    def _release(self) -> None:
        undecided, self._undecided = self._undecided, None
        self._tell("".join(undecided or ()))

    def _say(self, words: str) -> None:
        self._line.add(words)
        if self._undecided is None:
            self._tell(words)
        else:
            self._undecided.append(words)

    def _tell(self, words: str) -> None:
        # Between a thought and the answer models leave blank lines, which would begin the answer.
        if self._has_block and not self._has_words:
            words = words.lstrip()
        self._has_words = self._has_words or bool(words.strip())
        self._pieces.append(Piece("text", words))

    def _hide(self, opened: Tag, words: str) -> None:
        if opened.block.kind == "thought":
            self._think(words)

    def _think(self, words: str) -> None:
        if not self._is_thinking:
            words = words.lstrip()
        if not words:
            return
        separator = "\n\n" if self._has_thought and not self._is_thinking else ""
        self._is_thinking = self._has_thought = True
        self._pieces.append(Piece("thought", separator + words))

    def _drain(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        groups = groupby((piece for piece in pieces if piece.words), key=lambda piece: piece.kind)
        return [Piece(kind, "".join(piece.words for piece in group)) for kind, group in groups]


class Split(NamedTuple):
    """A whole text, taken apart."""

    text: str
    thought: str
    began_inside: bool
    """Whether it began within a thought, without a tag that opens it."""


class _Line:
    """What stands on the last line so far."""

    def __init__(self) -> None:
        self.is_blank = True
        self.last = "\n"

    def add(self, words: str) -> None:
        self.is_blank = (self.is_blank or "\n" in words) and not words.rpartition("\n")[2].strip()
        self.last = words[-1]


def split(text: str, *, begins_inside: bool = True, only_at_line_start: bool = False) -> Split:
    """Take a whole text apart; the settings are those of `ThoughtFilter`."""
    reader = ThoughtFilter(begins_inside=begins_inside, only_at_line_start=only_at_line_start)
    pieces = [*reader.feed(text), *reader.finish()]
    words, thought = ("".join(piece.words for piece in pieces if piece.kind == kind) for kind in ("text", "thought"))
    return Split(words, thought, reader.began_inside)
