"""What a thread remembers of a planned research, and for how long."""

from __future__ import annotations

from pathlib import Path

import pytest
from planned_lab import PlannedLab, Rule, plan, planned_lab, step, verdict
from planned_rules import contrary, facts, insights, of_task

from deep_research.app.embed import build_graph, thread_config, thread_id
from deep_research.core.evidence.memory.observations import contradictions, open_gaps
from deep_research.core.evidence.memory.observations import insights as insights_of
from deep_research.core.run.store.database import open_database
from deep_research.core.run.store.pages import page_namespace

LIGHT, KEEPER = "Skerry Light", "Skerry Light keeper"
TALL, TALLER = "The Skerry Light is 38 metres tall.", "The Skerry Light is 45 metres tall."
OLD, BUILDER, OIL = "The Skerry Light is old.", "Who built the Skerry Light?", "Which oil did the Skerry Light burn?"


def remembering() -> dict[str, Rule]:
    """A run that notices something of each kind, and answers one of its two gaps."""
    noting = insights(OLD, gaps={BUILDER: 0.9, OIL: 0.5})
    answering: Rule = lambda asked: {**facts("Ada Moran built it.")(asked), "answered_gaps": [1]}  # noqa: E731
    return {
        "make_plan": plan(step(LIGHT), step(KEEPER, after=(1,))),
        "record_learnings": of_task(LIGHT, contrary(TALL, TALLER), answering),
        "record_insights": of_task(LIGHT, noting, insights()),
        "give_verdict": verdict(True, "All is there."),
    }


@pytest.mark.fault("R23")
@pytest.mark.behaviour("A-68")
async def test_the_memory_of_a_thread_goes_with_the_thread_and_no_other(tmp_path: Path) -> None:
    async with open_database(tmp_path / "runs.sqlite") as (saver, store):
        graph = build_graph("planned", checkpointer=saver, store=store)
        runs: list[PlannedLab] = []
        for thread in ("one", "other"):
            run = planned_lab(tmp_path, remembering(), graph=graph)
            run.thread = thread
            runs.append(run)
            await run.ask()
        one, other = runs
        assert (await one.state()).memory and await one.replays_alike()
        await saver.adelete_thread(thread_id("one"))
        assert (await one.graph.aget_state(thread_config("one"))).values == {}
        assert await store.asearch(page_namespace(thread_id("one")), limit=10) == []
        assert await saver.thread_ids() == [thread_id("other")]
        assert (await other.state()).memory
        assert await store.asearch(page_namespace(thread_id("other")), limit=10)


@pytest.mark.behaviour("A-68")
async def test_the_memory_offers_insights_open_gaps_contradictions_and_the_confidence_of_each_step(
    tmp_path: Path,
) -> None:
    run = planned_lab(tmp_path, remembering())
    state = await run.ask()
    memory = state.memory.values()
    [insight] = insights_of(memory)
    assert (insight.text, insight.step, insight.score) == (OLD, "1", 0.8)
    assert {state.learnings[key].text for key in insight.learnings} == {TALL, TALLER}
    assert [(gap.text, gap.score) for gap in open_gaps(memory)] == [(OIL, 0.5)]
    [pair] = contradictions(memory)
    assert {state.learnings[key].text for key in pair.learnings} == {TALL, TALLER}
    assert [state.outcomes[step].confidence for step in ("1", "2")] == [0.88, 0.75]
    assert f"Not found: {OIL}" in state.messages[-1].text and BUILDER not in state.messages[-1].text
    assert await run.replays_alike()
