"""Each finished report of a thread is a version: what is stored of it, and how it is put back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.models import call, calls
from kit.planned import planned_lab
from kit.reports import standing
from kit.runs import CLEAR, REPORT, HandClock, Lab, WatchedSaver, lab, research, simple_research
from langgraph.types import Overwrite

from deep_research.app.embed import build_graph, thread_config
from deep_research.app.versions import RevertRefused, aread_version, arevert_thread
from deep_research.app.words import strategy_of
from deep_research.core.writing.versions import ThreadVersions, UnknownVersion, _differences_of
from deep_research.state import ResearchState

FROM_READ = calls(call("answer_from_read"))
LIT, TALL = "The Skerry Light was lit in 1844. [1]", "It stands 38 metres tall. [1]"
KEPT = "Ada Moran kept the Skerry Light from 1901. [2]"
KEPT_BY = "Who kept the Skerry Light from 1901 on?"


def thread(tmp_path: Path, **settings: Any) -> Lab:
    """A thread that is asked a question, one that its passages answer, a new one, and another that
    its passages answer."""
    return lab(
        tmp_path,
        clarifier=[CLEAR, FROM_READ, CLEAR, FROM_READ],
        planner=["# The light\n\n1. History of the light", "# The keeper\n\n1. Its keeper"],
        orchestrator=[
            research("When was the Skerry Light lit?"),
            REPORT,
            research("Who kept it?"),
            REPORT,
        ],
        researcher={"When was": simple_research(), "Who kept": simple_research(KEPT)},
        writer=[LIT, TALL, KEPT, TALL],
        clock=HandClock(),
        **settings,
    )


def listed(state: ResearchState) -> list[tuple[str, str]]:
    return [(version.name, version.kind) for version in state.versions.values()]


async def test_reports_and_short_answers_are_numbered_and_can_be_read_later(tmp_path: Path) -> None:
    run = thread(tmp_path)
    first = await run.ask_once()
    assert listed(first) == [("version 1", "research")]
    await run.ask("How tall is the Skerry Light?")
    state = await run.ask(KEPT_BY)
    assert listed(state) == [
        ("version 1", "research"),
        ("answer 1", "answer"),
        ("version 2", "question"),
    ]
    version = state.versions["version 1"]
    assert (version.title, version.date) == (first.title, "2026-03-04T05:06:00")
    read = await aread_version(run.graph, run.thread, 1)
    assert (read.markdown, read.report) == (first.messages[-1].text, first.report)
    answer = await aread_version(run.graph, run.thread, 1, is_answer=True)
    assert answer.report.text.startswith(TALL)
    with pytest.raises(UnknownVersion, match="no version 3: it has versions 1 to 2"):
        await aread_version(run.graph, run.thread, 3)
    with pytest.raises(UnknownVersion, match="no answer 2: it has answer 1"):
        await aread_version(run.graph, run.thread, 2, is_answer=True)


async def test_a_version_that_is_put_back_is_a_new_one_to_which_follow_ups_refer(
    tmp_path: Path,
) -> None:
    run = thread(tmp_path)
    first = await run.ask_once()
    await run.ask("How tall is the Skerry Light?")
    second = await run.ask(KEPT_BY)
    new = await arevert_thread(run.graph, run.thread, 1)
    state = await run.state()
    assert (new.number, new.kind, new.title) == (3, "revert", "The light")
    # The text is stored once.
    assert new.content == state.versions["version 1"].content
    assert len({version.content for version in state.versions.values()}) == 3
    assert state.title == first.title and state.report and first.report
    assert state.report.text == first.report.text and state.report.audit == first.report.audit
    assert state.messages[-1].text == first.messages[-1].text
    assert state.messages[:-1] == second.messages
    assert await run.next() == ()
    assert [packet.type for packet in await run.replayed()] == ["report_revised", "stop"]
    # A short answer refers to it, and it stays the latest report.
    state = await run.ask("How tall is it, again?")
    assert "lit in 1844" in run.calls("clarifier")[-1].messages[-2].text
    assert listed(state)[-2:] == [("version 3", "revert"), ("answer 2", "answer")]
    read = await aread_version(run.graph, run.thread, 3)
    assert read.markdown == first.messages[-1].text


async def test_a_run_that_waits_or_a_version_that_is_current_or_unknown_changes_nothing(
    tmp_path: Path,
) -> None:
    run = thread(tmp_path)
    await run.ask_once()
    before = await run.ask("How tall is the Skerry Light?")
    with pytest.raises(UnknownVersion, match="no version 2: it has version 1"):
        await arevert_thread(run.graph, run.thread, 2)
    assert await run.state() == before
    before = await run.ask(KEPT_BY)
    with pytest.raises(RevertRefused, match="Version 2 of the run 'lab' is the current one"):
        await arevert_thread(run.graph, run.thread, 2)
    assert await run.state() == before
    await run.ask("How tall is it, again?", before="look_up")
    with pytest.raises(RevertRefused, match="resume it first, or answer its question"):
        await arevert_thread(run.graph, run.thread, 1)
    assert await run.next() == ("look_up",)


async def test_without_a_lasting_store_only_the_current_report_is_kept(tmp_path: Path) -> None:
    run = thread(tmp_path)
    await run.ask_once()
    await run.ask("How tall is the Skerry Light?")
    second = await run.ask(KEPT_BY)
    # The app starts again: its checkpointer has lasted, its texts have not.
    saver = run.graph.checkpointer
    assert isinstance(saver, WatchedSaver)
    again = build_graph(checkpointer=saver)
    assert (await aread_version(again, run.thread, 2)).report == second.report
    with pytest.raises(UnknownVersion, match="version 1 is not stored: only the current report"):
        await arevert_thread(again, run.thread, 1)
    assert await run.state() == second


async def test_the_report_of_a_thread_without_versions_counts_as_the_first(tmp_path: Path) -> None:
    run = thread(tmp_path)
    first = await run.ask_once()
    # So do earlier versions of the code leave it.
    old = {"versions": Overwrite({})}
    await run.graph.aupdate_state(thread_config(run.thread), old, as_node="verify_report")
    assert not (await run.state()).versions
    read = await aread_version(run.graph, run.thread, 1)
    assert read.markdown == first.messages[-1].text
    await run.ask("How tall is the Skerry Light?")
    state = await run.ask(KEPT_BY)
    assert listed(state) == [
        ("version 1", "research"),
        ("answer 1", "answer"),
        ("version 2", "question"),
    ]
    assert state.versions["version 1"].date == "2026-03-04"
    assert await aread_version(run.graph, run.thread, 1) == read
    await arevert_thread(run.graph, run.thread, 1)
    assert (await run.state()).messages[-1].text == read.markdown


async def test_a_typed_plan_has_versions_too(tmp_path: Path) -> None:
    run = planned_lab(tmp_path)
    first = await run.ask_once()
    second = await run.ask("Where was its keeper born?")
    assert listed(second) == [("version 1", "research"), ("version 2", "question")]
    await arevert_thread(run.graph, run.thread, 1)
    state = await run.state()
    assert listed(state)[-1] == ("version 3", "revert") and not state.steps
    assert state.messages[-1].text == first.messages[-1].text
    snapshot = await run.graph.aget_state(thread_config(run.thread))
    assert snapshot.metadata and strategy_of(snapshot.metadata) == "planned"
    read = await aread_version(run.graph, run.thread, 2)
    assert read.markdown == second.messages[-1].text


async def test_versions_without_a_check_are_read_and_put_back_on_the_loop_of_their_file(
    tmp_path: Path,
) -> None:
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    run = thread(tmp_path, verify="off", graph=graph)
    first = await run.ask()
    await run.ask("How tall is the Skerry Light?")
    read = await aread_version(graph, run.thread, 1)
    assert read.report.audit is None and read.markdown == first.messages[-1].text
    assert (await arevert_thread(graph, run.thread, 1)).number == 2
    assert (await run.state()).messages[-1].text == read.markdown


def test_notes_that_have_only_moved_are_no_difference() -> None:
    stored = standing()
    read = ThreadVersions(stored.state).finished(stored.finished_report())
    known, other, new = "Still open: the lamp", "Not found: the keeper", "A statement is gone."
    before = read.model_copy(update={"notes": (known, other)})
    moved = read.model_copy(update={"notes": (other, known)})
    assert not any(block.is_changed for block in _differences_of(before, moved).blocks)
    after = read.model_copy(update={"notes": (new, other, known)})
    [changed] = [block for block in _differences_of(before, after).blocks if block.is_changed]
    assert [piece.text for piece in changed.pieces] == [f"- {new}"]
