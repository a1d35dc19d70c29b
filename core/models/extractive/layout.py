"""Quoted units as a reader sees them: sentences in paragraphs, items one by one, rows of one table together."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple

from ...evidence.text.words import dates_in
from .units import QuotableUnit

FEW_WORDS = 4
"""Words of an item up to which it is shown behind what leads in its list."""
_QUOTE_END = re.compile(r"\[\d+\](?: \|)?$")
_BEHIND_MARKER = re.compile(r"(?<=\d\]) ")


class QuotedUnit(NamedTuple):
    """A unit as a reader sees it, with the number of its document."""

    text: str
    """The words; of a row, the cells between bars."""
    number: int
    """Number of the document."""
    header: str = ""
    """The header of the table that a row belongs to; empty for anything else."""
    is_item: bool = False


def laid_out(chosen: Sequence[QuotableUnit], source: str) -> str:
    """Return Markdown with a marker behind each unit; `source` heads the column of the markers in a table."""
    blocks, quotes = list[str](), _quotes(chosen)
    for (header, is_item), group in groupby(quotes, key=lambda one: (one.header, one.is_item)):
        texts = [f"{one.text} {'| ' if header else ''}[{one.number}]" for one in group]
        if header:
            rule = f"|{' --- |' * (header.count(' | ') + 2)}"
            blocks.append("\n".join([f"| {header} | {source} |", rule, *(f"| {text} |" for text in texts)]))
        else:
            blocks.append("\n".join(f"- {text}" for text in texts) if is_item and quotes[1:] else " ".join(texts))
    return "\n\n".join(blocks)


def quotes_in(block: str) -> list[str]:
    """Return what a block quotes, each with its marker; none if it is a heading or says that nothing was found."""
    return [one for one in _pieces(block) if _QUOTE_END.search(one)]


def with_quotes(block: str, wanted: Collection[str]) -> str:
    """Return a block with those of its quotes that are wanted; empty if there are none."""
    kept = [one for one in _pieces(block) if one in wanted or not _QUOTE_END.search(one)]
    return ("\n" if "\n" in block else " ").join(kept) if wanted else ""


def _pieces(block: str) -> list[str]:
    """Return the lines of a list or of a table, or the sentences of a paragraph."""
    return block.split("\n") if "\n" in block else _BEHIND_MARKER.split(block)


def _quotes(chosen: Sequence[QuotableUnit]) -> list[QuotedUnit]:
    """Return the units with what is needed to understand them."""
    found, said = list[QuotedUnit](), set[tuple[int, str]]()
    for unit in chosen:
        text, number = unit.text, unit.number
        if unit.cells:
            cells = (*unit.cells, *("" for _ in unit.header))[: len(unit.header)]
            found.append(QuotedUnit(" | ".join(cells), number, " | ".join(unit.header)))
            continue
        if (number, text) in said:
            continue
        if unit.meant and (number, unit.meant) not in said:
            found.append(QuotedUnit(unit.meant, number))
        said |= {(number, unit.meant), (number, text)}
        is_item = unit.kind != "sentence"
        if is_item and unit.lead and len(text.split()) <= FEW_WORDS:
            text = f"{unit.lead} {text}"
        outer, _, heading = unit.heading.rpartition(" › ")
        # The heading below the title names the record, or the day or month of any other unit.
        is_dated = any(len(date.iso) > len("2024") for date in dates_in(heading))
        is_named = (is_dated or (unit.kind == "record" and outer)) and (number, heading) not in said
        if heading and (is_named or not any(map(str.isalpha, text))):
            text = f"{heading}: {text}"
            said.add((number, heading))
        found.append(QuotedUnit(text, number, is_item=is_item))
    return found
