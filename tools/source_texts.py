"""The texts that the sources of a run have said, from the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..evidence.checking.source_text import SourceText
from ..knowledge import Source
from ..run.pages import Pages


async def source_texts(sources: Mapping[str, Source], keys: Iterable[str], pages: Pages) -> dict[str, list[SourceText]]:
    """For each of these sources: its whole text, if it was read, and the excerpts that searches have shown of it."""
    texts: dict[str, list[SourceText]] = {}
    for key in filter(None, keys):
        source = sources[key]
        hashes = [name for name in (source.content_hash, *source.excerpts) if name]
        kept = [(name, await pages.text(name)) for name in hashes]
        texts[key] = [SourceText(name, text, f"{source.title}, {source.date}") for name, text in kept if text]
    return texts
