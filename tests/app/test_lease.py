"""One writer per thread: one process runs it, others are refused, and nothing is paid twice or
lost."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kit.commands import Ended, WireDesk, in_rounds, wire_desk
from kit.openai_server import Received, Reply, use
from kit.runs import PLAN, gate, lab
from kit.server import GRAPH, SECONDS, Server, said
from kit.wire import FACTS, QUESTION, plain_run, researched, written
from langgraph.types import Command
from langgraph_sdk.errors import ConflictError

from deep_research.app.embed import build_graph, thread_config
from deep_research.core.errors import ThreadBusy
from deep_research.core.store._holder import EXPIRY_SECONDS
from deep_research.core.store.database import open_database
from deep_research.core.store.location import RunsLocation

FOLLOW_UP = "How often does the ferry of Port Anlow sail?"


class FirstHeld:
    """A scripted model that holds back its first answer until `let` is set."""

    def __init__(self, answer: Callable[[Received], Reply]) -> None:
        self.asked, self.let = threading.Event(), threading.Event()
        self._answer = answer

    def __call__(self, request: Received) -> Reply:
        if not self.asked.is_set():
            self.asked.set()
            self.let.wait(SECONDS)
        return self._answer(request)

    def hold(self) -> None:
        """Hold back the next answer as well."""
        self.asked.clear()
        self.let.clear()


@pytest.fixture
def writer() -> Iterator[FirstHeld]:
    writer = FirstHeld(written)
    yield writer
    writer.let.set()


def edited(request: Received) -> Reply:
    """A writer that adds the user's words at the end."""
    words = re.findall(r"wants to be different:\n(.*)", request.prompt)[0]
    last = max(map(int, re.findall(r'"block": (\d+), "kind"', request.prompt)))
    edits = [{"kind": "insert_after", "block": last, "text": words}]
    return use(("edit_report", {"edits": edits, "done": words}))


@pytest.fixture
def editor() -> Iterator[FirstHeld]:
    editor = FirstHeld(edited)
    yield editor
    editor.let.set()


@pytest.fixture
def wire(tmp_path: Path, writer: FirstHeld, editor: FirstHeld) -> Iterator[WireDesk]:
    def edit_or_try(request: Received) -> Reply:
        if "You change a research report" in request.system:
            return editor(request)
        return use(("save_word", {"word": "amber"}))

    with wire_desk(tmp_path, writer=writer, trial=edit_or_try) as wire:
        yield wire


def is_right(report: str) -> bool:
    return all(fact in report for fact in FACTS.values())


def leases(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "runs.sqlite")) as connection:
        count: int = connection.execute("SELECT count(*) FROM leases").fetchone()[0]
        return count


def names_process(pid: int, ended: Ended) -> bool:
    """Whether exit code and error line name this process as the owner of the run."""
    line = ended.err.splitlines()[-1]
    return (ended.code, ended.out) == (4, "") and line.startswith(
        f"Error: This run is in progress in another process ({pid}) since 20"
    )


@pytest.mark.slow
@pytest.mark.fault(43, "R28")
def test_if_three_processes_resume_a_killed_run_at_once_only_one_runs_it(tmp_path: Path) -> None:
    chance, calls = random.Random(0), 0
    killed_at, started = chance.randrange(4, 14), list[subprocess.Popen[str]]()

    def at_leisure(script: Callable[[Received], Reply]) -> Callable[[Received], Reply]:
        def answer(request: Received) -> Reply:
            nonlocal calls
            calls += 1
            if calls == killed_at:
                os.killpg(started[0].pid, signal.SIGKILL)
            time.sleep(chance.random() / 10)
            return script(request)

        return answer

    roles: dict[str, Any] = {**plain_run(), "orchestrator": in_rounds, "researcher": researched}
    with wire_desk(
        tmp_path, **{role: at_leisure(script) for role, script in roles.items()}
    ) as wire:
        with wire.desk.started("ask", QUESTION, "--thread", "light") as first:
            started.append(first)
            assert first.wait(SECONDS) == -signal.SIGKILL
        before = wire.paid()
        for _ in range(3):
            started.append(wire.desk.start("resume", "light"))
        ended = [
            (process.communicate(timeout=SECONDS), process.returncode) for process in started[1:]
        ]
        assert {code for _, code in ended} <= {0, 4}
        reports = [out for (out, _), code in ended if code == 0]
        assert reports and all(map(is_right, reports))
        assert set((wire.paid() - before).values()) == {1}
        assert leases(wire.desk.data) == 0


