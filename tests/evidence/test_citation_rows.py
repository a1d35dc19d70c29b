"""The decided outcome of each kind of marker, row by row of the specification's tables.

Rows 31 to 35 (a mode without markers, a stop word) have no user and are not built.
"""

from __future__ import annotations

import pytest
from kit.reports import Streamed, streamed

from deep_research.core.evidence.citations.citing import CitationStream, Cited, cited_numbers, number_finding
from deep_research.core.evidence.citations.markers import settle_fences
from deep_research.core.evidence.citations.rendering import plain_citations

# Number 9 names no source.
NUMBERS = {0: "zero", 1: "one", 2: "two", 3: "three"}
FENCE = "```py\nx [1]\n```\n"

Case = tuple[str, str, str, tuple[int, ...], int]

ROWS: list[Case] = [
    ("1", "Text [1] here.", "Text [1] here.", (1,), 0),
    ("2, 3", "Text[1] x", "Text[1] x", (1,), 0),
    ("4", "a [1, 2] b", "a [1], [2] b", (1, 2), 0),
    ("4 close", "a [1,2] b", "a [1],[2] b", (1, 2), 0),
    ("4 twice", "[1, 1,2]", "[1],[2]", (1, 2), 0),
    ("5 semicolon", "[1; 2]", "[1; 2]", (), 0),
    ("5 range", "[1-2]", "[1-2]", (), 0),
    ("5 footnote", "[^1]", "[^1]", (), 0),
    ("5 empty", "[] [[]]", "[] [[]]", (), 0),
    ("5 closing only", "1] 2]]", "1] 2]]", (), 0),
    ("6", "[1][2]", "[1][2]", (1, 2), 0),
    ("7", "a [[1]] b", "a [1] b", (1,), 0),
    ("8 half closed", "[[2] x", "[[2] x", (2,), 0),
    ("8 half opened", "[2]] x", "[2]] x", (2,), 0),
    ("9 lenticular", "【2】", "[2]", (2,), 0),
    ("9 mixed", "[2】【2］［2]", "[2][2][2]", (2,), 0),
    ("10", "a [9] b", "a b", (), 1),
    ("10 before a stop", "a [9].", "a.", (), 1),
    ("10 without spaces", "a[9]b", "ab", (), 1),
    ("10 at the start", "[9] b", "b", (), 1),
    ("10 at the start of a line", "a\n[9] b", "a\nb", (), 1),
    ("10 twice", "a [9] [9].", "a.", (), 2),
    ("10 before a known one", "a [9] [1] b", "a [1] b", (1,), 1),
    ("10 after a known one and a space", "a [1] [9], b", "a [1], b", (1,), 1),
    ("10 before parentheses", "a[9](b) c", "a (b) c", (), 1),
    ("10 before parentheses on a line", "\n[9](b)", "\n(b)", (), 1),
    ("10 between code", "`a`[9]`b`", "`a` `b`", (), 1),
    ("10 in brackets", "[[9]1]", "[ 1]", (), 1),
    ("11", "[1, 9]", "[1]", (1,), 1),
    ("11 between", "[1, 9,2]", "[1],[2]", (1, 2), 1),
    ("12", "[9]", "", (), 1),
    ("13", "[3]", "[3]", (3,), 0),
    ("15", "[1] … [1]", "[1] … [1]", (1,), 0),
    ("16", "[3] [1] [2]", "[3] [1] [2]", (3, 1, 2), 0),
    ("17", f"{FENCE}[2]", f"{FENCE}[2]", (2,), 0),
    ("18", f"x [2]\n{FENCE}", f"x [2]\n{FENCE}", (2,), 0),
    ("19", "`[1]` [2]", "`[1]` [2]", (2,), 0),
    ("20", "[1](http://x) [2]", "[1](http://x) [2]", (2,), 0),
    ("21", "arr[2] y", "arr[2] y", (2,), 0),
    ("22 known", "[0]", "[0]", (0,), 0),
    ("23", "[01] [002]", "[1] [2]", (1, 2), 0),
    ("24 number", "a [1", "a [1", (), 0),
    ("27", "a [9999] b [12345678901234567890] c", "a b c", (), 2),
    ("27 very long", f"a [{'1' * 3000}] b", "a b", (), 1),
    ("29", "é🙂[2]🙂 \t [1]", "é🙂[2]🙂 \t [1]", (2, 1), 0),
    ("29 other digits", "[٢]", "[2]", (2,), 0),
]

