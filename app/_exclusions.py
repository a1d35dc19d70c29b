"""Finds the sources of a thread that a user names to exclude or include them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from ..core.errors import UserMistake
from ..core.evidence.citations.citing import name_of
from ..core.reading.policy import is_within
from ..core.records.sources import Source

_LISTED = 20
"""Maximum number of sources that an error lists."""


def named_sources(sources: Iterable[Source], names: Sequence[str]) -> list[Source]:
    """Return the sources that the user names by number, address, domain or file name, each once.

    Raises `UserMistake` for a name that no source has; the message lists the sources.
    """
    numbered = sorted(sources, key=lambda source: (not source.number, source.number))
    found = dict[str, Source]()
    for name in names:
        matching = [source for source in numbered if _is_named(source, name)]
        if not matching:
            raise UserMistake(f"No source of the run is {name!r}. {_listing(numbered)}")
        for source in matching:
            found[source.key] = source
    return list(found.values())


def _is_named(source: Source, name: str) -> bool:
    """Whether a name means this source: its number, address, domain or file name."""
    words = name.strip().strip("[]").strip()
    if words.isdecimal():
        return source.number == int(words)
    if source.kind == "web":
        host = (urlsplit(source.location).hostname or "").removeprefix("www.")
        if host and is_within(host, [words.lower().removeprefix("www.")]):
            return True
    spellings = {source.address, source.location, source.short_location, source.title}
    spellings.add(source.short_location.rpartition("/")[2])
    return name_of(words) in {name_of(spelling) for spelling in spellings if spelling}


def _listing(numbered: Sequence[Source]) -> str:
    """Return the numbered sources as a sentence."""
    shown = list[str]()
    for source in numbered[:_LISTED]:
        if source.number:
            shown.append(f"[{source.number}] {source.shown_title}")
    if not shown:
        return "It has no sources yet."
    more = ", …" if len(numbered) > _LISTED else ""
    return f"Its sources: {', '.join(shown)}{more}. Name one by number, domain or file."
