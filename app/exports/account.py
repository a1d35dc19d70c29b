"""The account of a run in figures, each with its name in the language of the report."""

from __future__ import annotations

from typing import NamedTuple

from ...audit import Audit
from ...evidence.citations.labels import Labels
from ...run.money import dollars


class Figure(NamedTuple):
    """One figure and what it says."""

    name: str
    value: str


def figures_of(audit: Audit, labels: Labels) -> list[Figure]:
    """The figures of an audit; calls and tokens only where a model was at work, money only where some was spent."""
    counts = [
        (labels.sentences, audit.sentences),
        (labels.cited, audit.cited),
        (labels.supported, audit.supported),
        (labels.unchecked, audit.unchecked),
        (labels.unsupported, audit.unsupported),
        (labels.without_source, audit.uncited),
        (labels.repaired, audit.repaired),
        (labels.marked, audit.marked),
        (labels.removed_markers, audit.removed_markers),
        (labels.sources_read, audit.sources_read),
        (labels.sources_cited, audit.sources_cited),
        (labels.independent_sources, audit.independent_sources),
        (labels.excerpt_only, audit.excerpts_cited),
    ]
    figures = [Figure(name, _grouped(count)) for name, count in counts]
    if audit.model_calls:
        figures.append(Figure(labels.model_calls, _grouped(audit.model_calls)))
        figures.append(Figure(labels.tokens, f"{_grouped(audit.input_tokens)} / {_grouped(audit.output_tokens)}"))
    if audit.usd:
        figures.append(Figure(labels.cost, dollars(audit.usd)))
    return [*figures, Figure(labels.time, _duration(audit.seconds))]


def _grouped(count: int) -> str:
    # A narrow space between the thousands is read alike in every language.
    return f"{count:,}".replace(",", "\u202f")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
