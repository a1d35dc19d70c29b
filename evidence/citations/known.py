"""Removes the markers that name no source, with one of the spaces around them."""

from __future__ import annotations

from collections.abc import Container, Iterable

from .markers import Marker, Part
from .scanner import MarkerScanner


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
