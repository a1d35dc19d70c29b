"""Code in a streamed Markdown text, where tags are only shown."""

from __future__ import annotations

from ...evidence.citations.protected import fence_after
from .tags import Part, Tag


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
