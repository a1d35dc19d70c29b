"""Checks a report against the texts of its sources; also the `audit` command, which checks a finished report again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from ..core.evidence.checking.verification import Reaudit, compare_checks
from ..core.evidence.citations.rendering import without_marks
from ..core.evidence.language import detect_language
from ..core.models.resolve import check_models, load_models, profile_of
from ..core.records.report import Audit, Draft, Report
from ..core.records.research import Run
from ..core.records.sources import Source, text_hash
from ..core.run.context import Context, read_context
from ..core.run.conversation import safe_text
from ..core.run.spending import carry_over
from ..core.run.store.pages import OWNER, Pages
from ..core.run.store.serializer import StrictSerializer
from ..core.run.tracing import tracing_if
from ..core.writing.language import named_language
from .embed import build_graph, thread_config
from .endings import reports_errors, run_interruptibly
from .output import calls_line, engines_line
from .progress import PlainLines
from .runs import StoredRun
from .settings import RunName
from .stored import open_stored_run, report_of
from .terminal import print_output, say
from .words import DONE, FAILED, counted, counts_line

_QUESTION = "What do the sources say?"


class SourceDocument(NamedTuple):
    """A source of a report."""

    title: str
    text: str
    """The full text."""
    date: str = ""
    """An ISO date or the beginning of one, such as `2024-05`; may be empty."""


async def check_report(text: str, sources: Mapping[int, SourceDocument], context: Context) -> Report:
    """Check a report against its sources; correct it too if `context.verify` is "repair".

    `text` is Markdown with citations `[n]`, without a list of sources; `sources` is keyed by n. In the returned report,
    the keys of sources are these numbers as strings.
    """
    keys = {number: str(number) for number in sources}
    known = {
        keys[number]: Source(
            key=keys[number],
            title=source.title,
            location=keys[number],
            address=keys[number],
            kind="document",
            date=source.date,
            content_hash=text_hash(source.text),
            number=number,
        )
        for number, source in sources.items()
    }
    texts = [source.text for source in sources.values()]
    return await check_in_graph(text, keys, known, texts, run_for_check(text, context), context)


async def load_verifier(context: Context, on_notice: Callable[[str], None] = say) -> None:
    """Load what is known about the verifier's model, such as its context window; `on_notice` receives warnings."""
    await load_models(context)
    for notice in check_models(("verifier",), context):
        on_notice(f"Note: {notice}")


def run_for_check(text: str, context: Context) -> Run:
    """Return the run under which a report from elsewhere is checked, in the language of its text."""
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


async def check_in_graph(
    text: str,
    keys: Mapping[int, str],
    sources: Mapping[str, Source],
    texts: Iterable[str],
    run: Run,
    context: Context,
    account: Pages | None = None,
) -> Report:
    """Check a report by the last node of a temporary graph, as `context.verify` says; return it with its verdicts.

    `keys` are the source keys by the numbers that `text` cites, `sources` is keyed by source key, and `texts` are the
    texts of all sources. The costs are added to the user's `account`, if given.
    """
    store, config = InMemoryStore(), thread_config("check")
    # Compiling a graph would block a server's event loop.
    graph = await asyncio.to_thread(build_graph, checkpointer=InMemorySaver(serde=StrictSerializer()), store=store)
    pages = Pages(store, config["configurable"]["thread_id"])
    config["configurable"] |= {OWNER: account.user} if account else {}
    for source_text in texts:
        await pages.keep(source_text)
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


@reports_errors
def audit_run(thread: str, model: str | None, data_dir: Path | None) -> int:
    """Print the verdicts on a finished report; a `model`, if given, judges its statements again first."""
    work = _audited(RunName(safe_text(thread), data_dir), model)
    stored, found, audit, cost = run_interruptibly(PlainLines().during(work))
    changes = counted(sum(claim.is_new for claim in found.claims), "verdict")
    lines = [
        f"Run       {stored.thread}",
        f"Question  {stored.question}",
        f"Counts    {counts_line(audit) if audit else 'the report was not checked'}",
        f"Changed   {changes} since the report was written",
        *([f"Found by  {engines}"] if (engines := engines_line(stored.state)) else []),
        *cost,
        *(f"Fault     {fault}" for fault in found.faults),
    ]
    for claim in found.claims:
        verdict, before = claim.check.verdict, f" (before: {claim.before})" if claim.is_new else ""
        if verdict != "unsupported" and not claim.is_new:
            continue
        mark = ", marked" if claim.is_marked else ", not marked" if verdict == "unsupported" else ""
        lines.append(f"\n{verdict}{mark}{before}: {safe_text(claim.words)}")
        for passage in claim.check.passages:
            title = stored.state.sources[passage.source].title
            lines.append(f"  {safe_text(title)}: {' '.join(safe_text(passage.quote).split()) or 'no text'}")
            lines += [f"    {safe_text(reason)}" for reason in passage.reasons]
    print_output("\n".join(lines))
    return FAILED if found.unmarked or found.faults else DONE


async def _audited(name: RunName, model: str | None) -> tuple[StoredRun, Reaudit, Audit | None, list[str]]:
    """Return the run, its verdicts compared with the stored ones, the audit they belong to, and lines on the costs."""
    async with open_stored_run(name) as (book, stored):
        report = report_of(stored, name)
        texts = await book.texts(stored, report)
    if model is None:
        return stored, compare_checks(report, report, texts), report.audit, []
    context = read_context({"models": model, "verify": "check"})
    await load_verifier(context)
    say(f"Checking with {profile_of('verifier', context).name} …")
    all_texts = [text.text for source_texts in texts.values() for text in source_texts]
    # The limit that stopped the research must not stop this check.
    run = stored.state.run.model_copy(update={"stop_reason": ""})
    again = await check_in_graph(without_marks(report.text), report.keys, stored.state.sources, all_texts, run, context)
    assert again.audit
    cost = [f"Cost      {calls_line(again.audit)}", *(f"Failed    {failure}" for failure in again.audit.failures)]
    return stored, compare_checks(report, again, texts), again.audit, cost
