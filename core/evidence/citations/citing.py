"""Reads the citations of streamed and whole texts, edits them, and numbers sources."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import idna

from ...records.research import Finding
from ...records.sources import Source
from .markers import Marker, ScannedPart, settle_fences
from .scanner import KnownMarkers, scan

UNKNOWN = 0
"""Number used in a draft for a citation of an unknown source."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACKING = re.compile(
    r"utm_.*|_ga|_gl|_hsenc|_hsmi|dclid|fbclid|gbraid|gclid|gclsrc|igsh|igshid|li_fat_id|mc_cid|mc_eid|mkt_tok|msclkid"
    r"|oly_anon_id|oly_enc_id|srsltid|ttclid|twclid|vero_id|wbraid|yclid",
    re.DOTALL,
)
"""Query parameters that only track visitors."""


class Text(NamedTuple):
    """Unchanged text between citations."""

    text: str


class Cited(NamedTuple):
    """One citation; a marker with several numbers gives several."""

    number: int
    """The number of the source in the thread."""
    key: str
    """Key of the source."""
    is_first: bool
    """Whether this is the stream's first citation of the source."""


CitedPiece = Text | Cited


class CitationStream:
    """Splits streamed text into text and citations; the result does not depend on the chunk boundaries.

    `numbers` maps numbers to source keys. It may grow during the stream.
    """

    def __init__(self, numbers: Mapping[int, str]) -> None:
        self._numbers = numbers
        self._markers = KnownMarkers(numbers)
        self.cited: dict[int, str] = {}
        """Keys of the sources cited so far, by number."""

    @property
    def dropped(self) -> int:
        """Number of citations removed so far because they named no source."""
        return self._markers.dropped

    def feed(self, text: str) -> list[CitedPiece]:
        """Process the next chunk; return the pieces that later text can no longer change."""
        return self._pieces(self._markers.feed(text))

    def finish(self) -> list[CitedPiece]:
        """Return the remaining pieces; call once, at the end."""
        return self._pieces(self._markers.finish())

    def _pieces(self, parts: Iterable[ScannedPart]) -> list[CitedPiece]:
        pieces: list[CitedPiece] = []
        for part in parts:
            found: list[CitedPiece] = [Text(part)] if isinstance(part, str) else []
            for separator, number in _once(part) if isinstance(part, Marker) else ():
                is_first = number not in self.cited
                self.cited[number] = self._numbers[number]
                found += [Text(separator if found else ""), Cited(number, self._numbers[number], is_first)]
            for piece in found:
                last = pieces[-1] if pieces else None
                if isinstance(piece, Text) and isinstance(last, Text):
                    pieces[-1] = Text(last.text + piece.text)
                elif piece != Text(""):
                    pieces.append(piece)
        return pieces


def numbers_of(parts: Iterable[ScannedPart]) -> tuple[int, ...]:
    """Return the numbers of all markers, in order, including repeats."""
    return tuple(number for part in parts if isinstance(part, Marker) for number in part.numbers)


def cited_numbers(text: str, known: Iterable[int]) -> tuple[int, ...]:
    """Return the known numbers that a text cites, in order of first appearance."""
    allowed = set(known)
    return tuple(dict.fromkeys(number for number in numbers_of(scan(text)) if number in allowed))


class Edit(NamedTuple):
    """A replacement for a span of a text."""

    start: int
    end: int
    words: str


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits applied; they must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.words + text[edit.end :]
    return text


def without_unknown(text: str) -> str:
    """Return the text without citations of unknown sources."""
    return _bracketed(text, {*numbers_of(scan(text))} - {UNKNOWN})


def _bracketed(text: str, numbers: Container[int]) -> str:
    markers = KnownMarkers(numbers)
    parts = [*markers.feed(text), *markers.finish()]
    return "".join(part if isinstance(part, str) else bracketed(part) for part in parts)


def bracketed(marker: Marker) -> str:
    """Return a marker with each number in its own brackets."""
    return "".join(f"{gap}[{number}]" for gap, number in _once(marker))


