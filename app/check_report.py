"""Checks a finished report against texts that are given, as the last node of a run does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from ..audit import Draft
from ..knowledge import Source
from ..reading.language import language_of
from ..reading.language_names import named_language
from ..run.context import Context
from ..run.pages import Pages
from ..run.serializer import StrictSerializer
from ..state import Report, Run
from .embed import build_graph, thread_config

_QUESTION = "What do the sources say?"


class SourceDocument(NamedTuple):
    """A source of a report."""

    title: str
    text: str
    """All of it."""
    date: str = ""
    """The beginning of an ISO date; may be empty."""


async def check_report(text: str, sources: Mapping[int, SourceDocument], context: Context) -> Report:
    """Return the report as it stands when it was checked, and corrected if the settings say so.

    `text` is Markdown with markers `[n]` and without a list of sources; `sources` by these numbers. The keys of the
    sources in the result are these numbers, as text.
    """
    store, config = InMemoryStore(), thread_config("check")
    graph = build_graph(checkpointer=InMemorySaver(serde=StrictSerializer()), store=store)
    pages = Pages(store, config["configurable"]["thread_id"])
    known = {str(number): await _source(number, one, pages) for number, one in sources.items()}
    keys = tuple(str(number) if number in sources else "" for number in range(1, max(sources, default=0) + 1))
    language = named_language(language_of(text) or "en")
    values: dict[str, Any] = {
        "messages": [HumanMessage(_QUESTION)],
        "run": Run(
            id="check",
            question=_QUESTION,
            date=context.clock.now().strftime("%A, %d %B %Y"),
            language=language.name,
            language_code=language.code,
            is_resumable=True,
            version="",
        ),
        "sources": known,
        "draft": Draft(
            text=text,
            sources=keys,
            streamed=text,
            streamed_sources=keys,
            seconds_before=0.0,
            removed_markers=0,
            has_gaps=False,
        ),
    }
    await graph.aupdate_state(config, values, as_node="write_report")
    async for _ in graph.astream(None, config, context=context):
        pass
    report: Report = (await graph.aget_state(config)).values["report"]
    return report


async def _source(number: int, source: SourceDocument, pages: Pages) -> Source:
    key = str(number)
    return Source(
        key=key,
        title=source.title,
        location=key,
        address=key,
        kind="document",
        date=source.date,
        content_hash=await pages.keep(source.text),
        number=number,
    )
