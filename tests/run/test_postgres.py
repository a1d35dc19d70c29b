"""Runs on a real PostgreSQL: one process goes on where another paused, and only one works on a
thread."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from kit.commands import Desk
from kit.runs import PLAN, answered, lab
from kit.server import CONFIG, FILES, Conversation, Server, asked
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base import id as checkpoint_ids
from langgraph.types import Command
from langgraph_sdk.errors import NotFoundError

from deep_research.app.embed import build_graph
from deep_research.app.versions import aread_version
from deep_research.core import store
from deep_research.core.errors import NotSaved, StateUnreadable, ThreadBusy
from deep_research.core.store._holder import EXPIRY_SECONDS
from deep_research.core.store.database import open_database
from deep_research.core.store.location import RunsLocation, thread_id
from deep_research.core.store.pages import Pages
from deep_research_bench.postgres import Cluster, programs, started_cluster

PASSWORD = "p@ss-of-the-database"
QUESTION = "When was the Skerry Light lit?"
LIGHT: RunnableConfig = {"configurable": {"thread_id": "light", "checkpoint_ns": ""}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    folder = programs()
    if folder is None:
        pytest.skip(
            "PostgreSQL's programs are not installed (Debian, Ubuntu: apt install postgresql)"
        )
    with started_cluster(folder, PASSWORD) as cluster:
        yield cluster


@pytest.fixture
def address(cluster: Cluster) -> str:
    return cluster.address()


def changed(address: str, statement: str) -> int:
    """Execute a statement; returns the number of rows that it found or changed."""
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(statement.encode()).rowcount


@pytest.mark.slow
def test_a_run_that_pauses_in_one_process_is_resumed_in_another(desk: Desk, address: str) -> None:
    environment = {**desk.environment, "DEEP_RESEARCH_DATABASE": address}
    asked = [
        "ask",
        QUESTION,
        "--docs",
        "docs",
        "--model",
        "extractive",
        "--no-web",
        "--review-plan",
    ]
    paused = desk.run(*asked, "--thread", "light", env=environment)
    assert paused.code == 3, paused.err
    [line] = desk.run("runs", env=environment).out.splitlines()
    assert "waiting" in line
    resumed = desk.run("resume", line.split()[0][:8], "--answer", "yes", env=environment)
    assert (resumed.code, "in 1844. [1]" in resumed.out) == (0, True), resumed.err
    assert desk.run("export", "light", env=environment).out.strip() == resumed.out.strip()
    assert "\nStatus    completed" in desk.run("show", "light", env=environment).out
    assert not list(desk.data.glob("runs.sqlite*"))


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (
            "postgresql://research:{password}@127.0.0.1:{port}/missing",
            'database "missing" does not exist',
        ),
        (
            "postgresql://research:{password}wrong@127.0.0.1:{port}/postgres",
            "password authentication failed",
        ),
        ("postgresql://research:{password}@127.0.0.1:1/postgres", "Connection refused"),
        (
            "postgresql://research:{password}%zz@127.0.0.1/postgres",
            "The address of the database cannot be read",
        ),
    ],
)
def test_an_unusable_database_is_reported_in_a_line_without_the_password(
    desk: Desk, cluster: Cluster, template: str, words: str
) -> None:
    password = PASSWORD.replace("@", "%40")
    address = template.format(password=password, port=cluster.port)
    for command in (
        ["runs"],
        ["show", "light"],
        ["ask", QUESTION, "--docs", str(desk.docs), "--model", "extractive"],
    ):
        ended = desk.call(*command, DEEP_RESEARCH_DATABASE=address)
        assert (ended.code, ended.out) == (2, "")
        line = ended.err.splitlines()[-1]
        assert words in line and "(setting DEEP_RESEARCH_DATABASE)" in line
        assert not any(secret in ended.err for secret in (PASSWORD, password, "Traceback"))


def test_the_error_names_the_extra_if_psycopg_is_missing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a process that has imported neither of them, and cannot import psycopg.
    module = "deep_research.core.store._postgres"
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delattr(store, "_postgres", raising=False)
    ended = desk.call("runs", DEEP_RESEARCH_DATABASE="postgresql://research@127.0.0.1/runs")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(
        "Error: DEEP_RESEARCH_DATABASE names a PostgreSQL database, which needs psycopg"
    )
    assert len(ended.err.splitlines()) == 1


async def test_a_lease_refuses_a_second_worker_until_it_expires(address: str) -> None:
    async with (
        open_database(RunsLocation(address)) as first,
        open_database(RunsLocation(address)) as other,
    ):
        async with first.saver.leases.hold("light") as lease:
            assert changed(address, "UPDATE research_leases SET machine = 'another one'") == 1
            with pytest.raises(ThreadBusy, match="wait until it ends, or stop it there"):
                async with other.saver.leases.hold("light"):
                    pass
            late = f"UPDATE research_leases SET renewed = renewed - interval '{EXPIRY_SECONDS} seconds'"
            assert changed(address, late) == 1
            async with other.saver.leases.hold("light"):
                await other.saver.aput(LIGHT, empty_checkpoint(), {}, {})
                with pytest.raises(NotSaved, match="held by another run"):
                    await first.saver.aput(LIGHT, empty_checkpoint(), {}, {})
            assert lease.is_lost
        assert await other.saver.leases.other_holder("light") is None
        await other.saver.aput(LIGHT, empty_checkpoint(), {}, {})
        assert changed(address, "SELECT 1 FROM checkpoints") == 2


async def test_checkpoints_after_those_of_a_machine_with_a_fast_clock_are_the_latest(
    address: str,
) -> None:
    async with open_database(RunsLocation(address)) as database:
        hour = 60 * 60 * 10_000_000
        now = uuid.UUID(str(checkpoint_ids.uuid6()))
        ticks = ((now.int >> 80) << 12 | (now.int >> 64) & 0xFFF) + hour
        later = uuid.UUID(
            int=(ticks >> 12) << 80 | 6 << 76 | (ticks & 0xFFF) << 64 | now.int & (1 << 64) - 1
        )
        stored = await database.saver.aput(LIGHT, {**empty_checkpoint(), "id": str(later)}, {}, {})
        async with database.saver.leases.hold("light"):
            stored["configurable"]["checkpoint_ns"] = ""
            newest = await database.saver.aput(stored, empty_checkpoint(), {}, {})
        found = await database.saver.aget_tuple(LIGHT)
    assert found and found.config == newest


async def test_records_are_read_back_and_texts_and_files_follow_their_thread(
    tmp_path: Path, address: str
) -> None:
    run = lab(
        tmp_path,
        graph=build_graph(checkpointer=address),
        planner=[PLAN],
        review_plan=True,
        data_dir=tmp_path / "data",
    )
    await run.ask(asked(QUESTION, *FILES))
    state = await run.ask(Command(resume="yes"))
    thread, copy = thread_id(run.thread), str(uuid.uuid4())
    kept = tmp_path / "data" / "attachments"
    async with open_database(RunsLocation(address)) as (saver, store):
        found = await saver.aget_tuple({"configurable": {"thread_id": thread}})
        assert found and found.checkpoint["channel_values"]["report"] == state.report
        assert (
            changed(
                address,
                "SELECT 1 FROM checkpoint_blobs WHERE type !~ '^(msgpack([+]zlib)?:[0-9a-f]{8}|null|empty)$'",
            )
            == 0
        )
        odd = "no JSON of PostgreSQL: \0 \ud800"
        key = await Pages(store, thread).keep(odd)
        await saver.acopy_thread(thread, copy)
        texts = f"SELECT 1 FROM store WHERE prefix = '{thread}.pages'"
        assert changed(address, texts) == changed(address, texts.replace(thread, copy)) > 1
        assert len([*kept.iterdir()]) == 2
        await saver.adelete_thread(thread)
        assert (changed(address, texts), len([*kept.iterdir()])) == (0, 1)
        assert await saver.thread_ids() == [copy]
    async with open_database(RunsLocation(address)) as (saver, store):
        assert await Pages(store, copy).text(key) == odd
        await saver.aprune([copy])
        copied = await saver.aget_tuple({"configurable": {"thread_id": copy}})
        assert copied and copied.checkpoint["channel_values"]["report"] == state.report
    # The copy has the versions of the report too, and pruning leaves them.
    read = await aread_version(run.graph, copy, 1)
    assert (read.markdown, read.report) == (state.messages[-1].text, state.report)


async def test_a_damaged_state_is_reported_and_the_run_can_be_deleted(
    tmp_path: Path, address: str
) -> None:
    graph = build_graph(checkpointer=address)
    run, _ = await answered(tmp_path, graph=graph, planner=[PLAN], review_plan=True)
    newest = "(SELECT max(checkpoint_id) FROM checkpoints)"
    assert (
        changed(address, f"UPDATE checkpoint_writes SET blob = 'x' WHERE checkpoint_id = {newest}")
        > 0
    )
    with pytest.raises(StateUnreadable, match="deep-research delete"):
        await run.state()
    async with open_database(RunsLocation(address)) as (saver, _):
        await saver.adelete_thread(thread_id(run.thread))
        assert await saver.thread_ids() == []


@pytest.mark.slow
async def test_a_second_server_resumes_the_run_of_a_killed_one(
    tmp_path: Path, address: str
) -> None:
    tokens = {"alice": "alice-has-a-long-token", "bob": "bob-has-another-token"}
    environment = {
        "DEEP_RESEARCH_DATABASE": address,
        "DEEP_RESEARCH_SERVER_TOKENS": " ".join(
            f"{user}:{token}" for user, token in tokens.items()
        ),
    }
    first, second = (Server(tmp_path / name, CONFIG, **environment) for name in ("first", "second"))
    for server in (first, second):
        await asyncio.to_thread(server.start)
    try:
        async with first.client(tokens["alice"]) as client:
            talk = await Conversation(client).create()
            await talk.ask(QUESTION, context={"review_plan": True})
        await asyncio.to_thread(first.kill)
        async with second.client(tokens["bob"]) as client:
            with pytest.raises(NotFoundError):
                await Conversation(client, talk.thread).create()
        async with second.client(tokens["alice"]) as client:
            talk = await Conversation(client, talk.thread).create()
            values = await talk.ask(None, command={"resume": "yes"})
        assert "1844. [" in values["report"]["text"]
        assert [line for line in second.complaints() if "POST /threads 404" not in line] == []
    finally:
        for server in (first, second):
            await asyncio.to_thread(server.kill)
    assert not [*tmp_path.rglob("runs.sqlite")]
