"""Search in the English Wikipedia, or the one of WIKIPEDIA_URL, through langchain-community."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from ...core.run.concurrency import in_thread
from ...core.run.context import Context
from ..engine import USER_AGENT, EngineFailed, Found, failed_request, failed_status, way_to, without_notice

if TYPE_CHECKING:
    import httpx

ADDRESS = "https://en.wikipedia.org/w/api.php"
EXCERPT_CHARACTERS = 2000
# What the API gives introductions of in one request.
MOST_RESULTS = 20


class Wikipedia:
    """Finds articles and shows their introductions."""

    name, title = "wikipedia", "Wikipedia"
    parallel, gap = 2, 0.0

    def __init__(self, context: Context, address: str = "") -> None:
        """`address` is that of the MediaWiki API, if not as the environment says."""
        self._seconds = context.limits.search_seconds
        self._address = address or os.environ.get("WIKIPEDIA_URL") or ADDRESS

    async def search(self, query: str, count: int) -> list[Found]:
        """Articles with their introductions; raises `EngineFailed`."""
        return await in_thread(partial(self._search, query, count))

    def _search(self, query: str, count: int) -> list[Found]:
        import httpx

        with without_notice():
            from langchain_community.utilities.wikipedia import WikipediaAPIWrapper

        headers = {"User-Agent": USER_AGENT}
        with httpx.Client(**way_to(self._address), timeout=self._seconds, headers=headers) as http:
            # Constructed without checks, which would put the package `wikipedia` in the place of our client: that one
            # sends queries over plain HTTP, waits for ever, and asks once for each article and each of its parts.
            wrapper = WikipediaAPIWrapper.model_construct(
                wiki_client=_Articles(http, self._address),
                top_k_results=min(count, MOST_RESULTS),
                doc_content_chars_max=EXCERPT_CHARACTERS,
            )
            documents = wrapper.load(query)
        return [
            Found(document.metadata["title"], document.metadata["source"], document.page_content)
            for document in documents
        ]


class _Article(BaseModel):
    """What is used of an article, as the API names it."""

    index: int
    title: str
    fullurl: str
    extract: str = ""


class _Articles:
    """What the wrapper asks of its client, out of one request."""

    def __init__(self, http: httpx.Client, address: str) -> None:
        self._http, self._address = http, address
        self._pages: dict[str, SimpleNamespace] = {}

    def search(self, query: str, results: int) -> list[str]:
        """Titles, the best first."""
        articles = _articles(self._ask(query, results))
        for article in sorted(articles, key=lambda article: article.index):
            self._pages[article.title] = SimpleNamespace(
                summary=article.extract, content=article.extract, url=article.fullurl
            )
        return list(self._pages)

    def page(self, title: str, **_options: bool) -> SimpleNamespace:
        """Return the article of this title, which a search has found."""
        return self._pages[title]

    def _ask(self, query: str, results: int) -> dict[str, Any]:
        import httpx

        parameters = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "generator": "search",
            "gsrsearch": query,
            "gsrlimit": str(results),
            "prop": "extracts|info",
            "exintro": "1",
            "explaintext": "1",
            "exlimit": "max",
            "inprop": "url",
        }
        try:
            response = self._http.get(self._address, params=parameters)
        except httpx.HTTPError as error:
            raise failed_request(Wikipedia.title, error) from None
        if response.status_code != 200:
            raise failed_status(Wikipedia.title, response.status_code, response.headers.get("Retry-After", ""))
        return _read(response)


def _articles(answer: dict[str, Any]) -> list[_Article]:
    """Return the articles of an answer, without those that lack a part."""
    query = answer.get("query")
    pages = query.get("pages") if isinstance(query, dict) else None
    articles = []
    for page in pages if isinstance(pages, list) else []:
        with suppress(ValidationError):
            articles.append(_Article.model_validate(page))
    return articles


def _read(response: httpx.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "error" in answer:
        raise EngineFailed(f"{Wikipedia.title} did not understand the search.")
    return answer
