"""Search for papers in medicine and the life sciences in Europe PMC, which needs no key:
EUROPEPMC_URL."""

from __future__ import annotations

from typing import Any

from ..engine import Found
from ._api import ApiEngine, ApiRequest, day_of, doi_address, plain_text

_RETRACTED = "retracted publication"
"""Publication type of a retracted paper in PubMed; that of the notice is another one."""
_PAGE = "https://europepmc.org/article"
# Operators of its queries (https://europepmc.org/searchsyntax), which models do not use on purpose.
_PLAIN = str.maketrans(":()[]{}", "       ")


class EuropePMC(ApiEngine):
    """Searches papers and their abstracts (https://europepmc.org/RestfulWebService)."""

    name, title = "europepmc", "Europe PMC"
    address = "https://www.ebi.ac.uk/europepmc/webservices/rest"
    results_at = ("resultList", "result")

    def request(self, query: str, count: int) -> ApiRequest:
        """Ask for papers, most relevant first."""
        words = query.translate(_PLAIN)
        after = self.context.published_after
        if after:
            words = f"({words}) AND (FIRST_PDATE:[{after.isoformat()} TO 3000-01-01])"
        params = {"query": words, "format": "json", "resultType": "core", "pageSize": str(count)}
        return ApiRequest("/search", params)

    def found(self, result: Any) -> Found:
        """Convert a result, addressed by its DOI or else by its page at Europe PMC."""
        address = doi_address(result.get("doi")) or f"{_PAGE}/{result['source']}/{result['id']}"
        date = day_of(result.get("firstPublicationDate"))
        kinds = str(result.get("pubTypeList")).casefold()
        corrections = result.get("commentCorrectionList")
        notices = corrections.get("commentCorrection") if isinstance(corrections, dict) else None
        paper = Found(
            plain_text(result["title"]),
            address,
            plain_text(result.get("abstractText")),
            date,
            is_retracted=_RETRACTED in kinds,
        )
        return paper.with_notices(notices)
