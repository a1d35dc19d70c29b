"""Changes what a sentence cites, and puts the numbers of a changed text in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from deep_research.evidence.citations import CitationStream, Cited
from deep_research.evidence.markers import Marker
from deep_research.evidence.scanner import scan

_BETWEEN = re.compile(r"[,; ]*")


class Edit(NamedTuple):
    """A piece of a text and what takes its place."""

    start: int
    end: int
    words: str


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all of them; they do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.words + text[edit.end :]
    return text


def citing(raw: str, numbers: Sequence[int]) -> str:
    """A sentence with these numbers in the place of its markers, or at its end if it has none."""
    wanted = "".join(f"[{number}]" for number in numbers)
    parts = scan(raw)
    if not any(isinstance(part, Marker) for part in parts):
        return f"{raw} {wanted}"
    kept, is_cited = list[str](), False
    for part in parts:
        if not isinstance(part, Marker):
            kept.append(part)
        elif not is_cited:
            kept.append(wanted)
            is_cited = True
        elif _BETWEEN.fullmatch(kept[-1]):
            kept.pop()
    return "".join(kept)


def renumbered(text: str, sources: Mapping[int, str]) -> tuple[str, tuple[str, ...]]:
    """A text with its numbers in order of first use, and the keys of the sources that it cites.

    `sources` are the keys by the numbers in the text.
    """
    stream = CitationStream(sources)
    pieces = [*stream.feed(text), *stream.finish()]
    words = "".join(f"[{piece.number}]" if isinstance(piece, Cited) else piece.text for piece in pieces)
    return words, stream.cited
