"""Our own writer's draft with bad habits of citing; its sources are known."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.citations.citing import without_unknown
from deep_research.core.evidence.citations.drafts.fix import clean_draft
from deep_research.core.records.sources import Source


def source(number: int, title: str, location: str) -> Source:
    kind = "document" if location.startswith("file:") else "web"
    return Source(key=location, title=title, location=location, address=location, kind=kind, number=number)  # type: ignore[arg-type]  # one of the two


SOURCES = {
    3: source(3, "Gulls", "https://gulls.test/a"),
    5: source(5, "Terns", "https://www.terns.test/b"),
    8: source(8, "Auks", "file:///birds/auks.md"),
}


@pytest.mark.parametrize(
    ("draft", "cleaned"),
    [
        ("A [3]. B is *so* [7]. C.", "A [3]. B is *so* [0]. C."),
        ("A [3][7]. B [7, 9] [3].", "A [3]. B [3]."),
        ("A.\n\n- B [7]\n- C 【4】", "A.\n\n- B [0]\n- C [0]"),
        ("`x [7]`", "`x [7]`"),
    ],
)
def test_a_citation_of_nothing_can_be_told_from_none(draft: str, cleaned: str) -> None:
    assert clean_draft(draft, SOURCES).text == cleaned


@pytest.mark.parametrize(
    ("draft", "cleaned", "removed"),
    [
        ("A [3]. B [8].", "A [3]. B [8].", 0),
        ("A 【3】【5†L1】. B[^8].", "A [3][5]. B[8].", 0),
        ("A [3-5]. B [7]. C [5, 3].", "A [3][5]. B [0]. C [5][3].", 2),
        ("A https://gulls.test/a/. B <http://terns.test/b>.", "A [3]. B [5].", 0),
        ("A https://new.test/x. B (https://new.test).", "A [0]. B [0].", 0),
        ("A [word](https://gulls.test/a) b.", "A word [3] b.", 0),
        ("A [word](https://new.test) b ![chart](p.png).", "A word b chart.", 0),
        ("A [5](https://gulls.test/a) b [3](https://new.test).", "A [3] b [0].", 1),
        ("A [3](#sources). B [auks](file:///birds/auks.md).", "A [3]. B auks [8].", 0),
        ("A [5](file:///birds/auks.md).", "A [8].", 0),
        ("In [2016] and [0, 1].", "In \\[2016\\] and \\[0, 1\\].", 0),
        ("`[9]` [see](p 5)\n```\n[9]\n```", "`[9]` [see](p 5)\n```\n[9]\n```", 0),
        ("", "", 0),
    ],
)  # fmt: skip
def test_only_markers_of_known_numbers_and_of_nothing_are_left(draft: str, cleaned: str, removed: int) -> None:
    assert clean_draft(draft, SOURCES) == (cleaned, removed)
    settled = without_unknown(cleaned)
    assert clean_draft(settled, SOURCES) == (settled, 0)


@pytest.mark.parametrize(
    "listed",
    [
        "## Sources\n\n[3] Gulls: https://gulls.test/a\n[5] Terns: https://terns.test/b",
        "**Quellen**\n\n- [3] Gulls\n- [5] Terns",
        "### 参考文献\n\n3. Gulls\n5. Terns",
        "---\n\n## References\n\n[3] Gulls: https://gulls.test/a\n[5] Something: https://new.test",
        "[^3]: Gulls, https://gulls.test/a",
    ],
)
def test_a_list_of_sources_is_taken_out(listed: str) -> None:
    cleaned = clean_draft(f"A [3]. B [5].\n\n{listed}\n", SOURCES)
    assert cleaned == ("A [3]. B [5].", 0)


@pytest.mark.parametrize(
    "listed",
    [
        "[1] Terns: http://terns.test/b\n[2] Gulls: https://gulls.test/a/\n[3] New: https://new.test",
        "1. Terns\n2. **Gulls**\n3. New",
    ],
)
def test_a_list_that_numbers_known_sources_otherwise_says_what_the_numbers_mean(listed: str) -> None:
    cleaned = clean_draft(f"A [1]. B [2]. C [3]. D [8].\n\n## Sources\n\n{listed}\n", SOURCES)
    assert cleaned == ("A [5]. B [3]. C [0]. D [0].", 2)


def test_a_source_that_is_known_under_two_numbers_keeps_the_one_that_the_list_gives() -> None:
    sources = {1: source(1, "A", "http://a.test"), 2: source(2, "A", "https://www.a.test")}
    cleaned = clean_draft("A [2].\n\n## Sources\n[2] A: https://a.test\n", sources)
    assert cleaned.text == "A [2]."
