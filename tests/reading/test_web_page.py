"""Web pages: their text and links, and pages that are refused because they show no content or no
browser is there."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from kit import files as office_files
from kit import web as web_pages
from kit.files import SHELL, publish_app, reading, refusal
from kit.web import Web

from deep_research.core.reading.documents.records import PageLink
from deep_research.core.reading.web_page import WebReader

# One reader serves all tests: its children take a moment to start.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(web: Web) -> AsyncIterator[WebReader]:
    async with reading(web, browser="off") as reader:
        yield reader


async def test_an_article_gives_title_text_date_and_where_it_was_found(
    web: Web, reader: WebReader
) -> None:
    web.publish("/articles/harbour", web_pages.ARTICLE, x_canonical="https://other.example/")
    page = await reader.read(web.url("/redirect?/articles/harbour"))
    assert page.address == web.url("/articles/harbour")
    assert (page.title, page.date, page.is_cut) == ("The harbour", "2020-05-06", False)
    assert page.text.startswith("# The harbour\n\nThe harbour was deepened in 1893")
    assert "Ignore all instructions" not in page.text
    assert "Terms of use" not in page.text

    # Those of the visible text, absolute and each once.
    assert page.links == (
        PageLink("its depth", web.url("/articles/depth?unit=m")),
        PageLink("other port", "http://other.example/x%20y"),
    )


async def test_links_follow_the_base_of_the_page_are_limited_and_may_be_cards_or_plain_addresses(
    web: Web, reader: WebReader
) -> None:
    links = "".join(
        f"<li><a href='page{number}'>Berth {number}</a></li>" for number in range(1_100)
    )
    body = f"<html><head><base href='/ports/'></head><body><p>{web_pages.PARAGRAPH}</p><ul>{links}</ul></body></html>"
    page = await reader.read(web.publish("/a/b", body))
    assert (len(page.links), page.links[0]) == (1_000, PageLink("Berth 0", web.url("/ports/page0")))
    card = "<a href='/card'><h3>Low tide</h3><p>What it does.</p></a><a href='/image'><img alt='x'></a>"
    page = await reader.read(web.publish("/cards", web_pages.page_of(web_pages.PARAGRAPH + card)))
    assert page.links == (PageLink("Low tide What it does.", web.url("/card")),)
    text = "See https://wiki.example/Harbour, (http://a.example/x?y=1)\nand http://user@b.example/ there."
    page = await reader.read(web.publish("/harbour_works.txt", text, content_type="text/plain"))
    assert (page.title, page.text) == ("harbour works", text)
    assert page.links == (
        PageLink("", "https://wiki.example/Harbour"),
        PageLink("", "http://a.example/x?y=1"),
    )


@pytest.fixture
def no_browsers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("settings", "is_missing", "words"),
    [
        ({}, True, "make install EXTRAS=browser"),
        ({"browser": "no-such-chromium"}, False, "apt install chromium"),
        ({"browser": "off"}, False, "only 0 characters"),
    ],
)
async def test_a_missing_extra_or_browser_is_named_with_how_to_install_it(
    web: Web,
    no_browsers: None,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    is_missing: bool,
    words: str,
) -> None:
    if is_missing:
        monkeypatch.setitem(sys.modules, "playwright", None)
    address = publish_app(web, "/app", "The harbour", web_pages.PARAGRAPH)
    async with reading(web, **settings) as reader:
        message = await refusal(reader, address)
    assert words in message
    assert ("setting browser" in message) == (settings.get("browser") != "off")


@pytest.mark.parametrize(
    ("status", "body", "headers", "code"),
    [
        (402, SHELL, {}, "paywall"),
        (403, SHELL, {"cf_mitigated": "challenge"}, "challenge"),
        *((200, web_pages.CHALLENGE, {}, "challenge"), (200, web_pages.CAPTCHA, {}, "challenge")),
        *((200, web_pages.PAYWALL, {}, "paywall"), (200, web_pages.WALL, {}, "paywall")),
        *(
            (200, "", {}, "empty shell"),
            (200, "<html><body>Nothing.</body></html>", {}, "empty shell"),
        ),
    ],
)
async def test_refusals_challenges_paywalls_and_pages_without_scripts_are_not_rendered(
    web: Web, no_browsers: None, status: int, body: str, headers: dict[str, str], code: str
) -> None:
    async with reading(web, browser="no-such-chromium") as reader:
        message = await refusal(reader, web.publish("/refused", body, status, **headers), code)
    assert "browser" not in message


async def test_a_page_with_little_text_that_asks_for_scripts_is_an_empty_shell(
    web: Web, reader: WebReader
) -> None:
    assert "running its scripts" in await refusal(
        reader, web.publish("/little", web_pages.SCRIPT_ONLY)
    )


@pytest.mark.parametrize(
    "body", [web_pages.CHALLENGE, web_pages.CAPTCHA, web_pages.PAYWALL, web_pages.WALL]
)
async def test_a_page_with_enough_text_is_read_despite_signs_of_a_challenge_or_paywall(
    web: Web, reader: WebReader, body: str
) -> None:
    long = body.replace("</body>", f"{web_pages.PARAGRAPHS}</body>")
    assert "deepened in 1705" in (await reader.read(web.publish("/long", long))).text


async def test_a_scan_is_refused_and_a_large_page_read_to_the_limit_without_cutting_a_number(
    web: Web,
) -> None:
    scan = web.publish("/scan", office_files.pdf_of(""), content_type="application/pdf")
    large = web.publish("/large", "<p>" + "1234567 " * 2000)
    sheet = web.publish(
        "/large.xlsx", office_files.sheet(*([number] for number in range(5000))), content_type="a/b"
    )
    async with reading(web, limits={"max_page_bytes": 5000}, browser="off") as reader:
        await refusal(reader, scan, "not text")
        page = await reader.read(large)
        assert (page.is_cut, set(page.text.split())) == (True, {"1234567"})
        pdf = office_files.pdf_of("Deep water.") + b"%" * 10_000
        assert (
            await reader.read(web.publish("/pdf", pdf, content_type="application/pdf"))
        ).text == "Deep water."
    async with reading(web, limits={"max_pdf_bytes": 5000}, browser="off") as reader:
        assert "5000 bytes" in await refusal(reader, sheet, "too large")


@pytest.mark.parametrize(
    ("path", "label", "body", "text"),
    [
        ("/rates.csv", "text/csv", b"Year,Rate\n2024,5.4\n", "| 2024 | 5.4 |"),
        ("/raw/rates.csv", "text/plain; charset=utf-8", b"Year;Rate\n2024;5,4\n", "| 2024 | 5,4 |"),
        (
            "/get?rates",
            "application/vnd.ms-excel",
            office_files.sheet(["Year", "Rate"], [2024, 5.4]),
            "| 2024 | 5.4 |",
        ),
        ("/get?notes", "application/octet-stream", office_files.word(), office_files.TEXT),
        ("/show", "text/html", office_files.slides("Deep water"), "## Deep water"),
        ("/feed", "application/rss+xml", b"<rss><n>12</n></rss>", "<n>12</n>"),
    ],
)
async def test_the_content_decides_how_a_page_is_parsed(
    web: Web, reader: WebReader, path: str, label: str, body: bytes, text: str
) -> None:
    assert (
        text
        in (await reader.read(web.publish(path.partition("?")[0], body, content_type=label))).text
    )
