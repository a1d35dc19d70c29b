"""Runs with disputes that version bad86816 stored are opened, shown, exported and resumed.

The database holds a finished and a stopped run of each strategy. In the planned ones, the first step noted a
contradiction and a gap, and the other stopped in its second step; in the orchestrated ones, a researcher declared a
contradiction, and the other stopped before it wrote its finding.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from kit.commands import Desk
from kit.planned import planned_lab
from kit.runs import REPORT, Lab, lab
from kit.stored_runs import GOLDEN

from deep_research.app.embed import build_graph, thread_id
from deep_research.core.evidence.memory.disputes import confirmed_disputes
from deep_research.core.records.dispute import Dispute
from deep_research.core.run.store.database import FILE_NAME, open_database
from deep_research.state import ResearchState

FINISHED = {
    "planned-finished": ("The tower is 38 metres tall.", "The tower is 41 metres tall."),
    "orchestrated-finished": ("The light was lit in 1844.", "The light was lit in 1846."),
}
"""Claims of the contradiction by the run's thread."""


@pytest.fixture
def stored(desk: Desk) -> Desk:
    """A desk with the stored runs."""
    desk.data.mkdir(exist_ok=True)
    (desk.data / FILE_NAME).write_bytes(gzip.decompress((GOLDEN / "disputes-bad86816.db.gz").read_bytes()))
    return desk


@pytest.mark.parametrize(("thread", "claims"), FINISHED.items())
def test_a_finished_run_is_shown_and_exported_with_both_claims(
    stored: Desk, thread: str, claims: tuple[str, str]
) -> None:
    run, row = thread_id(thread), f"| {claims[0]} | {claims[1]} | Skerry Light [1] / Ada Moran [2] |"
    shown = stored.call("show", run).out
    assert "1 contradiction, " in shown and row in shown
    assert row in stored.call("export", run).out
    data = json.loads(stored.call("export", run, "--format", "json").out)
    [audited] = data["audit"]["disagreements"]
    assert (tuple(audited["claims"]), audited["about"], audited["resolution"]) == (claims, "fact", "open")
    [disputed] = data["contradictions"]
    assert [(side["text"], side["origin"]) for side in disputed["claims"]] == [(claim, "own") for claim in claims]
    assert [Path(side["source"]).name for side in disputed["claims"]] == ["lighthouse.md", "keeper.md"]
    page, document = stored.folder / "run.html", stored.folder / "run.docx"
    for file in (page, document):
        assert stored.call("export", run, "--out", str(file)).code == 0
    texts = [page.read_text(encoding="utf-8"), ZipFile(document).read("word/document.xml").decode()]
    assert all(claim in text for claim in claims for text in texts)


def packets_of(stored: Desk, thread: str, kind: str) -> list[dict[str, Any]]:
    """The stored packets of a type, as `show` prints them."""
    lines = stored.call("show", thread_id(thread), "--json").out.splitlines()
    return [packet for packet in map(json.loads, lines) if packet["type"] == kind]


@pytest.mark.parametrize("thread", FINISHED)
def test_the_audit_in_the_packets_of_a_finished_run_is_read(stored: Desk, thread: str) -> None:
    [packet] = packets_of(stored, thread, "report_audited")
    [dispute] = packet["audit"]["disagreements"]
    assert (tuple(dispute["claims"]), dispute["resolution"]) == (FINISHED[thread], "open")


def test_the_contradictions_in_the_packets_of_a_finished_run_are_read(stored: Desk) -> None:
    [packet] = packets_of(stored, "planned-finished", "contradictions_found")
    [dispute] = packet["contradictions"]
    assert (dispute["claim"], dispute["other_claim"]) == FINISHED["planned-finished"]
    assert (dispute["about"], dispute["resolution"], dispute["date"]) == ("fact", "open", "")


async def resumed(run: Lab, thread: str) -> tuple[ResearchState, Dispute]:
    """The state of the finished run, and its dispute."""
    run.thread = thread
    state = await run.ask(None)
    [dispute] = confirmed_disputes(state)
    assert all(found.key == key for key, found in state.memory.items()), "what was stored keeps its keys"
    assert [Path(key).name for key in dispute.sources] == ["lighthouse.md", "keeper.md"]
    assert "\n## Contradictions\n" in state.messages[-1].text
    return state, dispute


async def test_a_stopped_planned_run_confirms_what_it_had_noted(stored: Desk, tmp_path: Path) -> None:
    async with open_database(stored.data / FILE_NAME) as database:
        graph = build_graph("planned", checkpointer=database.saver, store=database.store)
        run = planned_lab(tmp_path / "run", {"report": lambda _: "The tower is 38 metres tall. [1]"}, graph=graph)
        state, dispute = await resumed(run, "planned-stopped")
    assert dispute.claims == FINISHED["planned-finished"]
    assert run.asked("record_contradictions")[0].knowledge["candidates"] == [[1, 2]]
    assert [step.status for step in state.steps] == ["completed", "completed"]


async def test_a_stopped_researcher_hands_in_what_it_had_declared(stored: Desk, tmp_path: Path) -> None:
    async with open_database(stored.data / FILE_NAME) as database:
        graph = build_graph("orchestrated", checkpointer=database.saver, store=database.store)
        texts = ["It was lit in 1844. [1] Others say 1846. [2]"] * 2
        run = lab(tmp_path / "run", graph=graph, orchestrator=[REPORT], researcher=texts[:1], writer=texts[1:])
        state, dispute = await resumed(run, "orchestrated-stopped")
    assert dispute.claims == FINISHED["orchestrated-finished"]
    assert state.report and state.report.audit and len(state.report.audit.disagreements) == 1
