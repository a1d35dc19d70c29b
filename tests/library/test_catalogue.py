"""What models see of the documents before they search: a list, and short ones whole, which are not
searched then."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.files import Papers
from kit.models import call, calls
from kit.planned import finished, plan, step, verdict
from kit.runs import (
    DOCUMENTS,
    REPORT,
    every_call_has_one_result,
    in_order,
    lab,
    research,
    results,
    written,
)
from langchain_core.messages import AnyMessage

from deep_research import Context
from deep_research.core.library.library import Library


def weigh(thing: str) -> str:
    """Weigh a thing."""
    return f"{thing}: 3 kg"


LIGHT = "- Skerry Light (docs:lab-documents/lighthouse.md, 94 characters)"


async def test_models_that_plan_and_search_see_the_documents(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[research("When was it lit?"), REPORT])
    await run.ask()
    calls = [*run.calls("planner"), *run.calls("orchestrator"), *run.calls("researcher")]
    assert len(calls) > 4 and all(LIGHT in call.messages[0].text for call in calls)


def test_many_documents_are_listed_by_folder(papers: Papers) -> None:
    for number in range(150):
        (papers.docs / "old" / f"{number}.md").write_text(
            f"# Paper {number}\n\nIt is one of many.", "utf-8"
        )
    library = papers.library()
    listed = library.catalogue(library.refresh().documents)
    assert listed.splitlines()[1:-1] == [
        "- docs:papers/old: 151 documents",
        "- docs:papers: 2 documents",
    ]
    assert Library(Context(data_dir=papers.data)).catalogue(0) == ""


def test_drafts_and_superseded_versions_are_marked(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "rules",
        {
            "fees_md": "# Fees\n\nVersion 2, valid from 1 May 2024. It costs 9 euros.",
            "fees_old_md": "# Fees\n\nSuperseded by: version 2\nIt costs 7 euros.",
            "berths_md": "# Berths\n\nDraft. There shall be 40.",
        },
    )
    library = Library(Context(docs=(folder,), data_dir=tmp_path / "data"))
    lines = library.catalogue(library.refresh().documents).splitlines()[1:-1]
    assert sorted(line.rpartition("/")[2] for line in lines) == [
        "berths.md, draft, 35 characters)",
        "fees.md, 2024-05-01, 59 characters)",
        "fees_old.md, superseded, 50 characters)",
    ]


def test_a_file_that_is_named_beside_its_folder_is_one_document(papers: Papers) -> None:
    library = papers.indexed(papers.docs, papers.docs / "salt.txt")
    assert [document.source.title for document in library.documents()] == [
        "Porto Alto harbour",
        "Velm bridge",
        "Salt",
    ]


TASK = research("Find out when the light was lit.")
WHOLE = {"whole_characters": 30_000}


async def test_short_documents_are_read_whole_and_each_finding_is_written_in_one_call(
    tmp_path: Path,
) -> None:
    found = calls(call("generate_report", missing=["its cost"]), text="It was lit in 1844. [2]")
    two = research("task 0.", "task 1.")
    waiting = list[str]()

    def in_turn(reply: Any) -> Any:
        async def answer(messages: Sequence[AnyMessage], settings: object) -> Any:
            waiting.append(messages[4].text)
            for _ in range(200):
                await asyncio.sleep(0)
            # A provider caches their common beginning once it has begun to answer the first.
            assert len(waiting) == 1
            waiting.pop()
            return reply

        return answer

    script = [in_turn(found), in_turn("Ada Moran. [1]")]
    run = lab(tmp_path, orchestrator=[two, REPORT], researcher=script, limits=WHOLE)
    state = await run.ask()
    first, other = run.calls("researcher")
    [shown] = results(first.messages).values()
    assert shown.count('"is_whole": true') == len(DOCUMENTS)
    assert [*first.tools] == ["generate_report"]
    finding, _ = sorted(in_order(state), key=lambda finding: finding.text, reverse=True)
    assert (finding.text, finding.missing) == ("It was lit in 1844. [2]", ("its cost",))
    assert [action.tool for action in finding.actions] == ["read_documents"]
    assert len(finding.actions[0].found) == len(DOCUMENTS)
    assert all(state.sources[key].content_hash for key in finding.sources)
    assert run.types().count("open_url_documents") == 2
    assert state.run and state.run.status == "completed_with_gaps"
    # Their prompts have the same beginning, which providers cache.
    assert [message.text for message in first.messages[:4]] == [
        message.text for message in other.messages[:4]
    ]
    assert first.messages[4].text != other.messages[4].text
    assert every_call_has_one_result(first.messages)


@pytest.mark.sweep
@pytest.mark.parametrize("further", [{}, {"tools": (weigh,)}], ids=["documents", "and a tool"])
async def test_one_researcher_is_enough_where_it_reads_all_that_there_is(
    tmp_path: Path, further: dict[str, Any]
) -> None:
    found = calls(call("generate_report"), text="It was lit in 1844. [2]")
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[found], limits=WHOLE, **further)
    await run.ask()
    for asked in run.calls("orchestrator"):
        is_alone = not further
        assert ("hand out one task with all topics" in asked.messages[0].text) == is_alone
        # It need not know where to look.
        assert (LIGHT in asked.messages[0].text) != is_alone


async def test_a_finding_that_is_a_call_alone_is_asked_for_again_as_text(tmp_path: Path) -> None:
    only = calls(call("generate_report", missing=["its cost"]))
    run = lab(
        tmp_path,
        orchestrator=[TASK, REPORT],
        researcher=[only, "It was lit in 1844. [2]"],
        limits=WHOLE,
    )
    [finding] = in_order(await run.ask())
    assert (finding.text, finding.missing) == ("It was lit in 1844. [2]", ("its cost",))
    assert [asked.settings["tool_choice"] for asked in run.calls("researcher")] == ["auto", "none"]


async def test_what_a_researcher_works_out_over_whole_documents_is_calculated_without_a_call(
    tmp_path: Path,
) -> None:
    lines = [
        "Years without a meaning: 1901 [2] - ",
        "Years until the keeper came: 1901 [2] - 1844 [3] = years",
        "Months until then: [calc 2] = months",
    ]
    text = (
        "She came 57 years [calc 2] after 1844 [3], 684 months [calc 3]. Others say 71 years "
        "[calc 2] or 5 years [calc 1]. [3]"
    )
    run = lab(
        tmp_path,
        orchestrator=[TASK, REPORT],
        researcher=[calls(call("generate_report", calculations=lines), text=text)],
        limits=WHOLE,
    )
    state = await run.ask()
    [finding] = in_order(state)
    assert finding.numbered and "57 years [calc 1] after" in finding.numbered
    assert "684 months [calc 2]. Others say 71 years or 5 years." in finding.numbered
    assert [known.result for known in state.calculations.values()] == ["57 years", "684 months"]
    assert len(run.calls("researcher")) == 1


async def test_uncited_text_on_whole_documents_gets_citations_without_a_further_decision(
    tmp_path: Path,
) -> None:
    run = lab(
        tmp_path,
        orchestrator=[TASK, REPORT],
        researcher=["The Skerry Light was lit for the first time in 1844."],
        limits=WHOLE,
    )
    [finding] = in_order(await run.ask())
    assert finding.text.endswith("in 1844. [3]") and len(run.calls("researcher")) == 1


async def test_a_step_of_a_plan_reads_short_documents_whole_and_is_one_call(tmp_path: Path) -> None:
    two = plan(step("Skerry Light"), step("Ada Moran"))
    run, state = await finished(
        tmp_path, {"make_plan": two, "give_verdict": verdict(False)}, limits=WHOLE
    )
    assert not run.asked("choose_queries")
    [asked] = run.asked("record_learnings", "Ada Moran")
    assert len(asked.results) == len(DOCUMENTS) and all(
        result["is_whole"] for result in asked.results
    )
    assert {action.tool for finding in state.findings.values() for action in finding.actions} == {
        "read_documents"
    }
    assert [len(outcome.iterations) for outcome in state.outcomes.values()] == [1, 1]
    assert state.report and await run.replays_alike()


@pytest.mark.sweep
@pytest.mark.parametrize("limits", [{"whole_characters": 200}, {"whole_characters": 0}])
async def test_longer_documents_are_searched(tmp_path: Path, limits: dict[str, int]) -> None:
    run = lab(tmp_path, orchestrator=[TASK, REPORT], limits=limits)
    await run.ask()
    first = run.calls("researcher")[0]
    assert results(first.messages) == {}
    assert "internal_search" in [*first.tools]
