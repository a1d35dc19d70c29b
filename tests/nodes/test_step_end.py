"""A step that cannot be judged: it ends with what it has."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.graph import START, StateGraph

from deep_research.core.records.plan import Iteration, Learning, PlanStep, Verdict
from deep_research.core.records.research import Scope
from deep_research.core.run.branches import StepOutput, StepState, StepTask
from deep_research.core.run.context import Context
from deep_research.graph.handlers import end_step

FACT = Learning(text="It was lit in 1844.", source="file:///light.md", step="1", question_id="q")
SURE = Iteration(number=1, learnings=(FACT.id,), verdicts=(Verdict(query="light", is_complete=True, reasoning="All."),))


def task() -> StepTask:
    step = PlanStep(id="1", title="Light", task="Skerry Light", requires_search=True)
    return StepTask(
        id="q-1", question_id="q", question="What?", text=step.task, cycle=0, position=0, turn=2, date="today",
        language="English", scope=Scope(), seconds=60, tokens=None, searches=None, fetches=None, usd=None, step=step,
    )  # fmt: skip


async def broken(state: StepState) -> dict[str, Any]:
    raise OSError(f"nobody knows why {state.task.id} breaks")


async def ended(**channels: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What is told by a step that cannot be judged, and what it brings."""
    graph = StateGraph(StepState, context_schema=Context, output_schema=StepOutput)
    graph.add_node("evaluate", broken, error_handler=end_step)
    graph.add_edge(START, "evaluate")
    given: Any = {"given": [task()], "turn": 3, **channels}
    heard: dict[str, list[Any]] = {"custom": [], "values": []}
    async for mode, part in graph.compile().astream(given, stream_mode=["custom", "values"]):
        heard[str(mode)].append(part)
    return heard["custom"], heard["values"][-1]


@pytest.mark.behaviour("A-59", "A-84")
async def test_a_step_that_cannot_be_judged_keeps_its_learnings_and_its_verdict() -> None:
    given = {"learnings": {FACT.id: FACT}, "iterations": [SURE], "numbered": [FACT.source], "failures": ["before"]}
    packets, brought = await ended(**given)
    assert [packet["type"] for packet in packets] == ["error", "step_done", "section_end"]
    assert packets[1]["status"] == "completed"
    assert brought["learnings"] == {FACT.id: FACT}
    outcome = brought["outcomes"]["1"]
    assert outcome.verdict
    assert (outcome.iterations, outcome.is_complete) == ((SURE,), True)
    assert outcome.verdict.reasoning == "All."
    [finding] = brought["findings"].values()
    assert finding.text == "It was lit in 1844. [1]"
    assert finding.failures == ("before", "an error stopped it (OSError)")


@pytest.mark.behaviour("A-84")
async def test_a_step_that_has_learned_nothing_and_cannot_be_judged_has_failed() -> None:
    packets, brought = await ended()
    assert (packets[1]["status"], packets[1]["reason"]) == ("failed", "an error stopped it (OSError)")
    # That it has failed says what is missing.
    assert not brought["memory"]
