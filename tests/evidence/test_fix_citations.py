"""A draft with bad habits of citing, one habit at a time, and what becomes of it."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.citations.drafts.fix import fix_citations

LIST = "\n\n## Sources\n\n[1] Gulls: https://gulls.test/a\n[2] Terns: https://terns.test/b\n[3] Auks: https://auks.test/c\n"
ENTRIES = ("Gulls: https://gulls.test/a", "Terns: https://terns.test/b", "Auks: https://auks.test/c")


@pytest.mark.parametrize(
    ("habit", "body"),
    [
        ("A [1]. B [2]. C [3].", "A [1]. B [2]. C [3]."),
        ("A 【1】. B【2†L1-L5】. C ［3］.", "A [1]. B[2]. C [3]."),
        ("A [1-3].", "A [1][2][3]."),
        ("A [1–3]. B [2—3].", "A [1][2][3]. B [2][3]."),
        ("A [1, 2; 3]. B [1，3]. C [2、3].", "A [1][2][3]. B [1][3]. C [2][3]."),
        ("A[^1]. B[^2]. C [[3]].", "A[1]. B[2]. C [3]."),
        ("A [1](#sources). B [[2]](#sources). C [3](2023).", "A [1]. B [2]. C [3] (2023)."),
        ("A [1], [2] and ([3]).", "A [1], [2] and ([3])."),
        ("A [1], [1]. B [2] [2], [3].", "A [1]. B [2], [3]."),
        ("A [1][1][2]. B [2, 2]. C [3].", "A [1][2]. B [2]. C [3]."),
        ("A [1]. In [1000]. C [2][3].", "A [1]. In [1000]. C [2][3]."),
        ("A [^n](https://gulls.test/a). B [2]. C [3].", "A [1]. B [2]. C [3]."),
        ("A [see [1]](https://terns.test/b). C [3].", "A see [1][2]. C [3]."),
        ("A ([](https://gulls.test/a)). B [2][3].", "A [1]. B [2][3]."),
        ("A [1][9]. B [7, 2]. C [8]. D [3-5].", "A [1]. B [2]. C. D [3]."),
        ("A ([9]) and “as shown in [12]” [1][2][3].", "A and “as shown in” [1][2][3]."),
        ("A [1][2][3] in [0, 1], array[0], [sic]", "A [1][2][3] in \\[0, 1\\], array\\[0\\], [sic]"),
        ("A [1][2][3], No. [2016]3", "A [1][2][3], No. [2016]3"),
        ("A `x[9]` [1] ``y`` [2] \\[9\\] <b t='[9]'>[3]</b>", "A `x[9]` [1] ``y`` [2] \\[9\\] <b t='[9]'>[3]</b>"),
        ("| a | b |\n|---|---|\n| x [1] | y [2][3] |", "| a | b |\n|---|---|\n| x [1] | y [2][3] |"),
        ("[1][2][3]\n\n```\na[9] https://x.test [1](https://y.test)\n```", "[1][2][3]\n\n```\na[9] https://x.test [1](https://y.test)\n```"),
        ("A [1][2][3]. ![chart](https://gulls.test/p.png)", "A [1][2][3]. ![chart](https://gulls.test/p.png)"),
        ("A [1][2][3]. [Up](#a), [notes](n.md)", "A [1][2][3]. [Up](#a), [notes](n.md)"),
        ("A [1][2][3]. Run http://localhost:80/x or https://example.com/y.", "A [1][2][3]. Run http://localhost:80/x or https://example.com/y."),
    ],
)  # fmt: skip
def test_every_form_of_a_marker_becomes_its_number_and_what_is_none_stays(habit: str, body: str) -> None:
    fixed = fix_citations(habit + LIST)
    assert fixed.text.partition("\n\n## Sources")[0] == body
    assert fixed.sources == ENTRIES
    assert fixed.further == ()


@pytest.mark.parametrize(
    ("habit", "body"),
    [
        ("See https://terns.test/b. And (https://www.gulls.test/a/).", "See [1]. And [2]."),
        ("See \\(https://terns.test/b). C:\\\\(https://gulls.test/a).", "See [1]. C:\\\\[2]."),
        ("A [good paper](https://terns.test/b#x) and [1](http://gulls.test/a).", "A good paper [1] and [2]."),
        ("A [[7]](https://terns.test/b), B[9](https://gulls.test/a).", "A [1], B[2]."),
        ("A <https://terns.test/b?utm_source=x> 文字[文章](https://gulls.test/a)。", "A [1] 文字文章[2]。"),
        (
            "A [terns](https://terns.test/b)[2] and (see [gulls](https://gulls.test/a)).",
            "A terns [1] and (see gulls [2]).",
        ),
        ("A [`b`](https://terns.test/b) [https://gulls.test/a](https://gulls.test/a).", "A `b` [1] [2]."),
    ],
)
def test_links_and_addresses_are_citations_whose_words_stay(habit: str, body: str) -> None:
    fixed = fix_citations(habit + LIST)
    assert fixed.text.startswith(f"{body}\n\n## Sources\n\n- [1] {ENTRIES[1]}\n- [2] {ENTRIES[0]}\n")
    assert fixed.further == (ENTRIES[2],)
    assert fixed.text.endswith(f"\n\n- {ENTRIES[2]}\n")


def test_a_page_that_no_list_names_is_listed_by_the_words_of_its_link() -> None:
    fixed = fix_citations(
        "Puffins [dig](https://puffins.test/d) and https://www.dive.test/x/y too [source](https://s.test)."
    )
    assert fixed.text == (
        "Puffins dig [1] and [2] too source [3].\n\n## Sources\n\n"
        "- [1] dig — <https://puffins.test/d>\n- [2] dive.test — <https://www.dive.test/x/y>\n- [3] source — <https://s.test>\n"
    )
    assert (fixed.counts.linked, fixed.counts.before, fixed.counts.after) == (3, 3, 3)


@pytest.mark.parametrize(
    "listed",
    [
        "## Sources\n\n1. A: https://a.test\n2. B: https://b.test",
        "**References:**\n\n1) A: https://a.test\n2) B: https://b.test",
        "Sources:\n[1] A: https://a.test\n[2] B: https://b.test",
        "## 6. References and Notes\n\n### Sources\n\n- [1] A: https://a.test\n- [2] B: https://b.test",
        "Bibliography\n============\n\n* **[1]** A: https://a.test  \n* **[2]** B: https://b.test  ",
        "[^1]: A: https://a.test\n[^2]: B: https://b.test",
        "[1]: https://a.test\n[2]: https://b.test",
        "[1] A\nhttps://a.test\n[2] B\n    https://b.test",
        "1. A: https://a.test\n2. B: https://b.test",
        "## Sources\n\n- A: https://a.test\n- B: https://b.test",
        "## Sources\n\n### Papers\n\n[1] A: https://a.test\n\n### News\n\n[2] B: https://b.test",
        "## Sources\n\nAll were read in May.\n\n[1](https://a.test) A\n[2](https://b.test) B",
        "## Quellenverzeichnis\n\n[1] A: https://a.test\n[2] B: https://b.test",
        "## 九、参考文献\n\n【1】A：https://a.test\n【2】B：https://b.test",
        "### 主要参考来源\n\n1、A https://a.test\n2、B https://b.test",
        "## Références\n\n[1] A : https://a.test\n[2] B : https://b.test",
        "## Источники\n\n1. A: https://a.test\n2. B: https://b.test",
    ],
)  # fmt: skip
def test_lists_of_sources_are_known_in_many_forms_and_languages(listed: str) -> None:
    fixed = fix_citations(f"First [2]. Then [1].\n\n{listed}\n")
    body, _, rest = fixed.text.partition("\n\n")
    assert body == "First [1]. Then [2]."
    assert [source.rpartition("https://")[2].strip(">") for source in fixed.sources] == ["b.test", "a.test"]
    assert rest.endswith(f"- [1] {fixed.sources[0]}\n- [2] {fixed.sources[1]}\n")


@pytest.mark.parametrize("heading", ["### Sources:", "**Quellen**", "## 九、参考文献\n\n### Sources", "Fuentes:"])
def test_the_heading_of_the_list_is_kept(heading: str) -> None:
    assert (
        f"One [1].\n\n{heading}\n\n- [1] A https://a.test\n"
        == fix_citations(f"One [4].\n{heading}\n[4] A https://a.test").text
    )


@pytest.mark.parametrize(
    ("words", "sources", "further"),
    [
        ("Die Vögel und der Leuchtturm sind nicht auf der Insel", "Quellen", "Weiterführende Literatur"),
        ("灯塔建于一八四四年，海鸟在此筑巢", "来源", "延伸阅读"),
        ("灯台は千八百四十四年に建てられた", "出典", "関連資料"),
        ("Les oiseaux et le phare sont dans une île du nord", "Sources", "Pour aller plus loin"),
        ("The light and the birds of the island", "Sources", "Further reading"),
        ("Skerry 1844", "Sources", "Further reading"),
    ],
)
def test_a_list_without_a_heading_gets_one_in_the_language_of_the_draft(words: str, sources: str, further: str) -> None:
    fixed = fix_citations(f"{words} [1].\n\n[1] A: https://a.test\n[2] B: https://b.test\n")
    assert (
        fixed.text
        == f"{words} [1].\n\n## {sources}\n\n- [1] A: https://a.test\n\n## {further}\n\n- B: https://b.test\n"
    )


def test_the_same_page_under_two_numbers_gets_one() -> None:
    fixed = fix_citations(
        "A [1]. B [2]. C [3].\n\n## Sources\n\n[1] A: http://www.a.test/x/\n[2] B: https://b.test\n"
        "[3] Again: https://a.test/x?utm_medium=mail#part\n"
    )
    assert (
        fixed.text == "A [1]. B [2]. C [1].\n\n## Sources\n\n- [1] A: http://www.a.test/x/\n- [2] B: https://b.test\n"
    )
    assert (fixed.counts.merged, fixed.counts.before, fixed.counts.after) == (1, 3, 3)


def test_gaps_and_disorder_in_a_list_are_mended() -> None:
    fixed = fix_citations(
        "A [7]. B [2].\n\n## Sources\n\n[7] G: https://g.test\n[2] B: https://b.test\n[5] E: https://e.test\n"
    )
    assert fixed.text == (
        "A [1]. B [2].\n\n## Sources\n\n- [1] G: https://g.test\n- [2] B: https://b.test\n\n"
        "## Further reading\n\n- E: https://e.test\n"
    )
    assert fixed.counts.uncited == 1


def test_a_number_means_the_list_of_its_own_section() -> None:
    fixed = fix_citations(
        "# One\n\nA [1]. B [2].\n\n#### Sources\n[1] A: https://a.test\n[2] B: https://b.test\n\n"
        "# Two\n\nC [1]. A again [2].\n\n#### Sources\n[1] C: https://c.test\n[2] A: https://a.test\n"
    )
    assert fixed.text == (
        "# One\n\nA [1]. B [2].\n\n# Two\n\nC [3]. A again [1].\n\n#### Sources\n\n"
        "- [1] A: https://a.test\n- [2] B: https://b.test\n- [3] C: https://c.test\n"
    )


def test_of_a_number_that_is_listed_twice_the_first_entry_is_meant() -> None:
    fixed = fix_citations("A [1].\n\n## Sources\n[1] A: https://a.test\n[1] B: https://b.test\n")
    assert (fixed.sources, fixed.further) == (("A: https://a.test",), ("B: https://b.test",))


def test_an_entry_without_an_address_is_no_source_among_such_that_have_one() -> None:
    fixed = fix_citations(
        "A [1]. B [2].\n\n## Sources\n\n[1] A: https://a.test\n[2] A talk [at 3] with B\n[3] C: https://example.com/c\n"
    )
    assert fixed.text.startswith("A [1]. B.\n\n## Sources\n\n- [1] A: https://a.test\n\n## Further reading\n\n- A talk")
    assert fixed.counts.removed == 1


def test_books_are_sources_where_no_entry_has_an_address() -> None:
    fixed = fix_citations("A [2]. B [1].\n\n## References\n\n1. Moran, A. (1901). Gulls.\n2. Reed, B. (1902). Terns.\n")
    assert fixed.sources == ("Reed, B. (1902). Terns.", "Moran, A. (1901). Gulls.")
    assert fixed.text.startswith("A [1]. B [2].\n\n## References\n\n- [1] Reed")


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        ("Terns, doi:10.1234/tern.5", "Terns, doi:10.1234/tern.5 — <https://doi.org/10.1234/tern.5>"),
        ("Terns, arXiv:2401.01234", "Terns, arXiv:2401.01234 — <https://arxiv.org/abs/2401.01234>"),
        ("Terns, www.terns.test/a.", "Terns, www.terns.test/a. — <https://www.terns.test/a>"),
        ("Terns: notes/terns-1.md", "Terns: notes/terns-1.md"),
        ("Terns https://terns.test/a_(b)", "Terns https://terns.test/a_(b)"),
    ],
)
def test_an_entry_keeps_its_words_and_gets_an_address_that_can_be_opened(entry: str, written: str) -> None:
    assert fix_citations(f"A [1]. B [2].\n\n## Sources\n\n1. {entry}\n2. B: https://b.test\n").sources == (
        written,
        "B: https://b.test",
    )


@pytest.mark.parametrize(
    "draft",
    [
        "",
        "\n",
        "Nothing is cited here.",
        "Terns breed late (Reed, 1902).\n\n## References\n\n- Reed, B. (1902). Terns. https://terns.test/b\n",
        "## Sources\n\n1. The sun\n2. The wind\n",
        "1. Open the door\n2. Go in\n",
        "## Sources of light\n\n- lamps\n- fires",
    ],
)
def test_a_text_without_numbers_and_links_stays_as_it_is(draft: str) -> None:
    fixed = fix_citations(draft)
    assert fixed.text == draft
    assert (fixed.sources, fixed.counts.before, fixed.counts.after) == ((), 0, 0)


def test_a_list_that_nothing_cites_becomes_further_reading() -> None:
    assert (
        fix_citations("Words.\n\n### Sources\n\n[1] A: https://a.test\n").text
        == "Words.\n\n### Further reading\n\n- A: https://a.test\n"
    )


def test_markers_without_any_list_are_removed_and_counted() -> None:
    fixed = fix_citations("A [1]. B [2, 3].")
    assert (fixed.text, fixed.counts.removed) == ("A. B.", 3)


def test_what_stands_behind_the_list_comes_before_it() -> None:
    fixed = fix_citations("A [1].\n\n---\n\n## Sources\n\n[1] A: https://a.test\n\n---\n\nA last word.\n")
    assert fixed.text == "A [1].\n\n---\n\nA last word.\n\n## Sources\n\n- [1] A: https://a.test\n"


@pytest.mark.parametrize(
    ("draft", "fixed"),
    [
        ("A [1].\n\n[1] A: https://a.test\n---\n", "A [1].\n\n---\n\n## Sources\n\n- [1] A: https://a.test\n"),
        (
            "A [1].\n\n### Sources\n\n[1] A: https://a.test\n\n## Two\n\n- B\n",
            "A [1].\n\n## Two\n\n- B\n\n### Sources\n\n- [1] A: https://a.test\n",
        ),
        (
            "A [1].\n\n## Quellen\n\nAll were read in May.\n\n[1] A: https://a.test\n",
            "A [1].\n\n## Quellen\n\nAll were read in May.\n\n- [1] A: https://a.test\n",
        ),
        (
            "A [1].\n\n## Sources\n\n[1] A: https://a.test\n    ~~~\n[2] B: https://b.test\n~~~\n",
            "A [1].\n\n    ~~~\n[2] B: https://b.test\n~~~\n\n## Sources\n\n- [1] A: https://a.test\n",
        ),
        (
            "A [1].\n\n## Sources\n\n[1] A: https://a.test\nMore at https://b.test [1].\n",
            "A [1].\n\nMore at [2] [1].\n\n## Sources\n\n- [1] A: https://a.test\n- [2] b.test — <https://b.test>\n",
        ),
    ],
    ids=["a rule", "another section", "an introduction", "code", "a citation"],
)
def test_a_list_ends_where_it_is_none_any_more(draft: str, fixed: str) -> None:
    assert fix_citations(draft).text == fixed


def test_links_that_are_defined_elsewhere_are_citations() -> None:
    fixed = fix_citations(
        "A [text][t], [terns][] and [t]; [x] stays.\n\n[t]: https://t.test 'T'\n[terns]: <https://terns.test>\n"
    )
    assert fixed.text.startswith("A text [1], terns [2] and t [1]; [x] stays.\n\n## Sources\n")


def test_a_list_whose_links_are_defined_below_it_keeps_them() -> None:
    draft = (
        "One. [1], [2]\n\n## Sources\n\n- [1] Half-year — reports/half.pdf\n- [2] Two — lights.org, 2026\n\n"
        "[1]: <file:///x/reports/half.pdf>\n[2]: <https://lights.org/two>\n\n## Notes\n\n- Nothing.\n"
    )
    fixed = fix_citations(draft)
    assert fixed.text == (
        "One. [1], [2]\n\n## Notes\n\n- Nothing.\n\n## Sources\n\n"
        "- [1] Half-year — reports/half.pdf — <file:///x/reports/half.pdf>\n"
        "- [2] Two — lights.org, 2026 — <https://lights.org/two>\n"
    )
    assert fix_citations(fixed.text).text == fixed.text


def test_a_code_fence_that_never_closes_is_closed_before_the_list() -> None:
    fixed = fix_citations("## Sources\n[1] A: https://a.test\n\nA [1].\n\n~~~\nb[1]\n")
    assert fixed.text == "A [1].\n\n~~~\nb[1]\n~~~\n\n## Sources\n\n- [1] A: https://a.test\n"


def test_a_host_is_no_invention_because_it_begins_with_your() -> None:
    assert "https://yourstory.com/a" in fix_citations("A [x](https://yourstory.com/a).").text
