"""Footnotes of Markdown, `[^1]` with a line `[^1]: ...`: those that name a source become citations,
others keep their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import count, filterfalse
from typing import NamedTuple

from ...records.sources import Source
from ..text.words import STOP_WORDS
from .citing import name_of
from .markers import LINE_PARTS, NOTE_REFERENCE, code_lines, note_label

_DEFINITION = re.compile(
    r" {0,3}(?:(?:[-*+•]|\d{1,3}[.)]) +)?\\?\[\^(?P<label>[^\]\s^]{1,60})\]:[ \t]*(?P<text>\S.*)?"
)
_CONTINUED = re.compile(r"(?: {2,}+|\t)\s*+(?P<text>\S.*)")
_BLOCK = re.compile(
    r"\s{0,3}(?:#{1,6}\s|[-*+>•]\s?|\d{1,9}[.)]\s|\||\\?\[|`{3}|~{3}|\*\*|<|(?:[-*_]\s?){3,}$)"
)
"""Matches what a line begins with that does not continue the paragraph above."""
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s.*|\*\*[^*]+\*\*:?\s*)")
_ADDRESS = re.compile(r"(?:https?|file)://[^\s<>()\[\]{}\"`|\\]+(?<![.,;:!?'*_~])", re.IGNORECASE)
_FEWEST_OF_NOTE = 6
"""A footnote that names a source keeps its text if it has at least this many other words."""
_FEWEST_OF_TITLE = 4
"""A title of at least this many words names its source wherever it stands."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Footnote(NamedTuple):
    """What becomes of a footnote."""

    citation: str = ""
    """What cites the source that it names; empty if it names none."""
    text: str = ""
    """The text that it keeps; empty if it only cites."""


def settle_footnotes(
    text: str, read: Callable[[str, str], Footnote], taken: Container[str] = ()
) -> str:
    """Return a text in which each footnote is a citation, or has its text at the end of the text.

    `read` decides on a footnote by its label and text. Footnotes are labelled with letters in the
    order of their references, so that they cannot be taken for numbers of sources, but not with
    those `taken`. Footnotes without a reference and code stay unchanged.
    """
    kept, notes = taken_out(text)
    if not notes:
        return text
    return with_footnotes(kept, notes, read, taken)


def with_footnotes(
    kept: Sequence[str],
    notes: Mapping[str, str],
    read: Callable[[str, str], Footnote],
    taken: Container[str] = (),
) -> str:
    """Return the text of lines that refer to footnotes, as in `settle_footnotes`; `notes` are
    their texts by label."""
    settled = {label: read(label, words) for label, words in notes.items()}
    letters = dict[str, str]()
    names = filterfalse(taken.__contains__, _names())

    def replaced(line: str) -> str:
        parts = LINE_PARTS.split(line)
        for position, part in enumerate(parts):
            if not part.startswith("`"):
                parts[position] = NOTE_REFERENCE.sub(for_reference, part)
        return "".join(parts)

    def for_reference(found: re.Match[str]) -> str:
        label = note_label(found)
        if label not in settled:
            return found[0]
        footnote = settled[label]
        if not footnote.text:
            return footnote.citation
        if label not in letters:
            letters[label] = next(names)
        return f"{footnote.citation}[^{letters[label]}]"

    body = list[str]()
    for line, is_code in zip(kept, code_lines(kept), strict=True):
        body.append(line if is_code else replaced(line))
    prose = "\n".join(body).rstrip()
    if not letters:
        prose = _without_last_heading(prose)
    blocks = [prose]
    shown = set[str]()
    # The text of a footnote may refer to another one.
    while letters.keys() > shown:
        for label in list(letters):
            if label not in shown:
                shown.add(label)
                # Unescaped, a text of one word would be the target of a link.
                blocks.append(f"\\[^{letters[label]}]: {replaced(settled[label].text)}")
    return "\n\n".join(blocks)


