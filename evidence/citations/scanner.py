"""Finds the markers of a streamed Markdown text and leaves code and links alone."""

from __future__ import annotations

from .markers import CLOSERS, OPENERS, Marker, MarkerLexer, Part
from .protected import LinkTarget, fence_after
from .undecided import Undecided


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
