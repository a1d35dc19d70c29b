"""Search with a SearXNG server: SEARXNG_URL."""

from __future__ import annotations

from typing import Any

from ..engine import Found
from ._api import ApiEngine, ApiRequest, day_of, text_of, with_domains


class SearXNG(ApiEngine):
    """Calls a SearXNG server (https://docs.searxng.org/dev/search_api)."""

    name, title = "searxng", "SearXNG"
    denial = "allow the format json in the server's settings.yml (search.formats)"

    def request(self, query: str, count: int) -> ApiRequest:  # noqa: ARG002 - the server decides on the number
        """Ask for JSON, which the server has to allow."""
        return ApiRequest("/search", {"q": with_domains(query, self.context), "format": "json"})

    def found(self, result: Any) -> Found:
        """Return a page; few have a date."""
        date = day_of(result.get("publishedDate"))
        return Found(
            text_of(result.get("title")), result["url"], text_of(result.get("content")), date
        )
