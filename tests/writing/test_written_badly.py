"""Reports of writers with bad habits: foreign citation styles, invented addresses, sections in another language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from kit.reports import BOTH, audited
from kit.runs import REPORT, Lab, lab, research, search, written
from test_foreign_sections import ENGLISH, GERMAN, MENDED

from deep_research.core.writing.language import HEADING_IN_NOTICE

TRUE = "The Skerry Light was lit for the first time in 1844. [1] Ada Moran kept the Skerry Light from 1901 to 1932. [2]"
FOOTNOTES = (
    TRUE.replace("[1]", "[^1]").replace("[2]", "[^2] ![chart](https://e.example/p.png)")
    + "\n\n[^1]: Skerry Light, lighthouse.md\n[^2]: Ada Moran, keeper.md"
)
BRACKETS_AND_A_LIST = (
    TRUE.replace("[1]", "【1】").replace("[2]", "【2†L1-L3】 ![chart](https://e.example/p.png)")
    + "\n\n## Sources\n\n[1] Skerry Light\n[2] Ada Moran\n[3] An invented page, https://e.example/x"
)


@pytest.mark.parametrize("text", [FOOTNOTES, BRACKETS_AND_A_LIST])
async def test_the_report_of_a_writer_with_bad_habits_is_right(tmp_path: Path, text: str) -> None:
    run = lab(tmp_path, researcher=BOTH, writer=[text], limits={"max_opinions": 0, "max_rewrites": 0})
    # The draft is streamed as it is written.
    run.expected = "cited before they are announced"
    state = await run.ask()
    assert state.report and state.report.text == f"{TRUE} chart"
    assert [state.sources[key].title for key in state.report.sources] == ["Skerry Light", "Ada Moran"]
    # The word of the image belongs to the last sentence, which is no quote any more.
    assert audited(state).supported == 1
    assert "e.example" not in state.messages[-1].text


@pytest.mark.parametrize("cited", ["[1](https://e.example/x)", "https://e.example/x"])
async def test_an_address_that_is_no_source_is_taken_out_and_its_sentence_marked(tmp_path: Path, cited: str) -> None:
    text = TRUE.replace("[1]", cited)
    run = lab(tmp_path, researcher=BOTH, writer=[text], limits={"max_opinions": 0, "max_rewrites": 0})
    # The draft is streamed as it is written.
    run.expected = "cited before they are announced"
    state = await run.ask()
    assert state.report and state.report.text == TRUE.replace("[1]", "*(not verified)*")
    assert "e.example" not in state.messages[-1].text


FIRST, DRIFTED = GERMAN.replace("[2]", "[1]").strip(), ENGLISH.replace("[3]", "[2]").strip()
REWRITTEN = MENDED.replace("[3]", "[2]")
ASKED = "Wann wurde der Leuchtturm von Skerry zum ersten Mal angezündet, und wer hat ihn gehütet?"


def german_lab(tmp_path: Path, *replies: object, rewrites: int = 2, **settings: Any) -> Lab:
    """A lab over German documents, whose writer says this."""
    found = "Der Leuchtturm wurde 1844 angezündet. [1] Ada Moran hütete ihn. [2]"
    run = lab(
        tmp_path,
        planner=["1. Der Turm"],
        orchestrator=[research("Der Leuchtturm von Skerry"), REPORT],
        researcher=[search("Leuchtturm Skerry angezündet", "Ada Moran"), REPORT, found],
        writer=[*replies],
        limits={"max_opinions": 0, "max_rewrites": rewrites},
        **settings,
    )
    texts = (re.sub(r" \[\d\]", "", text) for text in (FIRST, REWRITTEN))
    run.folder = written(tmp_path / "german", dict(zip(("turm_md", "waerterin_md"), texts, strict=True)))
    return run


async def test_a_section_in_another_language_is_rewritten(tmp_path: Path) -> None:
    run = german_lab(tmp_path, f"{FIRST}\n\n{DRIFTED}", REWRITTEN)
    state = await run.ask(ASKED)
    assert state.run and (state.run.language, state.run.language_code) == ("German", "de")
    assert state.report and state.report.text == f"{FIRST}\n\n{REWRITTEN}"
    assert "## Quellen" in state.messages[-1].text
    assert all("German" in call.text for call in run.calls("writer"))


@pytest.mark.parametrize(("verify", "rewrites"), [("repair", 0), ("check", 2)])
async def test_a_section_in_another_language_that_is_not_rewritten_is_named(
    tmp_path: Path, verify: str, rewrites: int
) -> None:
    heading = "The keeper who looked after the light for longer than anybody before her or after her on the island"
    drifted = DRIFTED.replace("The keeper", heading)
    run = german_lab(tmp_path, f"{FIRST}\n\n{drifted}", rewrites=rewrites, verify=verify)
    state = await run.ask(ASKED)
    assert state.report and heading in state.report.text
    assert len(run.calls("writer")) == 1
    [notice] = [note for note in state.run.notices if note.startswith("This part")] if state.run else []
    assert notice == f"This part is not in German: {heading[: HEADING_IN_NOTICE - 1].rstrip()}…"
