"""Pages are opened only if they were named; closed or vanished ones are read as copies that
directories know."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit import web as web_pages
from kit.engines import DOI, EMAIL, OPENALEX_KEY, TITLE, Directories, proxy
from kit.files import pdf_of
from kit.runs import WORDS, Reading, Shelf, article, new_tool_context
from kit.web import Exchange, Web, hostile_web

from deep_research.core.errors import DocumentsUnreadable
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import link_to
from deep_research.core.reading.addresses import addresses_in, doi_in
from deep_research.core.records.sources import Source
from deep_research.tools._addresses import Addresses
from deep_research.tools._web_search import WebSearch, WebSearchArguments
from deep_research.tools.engine import Found
from deep_research.tools.tool import ToolFailed

BAD = "http://a\u2100b.example/x"
PAPER = "/doi/full/" + DOI
GONE = "93.184.215.14"
ABSTRACT = f"""<html><head><title>Journal</title><meta name="citation_title" content="The first lamp">
<meta name="citation_doi" content="doi:{DOI}"></head><body><p>{web_pages.PARAGRAPH}</p></body></html>"""


@pytest.fixture
def web() -> Iterator[Web]:
    with hostile_web() as running:
        yield running


def reading(web: Web, known: Directories, folder: Path, **settings: Any) -> Reading:
    made = Reading(web, folder, email=EMAIL, **settings)
    made.context = made.context.model_copy(update={"allow_private": (web.netloc, known.web.netloc)})
    return made


async def opened(thread: Reading, address: str) -> tuple[Source, str]:
    await thread.name(address)
    [hit] = (await thread.open(address)).hits
    return hit.source, hit.text


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("europe_pmc", ["Crossref", "Europe PMC"]),
        ("arxiv", ["Crossref", "Europe PMC", "arXiv"]),
        ("openalex", ["Crossref", "Europe PMC", "arXiv", "OpenAlex"]),
        ("unpaywall", ["Crossref", "Europe PMC", "arXiv", "OpenAlex", "Unpaywall"]),
    ],
)
async def test_a_closed_paper_is_read_where_a_directory_knows_an_open_copy(
    web: Web,
    known: Directories,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    asked: list[str],
) -> None:
    monkeypatch.setenv("OPENALEX_API_KEY", OPENALEX_KEY)
    copy = known.web.publish("/copy.pdf", pdf_of(WORDS), content_type="application/pdf")
    getattr(known, name)(copy)
    thread = reading(web, known, tmp_path)
    source, text = await opened(thread, web.publish(PAPER, "Forbidden", 403))
    assert "lit for the first time in 1844" in text
    assert (source.address, source.location, source.title) == (
        web.url(PAPER),
        web.url(PAPER),
        TITLE,
    )
    assert (source.copy_address, source.copied_on, source.is_retracted) == (copy, "", False)
    assert labels("en").remark(source) == f"read in an open copy: {known.web.netloc}"
    assert link_to(source) == web.url(PAPER) and link_to(source, "lit", 1) == f"{copy}#page=1"
    assert thread.meter.asked == asked
    assert thread.meter.fetches == len(asked) + 2, "each look-up, the page and its copy"
    assert known.query("/europepmc")["query"] == [f'DOI:"{DOI}"']
    assert name != "arxiv" or known.query("/arxiv")["search_query"] == [f"doi:{DOI}"]
    assert name != "openalex" or known.query("/openalex")["api_key"] == [OPENALEX_KEY]
    assert name != "unpaywall" or known.query("/unpaywall")["email"] == [EMAIL]


async def test_a_page_that_shows_the_abstract_gives_its_title_and_a_retraction_is_named(
    web: Web, known: Directories, tmp_path: Path
) -> None:
    known.crossref("correction", "retraction")
    known.openalex(copy := article(known.web, "/copy", WORDS * 60, "An author's page"))
    source, text = await opened(reading(web, known, tmp_path), web.publish("/articles/1", ABSTRACT))
    assert (source.title, source.copy_address, "1844" in text) == ("The first lamp", copy, True)
    assert source.is_retracted and not source.is_in_force
    assert (
        labels("de").remark(source)
        == f"zurückgezogen, gelesen in einer offenen Kopie: {known.web.netloc}"
    )
    known.openalex("")
    source, text = await opened(reading(web, known, tmp_path), web.url("/articles/1"))
    assert (source.copy_address, "1893" in text, source.is_retracted) == ("", True, True)


@pytest.mark.parametrize(
    ("updates", "listed"),
    [
        (("withdrawal",), (True, False, "Crossref")),
        (("removal",), (True, False, "Crossref")),
        (("expression_of_concern",), (False, True, "Crossref")),
        (("expression_of_concern", "retraction"), (True, True, "Crossref")),
        (("correction", "new_version"), (False, False, "")),
    ],
)
async def test_what_crossref_lists_on_an_opened_paper_is_kept(
    web: Web,
    known: Directories,
    tmp_path: Path,
    updates: tuple[str, ...],
    listed: tuple[bool, bool, str],
) -> None:
    known.crossref(*updates)
    source, _ = await opened(reading(web, known, tmp_path), web.publish("/articles/1", ABSTRACT))
    assert (source.is_retracted, source.has_concern, source.listed_by) == listed


@pytest.mark.parametrize(
    ("body", "status", "headers"),
    [
        ("No.", 401, {}),
        ("No.", 429, {}),
        ("No.", 403, {"cf_mitigated": "challenge"}),
        (web_pages.CHALLENGE, 200, {}),
        (web_pages.SHELL, 200, {}),
    ],
)
async def test_other_refusals_stay_refusals_and_no_directory_is_asked(
    web: Web, known: Directories, tmp_path: Path, body: str, status: int, headers: dict[str, str]
) -> None:
    known.openalex(article(known.web, "/copy"))
    thread = reading(web, known, tmp_path)
    with pytest.raises(ToolFailed):
        await opened(thread, web.publish(PAPER, body, status, **headers))
    assert (known.web.requests, thread.meter.asked, thread.meter.fetches) == ([], [], 1)


@pytest.mark.parametrize(
    "settings", [{"open_copies": False}, {"engines": ()}, {"domains_allow": ("127.0.0.2",)}]
)
async def test_switched_off_or_without_the_web_a_closed_paper_is_refused_as_it_is(
    web: Web, known: Directories, tmp_path: Path, settings: dict[str, Any]
) -> None:
    known.openalex(article(known.web, "/copy"))
    thread = reading(web, known, tmp_path, **settings)
    for address in (web.publish(PAPER, "Forbidden", 403), web.publish("/free", ABSTRACT)):
        await thread.name(address)
    with pytest.raises(ToolFailed, match=r"blocked|denied domain"):
        await thread.open(web.url(PAPER))
    if "domains_allow" not in settings:
        assert not (await thread.open(web.url("/free"))).hits[0].source.copy_address
    assert (known.web.requests, thread.meter.asked) == ([], [])


async def test_without_a_copy_the_refusal_is_named_with_the_retraction(
    web: Web, known: Directories, tmp_path: Path
) -> None:
    known.crossref("retraction")
    for path in ("/arxiv", "/openalex/doi:" + DOI):
        known.web.publish(path, "nonsense", 200 if path == "/arxiv" else 503)
    # At the host that refused, and behind a robots.txt that forbids it, no copy is read.
    known.europe_pmc(article(web, "/other.pdf"))
    known.unpaywall(article(known.web, "/forbidden"))
    known.web.robots = "User-agent: *\nDisallow: /"
    thread = reading(web, known, tmp_path)
    thread.context = thread.context.model_copy(update={"robots": True})
    with pytest.raises(
        ToolFailed, match=r"status 403\); Crossref lists a retraction of this paper \(blocked\)"
    ) as caught:
        await opened(thread, web.publish(PAPER, "Forbidden", 403))
    assert [page.code for page in caught.value.not_read] == ["blocked"]
    assert (web.asked("/other.pdf"), known.web.asked("/forbidden")) == (0, 0)
    assert thread.meter.asked == ["Crossref", "Europe PMC", "arXiv", "OpenAlex", "Unpaywall"]


async def test_lookups_and_copies_end_with_the_fetches_of_the_run(
    web: Web, known: Directories, tmp_path: Path
) -> None:
    known.openalex(article(known.web, "/copy"))
    thread = reading(web, known, tmp_path)
    thread.meter.most_fetches = 3
    with pytest.raises(ToolFailed):
        await opened(thread, web.publish(PAPER, "Forbidden", 403))
    assert (thread.meter.fetches, known.asked) == (3, ["crossref", "europepmc"])


async def test_a_page_that_is_gone_is_read_as_the_archive_kept_it(
    web: Web, known: Directories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A public address, which a proxy leads to loopback.
    address = f"http://{GONE}/log?year=1844&page=2"
    kept = known.web.url(f"/web/20191231235959/{address}")
    article(known.web, f"/web/20191231235959id_/http://{GONE}/log", title="The log")
    known.archive(address, kept, "20191231235959")
    with proxy({GONE: web.port}) as forward:
        monkeypatch.setenv("HTTP_PROXY", forward.url)
        thread = reading(web, known, tmp_path, trust_proxy=True)
        source, text = await opened(thread, address)
    assert "1844" in text and (source.title, source.address, source.location) == (
        "The log",
        address,
        address,
    )
    assert (source.copy_address, source.copied_on) == (kept, "2019-12-31")
    assert labels("en").remark(source) == f"read in an open copy: {known.web.netloc}, 2019-12-31"
    assert known.query("/available")["url"] == [address] and thread.meter.asked == [
        "Internet Archive"
    ]


async def test_the_archive_is_not_asked_for_pages_of_a_private_network(
    web: Web, known: Directories, tmp_path: Path
) -> None:
    thread = reading(web, known, tmp_path)
    with pytest.raises(ToolFailed, match="gone"):
        await opened(thread, web.url("/internal/plans"))
    assert (known.web.requests, thread.meter.asked) == ([], [])


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("https://journal.example/doi/full/10.1002/ABC.123?download=true", "10.1002/abc.123"),
        (
            "https://journal.example/articles/10.3389/fpsyg.2020.00001/full",
            "10.3389/fpsyg.2020.00001",
        ),
        (
            "https://journal.example/10.1371%2Fjournal.pone.0012345.pdf",
            "10.1371/journal.pone.0012345",
        ),
        ("See (doi:10.1016/S0140-6736(97)11096-0).", "10.1016/s0140-6736(97)11096-0"),
        ("10.1000/one, and https://doi.org/10.1000/one.", "10.1000/one"),
        ("10.1000/one and 10.1000/two", ""),
        ("Version 10.12/3 of https://journal.example/articles/1", ""),
    ],
)
def test_the_only_doi_of_a_text_is_found(text: str, doi: str) -> None:
    assert doi_in(text) == doi


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
    assert (
        len((await reading.open(web.url("/rival?utm_source=what-the-model-knows#part"))).hits) == 1
    )
    assert [request.target for request in web.requests if request.target.startswith("/rival")][
        -1
    ] == "/rival"


async def test_a_models_variant_leads_to_the_first_address_that_was_given(
    web: Web, tmp_path: Path
) -> None:
    addresses = Addresses(Reading(web, tmp_path).pages(), "question")
    await addresses.allow(["https://a.example/x?gclid=1#top"])
    await addresses.allow(["https://a.example/x?gclid=2", "https://A.example/x?gclid=1"])
    assert (await addresses.known("https://a.example/x"))[0] == "https://a.example/x?gclid=1#top"
    assert (await addresses.known("https://a.example/x?gclid=2#end"))[
        0
    ] == "https://a.example/x?gclid=2"
    assert (await addresses.known("https://a.example/x?gclid=1"))[
        0
    ] == "https://a.example/x?gclid=1#top"


async def test_an_address_that_cannot_be_taken_apart_is_a_problem_of_its_own(
    web: Web, tmp_path: Path
) -> None:
    reading, good = Reading(web, tmp_path), article(web, "/good")
    await reading.name(good, BAD)
    outcome = await reading.open(BAD, good)
    assert [hit.source.address for hit in outcome.hits] == [good]
    assert "could not be read" in outcome.problems[0]


async def test_a_call_that_fails_or_is_cancelled_leaves_no_task_running(
    web: Web, tmp_path: Path
) -> None:
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
async def test_addresses_that_lead_to_one_page_at_the_same_time_are_one_source(
    web: Web, tmp_path: Path
) -> None:
    article(web, "/final")
    moved = [web.publish(f"/moved/{number}", "", 302, location="/final") for number in range(5)]
    reading = Reading(web, tmp_path)
    await reading.name(*moved)
    first = await reading.open(*moved)
    assert len(first.hits) == 1
    await reading.name(web.url("/final"))
    later = [
        (await reading.open(address)).hits[0].source.key for address in (*moved, web.url("/final"))
    ]
    assert set(later) == {first.hits[0].source.key}


async def test_an_opened_page_keeps_its_publisher_and_the_kind_of_its_date(
    web: Web, tmp_path: Path
) -> None:
    head = "<meta property='og:site_name' content='Harbour Board'>"
    shown = f"<h1>Depths</h1><p>Last updated 5 May 2025</p><p>{web_pages.PARAGRAPH}</p>"
    address = web.publish("/depths", f"<html><head><title>Depths</title>{head}</head>{shown}")
    reading = Reading(web, tmp_path)
    await reading.name(address)
    source = (await reading.open(address)).hits[0].source
    assert (source.publisher, source.date, source.date_words) == (
        "Harbour Board",
        "2025-05-05",
        "updated",
    )


@pytest.mark.fault(27)
async def test_a_page_that_was_opened_elsewhere_and_is_then_found_keeps_its_source(
    web: Web, tmp_path: Path
) -> None:
    final = article(web, "/final")
    moved = web.publish("/moved", "", 302, location="/final")
    reading = Reading(web, tmp_path)
    await reading.name(moved)
    opened = (await reading.open(moved)).hits[0].source
    assert (opened.location, opened.kind, bool(opened.content_hash)) == (final, "web", True)
    shelf = Shelf("shelf", Found("T", final, "x"), Found("T", moved, "y"))
    tool = WebSearch(reading.context, [shelf], new_tool_context(reading.store))
    hits = (await tool.run(WebSearchArguments(queries=["q"]))).hits
    assert [(hit.source.key, hit.source.address, hit.excerpt) for hit in hits] == [
        (opened.key, final, "x")
    ]
    await reading.name(final)
    assert (await reading.open(final)).hits[0].source.key == opened.key
    assert web.asked("/final") == 1


async def test_links_that_are_long_or_no_addresses_are_not_shown(web: Web, tmp_path: Path) -> None:
    links = "".join(f'<a href="/{number}?{"x" * 400}">Long</a> ' for number in range(25))
    reading = Reading(web, tmp_path)
    await reading.name(
        address := article(web, "/linking", f'{WORDS * 3} {links} <a href="/short">Short</a>')
    )
    assert (await reading.open(address)).hits[0].links == (("Short", web.url("/short")),)


async def test_a_scout_is_shown_more_links_of_a_register_than_others_and_may_follow_them(
    web: Web, tmp_path: Path
) -> None:
    links = "".join(f'<a href="/page/{number}">Page {number}</a> ' for number in range(1, 131))
    last = article(web, "/page/100", "Harbour grant 991. " * 30)
    reading = Reading(web, tmp_path)
    await reading.name(address := article(web, "/register", f"{WORDS * 3} {links}"))
    [hit] = (await reading.open(address)).hits
    assert [words for words, _ in hit.links] == [f"Page {number}" for number in range(1, 21)]
    [hit] = (await reading.open(address, part_characters=10_000)).hits
    assert (len(hit.links), hit.links[-1]) == (100, ("Page 100", last))
    [hit] = (await reading.open(last, part_characters=10_000)).hits
    assert "Harbour grant 991" in hit.text
    # Where a scout is the first to open it, all links are kept, and each part has its own.
    await reading.name(other := article(web, "/other", f"{WORDS * 3} {links}"))
    [hit] = (await reading.open(other, part_characters=10_000)).hits
    assert len(hit.links) == 130
    start = hit.text.index("Page 101")
    [hit] = (await reading.open(other, part_characters=start)).hits
    assert [words for words, _ in hit.links] == [f"Page {number}" for number in range(1, 101)]


async def test_the_reason_for_an_unreadable_page_is_kept_for_one_question(
    web: Web, tmp_path: Path
) -> None:
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
    assert addresses_in(text) == [
        "https://one.example/a?b=c",
        "http://two.example/d",
        "https://three.example/e_(f)",
    ]


async def test_a_refresh_reads_a_page_of_an_earlier_question_once_more(
    web: Web, tmp_path: Path
) -> None:
    thread = Reading(web, tmp_path)
    address = article(web, "/light")
    await thread.name(address)
    [before] = (await thread.open(address)).hits
    article(web, "/light", WORDS.replace("1844", "1845") * 3)
    [known] = (await thread.open(address, question="another")).hits
    assert known.text == before.text
    for _ in range(2):
        [anew] = (await thread.open(address, question="refresh", reads_anew=True)).hits
        assert "1845" in anew.text and anew.source.key == before.source.key
    assert [request.target for request in web.requests].count("/light") == 2
