"""Reads a report written by another program: its text with all citations as `[n]`, and the source
of each number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, filterfalse
from typing import NamedTuple

from ..core.evidence.citations.citing import cited_numbers
from ..core.evidence.citations.footnotes import Footnote, settle_footnotes
from ..core.evidence.citations.markers import code_lines, plain_prose

# Repetitions in patterns are atomic or bounded, so that a hostile report cannot make matching slow.
_ADDRESS = (
    r"(?>https?://[^\s<>()\[\]（）】，。；“”\"]+(?:\([^\s()]*\)[^\s<>()\[\]（）】，。；“”\"]*)*)"
)
_WEB = re.compile(_ADDRESS)
_FILE = re.compile(
    r"(?<![\w/.-])[\w./~ -]{0,200}[\w-]"
    r"\.(?:md|txt|html?|pdf|docx?|rst|csv|json|xlsx?|pptx?|odt|epub)\b",
    re.I,
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
_BARE = re.compile(
    rf"(?<!\s)\s*[(（<]\s*(?P<address>{_ADDRESS})\s*[)）>]|(?<![\w/(<\[])(?P<plain>{_ADDRESS})"
)
_AROUND = re.compile(r"[\[\]*<>()]+")
_START = re.compile(r"https?://(?:www\.)?", re.I)
_HIDDEN = "\0"
"""Stands around the index of a footnote that became a citation."""
_NOTE = re.compile(rf"{_HIDDEN}(\d+){_HIDDEN}")
_FARTHEST = 3
"""Maximum distance in lines between neighbouring entries of a source list."""


class Target(NamedTuple):
    """A source, as the report names it."""

    title: str
    """Its words in the report's source list; empty if only a link in the text names it."""
    address: str
    """A web address or a file name."""


class ForeignReport(NamedTuple):
    """A report written by another program, with citations in our form."""

    text: str
    """Markdown without the source list, with all citations as `[n]`."""
    targets: Mapping[int, Target]
    """The cited sources, by number."""


class _Entry(NamedTuple):
    """An entry of a source list."""

    line: int
    """Index of its (first) line."""
    number: int
    target: Target


class _Noted(NamedTuple):
    """A footnote that names a source."""

    wanted: int
    """Its number in the report; 0 if its label is no number."""
    target: Target


def read_foreign(markdown: str) -> ForeignReport:
    """Return a Markdown report whose citations are numbers with a source list, footnotes or links,
    in our form.

    The source list is the longest list of numbered entries that each have an address or file name;
    it is removed. Numbers without an entry stay as they are. A footnote is a citation if its text
    has an address or file name; others keep their text.
    """
    noted = list[_Noted]()

    def read_note(label: str, words: str) -> Footnote:
        named = _WEB.search(words) or _FILE.search(words)
        if not named:
            return Footnote(text=words)
        wanted = int(label) if label.isdecimal() else 0
        noted.append(_Noted(wanted, _target(words, named)))
        return Footnote(citation=f"{_HIDDEN}{len(noted) - 1}{_HIDDEN}")

    markdown = settle_footnotes(markdown.replace(_HIDDEN, ""), read_note)
    lines = _ANCHOR.sub(r"\1", markdown).split("\n")
    entries = _source_list(lines)
    known = {entry.number for entry in entries}
    # A link whose text is a number is a citation too.
    body = _NUMBERED_LINK.sub(r"[\g<number>]", _without(lines, entries))
    if not cited_numbers(plain_prose(body, known), known):
        # If nothing cites their numbers, the entries are a numbered list with links, not a source
        # list.
        entries = []
    targets = dict[int, Target]()
    for entry in entries:
        targets.setdefault(entry.number, entry.target)
    text = _without(lines, entries)
    numbers = dict[str, int]()
    for number, target in targets.items():
        numbers.setdefault(_plain(target.address), number)
    free = filterfalse(targets.__contains__, count(1))

    def citation(address: str, wanted: int = 0, title: str = "") -> str:
        address = address.rstrip(".,;:")
        plain = _plain(address)
        if plain not in numbers:
            number = wanted
            if not wanted or wanted in targets:
                number = next(free)
            numbers[plain] = number
            targets[number] = Target(title, address)
        return f"[{numbers[plain]}]"

    def for_note(hidden: re.Match[str]) -> str:
        note = noted[int(hidden[1])]
        return citation(note.target.address, note.wanted, note.target.title)

    def for_numbered_link(link: re.Match[str]) -> str:
        return citation(link["address"], int(link["number"]))

    def for_link(link: re.Match[str]) -> str:
        return f"{link['words']} {citation(link['address'])}"

    def for_address(found: re.Match[str]) -> str:
        return f" {citation(found['address'] or found['plain'])}"

    text = _NOTE.sub(for_note, text)
    text = _NUMBERED_LINK.sub(for_numbered_link, text)
    text = _LINK.sub(for_link, text)
    text = _BARE.sub(for_address, text)
    return ForeignReport(plain_prose(text, targets).strip(), targets)


def _target(words: str, named: re.Match[str]) -> Target:
    """Return the source in an entry of a source list, from its words and its address or file name,
    `named`."""
    title = _AROUND.sub(" ", _WEB.sub(" ", words))
    title = " ".join(title.split()).strip(" ,:–—-.")
    return Target(title, named.group().strip().rstrip(".,;:"))


def _plain(address: str) -> str:
    """Return a normal form of an address, in which spellings of the same one are equal."""
    return _START.sub("", address.partition("#")[0]).rstrip("/").casefold()


def _source_list(lines: Sequence[str]) -> list[_Entry]:
    """Return the entries of the longest source list; empty if there is none.

    If several are equally long, it is the last.
    """
    best = list[_Entry]()
    current = list[_Entry]()
    neighbours = zip(lines, [*lines[1:], ""], code_lines(lines), strict=True)
    for number, (line, following, is_code) in enumerate(neighbours):
        found = _ENTRY.fullmatch(line.rstrip())
        if not found or is_code:
            continue
        # The address may be on the next line.
        words = found["words"]
        if not _ENTRY.match(following) and not _HEADING.match(following):
            words = f"{words}\n{following}"
        named = _WEB.search(words) or _FILE.search(words)
        if not named:
            continue
        if current and number - current[-1].line > _FARTHEST:
            best = max(current, best, key=len)
            current = []
        target = _target(found["words"], named)
        current.append(_Entry(number, int(found["bracketed"] or found["listed"]), target))
    return max(current, best, key=len)


def _without(lines: Sequence[str], entries: Iterable[_Entry]) -> str:
    """Return the lines as a text, without these entries and their address lines.

    The heading above the first entry is left out, too.
    """
    removed = set[int]()
    for entry in entries:
        removed.add(entry.line)
        following = entry.line + 1
        if following < len(lines) and entry.target.address in lines[following]:
            removed.add(following)
    above = min(removed, default=0) - 1
    while above >= 0 and not lines[above].strip():
        above -= 1
    if above >= 0 and _HEADING.match(lines[above]):
        removed.add(above)
    kept = [line for number, line in enumerate(lines) if number not in removed]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept))
