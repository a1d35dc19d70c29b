"""Search by Serper, which passes on the results of Google: SERPER_API_KEY, SERPER_URL."""

from __future__ import annotations

from typing import Any

from ..engine import Found
from ..engine_client import ApiEngine, ApiRequest, day_of, text_of, with_domains


class Serper(ApiEngine):
    """Asks Serper's web search (https://serper.dev/playground)."""

    name, title = "serper", "Serper"
    address, key_name = "https://google.serper.dev", "SERPER_API_KEY"

    def request(self, query: str, count: int) -> ApiRequest:
        """Ask for pages; the first day of publication is written as Google's own page writes it."""
        body: dict[str, Any] = {"q": with_domains(query, self.context), "num": count}
        if after := self.context.published_after:
            body["tbs"] = f"cdr:1,cd_min:{after:%m/%d/%Y}"
        return ApiRequest("/search", body=body, headers={"X-API-KEY": self.key})

    def results(self, answer: Any) -> Any:
        """Return the pages, without advertisements and boxes."""
        return answer["organic"]

    def found(self, result: Any) -> Found:
        """Return a page."""
        date = day_of(result.get("date"))
        return Found(text_of(result.get("title")), result["link"], text_of(result.get("snippet")), date)
