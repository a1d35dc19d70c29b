"""Runs that an earlier version stored can be listed, read, exported, continued and resumed to a
report."""

from __future__ import annotations

import asyncio
import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kit.commands import Desk
from kit.stored_runs import CLARIFICATION, RUNS, queried, write_stored_documents
from langchain_core.runnables import RunnableConfig

from deep_research.app.exports.formats import export_formats
from deep_research.app.runs import RunBook
from deep_research.core.records.research import Strategy
from deep_research.core.store.location import FILE_NAME, thread_id
from deep_research.state import ResearchState

KNOWN_THEN: tuple[Strategy, ...] = ("orchestrated", "planned")
"""The strategies that the version knew which has stored the runs."""
STORED = Path(__file__).parents[1] / "golden" / "runs-bad86816.db.xz"
"""Runs of both strategies as commit bad86816 stored them: finished, waiting for an answer, and
killed in research."""
EXTRACTIVE = ("--model", "extractive")
SAME_CLAIMS = ("lit for the first time in 1844", "lit in 1846")
"""Two claims that contradict each other in the finished and the killed runs."""


@pytest.fixture
def stored(tmp_path: Path) -> Desk:
    """A data folder with the stored runs."""
    desk = Desk(tmp_path)
    desk.data.mkdir()
    (desk.data / FILE_NAME).write_bytes(lzma.decompress(STORED.read_bytes()))
    write_stored_documents()
    return desk


def stored_state(desk: Desk, thread: str) -> ResearchState:
    """The stored state of a run."""

    async def state() -> ResearchState:
        async with RunBook.open(desk.data) as book:
            return (await book.read(thread)).state

    return asyncio.run(state())


def earlier_states(desk: Desk, thread: str) -> list[ResearchState]:
    """The final states of a run's earlier questions."""

    async def states() -> list[ResearchState]:
        async with RunBook.open(desk.data) as book:
            return [run.state for run in await book.earlier(await book.read(thread))]

    return asyncio.run(states())


def run_as_data(desk: Desk, thread: str) -> Mapping[str, Any]:
    """What `show` prints of a run as JSON."""
    shown = desk.call("show", thread, "--format", "json")
    assert shown.code == 0, shown
    data: dict[str, Any] = json.loads(shown.out)
    return data


@pytest.mark.fault(44)
def test_stored_runs_are_listed_with_their_status(stored: Desk) -> None:
    listed = stored.call("runs").out.splitlines()
    statuses = {line.split("[")[1].split("]")[0]: line.split()[3] for line in listed}
    endings = {"finished": "completed,", "waiting": "waiting", "killed": "stopped"}
    assert statuses == {name: endings[name.partition("-")[2]] for name in RUNS}
    assert stored.call("runs").out.splitlines() == listed, "from the overviews that are kept now"


@pytest.mark.fault(44)
@pytest.mark.parametrize("name", RUNS)
async def test_every_stored_checkpoint_and_pending_write_is_readable(
    stored: Desk, name: str
) -> None:
    thread: RunnableConfig = {"configurable": {"thread_id": thread_id(name)}}
    async with RunBook.open(stored.data) as book:
        read = [checkpoint async for checkpoint in book.database.saver.alist(thread)]
    [(stored_checkpoints,)] = queried(
        stored.data / FILE_NAME,
        "SELECT count(*) FROM checkpoints WHERE thread_id = ?",
        thread_id(name),
    )
    assert len(read) == stored_checkpoints > 0


@pytest.mark.fault(44)
@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_is_shown_in_words_as_data_and_as_packets(stored: Desk, name: str) -> None:
    page = stored.call("show", name)
    assert (page.code, page.err) == (0, ""), page
    data = run_as_data(stored, name)
    assert data["name"] == name and data["question"] in page.out
    assert stored.call("show", name) == page, "from the overview that is kept now"
    packets = [json.loads(line) for line in stored.call("show", name, "--json").out.splitlines()]
    assert packets[-1]["type"] == "stop"
    # What a stored estimate said is not what earlier runs cost.
    assert all(packet["type"] != "estimate_made" for packet in packets)
    disputed = [
        packet["contradictions"] for packet in packets if packet["type"] == "contradictions_found"
    ]
    assert all((found["about"], found["resolution"]) == ("fact", "open") for [found] in disputed)
    if "waiting" in name:
        assert data["asks"] == "Which light?"
    else:
        [contradiction] = data["contradictions"]
        assert all(words in json.dumps(contradiction) for words in SAME_CLAIMS)


