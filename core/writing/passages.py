"""Passages of sources that the thread has read: those behind its learnings, and those for a follow-up question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...prompts import fenced_knowledge
from ...state import ResearchState
from ..evidence.checking.source_text import SourceText
from ..evidence.text.similarity import grouped
from ..records.plan import Learning
from ..run.store.pages import Pages
from ..run.transcripts import CHARACTERS_PER_TOKEN
from .basis import source_texts

_MOST_TOKENS = 12_000
"""Maximum length of all passages, in tokens."""
_SHARE = 0.25
"""Maximum share of the writer's window for all passages."""
_FEWER = (100, 12, 6, 3, 1)
"""Numbers of learnings per source to show passages for, tried in order until all passages fit."""
_RECALLED = 4
"""Maximum number of passages per source for a follow-up question."""


class SourcePassage(NamedTuple):
    """A passage of a source."""

    key: str
    """Key of the source."""
    text: str


async def recalled_passages(question: str, state: ResearchState, pages: Pages, characters: int) -> list[SourcePassage]:
    """Return passages of the thread's numbered sources for a follow-up question, best source first.

    Their total length is at most `characters`. The list is empty if no texts are stored.
    """
    keys = [key for key, source in state.sources.items() if source.number]
    texts = await source_texts(state.sources, keys, pages)
    return await asyncio.to_thread(_recalled, question, texts, characters)


def _recalled(question: str, texts: Mapping[str, Sequence[SourceText]], characters: int) -> list[SourcePassage]:
    windows = {key: own[0].windows for key, own in texts.items() if own}
    shares = {key: own.share(question) for key, own in windows.items()}
    found = list[SourcePassage]()
    for key in sorted((key for key in windows if shares[key]), key=lambda key: -shares[key]):
        for text in windows[key].shown(windows[key].best(question, _RECALLED)):
            characters -= len(text)
            if characters < 0:
                return found
            found.append(SourcePassage(key, text))
    return found


async def deciding_passages(state: ResearchState, pages: Pages, window: int) -> str:
    """Return fenced JSON with the passages behind each source's learnings, and the source's number in the thread.

    They take at most a share of `window` (input tokens of the writer's model). Empty if no texts are stored or fit.
    """
    cited = [learning for learning in state.learnings.values() if learning.source]
    learnings = [learning for learning in cited if state.sources[learning.source].number]
    texts = await source_texts(state.sources, dict.fromkeys(learning.source for learning in learnings), pages)
    room = int(min(_MOST_TOKENS, _SHARE * window) * CHARACTERS_PER_TOKEN)
    return await asyncio.to_thread(_chosen, state, learnings, texts, room)


def _chosen(
    state: ResearchState, learnings: Iterable[Learning], texts: Mapping[str, Sequence[SourceText]], room: int
) -> str:
    by_source = grouped(learnings, lambda learning: learning.source)
    by_source = {key: own for key, own in by_source.items() if texts.get(key)}
    in_order = sorted(by_source, key=lambda key: state.sources[key].number)
    for most in _FEWER:
        shown = [
            {"source": state.sources[key].number, "passages": _passages(texts[key][0], by_source[key][:most])}
            for key in in_order
        ]
        text = fenced_knowledge(passages=shown)
        if len(text) <= room:
            return text
    return ""


def _passages(source: SourceText, learnings: Iterable[Learning]) -> list[str]:
    """Return the best window of the text for each learning, joining adjacent windows."""
    return source.windows.shown(number for learning in learnings for number in source.windows.best(learning.text, 1))
