"""Finds citations in streamed and whole texts, rewrites their numbers, and numbers sources."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, count
from typing import NamedTuple
from urllib.parse import urlsplit

import idna

from ...records.research import Finding
from ...records.sources import Source
from .markers import KnownMarkers, Marker, ScannedPart, marker_numbers, settle_fences

UNKNOWN = 0
"""The number in a draft's citation of a source that is not known."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACKING = re.compile(
    r"utm_.*|_ga|_gl|_hsenc|_hsmi|dclid|fbclid|gbraid|gclid|gclsrc|igsh|igshid|li_fat_id|mc_cid|mc_eid|mkt_tok|msclkid"
    r"|oly_anon_id|oly_enc_id|srsltid|ttclid|twclid|vero_id|wbraid|yclid",
    re.DOTALL,
)
"""Names of query parameters that only track visitors."""


class Cited(NamedTuple):
    """One citation; a marker with several numbers gives several."""

    number: int
    """The number of the source in the thread."""
    key: str
    """The key of the source (see `source_key`)."""
    is_first: bool
    """Whether the stream has not cited the source before."""


CitedPiece = str | Cited
"""A piece of a stream: a citation, or the text between two."""


class CitationStream:
    """Splits streamed text into text and citations.

    The result does not depend on the chunk boundaries.
    """

    def __init__(self, numbers: Mapping[int, str]) -> None:
        """`numbers`: the keys of the sources that may be cited, by number.

        They may grow during the stream.
        """
        self._numbers = numbers
        self._markers = KnownMarkers(numbers)
        self.cited: dict[int, str] = {}
        """The keys of the sources cited so far, by number."""

    @property
    def dropped(self) -> int:
        """How many citations were removed so far because no source has their number."""
        return self._markers.dropped

    def feed(self, text: str) -> list[CitedPiece]:
        """Process the next chunk; return the pieces that are complete."""
        return self._pieces(self._markers.feed(text))

    def finish(self) -> list[CitedPiece]:
        """Return the remaining pieces; call once, at the end."""
        return self._pieces(self._markers.finish())

    def _pieces(self, parts: Iterable[ScannedPart]) -> list[CitedPiece]:
        """Return scanned parts as pieces, with neighbouring texts joined."""
        pieces: list[CitedPiece] = []
        for piece in chain.from_iterable(map(self._pieces_of, parts)):
            if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += piece
            elif piece != "":
                pieces.append(piece)
        return pieces

    def _pieces_of(self, part: ScannedPart) -> Iterator[CitedPiece]:
        if isinstance(part, str):
            yield part
            return
        for index, (separator, number) in enumerate(_distinct_numbers(part)):
            # The separator before the first number belongs to a number that was removed.
            if index:
                yield separator
            is_first = number not in self.cited
            self.cited[number] = self._numbers[number]
            yield Cited(number, self._numbers[number], is_first)


def cited_numbers(text: str, known: Iterable[int]) -> tuple[int, ...]:
    """Return the numbers among `known` that a text cites, in order of first appearance."""
    allowed = set(known)
    return tuple(dict.fromkeys(number for number in marker_numbers(text) if number in allowed))


