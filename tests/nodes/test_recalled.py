"""A follow-up that what was read answers is answered from it without a search; any other one is researched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab import CLEAR, Lab, lab, research, simple_research
from lab import REPORT as READY
from langchain_core.language_models import ModelProfile
from planned_lab import REPORT, planned_lab
from scripted import ScriptedChatModel, call, calls

PROFILE = ModelProfile(max_input_tokens=100_000)
FROM_READ = calls(call("answer_from_read"))
FOLLOW_UP = "How tall is the Skerry Light?"
TALL = "It stands 38 metres tall. [1]"


def asked_twice(tmp_path: Path, second: Any, **settings: Any) -> Lab:
    """A thread with a report and a follow-up, to which the clarifier has this to say."""
    scripts: dict[str, Any] = {
        "clarifier": [CLEAR, second],
        "planner": ["1. History of the light", "1. Its height"],
        "orchestrator": [research("When was the Skerry Light lit?"), READY, research("How tall is it?"), READY],
        "researcher": {"When was": simple_research(), "How tall": simple_research(TALL)},
        "writer": ["The Skerry Light was lit in 1844. [1]", TALL],
    }
    return lab(tmp_path, **{**scripts, **settings})


@pytest.mark.parametrize("settings", [{}, {"clarify": "off", "clarifier": [FROM_READ]}])
async def test_a_follow_up_is_answered_from_what_was_read(tmp_path: Path, settings: dict[str, Any]) -> None:
    run = asked_twice(tmp_path, FROM_READ, **settings)
    first = await run.ask()
    assert first.report
    run.packets.clear()
    state = await run.ask(FOLLOW_UP)
    assert state.report and state.report.text.startswith("It stands 38 metres tall. [1]")
    # Nobody was sent out, and nothing was searched.
    assert len(run.calls("orchestrator")) == 2 and not {"search_tool_start", "open_url_start"} & {*run.types()}
    assert "38 metres tall" in run.calls("clarifier")[-1].text
    assert "38 metres tall" in run.calls("writer")[-1].text
    assert "Answered from what was read for earlier questions" in state.messages[-1].text
    # Its source has the number that it had, and the answer is checked as a report is.
    cited = {state.sources[key].number for key in state.report.sources}
    assert cited == {first.sources[key].number for key in first.report.sources}
    assert state.report.audit and state.report.audit.supported == 1
    assert [claim.verdict for claim in state.report.claims] == ["supported"]


async def test_a_follow_up_that_it_does_not_answer_is_researched(tmp_path: Path) -> None:
    run = asked_twice(tmp_path, CLEAR)
    await run.ask()
    state = await run.ask(FOLLOW_UP)
    assert state.report and not state.run.is_recalled
    assert len(run.calls("orchestrator")) == 4
    assert run.all_used()


async def test_a_first_question_is_not_offered_what_nobody_has_read(tmp_path: Path) -> None:
    run = asked_twice(tmp_path, CLEAR)
    await run.ask()
    assert "answer_from_read" not in run.calls("clarifier")[0].tools
    assert "answer_from_read" not in run.calls("clarifier")[0].text


async def test_a_planned_thread_answers_from_what_was_read_too(tmp_path: Path) -> None:
    replies = [REPORT, TALL]
    run = planned_lab(tmp_path, {"report": lambda _: replies.pop(0)})
    run.models["clarifier"] = ScriptedChatModel(replies=[CLEAR, FROM_READ], profile=PROFILE)
    await run.ask()
    steps = len(run.begun)
    state = await run.ask(FOLLOW_UP)
    assert state.report and state.report.text.startswith("It stands 38 metres tall.")
    assert state.run.is_recalled and len(run.begun) == steps
