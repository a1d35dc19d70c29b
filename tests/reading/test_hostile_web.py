"""Hostile servers: each attack ends in time with its code, while the event loop stays live."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from kit import web as web_pages
from kit.files import pdf_of, reading
from kit.web import Web

from deep_research.core.reading.addresses import Unread
from deep_research.core.reading.documents.records import Extract
from deep_research.core.reading.web_page import WebReader

SHORT_SECONDS = 0.5
# CPU time of the event loop's thread; parsing one of the large pages there would take several times
# as long.
STALL_SECONDS = 1.0
LIMITED: dict[str, Any] = {"browser": "off", "limits": {"max_page_bytes": 100_000}}

# One reader serves most tests: its client and children take a moment to start.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(web: Web) -> AsyncIterator[WebReader]:
    async with reading(web, **LIMITED) as reader:
        yield reader


async def code_of(reader: WebReader, address: str) -> str:
    try:
        page = await reader.read(address)
    except Unread as error:
        assert str(error)
        return error.code
    assert isinstance(page, Extract)
    return ""


@asynccontextmanager
async def live_loop() -> AsyncIterator[None]:
    """Assert that the event loop stays live."""
    stall = 0.0

    async def probe() -> None:
        nonlocal stall
        while True:
            work = time.thread_time()
            await asyncio.sleep(0.01)
            # The work of this thread alone: neither a busy machine nor the other threads count.
            stall = max(stall, time.thread_time() - work)

    task = asyncio.create_task(probe())
    try:
        yield
    finally:
        task.cancel()
    assert stall < STALL_SECONDS


@pytest.mark.fault(30)
@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param(
            "/redirect", "redirects", marks=pytest.mark.fault(30, logs="INFO core.reading._fetch")
        ),
        *(("/hops?5", ""), ("/hops?6", "redirects"), ("/redirect?http://10.0.0.1/", "private")),
        *(("/redirect?http://[::1]/", "private"), ("/redirect?//127.0.0.2/", "private")),
        *(
            ("/redirect?http://127.0.0.1:1/", "bad address"),
            ("/redirect?file:///etc/passwd", "bad address"),
        ),
        ("/redirect?/\\evil.example", "bad address"),
    ],
)
async def test_redirects_are_followed_one_by_one_and_not_everywhere(
    web: Web, reader: WebReader, path: str, code: str
) -> None:
    assert await code_of(reader, web.url(path)) == code


@pytest.mark.fault(31)
@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param(
            *("/large-headers?70000", "too large"),
            marks=pytest.mark.fault(31, logs="INFO core.reading._fetch"),
        ),
        *(
            ("/bomb?gzip", ""),
            ("/bomb?br", "broken"),
            ("/bomb?zstd", "broken"),
            ("/bomb?gzip,gzip", "broken"),
        ),
        *(
            ("/endless", ""),
            ("/after-the-end", ""),
            ("/long-length?5000000000", "broken"),
            ("/long-length?600", ""),
        ),
        *(("/large-headers?60000", ""), ("/babble", "broken")),
    ],
)
@pytest.mark.fault("R5")
async def test_no_body_and_no_header_grows_beyond_its_limit(
    web: Web, reader: WebReader, path: str, code: str
) -> None:
    web_pages.bomb("gzip")
    web_pages.bomb("gzip,gzip")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with live_loop():
        assert await code_of(reader, web.url(path)) == code
    # In kilobytes; a bomb of 50 MB that went off would show.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


@pytest.mark.fault(31)
async def test_compressed_content_within_the_limit_is_read(web: Web, reader: WebReader) -> None:
    page = web_pages.ARTICLE.encode()
    web.publish("/gzip", web_pages.gzipped(page), content_encoding="gzip")
    web.publish("/x-gzip", web_pages.gzipped(page), content_encoding="X-Gzip")
    web.publish("/identity", page, content_encoding="identity")
    web.publish("/damaged", b"\x1f\x8b" + bytes(100), content_encoding="gzip")
    pages = [await reader.read(web.url(path)) for path in ("/gzip", "/x-gzip", "/identity")]
    assert await code_of(reader, web.url("/damaged")) == "broken"
    assert {page.title for page in pages} == {"The harbour"}
    assert len({page.text for page in pages}) == 1


@pytest.mark.sweep(first=3)
@pytest.mark.fault(32, logs="INFO core.reading._fetch")
@pytest.mark.parametrize("path", ["/drip-headers", "/drip-body", "/silence", "/crumbs", "/interim"])
@pytest.mark.fault("R5")
async def test_a_slow_server_has_one_deadline_for_everything(web: Web, path: str) -> None:
    limits = {"page_seconds": SHORT_SECONDS, "max_page_bytes": 2_000_000}
    async with reading(web, limits=limits) as reader, live_loop():
        # One after the other: a flood of one would count as time that the other takes to connect.
        addresses = web.url(path), web.url(f"/redirect?{path}")
        codes = [await code_of(reader, address) for address in addresses]
    assert codes == ["timed out", "timed out"]


@pytest.mark.fault(33)
@pytest.mark.parametrize(
    ("body", "label", "code"),
    [
        pytest.param(
            *(web_pages.EXE, "text/html", "not text"),
            marks=pytest.mark.fault(33, logs="INFO core.reading._fetch"),
        ),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00", "text/plain", "not text"),
        (
            b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00",
            "application/octet-stream",
            "not text",
        ),
        (web_pages.ARTICLE, "video/mp4", ""),
        (web_pages.ARTICLE, "application/octet-stream", ""),
        (web_pages.ARTICLE, "text/html, text/html", ""),
        (web_pages.ARTICLE, "application/pdf", ""),
        ("# Deep\n\n" + web_pages.PARAGRAPH, "text/markdown", ""),
        ('{"depth": "12 m"}', "application/ld+json", ""),
        (pdf_of("Deep water"), "text/html", ""),
        (b"%PDF-1.4\n garbage", "application/pdf", "broken"),
    ],
)
async def test_the_first_bytes_of_a_body_decide_its_kind(
    web: Web, reader: WebReader, body: bytes | str, label: str, code: str
) -> None:
    assert await code_of(reader, web.publish("/labelled", body, content_type=label)) == code


@pytest.mark.slow
@pytest.mark.fault(35, 54, logs="WARNING core.reading.documents.pool")
async def test_pages_that_blow_up_a_parser_leave_the_loop_live_and_are_given_up_in_time(
    web: Web,
) -> None:
    large = {
        "/paragraphs": f"<p>{web_pages.PARAGRAPH}</p>\n" * 12_000,
        "/links": "<p><a href='/x'>a link</a>" * 200_000,
        "/tables": "<table><tr><td>" * 100_000 + "deep",
        "/attribute": f"<p title='{'y' * 5_000_000}'>{web_pages.PARAGRAPH}</p>",
    }
    addresses = [web.publish(path, page) for path, page in large.items()]
    pdf = web.publish("/pdf-bomb", pdf_of("Deep", 1_000_000), content_type="application/pdf")
    limits = {"page_seconds": 60, "max_page_bytes": 10_000_000, "parse_seconds": 2}
    async with reading(web, limits=limits) as reader, live_loop():
        codes = await asyncio.gather(*(code_of(reader, address) for address in [*addresses, pdf]))
        assert codes[-1] == "timed out"
        assert set(codes) <= {"", "timed out", "broken", "empty shell", "too large"}
        # The next page is read as if nothing had happened.
        following = web.publish("/next", web_pages.ARTICLE)
        # On a busy machine a child may need longer than that to start.
        while (code := await code_of(reader, following)) == "timed out":
            pass
        assert code == ""


@pytest.mark.fault(32, 35, 45)
async def test_cancelling_one_page_stops_it_at_once_and_does_not_stop_the_others(web: Web) -> None:
    pdf = web.publish("/pdf-bomb", pdf_of("Deep", 1_000_000), content_type="application/pdf")
    limits = {"page_seconds": 600, "parse_seconds": 600}
    async with reading(web, limits=limits) as reader, reading(web, limits=limits) as other:
        # One such file takes its child three seconds of CPU, cancelled or not.
        tasks = [
            asyncio.create_task(reader.read(address)) for address in (pdf, web.url("/drip-body"))
        ]
        await asyncio.sleep(0.5)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert (await other.read(web.publish("/page", web_pages.ARTICLE))).title == "The harbour"
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
