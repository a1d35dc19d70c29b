"""Claims that contradict each other, side by side for the reader: who says so, when, and which is newer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...knowledge import FINAL_CHECK, Learning, Observation, Source
from ..citations.labels import Labels
from ..citations.rendering import plain_line, source_name
from .observations import contradictions


class Compared(NamedTuple):
    """Two claims that cannot both hold."""

    claims: tuple[str, str]
    """The claims."""
    sources: tuple[Source, Source]
    """Who says so."""

    @property
    def newer(self) -> Source | None:
        """The source of the later date; none if the dates are the same, or one is not known."""
        one, other = self.sources
        if not one.date or not other.date or one.date == other.date:
            return None
        return max(self.sources, key=lambda source: source.date)


def compared(
    memory: Iterable[Observation], learnings: Mapping[str, Learning], sources: Mapping[str, Source], question_id: str
) -> list[Compared]:
    """The contradictions of this question that the final check has confirmed and that both have a source."""
    confirmed = [one for one in memory if one.step == FINAL_CHECK and one.question_id == question_id]
    pairs = [[learnings[key] for key in found.learnings] for found in contradictions(confirmed)]
    return [
        Compared((one.text, other.text), (sources[one.source], sources[other.source]))
        for one, other in pairs
        if one.source and other.source
    ]


def comparison_table(pairs: Sequence[Compared], labels: Labels, numbers: Mapping[str, int]) -> str:
    """A Markdown table with a row a pair, empty without any; `numbers` of the report by the keys of its sources."""
    if not pairs:
        return ""
    head = (labels.claim, labels.other_claim, labels.sources, labels.dates, labels.newer)
    rows = [head, ("---",) * len(head), *(_cells(pair, labels, numbers) for pair in pairs)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"## {labels.contradictions}\n\n{table}"


def in_words(pair: Compared) -> str:
    """The pair in one line, for a model: by numbers, since titles may hold anything."""
    named = [f"{claim} [{source.number}] ({source.date or 'undated'})" for claim, source in zip(*pair, strict=True)]
    newer = f"; [{pair.newer.number}] is newer" if pair.newer else ""
    return f"- {named[0]} – but: {named[1]}{newer}"


def _cells(pair: Compared, labels: Labels, numbers: Mapping[str, int]) -> Sequence[str]:
    names = {source: source_name(source, numbers.get(source.key)) for source in pair.sources}
    return (
        *map(plain_line, pair.claims),
        " / ".join(names[source] for source in pair.sources),
        " / ".join(source.date or labels.not_stated for source in pair.sources),
        names[pair.newer] if pair.newer else labels.not_known,
    )