@pytest.mark.slow
@pytest.mark.fault(43)
def test_a_suspended_process_that_lost_its_lease_writes_nothing_when_it_wakes(
    wire: WireDesk, writer: FirstHeld
) -> None:
    with wire.desk.started("ask", QUESTION, "--thread", "light") as process:
        assert writer.asked.wait(SECONDS)
        process.send_signal(signal.SIGSTOP)
        assert names_process(process.pid, wire.desk.call("resume", "light"))
        with closing(sqlite3.connect(wire.desk.data / "runs.sqlite")) as connection, connection:
            connection.execute("UPDATE leases SET renewed = renewed - ?", (EXPIRY_SECONDS,))
        resumed = wire.desk.call("resume", "light")
        assert (resumed.code, is_right(resumed.out)) == (0, True)
        kept = wire.desk.call("show", "light", "--format", "json").out
        writer.let.set()
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (4, "")
    assert err.splitlines()[-1].startswith("Error: Another process has taken")
    assert wire.desk.call("show", "light", "--format", "json").out == kept


@pytest.mark.parametrize(
    ("change", "is_busy"),
    [
        ("birth = birth || '0'", False),
        ("machine = 'a container', pid = 1", True),
        ("machine = 'a container', renewed = renewed - 60", False),
        ("machine = 'this one before it was started again', renewed = renewed + 1000", False),
    ],
)
async def test_a_lease_ends_with_its_process_or_its_renewal(
    tmp_path: Path, change: str, *, is_busy: bool
) -> None:
    async with (
        open_database(RunsLocation(tmp_path / "runs.sqlite")) as first,
        open_database(RunsLocation(tmp_path / "runs.sqlite")) as other,
    ):
        async with first.saver.leases.hold("light") as lease:
            await first.saver.change((f"UPDATE leases SET {change}, owner = 'somebody'", [()]))
            assert bool(await other.saver.leases.other_holder("light")) == is_busy
            if is_busy:
                with pytest.raises(ThreadBusy, match="wait until it ends, or stop it there"):
                    async with other.saver.leases.hold("light"):
                        pass
            else:
                async with other.saver.leases.hold("light"):
                    assert await first.saver.leases.other_holder("light")
        assert not lease.is_lost, "it has not noticed yet"


async def test_within_a_process_one_run_at_a_time_writes_to_a_thread_and_frees_it_at_a_pause(
    tmp_path: Path,
) -> None:
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    began, _, wait = gate()
    run = lab(tmp_path, graph=graph, planner=[wait, PLAN], review_plan=True)
    config: Any = thread_config(run.thread)
    task = asyncio.create_task(run.ask())
    while not began.is_set():
        await asyncio.sleep(0)
    words = {"messages": ["words of somebody else"]}
    others = graph.ainvoke(words, config, context=run.context), graph.aupdate_state(config, words)
    for error in await asyncio.gather(*others, return_exceptions=True):
        assert isinstance(error, ThreadBusy) and "in progress in this process" in str(error)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await run.ask(None)
    assert await run.next() == ("review_plan",)
    assert "words of somebody else" not in [
        message.text for message in (await run.state()).messages
    ]
    assert leases(tmp_path) == 0
    async for _ in graph.astream(Command(resume="yes"), config, context=run.context):
        break
    # A stream that was just left holds no lease.
    await graph.aupdate_state(config, words, as_node="plan")


@pytest.fixture
def server(wire: WireDesk) -> Iterator[Server]:
    """A server on the data folder of the command line."""
    with Server(wire.desk.folder, DEEP_RESEARCH_DOCS="") as server:
        yield server


