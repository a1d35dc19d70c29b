"""Keeps the answers of engines with the thread: a search that was paid for is not made again for one question."""

from __future__ import annotations

import hashlib
import json

from ...run.context import Context
from ..desk import Desk
from ..usable import cleaned
from .engine import Found, SearchEngine
from .pace import ask


async def search(engine: SearchEngine, query: str, context: Context, desk: Desk) -> list[Found]:
    """The engine's results, cleaned, or those that it gave before for this question; raises `EngineFailed`.

    Of several that ask the same at once, one asks the engine and the others wait for what it is told. An answer
    without results is not kept: some engines give it to whoever they turn away.
    """
    name = _name(engine, query, context, desk.question_id)
    async with desk.pages.alone(name):
        if noted := await desk.pages.noted(name):
            return [Found(**found) for found in noted["found"]]
        limits = context.limits
        found = await ask(engine, query, limits.max_web_results, limits.search_seconds, desk.meter)
        results = cleaned(found, limits.max_web_results)
        if results:
            await desk.pages.note({name: {"found": [one._asdict() for one in results]}})
    return results


def _name(engine: SearchEngine, query: str, context: Context, question_id: str) -> str:
    """The name of the note: an answer counts for its own question, as the web changes, and for the same settings."""
    asked = (
        engine.name,
        query.casefold(),
        context.limits.max_web_results,
        context.domains_allow,
        context.domains_deny,
        str(context.published_after),
    )
    return f"searched {question_id} {hashlib.sha256(json.dumps(asked).encode()).hexdigest()}"
