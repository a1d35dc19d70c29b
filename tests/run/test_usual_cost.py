"""What finished runs cost is recorded once by their kind, and shown with the plan from the third
finished run on."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from kit.models import ScriptedChatModel
from kit.runs import REPORT, lab, research, search
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from deep_research.app.embed import build_graph, thread_config
from deep_research.core.accounts.ledger import MOST_RUNS, FinishedRuns
from deep_research.core.models.resolve import RoleModels
from deep_research.core.records.research import Depth, Plan, Run, Spent, UsualCost, total
from deep_research.core.settings.context import ROLES, Context
from deep_research.core.store.pages import Pages
from deep_research.state import ResearchState

MODEL = ScriptedChatModel(replies=[])
CONTEXT = Context(models=MODEL)


def finished(
    name: str, calls: int, *, is_planned: bool = True, depth: Depth = "standard"
) -> ResearchState:
    run = Run(
        id=name,
        question="Q?",
        date="today",
        language="English",
        is_resumable=True,
        version="1",
        depth=depth,
    )
    spent = {
        str(number): Spent(role="researcher", input_tokens=100, output_tokens=1)
        for number in range(calls)
    }
    plan = Plan(text="The plan.", steps=("a",)) if is_planned else None
    return ResearchState(
        messages=[],
        run=run.model_copy(update={"active_seconds": 5.0 + calls}),
        plan=plan,
        spending=spent,
    )


async def record(pages: Pages, state: ResearchState) -> None:
    """Record a finished run with the models of `CONTEXT`."""
    await FinishedRuns.like(pages, state.run, RoleModels(CONTEXT).names()).record(state)


async def usual_cost(pages: Pages, run: Run) -> UsualCost | None:
    """What finished runs like this one cost, with the models of `CONTEXT`."""
    return await FinishedRuns.like(pages, run, RoleModels(CONTEXT).names()).usual_cost()


async def test_the_fourth_run_of_a_kind_is_shown_the_medians_of_the_first_three(
    tmp_path: Path,
) -> None:
    graph = build_graph(checkpointer=InMemorySaver(), store=InMemoryStore())

    async def waiting(name: str, **settings: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The estimates in the packets of a run that waits for a review of its plan, and what it
        asks."""
        run = lab(tmp_path, graph=graph, review_plan=True, **settings)
        run.thread = name
        await run.ask()
        [interrupt] = (await graph.aget_state(thread_config(name))).interrupts
        return [packet["estimate"] for packet in run.of_type("estimate_made")], interrupt.value

    ended = list[ResearchState]()
    for number in range(3):
        rounds = [research("When was the Skerry Light lit?")] * (number + 1)
        steps = [search("Skerry Light"), REPORT, "It was lit in 1844. [1]"] * (number + 1)
        run = lab(tmp_path, graph=graph, orchestrator=[*rounds, REPORT], researcher=steps)
        run.thread = f"run {number}"
        ended.append(await run.ask())
        assert run.of_type("estimate_made") == [], "too few runs have finished"
        if number == 1:
            packets, asked = await waiting("third")
            assert packets == [] and "estimate" not in asked, "two runs have finished"
    tokens = [total(state.spending).tokens for state in ended]
    assert len({*tokens}) == 3
    packets, asked = await waiting("fourth")
    assert packets == [asked["estimate"]]
    seconds = round(median(state.run.active_seconds for state in ended), 1)
    assert asked["estimate"] == {
        "runs": 3,
        "median_seconds": seconds,
        "median_tokens": median(tokens),
    }
    packets, asked = await waiting("another kind", depth="deep")
    assert packets == [] and "estimate" not in asked, "no deep run has finished"


async def test_each_finished_run_is_recorded_once_and_only_the_latest_are_kept() -> None:
    pages = Pages(InMemoryStore(), "thread")
    for number in [*range(MOST_RUNS + 5), MOST_RUNS + 4]:
        await record(pages, finished(f"run {number}", calls=number + 1))
    # The latest runs made 6 to 25 calls.
    usual = UsualCost(runs=MOST_RUNS, median_seconds=20.5, median_tokens=round(15.5 * 101))
    assert await usual_cost(pages, finished("next", 0).run) == usual


async def test_runs_of_another_kind_and_those_without_a_plan_or_a_model_call_do_not_count() -> None:
    store = InMemoryStore()
    ada, ben = Pages(store, "thread", "ada"), Pages(store, "thread", "ben")
    for number in range(3):
        await record(ada, finished(f"run {number}", 4))
        await record(ada, finished(f"free {number}", calls=0))
        await record(ada, finished(f"unplanned {number}", calls=2, is_planned=False))
    planned = finished("next", 0)
    planned.run = planned.run.model_copy(update={"strategy": "planned"})
    usual = await usual_cost(ada, finished("next", 0).run)
    assert usual == UsualCost(runs=3, median_seconds=9.0, median_tokens=404)
    assert await usual_cost(ada, planned.run) is None
    assert await usual_cost(ada, finished("next", 0, depth="deep").run) is None
    assert await usual_cost(ben, finished("next", 0).run) is None


async def test_runs_recorded_by_an_earlier_version_count() -> None:
    pages = Pages(InMemoryStore(), "thread", "ada")
    model = MODEL._llm_type
    figures = {
        "steps": 2,
        "calls": 4,
        "input_tokens": 300,
        "output_tokens": 20,
        "usd": 0.0,
        "seconds": 8.0,
    }
    kind = " ".join(["ada", "orchestrated", "standard", *[model] * len(ROLES)])
    await pages.of_thread("finished runs").note(
        {kind: {"runs": {"run 0": figures, "run 1": figures}}}
    )
    assert await usual_cost(pages, finished("next", 0).run) is None
    await record(pages, finished("run 2", 4))
    usual = UsualCost(runs=3, median_seconds=8.0, median_tokens=320)
    assert await usual_cost(pages, finished("next", 0).run) == usual
