"""Search with Serper, which passes on the results of Google: SERPER_API_KEY, SERPER_URL."""

from __future__ import annotations

from typing import Any

from ..engine import Found
from ._api import ApiEngine, ApiRequest, day_of, text_of, with_domains


class Serper(ApiEngine):
    """Calls Serper's web search (https://serper.dev/playground)."""

    name, title = "serper", "Serper"
    address, key_name = "https://google.serper.dev", "SERPER_API_KEY"
    # Pages only, without advertisements and boxes.
    results_at = ("organic",)

    def request(self, query: str, count: int) -> ApiRequest:
        """Ask for pages; the earliest date is written as on Google's own page."""
        body: dict[str, Any] = {"q": with_domains(query, self.context), "num": count}
        after = self.context.published_after
        if after:
            body["tbs"] = f"cdr:1,cd_min:{after:%m/%d/%Y}"
        return ApiRequest("/search", body=body, headers={"X-API-KEY": self.key})

    def found(self, result: Any) -> Found:
        """Convert a result to a found page."""
        date = day_of(result.get("date"))
        return Found(
            text_of(result.get("title")), result["link"], text_of(result.get("snippet")), date
        )