def taken_out(text: str) -> tuple[list[str], dict[str, str]]:
    """Return the lines of a text without the texts of its footnotes, and these by label.

    Texts without a reference stay.
    """
    lines = text.split("\n")
    are_code = code_lines(lines)
    referenced = set[str]()
    for line, is_code in zip(lines, are_code, strict=True):
        if not is_code:
            referenced.update(note_label(found) for found in _references(line))
    kept = list[str]()
    notes = dict[str, str]()
    label = ""
    is_below_note = False
    for index, (line, is_code) in enumerate(zip(lines, are_code, strict=True)):
        found = None if is_code else _definition_at(lines, index)
        continued = None if is_code else _CONTINUED.fullmatch(line)
        is_empty = not line.strip()
        if found and found["label"] in referenced and found["label"] not in notes:
            label = found["label"]
            notes[label] = (found["text"] or "").strip()
            is_below_note = True
        elif label and continued:
            notes[label] = f"{notes[label]} {continued['text'].strip()}".strip()
            is_below_note = True
        elif label and is_below_note and not (is_empty or is_code or _BLOCK.match(line)):
            # Markdown allows that the lines of a paragraph are not indented.
            notes[label] += f" {line.strip()}"
        elif label and is_empty and kept and not kept[-1].strip():
            # The empty lines around a footnote become one.
            is_below_note = False
        else:
            is_below_note = False
            kept.append(line)
            if not is_empty:
                label = ""
    return kept, notes


def _definition_at(lines: Sequence[str], index: int) -> re.Match[str] | None:
    """Return the beginning of a footnote's text on a line, which may have only its label if the
    text begins on the next one."""
    found = _DEFINITION.fullmatch(lines[index])
    if found is None or found["text"]:
        return found
    is_last = index + 1 == len(lines)
    return None if is_last or not _CONTINUED.fullmatch(lines[index + 1]) else found


def _references(line: str) -> Iterator[re.Match[str]]:
    """Yield the references to footnotes in a line, without those in code."""
    for part in LINE_PARTS.split(line):
        if not part.startswith("`"):
            yield from NOTE_REFERENCE.finditer(part)


def _names() -> Iterator[str]:
    """Yield labels: a to z, then aa to zz, and so on."""
    for length in count(1):
        for letter in _LETTERS:
            yield letter * length


def _without_last_heading(text: str) -> str:
    """Return a text without a heading at its end, whose footnotes have become citations."""
    body, _, last = text.rpartition("\n")
    return body.rstrip() if _HEADING.fullmatch(last) else text


def source_footnotes(text: str, sources: Mapping[int, Source], taken: Container[str] = ()) -> str:
    """Return a text whose footnotes cite the `sources` (by number) that they name by address, title
    or file name.

    An address of another source stands in place of the reference to its footnote. `taken` as in
    `settle_footnotes`.
    """

    # A longer title may contain the words of a shorter one.
    by_title = sorted(sources, key=lambda number: -len(sources[number].title))

    def read(_: str, words: str) -> Footnote:
        addresses = [address[0] for address in _ADDRESS.finditer(words)]
        pages = {name_of(address) for address in addresses}
        rest = _plain(_ADDRESS.sub(" ", words))
        numbers = list[int]()
        for number in by_title:
            source = sources[number]
            title = _plain(source.title)
            file_name = ""
            if source.kind == "document":
                file_name = _plain(source.location.rpartition("/")[2])
            is_named = not pages.isdisjoint(map(name_of, (source.location, source.address)))
            for name in (file_name, title):
                without = rest.replace(name, " ") if name.strip() else rest
                is_found = without != rest
                if is_found and (is_named or name == file_name or _names_source(name, without)):
                    is_named = True
                    rest = without
            if is_named:
                numbers.append(number)
        citation = "".join(f"[{number}]" for number in sorted(numbers))
        if addresses and not numbers:
            citation = f" <{addresses[0]}>"
        is_note = not citation or _says_more(rest)
        return Footnote(citation, words if is_note else "")

    return settle_footnotes(text, read, taken)


def _names_source(title: str, rest: str) -> bool:
    """Whether a footnote with the words of a title and this rest names the source, not only its
    subject."""
    return len(title.split()) >= _FEWEST_OF_TITLE or not _says_more(rest)


def _says_more(rest: str) -> bool:
    """Whether the words of a footnote beside the names of its sources state something."""
    words = rest.split()
    return len(words) >= _FEWEST_OF_NOTE or not STOP_WORDS.isdisjoint(words)


def _plain(text: str) -> str:
    """Return the words of a text in lower case, each between spaces."""
    words = " ".join(re.findall(r"\w+", text)).casefold()
    return f" {words} "
