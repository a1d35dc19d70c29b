"""Errors of others: what they quote reaches neither the disk nor the reader."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lab import REPORT, lab, search
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from deep_research.app.embed import build_graph
from deep_research.run.serializer import StrictSerializer

CANARY = "sk-CANARY-51"
QUOTING = ValueError(f"Incorrect API key provided: {CANARY}")


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


class HangingStore(InMemoryStore):
    """A store that answers nobody for some time."""

    def __init__(self) -> None:
        super().__init__()
        self.is_hanging = False
        self.is_asked = asyncio.Event()

    async def abatch(self, ops: Any) -> Any:
        if self.is_hanging:
            self.is_asked.set()
            await asyncio.Event().wait()
        return await super().abatch(ops)


async def test_a_kill_between_a_failure_and_what_is_made_of_it_keeps_the_reason(tmp_path: Path) -> None:
    store = HangingStore()

    def fail(*_: Any) -> Any:
        store.is_hanging = True
        return QUOTING

    graph = build_graph(checkpointer=InMemorySaver(serde=StrictSerializer()), store=store)
    run = lab(tmp_path, graph=graph, researcher=[search("Skerry Light"), REPORT, fail])
    task = asyncio.create_task(run.ask())
    await store.is_asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    store.is_hanging = False
    [finding] = (await run.ask(None)).findings.values()
    assert finding.reason == "an error stopped it (ValueError)"
    assert len(run.calls("researcher")) == 3
