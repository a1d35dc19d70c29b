"""A whole run over real documents, from the question to the cited report."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import lab

from deep_research.app.embed import thread_id
from deep_research.core.run.conversation import mark_of
from deep_research.core.run.store.pages import page_namespace


async def test_a_question_becomes_a_report_with_numbered_sources(tmp_path: Path) -> None:
    run = lab(tmp_path)
    state = await run.ask()
    assert state.run and state.run.status == "completed"
    assert state.report and state.report.text == "The Skerry Light was lit in 1844. [1]"
    assert [state.sources[key].location for key in state.report.sources] == [
        (run.folder / "lighthouse.md").resolve().as_uri()
    ]
    assert mark_of(state.messages[-1]) == "report"
    assert f"\n[1]: <{(run.folder / 'lighthouse.md').resolve().as_uri()}>" in state.messages[-1].text
    assert "- [1] Skerry Light" in state.messages[-1].text
    assert run.all_used()
    assert run.words("message_delta").startswith("The Skerry Light was lit in 1844. [1]")


@pytest.mark.behaviour("O-17", "O-18", "O-64")
async def test_the_plan_is_kept_and_shown_word_for_word(tmp_path: Path) -> None:
    run = lab(tmp_path, planner=["1. First thing\n2. Second thing"])
    state = await run.ask()
    assert state.plan and state.plan.steps == ("First thing", "Second thing")
    assert "1. First thing\n2. Second thing" in run.calls("orchestrator")[0].messages[0].text
    final = run.calls("writer")[0]
    assert "1. First thing\n2. Second thing" in final.messages[-1].text
    assert final.tools == ()
    assert final.settings["max_tokens"] == 20_000
    assert "tool_choice" not in final.settings


@pytest.mark.fault(55)
async def test_page_texts_are_in_the_store_and_not_in_the_state(tmp_path: Path) -> None:
    run = lab(tmp_path)
    state = await run.ask()
    assert state.report
    source = state.sources[state.report.sources[0]]
    assert state.run and run.graph.store
    item = await run.graph.store.aget(page_namespace(thread_id(run.thread)), source.content_hash)
    assert item and "stands 38 metres tall" in item.value["text"]
    assert "stands 38 metres tall" not in repr(state)
