"""Checks a report of an app against texts that the app passes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from ..core.evidence.checking.source_text import SourceText
from ..core.records.report import Report
from ..core.records.sources import Source, text_hash
from ..core.settings.context import Context
from .source_check import begin_check, run_for_check, texts_at_hand


class SourceDocument(NamedTuple):
    """A source of a report."""

    title: str
    text: str
    """The full text."""
    date: str = ""
    """An ISO date or the beginning of one, such as `2024-05`; may be empty."""


async def check_report(
    text: str, sources: Mapping[int, SourceDocument], context: Context
) -> Report:
    """Check a report against its sources; correct it too if `context.verify` is "repair".

    `text` is Markdown with citations `[n]`, without a list of sources; `sources` is keyed by n. In
    the returned report, the keys of sources are these numbers as strings.
    """
    known = dict[str, Source]()
    texts = dict[str, list[SourceText]]()
    for number, source in sources.items():
        key = str(number)
        content_hash = text_hash(source.text)
        texts[key] = [SourceText(content_hash, source.text)]
        known[key] = Source(
            key=key,
            title=source.title,
            location=key,
            address=key,
            kind="document",
            date=source.date,
            content_hash=content_hash,
            number=number,
        )
    keys = {number: str(number) for number in sources}
    run = await asyncio.to_thread(run_for_check, text, context)
    check = await begin_check(text, keys, known, texts_at_hand(texts), run, context)
    return await check.report()
