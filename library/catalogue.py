"""What documents there are, as the models that plan and search are told before they ask for any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..run.fencing import fence
from .library import Document, Library

LISTED = 150
"""Documents that are listed one by one."""
FOLDERS = 60
"""Folders that are listed where the documents are more, those that hold most first."""
CHARACTERS = 8000
"""Characters of the list; a longer one is that of the folders."""
TITLE = 120
"""Characters of a title."""


def catalogue(library: Library, documents: int) -> str:
    """Return a list of so many documents for a prompt: one by one, or else their folders; empty if there are none."""
    lines = list(map(_line, library.standing())) if documents <= LISTED else []
    if documents and (not lines or sum(map(len, lines)) > CHARACTERS):
        lines = list(_folders(library.addresses()))
    return fence("\n".join(lines), tag="documents") if lines else ""


def _line(document: Document) -> str:
    source = document.source
    to_come = f"in force from {source.in_force_from}" if source.in_force_from else ""
    standing = "draft" if source.is_draft else "superseded" if source.superseded_by else to_come
    facts = filter(None, (source.address, source.date, standing, f"{len(document.text):,} characters"))
    return f"- {source.title[:TITLE]} ({', '.join(facts)})"


def _folders(addresses: Iterable[str]) -> Iterator[str]:
    counts = Counter(address.rpartition("/")[0] for address in addresses)
    for folder, count in counts.most_common(FOLDERS):
        yield f"- {folder}: {count:,} documents"
    if len(counts) > FOLDERS:
        yield f"- {len(counts) - FOLDERS} more folders"
