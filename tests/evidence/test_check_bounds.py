"""Limits of a report's check: its spending, and the repairs that it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.reports import audited, claim, rewritten
from kit.runs import REPORT, lab, search
from langchain_core.messages import AIMessage
from langgraph.store.memory import InMemoryStore

from deep_research.core.evidence.checking.reaudit import compare_checks
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import with_marks
from deep_research.core.records.report import CitedPassage, ClaimCheck, Report
from deep_research.core.run.store.pages import DAMAGED, Pages, text_hash

FALSE = "It stands 83 metres tall. [1]"
MARKED = f"{FALSE} *(not verified)*"
DEAR: Any = {"input_tokens": 1_000_000, "output_tokens": 1, "total_tokens": 1_000_001}


@pytest.mark.parametrize(("limits", "writes"), [({"max_tokens": 100_000}, 1), ({"max_tokens": 9_000_000}, 2)])
async def test_a_run_that_has_reached_its_limit_repairs_nothing(
    tmp_path: Path, limits: dict[str, int], writes: int
) -> None:
    found = AIMessage("It was lit in 1844. [1]", usage_metadata=DEAR)
    writer = [FALSE, rewritten("It stands 38 metres tall. [1]")]
    run = lab(tmp_path, researcher=[search("Skerry Light"), REPORT, found], writer=writer, limits=limits)
    state = await run.ask()
    assert len(run.calls("writer")) == writes
    assert (audited(state).marked, audited(state).corrected) == (0, 0 if writes == 1 else 1)


GERMAN = (
    "Ada Moran aus Tralee hütete den Leuchtturm von Skerry neben Port Anlow und Kilrush von 1901 bis 1932, länger als "
    "alle vor ihr."
)


async def test_a_repair_in_another_language_is_refused_even_if_a_source_says_it(tmp_path: Path) -> None:
    (tmp_path / "german").mkdir()
    (tmp_path / "german" / "moran.md").write_text(f"# Ada Moran\n\n{GERMAN}\n", "utf-8")
    written = "Ada Moran of Tralee kept the lighthouse of Skerry by Port Anlow and Kilrush from 1801 to 1832. [1]"
    run = lab(
        tmp_path,
        researcher=[search("Ada Moran"), REPORT, "Ada Moran. [1]"],
        writer=[written, rewritten(f"{GERMAN} [1]")],
    )
    run.folder = tmp_path / "german"
    state = await run.ask("Who kept the lighthouse of Skerry, and from when until when was that?")
    assert len(run.calls("writer")) == 2
    assert state.report and state.report.text.startswith(written)
    assert claim(state).is_marked


def unsupported(start: int, end: int, *, is_marked: bool = False) -> ClaimCheck:
    """A claim that a model judged unsupported."""
    passage = CitedPassage(
        source="k", verdict="unsupported", quote="", start=0, end=0, content_hash="", judge="openai:judge-1"
    )
    return ClaimCheck(start=start, end=end, verdict="unsupported", passages=(passage,), is_marked=is_marked)


def test_a_mark_is_separated_from_the_next_word() -> None:
    assert with_marks("塔高38米。第二座塔。", [unsupported(0, 6)], labels("en"))[0] == (
        "塔高38米。 *(not verified)* 第二座塔。"
    )


def test_identical_sentences_keep_their_own_marks_in_a_second_check() -> None:
    text = f"{MARKED} {FALSE}"
    claims = (unsupported(0, len(MARKED), is_marked=True), unsupported(len(MARKED) + 1, len(text)))
    report = Report(text=text, sources=("k",), claims=claims)
    again = compare_checks(report, report, {"k": [SourceText("k", "It is tall.")]})
    assert [claim.is_marked for claim in again.claims] == [True, False]
    assert len(again.unmarked) == 1


async def test_a_text_that_can_no_longer_be_read_is_stored_again() -> None:
    store, words = InMemoryStore(), "It was lit in 1844."
    pages = Pages(store, "thread")
    await store.aput(pages.namespace, text_hash(words), {DAMAGED: True})
    assert await pages.text(await pages.keep(words)) == words
