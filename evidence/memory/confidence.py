"""How sure the results of a step are: a number that any reader can work out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ...knowledge import Learning, Source
from .observations import relevance

CONFIDENT = 0.6
"""Confidence above which results are taken for sure enough to draw insights from."""
_AGREEMENT, _COVERAGE, _PROMPTNESS = 0.5, 0.4, 0.1
_ITERATIONS = 5


def confidence(
    task: str,
    learnings: Sequence[Learning],
    sources: Mapping[str, Source],
    iteration: int,
    completeness: float | None = None,
) -> float:
    """How sure it is what was learned for a task by an iteration (from 1), from 0 to 1 with two decimals.

    0.5 × agreement + 0.4 × coverage + 0.1 × promptness; 0 if nothing was learned. Agreement is 1 - 0.5ⁿ for n
    independent sources: the pages of one host are one, and so is each document; thoughts are none. Coverage is how much
    of what the task asks for is there, as a model has judged it (`completeness`, from 0 to 1); without a judgement, the
    share of the task's telling words that the learnings hold. Promptness falls from 1 at the first iteration by a fifth
    with each further one, down to 0.
    """
    if not learnings:
        return 0.0
    independent = {_publisher(sources[learning.source]) for learning in learnings if learning.source in sources}
    agreement = 1 - 0.5 ** len(independent)
    words = " ".join(learning.text for learning in learnings)
    coverage = relevance(words, task) if completeness is None else completeness
    promptness = min(1.0, max(0.0, (_ITERATIONS + 1 - iteration) / _ITERATIONS))
    return round(_AGREEMENT * agreement + _COVERAGE * coverage + _PROMPTNESS * promptness, 2)


def is_confident(value: float) -> bool:
    """Whether a confidence is above `CONFIDENT`, strictly."""
    return value > CONFIDENT


def _publisher(source: Source) -> str:
    if source.kind == "document":
        return source.key
    try:
        host = urlsplit(source.key).hostname
    except ValueError:
        host = None
    return (host or source.key).removeprefix("www.")
