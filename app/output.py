"""Reports and runs as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

from deep_research.run.conversation import clean
from deep_research.run.spending import total
from deep_research.state import Finding, ResearchState


def report_markdown(state: ResearchState) -> str:
    """The report as it was given to the user."""
    return clean(state.messages[-1].text) if state.report else ""


def report_json(state: ResearchState, thread: str) -> str:
    """The report as data."""
    assert state.run is not None
    run, report, spent = state.run, state.report, total(state.spending)
    sources = [state.sources[key] for key in report.sources] if report else []
    data: dict[str, Any] = {
        "thread": thread,
        "question": run.question,
        "status": run.status,
        "report": clean(report.text) if report else "",
        "sources": [
            {"n": number, "title": source.title, "location": source.location, "content_hash": source.content_hash}
            for number, source in enumerate(sources, 1)
        ],
        "assumptions": run.assumptions,
        "notices": run.notices,
        "stop_reason": run.stop_reason,
        "seconds": round(run.active_seconds, 3),
        "spending": spent._asdict(),
    }
    return json.dumps(data, ensure_ascii=False, indent=2)


def run_line(state: ResearchState, thread: str, is_unfinished: bool) -> str:
    """One run in one line."""
    if state.run is None:
        return f"{thread}  not started"
    question = " ".join(clean(state.run.question).split())
    return f"{thread}  {_status(state, is_unfinished):20}  {question[:80]}"


def run_page(state: ResearchState, thread: str, is_unfinished: bool) -> str:
    """One run with its plan, its research and its report."""
    run = state.run
    if run is None:
        return f"Run {thread}: not started"
    lines = [f"Run       {thread}", f"Question  {clean(run.question)}", f"Status    {_status(state, is_unfinished)}"]
    lines.append(f"Time      {run.active_seconds:.1f} s at work, started {run.date}, version {run.version}")
    if state.plan:
        lines += ["", "Plan", *(f"  {number}. {step}" for number, step in enumerate(state.plan.steps, 1))]
    findings = sorted(state.findings.values(), key=lambda finding: (finding.cycle, finding.position))
    if findings:
        lines += ["", "Research", *(line for finding in findings for line in _finding_lines(finding))]
    spent = total(state.spending)
    lines += ["", f"Spent     {spent.calls} model calls, {spent.tokens} tokens, {spent.searches} searches, "]
    lines[-1] += f"{spent.fetches} documents opened"
    return clean("\n".join([*lines, "", report_markdown(state)]).rstrip())


def _finding_lines(finding: Finding) -> list[str]:
    ending = "" if finding.ended == "done" else f" – {finding.ended}: {finding.reason}"
    lines = [f"  {finding.cycle + 1}.{finding.position + 1} {finding.task}{ending}"]
    for action in finding.actions:
        lines.append(f"      {action.tool}: {' | '.join(action.inputs)} – {len(action.found)} sources")
        lines += [f"        {problem}" for problem in action.problems]
    return lines


def _status(state: ResearchState, is_unfinished: bool) -> str:
    assert state.run is not None
    return "stopped" if is_unfinished and state.run.status == "running" else state.run.status
