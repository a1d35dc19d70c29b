"""Chooses the passages of sources that the writer is shown beside the findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ...prompts import fenced_knowledge
from ..evidence.checking.source_text import (
    SourceText,
    Windows,
    comparable,
    unwrap,
    windows_of,
    words_and_figures,
)
from ..evidence.text.sentences import sentence_spans
from ..records.plan import Learning
from ..records.sources import Source

_LEARNINGS_PER_SOURCE = (100, 12, 6, 3, 1)
"""Numbers of learnings per source to show passages for, tried in order until all passages fit."""
_WINDOWS_PER_LEARNING = 6
"""Maximum number of windows shown for a learning."""
_WHOLE_WINDOWS = 2
"""Number of windows up to which a source is shown whole, since any of its clauses may decide."""
_BOILERPLATE = 4
"""Minimum number of sources that have the same sentence if it is boilerplate."""
_SHORTEST_REPEATED = 50
"""Minimum length, in characters, of a sentence that may be left out."""
_STATED = 0.5
"""Minimum share of a sentence's words and figures that a learning has if it rests on the
sentence."""
_GAP = re.compile(r"[ \t]*\n\s*\n")
"""White space between paragraphs."""


def fitting_passages(
    sources: Mapping[str, Source],
    learnings: Mapping[str, Sequence[Learning]],
    texts: Mapping[str, Sequence[SourceText]],
    room: int,
) -> str:
    """Return the passages of as many learnings per source as fit into `room` characters.

    `learnings` and `texts` are by source key; the passages are fenced JSON.
    """
    keys = list(filter(texts.get, learnings))
    keys.sort(key=lambda key: sources[key].number)
    windows = _windows(keys, sources, learnings, texts)
    # The windows for each learning, of which one that sums up a list has several.
    nearest = dict[str, list[list[int]]]()
    for key in keys:
        of_source = learnings[key][: max(_LEARNINGS_PER_SOURCE)]
        nearest[key] = [
            windows[key].covering(learning.text, _WINDOWS_PER_LEARNING) for learning in of_source
        ]
    for most in _LEARNINGS_PER_SOURCE:
        shown = list[dict[str, Any]]()
        for key in keys:
            best = [*chain.from_iterable(nearest[key][:most])]
            if windows[key].has_room_for_all(min(_WHOLE_WINDOWS, most)):
                best += windows[key].others(best, _WHOLE_WINDOWS)
            passages = windows[key].shown(best)
            if passages:
                shown.append({"source": sources[key].number, "passages": passages})
        text = fenced_knowledge(passages=shown)
        if len(text) <= room:
            return text
    return ""


class _Sentence(NamedTuple):
    """A sentence of a source."""

    start: int
    end: int
    words: str
    """Its text in the form in which it is compared with those of other sources; empty if it is
    not."""


def _windows(
    keys: Sequence[str],
    sources: Mapping[str, Source],
    learnings: Mapping[str, Sequence[Learning]],
    texts: Mapping[str, Sequence[SourceText]],
) -> dict[str, Windows]:
    """Return the windows of sources by key.

    A sentence of several documents is left to the first of them with a learning that rests on it.
    Where there is none, it stays in each; boilerplate stays in the first, since it may limit what
    the others say ("not audited").
    """
    sentences = dict[str, list[_Sentence]]()
    counts = Counter[str]()
    for key in keys:
        # Web pages rarely have sentences of others, and are long.
        is_compared = sources[key].kind != "web"
        sentences[key] = _sentences(texts[key][0].text) if is_compared else []
        of_source = set[str]()
        for sentence in sentences[key]:
            of_source.add(sentence.words)
        counts.update(of_source)
    owners = dict[str, str]()
    for key in keys:
        stated = list[frozenset[str]]()
        for learning in learnings[key]:
            stated.append(words_and_figures(learning.text))
        for sentence in sentences[key]:
            words = sentence.words
            if words and counts[words] > 1 and words not in owners and _is_stated(words, stated):
                owners[words] = key
    windows = dict[str, Windows]()
    for key in keys:
        left_out = list[_Sentence]()
        for sentence in sentences[key]:
            words = sentence.words
            if words and counts[words] >= _BOILERPLATE:
                owners.setdefault(words, key)
            if words and owners.get(words, key) != key:
                left_out.append(sentence)
        windows[key] = windows_of(_without(left_out, texts[key][0].text))
    return windows


def _sentences(text: str) -> list[_Sentence]:
    """Return the sentences of a text; rows of tables and short sentences are not compared."""
    sentences = list[_Sentence]()
    for start, end in sentence_spans(unwrap(text)):
        words = ""
        if end - start >= _SHORTEST_REPEATED and "|" not in text[start:end]:
            words = comparable(text[start:end])
        sentences.append(_Sentence(start, end, words))
    return sentences


def _is_stated(sentence: str, stated: Iterable[frozenset[str]]) -> bool:
    """Whether a learning (its words and figures in `stated`) has most of a sentence."""
    keys = words_and_figures(sentence)
    return any(len(keys & of_learning) >= _STATED * len(keys) for of_learning in stated)


def _without(left_out: Iterable[_Sentence], text: str) -> str:
    """Return a text without these sentences."""
    parts = list[str]()
    end = 0
    for sentence in left_out:
        parts.append(text[end : sentence.start])
        end = sentence.end
        while text[end : end + 1] == " ":
            end += 1
    if not parts:
        return text
    parts.append(text[end:])
    return _GAP.sub("\n\n", "".join(parts))
