"""Readers share a few parser processes, which stay for a while after them."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from kit import web as web_pages
from kit.files import reading
from kit.web import Web

from deep_research.core.reading.documents.pool import CHILDREN, Parser

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are counted in /proc")


def children() -> set[str]:
    """The parsing processes of this one, by their ids."""
    pids = [pid for task in Path("/proc/self/task").iterdir() for pid in _read(task / "children").split()]
    return {
        pid for pid in pids if "deep_research.core.reading.documents.worker" in _read(Path("/proc", pid, "cmdline"))
    }


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        # The thread or the process has ended since it was listed.
        return ""


async def test_many_readers_share_a_few_children_and_later_ones_use_them_again(web: Web) -> None:
    addresses = [
        web.publish(f"/many/{number}", web_pages.page_of(f"{web_pages.PARAGRAPH} {number}")) for number in range(30)
    ]
    before = children()
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(reading(web, limits={"parse_seconds": 60.5})) for _ in range(10)]
        work = (readers[number % 10].read(address) for number, address in enumerate(addresses))
        pages = await asyncio.gather(*work)
        assert 1 <= len(children() - before) <= CHILDREN
    assert [page.text.rsplit(" ", 1)[1] for page in pages] == [str(number) for number in range(30)]
    waiting = children()
    assert 1 <= len(waiting - before) <= CHILDREN
    async with reading(web, limits={"parse_seconds": 60.5}) as later:
        assert (await later.read(addresses[0])).text
    assert children() <= waiting


def test_idle_children_end_and_new_ones_start_when_needed() -> None:
    page = b"<p>The lamp was lit in 1844.</p>"
    with Parser(15.25, 1_000_000, workers=1, idle_seconds=0.5) as parser:
        parser.parse(page, "page.html")
        (worker,) = parser._workers
        assert worker._process is not None
        assert worker._process.wait(60) == 0
        assert parser.parse(page, "page.html").text == "The lamp was lit in 1844."
        second = worker._process
    # Others of this process may be starting children of their own.
    assert second is not None and second.poll() is not None
