"""What the findings of a research taught."""

from __future__ import annotations

from collections.abc import Sequence

from ...knowledge import Learning
from ...state import Finding
from ..citations.known import KnownMarkers
from ..text.sentences import Sentence, sentences_of
from ..text.words import tokens


def learnings_of(finding: Finding) -> list[Learning]:
    """The cited sentences of a finding, once for each source that they cite; none of a finding without a reader.

    Nobody reads a finding that is withheld or consists of excerpts that no model has looked at.
    """
    return list(
        dict.fromkeys(
            Learning(text=sentence.text, source=key, step=finding.id, question_id=finding.question_id)
            for sentence in _sentences(finding)
            for key in _cited(sentence, finding)
        )
    )


def plain_fact(text: str) -> str:
    """The words of a learning in one line, without markers: what a source cites is no number of ours."""
    markers = KnownMarkers(())
    parts = [*markers.feed(" ".join(text.split())), *markers.finish()]
    return "".join(part for part in parts if isinstance(part, str)).strip()


def merged_by_source(learnings: Sequence[Learning]) -> list[tuple[str, list[str]]]:
    """Each source with what was learned from it, each thing once, in order of first appearance; no thoughts."""
    merged: dict[str, dict[str, None]] = {}
    for learning in learnings:
        if learning.source:
            merged.setdefault(learning.source, {})[learning.text] = None
    return [(source, list(texts)) for source, texts in merged.items()]


def thoughts(learnings: Sequence[Learning]) -> list[Learning]:
    """The learnings without a source, those in the same words once."""
    first: dict[str, Learning] = {}
    for learning in learnings:
        if not learning.source:
            first.setdefault(learning.text, learning)
    return list(first.values())


def _sentences(finding: Finding) -> list[Sentence]:
    return [] if finding.is_withheld or finding.failures else sentences_of(finding.text)


def _cited(sentence: Sentence, finding: Finding) -> tuple[str, ...]:
    if not tokens(sentence.text):
        return ()
    known = [number for number in sentence.numbers if 0 < number <= len(finding.sources)]
    return tuple(dict.fromkeys(finding.sources[number - 1] for number in known))
