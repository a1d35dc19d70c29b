"""Errors of others: what they quote reaches neither the disk nor the reader."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from failing_store import FailingStore
from lab import REPORT, lab, search
from langgraph.checkpoint.memory import InMemorySaver

from deep_research.app.embed import build_graph
from deep_research.core.run.store.serializer import StrictSerializer

CANARY = "sk-CANARY-51"
QUOTING = ValueError(f"Incorrect API key provided: {CANARY}")


@pytest.mark.fault("R19", logs="WARNING core.run.concurrency")
async def test_what_a_foreign_error_quotes_reaches_no_file(tmp_path: Path) -> None:
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    researcher = [search("Skerry Light"), QUOTING, QUOTING]
    run = lab(tmp_path, graph=graph, researcher=researcher, writer=[QUOTING, "Lit. [1]"])
    with pytest.raises(ValueError, match=CANARY):
        await run.ask()
    state = await run.ask(None)
    [finding] = state.findings.values()
    assert finding.reason == "an error stopped it (ValueError)"
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("runs.sqlite*"))
    assert b"an error stopped it (ValueError)" in kept
    assert CANARY.encode() not in kept


@pytest.mark.fault(36)
async def test_a_kill_between_a_failure_and_what_is_made_of_it_keeps_the_reason(tmp_path: Path) -> None:
    """The node and what it falls back on fail; what LangGraph has noted of it is all that is left after the kill."""
    store = FailingStore()
    graph = build_graph(checkpointer=InMemorySaver(serde=StrictSerializer()), store=store)
    run = lab(tmp_path, graph=graph, researcher=[search("Skerry Light"), store.losing(REPORT, 2, hangs=True)])
    task = asyncio.create_task(run.ask())
    await store.is_hanging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    store.mend()
    [finding] = (await run.ask(None)).findings.values()
    assert finding.reason == "an error stopped it (OSError)"
    assert finding.ended == "partial"
    assert len(run.calls("researcher")) == 2
