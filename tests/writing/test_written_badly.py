"""Reports of writers with bad habits: foreign citation styles, invented addresses, sections in another language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.reports import BOTH, audited
from kit.runs import REPORT, Lab, lab, research, search

from deep_research.core.writing.language import LONGEST
from deep_research.state import ResearchState

TRUE = "The Skerry Light was lit for the first time in 1844. [1] Ada Moran kept the Skerry Light from 1901 to 1932. [2]"
HABITS = {
    "full-width brackets": TRUE.replace("[1]", "【1】").replace("[2]", "【2†L1-L3】"),
    "footnotes": TRUE.replace("[1]", "[^1]").replace("[2]", "[^2]")
    + "\n\n[^1]: Skerry Light, lighthouse.md\n[^2]: Ada Moran, keeper.md",
    "a list of its own": TRUE
    + "\n\n## Sources\n\n[1] Skerry Light\n[2] Ada Moran\n[3] An invented page, https://e.example/x",
    "an image": TRUE + " ![chart](https://e.example/p.png)",
}


def titles(state: ResearchState) -> list[str]:
    assert state.report
    return [state.sources[key].title for key in state.report.sources]


@pytest.mark.parametrize("habit", HABITS)
async def test_the_report_of_a_writer_with_a_bad_habit_is_right(tmp_path: Path, habit: str) -> None:
    run = lab(tmp_path, researcher=BOTH, limits={"max_opinions": 0, "max_rewrites": 0})
    run.models["writer"].replies = [HABITS[habit]]
    # The draft is streamed as it is written.
    run.expected = "cited before they are announced"
    state = await run.ask()
    wanted = TRUE + (" chart" if habit == "an image" else "")
    assert state.report and state.report.text == wanted
    assert titles(state) == ["Skerry Light", "Ada Moran"]
    # The word of the image belongs to the last sentence, which is no quote any more.
    assert audited(state).supported == (1 if habit == "an image" else 2)
    assert "e.example" not in state.messages[-1].text


@pytest.mark.parametrize("cited", ["[1](https://e.example/x)", "https://e.example/x"])
async def test_an_address_that_is_no_source_is_taken_out_and_its_sentence_marked(tmp_path: Path, cited: str) -> None:
    written = TRUE.replace("[1]", cited)
    run = lab(tmp_path, researcher=BOTH, writer=[written], limits={"max_opinions": 0, "max_rewrites": 0})
    # The draft is streamed as it is written.
    run.expected = "cited before they are announced"
    state = await run.ask()
    assert state.report and state.report.text == TRUE.replace("[1]", "*(not verified)*")
    assert "e.example" not in state.messages[-1].text


GERMAN = {
    "turm.md": "# Der Turm\n\nDer Leuchtturm von Skerry wurde im Jahr 1844 zum ersten Mal angezündet. "
    "Er ist 38 Meter hoch.\n",
    "waerterin.md": "# Die Wärterin\n\nAda Moran hütete den Leuchtturm von 1901 bis 1932, länger als alle vor ihr. "
    "Sie wurde in Tralee geboren und kam auf die Insel, als sie noch jung war.\n",
}
FIRST = (
    "## Der Turm\n\nDer Leuchtturm von Skerry wurde im Jahr 1844 zum ersten Mal angezündet. [1] "
    "Er ist 38 Meter hoch. [1]"
)
DRIFTED = (
    "## The keeper\n\nAda Moran looked after the lighthouse from 1901 to 1932, for longer than anybody before her. [2] "
    "She was born in Tralee and came to the island when she was young. [2]"
)
MENDED = (
    "## Die Wärterin\n\nAda Moran hütete den Leuchtturm von 1901 bis 1932, länger als alle vor ihr. [2] "
    "Sie wurde in Tralee geboren und kam auf die Insel, als sie noch jung war. [2]"
)
ASKED = "Wann wurde der Leuchtturm von Skerry zum ersten Mal angezündet, und wer hat ihn gehütet?"


def german_lab(tmp_path: Path, *written: object, rewrites: int = 2, **settings: Any) -> Lab:
    """A lab over German documents, whose writer says this."""
    folder = tmp_path / "german"
    folder.mkdir()
    for name, text in GERMAN.items():
        (folder / name).write_text(text, encoding="utf-8")
    found = "Der Leuchtturm wurde 1844 angezündet. [1] Ada Moran hütete ihn. [2]"
    run = lab(
        tmp_path,
        planner=["1. Der Turm"],
        orchestrator=[research("Der Leuchtturm von Skerry"), REPORT],
        researcher=[search("Leuchtturm Skerry angezündet", "Ada Moran"), REPORT, found],
        writer=[*written],
        limits={"max_opinions": 0, "max_rewrites": rewrites},
        **settings,
    )
    run.folder = folder
    return run


async def test_a_section_in_another_language_is_rewritten(tmp_path: Path) -> None:
    run = german_lab(tmp_path, f"{FIRST}\n\n{DRIFTED}", MENDED)
    state = await run.ask(ASKED)
    assert state.run and (state.run.language, state.run.language_code) == ("German", "de")
    assert state.report and "The keeper" not in state.report.text
    assert MENDED in state.report.text
    assert "## Quellen" in state.messages[-1].text
    assert [call for call in run.calls("writer") if "German" in call.text] == run.calls("writer")


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
    assert notice == f"This part is not in German: {heading[: LONGEST - 1].rstrip()}…"
