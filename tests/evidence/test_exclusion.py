"""What remains of a text without the statements of some sources."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.reports import AUDIT

from deep_research.core.evidence.checking.units import report_units
from deep_research.core.evidence.citations.markers import marker_numbers
from deep_research.core.evidence.exclusion import ExcludedSources
from deep_research.core.records.report import CitedPassage, ClaimCheck, Grade, Report
from deep_research.core.records.research import Calculation, CalculationInput, Finding
from deep_research.core.records.sources import Source
from deep_research.state import ResearchState

KEYS = {1: "docs:a", 2: "docs:b", 3: "docs:c"}


FIRST = ExcludedSources(["docs:a"])
SECOND = ExcludedSources(["docs:b"])
ALL = ExcludedSources([*KEYS.values()])


def known() -> dict[str, Source]:
    """The sources of the thread."""
    sources = dict[str, Source]()
    for number, key in KEYS.items():
        sources[key] = Source(
            key=key, title=key, location="", address=key, kind="document", number=number
        )
    return sources


def remaining(text: str, *excluded: int) -> str:
    """The text of a finding without these sources."""
    finding = Finding(
        id="f",
        question_id="q",
        cycle=0,
        position=0,
        task="t",
        text=text,
        sources=tuple(KEYS.values()),
        ended="done",
        numbered=text,
    )
    state = ResearchState(sources=known(), findings={"f": finding})
    kept = ExcludedSources([KEYS[number] for number in excluded]).taken_out_of_state(state)
    return kept.findings["f"].numbered or ""


def test_a_statement_of_two_sources_stays_without_the_excluded_citation() -> None:
    text = "Rent is 2,410 a month [1]. It rose by 3 % [2]. Both count 40 flats [1, 2]."
    assert remaining(text, 1).split() == [
        "It",
        "rose",
        "by",
        "3",
        "%",
        "[2].",
        "Both",
        "count",
        "40",
        "flats",
        "[2].",
    ]


def test_of_a_sentence_only_the_clause_of_an_excluded_source_goes() -> None:
    assert remaining("It rose by 3 % [2], and 12 flats are empty [1].", 1) == "It rose by 3 % [2]."
    kept = remaining("Some 12 flats are empty [1], and it rose by 3 % [2].", 1)
    assert "3 % [2]" in kept and "12" not in kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "It sought 3 tonnes of steel [2], 4 tonnes of glass [1], and resin [3].",
            "It sought 3 tonnes of steel [2], and resin [3].",
        ),
        ("It sold 4 flats [1], 5 shops [1], and a yard [2].", "And a yard [2]."),
        ("It sold 4 flats [2], 5 shops [1], and a yard [1].", "It sold 4 flats [2]."),
        ("- Flats: 4 are new [1]; 5 are old [2].", "- 5 are old [2]."),
        (
            "It sold 4 flats [2] (6 in 1990 [1]), and a yard [3].",
            "It sold 4 flats [2], and a yard [3].",
        ),
        (
            "It sold 4 flats [2] – 5 shops [1] – and a yard [3].",
            "It sold 4 flats [2] – and a yard [3].",
        ),
    ],
)
def test_a_clause_goes_with_the_signs_that_join_it_to_its_sentence(text: str, kept: str) -> None:
    assert remaining(text, 1) == kept


def test_a_table_loses_the_cells_and_rows_of_an_excluded_source() -> None:
    table = (
        "| City | Rent | Flats |\n|---|---|---|\n| Oslo | 2,410 [1] | 55 [2] |\n"
        "| Bergen | 1,900 | 66 [1] |"
    )
    kept = remaining(table, 1)
    assert "| Oslo | – | 55 [2] |" in kept and "Bergen" not in kept and "2,410" not in kept


def test_a_table_whose_rows_are_all_gone_goes_too() -> None:
    table = "| City | Rent |\n|---|---|\n| Oslo | 2,410 [1] |\n| Bergen | 1,900 [1] |"
    assert (
        remaining(f"It rose [2].\n\n{table}\n\nIt fell [3].", 1) == "It rose [2].\n\nIt fell [3]."
    )


def test_a_table_loses_the_columns_whose_headers_cite_an_excluded_source() -> None:
    table = (
        "| City | Rent [1] | Flats [2] |\n|---|---|---|\n| Oslo | 2,410 | 55 |\n"
        "| Bergen | 1,900 | 66 |"
    )
    assert remaining(table, 1) == (
        "| City | Rent | Flats [2] |\n|---|---|---|\n| Oslo | – | 55 |\n| Bergen | – | 66 |"
    )
    assert remaining(table, 1, 2) == ""


def test_the_first_row_goes_without_an_empty_line_that_would_end_the_table() -> None:
    table = "| City | Rent |\n|---|---|\n| Oslo | 2,410 [1] |\n| Bergen | 1,900 [2] |"
    assert remaining(table, 1) == "| City | Rent |\n|---|---|\n| Bergen | 1,900 [2] |"


def test_units_of_two_sources_go_if_the_other_does_not_prove_them() -> None:
    text = (
        "It is old, and large [1][2]. It has 40 flats [1][2], and 12 are empty [2].\n\n"
        "| City | Rent [1][2] | Flats [2] |\n|---|---|---|\n| Oslo | 2,410 | 55 |"
    )
    report = Report(text=text, sources=tuple(KEYS.values()), numbers=tuple(KEYS))
    unproved = ["It is old, and large.", "It has 40 flats", "Oslo, Rent: 2,410"]
    excluded = FIRST.with_unproved(unproved, report)
    assert excluded.only_they_support(report).statements == (
        "It is old, and large .",
        "It has 40 flats",
        "2,410",
    )
    assert FIRST.only_they_support(report).statements == ()


SAID = (
    "Brack Systems sued on 12 May over its patent on a snap-in seal. It sells caps, bags and jars."
)


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        (
            "Brack Systems, the largest rival, sued on 12 May over a snap-in seal [1] [2].",
            "Brack Systems sued on 12 May over a snap-in seal [2].",
        ),
        (
            "Brack Systems, the largest rival, sued on 12 May. [2][1]",
            "Brack Systems sued on 12 May. [2]",
        ),
        # Without these words, a list or the next clause would say something else.
        ("It sells caps, lids, bags and jars [1] [2].", ""),
        ("The largest rival is Brack Systems, it sued on 12 May [1] [2].", ""),
        ("Brack Systems, the largest rival, sued on 13 May [1] [2].", ""),
    ],
)
def test_a_sentence_stays_without_the_insertion_that_the_other_source_lacks(
    sentence: str, left: str
) -> None:
    passage = CitedPassage(
        source="docs:b", verdict="supported", quote=SAID, start=0, end=len(SAID), content_hash=""
    )
    end = len(sentence)
    claim = ClaimCheck(start=0, end=end, verdict="supported", passages=(passage,))
    report = report_of(sentence).model_copy(update={"claims": (claim,)})
    [unit] = report_units(report.text, report.keys)
    excluded = FIRST.with_unproved([unit.text], report)
    kept = excluded.taken_out_of_state(ResearchState(sources=known(), report=report)).report
    assert kept and kept.text == left
    taken_out = excluded.only_they_support(report)
    assert len(taken_out.statements) == 1 and taken_out.is_in_part is bool(left)
    # Without a check, nobody knows what the other source says.
    unchecked = report.model_copy(update={"claims": ()})
    assert not FIRST.with_unproved([unit.text], unchecked).part_left(unit)


def test_an_uncited_sentence_goes_with_the_figure_that_only_an_excluded_source_has() -> None:
    text = "Rent is 2,410 a month [1]. In all, 2,410 is much. It rose by 3 % [2], by 3 % in all."
    assert "2,410" not in remaining(text, 1) and "by 3 % in all" in remaining(text, 1)


SENTENCE = st.builds(
    "The {} has {} parts{}.".format,
    st.sampled_from(["tower", "house", "pier"]),
    st.integers(100, 999),
    st.lists(st.sampled_from([*KEYS]), max_size=3, unique=True).map(
        lambda numbers: "".join(f" [{number}]" for number in numbers)
    ),
)


@given(
    sentences=st.lists(SENTENCE, max_size=8), excluded=st.sets(st.sampled_from([*KEYS]), min_size=1)
)
def test_no_excluded_source_is_cited_and_whatever_cites_others_stays(
    sentences: list[str], excluded: set[int]
) -> None:
    kept = remaining(" ".join(sentences), *excluded)
    assert excluded.isdisjoint(marker_numbers(kept))
    for sentence in sentences:
        numbers = set(marker_numbers(sentence))
        words = sentence.partition(" [")[0].removesuffix(".")
        if numbers - excluded:
            assert words in kept


REPORT = """\
## Rents

