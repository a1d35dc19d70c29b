"""Directories of papers on loopback, in the shapes of their public documentation, and a web that holds the copies.

- Crossref: https://www.crossref.org/documentation/retrieve-metadata/rest-api/ and, for retractions,
  https://crossref.gitlab.io/tutorials/get-rw-metadata/
- Europe PMC: https://europepmc.org/RestfulWebService (search, `resultType=core`)
- arXiv: https://info.arxiv.org/help/api/user-manual.html
- OpenAlex: https://developers.openalex.org/api-reference/works/get-a-single-work
- Unpaywall: https://unpaywall.org/data-format
- Internet Archive: https://archive.org/help/wayback_api.php
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from web import Web, hostile_web

DOI = "10.5555/skerry.1844"
TITLE = "The first lamp of the Skerry Light"
EMAIL = "reader@keldness.org"
KEY = "openalex-canary-key"
PATHS = {
    "CROSSREF_URL": "/crossref",
    "EUROPEPMC_URL": "/europepmc",
    "ARXIV_URL": "/arxiv",
    "OPENALEX_URL": "/openalex",
    "UNPAYWALL_URL": "/unpaywall",
    "INTERNETARCHIVE_URL": "/available",
}
FEED = """<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">
<title>arXiv Query: search_query=doi:{doi}</title>
<entry><id>http://arxiv.org/abs/0000.00001v1</id><title>Another paper</title>
<arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.5555/another</arxiv:doi>
<link title="pdf" href="http://127.0.0.1:9/another" rel="related" type="application/pdf"/></entry>
<entry><id>http://arxiv.org/abs/1844.00001v2</id><title>The first lamp</title>
<link title="doi" href="http://dx.doi.org/{doi}" rel="related"/>
<link href="http://arxiv.org/abs/1844.00001v2" rel="alternate" type="text/html"/>
<arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">{doi}</arxiv:doi>
<link title="pdf" href="{address}" rel="related" type="application/pdf"/></entry></feed>"""


class Directories:
    """The directories, seen from a test; until one is given a copy, all of them know the paper and no copy."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.crossref()
        for publish in (self.europe_pmc, self.openalex, self.unpaywall):
            publish("")

    @property
    def asked(self) -> list[str]:
        """Which of them were asked, in order, each time."""
        paths = ["/" + urlsplit(one.target).path.split("/")[1] for one in self.web.requests]
        return [path.removeprefix("/") for path in paths if path in PATHS.values()]

    def query(self, path: str) -> dict[str, list[str]]:
        """What one of them was asked first."""
        return next(parse_qs(urlsplit(one.target).query) for one in self.web.requests if one.target.startswith(path))

    def crossref(self, *updates: str) -> None:
        """A record, with updates of these types."""
        updated = [
            {"DOI": f"10.5555/{one}", "type": one, "source": "retraction-watch", "label": one} for one in updates
        ]
        work = {"DOI": DOI, "title": [TITLE], "type": "journal-article", **({"updated-by": updated} if updated else {})}
        self._answer(f"/crossref/works/{DOI}", {"status": "ok", "message-type": "work", "message": work})

    def europe_pmc(self, address: str) -> None:
        shared = {"availability": "Open access", "availabilityCode": "OA", "site": "Europe_PMC"}
        texts = [
            {"availability": "Subscription required", "availabilityCode": "S", "documentStyle": "doi",
             "site": "DOI", "url": f"https://doi.org/{DOI}"},
            *([{**shared, "documentStyle": "html", "url": self.web.url("/shell")},
               {**shared, "documentStyle": "pdf", "url": address}] if address else []),
        ]  # fmt: skip
        result = {
            "id": "1",
            "source": "MED",
            "doi": DOI.upper(),
            "title": TITLE,
            "fullTextUrlList": {"fullTextUrl": texts},
        }
        self._answer("/europepmc/search", {"hitCount": 1, "resultList": {"result": [result]}})

    def arxiv(self, address: str) -> None:
        self.web.publish("/arxiv", FEED.format(doi=DOI, address=address), content_type="application/atom+xml")

    def openalex(self, address: str) -> None:
        closed = {"is_oa": False, "landing_page_url": f"https://doi.org/{DOI}", "pdf_url": None}
        copy = {"is_oa": True, "landing_page_url": self.web.url("/landing"), "pdf_url": address}
        found = [closed, copy] if address else [closed]
        self._answer(f"/openalex/works/doi:{DOI}", {"best_oa_location": copy if address else None, "locations": found})

    def unpaywall(self, address: str) -> None:
        copy = {"host_type": "repository", "is_best": True, "url": address, "url_for_pdf": address,
                "url_for_landing_page": self.web.url("/landing"), "version": "acceptedVersion"}  # fmt: skip
        found = [copy] if address else []
        work = {"doi": DOI, "is_oa": bool(found), "title": TITLE, "oa_locations": found}
        self._answer(f"/unpaywall/{DOI}", {**work, "best_oa_location": copy if address else None})

    def archive(self, address: str, kept: str, time: str) -> None:
        closest = {"available": True, "url": kept, "timestamp": time, "status": "200"}
        self._answer("/available", {"url": address, "archived_snapshots": {"closest": closest} if kept else {}})

    def _answer(self, path: str, content: object) -> None:
        self.web.publish(path, json.dumps(content), content_type="application/json")


@contextmanager
def directories(monkeypatch: pytest.MonkeyPatch) -> Iterator[Directories]:
    """Serve them, and set the environment that leads to them."""
    with hostile_web() as web:
        for name, path in PATHS.items():
            monkeypatch.setenv(name, web.url(path))
        yield Directories(web)
