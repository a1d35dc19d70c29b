"""What is stored of a run and cannot be trusted stops it, says which run it is, and offers the last good state."""

from __future__ import annotations

import logging
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from command import Desk, desk_in
from lab import QUESTION, REPORT, Lab, lab, research, search
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde import jsonplus

from deep_research.app.embed import build_graph, thread_id
from deep_research.app.words import STRATEGIES
from deep_research.core.records.research import ConflictingClaims, Plan, Run
from deep_research.core.run.errors import DatabaseUnusable, NewerVersion, RateLimited, StateUnreadable
from deep_research.core.run.store.database import FILE_NAME, LAYOUT, open_database
from deep_research.core.run.store.serializer import StrictSerializer

RUN: dict[str, Any] = {"id": "q", "question": "q", "date": "", "language": "", "is_resumable": True, "version": "0.1.0"}


def packed(code: int, *content: Any) -> tuple[str, bytes]:
    return "msgpack", ormsgpack.packb({"run": ormsgpack.Ext(code, ormsgpack.packb(content))})


FOREIGN = {
    "no type of ours": packed(jsonplus.EXT_CONSTRUCTOR_KW_ARGS, "collections", "Counter", {"a": 1}),
    "a type of ours, spelled otherwise": packed(jsonplus.EXT_PYDANTIC_V2, "deep_research.state", "Runs", RUN),
    "a safe type of no value": packed(jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG, "uuid", "UUID", "no uuid"),
    "a safe type's other method": packed(jsonplus.EXT_METHOD_SINGLE_ARG, "datetime", "datetime", "x", "strptime"),
    "a record with one field more": packed(
        jsonplus.EXT_PYDANTIC_V2, "deep_research.state", "Run", {**RUN, "colour": "red"}
    ),
    "a record with one field less": packed(
        jsonplus.EXT_PYDANTIC_V2, "deep_research.state", "Run", {key: RUN[key] for key in RUN if key != "date"}
    ),
    "a model of pydantic 1": packed(jsonplus.EXT_PYDANTIC_V1, "deep_research.state", "Run", RUN),
    "an array of numpy": packed(jsonplus.EXT_NUMPY_ARRAY, "<i4", (1,), "C", b"\0\0\0\0"),
    "an unknown extension": packed(99, "a", "b", "c"),
    "half a value": ("msgpack", ormsgpack.packb({"a": "b" * 100})[:50]),
    "nothing known": ("yaml", b"{}"),
}


@pytest.mark.fault(41, "R21")
@pytest.mark.parametrize("stored", FOREIGN.values(), ids=FOREIGN)
def test_whatever_is_not_ours_is_an_error_and_no_plain_value(stored: tuple[str, bytes]) -> None:
    with pytest.raises(StateUnreadable):
        StrictSerializer().loads_typed(stored)


def test_a_record_that_was_renamed_is_read_under_its_earlier_name() -> None:
    fields = {"claims": ("It was lit in 1844.", "It was lit in 1846."), "sources": ("a", "b")}
    stored = packed(jsonplus.EXT_PYDANTIC_V2, "deep_research.core.records.research", "Contradiction", fields)
    assert StrictSerializer().loads_typed(stored) == {"run": ConflictingClaims(**fields)}


@pytest.mark.fault(40)
def test_a_changed_bit_is_noticed_wherever_it_is() -> None:
    serializer = StrictSerializer(has_checksums=True)
    value = {"plan": Plan(text="1. a", steps=("a",)), "id": uuid.uuid4(), "said": [HumanMessage("light")]}
    kind, data = serializer.dumps_typed(value)
    assert serializer.loads_typed((kind, data)) == value
    for place in range(len(data)):
        with pytest.raises(StateUnreadable, match="changed"):
            serializer.loads_typed((kind, data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]))


@pytest.mark.fault(44)
def test_what_a_newer_version_has_written_is_refused_by_its_name() -> None:
    for version in ("9.9.9", "0.2.0"):
        stored = StrictSerializer().dumps_typed(Run(**{**RUN, "version": version}))
        with pytest.raises(NewerVersion, match=version):
            StrictSerializer().loads_typed(stored)
    mended = StrictSerializer().dumps_typed(Run(**{**RUN, "version": "0.1.7"}))
    assert StrictSerializer().loads_typed(mended).version == "0.1.7"


@pytest.mark.fault(44)
@pytest.mark.parametrize(("layout", "words"), [(LAYOUT + 1, "newer version.*update"), (LAYOUT - 1, "older version")])
async def test_a_database_of_another_layout_is_refused_and_left_as_it_is(
    tmp_path: Path, layout: int, words: str
) -> None:
    path = tmp_path / FILE_NAME
    async with open_database(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (LAYOUT,)
        connection.execute(f"PRAGMA user_version = {layout}")
    with pytest.raises(DatabaseUnusable, match=words):
        async with open_database(path):
            pass
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (layout,)


@pytest.mark.fault("R21")
async def test_any_saver_keeps_our_records_without_warnings(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    saver = InMemorySaver()
    run = lab(tmp_path, graph=build_graph(checkpointer=saver))
    with caplog.at_level(logging.WARNING):
        state = await run.ask()
    assert type(state.plan) is Plan
    assert not [record for record in caplog.records if "langgraph.checkpoint" in record.name]
    assert not isinstance(saver.serde, StrictSerializer), "other graphs keep their types"


def damage(path: Path, table: str, column: str, condition: str) -> None:
    """Change a byte in the middle of the last value that meets the condition."""
    with closing(sqlite3.connect(path)) as connection:
        row, value = connection.execute(
            f"SELECT rowid, {column} FROM {table} WHERE {condition} ORDER BY rowid DESC LIMIT 1"
        ).fetchone()
        middle = len(value) // 2
        changed = value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :]
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, row))
        connection.commit()


