"""Web pages as they are read: their text and links, and what only looks like a page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import office_files
import pytest
import pytest_asyncio
import web_pages
from web import Web

from deep_research.core.reading.records import PageLink, Unread
from deep_research.core.reading.web_page import WebReader
from deep_research.core.run.context import Context
from deep_research.core.run.limits import Limits

# One reader serves all tests: its children take a moment to start.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(web: Web) -> AsyncIterator[WebReader]:
    async with WebReader(context_for(web)) as reader:
        yield reader


def context_for(web: Web, **limits: Any) -> Context:
    return Context(allow_private=(web.place,), robots=False, limits=Limits(**{"page_seconds": 60, **limits}))


async def refusal(reader: WebReader, address: str) -> str:
    with pytest.raises(Unread) as caught:
        await reader.read(address)
    assert str(caught.value)
    return caught.value.code


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
    text = "Deep water\n\nSee https://wiki.example/Harbour, (http://a.example/x?y=1) and http://user@b.example/ there."
    page = await reader.read(web.publish("/text", text, content_type="text/plain"))
    assert page.links == (PageLink("", "https://wiki.example/Harbour"), PageLink("", "http://a.example/x?y=1"))


async def test_a_pdf_and_a_text_are_pages_too(web: Web, reader: WebReader) -> None:
    pdf = web.publish("/papers/harbour%20works.pdf", web_pages.pdf_of("Deep water."), content_type="application/pdf")
    assert (await reader.read(pdf)).text == "Deep water."
    text = web.publish("/harbour_works.txt", "deep\nwater", content_type="text/plain")
    page = await reader.read(text)
    assert (page.title, page.text) == ("harbour works", "deep\nwater")


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
async def test_what_only_looks_like_a_page_is_refused_with_its_code(
    web: Web, reader: WebReader, body: str, code: str
) -> None:
    assert await refusal(reader, web.publish("/look-alike", body)) == code


@pytest.mark.parametrize("body", [web_pages.CHALLENGE, web_pages.CAPTCHA, web_pages.PAYWALL, web_pages.WALL])
async def test_the_same_signs_in_a_page_with_text_do_no_harm(web: Web, reader: WebReader, body: str) -> None:
    long = body.replace("</body>", f"{web_pages.PARAGRAPHS}</body>")
    assert "deepened in 1705" in (await reader.read(web.publish("/long", long))).text


async def test_a_refused_request_that_asks_for_proof_is_a_challenge(web: Web, reader: WebReader) -> None:
    assert await refusal(reader, web.publish("/cf", "No.", 403, cf_mitigated="challenge")) == "challenge"


async def test_a_scan_is_refused_and_a_large_page_read_to_the_limit_without_cutting_a_number(web: Web) -> None:
    scan = web.publish("/scan", web_pages.pdf_of(""), content_type="application/pdf")
    large = web.publish("/large", "<p>" + "1234567 " * 2000)
    sheet = web.publish("/large.xlsx", office_files.sheet(*([number] for number in range(5000))), content_type="a/b")
    async with WebReader(context_for(web, max_page_bytes=5000)) as reader:
        assert await refusal(reader, scan) == "not text"
        page = await reader.read(large)
        assert (page.is_cut, set(page.text.split())) == (True, {"1234567"})
        pdf = web_pages.pdf_of("Deep water.") + b"%" * 10_000
        assert (await reader.read(web.publish("/pdf", pdf, content_type="application/pdf"))).text == "Deep water."
    async with WebReader(context_for(web, max_pdf_bytes=5000)) as reader:
        with pytest.raises(Unread, match="5000 bytes") as caught:
            await reader.read(sheet)
        assert caught.value.code == "too large"


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


@pytest.mark.fault(34)
@pytest.mark.parametrize(
    ("body", "label", "text"),
    [
        (web_pages.page_of(web_pages.GERMAN).encode("utf-8-sig"), "text/html; charset=iso-8859-1", web_pages.GERMAN),
        (web_pages.page_of(web_pages.GERMAN).encode("utf-16"), "text/html", web_pages.GERMAN),
        (web_pages.page_of(web_pages.JAPANESE, "shift_jis").encode("cp932"), "text/html", web_pages.JAPANESE),
        (web_pages.page_of(web_pages.RUSSIAN).encode("cp1251"), "text/html", web_pages.RUSSIAN),
        (web_pages.page_of(web_pages.GERMAN, "us-ascii").encode(), "text/html; charset=shift_jis", web_pages.GERMAN),
        (web_pages.page_of("“Häfen” – " * 20).encode("cp1252"), "text/html; charset=iso-8859-1", "“Häfen” – " * 20),
        (web_pages.GERMAN.encode(), "text/plain; charset=no-such-set", web_pages.GERMAN),
        (web_pages.GERMAN.encode("utf-7"), "text/plain; charset=hex", "+ANw-ber den H"),
    ],
)
async def test_a_page_in_any_charset_is_readable_text(
    web: Web, reader: WebReader, body: bytes, label: str, text: str
) -> None:
    page = await reader.read(web.publish("/charset", body, content_type=label))
    assert text.strip() in page.text


@pytest.mark.fault(34)
async def test_a_few_bytes_of_another_charset_do_not_spoil_the_rest(web: Web, reader: WebReader) -> None:
    body = web_pages.page_of(f"{web_pages.GERMAN} SLIP {web_pages.GERMAN}").encode().replace(b"SLIP", b"Caf\xe9")
    page = await reader.read(web.publish("/mixed", body, content_type="text/html; charset=utf-8"))
    assert page.text == " ".join(f"{web_pages.GERMAN} Caf\ufffd {web_pages.GERMAN}".split())
