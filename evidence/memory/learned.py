"""What the findings of a research taught."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...knowledge import Fact, Learning
from ...state import Finding
from ..citations.known import KnownMarkers
from ..text.mixing import in_turn
from ..text.sentences import Sentence, sentences_of
from ..text.words import tokens
from .observations import relevance

CHARACTERS_PER_TOKEN = 4
OVERHEAD = 15
"""Tokens of what stands around a learning that is shown: its number, its document and its step."""


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


def facts_of(learnings: Iterable[Learning]) -> list[Fact]:
    """What learnings say, each thing once, in order of first appearance; thoughts stand apart.

    Only the same words are the same thing: sources that contradict each other do so in nearly the same words.
    """
    groups: dict[tuple[bool, str], list[Learning]] = {}
    for one in learnings:
        groups.setdefault((bool(one.source), " ".join(one.text.casefold().split())), []).append(one)
    return [Fact(tuple(group)) for group in groups.values()]


def merged_by_source(learnings: Iterable[Learning]) -> list[tuple[str, list[Fact]]]:
    """Each source with the facts that were first learned from it, in order of first appearance; no thoughts."""
    merged: dict[str, list[Fact]] = {}
    for fact in facts_of(one for one in learnings if one.source):
        merged.setdefault(fact.sources[0], []).append(fact)
    return list(merged.items())


def in_view(groups: Sequence[Sequence[Learning]], about: str, tokens: int) -> list[Learning]:
    """Return the learnings that fit into so many tokens, group by group, each in its order.

    Of a group that does not fit, each step gets a fair share: in turn its learning that bears most on what the view is
    `about`. The same words of the same source stand there once.
    """
    kept: dict[tuple[str, str], Learning] = {}
    for group in groups:
        by_step: dict[str, list[Learning]] = {}
        for one in group:
            by_step.setdefault(one.step, []).append(one)
        ranked = (sorted(of_step, key=lambda one: -relevance(one.text, about)) for of_step in by_step.values())
        for one in in_turn(ranked):
            cost = OVERHEAD + len(one.text) // CHARACTERS_PER_TOKEN
            if (one.source, one.text) not in kept and cost <= tokens:
                tokens -= cost
                kept[one.source, one.text] = one
    order = {one.id: place for place, one in enumerate(one for group in groups for one in group)}
    return sorted(kept.values(), key=lambda one: order[one.id])


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
