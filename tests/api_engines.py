"""The engines with a JSON API, each with an answer in the shape of its public documentation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from search_api import Answer, Request

from deep_research.tools.engine import Found
from deep_research.tools.engine_client import ApiEngine
from deep_research.tools.engines.brave import Brave
from deep_research.tools.engines.crossref import Crossref
from deep_research.tools.engines.europepmc import EuropePMC
from deep_research.tools.engines.exa import Exa
from deep_research.tools.engines.openalex import OpenAlex
from deep_research.tools.engines.searxng import SearXNG
from deep_research.tools.engines.serper import Serper
from deep_research.tools.engines.wikipedia import Wikipedia

SECRET = "canary-of-a-key-0123"


class Kit(NamedTuple):
    """What is known of one engine."""

    engine: type[ApiEngine]
    documentation: str
    """Address of the page whose example the answers follow."""
    path: str
    """What is asked for `deep sea`, the documentation's limits of results, and pages since the second day of 2025."""
    sent: Mapping[str, Any]
    """The parameters, or the body; and the header of the key."""
    answer: Mapping[str, Any]
    found: Found
    """The first result of the answer."""
    empty: Mapping[str, Any]
    used_up: Answer | None = None
    """How it says that the quota is used up; none if it has none."""

    @property
    def name(self) -> str:
        return self.engine.name

    def environment(self, address: str) -> dict[str, str]:
        """The variables that lead a client to this address."""
        key = {self.engine.key_name: SECRET} if self.engine.key_name else {}
        return {f"{self.name.upper()}_URL": address, **key}


def sent_to(request: Request) -> dict[str, Any]:
    """The parameters or the body of a request, and the header that holds the key."""
    params = {name: value for name, (value,) in parse_qs(urlsplit(request.path).query).items()}
    key = {name.lower(): value for name, value in request.headers.items() if value == SECRET}
    return {**params, **(request.json if request.body else {}), **key}


def brave(*results: Mapping[str, Any]) -> dict[str, Any]:
    """Pages as Brave writes them."""
    return {"type": "search", "query": {"original": "x"}, "web": {"type": "search", "results": list(results)}}


def searxng(*results: Mapping[str, Any]) -> dict[str, Any]:
    """Pages as SearXNG writes them."""
    return {"query": "x", "number_of_results": 0, "results": list(results), "answers": [], "infoboxes": []}


def refused(status: int, **body: Any) -> Answer:
    return Answer(status=status, body=json.dumps(body))


