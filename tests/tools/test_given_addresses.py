"""Web pages are opened only where somebody has named them, once a thread, and not without end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from opened import WORDS, Reading, article
from web import Web, hostile_web

from deep_research.tools.addresses import addresses_in
from deep_research.tools.tool import ToolFailed


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with hostile_web() as running:
        yield running


@pytest.mark.fault("R7")
async def test_an_address_that_nobody_has_named_is_refused_without_a_request(web: Web, tmp_path: Path) -> None:
    address = article(web, "/secret")
    reading = Reading(web, tmp_path)
    with pytest.raises(ToolFailed, match="neither the user nor a result"):
        await reading.open(f"{address}?answer=42")
    assert web.asked("/secret") == 0
    assert reading.meter.fetches == 0


@pytest.mark.fault("R7")
async def test_what_a_model_adds_to_an_address_is_not_sent(web: Web, tmp_path: Path) -> None:
    address = article(web, "/plain")
    reading = Reading(web, tmp_path)
    await reading.name(address)
    await reading.open(f"{address}?utm_source=what-the-model-knows#part")
    assert [request.target for request in web.requests if request.target.startswith("/plain")] == ["/plain"]


@pytest.mark.fault("R7")
async def test_a_link_of_a_page_that_was_read_may_be_followed(web: Web, tmp_path: Path) -> None:
    target = article(web, "/linked", title="The keeper")
    words = f'{WORDS * 3} <a href="/linked">Her keeper</a> lived there.'
    first = article(web, "/linking", words)
    reading = Reading(web, tmp_path)
    await reading.name(first)
    hit = (await reading.open(first)).hits[0]
    assert ("Her keeper", target) in hit.links
    assert (await reading.open(target)).hits[0].source.title == "The keeper"


async def test_a_page_is_fetched_once_a_thread_however_many_ask_for_it(web: Web, tmp_path: Path) -> None:
    address = article(web, "/once")
    reading = Reading(web, tmp_path)
    await reading.name(address)
    both = await asyncio.gather(reading.open(address), reading.open(address))
    later = await reading.open(address, question="another question")
    assert web.asked("/once") == 1
    assert reading.meter.fetches == 1
    assert {outcome.hits[0].text for outcome in (*both, later)} == {both[0].hits[0].text}


async def test_why_a_page_could_not_be_read_is_kept_for_the_question_only(web: Web, tmp_path: Path) -> None:
    address = web.publish("/closed", "No.", status=403)
    reading = Reading(web, tmp_path)
    await reading.name(address)
    for question in ("one", "one", "two"):
        with pytest.raises(ToolFailed, match=r"could not be read: .*\(blocked\)"):
            await reading.open(address, question=question)
    assert web.asked("/closed") == 2
    assert reading.meter.fetches == 2, "what was asked for counts, whatever came of it"


@pytest.mark.fault("R7")
@pytest.mark.parametrize(("limit", "read"), [("max_pages", 2), ("max_host_pages", 2)])
async def test_pages_are_counted(web: Web, tmp_path: Path, limit: str, read: int) -> None:
    addresses = [article(web, f"/{limit}/{number}") for number in range(3)]
    reading = Reading(web, tmp_path, limits={limit: 2})
    await reading.name(*addresses)
    outcome = await reading.open(*addresses)
    assert len(outcome.hits) == reading.meter.fetches == read
    assert f"({limit})" in outcome.problems[0]


@pytest.mark.fault("R14")
async def test_a_page_that_was_found_and_opened_is_one_source_and_cited_where_it_is(web: Web, tmp_path: Path) -> None:
    final = article(web, "/final")
    moved = web.publish("/moved", "", status=301, Location="/final")
    reading = Reading(web, tmp_path)
    await reading.name(moved)
    source = (await reading.open(moved)).hits[0].source
    assert (source.key, source.location, source.kind) == (moved, final, "web")
    assert source.content_hash
    assert source.read_at
    other = Reading(web, tmp_path)
    await other.name(moved, final)
    assert (await other.open(moved, final)).hits[0].source.key == final


@pytest.mark.behaviour("O-61")
async def test_a_long_page_is_shown_around_what_the_search_showed_of_it(web: Web, tmp_path: Path) -> None:
    needle = "The lamp was replaced in 1911 by a brighter one."
    address = article(web, "/long", f"{WORDS * 300} {needle} {WORDS * 300}")
    reading = Reading(web, tmp_path)
    await reading.name(address)
    shown = (await reading.open(address, excerpt=needle)).hits[0].excerpt
    assert len(shown) <= 3_200
    assert needle in shown
    assert shown.startswith(WORDS[:20])
    assert shown.count("[… ") and shown.endswith("\n[…]")


def test_addresses_are_found_in_what_a_user_writes() -> None:
    text = "Compare (https://one.example/a?b=c), <http://two.example/d>. And https://three.example/e_(f)!"
    assert addresses_in(text) == ["https://one.example/a?b=c", "http://two.example/d", "https://three.example/e_(f)"]
