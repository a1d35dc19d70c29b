"""Search with Brave: BRAVE_API_KEY, BRAVE_URL."""

from __future__ import annotations

from typing import Any

from ..engine import Found
from ._api import ApiEngine, ApiRequest, day_of, plain_text, with_domains

_MOST_RESULTS = 20
"""Maximum number of results per answer."""


class Brave(ApiEngine):
    """Calls Brave's web search
    (https://api-dashboard.search.brave.com/api-reference/web/search/get)."""

    name, title = "brave", "Brave"
    address, key_name = "https://api.search.brave.com", "BRAVE_API_KEY"
    # A refusal for too many requests mentions the quota, too; only the code distinguishes them.
    used_up = "QUOTA_LIMITED"

    def request(self, query: str, count: int) -> ApiRequest:
        """Ask for pages, without highlighting of the query's words."""
        params = {
            "q": with_domains(query, self.context),
            "count": str(min(count, _MOST_RESULTS)),
            "text_decorations": "false",
            "result_filter": "web",
        }
        after = self.context.published_after
        if after:
            params["freshness"] = (
                f"{after.isoformat()}to{self.context.clock.now().date().isoformat()}"
            )
        return ApiRequest("/res/v1/web/search", params, headers={"X-Subscription-Token": self.key})

    def results(self, answer: Any) -> Any:
        """Return the pages; an answer without pages lacks `web`."""
        if "web" not in answer and answer["type"] == "search":
            return []
        return answer["web"]["results"]

    def found(self, result: Any) -> Found:
        """Return a page with all its excerpts."""
        excerpts = [result.get("description"), *(result.get("extra_snippets") or ())]
        words = "\n".join(filter(None, map(plain_text, excerpts)))
        return Found(
            plain_text(result.get("title")), result["url"], words, day_of(result.get("page_age"))
        )
