"""Checks a finished report against texts that are given, as the last node of a run does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from ..audit import Draft
from ..evidence.citations.document import without_marks
from ..evidence.text.language import language_of
from ..knowledge import Source
from ..reading.language_names import named_language
from ..run.context import Context
from ..run.pages import Pages, text_hash
from ..run.serializer import StrictSerializer
from ..state import Report, ResearchState, Run
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
    known = {str(number): _source(number, one) for number, one in sources.items()}
    keys = tuple(str(number) if number in sources else "" for number in range(1, max(sources, default=0) + 1))
    language = named_language(language_of(text) or "en")
    run = Run(
        id="check",
        question=_QUESTION,
        date=context.clock.now().strftime("%A, %d %B %Y"),
        language=language.name,
        language_code=language.code,
        is_resumable=True,
        version="",
    )
    return await _checked(text, keys, known, [one.text for one in sources.values()], run, context)


async def check_again(state: ResearchState, texts: Iterable[str], context: Context) -> Report:
    """Return the report of a finished run, checked anew by these settings; `texts`: what is kept of its sources."""
    assert state.run is not None and state.report is not None
    report = state.report
    # Whatever ended the research, this check has a budget of its own.
    run = state.run.model_copy(update={"stop_reason": ""})
    return await _checked(without_marks(report.text), report.sources, state.sources, texts, run, context)


async def _checked(
    text: str,
    keys: Sequence[str],
    sources: Mapping[str, Source],
    texts: Iterable[str],
    run: Run,
    context: Context,
) -> Report:
    """Put a report through the last node of a graph of its own, which leaves no trace elsewhere."""
    store, config = InMemoryStore(), thread_config("check")
    graph = build_graph(checkpointer=InMemorySaver(serde=StrictSerializer()), store=store)
    pages = Pages(store, config["configurable"]["thread_id"])
    for one in texts:
        await pages.keep(one)
    values: dict[str, Any] = {
        "messages": [HumanMessage(run.question)],
        "run": run,
        "sources": dict(sources),
        "draft": Draft(
            text=text,
            sources=tuple(keys),
            streamed=text,
            streamed_sources=tuple(keys),
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


def _source(number: int, source: SourceDocument) -> Source:
    key = str(number)
    return Source(
        key=key,
        title=source.title,
        location=key,
        address=key,
        kind="document",
        date=source.date,
        content_hash=text_hash(source.text),
        number=number,
    )
