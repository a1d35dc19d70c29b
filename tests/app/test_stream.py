"""The stream of packets and its replay: in order, with heartbeats in silence, and ended by exactly
one stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kit.models import call, calls
from kit.packets import faults, merged, position_of
from kit.runs import (
    PLAN,
    QUESTION,
    REPORT,
    HandClock,
    Hanging,
    Lab,
    lab,
    research,
    search,
    simple_research,
    stopped_at,
    think,
)
from langchain_core.messages import AIMessage

from deep_research.app.embed import build_graph
from deep_research.app.stream import apackets, packets, replay, replay_thread
from deep_research.app.words import GRAPHS
from deep_research.core.errors import NoPlan, UnknownThread
from deep_research.core.events import packets as p
from deep_research.core.events.log import StoredLog
from deep_research.core.events.packets import AnyPacket, OverallStop, Placement
from deep_research.core.store.location import thread_id
from deep_research.core.store.pages import Pages
from deep_research.state import ResearchState

WORDS = st.sampled_from(["Skerry", "Light", "Ada Moran", "harbour", "tide"])
THOUGHTS = st.sampled_from(["", 'What is missing? é \\ " ]', "One\n\nTwo"])
FINDINGS = st.sampled_from(["Lit in 1844. [1]", "Known. [1][2] More. [9]", "Nothing was found."])
REPORTS = st.sampled_from(
    ["Lit [1] and tall [2]. [1]", "Nothing is cited.", "All [1], [2] and [3]; `[1]` is code."]
)


def reasoned(text: str, thought: str) -> Any:
    """An answer, with reasoning of the model before it unless `thought` is empty."""
    return AIMessage(text, additional_kwargs={"reasoning_content": thought}) if thought else text


@st.composite
def steps(draw: st.DrawFn) -> list[Any]:
    """The answers of a researcher's model, up to its finding."""
    fails = draw(st.integers(0, 3)) == 0
    kinds = ["think", "search", "both", "open", "wrong"]
    script = [draw(step(kind)) for kind in draw(st.lists(st.sampled_from(kinds), max_size=3))]
    finding = ValueError("the model is gone") if fails else reasoned(draw(FINDINGS), draw(THOUGHTS))
    # A text that cites nothing is requested once more.
    return [*script, REPORT, finding, finding]


def step(kind: str) -> st.SearchStrategy[Any]:
    """One decision of a researcher."""
    if kind == "think":
        return THOUGHTS.map(lambda thought: think(thought or "Hm."))
    if kind == "search":
        return st.lists(WORDS, min_size=1, max_size=2).map(lambda words: search(*words))
    if kind == "both":
        return THOUGHTS.map(
            lambda thought: search("Ada Moran").model_copy(update={"content": thought})
        )
    name, given = (
        ("open_url", {"urls": ["file:///none"]}) if kind == "open" else ("dance", {"how": "well"})
    )
    return st.just(calls(call(name, **given)))


@st.composite
def scripts(draw: st.DrawFn) -> dict[str, Any]:
    """Answers of all models of a run: thoughts, rounds of one to three tasks, some of which fail,
    and the report."""
    orchestrator: list[Any] = []
    researchers: dict[str, list[Any]] = {}
    for round_number in range(draw(st.integers(1, 2))):
        orchestrator += [think(draw(THOUGHTS) or "Hm.") for _ in range(draw(st.integers(0, 3)))]
        tasks = [f"task {round_number}-{position}." for position in range(draw(st.integers(1, 3)))]
        researchers |= {task: draw(steps()) for task in tasks}
        thought = draw(THOUGHTS)
        orchestrator.append(research(*tasks).model_copy(update={"content": thought}))
    # Where every researcher failed, a report has to be asked for twice.
    orchestrator += [REPORT.model_copy(update={"content": draw(THOUGHTS)}) for _ in range(2)]
    planner, writer = (
        [reasoned(PLAN, draw(THOUGHTS))],
        [reasoned(draw(REPORTS), draw(THOUGHTS))] * 2,
    )
    return {
        "planner": planner,
        "orchestrator": orchestrator,
        "researcher": researchers,
        "writer": writer,
    }


async def never(*_: Any) -> str:
    """A model that never answers."""
    await asyncio.Event().wait()
    return PLAN


async def packets_of(
    run: Lab, message: Any = QUESTION, into: list[AnyPacket] | None = None
) -> list[AnyPacket]:
    """All packets of a run; if it raises, those received are in `into`."""
    heard = [] if into is None else into
    async for packet in apackets(run.graph, message, run.thread, context=run.context):
        heard.append(packet)
    return heard


def stop_of(heard: Sequence[AnyPacket]) -> OverallStop:
    """The stop packet; checks that it is the only one and the last packet."""
    (stop,) = [packet for packet in heard if isinstance(packet, OverallStop)]
    assert heard[-1] is stop
    return stop


