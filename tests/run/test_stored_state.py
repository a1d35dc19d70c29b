"""A run whose stored data is damaged, foreign or too new stops with an error that names it and offers a remedy."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from kit.commands import Desk
from kit.planned import PlannedLab
from kit.runs import QUESTION, REPORT, lab, research, search
from kit.stored_runs import GOLDEN, golden_lab, queried
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde import jsonplus

from deep_research.app.embed import build_graph, thread_id
from deep_research.app.words import STRATEGIES
from deep_research.core.records.research import ConflictingClaims, Plan, Run, Strategy
from deep_research.core.run.errors import DatabaseUnusable, NewerVersion, RateLimited, StateUnreadable
from deep_research.core.run.store.database import FILE_NAME, LAYOUT, open_database
from deep_research.core.run.store.serializer import StrictSerializer

RUN: dict[str, Any] = {"id": "q", "question": "q", "date": "", "language": "", "is_resumable": True, "version": "0.1.0"}


def packed(code: int, *content: Any) -> tuple[str, bytes]:
    return "msgpack", ormsgpack.packb({"run": ormsgpack.Ext(code, ormsgpack.packb(content))})


FOREIGN = {
    "another type": packed(jsonplus.EXT_CONSTRUCTOR_KW_ARGS, "collections", "Counter", {"a": 1}),
    "no type of ours, but in our package": packed(jsonplus.EXT_PYDANTIC_V2, "deep_research.state", "Runs", RUN),
    "a safe type with an invalid value": packed(jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG, "uuid", "UUID", "no uuid"),
    "another method of a safe type": packed(jsonplus.EXT_METHOD_SINGLE_ARG, "datetime", "datetime", "x", "strptime"),
    "a record with one field more": packed(
        jsonplus.EXT_PYDANTIC_V2, "deep_research.state", "Run", {**RUN, "colour": "red"}
    ),
    "a record with one field less": packed(
        jsonplus.EXT_PYDANTIC_V2, "deep_research.state", "Run", {key: RUN[key] for key in RUN if key != "date"}
    ),
    "a model of pydantic 1": packed(jsonplus.EXT_PYDANTIC_V1, "deep_research.state", "Run", RUN),
    "an array of numpy": packed(jsonplus.EXT_NUMPY_ARRAY, "<i4", (1,), "C", b"\0\0\0\0"),
    "an unknown msgpack extension": packed(99, "a", "b", "c"),
    "half a value": ("msgpack", ormsgpack.packb({"a": "b" * 100})[:50]),
    "an unknown format": ("yaml", b"{}"),
}


@pytest.mark.fault(41, "R21")
@pytest.mark.parametrize("stored", FOREIGN.values(), ids=FOREIGN)
def test_foreign_values_are_errors_and_not_plain_values(stored: tuple[str, bytes]) -> None:
    with pytest.raises(StateUnreadable):
        StrictSerializer().loads_typed(stored)


def test_a_renamed_record_is_read_under_its_earlier_name() -> None:
    fields = {"claims": ("It was lit in 1844.", "It was lit in 1846."), "sources": ("a", "b")}
    stored = packed(jsonplus.EXT_PYDANTIC_V2, "deep_research.core.records.research", "Contradiction", fields)
    assert StrictSerializer().loads_typed(stored) == {"run": ConflictingClaims(**fields)}


@pytest.mark.fault(40)
def test_a_changed_bit_is_always_detected() -> None:
    serializer = StrictSerializer(has_checksums=True)
    value = {"plan": Plan(text="1. a", steps=("a",)), "id": uuid.uuid4(), "said": [HumanMessage("light")]}
    kind, data = serializer.dumps_typed(value)
    assert serializer.loads_typed((kind, data)) == value
    for index in range(len(data)):
        with pytest.raises(StateUnreadable, match="changed"):
            serializer.loads_typed((kind, data[:index] + bytes([data[index] ^ 4]) + data[index + 1 :]))


@pytest.mark.fault(44)
def test_data_of_a_newer_version_is_refused_and_the_version_named() -> None:
    for version in ("9.9.9", "0.2.0"):
        stored = StrictSerializer().dumps_typed(Run(**{**RUN, "version": version}))
        with pytest.raises(NewerVersion, match=version):
            StrictSerializer().loads_typed(stored)
    patched = StrictSerializer().dumps_typed(Run(**{**RUN, "version": "0.1.7"}))
    assert StrictSerializer().loads_typed(patched).version == "0.1.7"


@pytest.mark.fault(44)
@pytest.mark.parametrize(("layout", "words"), [(LAYOUT + 1, "newer version.*update"), (LAYOUT - 1, "older version")])
async def test_a_database_of_another_layout_is_refused_and_not_changed(tmp_path: Path, layout: int, words: str) -> None:
    path = tmp_path / FILE_NAME
    async with open_database(path):
        pass
    assert queried(path, "PRAGMA user_version") == [(LAYOUT,)]
    queried(path, f"PRAGMA user_version = {layout}")
    with pytest.raises(DatabaseUnusable, match=words):
        async with open_database(path):
            pass
    assert queried(path, "PRAGMA user_version") == [(layout,)]


def damage(path: Path, table: str, column: str, condition: str) -> None:
    """Change a byte in the middle of the last value that meets the condition."""
    last = f"SELECT rowid, {column} FROM {table} WHERE {condition} ORDER BY rowid DESC LIMIT 1"
    [(row, value)] = queried(path, last)
    middle = len(value) // 2
    changed = value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :]
    queried(path, f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed, row)


@pytest.mark.fault(40, logs="WARNING app.embed")
@pytest.mark.parametrize(
    "value", [("checkpoints", "checkpoint", "checkpoint_ns != ''"), ("writes", "value", "channel = 'notes'")]
)
async def test_an_unreadable_researcher_stops_the_run_instead_of_leaving_a_gap(
    tmp_path: Path, value: tuple[str, str, str]
) -> None:
    path = tmp_path / FILE_NAME
    script = [search("Skerry Light"), RateLimited("Wait."), search("keeper"), REPORT, "It was lit in 1844. [1]"]
    run = lab(tmp_path, graph=build_graph(checkpointer=path), researcher=script)
    with pytest.raises(RateLimited):
        await run.ask()
    damage(path, *value)
    run.graph = build_graph(checkpointer=path)
    with pytest.raises(StateUnreadable, match=rf"{thread_id('lab')}.*changed.*--from-last-good"):
        await run.ask(None)
    async with open_database(path) as database:
        assert await database.saver.adrop_unreadable(thread_id("lab")) > 0
    state = await run.ask(None)
    assert state.report and state.report.text == "The Skerry Light was lit in 1844. [1]"
    assert state.run and state.run.status == "completed"


@pytest.mark.fault(40)
async def test_a_missing_checkpoint_does_not_silently_empty_channels(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    decisions = [research("When was it lit?"), RateLimited("Wait."), REPORT]
    run = lab(tmp_path, graph=build_graph(checkpointer=path), orchestrator=decisions)
    with pytest.raises(RateLimited):
        await run.ask()
    [*_, before_last, _] = queried(path, "SELECT rowid FROM checkpoints WHERE checkpoint_ns = ''")
    queried(path, "DELETE FROM checkpoints WHERE rowid = ?", *before_last)
    run.graph = build_graph(checkpointer=path)
    with pytest.raises(StateUnreadable, match="missing"):
        await run.state()
    async with open_database(path) as database:
        assert await database.saver.adrop_unreadable(thread_id("lab")) == 1
    state = await run.ask(None)
    assert state.report and [finding.ended for finding in state.findings.values()] == ["done"]


@pytest.mark.slow
@pytest.mark.fault(40)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_command_names_an_unreadable_run_and_restores_its_last_good_state(desk: Desk, strategy: str) -> None:
    given = ("--docs", str(desk.docs), "--model", "extractive", "--strategy", strategy)
    assert desk.call("ask", QUESTION, *given, "--thread", "light", "--review-plan").code == 3
    assert desk.call("ask", QUESTION, *given, "--thread", "other", "--yes").code == 0
    damage(desk.data / FILE_NAME, "checkpoints", "checkpoint", f"thread_id = '{thread_id('light')}'")
    for command in (("resume", "light", "--answer", "yes"), ("show", "light"), ("ask", "Why?", "--thread", "light")):
        ended = desk.call(*command)
        assert (ended.code, ended.out) == (1, ""), ended
        assert f"deep-research resume {thread_id('light')} --from-last-good" in ended.err
        assert "Traceback" not in ended.err and "resume it: " not in ended.err
    listed = desk.call("runs").out.splitlines()
    assert ["cannot be read" in line for line in listed] == [False, True]
    resumed = desk.call("resume", "light", "--from-last-good")
    assert resumed.code == 3, resumed
    ended = desk.call("resume", "light", "--answer", "yes")
    assert (ended.code, "1844" in ended.out) == (0, True), ended


@pytest.mark.fault(44)
async def test_a_run_of_a_newer_version_is_named_and_not_treated_as_damaged(tmp_path: Path) -> None:
    thread, newer = thread_id("light"), Run(**{**RUN, "version": "9.9.9"})
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    async with open_database(tmp_path / FILE_NAME) as database:
        await database.saver.aput(config, {**empty_checkpoint(), "channel_values": {"run": newer}}, {}, {})
        for refused in (database.saver.aget_tuple(config), database.saver.adrop_unreadable(thread)):
            with pytest.raises(NewerVersion, match=f"The run {thread} was written by version 9.9.9.*: update"):
                await refused


STORED = sorted(GOLDEN.glob("layout-*.db"))


def test_there_is_a_golden_database_of_each_layout() -> None:
    assert [path.stem for path in STORED] == [f"layout-{number}" for number in range(1, LAYOUT + 1)]


@pytest.mark.fault(44)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.stem)
async def test_a_stored_run_of_an_earlier_layout_is_resumed_without_repeating_anything(
    tmp_path: Path, stored: Path, strategy: Strategy
) -> None:
    path = shutil.copyfile(stored, tmp_path / FILE_NAME)
    async with open_database(path) as database:
        assert {*await database.saver.thread_ids()} == {thread_id(name) for name in STRATEGIES}
        run = golden_lab(tmp_path / "run", strategy, database, is_stopped=False)
        before = await run.state()
        state = await run.ask(None)
    assert before.run and before.report is None
    assert state.run and state.run.id == before.run.id
    assert state.report and "lit in 1844" in state.report.text
    assert all(finding.ended == "done" for finding in state.findings.values())
    if isinstance(run, PlannedLab):
        assert [asked.task for asked in run.asked("record_learnings")] == ["Ada Moran"]
        assert not run.asked("make_plan")
    else:
        assert [len(run.calls(role)) for role in ("planner", "orchestrator", "researcher")] == [0, 1, 2]


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_run_stored_at_bad86816_is_opened_and_replayed_without_its_estimate(
    tmp_path: Path, strategy: Strategy
) -> None:
    path = shutil.copyfile(GOLDEN / "layout-1.db", tmp_path / FILE_NAME)
    async with open_database(path) as database:
        run = golden_lab(tmp_path / "run", strategy, database, is_stopped=False)
        assert (await run.state()).run.usual_cost is None
        replayed = [packet.type for packet in await run.replayed()]
    assert "deep_research_plan_delta" in replayed and "estimate_made" not in replayed
