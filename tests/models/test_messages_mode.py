"""LangGraph's `messages` mode, which chat clients read: the words of the report as they come, and no internal call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab import PLANNED, REPORT, Lab, lab, research
from langchain_core.messages import AIMessageChunk, HumanMessage
from planned_lab import plan, planned_lab, step

from deep_research.core.models.scripted import calls

THREAD: Any = {"configurable": {"thread_id": "chat"}}


async def heard(run: Lab) -> list[tuple[Any, str]]:
    """The messages, inner graphs included, each with the node that it comes from."""
    asked = {"messages": [HumanMessage("When was the Skerry Light lit?")]}
    stream = run.graph.astream(asked, THREAD, context=run.context, stream_mode="messages", subgraphs=True)
    found: list[tuple[Any, str]] = []
    async for _, said in stream:
        message, about = said
        found.append((message, about["langgraph_node"]))
    return found


def is_the_report(said: list[tuple[Any, str]], words: str) -> None:
    """It comes word by word, then whole as the message of the thread."""
    parts = [message for message, node in said if node == "write_report"]
    assert len(parts) > 1 and all(isinstance(part, AIMessageChunk) for part in parts)
    assert "".join(part.text for part in parts) == words
    assert {node for _, node in said} == {"write_report", "verify_report"}
    [whole] = [message for message, node in said if node == "verify_report"]
    assert whole.text.startswith(words)


async def test_of_an_orchestrated_research_only_the_report_is_streamed_as_a_message(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        clarifier=[calls(PLANNED)],
        planner=["1. When"],
        orchestrator=[research("When was it lit?"), REPORT],
        writer=["It was lit in 1844. [1]"],
        verify="off",
    )
    is_the_report(await heard(run), "It was lit in 1844. [1]")


async def test_of_a_planned_research_only_the_report_is_streamed_as_a_message(tmp_path: Path) -> None:
    words = "The Skerry Light, so its own page tells, was lit for the first time in 1844. [1]"
    rules = {"make_plan": plan(step("Skerry Light"), step("Judge it", search=False)), "report": lambda _: words}
    is_the_report(await heard(planned_lab(tmp_path, rules, verify="off")), words)
