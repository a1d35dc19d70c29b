"""A run whose stored data is damaged, foreign or too new stops with an error that names it and
offers a remedy."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from kit.commands import Desk
from kit.runs import QUESTION, REPORT, lab, research, search
from kit.stored_runs import queried
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde import jsonplus

from deep_research.app.embed import build_graph
from deep_research.app.words import STRATEGIES
from deep_research.core.errors import DatabaseUnusable, NewerVersion, RateLimited, StateUnreadable
from deep_research.core.records.research import Plan, Run
from deep_research.core.store._serializer import StrictSerializer
from deep_research.core.store.database import open_database
from deep_research.core.store.location import FILE_NAME, LAYOUT, RunsLocation, thread_id

RUN: dict[str, Any] = {
    "id": "q",
    "question": "q",
    "date": "",
    "language": "",
    "is_resumable": True,
    "version": "0.1.0",
}


def packed(code: int, *content: Any) -> tuple[str, bytes]:
    return "msgpack", ormsgpack.packb({"run": ormsgpack.Ext(code, ormsgpack.packb(content))})


FOREIGN = {
    "another type": packed(jsonplus.EXT_CONSTRUCTOR_KW_ARGS, "collections", "Counter", {"a": 1}),
    "no type of ours, but in our package": packed(
        jsonplus.EXT_PYDANTIC_V2, "deep_research.state", "Runs", RUN
    ),
    "a safe type with an invalid value": packed(
        jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG, "uuid", "UUID", "no uuid"
    ),
    "another method of a safe type": packed(
        jsonplus.EXT_METHOD_SINGLE_ARG, "datetime", "datetime", "x", "strptime"
    ),
    "a record with one field more": packed(
        jsonplus.EXT_PYDANTIC_V2, "deep_research.state", "Run", {**RUN, "colour": "red"}
    ),
    "a record with one field less": packed(
        jsonplus.EXT_PYDANTIC_V2,
        "deep_research.state",
        "Run",
        {key: RUN[key] for key in RUN if key != "date"},
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


def upgrade_plan(stored: dict[str, Any]) -> tuple[type, dict[str, Any]]:
    """Convert an outline, which had a headline and points, to a plan."""
    return Plan, {"text": stored["headline"], "steps": stored["points"]}


@pytest.mark.fault(44)
def test_a_record_of_an_earlier_version_is_converted_by_its_class_name() -> None:
    serializer = StrictSerializer(upgrades={"Outline": upgrade_plan})
    outline = {"headline": "1. The light", "points": ("The light",)}
    stored = packed(
        jsonplus.EXT_PYDANTIC_V2, "deep_research.core.records.research", "Outline", outline
    )
    assert serializer.loads_typed(stored) == {
        "run": Plan(text="1. The light", steps=("The light",))
    }
    foreign = packed(jsonplus.EXT_PYDANTIC_V2, "other_package.records", "Outline", outline)
    with pytest.raises(StateUnreadable, match="foreign"):
        serializer.loads_typed(foreign)


@pytest.mark.fault(40)
@pytest.mark.parametrize("text", ["1. a", "1. all that is said of the light" * 50])
def test_a_changed_bit_is_always_detected(text: str) -> None:
    serializer = StrictSerializer(has_checksums=True)
    value = {
        "plan": Plan(text=text, steps=("a",)),
        "id": uuid.uuid4(),
        "said": [HumanMessage("light")],
    }
    kind, data = serializer.dumps_typed(value)
    assert serializer.loads_typed((kind, data)) == value
    for index in range(len(data)):
        with pytest.raises(StateUnreadable, match="changed"):
            serializer.loads_typed(
                (kind, data[:index] + bytes([data[index] ^ 4]) + data[index + 1 :])
            )


@pytest.mark.fault(44)
def test_data_of_a_newer_version_is_refused_and_the_version_named() -> None:
    for version in ("9.9.9", "0.2.0"):
        stored = StrictSerializer().dumps_typed(Run(**{**RUN, "version": version}))
        with pytest.raises(NewerVersion, match=version):
            StrictSerializer().loads_typed(stored)
    patched = StrictSerializer().dumps_typed(Run(**{**RUN, "version": "0.1.7"}))
    assert StrictSerializer().loads_typed(patched).version == "0.1.7"


@pytest.mark.fault(44)
@pytest.mark.parametrize(
    ("layout", "words"), [(LAYOUT + 1, "newer version.*update"), (LAYOUT - 1, "older version")]
)
async def test_a_database_of_another_layout_is_refused_and_not_changed(
    tmp_path: Path, layout: int, words: str
) -> None:
    path = tmp_path / FILE_NAME
    async with open_database(RunsLocation(path)):
        pass
    assert queried(path, "PRAGMA user_version") == [(LAYOUT,)]
    queried(path, f"PRAGMA user_version = {layout}")
    with pytest.raises(DatabaseUnusable, match=words):
        async with open_database(RunsLocation(path)):
            pass
    assert queried(path, "PRAGMA user_version") == [(layout,)]


def damage(path: Path, table: str, column: str, condition: str) -> None:
    """Change a byte in the middle of the last value that meets the condition."""
    last = f"SELECT rowid, {column} FROM {table} WHERE {condition} ORDER BY rowid DESC LIMIT 1"
    [(row, value)] = queried(path, last)
    middle = len(value) // 2
    changed = value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :]
    queried(path, f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed, row)


@pytest.mark.sweep
@pytest.mark.fault(40, logs="WARNING app.embed")
@pytest.mark.parametrize(
    "value",
    [
        ("checkpoints", "checkpoint", "checkpoint_ns != ''"),
        ("writes", "value", "channel = 'notes'"),
    ],
)
async def test_an_unreadable_researcher_stops_the_run_instead_of_leaving_a_gap(
    tmp_path: Path, value: tuple[str, str, str]
) -> None:
    path = tmp_path / FILE_NAME
    script = [
        search("Skerry Light"),
        RateLimited("Wait."),
        search("keeper"),
        REPORT,
        "It was lit in 1844. [1]",
    ]
    run = lab(tmp_path, graph=build_graph(checkpointer=path), researcher=script)
    with pytest.raises(RateLimited):
        await run.ask()
    damage(path, *value)
    run.graph = build_graph(checkpointer=path)
    with pytest.raises(StateUnreadable, match=rf"changed.*deep-research delete {thread_id('lab')}"):
        await run.ask(None)


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


@pytest.mark.slow
@pytest.mark.fault(40)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_command_names_an_unreadable_run_and_deletes_it(desk: Desk, strategy: str) -> None:
    given = ("--docs", str(desk.docs), "--model", "extractive", "--strategy", strategy)
    assert desk.call("ask", QUESTION, *given, "--thread", "light", "--review-plan").code == 3
    assert desk.call("ask", QUESTION, *given, "--thread", "other", "--yes").code == 0
    damage(
        desk.data / FILE_NAME, "checkpoints", "checkpoint", f"thread_id = '{thread_id('light')}'"
    )
    for command in (
        ("resume", "light", "--answer", "yes"),
        ("show", "light"),
        ("ask", "Why?", "--thread", "light"),
    ):
        ended = desk.call(*command)
        assert (ended.code, ended.out) == (1, ""), ended
        assert f"or delete the run: deep-research delete {thread_id('light')}" in ended.err
        assert "Traceback" not in ended.err and "resume it: " not in ended.err
    listed = desk.call("runs").out.splitlines()
    assert ["cannot be read" in line for line in listed] == [False, True]
    assert "needs confirmation" in desk.call("delete", "light").err
    assert desk.call("delete", "light", "--yes") == (0, "", "Deleted light.\n")
    assert desk.call("show", "light").code == 2
    assert [desk.call("runs").out.splitlines(), desk.call("show", "other").code] == [listed[:1], 0]


@pytest.mark.fault(44)
async def test_a_run_of_a_newer_version_is_named_and_not_treated_as_damaged(tmp_path: Path) -> None:
    thread, newer = thread_id("light"), Run(**{**RUN, "version": "9.9.9"})
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    async with open_database(RunsLocation(tmp_path / FILE_NAME)) as database:
        await database.saver.aput(
            config, {**empty_checkpoint(), "channel_values": {"run": newer}}, {}, {}
        )
        with pytest.raises(
            NewerVersion, match=f"The run {thread} was written by version 9.9.9.*: update"
        ):
            await database.saver.aget_tuple(config)


@pytest.mark.parametrize(
    ("finding_id", "step"),
    [
        pytest.param("9b1deb4d-2.1", "2.1", id="a follow-up step's"),
        pytest.param("9b1deb4d-look-up", "look-up", id="a quick answer's"),
        pytest.param("call_1", "", id="a researcher's"),
    ],
)
def test_a_stored_finding_without_a_step_gets_the_one_in_its_id(finding_id: str, step: str) -> None:
    question_id = "9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d"
    fields = {"id": finding_id, "question_id": question_id, "cycle": 0, "position": 0, "task": "t"}
    stored = packed(
        jsonplus.EXT_PYDANTIC_V2,
        "deep_research.core.records.research",
        "Finding",
        {**fields, "text": "It is lit.", "ended": "done"},
    )
    assert StrictSerializer().loads_typed(stored)["run"].step == step
