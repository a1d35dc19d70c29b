"""Stored data survives the process, only its owner can read it, and it contains only our records."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import ormsgpack
import pytest
from kit.models import ScriptedChatModel, call, calls
from kit.planned import RULES, Rule, planned_lab, verdict
from kit.runs import CLEAR, QUESTION, REPORT, in_order, lab
from kit.stored_runs import queried
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from deep_research.app.embed import build_graph, thread_config
from deep_research.core.errors import DatabaseUnusable, StateUnreadable
from deep_research.core.records.research import Plan, Run, Strategy
from deep_research.core.records.sources import Record
from deep_research.core.store._packing import decompressed
from deep_research.core.store._serializer import StrictSerializer, record_types
from deep_research.core.store.database import open_database
from deep_research.core.store.location import RunsLocation

VALUES = """
SELECT type, checkpoint FROM checkpoints UNION ALL
SELECT type, value FROM writes WHERE type LIKE 'msgpack%'
"""
QUESTIONS = 9
"""Questions of a thread, so that the first four and the last four that follow can be compared."""


class Foreign:
    """A type that is not ours."""


@pytest.mark.fault("R18", "R20")
async def test_every_record_is_read_back_unchanged_from_a_file_that_is_private_and_holds_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary, folder = "sk-canary-0123456789", tmp_path / "new folder"
    monkeypatch.setenv("OPENAI_API_KEY", canary)

    class KeyedModel(ScriptedChatModel):
        api_key: str = canary

    location = RunsLocation.of(folder)
    async with open_database(location) as database:
        run = lab(tmp_path, graph=build_graph(checkpointer=database.saver, store=database.store))
        model: Any = run.models["writer"]
        run.models["writer"] = KeyedModel(replies=model.replies, profile=model.profile)
        state = await run.ask()
        assert run.calls("writer")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    async with open_database(location) as database:
        reread = build_graph(checkpointer=database.saver, store=database.store)
        values = (await reread.aget_state(thread_config(run.thread))).values
    for name in (
        "run",
        "plan",
        "progress",
        "findings",
        "sources",
        "spending",
        "report",
        "transcript",
        "messages",
    ):
        assert values[name] == getattr(state, name), name
    assert type(values["plan"]) is Plan
    assert values["plan"].steps == tuple(values["plan"].steps)
    assert not any(canary.encode() in file.read_bytes() for file in folder.iterdir())


def test_a_mistyped_path_makes_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "runz" / "runs.sqlite"
    message = rf"'{wrong}' cannot be opened: there is no folder '{wrong.parent}'"
    with pytest.raises(DatabaseUnusable, match=message):
        build_graph(checkpointer=wrong)
    monkeypatch.setenv("DEEP_RESEARCH_DATABASE", str(wrong))
    with pytest.raises(DatabaseUnusable, match=message):
        RunsLocation.of(tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
@pytest.mark.fault(55)
@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
async def test_each_question_of_a_thread_adds_the_same_small_amount_to_the_database(
    tmp_path: Path, strategy: Strategy
) -> None:
    path, sizes = tmp_path / "runs.sqlite", list[int]()
    graph = build_graph(strategy, checkpointer=path)
    for number in range(QUESTIONS):
        run = (lab if strategy == "orchestrated" else planned_lab)(tmp_path, graph=graph)
        # This lab has not seen the costs of the earlier questions.
        run.books = None
        await run.ask(f"{QUESTION} ({number})")
        queried(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        counts = ("page_count", "freelist_count", "page_size")
        pages, free, size = (queried(path, f"PRAGMA {name}")[0][0] for name in counts)
        sizes.append((pages - free) * size)
    messages = (await run.state()).messages
    # The database grows by whole pages, so a single question proves little.
    grown = [after - before for before, after in pairwise(sizes)]
    assert len(messages) == 2 * QUESTIONS
    assert [
        bytes_ for bytes_ in grown if not 0.8 * median(grown) < bytes_ < 1.2 * median(grown)
    ] == []
    assert sum(grown[-4:]) < 1.1 * sum(grown[:4])
    assert median(grown) < 200_000


def asking(most: int) -> Rule:
    """A rule that gives queries for the first `most` rounds, and none after them."""
    return lambda asked: RULES["choose_queries"](asked) if asked.number <= most else {"queries": []}


@pytest.mark.fault(55)
async def test_the_input_of_a_step_is_stored_once_for_any_number_of_rounds(tmp_path: Path) -> None:
    inputs, values = dict[int, int](), dict[int, int]()
    for rounds in (1, 4):
        path = tmp_path / f"{rounds}.sqlite"
        run = planned_lab(
            tmp_path,
            {"choose_queries": asking(rounds), "give_verdict": verdict(False)},
            graph=build_graph("planned", checkpointer=path),
            limits={"max_step_iterations": 4},
        )
        await run.ask(QUESTION)
        blobs = [decompressed(*stored) for stored in queried(path, VALUES)]
        inputs[rounds], values[rounds] = sum(b"StepTask" in blob for blob in blobs), len(blobs)
    assert inputs[4] == inputs[1] > 0
    assert values[4] > values[1]


@pytest.mark.fault(41, "R21")
def test_only_our_records_are_stored_and_neither_pickle_nor_code_is_loaded(tmp_path: Path) -> None:
    serializer, marker = StrictSerializer(), tmp_path / "ran"
    plan = Plan(text="1. a", steps=("a",))
    assert serializer.loads_typed(serializer.dumps_typed({"plan": plan})) == {"plan": plan}
    assert {Plan, Run} <= set(record_types())
    assert all(issubclass(kind, Record) for kind in record_types())
    with pytest.raises(TypeError):
        serializer.dumps_typed(Foreign())
    hostile = ormsgpack.packb(
        ormsgpack.Ext(0, ormsgpack.packb(("os", "system", f"touch {marker}")))
    )
    for stored, reason in (
        (("msgpack", hostile), r"os\.system"),
        (("pickle", b"cos\nsystem\n(S'true'\ntR."), "pickle"),
    ):
        with pytest.raises(StateUnreadable, match=reason):
            serializer.loads_typed(stored)
    assert not marker.exists()


@pytest.mark.fault("R21")
async def test_a_saver_without_async_methods_stores_our_records_without_warnings(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    connection = sqlite3.connect(tmp_path / "sync.sqlite", check_same_thread=False)
    saver = SqliteSaver(connection)
    run = lab(tmp_path, clarifier=["Which light?", CLEAR], graph=build_graph(checkpointer=saver))
    assert (await run.ask()).run.status == "waiting"
    run.graph = build_graph(checkpointer=SqliteSaver(connection))
    state = await run.ask(Command(resume="The Skerry Light"))
    assert state.report and type(state.plan) is Plan
    assert len([state async for state in run.graph.aget_state_history(thread_config("lab"))]) > 2
    assert not [record for record in caplog.records if "langgraph.checkpoint" in record.name]
    assert not isinstance(saver.serde, StrictSerializer), "other graphs keep their types"
    connection.close()


@pytest.mark.fault(38)
async def test_writers_of_the_same_file_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    runs = [lab(tmp_path, graph=build_graph(checkpointer=path)) for _ in range(4)]
    for number, run in enumerate(runs):
        run.thread = f"thread {number}"
    states = await asyncio.gather(*(run.ask() for run in runs))
    assert all(state.report for state in states)
    assert all(in_order(state)[0].ended == "done" for state in states)


async def test_a_number_too_large_for_the_database_fails_nothing(tmp_path: Path) -> None:
    first = calls(call("research_agent", task="task 0.", depth=2**70))
    searching = calls(call("internal_search", queries=["Skerry Light"], n=-(2**64)))
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    researcher = {"task 0.": [searching, REPORT, "Lit. [1]"]}
    state = await lab(
        tmp_path, graph=graph, orchestrator=[first, REPORT], researcher=researcher
    ).ask()
    assert [finding.ended for finding in in_order(state)] == ["done"]


@pytest.mark.parametrize(
    ("name", "location"),
    [
        ("postgresql+psycopg://u:p@h/x", "postgresql://u:p@h/x"),
        ("postgresql+asyncpg://h/x?a=b", "postgresql://h/x?a=b"),
        ("postgres://u@h/x", "postgresql://u@h/x"),
    ],
)
def test_all_forms_of_a_postgresql_address_are_accepted(name: str, location: str) -> None:
    assert RunsLocation.named(name).target == location


@pytest.mark.parametrize(
    "name", ["mysql://u:secret@h/x", "sqlite:///runs.db", "mongodb+srv://u:secret@h/x"]
)
def test_an_address_of_another_database_is_refused_without_its_password(name: str) -> None:
    with pytest.raises(
        DatabaseUnusable, match=r"the path of a file.*postgresql://.*DEEP_RESEARCH_DATABASE"
    ) as caught:
        RunsLocation.named(name)
    assert "secret" not in str(caught.value)
