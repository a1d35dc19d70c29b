"""Check a report against given texts, or a finished one again: the command `audit`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from ..core.evidence.checking.reaudit import Reaudit, Rechecked, compare_checks
from ..core.evidence.citations.rendering import without_marks
from ..core.evidence.language import detect_language
from ..core.models.resolve import check_models, load_models, profile_of
from ..core.records.report import Audit, Draft, Report
from ..core.records.research import Run
from ..core.records.sources import Source
from ..core.run.context import Context
from ..core.run.conversation import clean
from ..core.run.settings import read_context
from ..core.run.spending import carry_over
from ..core.run.store.pages import OWNER, Pages, text_hash
from ..core.run.store.serializer import StrictSerializer
from ..core.run.tracing import tracing_if
from ..core.writing.language import named_language
from .embed import build_graph, thread_config
from .endings import reports_errors, run_interruptibly
from .export import no_report_yet
from .output import calls_line, engines_line
from .progress import PlainLines
from .run_name import RunName
from .runs import StoredRun
from .stored import kept_run
from .terminal import put_out, say
from .words import DONE, FAILED, counted, counts_line

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
    keys = {number: str(number) for number in sources}
    return await checked(text, keys, known, [one.text for one in sources.values()], run_for(text, context), context)


def run_for(text: str, context: Context) -> Run:
    """Return a run for the check of a report in its language."""
    language = named_language(detect_language(text) or "en")
    return Run(
        id="check",
        question=_QUESTION,
        date=context.clock.now().strftime("%A, %d %B %Y"),
        language=language.name,
        language_code=language.code,
        is_resumable=True,
        version="",
    )


async def checked(
    text: str,
    keys: Mapping[int, str],
    sources: Mapping[str, Source],
    texts: Iterable[str],
    run: Run,
    context: Context,
    account: Pages | None = None,
) -> Report:
    """Put a report through the last node of a graph of its own, leaving no trace but in the `account` of a user."""
    store, config = InMemoryStore(), thread_config("check")
    # Compiling a graph would block a server.
    graph = await asyncio.to_thread(build_graph, checkpointer=InMemorySaver(serde=StrictSerializer()), store=store)
    pages = Pages(store, config["configurable"]["thread_id"])
    config["configurable"] |= {OWNER: account.user} if account else {}
    for one in texts:
        await pages.keep(one)
    values: dict[str, Any] = {
        "messages": [HumanMessage(run.question)],
        "run": run,
        "sources": dict(sources),
        "draft": Draft(
            text=text,
            sources=tuple(keys.values()),
            numbers=tuple(keys),
            streamed=text,
            streamed_sources=tuple(keys.values()),
            removed_markers=0,
            has_gaps=False,
        ),
    }
    with tracing_if(context.tracing):
        await graph.aupdate_state(config, values, as_node="write_report")
    try:
        async for _ in graph.astream(None, config, context=context):
            pass
    finally:
        if account:
            await carry_over(pages, account)
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


@reports_errors
def audit_run(thread: str, model: str | None, data_dir: Path | None) -> int:
    """Print what is known of the parts of a report; if a model is given, it judges them again first."""
    work = _audited(RunName(clean(thread), data_dir), model)
    stored, found, audit, cost = run_interruptibly(PlainLines().during(work))
    put_out("\n".join(_page(stored, found, audit, cost)))
    return FAILED if found.unmarked or found.faults else DONE


async def _audited(name: RunName, model: str | None) -> tuple[StoredRun, Reaudit, Audit | None, list[str]]:
    async with kept_run(name) as (book, stored):
        report = stored.state.report
        if report is None:
            raise no_report_yet(stored, name)
        texts = await book.texts(stored, report)
    if model is None:
        return stored, compare_checks(report, report, texts), report.audit, []
    context = read_context({"models": model, "verify": "check"})
    await load_models(context)
    for notice in check_models(("verifier",), context):
        say(f"Note: {notice}")
    say(f"Checking by {profile_of('verifier', context).name} …")
    kept = [one.text for some in texts.values() for one in some]
    # Whatever ended the research, this check has a budget of its own.
    run = stored.state.run.model_copy(update={"stop_reason": ""})
    again = await checked(without_marks(report.text), report.keys, stored.state.sources, kept, run, context)
    assert again.audit
    cost = [f"Cost      {calls_line(again.audit)}", *(f"Failed    {one}" for one in again.audit.failures)]
    return stored, compare_checks(report, again, texts), again.audit, cost


def _page(stored: StoredRun, found: Reaudit, audit: Audit | None, cost: Iterable[str]) -> Iterator[str]:
    yield f"Run       {stored.thread}"
    yield f"Question  {stored.question}"
    yield f"Counts    {counts_line(audit)}" if audit else "Counts    the report was not checked"
    yield f"Changed   {counted(sum(one.is_new for one in found.claims), 'verdict')} since the report was written"
    if engines := engines_line(stored.state):
        yield f"Found by  {engines}"
    yield from cost
    yield from (f"Fault     {fault}" for fault in found.faults)
    for one in found.claims:
        if one.check.verdict == "unsupported" or one.is_new:
            yield from _lines(stored, one)


def _lines(stored: StoredRun, one: Rechecked) -> Iterator[str]:
    """Yield a part that is not supported, or whose verdict has changed, with what its sources say."""
    yield ""
    before = f" (before: {one.before})" if one.is_new else ""
    mark = ", marked" if one.is_marked else ", not marked" if one.check.verdict == "unsupported" else ""
    yield f"{one.check.verdict}{mark}{before}: {clean(one.words)}"
    for passage in one.check.passages:
        title = stored.state.sources[passage.source].title
        yield f"  {clean(title)}: {' '.join(clean(passage.quote).split()) or 'no text'}"
        yield from (f"    {clean(reason)}" for reason in passage.reasons)
