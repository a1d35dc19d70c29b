"""The kind of a source's publisher, and the sources of one organisation."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import source_list
from deep_research.core.evidence.origin import organisations, origin_of
from deep_research.core.reading.documents.worker import parse
from deep_research.core.records.sources import Origin, Source


def web(address: str, origin: Origin = "other") -> Source:
    fields = {"title": "A light", "kind": "web", "content_hash": "c", "origin": origin, "number": 7}
    return Source.model_validate({"key": address, "location": address, "address": address, **fields})


def document(path: str, publisher: str = "") -> Source:
    fields = {"title": path, "address": f"docs:{path}", "kind": "document", "publisher": publisher}
    return Source.model_validate({"key": f"file:///{path}", "location": f"file:///{path}", **fields})


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://www.weather.gov/a", "official"),
        ("https://data.gov.uk/a", "official"),
        ("https://www.insee.fr/a", "official"),
        ("https://ec.europa.eu/a", "official"),
        ("https://pubmed.ncbi.nlm.nih.gov/1", "scholarly"),
        ("https://www.ox.ac.uk/a", "scholarly"),
        ("https://www.bbc.co.uk/a", "news"),
        ("https://old.reddit.com/r/a", "forum"),
        ("https://ir.lamp.example/a", "company"),
        ("https://lamp.example/gov.html", "other"),
        ("https://notreddit.com/a", "other"),
        ("https://[", "other"),
    ],
)
def test_the_host_of_a_page_decides_the_kind_of_its_publisher(address: str, origin: Origin) -> None:
    assert origin_of(web(address)) == origin


def test_the_type_of_a_page_counts_if_its_host_is_unknown() -> None:
    for head, origin in (
        ('<script type="application/ld+json">{"@type": "NewsArticle"}</script>', "news"),
        ("<meta name='citation_doi' content='10.1/1'>", "scholarly"),
        ("<meta property='og:type' content='article'>", "other"),
    ):
        assert parse(f"{head}<p>Lit.</p>".encode(), "a.html", address="https://a.example/").origin == origin
    assert origin_of(web("https://lamp.example/", "news")) == "news"
    assert origin_of(web("https://weather.gov/", "news")) == "official"
    assert origin_of(document("files/a.md")) == "own"


def test_files_of_a_folder_and_pages_of_a_domain_are_one_organisation() -> None:
    files = [document(f"files/{number}.md") for number in range(13)]
    assert len({*organisations(files, ()).values()}) == 1
    letters = [document("files/a.eml", "lamp.example"), document("files/b.eml", "Lamp.example"), document("other/a.md")]
    assert len({*organisations([*files, *letters], ()).values()}) == 3
    pages = [
        web(f"https://{host}/")
        for host in ("lamp.co.uk", "www.shop.lamp.co.uk", "light.co.uk", "a.github.io", "b.github.io")
    ]
    assert len({*organisations(pages, ()).values()}) == 4
    reprinted = organisations([*files, *pages], [(files[0].key, pages[0].key)])
    assert reprinted[files[5].key] == reprinted[pages[1].key] != reprinted[pages[2].key]


def test_the_publisher_of_a_letter_is_its_senders_domain() -> None:
    assert parse(b"From: Ada <ada@lamp.example>\n\nLit.", "a.eml").publisher == "lamp.example"
    assert parse(b"---\npublisher: The Lamp Company\n---\nLit.", "a.md").publisher == "The Lamp Company"


def test_the_source_list_has_the_kind_of_each_source() -> None:
    page = web("https://weather.gov/a").model_copy(update={"date": "2026-05-03", "period": "2025"})
    assert "- [7] A light — weather.gov, official, 2026-05-03 (2025)" in source_list([page], labels("en"))
    assert ", amtlich" in source_list([page], labels("de"))
