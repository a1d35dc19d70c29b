"""Researchers and reports that fail or hang never end the run, cost what others found, or leak what
errors quote."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import pytest
from kit.runs import (
    CLEAR,
    PLAN,
    QUESTION,
    REPORT,
    FailingStore,
    HandClock,
    Hanging,
    Lab,
    WatchedSaver,
    answered,
    in_order,
    lab,
    research,
    results,
    search,
    simple_research,
    stopped_at,
)
from langgraph.errors import GraphBubbleUp

from deep_research.app.embed import build_graph
from deep_research.core.dialogue.conversation import mark_of
from deep_research.core.errors import (
    NoPlan,
    NoReport,
    RateLimited,
    SearchFailed,
    StateUnreadable,
    StopsTheRun,
    UnknownSetting,
)
from deep_research.core.store._saver import BranchNotSaved
from deep_research.core.store._serializer import StrictSerializer
from deep_research.state import ResearchState

THREE = research("light task", "keeper task", "tide task", ids=("l", "k", "t"))
OTHERS = {
    "light task": [search("Skerry Light 1844"), REPORT, "Lit in 1844. [1]"],
    "keeper task": [search("Ada Moran"), REPORT, "Tralee. [1]"],
    "tide task": [search("spring tide"), REPORT, "5.2 metres. [1]"],
}
"""Researchers that finish."""
CANARY = "sk-CANARY-51"
QUOTING = ValueError(f"Incorrect API key provided: {CANARY}")


@pytest.mark.sweep
@pytest.mark.behaviour("O-35", "O-36", "O-57", "O-58")
@pytest.mark.parametrize("failure", [ValueError("secret sk-123"), ""])
async def test_of_three_one_is_cut_at_its_deadline_one_fails_and_all_keep_what_they_found(
    tmp_path: Path, failure: object
) -> None:
    hanging = [search("Skerry Light 1844"), Hanging(), "Cut, but lit in 1844. [1]"]
    researchers = {**OTHERS, "light task": hanging, "keeper task": [REPORT, failure]}
    scripts: Any = {
        "orchestrator": [THREE, REPORT],
        "researcher": researchers,
        "writer": ["Lit [1]; tide [2]."],
    }
    limits = {"researcher_seconds_hard": 40, "writing_share": 0.95}
    run, state = await answered(tmp_path, verify="check", limits=limits, **scripts)
    light, keeper, tide = in_order(state)
    assert (light.ended, keeper.ended, tide.ended) == ("partial", "failed", "done")
    assert "researcher_seconds_hard" in light.reason
    assert light.numbered == "Cut, but lit in 1844. [1]"
    [reminded] = [
        asked.text for asked in run.calls("researcher") if "ended early" in asked.messages[-1].text
    ]
    assert "researcher_seconds_hard" in reminded
    shown = results(run.calls("orchestrator")[1].messages)
    assert (shown["l"].splitlines()[-1], shown["t"]) == (
        "Cut, but lit in 1844. [1]",
        "5.2 metres. [2]",
    )
    assert shown["k"].startswith("The research failed")
    assert "sk-123" not in repr(state) + repr(run.packets)
    [error] = run.of_type("error")
    assert (error["placement"]["turn_index"], error["placement"]["tab_index"]) == (1, 1)
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.report and len(state.report.sources) == 2


@pytest.mark.sweep
@pytest.mark.behaviour("O-65", "O-86")
@pytest.mark.parametrize("empty", ["", "   "])
async def test_an_empty_report_is_an_error_that_leaves_the_findings_and_can_be_resumed(
    tmp_path: Path, empty: str
) -> None:
    # An empty answer is requested once more.
    run = lab(tmp_path, writer=[empty, empty, "The Skerry Light was lit in 1844. [1]"])
    with pytest.raises(NoReport):
        await run.ask()
    stopped = await run.state()
    assert in_order(stopped)[0].numbered == "It was lit in 1844. [1]"
    assert stopped.report is None
    assert stopped.run and stopped.run.status == "running"
    state = await run.ask(None)
    assert state.report
    assert len(run.calls("researcher")) == 3


async def test_a_message_after_a_failed_follow_up_asks_another_question_and_leaves_all_before_it(
    tmp_path: Path,
) -> None:
    run = lab(
        tmp_path,
        clarifier=[CLEAR] * 3,
        planner=[PLAN, "", "", PLAN],
        orchestrator=[research("When was the Skerry Light lit?"), REPORT] * 2,
        researcher=simple_research() * 2,
        writer=["The Skerry Light was lit in 1844. [1]"] * 2,
    )
    first = await run.ask_once()
    with pytest.raises(NoPlan):
        await run.ask("And the harbour?")
    failed = await run.state()
    assert (failed.run.question, failed.run.status) == ("And the harbour?", "running")
    state = await run.ask("And the tides?")
    assert (state.run.question, state.run.status) == ("And the tides?", "completed")
    assert [mark_of(message) or message.text for message in state.messages] == [
        QUESTION,
        "report",
        "And the harbour?",
        "ended",
        "And the tides?",
        "report",
    ]
    assert state.versions["version 1"] == failed.versions["version 1"]
    for key, source in first.sources.items():
        # It may have been read once more.
        assert state.sources[key].model_copy(update={"read_at": source.read_at}) == source


@pytest.mark.fault("R19", logs="WARNING nodes.turn")
@pytest.mark.behaviour("O-85")
async def test_what_a_foreign_error_quotes_reaches_no_file(tmp_path: Path) -> None:
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    researcher = [search("Skerry Light"), QUOTING, QUOTING]
    run = lab(tmp_path, graph=graph, researcher=researcher, writer=[QUOTING, "Lit. [1]"])
    with pytest.raises(ValueError, match=CANARY):
        await run.ask()
    state = await run.ask(None)
    [finding] = state.findings.values()
    assert (finding.ended, finding.reason) == ("partial", "an error stopped it (ValueError)")
    assert [action.inputs for action in finding.actions] == [("Skerry Light",)]
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("runs.sqlite*"))
    assert b"an error stopped it (ValueError)" in kept
    assert CANARY.encode() not in kept


@pytest.mark.fault(36)
async def test_a_kill_between_a_failure_and_what_is_made_of_it_keeps_the_reason(
    tmp_path: Path,
) -> None:
    """Node and fallback fail; after the kill only LangGraph's record of the error is left."""
    store = FailingStore()
    graph = build_graph(checkpointer=WatchedSaver(serde=StrictSerializer()), store=store)
    run = lab(
        tmp_path,
        graph=graph,
        researcher=[search("Skerry Light"), store.losing(REPORT, 2, hangs=True)],
    )
    await stopped_at(run, store.is_hanging)
    store.mend()
    [finding] = (await run.ask(None)).findings.values()
    assert finding.reason == "an error stopped it (OSError)"
    assert finding.ended == "partial"
    assert len(run.calls("researcher")) == 2


