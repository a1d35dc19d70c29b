"""The `audit` command: shows the verdicts on a finished report, or has a model judge it again by
the stored texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..core.dialogue.conversation import safe_text
from ..core.evidence.citations.rendering import without_marks
from ..core.models.resolve import profile_of
from ..core.records.report import Audit
from ..core.records.sources import Source
from ..core.settings.context import Context
from ._endings import reports_errors, run_interruptibly
from ._progress import PlainLines
from ._rechecking import Reaudit, Rechecked, compare_checks
from ._settings import RunName
from ._source_check import begin_check, load_verifier, texts_at_hand
from ._stored import open_stored_run
from ._terminal import print_output, say
from .output import calls_line, engines_line
from .runs import StoredRun
from .words import DONE, FAILED, ReportTrust, counted


@reports_errors
def audit_run(thread: str, model: str | None, data_dir: Path | None) -> int:
    """Print the verdicts on a finished report; a `model`, if given, judges its statements again
    first."""
    work = _audited(RunName(safe_text(thread), data_dir), model)
    stored, found, audit, cost = run_interruptibly(PlainLines().during(work))
    changed = [claim for claim in found.claims if claim.is_new]
    lines = [
        f"Run       {stored.thread}",
        f"Question  {stored.question}",
        f"Counts    {ReportTrust.of_audit(audit).line if audit else 'the report was not checked'}",
        f"Changed   {counted(len(changed), 'verdict')} since the report was written",
    ]
    engines = engines_line(stored.state)
    if engines:
        lines.append(f"Found by  {engines}")
    lines += cost
    for fault in found.faults:
        lines.append(f"Fault     {fault}")
    for claim in found.claims:
        lines += _claim_lines(claim, stored.state.sources)
    print_output("\n".join(lines))
    return FAILED if found.unmarked or found.faults else DONE


def _claim_lines(claim: Rechecked, sources: Mapping[str, Source]) -> list[str]:
    """Return the lines on a statement that is not supported or whose verdict has changed; none on
    others."""
    verdict = claim.check.verdict
    if verdict != "unsupported" and not claim.is_new:
        return []
    heading: str = verdict
    if claim.is_marked:
        heading += ", marked"
    elif verdict == "unsupported":
        heading += ", not marked"
    if claim.is_new:
        heading += f" (before: {claim.before})"
    lines = [f"\n{heading}: {safe_text(claim.words)}"]
    for passage in claim.check.passages:
        title = safe_text(sources[passage.source].title)
        quote = " ".join(safe_text(passage.quote).split())
        lines.append(f"  {title}: {quote or 'no text'}")
        lines += [f"    {safe_text(reason)}" for reason in passage.reasons]
    return lines


async def _audited(
    name: RunName, model: str | None
) -> tuple[StoredRun, Reaudit, Audit | None, list[str]]:
    """Return the run, its verdicts compared with the stored ones, the audit they belong to, and
    lines on the costs."""
    async with open_stored_run(name) as (book, stored):
        report = stored.finished_report(name)
        texts = await book.texts(stored, report)
    if model is None:
        return stored, compare_checks(report, report, texts), report.audit, []
    context = Context.read({"models": model, "verify": "check"})
    await load_verifier(context)
    say(f"Checking with {profile_of('verifier', context).name} …")
    check = await begin_check(
        without_marks(report.checked_text),
        report.keys,
        stored.state.sources,
        texts_at_hand(texts),
        stored.state.run,
        context,
        stored.asked,
    )
    again = await check.report()
    assert again.audit
    cost = [f"Cost      {calls_line(again.audit)}"]
    for failure in again.audit.failures:
        cost.append(f"Failed    {failure}")
    return stored, compare_checks(report, again, texts), again.audit, cost
