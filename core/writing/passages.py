"""The passages that findings rest on, so that the writer reads the sources' own words beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from ...prompts import fenced_knowledge
from ...state import ResearchState
from ..evidence.checking.source_text import SourceText
from ..evidence.text.similarity import grouped
from ..records.plan import Learning
from ..run.store.pages import Pages
from ..run.transcripts import CHARACTERS_PER_TOKEN
from .basis import source_texts

MOST_TOKENS = 12_000
"""Maximum length of all passages, in tokens."""
SHARE = 0.25
"""Maximum share of the writer's window that they take."""
FEWER = (100, 12, 6, 3, 1)
"""Statements of each source whose passages are shown; the first number is used with which all passages fit."""


async def deciding_passages(state: ResearchState, pages: Pages, window: int) -> str:
    """Return for each source the passages that its statements rest on, fenced, with its number in the thread.

    They take at most a share of the `window` (input tokens of the writer's model). Empty if no text is kept.
    """
    learnings = [one for one in state.learnings.values() if one.source and state.sources[one.source].number]
    texts = await source_texts(state.sources, dict.fromkeys(one.source for one in learnings), pages)
    room = int(min(MOST_TOKENS, SHARE * window) * CHARACTERS_PER_TOKEN)
    return await asyncio.to_thread(_chosen, state, learnings, texts, room)


def _chosen(
    state: ResearchState, learnings: Iterable[Learning], texts: Mapping[str, Sequence[SourceText]], room: int
) -> str:
    by_source = {key: own for key, own in grouped(learnings, lambda one: one.source).items() if texts.get(key)}
    in_order = sorted(by_source, key=lambda key: state.sources[key].number)
    for most in FEWER:
        shown = [
            {"source": state.sources[key].number, "passages": _passages(texts[key][0], by_source[key][:most])}
            for key in in_order
        ]
        text = fenced_knowledge(passages=shown)
        if len(text) <= room:
            return text
    return ""


def _passages(source: SourceText, learnings: Iterable[Learning]) -> list[str]:
    """Return the window of the text that says most about each statement, neighbours joined."""
    return source.windows.shown(number for one in learnings for number in source.windows.best(one.text, 1))