PROTECTED = [
    "`[1]`", "``a ` [1]``", "[see [1]](http://x)", "[see [1] and [2], [[1]]](a.b)", "![1](picture.png)",
    "[[1]](http://x)", "【1】(http://x)", "[1](#notes)", "[1](a.md)", "[1](http://x/(2)/[2])",
    '[1](http://x "About [2] (or so)")', "[1](http://x )", "[a](http://x)[1](http://x)", "```\n[1]\n```\n",
    "```\n[1]\n~~~\n[1]\n", "```\n[1]\n``` x\n[1]\n", "````\n[1]\n```\n[1]\n`````\n", "~~~ py `x`\n[1]\n~~~  \n",
    "  ```\n[1]\n  ```\n", "> ```\n> [1]\n> ```\n", "12. ~~~\n    [1]\n    ~~~\n",
]  # fmt: skip

NOT_PROTECTED = [
    "` [1]", "` [1]\n`", "[see [1]]", "[see [1]] (http://x)", "[1] (http://x)", "[1](2023)", "[1](see http://x)",
    "[1](http://x", "[1](a 'b')", "[1]]", "a``` [1]\n", "```x` [1]\n[1]\n", "```\n```\n[1]\n", "> ```\n> ````\n[1]\n",
    "1234567890. ```\n[1]", "`a`b` [1]",
]  # fmt: skip


@pytest.mark.behaviour("O-66")
@pytest.mark.parametrize(("row", "text", "expected", "cited", "dropped"), ROWS, ids=[row[0] for row in ROWS])
def test_a_marker_has_its_decided_outcome(
    row: str, text: str, expected: str, cited: tuple[int, ...], dropped: int
) -> None:
    assert streamed(text, NUMBERS) == Streamed(expected, {number: NUMBERS[number] for number in cited}, dropped)
    assert cited_numbers(text, NUMBERS) == cited


@pytest.mark.behaviour("O-66", "O-72")
@pytest.mark.parametrize("text", PROTECTED)
def test_markers_in_code_and_links_stay_as_they_are(text: str) -> None:
    assert streamed(text, NUMBERS) == Streamed(text, {}, 0)
    assert cited_numbers(text, NUMBERS) == ()
    if settle_fences(text) == text:
        assert number_finding(text, NUMBERS, {}) == (text, {}, 0)
    assert plain_citations(text) == text


@pytest.mark.behaviour("O-66")
@pytest.mark.parametrize("text", NOT_PROTECTED)
def test_apparent_code_and_links_protect_no_markers(text: str) -> None:
    assert cited_numbers(text, NUMBERS) == (1,)
    assert streamed(text, NUMBERS) == Streamed(text, {1: "one"}, 0)
    assert plain_citations(text).count("[1]") == text.count("[1]")


@pytest.mark.behaviour("O-66")
def test_row_8_a_double_bracket_may_be_split_between_its_closers() -> None:
    stream = CitationStream(NUMBERS)
    pieces = [piece for token in ("Text [[", "1", "]", "] here.") for piece in stream.feed(token)]
    assert pieces == ["Text", " ", Cited(1, "one", True), " here."]


@pytest.mark.behaviour("O-66")
def test_row_27_a_number_of_twenty_digits_is_a_number() -> None:
    assert streamed(f"[{10**19}]", {10**19: "long"}) == Streamed(f"[{10**19}]", {10**19: "long"}, 0)
    assert streamed(f"[{10**20}]", {10**20: "longer"}) == Streamed("", {}, 1)


@pytest.mark.behaviour("O-66")
def test_row_25_held_text_is_flushed_once() -> None:
    stream = CitationStream(NUMBERS)
    assert stream.feed("a [") == ["a"]
    assert stream.finish() == [" ["]
    assert stream.finish() == []


@pytest.mark.behaviour("O-66")
def test_row_26_a_source_that_is_added_later_is_cited_from_then_on() -> None:
    numbers: dict[int, str] = {}
    stream = CitationStream(numbers)
    assert stream.feed("a [1] b") == ["a b"]
    numbers[1] = "one"
    assert stream.feed(" [1] c") == [" ", Cited(1, "one", True), " c"]
    assert stream.dropped == 1


@pytest.mark.behaviour("O-66", "O-70")
@pytest.mark.parametrize(
    ("row", "text", "expected"),
    [
        ("4", "a [1, 2] b [2,1]", "a [1], [2] b [2],[1]"),
        ("a year", "[1](2020)", "[1] (2020)"),
        ("a link's words", "[word][1]", "[word] [1]"),
        ("an image", "So it is![1]", "So it is! [1]"),
        ("a definition", "- [1]: so it is", "- [1]\\: so it is"),
    ],
)
def test_each_number_of_a_marker_has_brackets_of_its_own(row: str, text: str, expected: str) -> None:
    assert plain_citations(text) == expected
