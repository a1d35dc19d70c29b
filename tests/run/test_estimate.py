"""Finished runs are recorded once by their kind, and estimates are based on runs of the same kind."""

from __future__ import annotations

from pathlib import Path

from kit.models import ScriptedChatModel
from langgraph.store.memory import InMemoryStore

from deep_research.core.records.research import Depth, Estimate, Plan, Run, Spent
from deep_research.core.run.context import Context
from deep_research.core.run.store.pages import Pages
from deep_research.core.writing.estimate import MOST_RUNS, estimate, record_finished
from deep_research.state import ResearchState

CONTEXT = Context(models=ScriptedChatModel(replies=[]))


def finished(name: str, calls: int, steps: int = 2, depth: Depth = "standard") -> ResearchState:
    run = Run(id=name, question="Q?", date="today", language="English", is_resumable=True, version="1", depth=depth)
    spent = {str(number): Spent(role="researcher", input_tokens=100) for number in range(calls)}
    plan = Plan(text="The plan.", steps=tuple(map(str, range(steps))))
    return ResearchState(messages=[], run=run.model_copy(update={"active_seconds": 5.0}), plan=plan, spending=spent)


async def estimated(pages: Pages, state: ResearchState) -> Estimate:
    made = await estimate(pages, state, CONTEXT)
    assert made is not None
    return made


async def test_each_finished_run_is_recorded_once_and_only_the_latest_are_kept() -> None:
    pages = Pages(InMemoryStore(), "thread")
    for number in [*range(MOST_RUNS + 5), MOST_RUNS + 4]:
        await record_finished(pages, finished(f"run {number}", calls=number + 1), CONTEXT)
    made = await estimated(pages, finished("next", 0, steps=4))
    assert made.runs == MOST_RUNS and made.calls
    # Two steps each; the new plan has four.
    assert (made.calls.low, made.calls.high) == (2 * 6, 2 * (MOST_RUNS + 5))
    assert made.usd is None, "no price is known"


async def test_an_estimate_ignores_runs_of_another_kind_and_those_without_a_plan_or_a_model_call(
    tmp_path: Path,
) -> None:
    store = InMemoryStore()
    ada, ben = Pages(store, "thread", "ada"), Pages(store, "thread", "ben")
    for number in range(3):
        await record_finished(ada, finished(f"run {number}", 4), CONTEXT)
        await record_finished(ada, finished(f"free {number}", calls=0), CONTEXT)
        await record_finished(ada, finished(f"quick {number}", calls=2, steps=0), CONTEXT)
    planned = finished("next", 0)
    planned.run = planned.run.model_copy(update={"strategy": "planned"})
    assert (await estimated(ada, finished("next", 0))).runs == 3
    assert (await estimated(ada, planned)).runs == 0
    assert (await estimated(ada, finished("next", 0, depth="deep"))).runs == 0
    assert (await estimated(ben, finished("next", 0))).runs == 0
    assert await estimate(ada, finished("next", 0), Context(models="extractive", data_dir=tmp_path)) is None
