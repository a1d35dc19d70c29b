"""Divides a page into the parts that scouts of tables read in order, each with its own links."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .results import read_on

_BESIDE_LINKS = 100
"""Maximum number of links that are not in the text of a page, such as those of its menu, in one
part."""

Link = tuple[str, str]
"""Text and address."""


class ShownPart(NamedTuple):
    """A part of a page, as it is shown."""

    text: str
    links: tuple[Link, ...]
    read_on: int
    """Offset at which the next part begins; 0 if this is the last one."""
    characters: int
    """Length of the page, with the links behind its text."""


def part_of_page(text: str, links: Iterable[Link], start: int, characters: int) -> ShownPart:
    """Return the part that begins at an offset, with the links in its text.

    The first 100 links that are not in the text come with the first part. Further ones lie behind
    the text, so that a part of `characters` has 100 of them.
    """
    inside, outside = _placed(text, links)
    further = outside[_BESIDE_LINKS:]
    size = max(1, characters // _BESIDE_LINKS)
    whole = len(text) + size * len(further)
    end = start + characters
    shown = [link for offset, link in inside if start <= offset < end]
    if not start:
        shown += outside[:_BESIDE_LINKS]
    first = max(0, start - len(text)) // size
    last = max(0, end - len(text)) // size
    shown += further[first:last]
    return ShownPart(
        read_on(text, start, characters), tuple(shown), end if end < whole else 0, whole
    )


def _placed(text: str, links: Iterable[Link]) -> tuple[list[tuple[int, Link]], list[Link]]:
    """Return the links whose words are in the text, each with its offset, and the others.

    Of links with the same words, each has the next place where these stand.
    """
    ends = dict[str, int]()
    inside = list[tuple[int, Link]]()
    outside = list[Link]()
    for link in links:
        words, address = link
        words = words or address
        offset = text.find(words, ends.get(words, 0))
        if offset < 0:
            outside.append(link)
        else:
            ends[words] = offset + len(words)
            inside.append((offset, link))
    return inside, outside
