"""Citations in a stream, properties of any text, and the forms of markers that models write."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kit.reports import Streamed, bare_text, streamed

from deep_research.core.evidence.citations.citing import CitationStream, Cited, CitedPiece, cited_numbers
from deep_research.core.evidence.citations.markers import plain_prose
from deep_research.core.evidence.citations.rendering import plain_citations

NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four"}
MARKERS = ["[1]", "[2]", "[4]", "[9]", "[1, 2]", "[3,9]", "[[1]]", "【3】"]
PIECES = [*MARKERS, *"[]【】19, ab.\n<", "  ", "(a/b)", "(2023)", "- ", "]("]
CODE = ["`", "``", "```", "~~~", "\n```\n", "\n~~~\n", "> ", '"', "("]

# Without backticks, and with every link complete, so that removing a marker cannot make new code or a new link.
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
    assert (cut.cited, cut.dropped) == (single.cited, single.dropped) == (whole.cited, whole.dropped)
    assert streamed(text, NUMBERS) == (bare_text(pieces), whole.cited, whole.dropped)


@pytest.mark.behaviour("O-70")
@given(texts)
def test_sources_keep_their_numbers_and_each_is_announced_once(text: str) -> None:
    stream = CitationStream(NUMBERS)
    citations = [piece for piece in read(stream, [text]) if isinstance(piece, Cited)]
    assert all(NUMBERS[citation.number] == citation.key for citation in citations)
    assert {citation.number: citation.key for citation in citations if citation.is_first} == stream.cited


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
    assert streamed(f"[2]\n{code}[1]", NUMBERS) == Streamed(f"[2]\n{code}[1]", {2: "two", 1: "one"}, 0)


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
        *("1" * 10**5, "[" + "1" * 10**5, "[" * 10**5, "]" * 10**5, "[" * 50_000 + "]" * 50_000, "[1](" * 25_000),
        *("[1, " * 25_000, "[1](a/b [1]" * 9_000, "[[x](a/" * 7_000 + ")]" * 7_000, "`[1]" * 25_000, "[`" * 50_000),
        *(" ".join("`" * size for size in range(1, 447)), "> " * 50_000, "- " * 50_000, "[[[1] " * 16_000),
    ],
    ids=lambda text: text[:12],
)
@pytest.mark.timeout(20)
def test_no_text_takes_long(text: str) -> None:
    # Quadratic time exceeds the timeout.
    stream = CitationStream(NUMBERS)
    pieces = [*stream.feed(text), *stream.finish()]
    assert bare_text(pieces) == text


KNOWN = range(1, 4)


@pytest.mark.parametrize(
    ("written", "marker"),
    [
        *(("【1†source】", "[1]"), ("【1:0†L1-L4】", "[1]"), ("[1†12]", "[1]")),
        *(("[^1]", "[1]"), ("[#2]", "[2]"), ("[citation:3]", "[3]"), ("[ref 2]", "[2]")),
        ("[[1]](https://example.com/x)", "[1]"),
        *(("[Source 1]", "[1]"), ("[Sources 1, 3]", "[1, 3]"), ("[document 2]", "[2]"), ("[Doc 2]", "[2]")),
        *(("[1-2]", "[1, 2]"), ("[1–3]", "[1, 2, 3]"), ("[1;3]", "[1, 3]")),
        *(("[3-5]", "[3, 4, 5]"), ("<sup>[1]</sup>", "[1]")),
        *((" ¹", " [1]"), ("¹", "[1]"), ("［1］", "[1]"), ("**[1]**", "**[1]**")),
    ],
)
def test_each_form_of_a_marker_names_its_sources(written: str, marker: str) -> None:
    assert plain_prose(f"Lit in 1844.{written}\nOn 3 May.", KNOWN) == f"Lit in 1844.{marker}\nOn 3 May."


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
            "As written:\n\n```markdown\n# Light\n```\n\nLit. [1]",
            "As written:\n\n```markdown\n# Light\n```\n\nLit. [1]",
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
