"""Search for scholarly works in OpenAlex: OPENALEX_API_KEY, OPENALEX_URL."""

from __future__ import annotations

from typing import Any

from ..engine import Found
from ._api import ApiEngine, ApiRequest, day_of, doi_address, plain_text

_FIELDS = "id,doi,display_name,publication_date,abstract_inverted_index,is_retracted"
# Wildcards and fuzzy search in OpenAlex's queries, which models do not use on purpose.
_PLAIN = str.maketrans("*?~", "   ")


class OpenAlex(ApiEngine):
    """Searches works and their abstracts (https://developers.openalex.org/api-reference/works)."""

    name, title = "openalex", "OpenAlex"
    address, key_name, needs_key = "https://api.openalex.org", "OPENALEX_API_KEY", False

    def request(self, query: str, count: int) -> ApiRequest:
        """Ask for works; without a key, OpenAlex allows a few searches per day."""
        params = {"search": query.translate(_PLAIN), "per_page": str(count), "select": _FIELDS}
        after = self.context.published_after
        if after:
            params["filter"] = f"from_publication_date:{after.isoformat()}"
        if self.key:
            params["api_key"] = self.key
        return ApiRequest("/works", params)

    def found(self, result: Any) -> Found:
        """Return a work by its DOI, or else by its page at OpenAlex."""
        positioned: list[tuple[int, str]] = []
        for word, positions in (result.get("abstract_inverted_index") or {}).items():
            positioned += [(position, word) for position in positions]
        words = [word for _, word in sorted(positioned)]
        return Found(
            plain_text(result["display_name"]),
            doi_address(result.get("doi")) or result["id"],
            plain_text(" ".join(words)),
            day_of(result.get("publication_date")),
            is_retracted=result.get("is_retracted") is True,
        )
