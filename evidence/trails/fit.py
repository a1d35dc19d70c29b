"""How well a passage fits a question, and how firmly two passages hang together."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from deep_research.evidence.trails.candidate import Candidate
from deep_research.evidence.trails.query import Query, stem_run
from deep_research.evidence.trails.shelf import Shelf
from deep_research.evidence.vocabulary import STOP_WORDS

USUAL_LENGTH = 45
"""Words that carry meaning in a passage of usual length."""
LENGTH_SHARE = 0.3
FULL = 1.25
"""The most that a word can count in one passage."""
BY_TITLE = 0.30
"""What a name is worth that leads from one passage to the other and is the title of one of them."""
BY_MENTION = 0.20
"""What it is worth where both only mention it."""
IN_QUESTION = 0.4
"""Share of that if the question holds the name: then it tells nothing new."""
ONE_WORD = 0.5
"""Share of that for a name of one word that only the texts hold."""
SAME_DOCUMENT = 0.1
WHOLE_TITLE = 1.0
SUBJECT_ONLY = 0.7


def held(query: Query, candidate: Candidate) -> dict[str, float]:
    """How well the passage holds each stem of the question, from 0 to 1.25; a torn name counts by its share."""
    length = 1 - LENGTH_SHARE + LENGTH_SHARE * candidate.length / USUAL_LENGTH
    counts = {stem: candidate.counts[stem] + (stem in candidate.title_stems) for stem in query.weights}
    found = {stem: min(FULL, 2 * count / (count + length)) for stem, count in counts.items() if count}
    for name in query.names:
        if name.run not in candidate.stem_run:
            whole = sum(query.weights[stem] for stem in name.stems)
            share = sum(query.weights[stem] for stem in name.stems if stem in found) / whole
            found |= {stem: found[stem] * share for stem in name.stems if stem in found}
    return found


def is_named(query: Query, candidate: Candidate) -> float:
    """1 if the question holds the title of the passage's document, less if only its main part, else 0."""
    if _is_in(stem_run(candidate.title), query.run):
        return WHOLE_TITLE
    found = _is_in(stem_run(candidate.subject), query.run) and re.search(
        rf"(?<!\w){re.escape(candidate.subject)}", query.text
    )
    return SUBJECT_ONLY if found else 0.0


def _is_in(title: str, question: str) -> bool:
    return len(title) > 3 and title in question and not STOP_WORDS.issuperset(title.split())


def link(query: Query, shelf: Shelf, one: Candidate, other: Candidate) -> float:
    """How firmly two passages hang together by a name that both hold, from 0 to 0.3; rarer names bind better."""
    if one.document == other.document:
        return SAME_DOCUMENT
    return max(_leads(query, shelf, one, other), _leads(query, shelf, other, one))


def _leads(query: Query, shelf: Shelf, one: Candidate, other: Candidate) -> float:
    return max((_worth(query, shelf, name, one, other) for name in one.names), default=0.0)


def _worth(query: Query, shelf: Shelf, name: str, one: Candidate, other: Candidate) -> float:
    run = f" {name} "
    in_title = run in other.title_run
    if not in_title and run not in other.run:
        return 0.0
    is_title = run in one.title_run or (in_title and 2 * len(name) >= len(other.subject))
    worth = BY_TITLE if is_title else BY_MENTION
    worth *= 1 if in_title or " " in name else ONE_WORD
    return worth * (IN_QUESTION if run in query.plain else 1) * telling(shelf, name)


def telling(shelf: Shelf, name: str) -> float:
    """How much a name tells, from 0 for one that all passages hold to 1 for one that hardly any does."""
    size, holders = max(10, shelf.size), shelf.holders(name)
    if not holders:
        return 0.0
    return min(1.0, max(0.0, math.log(size / (holders + 1)) / math.log(size / 3)))


def gain(query: Query, found: Mapping[str, float], known: Mapping[str, float], repeated: float) -> float:
    """What a passage adds to a question of which so much is known; what is known already counts `repeated` times."""
    return sum(
        query.weights[stem] * (max(0.0, share - known.get(stem, 0.0)) + repeated * min(share, known.get(stem, 0.0)))
        for stem, share in found.items()
    )
