"""Closed or vanished pages are read as freely readable copies; which directories are asked, and which are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit import web as web_pages
from kit.engines import DOI, EMAIL, OPENALEX_KEY, TITLE, Directories, proxy
from kit.files import pdf_of
from kit.runs import WORDS, Reading, article
from kit.web import Web, hostile_web

from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import link_to
from deep_research.core.reading.addresses import doi_in
from deep_research.core.records.sources import Source
from deep_research.tools.tool import ToolFailed

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
    web: Web, known: Directories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, asked: list[str]
) -> None:
    monkeypatch.setenv("OPENALEX_API_KEY", OPENALEX_KEY)
    copy = known.web.publish("/copy.pdf", pdf_of(WORDS), content_type="application/pdf")
    getattr(known, name)(copy)
    thread = reading(web, known, tmp_path)
    source, text = await opened(thread, web.publish(PAPER, "Forbidden", 403))
    assert "lit for the first time in 1844" in text
    assert (source.address, source.location, source.title) == (web.url(PAPER), web.url(PAPER), TITLE)
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
    assert labels("de").remark(source) == f"zurückgezogen, gelesen in einer offenen Kopie: {known.web.netloc}"
    known.openalex("")
    source, text = await opened(reading(web, known, tmp_path), web.url("/articles/1"))
    assert (source.copy_address, "1893" in text, source.is_retracted) == ("", True, True)


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


@pytest.mark.parametrize("settings", [{"open_copies": False}, {"engines": ()}, {"domains_allow": ("127.0.0.2",)}])
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


async def test_lookups_and_copies_end_with_the_fetches_of_the_run(web: Web, known: Directories, tmp_path: Path) -> None:
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
    assert "1844" in text and (source.title, source.address, source.location) == ("The log", address, address)
    assert (source.copy_address, source.copied_on) == (kept, "2019-12-31")
    assert labels("en").remark(source) == f"read in an open copy: {known.web.netloc}, 2019-12-31"
    assert known.query("/available")["url"] == [address] and thread.meter.asked == ["Internet Archive"]


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
        ("https://journal.example/articles/10.3389/fpsyg.2020.00001/full", "10.3389/fpsyg.2020.00001"),
        ("https://journal.example/10.1371%2Fjournal.pone.0012345.pdf", "10.1371/journal.pone.0012345"),
        ("See (doi:10.1016/S0140-6736(97)11096-0).", "10.1016/s0140-6736(97)11096-0"),
        ("10.1000/one, and https://doi.org/10.1000/one.", "10.1000/one"),
        ("10.1000/one and 10.1000/two", ""),
        ("Version 10.12/3 of https://journal.example/articles/1", ""),
    ],
)
def test_the_only_doi_of_a_text_is_found(text: str, doi: str) -> None:
    assert doi_in(text) == doi
