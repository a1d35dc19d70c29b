"""Reads all of the user's documents, where they are so short that searching them would cost more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import BaseModel

from ..library.library import LISTED, Library
from ..models.resolve import is_extractive, profile_of
from ..run import tool_names
from ..run.context import Context
from .tool import Hit, Lines, Outcome

CALL_ID = "documents"
"""Id of the call by which a researcher begins; the same in each, as all that stands before its task."""
OPENING = "Read the user's documents."
SHARE = 8
"""The documents fill at most one part in so many of the window of the researchers' model."""
CHARACTERS_PER_TOKEN = 4


class ReadDocumentsArguments(BaseModel):
    """Read all of the user's documents."""

    documents: Lines
    """Their addresses."""


class ReadDocuments:
    """Shows all documents of a library whole; no model calls it, researchers begin with it."""

    name = tool_names.READ_DOCUMENTS
    arguments: type[BaseModel] = ReadDocumentsArguments

    def __init__(self, library: Library) -> None:
        self._library = library

    async def run(self, arguments: BaseModel) -> Outcome:
        """Read those that are named, as far as they still exist."""
        wanted = ReadDocumentsArguments.model_validate(arguments, from_attributes=True).documents
        # The library blocks on SQLite, which the server's event loop refuses.
        documents = await asyncio.to_thread(self._library.standing)
        kept = [one for one in documents if one.source.address in wanted]
        return Outcome(tuple(Hit(one.source, one.text, one.text) for one in kept))


def behind_documents(task: Sequence[AnyMessage], notes: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a conversation with its task before the notes, but for documents that were read first.

    All who read them so begin alike, and a provider reads them once.
    """
    first = notes[0] if notes else None
    has_read = isinstance(first, AIMessage) and any(call["id"] == CALL_ID for call in first.tool_calls)
    return [HumanMessage(OPENING), *notes[:2], *task, *notes[2:]] if has_read else [*task, *notes]


def read_whole(library: Library, documents: int, context: Context) -> tuple[str, ...]:
    """Return the addresses of so many documents if researchers should read them all; else none.

    The model that quotes goes by searches: they tell it what bears on a question.
    """
    window = profile_of("researcher", context).window
    most = min(context.limits.whole_characters, window * CHARACTERS_PER_TOKEN // SHARE)
    if not 0 < documents <= LISTED or is_extractive("researcher", context):
        return ()
    found: list[str] = []
    for one in library.documents():
        most -= len(one.text)
        if most < 0:
            return ()
        found.append(one.source.address)
    return tuple(found)