def stops(heard: Sequence[AnyPacket]) -> tuple[str, str, bool]:
    stop = stop_of(heard)
    return stop.stop_reason, stop.message, stop.is_resumable


@pytest.mark.slow
@pytest.mark.behaviour("O-71", "O-77", "O-78", "O-88")
@settings(
    max_examples=15,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(script=scripts())
def test_the_stream_of_any_run_is_in_order_and_can_be_replayed(
    tmp_path: Path, script: dict[str, Any]
) -> None:
    async def both() -> None:
        run = lab(tmp_path, **script)
        streamed = await packets_of(run)
        again = await run.replayed()
        assert faults(streamed) == faults(again) == []
        assert merged(again) == merged(streamed)

    asyncio.run(both())


@pytest.mark.behaviour("O-79")
async def test_a_run_that_fails_says_why_and_raises(tmp_path: Path) -> None:
    run, heard = lab(tmp_path, planner=["", "", PLAN]), list[AnyPacket]()
    with pytest.raises(NoPlan) as error:
        await packets_of(run, into=heard)
    assert stops(heard) == ("failed", str(error.value), True)
    assert stops(await packets_of(run, None))[0] == "completed"


@pytest.mark.fault("R19")
async def test_for_foreign_errors_only_the_type_is_reported(tmp_path: Path) -> None:
    run, heard = (
        lab(tmp_path, writer=[ValueError("sk-secret")], graph=build_graph(), clarify="off"),
        list[AnyPacket](),
    )
    with pytest.raises(ValueError, match="sk-secret"):
        await packets_of(run, into=heard)
    assert stops(heard) == ("failed", "An error stopped the run (ValueError).", False)


@pytest.mark.fault(45)
@pytest.mark.behaviour("O-79", "A-09", "A-80")
async def test_a_cancelled_task_gets_the_stop_as_its_last_packet_and_is_cancelled(
    tmp_path: Path,
) -> None:
    clock, heard, before = HandClock(), list[AnyPacket](), asyncio.all_tasks()
    run = timed(tmp_path, clock, planner=[never, PLAN])
    task = asyncio.create_task(packets_of(run, into=heard))
    while not run.calls("planner"):
        await asyncio.sleep(0)
    clock.time += 1
    while not seconds(heard):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    clock.time += 10
    assert (task.cancelling(), asyncio.all_tasks()) == (1, before)
    assert stops(heard) == ("user_cancelled", "", True)
    assert seconds(heard) == [1.0]
    assert stops(await packets_of(run, None))[0] == "completed"


@pytest.mark.fault(45)
async def test_a_stream_that_is_closed_early_leaves_no_run_behind(tmp_path: Path) -> None:
    run = lab(tmp_path)
    before = asyncio.all_tasks()
    async with aclosing(apackets(run.graph, QUESTION, run.thread, context=run.context)) as heard:
        async for packet in heard:
            if isinstance(packet, p.PlanDelta):
                break
    assert asyncio.all_tasks() == before
    assert not run.calls("orchestrator")


@pytest.mark.behaviour("O-82")
async def test_a_silent_run_sends_heartbeats_and_loses_no_packet(tmp_path: Path) -> None:
    async def slow(*_: Any) -> str:
        while len([packet for packet in heard if isinstance(packet, p.ChatHeartbeat)]) < 4:
            await asyncio.sleep(0.01)
        return PLAN

    heard = list[AnyPacket]()
    await packets_of(lab(tmp_path, planner=[slow], limits={"heartbeat_seconds": 0.05}), into=heard)
    # On a busy machine a heartbeat may come before the run's own first one, which has no time.
    beats = [packet for packet in heard if isinstance(packet, p.ChatHeartbeat)]
    assert beats[0] == heard[0]
    [first] = [beat for beat in beats if not beat.elapsed_seconds]
    elapsed = [beat.elapsed_seconds for beat in beats if beat is not first]
    assert (
        elapsed == sorted(elapsed)
        and elapsed[0] > 0.04
        and elapsed[-1] < stop_of(heard).elapsed_seconds
    )
    assert {beat.placement for beat in beats} == {Placement(turn_index=0)}
    assert faults(heard) == []
    assert "".join(packet.content for packet in heard if isinstance(packet, p.PlanDelta)) == PLAN
    quick = await packets_of(lab(tmp_path))
    assert quick[0] == first
    assert [packet for packet in quick if isinstance(packet, p.ChatHeartbeat)] == [first]


async def test_the_check_of_streams_in_the_kit_finds_faults(tmp_path: Path) -> None:
    heard = await packets_of(lab(tmp_path))
    assert faults(heard) == []
    assert faults([*heard, heard[-1]])
    for kind in (p.SectionEnd, p.PlanStart, p.ResearchAgentStart, p.CitationInfo):
        assert faults([packet for packet in heard if not isinstance(packet, kind)])


def timed(tmp_path: Path, clock: HandClock, **scripts: Any) -> Lab:
    """A run with elapsed-time packets: the stream checks only the graph's name."""
    run = lab(tmp_path, clock=clock, **scripts)
    run.graph = run.graph.copy({"name": GRAPHS["planned"]})
    return run


def seconds(heard: list[AnyPacket]) -> list[float]:
    return [packet.elapsed_seconds for packet in heard if isinstance(packet, p.ElapsedTime)]


@pytest.mark.behaviour("A-09")
async def test_seconds_that_pass_at_once_are_sent_one_by_one(tmp_path: Path) -> None:
    clock = HandClock()
    run = timed(
        tmp_path,
        clock,
        planner=[clock.after(2.5, PLAN)],
        writer=[clock.after(0.6, "Lit in 1844. [1]")],
    )
    heard = await packets_of(run)
    types = [
        packet.type for packet in heard if not isinstance(packet, p.CallFinished | p.CallPending)
    ]
    assert seconds(heard) == [1.0, 2.0, 3.0]
    plan, report = types.index("deep_research_plan_start"), types.index("message_start")
    assert types[plan - 2 : plan] == ["elapsed_time"] * 2
    assert types[report - 1] == "elapsed_time"
    assert stop_of(heard).elapsed_seconds == 3.1


async def test_a_stopped_run_is_replayed_as_far_as_it_went(tmp_path: Path) -> None:
    is_hanging = asyncio.Event()

    async def hangs(*_: Any) -> str:
        is_hanging.set()
        return await never()

    assert [packet.type for packet in await replay(None, "t", ResearchState())] == ["stop"]
    run = lab(
        tmp_path,
        orchestrator=[research("light task"), research("keeper task", "harbour task"), REPORT],
        researcher={
            "light task": simple_research(),
            "keeper task": [search("Ada Moran"), hangs],
            "harbour task": simple_research(),
        },
    )
    task = asyncio.create_task(packets_of(run))
    await is_hanging.wait()
    await run.until_finished()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    replayed = await run.replayed()
    assert stops(replayed) == ("failed", "The run was stopped before it finished.", True)
    assert faults(replayed, is_whole=False) == []
    positions = {
        packet.type: position_of(packet) for packet in replayed if packet.placement.turn_index == 2
    }
    assert positions["top_level_branching"] == (2, 0, -1)
    assert [packet.type for packet in replayed if position_of(packet) == (2, 0, -1)][-2:] == [
        "research_agent_title",
        "stop",
    ]
    assert positions["intermediate_report_cited_docs"] == (2, 1, -1), (
        "what a finished sibling found is there"
    )


@pytest.mark.fault(46)
def test_a_thread_is_run_and_replayed_by_its_name_and_yields_only_a_stop_once_finished(
    tmp_path: Path,
) -> None:
    run = lab(tmp_path, graph=build_graph(checkpointer=tmp_path / "runs.sqlite"))
    streamed = list(packets(run.graph, QUESTION, "light", context=run.context))
    again = list(replay_thread(run.graph, "light"))
    assert merged(again) == merged(streamed)
    assert [packet.type for packet in packets(run.graph, None, "light", context=run.context)] == [
        "stop"
    ]
    with pytest.raises(UnknownThread, match="'nobody'"):
        list(replay_thread(run.graph, "nobody"))


async def test_the_time_of_work_goes_on_where_a_stopped_run_ended(tmp_path: Path) -> None:
    call = Hanging()
    run = lab(
        tmp_path,
        orchestrator=[research("slow task"), REPORT],
        researcher=[search("Ada Moran"), call, REPORT, "Slow. [1]"],
    )
    await stopped_at(run, call.is_begun)
    pages = Pages(run.graph.page_store, thread_id(run.thread))
    log = StoredLog(pages, (await run.state()).run.id)
    _, before = await log.read_new()
    worked = log.worked(is_at_work=False)
    # The run has ended: the time until it goes on does not count.
    assert log.worked(is_at_work=True) == worked >= before[-1]["worked"]
    await run.ask(None)
    held, after = await log.read_new()
    assert held == len(before)
    times = [packet["worked"] for packet in after]
    assert times == sorted(times) and times[0] >= worked


async def test_a_finished_run_is_listed_with_the_time_of_work_also_that_of_a_stopped_round(
    tmp_path: Path,
) -> None:
    call, clock = Hanging(), HandClock()
    run = lab(
        tmp_path,
        clock=clock,
        orchestrator=[research("slow task"), REPORT],
        researcher=[search("Ada Moran"), call, REPORT, "Slow. [1]"],
        writer=[clock.after(20, "Slow. [1]")],
    )
    asking = asyncio.create_task(run.ask())
    await call.is_begun.wait()
    clock.time += 100
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    # The pause does not count.
    clock.time += 1000
    state = await run.ask(None)
    *_, last = await StoredLog(
        Pages(run.graph.page_store, thread_id(run.thread)), state.run.id
    ).read()
    assert state.report and state.report.audit
    times = (state.run.active_seconds, state.report.audit.seconds, last["worked"])
    assert times == (120, 120, 120)
