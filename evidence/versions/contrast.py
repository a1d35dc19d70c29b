"""Whether two documents that say different things contradict each other, or speak of different times."""

from __future__ import annotations

from ...knowledge import Source
from .names import Name, read_path, read_title


def may_contradict(one: Source, other: Source) -> bool:
    """Not if one of them is outdated, nor if they are versions or parts of a series by their names."""
    if one.superseded_by or other.superseded_by:
        return False
    return not any(_differ_in_time(*names) for names in zip(_names(one), _names(other), strict=True))


def _names(source: Source) -> tuple[Name, Name]:
    return read_title(source.title), read_path(source.address if source.kind == "document" else "")


def _differ_in_time(one: Name, other: Name) -> bool:
    return bool(one.base) and one.base == other.base and one[1:] != other[1:]