@pytest.mark.slow
@pytest.mark.fault(44)
@pytest.mark.parametrize("strategy", KNOWN_THEN)
def test_a_stored_report_is_exported_in_every_format(stored: Desk, strategy: Strategy) -> None:
    for export_format in export_formats():
        path = stored.folder / f"report-{export_format}"
        ended = stored.call(
            "export", f"{strategy}-finished", "--format", export_format, "--out", str(path)
        )
        assert (ended.code, "Warning" in ended.err) == (0, False), ended
        assert path.stat().st_size > 0
    page = (stored.folder / "report-html").read_text("utf-8")
    assert all(words in page for words in SAME_CLAIMS)
    exported = json.loads((stored.folder / "report-json").read_text("utf-8"))
    [shown], [audited] = exported["contradictions"], exported["audit"]["disagreements"]
    for dispute in (shown, audited):
        assert (dispute["about"], dispute["resolution"]) == ("fact", "open")
    first, second = (Path(side["source"]).name for side in shown["claims"])
    assert first == "lighthouse.md" and second in ("keeper.md", "harbour.txt")
    audit = stored.call("audit", f"{strategy}-finished")
    assert "83 metres" in audit.out, audit


@pytest.mark.sweep
@pytest.mark.fault(44)
@pytest.mark.parametrize("strategy", KNOWN_THEN)
def test_a_stored_run_that_waits_takes_its_answer_and_ends_with_a_report(
    stored: Desk, strategy: Strategy
) -> None:
    name = f"{strategy}-waiting"
    ended = stored.call("resume", name, "--answer", CLARIFICATION, *EXTRACTIVE)
    assert (ended.code, "1844" in ended.out) == (0, True), ended
    assert stored_state(stored, name).run.status == "completed"


@pytest.mark.sweep
@pytest.mark.fault(44)
@pytest.mark.parametrize("strategy", KNOWN_THEN)
def test_a_stored_run_that_was_killed_repeats_nothing_and_ends_with_a_report(
    stored: Desk, strategy: Strategy
) -> None:
    name = f"{strategy}-killed"
    before = stored_state(stored, name)
    ended = stored.call("resume", name, *EXTRACTIVE)
    assert (ended.code, "1844" in ended.out, "1932" in ended.out) == (0, True, True), ended
    after = stored_state(stored, name)
    assert before.spending.items() <= after.spending.items()
    assert before.findings.items() <= after.findings.items()
    assert before.outcomes.items() <= after.outcomes.items()
    assert before.memory.keys() <= after.memory.keys()
    assert all(observation.key == key for key, observation in after.memory.items())
    assert after.plan == before.plan and after.run.id == before.run.id
    assert after.run.status != "running"
    [contradiction] = run_as_data(stored, name)["contradictions"]
    assert all(words in json.dumps(contradiction) for words in SAME_CLAIMS)


@pytest.mark.sweep
@pytest.mark.fault(44)
@pytest.mark.parametrize("strategy", KNOWN_THEN)
def test_a_follow_up_continues_a_stored_run(stored: Desk, strategy: Strategy) -> None:
    name = f"{strategy}-finished"
    ended = stored.call("ask", "How tall is the Skerry Light?", "--thread", name, *EXTRACTIVE)
    assert (ended.code, "38 metres" in ended.out) == (0, True), ended
    [first] = earlier_states(stored, name)
    assert first.report and "83 metres" in first.report.text
    # Its report has become the first version.
    exported = stored.call("export", name, "--version", "1").out
    assert first.report.text.splitlines()[0] in exported
    assert stored.call("revert", name, "1").code == 0
    assert stored.call("export", name).out == exported
