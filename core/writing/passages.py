"""Passages of what the thread has read: those that findings rest on, and those that bear on a further question."""

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

MOST_TOKENS = 12_000
"""Maximum length of all passages, in tokens."""
SHARE = 0.25
"""Maximum share of the writer's window that they take."""
FEWER = (100, 12, 6, 3, 1)
"""Statements of each source whose passages are shown; the first number is used with which all passages fit."""
RECALLED = 4
"""Passages of each source that bear on a further question, at most."""


class SourcePassage(NamedTuple):
    """A passage of a source."""

    key: str
    """Key of the source."""
    text: str


async def recalled_passages(question: str, state: ResearchState, pages: Pages, characters: int) -> list[SourcePassage]:
    """Return passages of the sources that the thread has numbered, those first that hold most words of a question.

    They have at most so many characters together. Empty if no text is kept.
    """
    keys = [key for key, source in state.sources.items() if source.number]
    texts = await source_texts(state.sources, keys, pages)
    return await asyncio.to_thread(_recalled, question, texts, characters)


def _recalled(question: str, texts: Mapping[str, Sequence[SourceText]], characters: int) -> list[SourcePassage]:
    windows = {key: own[0].windows for key, own in texts.items() if own}
    shares = {key: one.share(question) for key, one in windows.items()}
    found = list[SourcePassage]()
    for key in sorted((key for key in windows if shares[key]), key=lambda key: -shares[key]):
        for text in windows[key].shown(windows[key].best(question, RECALLED)):
            characters -= len(text)
            if characters < 0:
                return found
            found.append(SourcePassage(key, text))
    return found


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
