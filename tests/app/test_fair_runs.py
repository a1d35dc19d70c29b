"""Runs and requests of one user of the server leave time for those of others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.server import ALICE, BOB, said
from langchain_core.runnables import RunnableConfig
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from deep_research.app.server import users
from deep_research.app.server._pace import Pace
from deep_research.app.server.graphs import deep_research
from deep_research.app.server.guard import Guard
from deep_research.core.settings import server_settings
from deep_research.core.settings.server_settings import UserSettings
from deep_research.core.store.pages import OWNER


@pytest.fixture(autouse=True)
def _operator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An operator with documents and without a model."""
    (tmp_path / "light.md").write_text("The Skerry Light was lit in 1844.", "utf-8")
    monkeypatch.setenv("DEEP_RESEARCH_DOCS", str(tmp_path))
    monkeypatch.setenv("DEEP_RESEARCH_MODELS", "extractive")
    read_once = (server_settings._operator, users.server_settings, users.users, users.is_open)
    for read in read_once:
        read.cache_clear()
    yield
    for read in read_once:
        read.cache_clear()


@pytest.mark.fault("R28")
async def test_without_a_model_one_run_of_a_user_works_at_a_time_and_others_do_not_wait() -> None:
    working = set[str]()
    ended = list[str]()
    most_of_alice = 0

    async def run(user: str, number: int) -> None:
        nonlocal most_of_alice
        thread = f"{user} {number}"
        config: RunnableConfig = {"configurable": {"thread_id": thread, OWNER: user}}
        question = said("When was the Skerry Light lit?")
        async for _ in deep_research.astream(
            question, config, context=UserSettings(), stream_mode="updates"
        ):
            working.add(thread)
            of_alice = [name for name in working if name.startswith("alice")]
            most_of_alice = max(most_of_alice, len(of_alice))
        working.remove(thread)
        ended.append(thread)

    await asyncio.gather(*(run("alice", number) for number in range(5)), run("bob", 5))
    assert most_of_alice == 1
    assert ended[-1].startswith("alice")


@given(
    times=st.lists(st.floats(min_value=0, max_value=10), min_size=1, max_size=60),
    start=st.floats(min_value=0, max_value=1e6),
)
def test_after_ten_requests_at_once_a_user_has_twenty_a_second(
    times: list[float], start: float
) -> None:
    pace = Pace()
    served = list[float]()
    for time in sorted(times):
        now = start + time
        delay = pace.delay("alice", now)
        assert delay is not None
        served.append(now + delay)
        assert pace.delay(f"another at {time}", now) == 0
    assert served == sorted(served)
    for number, first in enumerate(served):
        within_a_second = [time for time in served[number:] if time < first + 0.999]
        assert len(within_a_second) <= 10 + 20


def test_requests_that_keep_the_pace_do_not_wait() -> None:
    pace = Pace()
    assert [pace.delay("alice", 7.0) for _ in range(10)] == [0.0] * 10
    assert pace.delay("alice", 7.0) == pytest.approx(1 / 20)
    assert [pace.delay("bob", number / 15) for number in range(100)] == [0.0] * 100


def test_a_user_who_sends_more_than_can_wait_is_refused_and_can_go_on_later() -> None:
    pace = Pace()
    delays = [pace.delay("alice", 7.0) for _ in range(1000)]
    waiting = [delay for delay in delays if delay is not None]
    assert max(waiting) <= 30 and len(waiting) == pytest.approx(10 + 20 * 30, abs=1)
    assert None not in delays[: len(waiting)]
    assert pace.delay("alice", 8.0) is not None
    assert pace.delay("alice", 60.0) == 0


async def test_a_burst_of_one_user_waits_and_another_user_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_SERVER_TOKENS", f"alice:{ALICE} bob:{BOB}")
    answered = list[str]()
    bob_is_answered = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        answered.append(Request(scope).headers["authorization"])
        await Response()(scope, receive, send)

    async def sleep(seconds: float) -> None:
        await bob_is_answered.wait()

    guard = Guard(app, pace=Pace(clock=lambda: 7.0, sleep=sleep))
    transport = httpx.ASGITransport(app=guard)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:

        async def post(token: str) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            return (await client.post("/threads", json={}, headers=headers)).status_code

        burst = asyncio.gather(*(post(ALICE) for _ in range(620)))
        assert await post(BOB) == 200
        bob_is_answered.set()
        statuses = await burst
    assert answered.index(f"Bearer {BOB}") <= 10
    assert statuses.count(200) == pytest.approx(610, abs=1)
    assert {*statuses} == {200, 429}
