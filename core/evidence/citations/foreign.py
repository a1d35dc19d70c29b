"""Reads a report that was written elsewhere: its text with all citations as `[n]`, and what each number names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from .markers import Marker, Part, code_lines, plain_prose
from .scanner import KnownMarkers

# Repetitions are atomic or bounded: a hostile report must not take long to read.
_ADDRESS = r"(?>https?://[^\s<>()\[\]（）】，。；“”\"]+(?:\([^\s()]*\)[^\s<>()\[\]（）】，。；“”\"]*)*)"
_WEB = re.compile(_ADDRESS)
_FILE = re.compile(
    r"(?<![\w/.-])[\w./~ -]{0,200}[\w-]\.(?:md|txt|html?|pdf|docx?|rst|csv|json|xlsx?|pptx?|odt|epub)\b", re.I
)
_ENTRY = re.compile(
    r"\s*(?:[-*+•]\s+)?\**(?:[\[【]\^?(?P<bracketed>\d{1,3})[\]】](?![(\[])|(?P<listed>\d{1,3})[.)、:：])\**\s*[:：]?\s*(?P<words>\S.*)"
)
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*\s*$|-{3,}\s*$)")
_NUMBERED_LINK = re.compile(
    rf"(?<!!)\[{{1,2}}\^?(?P<number>\d{{1,3}})\]{{1,2}}\(\s*<?(?P<address>{_ADDRESS})>?[^)\n]{{0,300}}\)"
)
_ANCHOR = re.compile(r"(\[\^?\d{1,3}\])\(#[^)\s]{0,200}\)")
_LINK = re.compile(
    rf"(?<!!)\[(?P<words>(?:[^\[\]\n]|\[[^\[\]\n]*\])+)\]\(\s*<?(?P<address>{_ADDRESS})>?[^)\n]{{0,300}}\)"
)
_BARE = re.compile(rf"(?<!\s)\s*[(（<]\s*(?P<address>{_ADDRESS})\s*[)）>]|(?<![\w/(<\[])(?P<plain>{_ADDRESS})")
_AROUND = re.compile(r"[\[\]*<>()]+")
_START = re.compile(r"https?://(?:www\.)?", re.I)
FARTHEST = 3
"""Lines of something else between two entries of one list of sources."""


class Target(NamedTuple):
    """What a citation names."""

    title: str
    """What the list of sources says of it; empty for a link in the text."""
    address: str
    """A web address, or the name of a file."""


class ForeignReport(NamedTuple):
    """A report in our own form."""

    text: str
    """Markdown without its list of sources; its citations are `[n]`."""
    targets: Mapping[int, Target]
    """What the numbers name."""


class _Entry(NamedTuple):
    line: int
    number: int
    target: Target


def read_foreign(markdown: str) -> ForeignReport:
    """Return a report with its citations, whether these are numbers with a list of sources, footnotes or links.

    The list of sources is the longest one of numbered entries with an address or a file name each; it is taken out. A
    number that names nothing stays as it is.
    """
    lines = _ANCHOR.sub(r"\1", markdown).split("\n")
    entries = _source_list(lines)
    # Numbered points with links are no list of sources: nothing cites their numbers.
    if not any(isinstance(part, Marker) for part in _parts(_without(lines, entries), {one.number for one in entries})):
        entries = []
    targets = dict[int, Target]()
    for entry in entries:
        targets.setdefault(entry.number, entry.target)
    text = _without(lines, entries)
    numbers = {_plain(one.address): number for number, one in reversed(targets.items())}
    free = (number for number in count(1) if number not in targets)

    def number_of(address: str, wanted: int = 0) -> str:
        address = address.rstrip(".,;:")
        plain = _plain(address)
        if plain not in numbers:
            number = wanted if wanted and wanted not in targets else next(free)
            targets[number], numbers[plain] = Target("", address), number
        return f"[{numbers[plain]}]"

    def bare(found: re.Match[str]) -> str:
        return f" {number_of(found['address'] or found['plain'])}"

    text = _NUMBERED_LINK.sub(lambda found: number_of(found["address"], int(found["number"])), text)
    text = _LINK.sub(lambda found: f"{found['words']} {number_of(found['address'])}", text)
    text = _BARE.sub(bare, text)
    return ForeignReport(plain_prose(text, targets).strip(), targets)


def _parts(text: str, known: Collection[int]) -> list[Part]:
    markers = KnownMarkers(known)
    # An inline link with a number cites it, too.
    return [*markers.feed(plain_prose(_NUMBERED_LINK.sub(r"[\g<number>]", text), known)), *markers.finish()]


def _plain(address: str) -> str:
    """Return what two forms of an address have in common."""
    return _START.sub("", address.partition("#")[0]).rstrip("/").casefold()


def _source_list(lines: Sequence[str]) -> list[_Entry]:
    """Return the entries of the longest list of sources, the later of two; empty if there is none."""
    best, current = list[_Entry](), list[_Entry]()
    for number, is_code in enumerate(code_lines(lines)):
        entry = None if is_code else _entry_at(number, lines)
        if entry is None:
            continue
        if current and number - current[-1].line > FARTHEST:
            best, current = max(current, best, key=len), []
        current.append(entry)
    return max(current, best, key=len)


def _entry_at(place: int, lines: Sequence[str]) -> _Entry | None:
    found = _ENTRY.fullmatch(lines[place].rstrip())
    if not found:
        return None
    following = lines[place + 1] if place + 1 < len(lines) else ""
    words = found["words"] if _ENTRY.match(following) or _HEADING.match(following) else f"{found['words']}\n{following}"
    named = _WEB.search(words) or _FILE.search(words)
    if not named:
        return None
    title = " ".join(_AROUND.sub(" ", _WEB.sub(" ", found["words"])).split()).strip(" ,:–—-.")
    target = Target(title, named.group().strip().rstrip(".,;:"))
    return _Entry(place, int(found["bracketed"] or found["listed"]), target)


def _without(lines: Sequence[str], entries: Iterable[_Entry]) -> str:
    """Return the text without these entries, the lines of their addresses, and the heading above the first of them."""
    gone = set[int]()
    for entry in entries:
        gone.add(entry.line)
        if entry.line + 1 < len(lines) and entry.target.address in lines[entry.line + 1]:
            gone.add(entry.line + 1)
    above = min(gone, default=0) - 1
    while above >= 0 and not lines[above].strip():
        above -= 1
    if gone and above >= 0 and _HEADING.match(lines[above]):
        gone.add(above)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line for number, line in enumerate(lines) if number not in gone))
