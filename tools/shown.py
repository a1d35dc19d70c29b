"""Notes of a thread: what the user has said, and which results were shown, public ones and those of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage

from ..core.records.research import Run
from ..core.records.sources import DOCUMENT_SCHEME
from ..core.run.conversation import words_of_user
from ..core.run.store.pages import Pages
from .engine import RETRIEVED
from .tool import Outcome

PRIVATE = (DOCUMENT_SCHEME, RETRIEVED)
"""Prefixes of the addresses of private texts."""
SAID = "what the user says"
SHOWN = "results that were shown"


async def note_shown(pages: Pages, outcome: Outcome, reference: str) -> dict[str, dict[str, Any]]:
    """Return the note that adds the results of a call to what was shown; `reference` is the hash of their text."""
    before = await pages.read_note(SHOWN) or {"references": [], "has_documents": False}
    if not outcome.hits or reference in before["references"]:
        return {}
    has_documents = any(hit.source.address.startswith(PRIVATE) for hit in outcome.hits)
    references = [*before["references"], reference]
    return {SHOWN: {"references": references, "has_documents": before["has_documents"] or has_documents}}


async def note_user(pages: Pages, messages: Sequence[AnyMessage], run: Run) -> None:
    """Note what the user has said on the thread until now, and which documents the models are told of."""
    async with pages.alone(SAID):
        before = await pages.read_note(SAID) or {}
        documents = dict.fromkeys([*before.get("documents", []), run.scope.documents])
        said = dict.fromkeys([*before.get("said", []), *words_of_user(messages), run.date])
        language = run.language_code or before.get("language", "")
        now = {"said": [*said], "documents": [text for text in documents if text], "language": language}
        if now != before:
            await pages.note({SAID: now})
