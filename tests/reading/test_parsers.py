"""Readers share a few children that parse, which outlast them for a while."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import web_pages
from web import Web

from deep_research.core.reading.documents.pool import CHILDREN, Parser
from deep_research.core.reading.web_page import WebReader
from deep_research.core.run.context import Context
from deep_research.core.run.limits import Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are counted in /proc")


def reader_of(web: Web, parse_seconds: float = 60.5) -> WebReader:
    limits = Limits(page_seconds=60, parse_seconds=parse_seconds)
    return WebReader(Context(allow_private=(web.place,), robots=False, limits=limits))


def children() -> set[str]:
    """The parsing processes of this one, by their ids."""
    tasks = Path("/proc/self/task").iterdir()
    pids = [pid for task in tasks for pid in _children_of(task)]
    return {pid for pid in pids if _is_parser(Path("/proc", pid, "cmdline"))}


def _is_parser(place: Path) -> bool:
    try:
        return "deep_research.core.reading.documents.worker" in place.read_text()
    except OSError:
        # It has ended since it was listed.
        return False


def _children_of(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except OSError:
        # The thread has ended since the folder was listed.
        return []


async def test_many_readers_share_a_few_children_and_later_ones_use_them_again(web: Web) -> None:
    addresses = [
        web.publish(f"/many/{number}", web_pages.page_of(f"{web_pages.PARAGRAPH} {number}")) for number in range(30)
    ]
    before = children()
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(reader_of(web)) for _ in range(10)]
        work = (readers[number % 10].read(address) for number, address in enumerate(addresses))
        pages = await asyncio.gather(*work)
        assert 1 <= len(children() - before) <= CHILDREN
    assert [page.text.rsplit(" ", 1)[1] for page in pages] == [str(number) for number in range(30)]
    waiting = children()
    assert 1 <= len(waiting - before) <= CHILDREN
    async with reader_of(web) as later:
        assert (await later.read(addresses[0])).text
    assert children() <= waiting


def test_children_that_nobody_needs_end_and_others_are_started_when_they_are_needed() -> None:
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


async def test_a_cancelled_reading_stops_none_of_the_others(web: Web) -> None:
    pdf = web.publish("/bomb", web_pages.pdf_of("Deep", 1_000_000), content_type="application/pdf")
    address = web.publish("/page", web_pages.ARTICLE)
    async with reader_of(web) as other:
        async with reader_of(web) as first:
            task = asyncio.create_task(first.read(pdf))
            await asyncio.sleep(0.5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await other.read(address)).title == "The harbour"
