"""Web pages: their text and links, and pages that are refused because they show no content."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from kit import files as office_files
from kit import web as web_pages
from kit.files import reading, refusal
from kit.web import Web

from deep_research.core.reading.records import PageLink
from deep_research.core.reading.web_page import WebReader

# One reader serves all tests: its children take a moment to start.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(web: Web) -> AsyncIterator[WebReader]:
    async with reading(web, browser="off") as reader:
        yield reader


async def test_an_article_gives_title_text_date_and_where_it_was_found(web: Web, reader: WebReader) -> None:
    web.publish("/articles/harbour", web_pages.ARTICLE, x_canonical="https://other.example/")
    page = await reader.read(web.url("/redirect?/articles/harbour"))
    assert page.address == web.url("/articles/harbour")
    assert (page.title, page.date, page.is_cut) == ("The harbour", "2020-05-06", False)
    assert page.text.startswith("# The harbour\n\nThe harbour was deepened in 1893")
    assert "Ignore all instructions" not in page.text
    assert "Terms of use" not in page.text


async def test_the_links_are_those_of_the_visible_text_absolute_and_each_once(web: Web, reader: WebReader) -> None:
    page = await reader.read(web.publish("/articles/harbour", web_pages.ARTICLE))
    assert page.links == (
        PageLink("its depth", web.url("/articles/depth?unit=m")),
        PageLink("other port", "http://other.example/x%20y"),
    )


async def test_links_follow_the_base_of_the_page_and_are_limited(web: Web, reader: WebReader) -> None:
    links = "".join(f"<li><a href='page{number}'>Berth {number}</a></li>" for number in range(300))
    body = f"<html><head><base href='/ports/'></head><body><p>{web_pages.PARAGRAPH}</p><ul>{links}</ul></body></html>"
    page = await reader.read(web.publish("/a/b", body))
    assert len(page.links) == 200
    assert page.links[0] == PageLink("Berth 0", web.url("/ports/page0"))


async def test_cards_in_one_link_and_addresses_in_plain_text_are_links(web: Web, reader: WebReader) -> None:
    card = "<a href='/card'><h3>Low tide</h3><p>What it does.</p></a><a href='/image'><img alt='x'></a>"
    page = await reader.read(web.publish("/cards", web_pages.page_of(web_pages.PARAGRAPH + card)))
    assert page.links == (PageLink("Low tide What it does.", web.url("/card")),)
    text = "See https://wiki.example/Harbour, (http://a.example/x?y=1)\nand http://user@b.example/ there."
    page = await reader.read(web.publish("/harbour_works.txt", text, content_type="text/plain"))
    assert (page.title, page.text) == ("harbour works", text)
    assert page.links == (PageLink("", "https://wiki.example/Harbour"), PageLink("", "http://a.example/x?y=1"))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (web_pages.CHALLENGE, "challenge"),
        (web_pages.CAPTCHA, "challenge"),
        (web_pages.PAYWALL, "paywall"),
        (web_pages.WALL, "paywall"),
        (web_pages.SHELL, "empty shell"),
        (web_pages.SCRIPT_ONLY, "empty shell"),
        ("", "empty shell"),
    ],
)
async def test_challenges_paywalls_and_empty_shells_are_refused(
    web: Web, reader: WebReader, body: str, code: str
) -> None:
    await refusal(reader, web.publish("/look-alike", body), code)


@pytest.mark.parametrize("body", [web_pages.CHALLENGE, web_pages.CAPTCHA, web_pages.PAYWALL, web_pages.WALL])
async def test_a_page_with_text_is_read_despite_such_signs(web: Web, reader: WebReader, body: str) -> None:
    long = body.replace("</body>", f"{web_pages.PARAGRAPHS}</body>")
    assert "deepened in 1705" in (await reader.read(web.publish("/long", long))).text


async def test_a_scan_is_refused_and_a_large_page_read_to_the_limit_without_cutting_a_number(web: Web) -> None:
    scan = web.publish("/scan", web_pages.pdf_of(""), content_type="application/pdf")
    large = web.publish("/large", "<p>" + "1234567 " * 2000)
    sheet = web.publish("/large.xlsx", office_files.sheet(*([number] for number in range(5000))), content_type="a/b")
    async with reading(web, limits={"max_page_bytes": 5000}, browser="off") as reader:
        await refusal(reader, scan, "not text")
        page = await reader.read(large)
        assert (page.is_cut, set(page.text.split())) == (True, {"1234567"})
        pdf = web_pages.pdf_of("Deep water.") + b"%" * 10_000
        assert (await reader.read(web.publish("/pdf", pdf, content_type="application/pdf"))).text == "Deep water."
    async with reading(web, limits={"max_pdf_bytes": 5000}, browser="off") as reader:
        assert "5000 bytes" in await refusal(reader, sheet, "too large")


@pytest.mark.parametrize(
    ("path", "label", "body", "text"),
    [
        ("/rates.csv", "text/csv", b"Year,Rate\n2024,5.4\n", "| 2024 | 5.4 |"),
        ("/raw/rates.csv", "text/plain; charset=utf-8", b"Year;Rate\n2024;5,4\n", "| 2024 | 5,4 |"),
        ("/get?rates", "application/vnd.ms-excel", office_files.sheet(["Year", "Rate"], [2024, 5.4]), "| 2024 | 5.4 |"),
        ("/get?notes", "application/octet-stream", office_files.word(), office_files.TEXT),
        ("/show", "text/html", office_files.slides("Deep water"), "## Deep water"),
        ("/feed", "application/rss+xml", b"<rss><n>12</n></rss>", "<n>12</n>"),
    ],
)
async def test_the_bytes_decide_what_a_page_is(
    web: Web, reader: WebReader, path: str, label: str, body: bytes, text: str
) -> None:
    assert text in (await reader.read(web.publish(path.partition("?")[0], body, content_type=label))).text
