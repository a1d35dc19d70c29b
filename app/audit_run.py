"""The command that checks a finished report again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from ..evidence.checking.reaudit import Reaudit, Rechecked, compared, reaudit
from ..models.resolve import check_models, profile_of
from ..run.conversation import clean
from .audit_lines import calls_line
from .check_report import check_again
from .embed import read_context
from .endings import reported, stopped
from .exit_codes import DONE, FAILED
from .export import no_report_yet
from .interrupt import run_interruptibly
from .runs import Standing
from .stored import kept_run
from .terminal import RunName, put_out, say
from .words import counted


def audit_run(thread: str, model: str | None, data_dir: Path | None) -> int:
    """Check the report of a run, by this model if one is given, and print what that found."""
    name = RunName(clean(thread), data_dir)

    def work() -> int:
        standing, found, cost = run_interruptibly(_found(name, model), partial(stopped, RunName("", data_dir)))
        put_out("\n".join(_page(standing, found, cost)))
        return FAILED if found.unmarked or found.faults else DONE

    return reported(RunName("", data_dir), work)


async def _found(name: RunName, model: str | None) -> tuple[Standing, Reaudit, list[str]]:
    async with kept_run(name) as (book, standing):
        report = standing.state.report
        if report is None:
            raise no_report_yet(standing, name)
        texts = await book.texts(standing, report)
    if model is None:
        return standing, await asyncio.to_thread(reaudit, report, texts), []
    context = read_context({"models": model, "verify": "check"})
    for notice in check_models(("verifier",), context):
        say(f"Note: {notice}")
    say(f"Checking by {profile_of('verifier', context).name} …")
    kept = [one.text for some in texts.values() for one in some]
    again = await check_again(standing.state, kept, context)
    assert again.audit
    cost = [f"Cost      {calls_line(again.audit)}", *(f"Failed    {one}" for one in again.audit.failures)]
    return standing, compared(report, again, texts), cost


def _page(standing: Standing, found: Reaudit, cost: Iterable[str]) -> Iterator[str]:
    cited = [one for one in found.claims if one.check.passages]
    counts = Counter(one.check.verdict for one in cited)
    yield f"Run       {standing.thread}"
    yield f"Question  {standing.question}"
    yield (
        f"Checked   {counted(len(cited), 'cited part')}: {counts['supported']} supported, {counts['unsupported']} not, "
        f"{counts['unchecked']} not checked by a model"
    )
    yield f"Uncited   {counted(len(found.claims) - len(cited), 'part')} with figures and without a source"
    yield f"Changed   {counted(sum(one.is_new for one in found.claims), 'verdict')} since the report was written"
    yield from cost
    yield from (f"Fault     {fault}" for fault in found.faults)
    for one in found.claims:
        if one.check.verdict == "unsupported" or one.is_new:
            yield from _lines(standing, one)


def _lines(standing: Standing, one: Rechecked) -> Iterator[str]:
    """A part that is not supported, or of which something else was found than before, with what its sources say."""
    yield ""
    before = f" (before: {one.before})" if one.is_new else ""
    mark = ", marked" if one.is_marked else ", not marked" if one.check.verdict == "unsupported" else ""
    yield f"{one.check.verdict}{mark}{before}: {clean(one.words)}"
    for passage in one.check.passages:
        title = standing.state.sources[passage.source].title
        yield f"  {clean(title)}: {' '.join(clean(passage.quote).split()) or 'no text'}"
        yield from (f"    {clean(reason)}" for reason in passage.reasons)