async def test_researchers_side_by_side_take_the_time_of_the_longest_and_rounds_add_up(
    tmp_path: Path,
) -> None:
    clock, is_writing = HandClock(), asyncio.Event()

    async def short(*_: Any) -> str:
        await is_writing.wait()
        clock.time += 4
        return "Lit in 1844. [1]"

    async def long(*_: Any) -> str:
        is_writing.set()
        await run.until_finished()
        clock.time += 3
        return "It stands 38 metres tall. [1]"

    further = clock.after(2, "Kept by Ada Moran. [1]")
    findings = {"short task.": short, "long task.": long, "further task.": further}
    researchers = {
        task: [search("Skerry Light", "Ada Moran"), REPORT, reply]
        for task, reply in findings.items()
    }
    script = [research("short task.", "long task."), research("further task."), REPORT]
    run = lab(tmp_path, clock=clock, orchestrator=script, researcher=researchers)
    state = await run.ask()
    assert [finding.seconds for finding in in_order(state)] == [4, 7, 2]
    assert state.run and state.run.active_seconds == clock.time == 9


@pytest.mark.parametrize(
    "kind", [UnknownSetting, StateUnreadable, RateLimited, SearchFailed, BranchNotSaved]
)
def test_errors_that_stop_the_whole_run_pass_langgraph_and_can_be_pickled(
    kind: type[StopsTheRun],
) -> None:
    error = kind("The key was rejected.")
    error.add_note("kept")
    assert isinstance(error, GraphBubbleUp)
    assert (type(error).__name__, str(error)) == (kind.__name__, "The key was rejected.")
    loaded = pickle.loads(pickle.dumps(error))
    assert isinstance(loaded, kind)
    assert (str(loaded), loaded.__notes__) == (str(error), ["kept"])


class ServerAway(Exception):
    """What a client raises while the server of its model restarts."""

    status_code = 503


async def let_waits_pass(run: Lab, clock: HandClock, asking: asyncio.Task[ResearchState]) -> None:
    """Move the clock by each wait of the run, as soon as it begins, until the run has ended."""
    waits = 0
    while not asking.done():
        await asyncio.sleep(0)
        delayed = run.of_type("call_delayed")
        for packet in delayed[waits:]:
            clock.time += packet["seconds"]
        waits = len(delayed)


@pytest.mark.fault(70, logs="INFO core.models._retries")
async def test_a_run_goes_on_once_a_model_server_that_was_restarted_is_back(tmp_path: Path) -> None:
    clock = HandClock()
    run = lab(tmp_path, clock=clock, planner=[*[ServerAway()] * 9, PLAN])
    asking = asyncio.create_task(run.ask())
    await let_waits_pass(run, clock, asking)
    state = await asking
    assert state.run.status == "completed" and clock.time > 45
    delayed = run.of_type("call_delayed")
    assert {packet["reason"] for packet in delayed} == {
        "no answer from the model's server (HTTP 503)"
    }
    assert state.run.active_seconds == pytest.approx(clock.time), "it counts towards the limits"


@pytest.mark.fault(45, 70)
async def test_a_run_that_waits_for_a_model_server_stops_at_once_and_can_go_on(
    tmp_path: Path,
) -> None:
    is_asked = asyncio.Event()

    def away(*_: Any) -> Exception:
        is_asked.set()
        return ServerAway()

    run = lab(tmp_path, clock=HandClock(), planner=[away, PLAN])
    # On this clock the wait would never end.
    await stopped_at(run, is_asked)
    assert (await run.ask(None)).run.status == "completed"
