"""Search for papers of medicine and the life sciences in Europe PMC, which needs no key: EUROPEPMC_URL."""

from __future__ import annotations

from typing import Any

from ..engine import Found
from ..engine_client import ApiEngine, ApiRequest, day_of, doi_address, plain_text

PAGE = "https://europepmc.org/article"
# They have a meaning in its queries (https://europepmc.org/searchsyntax) that the words of a model do not have.
_PLAIN = str.maketrans(":()[]{}", "       ")


class EuropePMC(ApiEngine):
    """Asks for papers with their abstracts (https://europepmc.org/RestfulWebService)."""

    name, title = "europepmc", "Europe PMC"
    address = "https://www.ebi.ac.uk/europepmc/webservices/rest"

    def request(self, query: str, count: int) -> ApiRequest:
        """Ask for papers, the most relevant first."""
        words = query.translate(_PLAIN)
        if after := self.context.published_after:
            words = f"({words}) AND (FIRST_PDATE:[{after.isoformat()} TO 3000-01-01])"
        params = {"query": words, "format": "json", "resultType": "core", "pageSize": str(count)}
        return ApiRequest("/search", params)

    def results(self, answer: Any) -> Any:
        """Return the papers."""
        return answer["resultList"]["result"]

    def found(self, result: Any) -> Found:
        """Return a paper by its DOI, or else by its page at Europe PMC."""
        address = doi_address(result.get("doi")) or f"{PAGE}/{result['source']}/{result['id']}"
        date = day_of(result.get("firstPublicationDate"))
        return Found(plain_text(result["title"]), address, plain_text(result.get("abstractText")), date)