DOI = "https://doi.org/10.1000/abc(12)"
KITS = (
    Kit(
        SearXNG,
        "https://docs.searxng.org/dev/search_api",
        "/search",
        {"q": "deep sea site:a.example", "format": "json"},
        searxng(
            {
                **{"url": "https://a.example/", "title": "The sea", "content": "It is deep.", "engine": "bing"},
                **{"publishedDate": "2025-03-01T00:00:00", "engines": ["bing"], "positions": [1], "score": 1.0},
            }
        ),
        Found("The sea", "https://a.example/", "It is deep.", "2025-03-01"),
        searxng(),
    ),
    Kit(
        Brave,
        "https://api-dashboard.search.brave.com/api-reference/web/search/get",
        "/res/v1/web/search",
        {
            **{"q": "deep sea site:a.example", "count": "20", "text_decorations": "false", "result_filter": "web"},
            **{"freshness": "2025-01-02to2031-05-06", "x-subscription-token": SECRET},
        },
        brave(
            {
                **{"title": "The sea", "url": "https://a.example/", "description": "It&#x27;s <strong>deep</strong>."},
                **{"age": "March 1, 2025", "page_age": "2025-03-01T07:00:00", "extra_snippets": ["And cold."]},
            }
        ),
        Found("The sea", "https://a.example/", "It's deep.\nAnd cold.", "2025-03-01"),
        {"type": "search", "query": {"original": "deep sea"}},
        refused(429, type="ErrorResponse", error={"code": "QUOTA_LIMITED", "detail": "x", "meta": {}}),
    ),
    Kit(
        Exa,
        "https://docs.exa.ai/reference/search",
        "/search",
        {
            **{"query": "deep sea", "numResults": 30, "contents": {"highlights": True}},
            **{"includeDomains": ["a.example"], "startPublishedDate": "2025-01-02T00:00:00.000Z", "x-api-key": SECRET},
        },
        {
            "requestId": "b5947044c4b78efa9552a7c89b306d95",
            "results": [
                {
                    **{"title": "The sea", "url": "https://a.example/", "publishedDate": "2025-03-01T01:36:32.547Z"},
                    **{"id": "https://a.example/", "author": None, "highlights": ["It is deep.", "And cold."]},
                }
            ],
            "costDollars": {"total": 0.005},
        },
        Found("The sea", "https://a.example/", "It is deep.\nAnd cold.", "2025-03-01"),
        {"requestId": "b5947044c4b78efa9552a7c89b306d95", "results": []},
        refused(402, requestId="x", error="x", tag="NO_MORE_CREDITS"),
    ),
    Kit(
        Serper,
        "https://serper.dev/playground",
        "/search",
        {"q": "deep sea site:a.example", "num": 30, "tbs": "cdr:1,cd_min:01/02/2025", "x-api-key": SECRET},
        {
            "searchParameters": {"q": "deep sea", "type": "search"},
            "organic": [
                {
                    **{"title": "The sea", "link": "https://a.example/", "snippet": "It is deep."},
                    **{"date": "Mar 1, 2025", "position": 1},
                }
            ],
            "credits": 1,
        },
        Found("The sea", "https://a.example/", "It is deep.", "2025-03-01"),
        {"searchParameters": {"q": "deep sea", "type": "search"}, "organic": [], "credits": 1},
        refused(400, message="Not enough credits", statusCode=400),
    ),
    Kit(
        OpenAlex,
        "https://developers.openalex.org/api-reference/works",
        "/works",
        {
            **{"search": "deep sea", "per_page": "30", "filter": "from_publication_date:2025-01-02"},
            **{"select": "id,doi,display_name,publication_date,abstract_inverted_index", "api_key": SECRET},
        },
        {
            "meta": {"count": 1, "page": 1, "per_page": 30},
            "results": [
                {
                    **{"id": "https://openalex.org/W1", "doi": "https://doi.org/10.1000/ABC(12)"},
                    **{"display_name": "The <i>sea</i>", "publication_date": "2025-03-01"},
                    "abstract_inverted_index": {"deep.": [2, 5], "It": [0, 3], "is": [1, 4]},
                }
            ],
            "group_by": [],
        },
        Found("The sea", DOI, "It is deep. It is deep.", "2025-03-01"),
        {"meta": {"count": 0}, "results": [], "group_by": []},
        refused(429, error="Rate limit exceeded", message="You have no credits left today."),
    ),
    Kit(
        Crossref,
        "https://api.crossref.org/swagger-ui/index.html",
        "/works",
        {
            **{"query.bibliographic": "deep sea", "rows": "30", "select": "DOI,title,abstract,issued"},
            "filter": "from-pub-date:2025-01-02",
        },
        {
            "status": "ok",
            "message-type": "work-list",
            "message": {
                "total-results": 1,
                "items": [
                    {
                        **{"DOI": "10.1000/ABC(12)", "title": ["The sea"], "issued": {"date-parts": [[2025, 3]]}},
                        "abstract": "<jats:p>It is &lt; 9 km<jats:sup>2</jats:sup>.</jats:p>",
                    }
                ],
            },
        },
        Found("The sea", DOI, "It is < 9 km2.", "2025-03"),
        {"status": "ok", "message": {"total-results": 0, "items": []}},
    ),
    Kit(
        EuropePMC,
        "https://europepmc.org/RestfulWebService",
        "/search",
        {
            "query": "(deep sea) AND (FIRST_PDATE:[2025-01-02 TO 3000-01-01])",
            **{"format": "json", "resultType": "core", "pageSize": "30"},
        },
        {
            "version": "6.9",
            "hitCount": 1,
            "resultList": {
                "result": [
                    {
                        **{"id": "12345", "source": "MED", "pmid": "12345", "doi": "10.1000/ABC(12)"},
                        **{"title": "The sea", "abstractText": "<h4>Aim</h4>It is deep."},
                        "firstPublicationDate": "2025-03-01",
                    }
                ]
            },
        },
        Found("The sea", DOI, "Aim It is deep.", "2025-03-01"),
        {"version": "6.9", "hitCount": 0, "resultList": {"result": []}},
    ),
    Kit(
        Wikipedia,
        "https://www.mediawiki.org/wiki/Extension:TextExtracts",
        "",
        {
            **{"action": "query", "format": "json", "formatversion": "2", "generator": "search"},
            **{"gsrsearch": "deep sea", "gsrlimit": "20", "prop": "extracts|info", "inprop": "url"},
            **{"exintro": "1", "explaintext": "1", "exlimit": "max"},
        },
        {
            "batchcomplete": True,
            "query": {
                "pages": [
                    {"pageid": 2, "title": "Neap", "index": 2, "fullurl": "https://a.example/Neap"},
                    {
                        **{"pageid": 1, "title": "The sea", "index": 1, "extract": "It is deep."},
                        "fullurl": "https://a.example/",
                    },
                ]
            },
        },
        Found("The sea", "https://a.example/", "It is deep."),
        {"batchcomplete": True},
    ),
)