def _once(marker: Marker) -> Iterable[tuple[str, int]]:
    """Yield (separator, number) for each distinct number of a marker."""
    gaps: dict[int, str] = {}
    for gap, number in zip(marker.separators, marker.numbers, strict=True):
        gaps.setdefault(number, gap)
    return ((gap, number) for number, gap in gaps.items())


def known_citations(text: str, keys: Mapping[int, str]) -> tuple[str, dict[int, str]]:
    """Return a text with each number in its own brackets, and the source keys that it cites, by number.

    Numbers that are not in `keys` are removed, except `[0]`, which cites no source.
    """
    return _bracketed(text, {*keys, UNKNOWN}), {number: keys[number] for number in sorted(cited_numbers(text, keys))}


def source_key(address: str) -> str:
    """Return a canonical key for the document at an address; idempotent, never raises."""
    bare = address.strip().partition("#")[0].strip()
    try:
        parts = urlsplit(bare)
        host, port = parts.hostname, parts.port if parts.scheme in _DEFAULT_PORTS else None
    except ValueError:
        return bare
    if parts.scheme not in _DEFAULT_PORTS or not host:
        return bare
    if ":" in host:
        host = f"[{host}]"
    elif not host.isascii():
        with suppress(idna.IDNAError):
            host = idna.encode(host, uts46=True).decode("ascii")
    user, at, _ = parts.netloc.rpartition("@")
    written_port = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    names = ((piece, piece.partition("=")[0].lower()) for piece in parts.query.split("&"))
    query = "&".join(piece for piece, name in names if not _TRACKING.fullmatch(name))
    # An empty path requests "/" (RFC 9110, 4.2.3), so both are one page.
    return f"{parts.scheme}://{user}{at}{host}{written_port}{parts.path or '/'}" + (f"?{query}" if query else "")


class NumberedFinding(NamedTuple):
    """A finding whose citations use the thread's numbers."""

    text: str
    """The text with markers `[n]` and `[n, m]`."""
    numbers: dict[str, int]
    """All numbers of the thread by source key, including new ones."""
    dropped: int
    """Number of citations removed because they named no source."""


def by_number(sources: Iterable[Source]) -> dict[int, Source]:
    """Return the sources that are numbered in the thread, by number, in ascending order."""
    return {source.number: source for source in sorted(sources, key=lambda source: source.number) if source.number}


def number_finding(text: str, local: Mapping[int, str], numbers: Mapping[str, int]) -> NumberedFinding:
    """Replace a researcher's local numbers with the thread's; newly cited sources get the next numbers in text order.

    `local` maps local numbers to source keys, `numbers` maps keys to the thread's numbers. Numbers never change, and
    uncited sources get none. An unclosed code fence counts as text.
    """
    given = dict(numbers)
    # Unused lower numbers stay unused.
    following = max(given.values(), default=0) + 1
    markers = KnownMarkers(local)
    written: list[str] = []
    for part in markers.feed(settle_fences(text)) + markers.finish():
        if isinstance(part, Marker):
            for key in (keys := dict.fromkeys(local[number] for number in part.numbers)):
                if key not in given:
                    given[key], following = following, following + 1
            part = f"[{', '.join(str(given[key]) for key in keys)}]"
        written.append(part)
    return NumberedFinding("".join(written), given, markers.dropped)


def number_findings(
    findings: Iterable[Finding], sources: Mapping[str, Source]
) -> tuple[dict[str, Finding], dict[str, Source]]:
    """Number the findings that are not numbered yet; return them by id, and the newly numbered sources by key.

    The numbers follow the order of the tasks, not the order in which findings arrived.
    """
    new = [finding for finding in findings if finding.numbered is None]
    numbers = {source.key: source.number for source in sources.values() if source.number}
    numbered: dict[str, Finding] = {}
    for finding in sorted(new, key=lambda finding: (finding.cycle, finding.position)):
        text, numbers, dropped = number_finding(finding.text, dict(enumerate(finding.sources, 1)), numbers)
        numbered[finding.id] = finding.model_copy(update={"numbered": text, "dropped_markers": dropped})
    cited = {
        key: source.model_copy(update={"number": numbers[key]})
        for key, source in sources.items()
        if key in numbers and not source.number
    }
    return numbered, cited