@pytest.mark.slow
@pytest.mark.fault(43, 47, "R28")
def test_command_and_server_name_the_process_of_a_busy_run(
    wire: WireDesk, writer: FirstHeld, server: Server
) -> None:
    thread = str(uuid.uuid4())

    async def run_on_server() -> dict[str, Any]:
        async with server.client() as client:
            await client.threads.create(thread_id=thread, if_exists="do_nothing")
            values: Any = await client.runs.wait(
                thread, GRAPH, input=said(FOLLOW_UP), raise_error=False
            )
            return dict(values)

    with wire.desk.started("ask", QUESTION, "--thread", thread) as process:
        assert writer.asked.wait(SECONDS)
        paid, report = wire.paid(), wire.desk.folder / "report.md"
        assert names_process(process.pid, wire.desk.call("resume", thread))
        assert names_process(
            process.pid, wire.desk.call("ask", FOLLOW_UP, "--thread", thread, "--out", str(report))
        )
        packets = wire.desk.call("ask", FOLLOW_UP, "--thread", thread, "--json")
        assert (packets.code, json.loads(packets.out)["type"]) == (4, "stop")
        assert "  running in another process " in wire.desk.call("runs").out
        shown = wire.desk.call("show", thread).out
        assert f"\nStatus    running: in another process ({process.pid}) since " in shown
        assert "Resume  " not in shown and not report.exists()
        refused = asyncio.run(run_on_server())["__error__"]
        assert refused["error"] == "ThreadBusy"
        assert refused["message"].startswith(
            f"This run is in progress in another process ({process.pid}) since "
        )
        assert wire.paid() == paid
        writer.let.set()
        out, _ = process.communicate(timeout=SECONDS)
    assert (process.returncode, is_right(out)) == (0, True)
    assert set(wire.paid().values()) == {1}

    wire.forget()
    writer.hold()
    answered: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: answered.append(asyncio.run(run_on_server())))
    asking.start()
    assert writer.asked.wait(SECONDS)
    ended = wire.desk.call("resume", thread)
    assert (ended.code, "in progress in another process" in ended.err) == (4, True)
    writer.let.set()
    asking.join(SECONDS)
    assert set(wire.paid().values()) == {1}
    assert (
        json.loads(wire.desk.call("show", thread, "--format", "json").out)["question"] == FOLLOW_UP
    )
    assert (
        wire.desk.call("resume", thread).out.strip()
        == answered[0]["messages"][-1]["content"].strip()
    )


@pytest.mark.slow
def test_of_two_edits_at_once_the_second_is_refused_or_waits(
    wire: WireDesk, writer: FirstHeld, editor: FirstHeld, server: Server
) -> None:
    thread = str(uuid.uuid4())
    writer.let.set()
    assert wire.desk.call("ask", QUESTION, "--thread", thread).code == 0
    with wire.desk.started("edit", thread, "It is white.") as process:
        assert editor.asked.wait(SECONDS)
        paid = wire.paid()
        assert names_process(process.pid, wire.desk.call("edit", thread, "It is red."))
        assert names_process(process.pid, wire.desk.call("exclude", thread, "1"))
        assert wire.paid() == paid
        editor.let.set()
        out, _ = process.communicate(timeout=SECONDS)
    assert (process.returncode, "It is white." in out) == (0, True)
    editor.hold()

    async def edit_twice() -> None:
        async with server.client() as client:
            await client.threads.create(thread_id=thread, if_exists="do_nothing")
            runs = list[Any]()
            for words in ("It is high.", "It is old."):
                edit = {**said(words), "edit": True}
                runs.append(await client.runs.create(thread, GRAPH, input=edit))
                await asyncio.to_thread(editor.asked.wait, SECONDS)
            assert (await client.runs.get(thread, runs[1]["run_id"]))["status"] == "pending"
            refused = client.runs.create(thread, GRAPH, input=edit, multitask_strategy="reject")
            with pytest.raises(ConflictError):
                await refused
            editor.let.set()
            await client.runs.join(thread, runs[1]["run_id"])

    asyncio.run(edit_twice())
    # The second edit starts from the version of the first.
    report = wire.desk.call("show", thread).out
    assert "It is white." in report and "It is high.\n\nIt is old." in report
    assert "version 4" in report
