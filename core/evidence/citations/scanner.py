"""Finds the markers of a streamed Markdown text and leaves code and links alone; holds back what is still open."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Literal

from .markers import CLOSERS, OPENERS, LinkTarget, Marker, MarkerLexer, Part, fence_after

Kind = Literal["code", "bracket", "closed bracket", "target"]


@dataclass
class Opening:
    """Something that may turn out to be code or a link."""

    kind: Kind
    """What it is so far."""
    start: int
    """Place among the held parts from which on it would protect them."""
    size: int = 0
    """How many backticks opened it; 0 for a bracket."""
    target: LinkTarget | None = None
    """What is read of the link's target, once that has begun."""


class Undecided:
    """The parts of a line from the first undecided marker on, and the openings that leave it undecided.

    The first opening is never younger than the first held marker, so all is decided when none is left.
    """

    def __init__(self) -> None:
        self._decided: list[Part] = []
        self._held: list[Part] = []
        self._openings: list[Opening] = []
        self._code_sizes: set[int] = set()

    @property
    def top(self) -> Opening | None:
        """The youngest opening."""
        return self._openings[-1] if self._openings else None

    def add(self, part: Part) -> None:
        """Append a part; text is passed on unless a marker before it is held back."""
        held = self._held if self._held or isinstance(part, Marker) else self._decided
        held.append(part)

    def open(self, kind: Kind, size: int = 0) -> None:
        """Note that what follows may be protected."""
        self._openings.append(Opening(kind, len(self._held), size))
        self._code_sizes.add(size)

    def drop(self) -> None:
        """Forget the youngest opening: it was nothing."""
        self._code_sizes.discard(self._openings.pop().size)
        if not self._openings:
            self._flush()

    def protect(self) -> None:
        """Turn the markers since the youngest opening into text, and forget it."""
        start = self._openings[-1].start
        if len(self._held) > start:
            self._held[start:] = ["".join(map(_raw, self._held[start:]))]
        if start == 0:
            self._flush()
        self.drop()

    def close_code(self, size: int) -> bool:
        """Protect what stands between backticks if as many of them are open; return whether they were."""
        if size not in self._code_sizes:
            return False
        while self._openings[-1].size != size:
            self._code_sizes.discard(self._openings.pop().size)
        self.protect()
        return True

    def end_line(self, is_code: bool) -> None:
        """Decide what is left: nothing that is still open was code or a link, unless the line opens a fence."""
        if is_code:
            self._held = [_raw(part) for part in self._held]
        self._openings.clear()
        self._code_sizes.clear()
        self._flush()

    def take_decided(self) -> list[Part]:
        """Return what is certain, once."""
        decided, self._decided = self._decided, []
        return decided

    def _flush(self) -> None:
        self._decided += self._held
        self._held = []


def _raw(part: Part) -> str:
    return part if isinstance(part, str) else part.raw