@pytest.mark.fault(40, logs="WARNING app.embed")
@pytest.mark.parametrize(
    "place", [("checkpoints", "checkpoint", "checkpoint_ns != ''"), ("writes", "value", "channel = 'notes'")]
)
async def test_a_researcher_that_cannot_be_read_stops_the_run_and_makes_no_gap(
    tmp_path: Path, place: tuple[str, str, str]
) -> None:
    path = tmp_path / FILE_NAME
    script = [search("Skerry Light"), RateLimited("Wait."), search("keeper"), REPORT, "It was lit in 1844. [1]"]
    run = lab(tmp_path, graph=build_graph(checkpointer=path), researcher=script)
    with pytest.raises(RateLimited):
        await run.ask()
    damage(path, *place)
    again = Lab(run.folder, run.models, run.settings, build_graph(checkpointer=path))
    with pytest.raises(StateUnreadable, match=rf"{thread_id('lab')}.*changed.*--from-last-good"):
        await again.ask(None)
    async with open_database(path) as database:
        assert await database.saver.adrop_unreadable(thread_id("lab")) > 0
    state = await again.ask(None)
    assert state.report and state.report.text == "The Skerry Light was lit in 1844. [1]"
    assert state.run and state.run.status == "completed"


@pytest.mark.fault(40)
async def test_a_checkpoint_that_is_missing_empties_nothing_in_silence(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    decisions = [research("When was it lit?"), RateLimited("Wait."), REPORT]
    run = lab(tmp_path, graph=build_graph(checkpointer=path), orchestrator=decisions)
    with pytest.raises(RateLimited):
        await run.ask()
    with closing(sqlite3.connect(path)) as connection:
        rows = [row for (row,) in connection.execute("SELECT rowid FROM checkpoints WHERE checkpoint_ns = ''")]
        connection.execute("DELETE FROM checkpoints WHERE rowid = ?", (rows[-2],))
        connection.commit()
    again = Lab(run.folder, run.models, run.settings, build_graph(checkpointer=path))
    with pytest.raises(StateUnreadable, match="missing"):
        await again.state()
    async with open_database(path) as database:
        assert await database.saver.adrop_unreadable(thread_id("lab")) == 1
    state = await again.ask(None)
    assert state.report and [finding.ended for finding in state.findings.values()] == ["done"]


@pytest.mark.slow
@pytest.mark.fault(40)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_command_names_the_run_that_it_cannot_read_and_goes_back_to_the_last_good_state(
    tmp_path: Path, strategy: str
) -> None:
    desk: Desk = desk_in(tmp_path)
    given = ("--docs", str(desk.docs), "--model", "extractive", "--strategy", strategy)
    assert desk.call("ask", QUESTION, *given, "--thread", "light", "--review-plan").code == 3
    assert desk.call("ask", QUESTION, *given, "--thread", "other", "--yes").code == 0
    damage(desk.data / FILE_NAME, "checkpoints", "checkpoint", f"thread_id = '{thread_id('light')}'")
    for command in (("resume", "light", "--answer", "yes"), ("show", "light"), ("ask", "Why?", "--thread", "light")):
        ended = desk.call(*command)
        assert (ended.code, ended.out) == (1, ""), ended
        assert f"deep-research resume {thread_id('light')} --from-last-good" in ended.err
        assert "Traceback" not in ended.err and "go on: " not in ended.err
    listed = desk.call("runs").out.splitlines()
    assert ["cannot be read" in line for line in listed] == [False, True]
    resumed = desk.call("resume", "light", "--from-last-good")
    assert resumed.code == 3, resumed
    ended = desk.call("resume", "light", "--answer", "yes")
    assert (ended.code, "1844" in ended.out) == (0, True), ended


@pytest.mark.fault(44)
def test_the_command_refuses_a_run_of_a_newer_version(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    given = ("--docs", str(desk.docs), "--model", "extractive", "--thread", "light", "--review-plan")
    assert desk.call("ask", QUESTION, *given).code == 3
    with closing(sqlite3.connect(desk.data / FILE_NAME)) as connection:
        serializer = StrictSerializer(has_checksums=True)
        rows = connection.execute("SELECT rowid, type, checkpoint FROM checkpoints WHERE checkpoint_ns = ''").fetchall()
        for row, kind, data in rows:
            checkpoint = serializer.loads_typed((kind, data))
            if run := checkpoint["channel_values"].get("run"):
                checkpoint["channel_values"]["run"] = run.model_copy(update={"version": "9.9.9"})
            stored = (*serializer.dumps_typed(checkpoint), row)
            connection.execute("UPDATE checkpoints SET type = ?, checkpoint = ? WHERE rowid = ?", stored)
        connection.commit()
    for more in (("--answer", "yes"), ("--from-last-good",)):
        ended = desk.call("resume", "light", *more)
        assert (ended.code, ended.out) == (1, "")
        assert f"The run {thread_id('light')} was written by version 9.9.9" in ended.err and "update" in ended.err
        assert "Traceback" not in ended.err
