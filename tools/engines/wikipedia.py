"""Search in the English Wikipedia, or the one at WIKIPEDIA_URL."""

from __future__ import annotations

from typing import Any

from ..engine import Found
from ._api import ApiEngine, ApiRequest, text_of

_MOST_RESULTS = 20
"""Maximum number of introductions per request."""


class Wikipedia(ApiEngine):
    """Finds articles and shows their introductions
    (https://www.mediawiki.org/wiki/Extension:TextExtracts)."""

    name, title = "wikipedia", "Wikipedia"
    address = "https://en.wikipedia.org/w/api.php"

    def request(self, query: str, count: int) -> ApiRequest:
        """Ask for articles and their introductions at once."""
        params = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "generator": "search",
            "gsrsearch": query,
            "gsrlimit": str(min(count, _MOST_RESULTS)),
            "prop": "extracts|info",
            "exintro": "1",
            "explaintext": "1",
            "exlimit": "max",
            "inprop": "url",
        }
        return ApiRequest(params=params)

    def results(self, answer: Any) -> Any:
        """Return the articles, best first; an answer without articles lacks `query`."""
        if "query" not in answer and answer["batchcomplete"]:
            return []
        articles: list[dict[str, Any]] = []
        for page in answer["query"]["pages"]:
            if isinstance(page, dict) and isinstance(page.get("index"), int):
                articles.append(page)
        return sorted(articles, key=lambda page: page["index"])

    def found(self, result: Any) -> Found:
        """Return an article."""
        return Found(result["title"], result["fullurl"], text_of(result.get("extract")))
