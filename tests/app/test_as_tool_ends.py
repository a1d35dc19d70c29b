"""How a research inside another agent ends when it does not end well: failed, cancelled, asking back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from calling_agent import ASKED, agent, answers, run_agent, tool_of
from held import gate
from lab import QUESTION, lab
from langgraph.checkpoint.memory import InMemorySaver

from deep_research import build_graph, deep_research_tool
from deep_research.core.run.errors import UserMistake

HANGS_AFTER = 60.0
"""Seconds after which a run that does not begin or end is taken to hang."""


@pytest.mark.fault(48)
@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"docs": ["/nowhere"]}, r"/nowhere"),
        ({"question": "  "}, r"The question is empty"),
        ({"script": {"planner": ["", ""]}}, r"plan"),
    ],
)
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_a_failure_is_one_line_that_the_agent_reads(
    tmp_path: Path, broken: dict[str, Any], words: str, how: str
) -> None:
    run = lab(tmp_path, **broken.get("script", {}))
    tool = tool_of(run, **{key: value for key, value in broken.items() if key == "docs"})
    graph = agent(tool, [broken.get("question", QUESTION)])
    [answer] = answers(await run_agent(graph, how))
    assert answer.status == "error"
    assert answer.text.startswith("The research failed: ") and words in answer.text
    assert len(answer.text.splitlines()) == 1
    assert (answer.artifact["status"], answer.artifact["report"]) == ("failed", "")
    assert "The research failed: " in await tool.ainvoke({"question": " "})


def test_a_mistake_in_a_setting_is_shown_before_any_agent_runs(tmp_path: Path) -> None:
    for wrong in ({"modles": "extractive"}, {"limits": {"max_cycles": 0}}, {"strategy": "none"}):
        with pytest.raises(UserMistake):
            deep_research_tool(**wrong)


async def test_nobody_is_asked_back(tmp_path: Path) -> None:
    run = lab(tmp_path, clarifier=["Which light?"])
    [answer] = answers(await agent(tool_of(run, checkpointer=InMemorySaver())).ainvoke(ASKED))
    assert answer.artifact["status"] == "completed"


async def test_who_wants_to_be_asked_gets_the_question_and_the_thread(tmp_path: Path) -> None:
    run, saver = lab(tmp_path, clarifier=["Which light?"]), InMemorySaver()
    [answer] = answers(await agent(tool_of(run, clarify="ask", checkpointer=saver)).ainvoke(ASKED))
    assert (answer.text, answer.artifact["status"]) == ("Which light?", "waiting_for_user")
    run.graph, run.thread, run.books = build_graph(checkpointer=saver), answer.artifact["thread"], None
    assert (await run.ask("The Skerry Light.")).report


@pytest.mark.fault(45)
async def test_who_cancels_the_agent_cancels_the_research(tmp_path: Path) -> None:
    began, ended, wait = gate()
    graph = agent(tool_of(lab(tmp_path, researcher=[wait])))
    running = asyncio.create_task(graph.ainvoke(ASKED))
    await asyncio.to_thread(began.wait, HANGS_AFTER)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(ended.wait, HANGS_AFTER)
