"""The work on a text grows in proportion to its length, however hostile the text is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.work import is_linear, processor_limit, steps_of

from deep_research.core.evidence.checking.source_text import SourceText, unwrap
from deep_research.core.evidence.checking.units import report_units
from deep_research.core.evidence.citations.citing import known_citations
from deep_research.core.evidence.citations.foreign import read_foreign
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.markers import (
    note_marks,
    plain_prose,
    scan,
    settle_fences,
)
from deep_research.core.evidence.citations.rendering import (
    clean_for_draft,
    joined_footnotes,
    plain_citations,
    plain_line,
    read_body,
    with_marks,
)
from deep_research.core.evidence.citations.sanitizing import sanitized
from deep_research.core.evidence.text.numbers import measures_in, numbers_in, scales_in
from deep_research.core.evidence.text.sentences import (
    paragraphs_of,
    prose_of,
    sections_of,
    sentence_spans,
    sentences_of,
)
from deep_research.core.evidence.text.similarity import bare_title, normalised
from deep_research.core.evidence.text.words import dates_in, names, sought_words
from deep_research.core.reading.documents.records import readable_suffixes
from deep_research.core.records.report import ClaimCheck
from deep_research.core.records.sources import Source
from deep_research.core.writing.blocks import report_blocks

SOURCES = {
    number: Source(
        key=str(number),
        title=f"Light {number}",
        location=f"https://light.example/{number}",
        address=f"https://light.example/{number}",
        kind="web",
        number=number,
    )
    for number in (1, 2)
}
KEYS = {number: source.key for number, source in SOURCES.items()}
SIGNS = (
    *("[", "]", "(", ")", "[a](", "![", "](", "[[", "[1]", "[0]", "[1, 2]", "[1](", "[^a]", "[`"),
    *("`", "``", "``` ", "```a\n", "~~~a\n", "*a", "**", "_a", "~~", "\\", "\\[", "\\href", "$"),
    *("<", "<a ", "<!--", "<http://a", "http://a", "www.", "//", "a@b.", "a&#64;b", "&", "|"),
    *("“", "„a", "«", "《", "「a", '"', "'", "a, [1] ", "a b c [1], a b c ", "(a b c [1]) "),
    *("A light burns here. ", "A light burns here [1]. ", "It rose by 5 km, one third. "),
    *("a", "A", "1", "一", "三百", "\u0301", " ", "\t", "\n", "\n\n", "\f", "- ", "> ", "1. "),
    *("- a\n", "  - a\n", "1. a\n", "# ", "# a\n", "| a | b |\n", "|---|---|\n", "[a\n"),
    *("<sup>", "</sup>", "<a href=#a>", "^[", "@a2020 ", "(A, 2020) ", "a.md ", "ibid. ", "¹"),
    *("[^a]: b\n", "[a]: b\n", "[1] a http://a.b\n", "a: ", "a.b.", "2024-05-", "hundred ", "$1,"),
)
"""What the hostile texts are made of."""
LENGTH = 200
"""Length of the shortest text in which steps are counted, in characters."""
SLACK = 2_000
"""Number of steps that may be added whatever the length."""
LONG = 30_000
"""Length of a text that takes ten seconds of CPU if the work on it grows quadratically, in
characters."""


def _marked(text: str) -> object:
    """Mark all units of a report as not verified."""
    settled = settle_fences(text)
    claims = list[ClaimCheck]()
    end = 0
    for unit in report_units(settled, KEYS):
        if unit.start >= end:
            end = unit.end
            claim = ClaimCheck(start=unit.start, end=end, verdict="unsupported", passages=())
            claims.append(claim)
    return with_marks(settled, claims, labels("en"), list(SOURCES.values()))


def _paragraphs(text: str) -> object:
    return [list(paragraphs_of(section)) for section in sections_of(text)]


def _draft(text: str) -> object:
    return clean_for_draft(text, {source.key: source for source in SOURCES.values()})


def _windows(text: str) -> object:
    return SourceText("", text).windows


def _dates(text: str) -> object:
    return list(dates_in(text))


def _units(text: str) -> object:
    return report_units(text, KEYS)


def _known(text: str) -> object:
    return known_citations(text, KEYS)


def _foreign(text: str) -> object:
    return read_foreign(text, readable_suffixes())


def _prose(text: str) -> object:
    return plain_prose(text, KEYS)


QUICK: tuple[Callable[[str], object], ...] = (
    *(scan, settle_fences, sentences_of, sentence_spans, sections_of, _paragraphs, prose_of),
    *(_prose, _known, plain_citations, plain_line, read_body, sanitized, joined_footnotes),
    *(note_marks, _foreign, report_blocks, unwrap, names, sought_words, bare_title),
)
"""What reads a text in less than a second per 100 000 characters."""
SLOW: tuple[Callable[[str], object], ...] = (
    *(_units, _marked, _draft, _windows, numbers_in, measures_in, scales_in, _dates, normalised),
)


def hostile_texts() -> st.SearchStrategy[tuple[str, str, str]]:
    """Return texts as what begins them, what is repeated, and what ends them."""
    sign = st.sampled_from(SIGNS)
    beginning = st.one_of(st.just(""), sign)
    return st.tuples(beginning, st.lists(sign, min_size=1, max_size=3).map("".join), beginning)


def long_text(parts: tuple[str, str, str], length: int) -> str:
    """Return a text of about this many characters."""
    beginning, repeated, end = parts
    return beginning + repeated * (length // len(repeated)) + end


def faster_than_length(parts: tuple[str, str, str]) -> list[str]:
    """Return the functions whose steps grow faster than such a text, with their steps."""
    faulty = list[str]()
    for work in (*QUICK, *SLOW):
        # Patterns are compiled, and words are stemmed, only once.
        work(long_text(parts, 3 * LENGTH))
        counts = list[int]()
        for length in (LENGTH, 2 * LENGTH, 4 * LENGTH):
            text = long_text(parts, length)
            counts.append(steps_of(partial(work, text)))
        if not is_linear(counts, SLACK):
            faulty.append(f"{work.__name__} {counts}")
    return faulty


@pytest.mark.sweep
@pytest.mark.fault("57")
@pytest.mark.parametrize("parts", [("", "a, [1] ", ""), ("", "# a\n", ""), ("", "[", "]<")])
def test_the_steps_to_read_a_text_grow_in_proportion_to_its_length(
    parts: tuple[str, str, str],
) -> None:
    assert faster_than_length(parts) == []


@pytest.mark.slow
@given(hostile_texts())
@settings(max_examples=6)
def test_no_mix_of_signs_takes_more_steps_than_in_proportion(parts: tuple[str, str, str]) -> None:
    assert faster_than_length(parts) == []


@pytest.mark.parametrize(
    "repeated",
    [
        "a&#64;b",
        *(
            pytest.param(repeated, marks=pytest.mark.slow)
            for repeated in ("[a](", "[", "![", "《", "\n\n", "```a\nb\n", "[1] ")
        ),
    ],
)
@pytest.mark.fault("57")
def test_no_long_text_takes_long(repeated: str) -> None:
    # Steps within patterns are not counted: where they grow quadratically, the limit ends it.
    text = long_text(("# a", repeated, "<"), LONG)
    with processor_limit(8):
        for work in QUICK:
            work(text)


@pytest.mark.slow
@given(hostile_texts())
@settings(max_examples=1)
def test_no_mix_of_signs_takes_long(parts: tuple[str, str, str]) -> None:
    text = long_text(parts, LONG)
    with processor_limit(100):
        for work in QUICK:
            work(text)
