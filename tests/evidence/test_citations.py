"""Citations in a stream: properties of any text, the forms that models write, and what becomes of
each marker."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kit.reports import Streamed, bare_text, streamed
from kit.work import processor_limit

from deep_research.core.evidence.citations.citing import (
    CitationStream,
    Cited,
    CitedPiece,
    cited_numbers,
    number_finding,
)
from deep_research.core.evidence.citations.markers import plain_prose, settle_fences
from deep_research.core.evidence.citations.rendering import plain_citations

# Number 9 names no source.
NUMBERS = {0: "zero", 1: "one", 2: "two", 3: "three", 4: "four"}
MARKERS = ["[1]", "[2]", "[4]", "[9]", "[1, 2]", "[3,9]", "[[1]]", "【3】"]
PIECES = [*MARKERS, *"[]【】19, ab.\n<", "  ", "(a/b)", "(2023)", "- ", "]("]
CODE = ["`", "``", "```", "~~~", "\n```\n", "\n~~~\n", "> ", '"', "("]

# Without backticks, and with every link complete, so that removing a marker cannot make new code or
# a new link.
plain_texts = st.lists(st.sampled_from(PIECES[:-1]), max_size=16).map("".join)
texts = st.lists(st.sampled_from(PIECES + CODE), max_size=20).map("".join) | st.text()
cuts = st.lists(st.integers(min_value=0, max_value=60), max_size=12)


def read(stream: CitationStream, parts: Iterable[str]) -> list[CitedPiece]:
    return [piece for part in parts for piece in stream.feed(part)] + stream.finish()


def joined(pieces: list[CitedPiece]) -> list[CitedPiece]:
    """The pieces with neighbouring text as one."""
    whole: list[CitedPiece] = []
    for piece in pieces:
        if isinstance(piece, str) and whole and isinstance(whole[-1], str):
            whole[-1] += piece
        else:
            whole.append(piece)
    return whole


@pytest.mark.behaviour("O-67")
@given(texts, cuts)
@example("` [9]` [9]", [])
def test_how_a_text_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    cut, whole, single = CitationStream(NUMBERS), CitationStream(NUMBERS), CitationStream(NUMBERS)
    pieces = joined(read(whole, [text]))
    bounds = [0, *sorted(cuts), len(text) + 60]
    assert joined(read(cut, [text[start:end] for start, end in pairwise(bounds)])) == pieces
    assert joined(read(single, text)) == pieces
    assert (
        (cut.cited, cut.dropped) == (single.cited, single.dropped) == (whole.cited, whole.dropped)
    )
    assert streamed(text, NUMBERS) == (bare_text(pieces), whole.cited, whole.dropped)


@pytest.mark.behaviour("O-70")
@given(texts)
def test_sources_keep_their_numbers_and_each_is_announced_once(text: str) -> None:
    stream = CitationStream(NUMBERS)
    citations = [piece for piece in read(stream, [text]) if isinstance(piece, Cited)]
    assert all(NUMBERS[citation.number] == citation.key for citation in citations)
    assert {
        citation.number: citation.key for citation in citations if citation.is_first
    } == stream.cited


@pytest.mark.behaviour("O-70")
@given(plain_texts)
def test_reading_a_streamed_text_again_changes_nothing(text: str) -> None:
    once = streamed(text, NUMBERS)
    assert streamed(once.text, once.cited) == Streamed(once.text, once.cited, 0)
    assert cited_numbers(once.text, once.cited) == tuple(once.cited)


@given(st.text(alphabet=st.characters(exclude_characters="[【［")))
def test_a_text_without_markers_stays_as_it_is(text: str) -> None:
    assert streamed(text, NUMBERS) == Streamed(text, {}, 0)
    assert plain_citations(text) == text


@pytest.mark.behaviour("O-72")
@given(texts, st.sampled_from(["```", "~~~~", "````"]))
def test_code_in_a_fence_stays_as_it_is(text: str, fence: str) -> None:
    code = f"{fence}\n{text.replace('`', '').replace('~', '')}\n{fence}\n"
    assert streamed(f"[2]\n{code}[1]", NUMBERS) == Streamed(
        f"[2]\n{code}[1]", {2: "two", 1: "one"}, 0
    )


@pytest.mark.fault("R14")
@given(texts)
def test_markers_without_a_source_are_counted_and_removed(text: str) -> None:
    found = streamed(text, {})
    assert found.cited == {}
    assert (found.dropped == 0) == (found.text == text)


@pytest.mark.parametrize(
    ("fed", "expected"),
    [
        ("[see", []),
        ("[1,  ", []),
        ("[1] a", [Cited(1, "one", True), " a"]),
        ("[1](http:", []),
        ("[1](2023)", [Cited(1, "one", True), "(2023)"]),
        ("[1](a.b)", ["[1](a.b)"]),
        ("[1][x", [Cited(1, "one", True)]),
        ("`a[1]` x", ["`a[1]` x"]),
        ("`a[1]\n", ["`a", Cited(1, "one", True), "\n"]),
        ("[a [1] b", []),
        ("[a [1] b] c", ["[a ", Cited(1, "one", True), " b] c"]),
        ("[a [1] `b[2]` ] c", ["[a ", Cited(1, "one", True), " `b[2]` ] c"]),
        ("```\n[1", ["```\n[1"]),
        ("a [9] ", ["a"]),
    ],
)
def test_text_flows_until_code_or_a_link_may_begin(fed: str, expected: list[CitedPiece]) -> None:
    assert CitationStream(NUMBERS).feed(fed) == expected


@pytest.mark.slow
@pytest.mark.behaviour("O-73")
@pytest.mark.parametrize(
    "text",
    [
        *(
            "1" * 50_000,
            "[" + "1" * 50_000,
            "[" * 50_000,
            "]" * 50_000,
            "[" * 25_000 + "]" * 25_000,
            "[1](" * 12_500,
        ),
        *(
            "[1, " * 12_500,
            "[1](a/b [1]" * 4_500,
            "[[x](a/" * 3_500 + ")]" * 3_500,
            "`[1]" * 12_500,
            "[`" * 25_000,
        ),
        *(
            " ".join("`" * size for size in range(1, 316)),
            "> " * 25_000,
            "- " * 25_000,
            "[[[1] " * 8_000,
        ),
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text: str) -> None:
    # Quadratic time exceeds the limit.
    stream = CitationStream(NUMBERS)
    with processor_limit(5):
        pieces = [*stream.feed(text), *stream.finish()]
    assert bare_text(pieces) == text


KNOWN = range(1, 4)


@pytest.mark.parametrize(
    ("written", "marker"),
    [
        *(("【1†source】", "[1]"), ("【1:0†L1-L4】", "[1]"), ("[1†12]", "[1]")),
        *(("[^1]", "[1]"), ("[#2]", "[2]"), ("[citation:3]", "[3]"), ("[ref 2]", "[2]")),
        ("[[1]](https://example.com/x)", "[1]"),
        *(
            ("[Source 1]", "[1]"),
            ("[Sources 1, 3]", "[1, 3]"),
            ("[document 2]", "[2]"),
            ("[Doc 2]", "[2]"),
        ),
        *(("[1-2]", "[1, 2]"), ("[1–3]", "[1, 2, 3]"), ("[1;3]", "[1, 3]")),
        *(("[3-5]", "[3, 4, 5]"), ("<sup>[1]</sup>", "[1]")),
        *((" ¹", " [1]"), ("¹", "[1]"), ("［1］", "[1]"), ("**[1]**", "**[1]**")),
    ],
)
def test_each_form_of_a_marker_names_its_sources(written: str, marker: str) -> None:
    assert (
        plain_prose(f"Lit in 1844.{written}\nOn 3 May.", KNOWN)
        == f"Lit in 1844.{marker}\nOn 3 May."
    )


@pytest.mark.parametrize(
    "text",
    [
        "A pool of 20 m² and 10³ litres.",
        "See [Table 1], [2024] and [4].",
        "From [1-90] nothing follows.",
        "`x[^1]` and\n```\ny[1-2]\n```",
        "[^1]: The log of 1850.",
        "Lit in 1844. [1](https://e.example/x)",
        "A [link](https://example.com/1) and [Skerry 1](https://example.com).",
    ],
)
def test_text_that_names_no_known_source_stays_unchanged(text: str) -> None:
    assert plain_prose(text, KNOWN) == text


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("```markdown\n# Light\n\nLit. [1]\n```", "# Light\n\nLit. [1]"),
        ("```\nLit. [1]\n```", "Lit. [1]"),
        ("Here is the report:\n\n```markdown\n# Light\n\nLit. [1]\n```\n", "# Light\n\nLit. [1]"),
        ("Sure!\n\n~~~md\nLit. [1]\n~~~", "Lit. [1]"),
        (
            "So:\n\n```markdown\n# Light\n```\n\nLit. [1]",
            "So:\n\n```markdown\n# Light\n```\n\nLit. [1]",
        ),
        ("```python\nprint(1)\n```", "```python\nprint(1)\n```"),
        ("```\na\n```\nb\n```", "```\na\n```\nb\n```"),
        ('{"report": "Lit. [1]\\n\\nOn 3 May."}', "Lit. [1]\n\nOn 3 May."),
        ('{"report": "Lit. [1]", "title": "Light"}', '{"report": "Lit. [1]", "title": "Light"}'),
        ("<p>Lit. [1]</p>\n\n<p>On 3 May.</p>", "Lit. [1]\n\nOn 3 May."),
    ],
)
def test_wrappers_around_an_answer_are_removed(text: str, prose: str) -> None:
    assert plain_prose(text, KNOWN) == prose


FENCE = "```py\nx [1]\n```\n"

Case = tuple[str, str, str, tuple[int, ...], int]

# The specification's tables row by row; rows 31 to 35 (a mode without markers, a stop word) have no
# user.
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
@pytest.mark.parametrize(
    ("row", "text", "expected", "cited", "dropped"), ROWS, ids=[row[0] for row in ROWS]
)
def test_a_marker_has_its_outcome(
    row: str, text: str, expected: str, cited: tuple[int, ...], dropped: int
) -> None:
    assert streamed(text, NUMBERS) == Streamed(
        expected, {number: NUMBERS[number] for number in cited}, dropped
    )
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
def test_a_double_bracket_may_be_split_between_its_closers() -> None:
    stream = CitationStream(NUMBERS)
    pieces = [piece for token in ("Text [[", "1", "]", "] here.") for piece in stream.feed(token)]
    assert pieces == ["Text", " ", Cited(1, "one", True), " here."]


@pytest.mark.behaviour("O-66")
def test_a_number_of_twenty_digits_is_a_number() -> None:
    assert streamed(f"[{10**19}]", {10**19: "long"}) == Streamed(f"[{10**19}]", {10**19: "long"}, 0)
    assert streamed(f"[{10**20}]", {10**20: "longer"}) == Streamed("", {}, 1)


@pytest.mark.behaviour("O-66")
def test_held_text_is_flushed_once() -> None:
    stream = CitationStream(NUMBERS)
    assert stream.feed("a [") == ["a"]
    assert stream.finish() == [" ["]
    assert stream.finish() == []


@pytest.mark.behaviour("O-66")
def test_a_source_that_is_added_later_is_cited_from_then_on() -> None:
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
def test_each_number_of_a_marker_has_brackets_of_its_own(
    row: str, text: str, expected: str
) -> None:
    assert plain_citations(text) == expected
