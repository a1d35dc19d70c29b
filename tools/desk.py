"""What a tool call is given by the researcher that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ..run.pages import Pages
from .meter import Meter


class Desk(NamedTuple):
    """A researcher's thread and what it has seen there."""

    pages: Pages
    """The texts of the thread."""
    question_id: str
    """The question that is researched."""
    meter: Meter
    """What the call may use up, and what it has."""
    excerpts: Mapping[str, str] = MappingProxyType({})
    """What earlier searches showed, by address: it tells which part of a long text is wanted."""
    topic: str = ""
    """What is being found out: it tells which passages of a long text are wanted."""
