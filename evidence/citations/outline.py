"""Reads the outline of a report: a heading a line, with the numbers of the sources that its section rests on."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from .markers import Marker
from .scanner import scan
from .stream import cited_numbers

_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)]|#{1,6})\s+")
_DECORATION = " \t*_`:–—-"
NOTHING = "none"
"""What stands for an empty outline."""


class PlannedSection(NamedTuple):
    """A section that is to be written."""

    heading: str
    """Its heading; empty for a passage without one."""
    numbers: tuple[int, ...] = ()
    """The sources that it rests on."""


def read_outline(text: str, known: Collection[int], most: int) -> list[PlannedSection]:
    """The sections of an outline in their order, each once, at most so many; `known` are the numbers of sources.

    Where some lines are entries of a list, or headings, the others are words around it.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    entries = [line for line in lines if _ITEM.match(line)] or lines
    sections = (PlannedSection(_heading(line), cited_numbers(line, known)) for line in entries)
    by_heading = {section.heading.casefold(): section for section in sections}
    return [section for heading, section in by_heading.items() if heading.strip(".") not in ("", NOTHING)][:most]


def _heading(line: str) -> str:
    words = "".join("" if isinstance(part, Marker) else part for part in scan(_ITEM.sub("", line, count=1)))
    return " ".join(words.split()).strip(_DECORATION)
