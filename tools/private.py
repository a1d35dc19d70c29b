"""What the user's documents have shown in a thread, to whichever researcher: none of it is sent away by a search."""

from __future__ import annotations

from ..run.pages import Pages
from .outcome import Outcome
from .results import read_results
from .roots import SCHEME

_NAME = "results with documents"


async def note_documents(pages: Pages, outcome: Outcome, reference: str) -> None:
    """Note the stored results of a call if they show documents; `reference` is the hash of their text."""
    if not any(hit.source.address.startswith(SCHEME) for hit in outcome.hits):
        return
    async with pages.alone(_NAME):
        references = (await pages.noted(_NAME) or {}).get("references", [])
        if reference not in references:
            await pages.note({_NAME: {"references": [*references, reference]}})


async def documents_shown(pages: Pages) -> tuple[str, ...]:
    """All passages of documents that the thread's researchers have been shown."""
    references = (await pages.noted(_NAME) or {}).get("references", [])
    texts = [await pages.text(reference) or "" for reference in references]
    results = [result for text in texts for result in read_results(text)]
    return tuple(result["text"] for result in results if result["address"].startswith(SCHEME))
