"""Blocking lookups delay neither the event loop, nor other tasks, nor the end of the program."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kit.web import Web

from deep_research.core.reading.fetch import LOOKUPS, Fetcher
from deep_research.core.reading.records import Unread
from deep_research.core.run.context import Context
from deep_research.core.run.limits import Limits

HANGING_SCRIPT = """
import asyncio, socket, time
from deep_research.core.reading.fetch import resolve_host
socket.getaddrinfo = lambda *_, **__: time.sleep(600)
async def main():
    try:
        await asyncio.wait_for(resolve_host("slow.example", 80), 0.1)
    except TimeoutError:
        print("given up")
asyncio.run(main())
"""


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Make lookups of names under `.example` hang; returns the names that were looked up."""
    asked: list[str] = []
    is_over, ask = threading.Event(), socket.getaddrinfo

    def answer(host: Any, *rest: Any, **options: Any) -> Any:
        if str(host).endswith(".example"):
            asked.append(host)
            is_over.wait()
            raise OSError("no such name")
        return ask(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    yield asked
    is_over.set()


@pytest.mark.fault(54)
async def test_unanswered_lookups_time_out_and_block_nothing_else(web: Web, slow_names: list[str]) -> None:
    address = web.publish("/page", "Deep water.")
    patient, hurried = (
        Context(limits=Limits(connect_seconds=seconds, page_seconds=600), robots=True, allow_private=(web.netloc,))
        for seconds in (600, 0.1)
    )
    async with Fetcher(patient) as fetcher, Fetcher(hurried) as other:
        with pytest.raises(Unread, match="cannot be resolved"):
            await other.fetch("http://early.example/")
        slow = [asyncio.create_task(fetcher.fetch(f"http://{number}.example/")) for number in range(LOOKUPS)]
        while len(slow_names) < LOOKUPS:
            await asyncio.sleep(0.01)
        late = (other.fetch(f"http://late-{number}.example/") for number in range(10))
        results = await asyncio.gather(*late, return_exceptions=True)
        assert await asyncio.to_thread(int) == 0
        assert (await fetcher.fetch(address)).data == b"Deep water."
        assert not any(task.done() for task in slow)
        for task in slow:
            task.cancel()
        await asyncio.wait(slow)
    assert {result.code for result in results if isinstance(result, Unread)} == {"unreachable"}
    assert len(slow_names) == LOOKUPS


@pytest.mark.slow
def test_an_unanswered_lookup_does_not_keep_the_program_from_ending() -> None:
    result = subprocess.run([sys.executable, "-c", HANGING_SCRIPT], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "given up\n")
