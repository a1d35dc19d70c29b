"""Search for scholarly works in Crossref, which needs no key: CROSSREF_URL."""

from __future__ import annotations

from typing import Any

from ..engine import Found
from ._api import ApiEngine, ApiRequest, doi_address, plain_text

_FIELDS = "DOI,title,abstract,issued,updated-by"


class Crossref(ApiEngine):
    """Searches works as deposited by publishers
    (https://api.crossref.org/swagger-ui/index.html)."""

    name, title, address = "crossref", "Crossref", "https://api.crossref.org"
    results_at = ("message", "items")
    # Its limit for searches from the public: one at a time
    # (https://crossref.org/documentation/retrieve-metadata/rest-api/access-and-authentication/).
    parallel, gap = 1, 1.0

    def request(self, query: str, count: int) -> ApiRequest:
        """Ask for works by title, author and journal."""
        params = {"query.bibliographic": query, "rows": str(count), "select": _FIELDS}
        after = self.context.published_after
        if after:
            params["filter"] = f"from-pub-date:{after.isoformat()}"
        if self.context.email:
            params["mailto"] = self.context.email
        return ApiRequest("/works", params)

    def found(self, result: Any) -> Found:
        """Return a work by its DOI; its date may be a year or a month."""
        issued = result.get("issued", {}).get("date-parts", [[]])[0]
        numbers = [number for number in issued if isinstance(number, int)]
        date = ""
        if numbers:
            year, *rest = numbers[:3]
            date = "-".join([f"{year:04}", *(f"{number:02}" for number in rest)])
        titles = result.get("title") or ()
        title = plain_text(next(iter(titles), ""))
        abstract = plain_text(result.get("abstract"))
        paper = Found(title, doi_address(result["DOI"]), abstract, date)
        # The record of a retraction notice has `update-to` instead.
        return paper.with_notices(result.get("updated-by"))