class MarkerScanner:
    """Cuts a stream into text and markers; the result does not depend on how the stream was cut.

    Text flows at once. A marker that may stand in code or in a link is held, with what follows it, until that is
    certain, at the latest at the end of its line: inline code and links are taken to close on the line they open on.
    """

    def __init__(self) -> None:
        self._lexer = MarkerLexer()
        self._parts = Undecided()
        self._backticks = 0
        self._line: list[str] = []
        self._fence = ""
        self._is_escaped = False

    def feed(self, text: str) -> list[Part]:
        """Take the next piece of text and return what is certain now."""
        for char in text:
            if char == "\n":
                self._end_line()
                self._parts.add(char)
            else:
                self._line.append(char)
                self._read(char)
        return self._parts.take_decided()

    def finish(self) -> list[Part]:
        """Return the rest, once."""
        self._end_line()
        return self._parts.take_decided()

    def _read(self, char: str) -> None:
        if self._fence:
            self._parts.add(char)
            return
        is_escaped, self._is_escaped = self._is_escaped, char == "\\" and not self._is_escaped
        if is_escaped and char in OPENERS:
            self._place_escaped(char)
            return
        for part in self._lexer.feed(char):
            self._place(part)

    def _end_line(self) -> None:
        for part in self._lexer.finish():
            self._place(part)
        self._end_backticks()
        fence = fence_after(self._fence, "".join(self._line))
        self._parts.end_line(is_code=bool(fence))
        self._fence, self._is_escaped = fence, False
        self._line.clear()

    def _place(self, part: Part) -> None:
        if part == "`":
            self._backticks += 1
        else:
            self._end_backticks()
        if self._begins_target(part):
            return
        if isinstance(part, Marker):
            part = part._replace(is_enclosed=self._parts.top is not None)
        if not self._continues_target(part):
            self._open_or_close(part)

    def _place_escaped(self, char: str) -> None:
        """Place a bracket that opens nothing."""
        for part in self._lexer.finish():
            self._place(part)
        self._end_backticks()
        if not self._begins_target(char) and not self._continues_target(char):
            self._parts.add(char)

    def _end_backticks(self) -> None:
        size, self._backticks = self._backticks, 0
        if size and not self._parts.close_code(size) and not self._target():
            self._parts.open("code", size)

    def _target(self) -> LinkTarget | None:
        top = self._parts.top
        return top.target if top else None

    def _begins_target(self, part: Part) -> bool:
        top = self._parts.top
        if not top or top.kind != "closed bracket":
            return False
        if part != "(":
            self._parts.drop()
            return False
        top.kind, top.target = "target", LinkTarget()
        self._parts.add(part)
        return True

    def _continues_target(self, part: Part) -> bool:
        target = self._target()
        if not target:
            return False
        is_link = target.take(part if isinstance(part, str) else part.raw[0])
        if is_link is False:
            self._parts.drop()
            return False
        self._parts.add(part)
        if is_link:
            self._parts.protect()
        return True

    def _open_or_close(self, part: Part) -> None:
        top = self._parts.top
        if isinstance(part, Marker):
            self._parts.open("closed bracket")
        elif part in OPENERS:
            self._parts.open("bracket")
        elif part in CLOSERS and top and top.kind == "bracket":
            top.kind = "closed bracket"
        self._parts.add(part)


def scan(text: str) -> list[Part]:
    """Cut a whole text into text and markers."""
    scanner = MarkerScanner()
    return scanner.feed(text) + scanner.finish()


class KnownMarkers:
    """Cuts a stream into text and markers of known numbers, and counts the numbers that it removed.

    The last space is held, since it goes with a marker that is removed.
    """

    def __init__(self, known: Container[int]) -> None:
        self.dropped = 0
        self._known = known
        self._scanner = MarkerScanner()
        self._parts: list[Part] = []
        self._space = ""
        self._is_line_start = True
        self._is_after_gap = False

    def feed(self, text: str) -> list[Part]:
        """Take the next piece of text and return what is certain now."""
        return self.take(self._scanner.feed(text))

    def finish(self) -> list[Part]:
        """Return the rest, once."""
        rest = self.take(self._scanner.finish())
        space, self._space = self._space, ""
        return [*rest, space] if space and not self._is_after_gap else rest

    def take(self, parts: Iterable[Part]) -> list[Part]:
        """Take what was read already, in pieces that are not empty, and return what is certain now."""
        for part in parts:
            if isinstance(part, str):
                self._add_text(part)
            else:
                self._add_marker(part)
        known, self._parts = self._parts, []
        return known

    def _add_text(self, text: str) -> None:
        if self._is_after_gap:
            self._is_after_gap = False
            text = self._close_gap(text)
        text = self._space + text
        self._space = " " if text.endswith(" ") else ""
        text = text.removesuffix(" ")
        if text:
            self._parts.append(text)
            self._is_line_start = text.endswith("\n")

    def _close_gap(self, text: str) -> str:
        if text[0] in "(`" and not self._is_line_start:
            # Without a space, this could join what stands before the gap to a link or to code.
            self._space = " "
        elif not self._space:
            return text[1:] if self._is_line_start and text[0] == " " else text
        elif not text[0].isalnum():
            self._space = ""
        return text

    def _add_marker(self, marker: Marker) -> None:
        pairs = [pair for pair in zip(marker.separators, marker.numbers, strict=True) if pair[1] in self._known]
        self.dropped += len(marker.numbers) - len(pairs)
        if pairs:
            separators, numbers = zip(*pairs, strict=True)
            self._parts += [self._space, Marker(marker.raw, numbers, separators)]
            self._space, self._is_line_start, self._is_after_gap = "", False, False
        elif marker.is_enclosed:
            # What is left inside brackets or backticks must not close up to a marker or to code.
            self._add_text(" ")
        else:
            self._is_after_gap = True
