"""What reading a file gives: its text, or the reason why there is none."""

from __future__ import annotations

from typing import Literal, NamedTuple

TEXT_CHARACTERS = 200_000

Kind = Literal["markdown", "text", "html", "pdf"]
Reason = Literal[
    "empty", "too large", "not text", "broken", "encrypted", "timed out", "unreadable", "unknown format", "crashed"
]

KINDS: dict[str, Kind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
}


class Extract(NamedTuple):
    """The text of one file; headings are lines that start with `#`."""

    title: str
    text: str
    date: str = ""
    """Date that the file states of itself (ISO 8601)."""
    is_cut: bool = False
    """Whether the file holds more text than this."""


class Unreadable(Exception):
    """A file gave no text; `reason` is for programs, the message for people."""

    def __init__(self, reason: Reason, words: str) -> None:
        super().__init__(words)
        self.reason = reason
