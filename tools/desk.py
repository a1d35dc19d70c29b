"""What a tool call is given by the researcher that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from deep_research.run.pages import Pages


class Desk(NamedTuple):
    """A researcher's thread and what it has seen there."""

    pages: Pages
    """The texts of the thread."""
    question_id: str
    """The question that is researched."""
    excerpts: Mapping[str, str]
    """What earlier searches showed, by address: it tells which part of a long text is wanted."""
