"""Runs of one user of the server leave time for those of others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.server import said
from langchain_core.runnables import RunnableConfig

from deep_research.app.server.graphs import deep_research
from deep_research.core.settings import server_settings
from deep_research.core.settings.server_settings import UserSettings
from deep_research.core.store.pages import OWNER


@pytest.fixture(autouse=True)
def _operator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An operator with documents and without a model."""
    (tmp_path / "light.md").write_text("The Skerry Light was lit in 1844.", "utf-8")
    monkeypatch.setenv("DEEP_RESEARCH_DOCS", str(tmp_path))
    monkeypatch.setenv("DEEP_RESEARCH_MODELS", "extractive")
    server_settings._operator.cache_clear()
    yield
    server_settings._operator.cache_clear()


@pytest.mark.fault("R28")
async def test_without_a_model_one_run_of_a_user_works_at_a_time_and_others_do_not_wait() -> None:
    working = set[str]()
    ended = list[str]()
    most_of_alice = 0

    async def run(user: str, number: int) -> None:
        nonlocal most_of_alice
        thread = f"{user} {number}"
        config: RunnableConfig = {"configurable": {"thread_id": thread, OWNER: user}}
        given = said("When was the Skerry Light lit?")
        async for _ in deep_research.astream(
            given, config, context=UserSettings(), stream_mode="updates"
        ):
            working.add(thread)
            of_alice = [name for name in working if name.startswith("alice")]
            most_of_alice = max(most_of_alice, len(of_alice))
        working.remove(thread)
        ended.append(thread)

    await asyncio.gather(*(run("alice", number) for number in range(5)), run("bob", 5))
    assert most_of_alice == 1
    assert ended[-1].startswith("alice")
