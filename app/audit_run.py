"""The command that checks a finished report again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ..evidence.reaudit import Reaudit, Rechecked, reaudit
from ..run.conversation import clean
from .endings import reported, stopped
from .exit_codes import DONE, FAILED
from .export import no_report_yet
from .interrupt import run_interruptibly
from .runs import Standing
from .stored import kept_run
from .terminal import RunName, put_out
from .words import counted


def audit_run(thread: str, data_dir: Path | None) -> int:
    """Check the report of a run and print what that found."""
    name = RunName(clean(thread), data_dir)

    def work() -> int:
        standing, found = run_interruptibly(_found(name), partial(stopped, RunName("", data_dir)))
        put_out("\n".join(_page(standing, found)))
        return FAILED if found.unmarked or found.faults else DONE

    return reported(RunName("", data_dir), work)


async def _found(name: RunName) -> tuple[Standing, Reaudit]:
    async with kept_run(name) as (book, standing):
        report = standing.state.report
        if report is None:
            raise no_report_yet(standing, name)
        return standing, await asyncio.to_thread(reaudit, report, await book.texts(standing, report))


def _page(standing: Standing, found: Reaudit) -> Iterator[str]:
    cited = [one for one in found.claims if one.check.passages]
    supported = sum(one.check.verdict == "supported" for one in cited)
    yield f"Run       {standing.thread}"
    yield f"Question  {standing.question}"
    checked = counted(len(cited), "cited sentence")
    wrong = sum(one.check.verdict == "unsupported" for one in cited)
    yield f"Checked   {checked}: {supported} supported, {wrong} not, {len(cited) - supported - wrong} not told by rules"
    yield f"Uncited   {counted(len(found.claims) - len(cited), 'sentence')} with figures and without a source"
    yield from (f"Fault     {fault}" for fault in found.faults)
    for one in found.claims:
        if one.check.verdict == "unsupported":
            yield from _lines(standing, one)


def _lines(standing: Standing, one: Rechecked) -> Iterator[str]:
    """A sentence that is not supported, with what its sources say."""
    yield ""
    yield f"{one.check.verdict}{', marked' if one.is_marked else ', not marked'}: {clean(one.words)}"
    for passage in one.check.passages:
        title = standing.state.sources[passage.source].title
        yield f"  {clean(title)}: {' '.join(clean(passage.quote).split()) or 'no text'}"
        yield from (f"    {clean(reason)}" for reason in passage.reasons)