class Edit(NamedTuple):
    """A replacement of a part of a text."""

    start: int
    """Offset of the part, in characters."""
    end: int
    words: str
    """The new text."""


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits applied; they must not overlap."""
    pieces = list[str]()
    done = 0
    for edit in sorted(edits):
        pieces += [text[done : edit.start], edit.words]
        done = edit.end
    return "".join([*pieces, text[done:]])


def without_unknown(text: str) -> str:
    """Return a draft without its citations of unknown sources (`[0]`)."""
    return _bracketed(text, {*marker_numbers(text)} - {UNKNOWN})


def without_citations_of(text: str, numbers: Container[int]) -> str:
    """Return a text without its citations of these numbers."""
    kept = {number for number in marker_numbers(text) if number not in numbers}
    return _bracketed(text, kept)


def _bracketed(text: str, numbers: Container[int]) -> str:
    """Return a text with each cited number in its own brackets, without those not in `numbers`."""
    markers = KnownMarkers(numbers)
    plain = list[str]()
    for part in [*markers.feed(text), *markers.finish()]:
        plain.append(bracketed(part) if isinstance(part, Marker) else part)
    return "".join(plain)


def bracketed(marker: Marker) -> str:
    """Return a marker with each of its numbers in its own brackets: `[1], [2]` for `[1, 2]`."""
    if marker.calculations:
        return marker.raw
    return "".join(f"{gap}[{number}]" for gap, number in _distinct_numbers(marker))


def _distinct_numbers(marker: Marker) -> list[tuple[str, int]]:
    """Return the distinct numbers of a marker, each after the separator before it."""
    gaps: dict[int, str] = {}
    for gap, number in zip(marker.separators, marker.numbers, strict=True):
        gaps.setdefault(number, gap)
    return [(gap, number) for number, gap in gaps.items()]


def known_citations(text: str, keys: Mapping[int, str]) -> tuple[str, dict[int, str]]:
    """Return a draft with each cited number in its own brackets, and the keys of its sources.

    The keys are by number. Numbers that are not in `keys` are removed, except `[0]` for unknown
    sources.
    """
    cited = {number: keys[number] for number in sorted(cited_numbers(text, keys))}
    return _bracketed(text, {*keys, UNKNOWN}), cited


def source_key(address: str) -> str:
    """Return a key that all spellings of an address share; never raises.

    It has no fragment and no tracking parameters.
    """
    bare = address.strip().partition("#")[0].strip()
    try:
        parts = urlsplit(bare)
        host = parts.hostname
        if parts.scheme not in _DEFAULT_PORTS or not host:
            return bare
        port = parts.port
    except ValueError:
        return bare
    if ":" in host:
        host = f"[{host}]"
    elif not host.isascii():
        with suppress(idna.IDNAError):
            host = idna.encode(host, uts46=True).decode("ascii")
    user, at, _ = parts.netloc.rpartition("@")
    key = f"{parts.scheme}://{user}{at}{host}"
    if port not in (None, _DEFAULT_PORTS[parts.scheme]):
        key += f":{port}"
    # An empty path requests "/" (RFC 9110, 4.2.3), so both are one page.
    key += parts.path or "/"
    parameters = list[str]()
    for parameter in parts.query.split("&"):
        name = parameter.partition("=")[0].lower()
        if not _TRACKING.fullmatch(name):
            parameters.append(parameter)
    query = "&".join(parameters)
    if query:
        key += f"?{query}"
    return key


def name_of(text: str) -> str:
    """Return a normal form of an address or a title, in which spellings of the same one are
    equal."""
    if "://" not in text:
        return " ".join(re.findall(r"\w+", text)).casefold()
    page = re.sub(r"^https?://(?:www\.)?", "", source_key(text)).rstrip("?&/")
    return page.casefold()


class NumberedFinding(NamedTuple):
    """A finding whose citations use the thread's numbers."""

    text: str
    """The text with markers `[n]` and `[n, m]`."""
    numbers: dict[str, int]
    """The numbers of all sources cited in the thread, by source key, including the new ones."""
    dropped: int
    """How many citations were removed because no source has their number."""


def by_number(sources: Iterable[Source]) -> dict[int, Source]:
    """Return the sources that are numbered in the thread, by number, in ascending order."""
    numbered = dict[int, Source]()
    for source in sorted(sources, key=lambda source: source.number):
        if source.number:
            numbered[source.number] = source
    return numbered


def number_finding(
    text: str, local: Mapping[int, str], numbers: Mapping[str, int]
) -> NumberedFinding:
    """Return a finding with the thread's source numbers instead of those that its researcher used.

    `local` are the source keys by the researcher's numbers, `numbers` the thread's numbers by
    source key. Sources that have no number yet get the next free ones in the order in which the
    text cites them. Unclosed code is text.
    """
    given = dict(numbers)
    # Unused lower numbers stay unused.
    free = count(max(given.values(), default=0) + 1)
    markers = KnownMarkers(local)
    written = list[str]()
    for part in markers.feed(settle_fences(text)) + markers.finish():
        if isinstance(part, str):
            written.append(part)
            continue
        cited = dict[str, int]()
        for number in part.numbers:
            key = local[number]
            if key not in given:
                given[key] = next(free)
            cited[key] = given[key]
        written.append(f"[{', '.join(map(str, cited.values()))}]")
    return NumberedFinding("".join(written), given, markers.dropped)


def number_findings(
    findings: Iterable[Finding], sources: Mapping[str, Source]
) -> tuple[dict[str, Finding], dict[str, Source]]:
    """Replace the researchers' source numbers with the thread's in findings that have the former.

    Returns these findings by id, and the sources that got a number by key. New numbers follow the
    order of the tasks, not the order in which findings arrived.
    """
    new = [finding for finding in findings if finding.numbered is None]
    numbers = {source.key: source.number for source in sources.values() if source.number}
    numbered = dict[str, Finding]()
    for finding in sorted(new, key=lambda finding: (finding.cycle, finding.position)):
        local = dict(enumerate(finding.sources, 1))
        text, numbers, dropped = number_finding(finding.text, local, numbers)
        for dispute in finding.contradictions:
            # A report names both sides, also the one that the finding does not cite.
            for key in dispute.sources:
                numbers.setdefault(key, max(numbers.values(), default=0) + 1)
        update = {"numbered": text, "dropped_markers": dropped}
        numbered[finding.id] = finding.model_copy(update=update)
    cited = dict[str, Source]()
    for key, source in sources.items():
        if key in numbers and not source.number:
            cited[key] = source.model_copy(update={"number": numbers[key]})
    return numbered, cited
