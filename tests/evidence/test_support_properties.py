"""Whatever the texts are, a check keeps its promises, and takes a moment."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deep_research.core.evidence.checking.score import best_passage
from deep_research.core.evidence.checking.source_text import Evidence

MIXED = (
    "The not no never 12 1.500 1,5 million km miles 1844 May 3rd 03.05.1844 first last increased fell Reid David of "
    "und nicht 万 不 150 年 塔 half-built it's isn't ( ) . ! ? \n \" “ [1] % $ - 9999999999999999999999999999999999"
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(MIXED.split(" ")), max_size=60).map(" ".join))
LONG = {
    "words": "a " * 6000,
    "two words": "ab ba " * 2000,
    "groups of digits": "111 " * 3000 + "1111",
    "digits": "1" * 12000,
    "zeros": "1" + "0" * 12000,
    "years": "1999 " * 2400,
    "full stops": ". " * 6000,
    "quotation marks": '."' * 6000,
    "lines": "\n" * 12000,
    "signs": "中" * 12000,
    "negations": "not big " * 1500,
    "opposites": "first last " * 1100,
    "names": "Aa Bb Cc " * 1400,
    "brackets": "[" * 12000,
    "markers": "[" + "1," * 6000,
}


@given(TEXTS, TEXTS)
def test_a_quote_stands_where_it_is_said_to_stand(claim: str, text: str) -> None:
    check = best_passage(claim, text)
    assert text[check.start : check.end] == check.quote
    assert 0 <= check.score <= 1
    assert (check.verdict == "supported") == (check.score >= 0.5)


@given(TEXTS)
def test_a_text_supports_itself(text: str) -> None:
    check = best_passage(text, text)
    assert check.reasons == ("there is nothing to compare",) or check.verdict == "supported"


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_read_once_says_the_same_each_time(claim: str, other: str, text: str) -> None:
    read = Evidence(text)
    best_passage(other, read)
    assert best_passage(claim, read) == best_passage(claim, text)


@given(TEXTS, TEXTS)
@example("million", "0 million")
def test_a_word_that_is_said_to_be_missing_is_missing(claim: str, text: str) -> None:
    check = best_passage(claim, text)
    for reason in check.reasons:
        if found := re.fullmatch(r"no word of '(.+)' in the (source|passage)", reason):
            assert found.group(1) not in re.findall(r"\w+", text if found.group(2) == "source" else check.quote)
        if reason.startswith("not in the passage: "):
            words = reason.removeprefix("not in the passage: ").split(", ")
            assert set(words).isdisjoint(re.findall(r"\w+", check.quote))


@given(st.text(max_size=80), TEXTS)
@settings(max_examples=50)
def test_the_lines_of_a_source_may_end_in_any_way(claim: str, text: str) -> None:
    for end in ("\n", "\r\n", "\r"):
        broken = text.replace(" ", end)
        check = best_passage(claim, broken)
        assert broken[check.start : check.end] == check.quote


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
@pytest.mark.timeout(60)
def test_a_text_that_is_written_to_keep_its_reader_busy_is_checked_soon(name: str) -> None:
    # If each character cost more than the last, the limit of the test would cut it off.
    for claim in (LONG[name], "The first man won 3 medals in 1999 and not 4."):
        assert best_passage(claim, LONG[name] * 10).score >= 0
        assert best_passage(LONG[name], claim).score >= 0
