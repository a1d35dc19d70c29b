"""Search with Exa: EXA_API_KEY, EXA_URL."""

from __future__ import annotations

from typing import Any

from ...core.reading.policy import Policy
from ..engine import Found
from ._api import ApiEngine, ApiRequest, day_of, sent_domains, text_of

_MOST_DOMAINS = 1200
"""Maximum number of domains in one list."""


class Exa(ApiEngine):
    """Calls Exa's search (https://docs.exa.ai/reference/search)."""

    name, title = "exa", "Exa"
    address, key_name = "https://api.exa.ai", "EXA_API_KEY"

    def request(self, query: str, count: int) -> ApiRequest:
        """Ask for pages with the passages that fit the query best."""
        context = self.context
        body: dict[str, Any] = {
            "query": query,
            "numResults": count,
            "contents": {"highlights": True},
        }
        policy = Policy(context)
        allowed = sent_domains(policy.allowed, _MOST_DOMAINS)
        if allowed:
            body["includeDomains"] = allowed
        denied = sent_domains(policy.denied, _MOST_DOMAINS)
        if denied:
            body["excludeDomains"] = denied
        if context.published_after:
            body["startPublishedDate"] = f"{context.published_after.isoformat()}T00:00:00.000Z"
        return ApiRequest("/search", body=body, headers={"x-api-key": self.key})

    def found(self, result: Any) -> Found:
        """Return a page with its passages."""
        words = "\n".join(map(text_of, result.get("highlights") or ()))
        return Found(
            text_of(result.get("title")), result["url"], words, day_of(result.get("publishedDate"))
        )
