"""Reports and runs as text and as JSON."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..evidence.citations.numbering import by_number
from ..evidence.citations.rendering import source_place
from ..evidence.citations.stream import cited_numbers
from ..evidence.memory.notes import gaps_of, missing_of
from ..knowledge import Source
from ..run.conversation import clean
from ..run.money import dollars
from ..run.spending import total
from ..state import Finding, ResearchState
from .audit_lines import audit_data, audit_page
from .formats import Format
from .runs import Standing
from .step_lines import step_data, step_page
from .terminal import RunName
from .words import counted, in_words


def report_text(standing: Standing, output_format: Format) -> str:
    """The report as it was given to the user, or as data."""
    if output_format == "json":
        return _json(report_data(standing))
    return clean(standing.state.messages[-1].text) if standing.state.report else ""


def report_data(standing: Standing) -> dict[str, Any]:
    """The report, its sources, and how the run stands."""
    state = standing.state
    run, report = state.run, state.report
    sources = [state.sources[key] for key in report.sources] if report else []
    return {
        "thread": standing.thread,
        "name": standing.name,
        "question": clean(standing.question),
        "status": standing.status,
        "failure": standing.failure,
        "asks": clean(standing.asks),
        "report": clean(report.text) if report else "",
        "sources": [{"n": number, **_source(source)} for number, source in enumerate(sources, 1)],
        "assumptions": run.assumptions if run else (),
        "notices": run.notices if run else (),
        "stop_reason": run.stop_reason if run else "",
        "seconds": round(run.active_seconds, 3) if run else 0.0,
        "spending": total(state.spending)._asdict(),
    }


def end_lines(standing: Standing) -> list[str]:
    """What a finished run came to: its sources, marks and gaps, and what all of it took, earlier sittings included."""
    state, run, report = standing.state, standing.state.run, standing.state.report
    if run is None or report is None:
        return []
    read = sum(bool(source.content_hash) for source in state.sources.values())
    found = [f"{counted(len(report.sources), 'source')} cited, {read} read of {len(state.sources)} found"]
    if report.audit:
        found += [f"{counted(report.audit.marked, 'sentence')} marked as not verified"]
    gaps = [*gaps_of(run, state.findings.values()), *missing_of(run, state.findings.values(), state.memory.values())]
    found += [f"{counted(len(gaps), 'gap')}{', named under Notes' if gaps else ''}"]
    return [f"Report: {', '.join(found)}.", f"Took {in_words(run.active_seconds)}: {_spent(state)}."]


def _spent(state: ResearchState) -> str:
    """What was spent on the present question, in words."""
    spent = total(state.spending)
    opened = [f"{counted(spent.fetches, 'document')} opened"] if spent.fetches else []
    counts = {"model call": spent.calls, "token": spent.tokens, "search": spent.searches}
    words = [*(counted(count, noun) for noun, count in counts.items() if count), *opened]
    return ", ".join([*words, *([dollars(spent.usd)] if spent.usd else [])]) or "nothing"


def run_json(standing: Standing) -> str:
    """One run as data: that of the report, with the plan, its steps, and what each researcher did."""
    state = standing.state
    research = [
        {
            **finding.model_dump(include={"cycle", "position", "task", "ended", "reason", "seconds"}),
            "finding": clean(finding.numbered or finding.text),
            "actions": [action.model_dump(exclude={"id"}) for action in finding.actions],
            "sources": [_source(source) for source in _cited(state, finding)],
        }
        for finding in _findings(state)
    ]
    plan = list(state.plan.steps) if state.plan else []
    return _json(
        {
            **report_data(standing),
            "strategy": standing.strategy,
            "plan": plan,
            **step_data(state),
            "research": research,
            **audit_data(state),
        }
    )


def run_line(standing: Standing) -> str:
    """One run in one line."""
    name = f"[{standing.name}] " if standing.name else ""
    words = " ".join(clean(name + standing.question).split())
    status = "running in another process" if standing.runner else standing.status
    return f"{standing.thread}  {_moment(standing)}  {status:20} {words[:80]}"


def run_page(standing: Standing, name: RunName) -> str:
    """One run with its plan, its research and its report; `name` is how it is gone on with."""
    state = standing.state
    lines = _head(standing, name)
    # Typed steps are the plan, and say more.
    if state.plan and not state.steps:
        lines += ["", "Plan", *(f"  {number}. {step}" for number, step in enumerate(state.plan.steps, 1))]
    lines += step_page(state)
    if findings := _findings(state):
        lines += ["", "Research", *(line for finding in findings for line in _finding_lines(state, finding))]
    lines += audit_page(state)
    if standing.asks:
        lines += ["", "It asks", *(f"  {line}" for line in standing.asks.splitlines())]
    return clean("\n".join([*lines, "", report_text(standing, "md")]).rstrip())


def _head(standing: Standing, name: RunName) -> list[str]:
    """How the run stands."""
    state, run = standing.state, standing.state.run
    reason = f"in {standing.runner}" if standing.runner else standing.failure or (run.stop_reason if run else "")
    lines = [
        f"Run       {standing.thread}" + (f" [{standing.name}]" if standing.name else ""),
        *([] if standing.strategy == "orchestrated" else [f"Strategy  {standing.strategy}"]),
        f"Question  {standing.question}",
        f"Status    {standing.status}" + (f": {reason}" if reason else ""),
    ]
    if standing.asks:
        lines.append(f"Go on     {name.command('resume')} --answer TEXT")
    elif standing.is_unfinished and not standing.runner:
        lines.append(f"Go on     {name.command('resume')}")
    if run:
        lines.append(f"Time      {run.active_seconds:.1f} s at work, started {run.date}, version {run.version}")
    return [*lines, f"Spent     {_spent(state)}"]


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, indent=2)


def _moment(standing: Standing) -> str:
    return f"{datetime.fromisoformat(standing.changed).astimezone():%Y-%m-%d %H:%M}" if standing.changed else " " * 16


def _source(source: Source) -> dict[str, str]:
    fields = {"title": source.title, "location": source.location, "content_hash": source.content_hash}
    fields |= {"date": source.date, "extent": source.extent}
    if source.kind == "document":
        fields["path"] = url2pathname(urlsplit(source.location).path)
    return fields


def _findings(state: ResearchState) -> list[Finding]:
    """What was found for the present question, in the order of the tasks."""
    question_id = state.run.id if state.run else ""
    findings = [finding for finding in state.findings.values() if finding.question_id == question_id]
    return sorted(findings, key=lambda finding: (finding.cycle, finding.position))


def _cited(state: ResearchState, finding: Finding) -> list[Source]:
    """The sources that the finding cites."""
    numbered = by_number(state.sources.values())
    return [numbered[number] for number in cited_numbers(finding.numbered or "", numbered)]


def _finding_lines(state: ResearchState, finding: Finding) -> list[str]:
    ending = "" if finding.ended == "done" else f" – {finding.ended}: {finding.reason}"
    lines = [f"  {finding.cycle + 1}.{finding.position + 1} {finding.task}{ending}"]
    for action in finding.actions:
        lines.append(f"      {action.tool}: {' | '.join(action.inputs)} – {counted(len(action.found), 'source')}")
        lines += [f"        {problem}" for problem in action.problems]
    for source in _cited(state, finding):
        place = source_place(source) if source.kind == "document" else source.location
        lines.append(f"      cited: {source.title} – {place}")
    return lines