It rose [2]. Rent is 2,410 a month [1]. It was high [3], and 12 flats are empty [1].

| City | Rent | Flats |
|---|---|---|
| Oslo | 1,500 [1] | 55 [2] |
| Bergen | 1,900 | 66 [1] |

## The 2,410 club

- Nobody likes it [1]"""


def report_of(text: str, *calculations: Calculation) -> Report:
    """A report that may cite all sources."""
    return Report(
        text=text,
        sources=tuple(KEYS.values()),
        numbers=tuple(KEYS),
        calculations=calculations,
    )


def left_of(report: Report) -> str:
    """The text of a report without the first source."""
    kept = FIRST.taken_out_of_state(ResearchState(sources=known(), report=report))
    assert kept.report
    return kept.report.text


def test_topics_of_what_was_lost_say_where_it_stood_and_nothing_of_its_words() -> None:
    report = report_of(REPORT)
    left = left_of(report).replace("## The 2,410 club", "")
    assert FIRST.lost_topics(report, left, FIRST) == [
        'section "Rents", after "It rose.": a figure',
        'section "Rents", beside "It was high": a figure',
        'section "Rents", the cell "Oslo, Rent" of a table: a figure',
        'section "Rents", a row of the table "City | Rent | Flats": a figure',
        "the report: a statement",
    ]
    # Of several excluded sources, only some are to be replaced.
    assert len(ALL.lost_topics(report, "", SECOND)) == 2


def test_what_a_report_leaves_open_stays_open_without_an_excluded_source() -> None:
    grades = (
        Grade(requirement="The rent", verdict="answered"),
        Grade(requirement="The keeper", verdict="partly", missing="her years"),
    )
    audit = AUDIT.model_copy(update={"open_gaps": ("her years", "the cost of the lamp")})
    report = report_of("Rent is 2,410 a month [1]. It rose by 3 % [2].")
    report = report.model_copy(update={"grades": grades, "audit": audit})
    kept = FIRST.taken_out_of_state(ResearchState(sources=known(), report=report)).report
    assert kept and kept.audit is None
    further = Grade(requirement="the cost of the lamp", verdict="not answered", is_unasked=True)
    # What answered the first point may be gone, so that it is no longer called answered.
    lost = grades[0].model_copy(update={"verdict": "not judged"})
    assert kept.grades == kept.all_grades == (lost, grades[1], further)
    assert kept.points == [lost, grades[1]]


def test_a_report_that_loses_only_citations_stays_graded() -> None:
    grades = (Grade(requirement="The rent", verdict="answered"),)
    report = report_of("Rent is 2,410 a month [1][2].").model_copy(update={"grades": grades})
    kept = FIRST.taken_out_of_state(ResearchState(sources=known(), report=report)).report
    assert kept and kept.grades == grades


def test_what_was_calculated_from_excluded_sources_is_lost_with_them() -> None:
    used = CalculationInput(value=48, origin="source", source="docs:a")
    calculation = Calculation(
        number=1, name="Rise", formula="48 - 40", inputs=(used,), value=8, result="8"
    )
    text = "## Rents\n\nThey rose by 8 [calc 1]. 55 are free [2].\n\n## Flats\n\nOld ones [3]."
    report = report_of(text, calculation)
    left = left_of(report)
    assert "rose" not in left
    assert FIRST.lost_topics(report, left, FIRST) == ['section "Rents": a figure']
    # Only what rests on the sources that are to be replaced, or on calculations with them.
    assert ALL.lost_topics(report, left, FIRST) == ['section "Rents": a figure']
    assert len(ALL.lost_topics(report, left, SECOND)) == 1
    assert FIRST.have_part_in(report)
    without = report.model_copy(update={"sources": ("docs:b", "docs:c"), "numbers": (2, 3)})
    assert FIRST.have_part_in(without)


TOKENS = st.lists(st.sampled_from(["tower", "pier", "house", "mole"]), min_size=1, max_size=3)


@given(st.lists(st.tuples(TOKENS, st.integers(100, 999), st.sampled_from([*KEYS])), max_size=6))
def test_no_word_of_a_lost_statement_is_in_a_topic_unless_it_is_left(
    said: list[tuple[list[str], int, int]],
) -> None:
    lines = list[str]()
    for words, number, source in said:
        lines.append(
            f"## About {words[0]}{number}\n\nThe {'-'.join(words)} has {number} [{source}]."
        )
    text = "\n\n".join(lines)
    report = report_of(text)
    left = left_of(report)
    topics = "\n".join(FIRST.lost_topics(report, left, FIRST))
    for word in re.findall(r"\w+", topics.replace("a figure", "").replace("section", "")):
        assert word in left
