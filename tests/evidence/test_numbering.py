"""Source keys, and source numbers in a thread: several researchers and rounds, and parallel writes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.reports import source_at, streamed

from deep_research.core.evidence.citations.citing import (
    number_finding,
    number_findings,
    source_key,
    without_citations_of,
)
from deep_research.core.records.research import Finding
from deep_research.core.records.sources import Source
from deep_research.state import merge_findings, merge_sources

KEYS = ["a", "b", "c", "d", "e"]
LocalFinding = tuple[str, dict[int, str]]

found = st.lists(st.sampled_from(KEYS), max_size=4)
markers = st.lists(st.integers(min_value=0, max_value=5), min_size=1, max_size=3)
local_findings = st.tuples(
    st.lists(markers, max_size=5).map(
        lambda lists: " and ".join(str(numbers) for numbers in lists)
    ),
    found.map(lambda keys: dict(enumerate(keys, 1))),
)


def finding(name: str, position: int = 0, **fields: Any) -> Finding:
    given_fields = {
        "question_id": "q",
        "task": "t",
        "cycle": 0,
        "position": position,
        "text": name,
        "ended": "done",
    }
    return Finding(id=name, **{**given_fields, **fields})


COLLAPSE = [
    ("c2", "[50] and [60]", {}, {50: "a", 60: "b"}, "[1] and [2]", {"a": 1, "b": 2}),
    ("c4, 36", "[50]", {"s": 1}, {50: "s"}, "[1]", {"s": 1}),
    (
        "c5",
        "[30],[31],[32]",
        {"a": 1, "b": 2},
        {30: "a", 31: "c", 32: "b"},
        "[1],[3],[2]",
        {"a": 1, "b": 2, "c": 3},
    ),
    ("c6, 37", "[100]", {"e": 5}, {100: "n"}, "[6]", {"e": 5, "n": 6}),
    ("c7", "[50] [60]", {}, {50: "d", 60: "d"}, "[1] [1]", {"d": 1}),
    ("c9", "[1] and [2]", {"p": 1, "q": 2}, {1: "q", 2: "p"}, "[2] and [1]", {"p": 1, "q": 2}),
    ("c10", "[[5]] 【5】 ［5］ 【【5】】 [5】", {}, {5: "a"}, "[1] [1] [1] [1] [1]", {"a": 1}),
    ("c11", "[5,6] [5, 6]", {}, {5: "a", 6: "b"}, "[1, 2] [1, 2]", {"a": 1, "b": 2}),
    # Numbers go by the text, not by the order in which the sources were found.
    ("c12", "[100] [300]", {}, {300: "b", 100: "a"}, "[1] [2]", {"a": 1, "b": 2}),
    # A source that is not cited gets no number.
    ("c13", "nothing", {}, {5: "a"}, "nothing", {}),
    ("c14", "`a[5]` [5](http://u) [5]", {}, {5: "a"}, "`a[5]` [5](http://u) [1]", {"a": 1}),
]


@pytest.mark.fault("R14")
@pytest.mark.behaviour("O-66")
@pytest.mark.parametrize(
    ("row", "text", "given", "local", "expected", "numbers"),
    COLLAPSE,
    ids=[row[0] for row in COLLAPSE],
)
def test_local_numbers_become_the_threads(
    row: str,
    text: str,
    given: dict[str, int],
    local: dict[int, str],
    expected: str,
    numbers: dict[str, int],
) -> None:
    before = dict(given)
    assert number_finding(text, local, given) == (expected, numbers, 0)
    assert given == before


@pytest.mark.fault("R14")
@pytest.mark.behaviour("O-66", "O-69")
def test_an_unknown_local_number_never_becomes_the_number_of_a_source() -> None:
    finding = number_finding("[25] and [2], [25, 2].", {25: "z"}, {"p": 1, "q": 2})
    assert finding == ("[3] and [3].", {"p": 1, "q": 2, "z": 3}, 2)


@pytest.mark.behaviour("O-68", "O-69")
@given(st.lists(local_findings, max_size=5))
def test_merging_never_changes_a_number(findings: list[LocalFinding]) -> None:
    before: dict[str, int] = {}
    for text, local in findings:
        numbered = number_finding(text, local, before)
        assert {key: numbered.numbers[key] for key in before} == before
        assert sorted(numbered.numbers.values()) == [*range(1, len(numbered.numbers) + 1)]
        shown = {int(digits) for digits in re.findall(r"\d+", numbered.text)}
        assert shown == {numbered.numbers[key] for key in set(streamed(text, local).cited.values())}
        before = numbered.numbers


@pytest.mark.behaviour("O-68")
@given(st.permutations([(0, 0), (0, 1), (1, 0)]))
def test_numbers_follow_the_order_of_tasks_and_not_of_arrival(order: list[tuple[int, int]]) -> None:
    given = [
        finding(f"[1] {cycle}.{at}", at, cycle=cycle, sources=(KEYS[2 * cycle + at],))
        for cycle, at in order
    ]
    numbered, cited = number_findings(given, {key: source_at(key) for key in KEYS})
    texts = {found.text: found.numbered for found in numbered.values()}
    assert texts == {"[1] 0.0": "[1] 0.0", "[1] 0.1": "[2] 0.1", "[1] 1.0": "[3] 1.0"}
    assert {key: found.number for key, found in cited.items()} == {"a": 1, "b": 2, "c": 3}


@given(local_findings)
def test_numbering_a_numbered_text_changes_nothing(call: LocalFinding) -> None:
    once = number_finding(*call, {"z": 1})
    again = number_finding(
        once.text, {number: key for key, number in once.numbers.items()}, once.numbers
    )
    assert again == (once.text, once.numbers, 0)


sources = st.builds(
    source_at,
    st.sampled_from(KEYS[:2]),
    st.sampled_from(["", "x", "y"]),
    content_hash=st.sampled_from(["", "h1", "h2"]),
    read_at=st.sampled_from(["", "2025-01-01", "2025-01-02"]),
    superseded_by=st.sampled_from(["", "k1", "k2"]),
    is_draft=st.booleans(),
    is_retracted=st.booleans(),
    has_concern=st.booleans(),
    listed_by=st.sampled_from(["", "Crossref", "OpenAlex"]),
    number=st.integers(min_value=0, max_value=3),
)
findings_of_one_id = st.lists(st.sampled_from([None, "numbered"]), min_size=1, max_size=4)


def updates(records: list[Source]) -> list[dict[str, Source]]:
    return [{record.key: record} for record in records]


def merged(merge: Callable[[Any, Any], Any], parts: list[Any]) -> Any:
    return reduce(merge, parts, {})


@given(st.lists(sources, max_size=6), st.randoms(), st.integers(min_value=0, max_value=6))
def test_sources_merge_in_any_order_and_grouping(
    records: list[Source], chance: random.Random, cut: int
) -> None:
    parts = updates(records)
    whole = merged(merge_sources, parts)
    shuffled = chance.sample(parts, len(parts))
    assert merged(merge_sources, shuffled) == whole
    assert merged(merge_sources, parts + shuffled) == whole
    assert (
        merge_sources(merged(merge_sources, parts[:cut]), merged(merge_sources, parts[cut:]))
        == whole
    )


def test_a_read_text_wins_over_an_excerpt_and_a_number_stays() -> None:
    excerpt, read = source_at("a", number=2), source_at("a", read_at="2025-01-01", content_hash="h")
    newer = source_at("a", read_at="2025-02-01", content_hash="g")
    assert merged(merge_sources, updates([read, excerpt])) == {
        "a": read.model_copy(update={"number": 2})
    }
    assert merged(merge_sources, updates([newer, read])) == {"a": newer}
    assert merged(merge_sources, updates([source_at("a", number=3), excerpt])) == {"a": excerpt}


def test_a_date_that_a_page_states_wins_over_a_later_one_of_an_engine() -> None:
    found = source_at("a", date="2026-01-02")
    read = source_at("a", date="2019-05-06", date_kind="publication", content_hash="h")
    for parts in ([found, read], [read, found]):
        source = merged(merge_sources, updates(parts))["a"]
        assert (source.date, source.date_words) == ("2019-05-06", "published")


@given(findings_of_one_id, st.randoms())
def test_a_finding_with_numbers_stays_whatever_the_order(
    states: list[str | None], chance: random.Random
) -> None:
    parts = [{"one": finding("one", numbered=state)} for state in states] + [
        {"two": finding("two")}
    ]
    whole = merged(merge_findings, parts)
    assert whole["one"].numbered == ("numbered" if "numbered" in states else None)
    assert merged(merge_findings, chance.sample(parts, len(parts))) == whole
    assert merged(merge_findings, parts + parts) == whole


PARTS = ["http", "HTTPS", "file", *":/#?&=é[]@ %", "//", "utm_a", "x.COM", ":80"]
odd_addresses = st.text() | st.lists(st.sampled_from(PARTS)).map("".join)


@pytest.mark.behaviour("O-62")
@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("HTTPS://Example.COM/Path", "https://example.com/Path"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("http://example.com:443/a", "http://example.com:443/a"),
        ("https://example.com", "https://example.com/"),
        ("  https://example.com/a #part", "https://example.com/a"),
        ("https://example.com/a/?", "https://example.com/a/"),
        ("https://example.com/a?b=2&a=1&&B=%20+", "https://example.com/a?b=2&a=1&&B=%20+"),
        (
            "https://example.com/?utm_source=x&id=7&UTM_Medium=y&utm_campaign",
            "https://example.com/?id=7",
        ),
        ("https://example.com/?gclid=1&fbclid=2", "https://example.com/"),
        ("https://Me:Secret@Example.com/a", "https://Me:Secret@example.com/a"),
        ("https://Bücher.example/ä", "https://xn--bcher-kva.example/ä"),
        ("https://a_b.example/", "https://a_b.example/"),
        ("http://[2001:DB8::1]:8080/a", "http://[2001:db8::1]:8080/a"),
        ("file:///data/My Report?.pdf#page=3", "file:///data/My Report?.pdf"),
        ("ftp://Example.com/A?utm_source=x", "ftp://Example.com/A?utm_source=x"),
        ("http://[x", "http://[x"),
        ("www.Example.com", "www.Example.com"),
        ("", ""),
    ],
)
def test_an_address_becomes_its_key(address: str, key: str) -> None:
    assert source_key(address) == key


def test_tracking_parameters_are_removed() -> None:
    names = (
        "utm_id _ga _gl _hsenc _hsmi dclid fbclid gbraid gclid gclsrc igsh igshid li_fat_id mc_cid mc_eid mkt_tok "
        "msclkid oly_anon_id oly_enc_id srsltid ttclid twclid vero_id wbraid yclid"
    )
    tracked = "".join(f"&{name}=x" for name in names.split())
    assert source_key(f"https://example.com/?a=1{tracked}&b=2") == "https://example.com/?a=1&b=2"


@given(odd_addresses)
def test_a_key_is_its_own_key(address: str) -> None:
    key = source_key(address)
    assert source_key(key) == key
    assert "#" not in key


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a [1], [2].", "a [1]."),
        ("a [2], [1].", "a [1]."),
        ("a [1], [2], [3].", "a [1], [3]."),
        ("a [2, 1]; [2] b", "a [1] b"),
        ("a [2], b [1].", "a, b [1]."),
        ("a [1], [3] b [1],", "a [1], [3] b [1],"),
    ],
)
def test_a_comma_between_two_citations_goes_with_the_one_that_is_removed(
    text: str, left: str
) -> None:
    assert without_citations_of(text, {2}) == left
