"""Drafts of our writer with odd citations; its sources are known."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kit.reports import source_at
from kit.work import processor_limit

from deep_research.core.evidence.citations._draft import clean_draft
from deep_research.core.evidence.citations.citing import UNKNOWN, without_unknown
from deep_research.core.evidence.citations.markers import marker_numbers

SOURCES = {
    3: source_at("https://gulls.test/a", "Gulls", number=3),
    5: source_at("https://www.terns.test/b", "Terns", number=5),
    8: source_at("file:///birds/auks.md", "Auks", kind="document", number=8),
}


@pytest.mark.parametrize(
    ("draft", "cleaned", "removed"),
    [
        ("A [3]. B [8].", "A [3]. B [8].", 0),
        ("A 【3】【5†L1】. B[^8].", "A [3][5]. B[8].", 0),
        ("A [3-5]. B [7]. C [5, 3].", "A [3][5]. B [0]. C [5][3].", 2),
        ("A https://gulls.test/a/. B <http://terns.test/b>.", "A [3]. B [5].", 0),
        ("A https://new.test/x. B (https://new.test).", "A [0]. B [0].", 0),
        ("A [word](https://new.test) b ![chart](p.png).", "A word b chart.", 0),
        ("A [5](https://gulls.test/a) b [3](https://new.test).", "A [3] b [0].", 1),
        ("A [5](file:///birds/auks.md).", "A [8].", 0),
        ("In [2016] and [0, 1].", "In \\[2016\\] and \\[0, 1\\].", 0),
        ("`[9]` [see](p 5)\n```\n[9]\n```", "`[9]` [see](p 5)\n```\n[9]\n```", 0),
        ("[3] It is at https://new.test/x now.", "[3] It is at [0] now.", 0),
    ],
)  # fmt: skip
def test_only_markers_of_known_numbers_and_zero_remain(
    draft: str, cleaned: str, removed: int
) -> None:
    assert clean_draft(draft, SOURCES) == (cleaned, removed)
    settled = without_unknown(cleaned)
    assert clean_draft(settled, SOURCES) == (settled, 0)


@pytest.mark.parametrize(
    "listed",
    [
        "## Sources\n\n[3] Gulls: https://gulls.test/a\n[5] Terns: https://terns.test/b",
        "### 参考文献\n\n3. Gulls\n5. Terns",
        "[^3]: Gulls, https://gulls.test/a",
        "## Sources\n\n3. Terns\n5. Gulls",
        "---\n\n## Sources\n\nRead:\n\n### Birds\n\n3. Gulls, gulls.md\n5. Terns, terns.md\n\n[^3]: gulls.md",
    ],
)
def test_a_source_list_is_removed(listed: str) -> None:
    assert clean_draft(f"A [3]. B [5].\n\n{listed}\n", SOURCES) == ("A [3]. B [5].", 0)


@pytest.mark.parametrize(
    "listed",
    [
        "[1] Terns: http://terns.test/b\n[2] Gulls: https://gulls.test/a/\n[3] New: https://new.test",
        "1. Terns\n2. **Gulls**\n3. New",
    ],
)
def test_a_list_that_numbers_known_sources_differently_translates_the_numbers(listed: str) -> None:
    cleaned = clean_draft(f"A [1]. B [2]. C [3]. D [8].\n\n## Sources\n\n{listed}\n", SOURCES)
    assert cleaned == ("A [5]. B [3]. C [0]. D [0].", 2)


def test_a_source_known_under_two_numbers_keeps_the_number_in_the_list() -> None:
    sources = {
        1: source_at("http://a.test", "A", number=1),
        2: source_at("https://www.a.test", "A", number=2),
    }
    assert clean_draft("A [2].\n\n## Sources\n[2] A: https://a.test\n", sources) == ("A [2].", 0)


@pytest.mark.parametrize(
    "text",
    [
        "A [3].\n\n## Sources of light\n\n- lamps\n- fires",
        "A [3].\n\n## Sources\n\n- Lamps give light. [3]\n- Fires do too. [5]",
        "- [3] The tower fell.\n- [5] It was rebuilt.",
        "A [3].\n\n```\n## Sources\n\n1. Gulls\n```",
    ],
)
def test_other_lists_stay(text: str) -> None:
    assert clean_draft(text, SOURCES) == (text, 0)


def test_text_after_a_list_stays() -> None:
    listed = "## Sources\n\n[3] Gulls\nhttps://gulls.test/a\n[5] Terns\n\n## Notes\n\n- Nothing.\n\n[3]: <https://gulls.test/a>"
    assert clean_draft(f"A [3].\n\n{listed}\n", SOURCES) == ("A [3].\n\n## Notes\n\n- Nothing.", 0)


FORMS = {
    "[3]": (3,), " [3, 5]": (3, 5), "【5】": (5,), "【5†L1-L9】": (5,), "[^8]": (8,), " [[3]]": (3,), " ([5])": (5,),
    "[3-5]": (3, 0, 5), " [3；5]": (3, 5), " [[7]](https://gulls.test/a#x)": (3,), " [5](#sources)": (5,), "[9]": (0,),
    "[7][3]": (0, 3), " https://www.gulls.test/a/": (3,), " <http://terns.test/b>": (5,), " [3], [9] [5]": (3, 0, 5),
    " https://new.test/x": (0,),
}  # fmt: skip
"""Forms of citations, with the numbers that each means; 0 for no source."""
LINES = [
    "{} one{} two",
    "- {}{}, too",
    "| {}{} | b |",
    "> **{}**{} it.",
    "# {}{}",
    "{} is `[9]` and{}",
    "文字{}{}。",
]
LISTS = [
    "## Sources\n\n[3] Gulls: https://gulls.test/a\n[5] Terns",
    "**Quellen**\n1. [3] Gulls\n2. [8] Auks",
    "",
]
cited = st.tuples(
    st.sampled_from(LINES),
    st.sampled_from(["word", "1844", "a * b", "(c)"]),
    st.sampled_from([*FORMS]),
)


@given(st.lists(cited), st.sampled_from(LISTS))
def test_only_markers_and_the_list_change_and_no_source_is_lost(
    lines: list[tuple[str, ...]], listed: str
) -> None:
    expected = []
    for line, word, form in lines:
        known = [number for number in dict.fromkeys(FORMS[form]) if number]
        space = " " if form.startswith(" ") else ""
        expected.append(
            line.format(word, space + "".join(f"[{number}]" for number in known or [UNKNOWN]))
        )
    draft = "\n\n".join([*(line.format(word, form) for line, word, form in lines), listed])
    removed = sum(FORMS[form].count(0) for *_, form in lines if "new.test" not in form)
    cleaned = "\n\n".join(expected)
    assert clean_draft(draft, SOURCES) == (cleaned, removed)
    settled = without_unknown(cleaned)
    assert clean_draft(settled, SOURCES) == (settled.rstrip(), 0)


INLINE = [
    *FORMS, "[0, 1]", "[2016]", "[words](https://c.test/y)", "(https://d.test)", "![i](https://i.test/p.png)", "[a][b]",
    "(x) ", "[", "]", "*", "|", "`", "``", ". ", ", ", "> ", "# ", "a ", "文", "\n\n- ",
]  # fmt: skip
BLOCKS = [
    *LISTS, "\\", "```\n", "~~~\n", "\n", "\n\n", "1. ", "## References\n", "Sources:\n", "---\n", "- no address\n",
    "\0", "[1] Alpha: https://a.test/x\n", "[^1]: Foot\n",
]  # fmt: skip
lines = st.lists(st.sampled_from(INLINE), max_size=15).map("".join)
drafts = st.lists(st.sampled_from(INLINE + BLOCKS), max_size=22).map("".join) | st.text()


@pytest.mark.fault("R14")
@given(drafts)
def test_any_draft_keeps_only_markers_of_known_numbers_and_zero(draft: str) -> None:
    assert {*marker_numbers(clean_draft(draft, SOURCES)[0])} <= {*SOURCES, UNKNOWN}


@given(lines, st.sampled_from(LISTS))
def test_cleaning_again_changes_nothing(line: str, listed: str) -> None:
    # Of a marker within a marker, each pass reads the inner one.
    assume("[[" not in line)
    settled = without_unknown(clean_draft(f"{line}\n\n{listed}", SOURCES)[0])
    assert clean_draft(settled, SOURCES)[0] == settled.rstrip()


@given(drafts, st.sampled_from(["```", "~~~~"]))
def test_code_in_a_fence_stays_as_it_is(text: str, fence: str) -> None:
    inside = re.sub("[`~\\0]", "", text)
    code = f"{fence}\n{inside}\n{fence}"
    assert f"B [3]\n{code}\nA [5]" in clean_draft(f"B [3]\n{code}\nA [5] [9]", SOURCES)[0]


HOSTILE = [
    "[", "]", "[]", "[[1]", "[1](", "[a](b ", "[1](a/b [1]", "`", "`[1]", "【3†", "[1-", "[1, ", "[^1]: ", "https://",
    "https://a.test/(", "<a ", "\n", "## Sources\n", "Sources\n---\n", "[1] x\n", "  [1] x\n", "[1] https://a.test\n",
    "1. https://a.test\n", "**", "> ", "![a](", "[1]", "[1]\n\n", "- a\n", "a.md/", "```\n", "## Sources\n\n- a\n",
    "(", "1. ", "# Sources\n\n", "https://a.test/()", "[a](/(", "   a\n", "---\n", "## Sources\n# a\n[1] b\n",
    "file://a ", "https://a.)",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("begin", ["", "[1]\n\n## Sources\n"])
def test_no_draft_takes_long(piece: str, begin: str) -> None:
    # Quadratic time exceeds the limit.
    with processor_limit(2.5):
        assert clean_draft(begin + piece * (10_000 // len(piece)) + "x", SOURCES)[1] >= 0
