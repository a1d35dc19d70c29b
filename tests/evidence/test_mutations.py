"""A sentence that was made false is not taken for supported; one that was not is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from mutations import KINDS, Kind, mutate, names_in

from deep_research.core.evidence.checking.score import best_passage
from deep_research.core.evidence.text.sentences import spans_of

pytestmark = pytest.mark.slow

CORPUS = Path(__file__).parents[3] / "shared" / "data" / "multihop" / "corpus"
SOURCES = [
    "The Harrow canal was dug between 1791 and 1798. It is 38 km long and has 24 locks, which were designed by Thomas "
    "Fell. The canal was never profitable. In 1846 the Midland Railway bought it for £120,000, and by 1900 only 12 "
    "boats were left. Today the canal is used by walkers, and its towpath was repaired in 2004 by the town of Arden.",
    "Ingrid Solberg was a chemist from Bergen. She studied in Leipzig under Karl Brandt until 1903, and was the "
    "first woman to teach at the Trondheim school of mines. Her furnace, which was patented in 1911, had a capacity of "
    "350 kg and could melt ore in 40 minutes. She was not paid for the patent. Solberg died in Oslo in 1952.",
    "The comet was seen from Lima by Pedro Quiroga on 14 March 1744. Its tail was 22 million km long, and it was "
    "visible for 19 days. Astronomers in Paris were not able to see it before April 1744. The comet has been linked "
    "to a shower of meteors that was described by Zhang Wei, who had counted 300 of them in 2 hours.",
]
FEWEST = 0.8
"""Share of the false sentences of each kind that must be noticed."""
MOST = 0.05
"""Share of the true sentences that may be taken for false ones."""


class Case(NamedTuple):
    sentence: str
    source: str


def cases_of(sources: Sequence[str]) -> list[Case]:
    """The whole sentences of the sources, each with the whole source."""
    found = (Case(source[start:end], source) for source in sources for start, end in spans_of(source))
    return [case for case in found if len(case.sentence.split()) >= 6 and case.sentence.endswith((".", "!", "?"))]


def mutants(kind: Kind, cases: Sequence[Case], seed: int) -> Iterator[tuple[str, str]]:
    random = Random(seed)
    for case in cases:
        others = [other.sentence for other in random.sample(cases, min(9, len(cases))) if other.source != case.source]
        changed = mutate(kind, case.sentence, random, names_in(case.source), others)
        if changed and changed not in case.source:
            yield changed, case.source


def share_unsupported(pairs: Sequence[tuple[str, str]]) -> float:
    return sum(best_passage(sentence, source).verdict != "supported" for sentence, source in pairs) / len(pairs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_that_was_made_false_is_not_supported(kind: Kind) -> None:
    pairs = [pair for seed in range(20) for pair in mutants(kind, cases_of(SOURCES), seed)]
    assert len(pairs) >= 20
    assert share_unsupported(pairs) >= FEWEST


def test_a_sentence_of_the_source_is_supported() -> None:
    assert share_unsupported(cases_of(SOURCES)) == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_false_sentences_are_told_from_true_ones_in_real_documents(seed: int) -> None:
    if not CORPUS.is_dir():
        pytest.skip("the shared documents are not there")
    paths = sorted(path for path in CORPUS.rglob("*") if path.suffix in (".md", ".txt"))
    cases = cases_of([path.read_text("utf-8") for path in paths])
    chosen = Random(seed).sample(cases, 400)
    assert share_unsupported(chosen) <= MOST
    for kind in KINDS:
        pairs = list(mutants(kind, cases if kind == "unit" else chosen, seed))
        assert (kind, share_unsupported(pairs) >= FEWEST) == (kind, True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutation_is_the_same_for_the_same_seed_and_changes_something(kind: Kind) -> None:
    cases = cases_of(SOURCES)
    assert list(mutants(kind, cases, 7)) == list(mutants(kind, cases, 7))
    assert all(changed not in source for changed, source in mutants(kind, cases, 7))


def test_where_there_is_nothing_to_change_there_is_no_mutation() -> None:
    for kind in KINDS:
        assert mutate(kind, "Walkers like canals.", Random(1)) is None
