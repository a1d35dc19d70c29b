"""Web pages are opened only if they were named; what one source names changes nothing for the others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.runs import WORDS, Reading, Shelf, article, new_tool_context
from kit.web import Exchange, Web, hostile_web

from deep_research.core.run.errors import DocumentsUnreadable
from deep_research.tools.addresses import Addresses, addresses_in
from deep_research.tools.engine import Found
from deep_research.tools.tool import ToolFailed
from deep_research.tools.web_search import WebSearch, WebSearchArguments

BAD = "http://a\u2100b.example/x"


@pytest.fixture
def web() -> Iterator[Web]:
    with hostile_web() as running:
        yield running


@pytest.mark.fault("R7")
async def test_a_variant_that_a_page_links_to_replaces_no_address_and_what_a_model_adds_is_not_sent(
    web: Web, tmp_path: Path
) -> None:
    async def rival(exchange: Exchange) -> None:
        is_evil = "utm_source" in exchange.request.target
        await exchange.answer("No." if is_evil else f"<p>{WORDS * 3}</p>", 403 if is_evil else 200)

    web.pages["/rival"] = rival
    evil = article(web, "/evil", f'{WORDS * 3} <a href="/rival?utm_source=script">The rival</a>')
    reading = Reading(web, tmp_path)
    await reading.name(web.url("/rival"), evil)
    await reading.open(evil)
    with pytest.raises(ToolFailed, match="blocked"):
        await reading.open(web.url("/rival?utm_source=script"))
    assert len((await reading.open(web.url("/rival?utm_source=what-the-model-knows#part"))).hits) == 1
    assert [request.target for request in web.requests if request.target.startswith("/rival")][-1] == "/rival"


async def test_a_models_variant_leads_to_the_first_address_that_was_given(web: Web, tmp_path: Path) -> None:
    addresses = Addresses(Reading(web, tmp_path).pages(), "question")
    await addresses.allow(["https://a.example/x?gclid=1#top"])
    await addresses.allow(["https://a.example/x?gclid=2", "https://A.example/x?gclid=1"])
    assert (await addresses.known("https://a.example/x"))[0] == "https://a.example/x?gclid=1#top"
    assert (await addresses.known("https://a.example/x?gclid=2#end"))[0] == "https://a.example/x?gclid=2"
    assert (await addresses.known("https://a.example/x?gclid=1"))[0] == "https://a.example/x?gclid=1#top"


async def test_an_address_that_cannot_be_taken_apart_is_a_problem_of_its_own(web: Web, tmp_path: Path) -> None:
    reading, good = Reading(web, tmp_path), article(web, "/good")
    await reading.name(good, BAD)
    outcome = await reading.open(BAD, good)
    assert [hit.source.address for hit in outcome.hits] == [good]
    assert "could not be read" in outcome.problems[0]


async def test_a_call_that_fails_or_is_cancelled_leaves_no_task_running(web: Web, tmp_path: Path) -> None:
    async def slow(exchange: Exchange) -> None:
        await asyncio.sleep(0.5)
        await exchange.answer(f"<p>{WORDS * 3}</p>")

    web.pages["/slow"] = slow
    reading = Reading(web, tmp_path, docs=(tmp_path / "gone",))
    await reading.name(web.url("/slow"))
    with pytest.raises(DocumentsUnreadable):
        await reading.open(web.url("/slow"), "docs:gone/light.md")
    assert asyncio.all_tasks() == {asyncio.current_task()}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await reading.open(web.url("/slow"))
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.fault(27)
async def test_addresses_that_lead_to_one_page_at_the_same_time_are_one_source(web: Web, tmp_path: Path) -> None:
    article(web, "/final")
    moved = [web.publish(f"/moved/{number}", "", 302, location="/final") for number in range(5)]
    reading = Reading(web, tmp_path)
    await reading.name(*moved)
    first = await reading.open(*moved)
    assert len(first.hits) == 1
    await reading.name(web.url("/final"))
    later = [(await reading.open(address)).hits[0].source.key for address in (*moved, web.url("/final"))]
    assert set(later) == {first.hits[0].source.key}


@pytest.mark.fault(27)
async def test_a_page_that_was_opened_elsewhere_and_is_then_found_keeps_its_source(web: Web, tmp_path: Path) -> None:
    final = article(web, "/final")
    moved = web.publish("/moved", "", 302, location="/final")
    reading = Reading(web, tmp_path)
    await reading.name(moved)
    opened = (await reading.open(moved)).hits[0].source
    assert (opened.location, opened.kind, bool(opened.content_hash)) == (final, "web", True)
    shelf = Shelf("shelf", Found("T", final, "x"), Found("T", moved, "y"))
    tool = WebSearch(reading.context, [shelf], new_tool_context(reading.store))
    hits = (await tool.run(WebSearchArguments(queries=["q"]))).hits
    assert [(hit.source.key, hit.source.address, hit.excerpt) for hit in hits] == [(opened.key, final, "x")]
    await reading.name(final)
    assert (await reading.open(final)).hits[0].source.key == opened.key
    assert web.asked("/final") == 1


async def test_links_that_are_long_or_no_addresses_are_not_shown(web: Web, tmp_path: Path) -> None:
    links = "".join(f'<a href="/{number}?{"x" * 400}">Long</a> ' for number in range(25))
    reading = Reading(web, tmp_path)
    await reading.name(address := article(web, "/linking", f'{WORDS * 3} {links} <a href="/short">Short</a>'))
    assert (await reading.open(address)).hits[0].links == (("Short", web.url("/short")),)


async def test_why_a_page_could_not_be_read_is_kept_for_the_question_only(web: Web, tmp_path: Path) -> None:
    address = web.publish("/closed", "No.", status=403)
    reading = Reading(web, tmp_path)
    await reading.name(address)
    for question in ("one", "one", "two"):
        with pytest.raises(ToolFailed, match=r"could not be read: .*\(blocked\)"):
            await reading.open(address, question=question)
    assert web.asked("/closed") == 2
    assert reading.meter.fetches == 2, "what was asked for counts, whatever came of it"


def test_addresses_are_found_in_what_a_user_writes() -> None:
    text = "Compare (https://one.example/a?b=c), <http://two.example/d>. And https://three.example/e_(f)!"
    assert addresses_in(text) == ["https://one.example/a?b=c", "http://two.example/d", "https://three.example/e_(f)"]
