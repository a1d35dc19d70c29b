"""Quoted units as a reader sees them: sentences in paragraphs, items one by one, rows of one table together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ...evidence.text.words import dates_in
from .choosing import Sentence
from .units import points_back

FEW_WORDS = 4
"""Words of an item up to which it is shown behind what leads in its list."""
_MARKER = re.compile(r"\s*\[(\d+)\]")
_ROW = re.compile(r"^\|.*\|$")
_LAYOUT_HEADING = re.compile(r"^##+ +(.+)$")


class Quoted(NamedTuple):
    """A unit as a finding quotes it."""

    text: str
    """The words; of a row, the cells between bars."""
    number: int
    """Number of the document."""
    header: str = ""
    """The header of the table that a row belongs to; empty for anything else."""
    is_item: bool = False


def quoted(chosen: Sequence[Sentence]) -> list[Quoted]:
    """Return the units with what is needed to understand them."""
    found: list[Quoted] = []
    shown: set[tuple[int, str]] = set()
    for one in chosen:
        unit = one.unit
        if unit.cells and unit.header:
            cells = (*unit.cells, *("" for _ in range(len(unit.header) - len(unit.cells))))
            found.append(Quoted(_row(cells[: len(unit.header)]), one.number, _row(unit.header)))
            continue
        if unit.before and points_back(unit.text):
            before = Quoted(unit.before, one.number)
            # Where it stands already, the unit goes behind it.
            if before in found:
                place = found.index(before) + 1
                while place < len(found) and found[place].number == one.number and points_back(found[place].text):
                    place += 1
                found.insert(place, Quoted(unit.text, one.number))
                continue
            found.append(before)
        is_item = unit.kind != "sentence"
        is_led = is_item and unit.lead and len(unit.text.split()) <= FEW_WORDS
        text = f"{unit.lead} {unit.text}" if is_led else unit.text
        outer, _, heading = unit.heading.rpartition(" › ")
        # A record is of what the heading below the title names.
        is_named_above = _is_dated(heading) or (unit.kind == "record" and outer)
        if heading and (not any(map(str.isalpha, text)) or (is_named_above and (one.number, heading) not in shown)):
            text = f"{heading}: {text}"
            shown.add((one.number, heading))
        found.append(Quoted(text, one.number, is_item=is_item))
    return list(dict.fromkeys(found))


def laid_out(units: Sequence[Quoted], source: str) -> str:
    """Return Markdown with a marker behind each unit; `source` heads the column of the markers in a table."""
    return "\n\n".join(_blocks(units, source))


def read(finding: str) -> tuple[str, list[tuple[str, list[Quoted]]]]:
    """Return what a finding says before it quotes anything, and what it quotes, section by section."""
    said = ""
    sections: list[tuple[str, list[Quoted]]] = [("", [])]
    for block in finding.split("\n\n"):
        lines = block.splitlines()
        if heading := _LAYOUT_HEADING.match(block):
            sections.append((heading[1], []))
        elif len(lines) > 2 and all(map(_ROW.match, lines)):
            sections[-1][1].extend(_rows(lines))
        else:
            found = [one for line in lines for one in _quoted_sentences(line)]
            sections[-1][1].extend(found)
            said = said or ("" if found else block.strip())
    return said, sections


def _is_dated(heading: str) -> bool:
    """Whether a heading names a day or a month, which what stands below it is of."""
    return any(len(date.iso) > len("2024") for date in dates_in(heading))


def _row(cells: Sequence[str]) -> str:
    return " | ".join(cells)


def _blocks(units: Sequence[Quoted], source: str) -> Iterator[str]:
    for (header, is_item), group in groupby(units, key=lambda one: (one.header, one.is_item)):
        part = list(group)
        if header:
            width = header.count(" | ") + 2
            yield "\n".join(
                [
                    f"| {header} | {source} |",
                    f"|{' --- |' * width}",
                    *(f"| {one.text} | [{one.number}] |" for one in part),
                ]
            )
        elif is_item and len(units) > 1:
            yield "\n".join(f"- {one.text} [{one.number}]" for one in part)
        else:
            yield " ".join(f"{one.text} [{one.number}]" for one in part)


def _rows(lines: Sequence[str]) -> Iterator[Quoted]:
    header = lines[0].strip("| ").rpartition(" | ")[0]
    for line in lines[2:]:
        marker = _MARKER.search(line, line.rstrip("| ").rfind("["))
        if marker:
            text = line[: marker.start()].removeprefix("| ").rstrip().removesuffix("|").rstrip()
            yield Quoted(text, int(marker[1]), header)


def _quoted_sentences(line: str) -> Iterator[Quoted]:
    start, is_item = 0, line.startswith("- ")
    for marker in _MARKER.finditer(line):
        text = line[start : marker.start()].strip().removeprefix("- ").strip()
        if text:
            yield Quoted(text, int(marker[1]), is_item=is_item)
        start = marker.end()
