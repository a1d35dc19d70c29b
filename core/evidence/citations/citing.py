"""Reads what a text cites while it streams, changes it, and numbers sources and citations."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

import idna

from ...records.research import Finding
from ...records.sources import Source
from .markers import Marker, Part, settle_fences
from .scanner import KnownMarkers, scan

UNKNOWN = 0
"""The number in a draft of a citation that names no source; no source has it."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACKING_PREFIX = "utm_"
_TRACKING = {
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igsh",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "srsltid",
    "ttclid",
    "twclid",
    "vero_id",
    "wbraid",
    "yclid",
}


class Text(NamedTuple):
    """Text as it was written."""

    text: str


class Cited(NamedTuple):
    """One citation in place of a marker, or of one number of its list."""

    number: int
    """The number of the source in the thread."""
    key: str
    """The source that is cited."""
    is_first: bool
    """Whether the stream cites the source for the first time."""


Piece = Text | Cited


class CitationStream:
    """Cuts a streamed text into text and citations; the result does not depend on how the stream was cut.

    `numbers` says which source a number names. It is looked up as the stream goes, so it may grow meanwhile.
    """

    def __init__(self, numbers: Mapping[int, str]) -> None:
        self._numbers = numbers
        self._markers = KnownMarkers(numbers)
        self.cited: dict[int, str] = {}
        """Keys of the sources cited so far, by their numbers."""

    @property
    def dropped(self) -> int:
        """How many numbers were removed so far because they named no source."""
        return self._markers.dropped

    def feed(self, text: str) -> list[Piece]:
        """Take the next piece of text and return what is certain now."""
        return self._pieces(self._markers.feed(text))

    def finish(self) -> list[Piece]:
        """Return the rest, once."""
        return self._pieces(self._markers.finish())

    def _pieces(self, parts: Iterable[Part]) -> list[Piece]:
        pieces: list[Piece] = []
        for part in parts:
            for piece in self._citations(part) if isinstance(part, Marker) else [Text(part)]:
                last = pieces[-1] if pieces else None
                if isinstance(piece, Text) and isinstance(last, Text):
                    pieces[-1] = Text(last.text + piece.text)
                elif piece != Text(""):
                    pieces.append(piece)
        return pieces

    def _citations(self, marker: Marker) -> list[Piece]:
        pieces: list[Piece] = []
        for separator, number in _once(marker):
            pieces += [
                Text(separator if pieces else ""),
                Cited(number, self._numbers[number], number not in self.cited),
            ]
            self.cited[number] = self._numbers[number]
        return pieces


def cited_numbers(text: str, known: Iterable[int]) -> tuple[int, ...]:
    """Return the known numbers that a text cites, in order of first appearance; the text stays as it is."""
    named = (number for part in scan(text) if isinstance(part, Marker) for number in part.numbers)
    allowed = set(known)
    return tuple(dict.fromkeys(number for number in named if number in allowed))


class Edit(NamedTuple):
    """A piece of a text and what takes its place."""

    start: int
    end: int
    words: str


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits made; they must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.words + text[edit.end :]
    return text


def end_of_words(raw: str) -> int:
    """Return where words can be added to a sentence: at its end, or in a table's row at the end of the last cell."""
    return len(raw[:-1].rstrip()) if raw.endswith("|") else len(raw)


def without_unknown(text: str) -> str:
    """Return the text without citations that name no source."""
    numbers = {number for part in scan(text) if isinstance(part, Marker) for number in part.numbers} - {UNKNOWN}
    return _bracketed(text, numbers)


def _bracketed(text: str, numbers: Container[int]) -> str:
    markers = KnownMarkers(numbers)
    parts = [*markers.feed(text), *markers.finish()]
    return "".join(part if isinstance(part, str) else bracketed(part) for part in parts)


def bracketed(marker: Marker) -> str:
    """Return a marker with brackets of its own for each number."""
    return "".join(f"{gap}[{number}]" for gap, number in _once(marker))


def _once(marker: Marker) -> Iterable[tuple[str, int]]:
    """Return the numbers of a marker with what stands before each; none twice."""
    gaps: dict[int, str] = {}
    for gap, number in zip(marker.separators, marker.numbers, strict=True):
        gaps.setdefault(number, gap)
    return ((gap, number) for number, gap in gaps.items())


def known_citations(text: str, keys: Mapping[int, str]) -> tuple[str, dict[int, str]]:
    """Return a text with brackets of its own for each number, and what it cites of the `keys`, both by number.

    Numbers that are not among them are removed, but `[0]`, which stands for no source, stays.
    """
    return _bracketed(text, {*keys, UNKNOWN}), {number: keys[number] for number in sorted(cited_numbers(text, keys))}


def source_key(address: str) -> str:
    """Return the identity of the document at an address; never raises, and a key is its own key."""
    bare = address.strip().partition("#")[0].strip()
    try:
        parts = urlsplit(bare)
        return _web_key(parts) if parts.scheme in _DEFAULT_PORTS and parts.hostname else bare
    except ValueError:
        return bare


def _web_key(parts: SplitResult) -> str:
    names = ((piece, piece.partition("=")[0].lower()) for piece in parts.query.split("&"))
    kept = (piece for piece, name in names if name not in _TRACKING and not name.startswith(_TRACKING_PREFIX))
    query = "&".join(kept)
    # An empty path asks a server for "/" (RFC 9110, 4.2.3), so both are one page.
    return f"{parts.scheme}://{_authority(parts)}{parts.path or '/'}" + (f"?{query}" if query else "")


def _authority(parts: SplitResult) -> str:
    user, at, _ = parts.netloc.rpartition("@")
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{user}{at}{_host(parts.hostname or '')}{port}"


def _host(name: str) -> str:
    if ":" in name:
        return f"[{name}]"
    if name.isascii():
        return name
    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError:
        return name


class NumberedFinding(NamedTuple):
    """A finding with the thread's numbers."""

    text: str
    """The text with markers `[n]` and `[n, m]`."""
    numbers: dict[str, int]
    """The thread's numbers by source key, those of before and the new ones."""
    dropped: int
    """Numbers that named no source and were removed."""


def by_number(sources: Iterable[Source]) -> dict[int, Source]:
    """Return the sources that have a number in the thread, by number and in its order."""
    return {source.number: source for source in sorted(sources, key=lambda one: one.number) if source.number}


def number_finding(text: str, local: Mapping[int, str], numbers: Mapping[str, int]) -> NumberedFinding:
    """Replace a researcher's local numbers by the thread's; new sources get the next ones as the text cites them.

    `local` says which source a local number names, `numbers` which number a source has. A number once given stays;
    a source that is not cited gets none. A code fence that never closes is taken for text.
    """
    given = dict(numbers)
    # Gaps are not filled again.
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
    """Return the findings that lack the numbers of the thread with these numbers, and the sources that got one.

    They are numbered in the order of their tasks, whatever the order in which they came.
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
