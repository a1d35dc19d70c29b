"""Formats stored runs as text and as JSON: report, plan, steps, research, audit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..core.evidence.citations.citing import by_number, cited_numbers
from ..core.evidence.citations.rendering import short_location
from ..core.evidence.memory.disputes import current_dispute
from ..core.evidence.memory.observations import contradictions, open_gaps, research_gaps, unanswered
from ..core.records.plan import FINAL_CHECK, Observation, PlanStep, StepOutcome
from ..core.records.report import Audit
from ..core.records.research import Finding, Run, Spent
from ..core.records.sources import Source
from ..core.run.conversation import clean_nested, safe_text
from ..core.run.spending import dollars, total
from ..state import ResearchState
from .runs import StoredRun
from .settings import RunName
from .words import counted, counts_line, in_words

_NOT_BEGUN = StepOutcome(step="")
"""Outcome shown for a step that has not started."""


def report_json(stored: StoredRun) -> str:
    """Return the status, the report and its sources as JSON, without plan, research and audit."""
    return json.dumps(_report_data(stored), ensure_ascii=False, indent=2)


def run_markdown(stored: StoredRun) -> str:
    """Return the report of a run as Markdown, as the user saw it."""
    return stored.report


def run_json(stored: StoredRun) -> str:
    """Return a whole run as JSON: what `report_json` returns, and plan, steps, research and
    audit."""
    state = stored.state
    research = [
        {
            **finding.model_dump(
                include={"cycle", "position", "task", "ended", "reason", "seconds"}
            ),
            "finding": safe_text(finding.numbered or finding.text),
            "actions": [action.model_dump(exclude={"id"}) for action in finding.actions],
            "sources": [_source_data(source) for source in _cited(state, finding)],
        }
        for finding in _findings(state)
    ]
    observed = state.own_observations
    planned = {
        "strategy": stored.strategy,
        "plan": list(state.plan.steps) if state.plan else [],
        "steps": [
            _step_data(step, state.outcomes.get(step.id, _NOT_BEGUN)) for step in state.steps
        ],
        "gaps": [
            {"question": gap.text, "relevance": gap.score, "step": gap.step}
            for gap in open_gaps(observed)
        ],
        "contradictions": _contradictions(state, observed),
    }
    audited: dict[str, Any] = {}
    if state.report and state.report.audit:
        claims = [
            {
                "sentence": state.report.text[claim.start : claim.end],
                **claim.model_dump(mode="json"),
            }
            for claim in state.report.claims
        ]
        audited = {"audit": state.report.audit.model_dump(mode="json"), "claims": claims}
    data = {
        **_report_data(stored),
        **clean_nested(planned),
        "research": research,
        **clean_nested(audited),
    }
    return json.dumps(data, ensure_ascii=False, indent=2)


def run_line(stored: StoredRun, shown: str) -> str:
    """Return a run as one line of a list, which starts with `shown`, the beginning of its id."""
    name = f"[{stored.name}] " if stored.name else ""
    words = " ".join(safe_text(name + stored.title).split())
    status = "running in another process" if stored.runner else stored.status
    changed = datetime.fromisoformat(stored.changed).astimezone() if stored.changed else None
    return (
        f"{shown}  {f'{changed:%Y-%m-%d %H:%M}' if changed else ' ' * 16}  {status:20} {words[:80]}"
    )


def run_page(stored: StoredRun, name: RunName) -> str:
    """Return a run with its plan, research and report as text; if unfinished, with the command that
    resumes `name`."""
    state = stored.state
    lines = _head(stored, name)
    # The steps of a typed plan, below, show it in more detail.
    if state.plan and not state.steps:
        lines += [
            "",
            "Plan",
            *(f"  {number}. {step}" for number, step in enumerate(state.plan.steps, 1)),
        ]
    if state.steps:
        lines += ["", "Steps"]
        for step in state.steps:
            outcome, indent = state.outcomes.get(step.id, _NOT_BEGUN), "  " * (step.depth + 1)
            facts = [step.status.replace("_", " "), step.kind]
            if outcome.iterations:
                facts += [
                    counted(len(outcome.iterations), "iteration"),
                    f"confidence {outcome.confidence:.2g}",
                ]
            lines.append(f"{indent}{step.id} {step.title} – {', '.join(facts)}")
            lines += [f"{indent}    {step.reason}"] if step.reason else []
        if gaps := open_gaps(state.own_observations):
            lines += ["", "Not found", *(f"  - {gap.text}" for gap in gaps)]
    if findings := _findings(state):
        lines += [
            "",
            "Research",
            *(line for finding in findings for line in _finding_lines(state, finding)),
        ]
    if state.report and (audit := state.report.audit):
        engines = engines_line(state)
        lines += [
            "",
            "Audit",
            f"  {counts_line(audit)}",
            f"  {counted(audit.removed_markers, 'citation')} removed that named no source",
            f"  {counted(audit.sources_read, 'source')} read, {audit.sources_cited} cited, from "
            f"{counted(audit.independent_sources, 'independent organisation')}, "
            f"{audit.excerpts_cited} seen only as a search excerpt; {len(audit.not_read)} not "
            "readable",
            f"  {counted(len(audit.disagreements), 'contradiction')}, "
            f"{counted(len(audit.open_gaps), 'gap')} left open",
            *([f"  found by {engines}"] if engines else []),
            *([f"  {calls_line(audit)}"] if audit.model_calls else []),
        ]
    if stored.asks:
        lines += ["", "The run asks", *(f"  {line}" for line in stored.asks.splitlines())]
    return safe_text("\n".join([*lines, "", stored.report]).rstrip())


def end_line(stored: StoredRun) -> str:
    """Summarise a finished run in one line: sources, statements, gaps, time and costs."""
    state, run, report = stored.state, stored.state.run, stored.state.report
    if report is None:
        return ""
    read = sum(bool(source.content_hash) for source in state.sources.values())
    gaps = [*research_gaps(state), *unanswered(state)]
    parts = [
        f"{counted(len(state.sources), 'source')} found, {read} read, {len(report.sources)} cited",
        *([counts_line(report.audit)] if report.audit else []),
        f"{counted(len(gaps), 'gap')}, named under Notes" if gaps else "no gaps",
        f"{in_words(run.active_seconds)}, {spent_line(state.spending)}",
    ]
    return f"Done: {'; '.join(parts)}."


def calls_line(audit: Audit) -> str:
    """Return the number, tokens and cost of the model calls in words."""
    money = f", {dollars(audit.usd)}" if audit.usd else ""
    tokens = f"{audit.input_tokens} tokens read, {audit.output_tokens} written"
    return f"{counted(audit.model_calls, 'model call')}, {tokens}{money}"


def _report_data(stored: StoredRun) -> dict[str, Any]:
    state = stored.state
    run, report = state.run, state.report
    sources = report.cited(state.sources) if report else []
    return {
        "thread": stored.thread,
        "name": stored.name,
        "title": stored.title,
        "question": safe_text(stored.question),
        "depth": _depth(run) if run.id else "",
        "status": stored.status,
        "failure": stored.failure,
        "asks": safe_text(stored.asks),
        "report": safe_text(report.text) if report else "",
        "sources": [{"n": source.number, **_source_data(source)} for source in sources],
        "assumptions": run.assumptions,
        "notices": run.notices,
        "stop_reason": run.stop_reason,
        "seconds": round(run.active_seconds, 3),
        "spending": total(state.spending)._asdict(),
        "estimate": run.usual_cost.model_dump() if run.usual_cost else None,
    }


def _source_data(source: Source) -> dict[str, Any]:
    fields = source.model_dump(include={"title", "location", "content_hash", "date", "extent"})
    if source.engines:
        fields["engines"] = list(source.engines)
    if source.kind == "document" and source.location.startswith("file:"):
        fields["path"] = url2pathname(urlsplit(source.location).path)
    return fields


def _step_data(step: PlanStep, outcome: StepOutcome) -> dict[str, Any]:
    return {
        **step.model_dump(mode="json", exclude={"description", "requires_search", "depth"}),
        "kind": step.kind,
        "iterations": [
            {
                **iteration.model_dump(
                    mode="json", include={"number", "queries", "confidence", "verdicts"}
                ),
                "learnings": len(iteration.learnings),
            }
            for iteration in outcome.iterations
        ],
        "completeness": outcome.completeness,
        "quality": outcome.quality,
    }


def _contradictions(state: ResearchState, observed: Sequence[Observation]) -> list[dict[str, Any]]:
    confirmed = contradictions(found for found in observed if found.step == FINAL_CHECK)
    shown = list[dict[str, Any]]()
    for found in contradictions(observed):
        dispute = current_dispute(found, state)
        claims = list[dict[str, Any]]()
        for side in dispute.sides:
            source = state.sources.get(side.source)
            location = source.location if source else ""
            claims.append(
                {"text": side.text, "source": location, "date": side.date, "origin": side.origin}
            )
        shown.append(
            {
                "claims": claims,
                "about": dispute.about,
                "resolution": dispute.resolution,
                "step": found.step,
                # `contradictions` merges equal ones, so the number stays the same for one that was
                # confirmed.
                "is_confirmed": len(contradictions([*confirmed, found])) == len(confirmed),
            }
        )
    return shown


def _head(stored: StoredRun, name: RunName) -> list[str]:
    """Return the lines on question, status, time and costs."""
    state, run = stored.state, stored.state.run
    reason = f"in {stored.runner}" if stored.runner else stored.failure or run.stop_reason
    lines = [
        f"Run       {stored.thread}" + (f" [{stored.name}]" if stored.name else ""),
        *([] if stored.strategy == "orchestrated" else [f"Strategy  {stored.strategy}"]),
        f"Question  {stored.question}",
        *([f"Depth     {_depth(run)}"] if run.depth else []),
        f"Status    {stored.status}" + (f": {reason}" if reason else ""),
    ]
    if stored.asks or (stored.is_unfinished and not stored.runner):
        lines.append(f"Resume    {name.command('resume')}{' --answer TEXT' if stored.asks else ''}")
    if run.id:
        lines.append(
            f"Time      {run.active_seconds:.1f} s active, started {run.date}, version "
            f"{run.version}"
        )
    return [*lines, f"Spent     {spent_line(state.spending)}"]


def _depth(run: Run) -> str:
    """Return the depth of a run; for `auto`, also the depth that was chosen."""
    if run.depth == "auto":
        return "auto, answered from one search" if run.is_quick else "auto, researched step by step"
    return run.depth or "standard"


def spent_line(spending: Mapping[str, Spent]) -> str:
    """Describe the costs of a run: model calls, tokens, searches, opened documents and dollars."""
    spent = total(spending)
    counts = {"model call": spent.calls, "token": spent.tokens, "search": spent.searches}
    words = [counted(count, noun) for noun, count in counts.items() if count]
    words += [f"{counted(spent.fetches, 'document')} opened"] if spent.fetches else []
    words += [dollars(spent.usd)] if spent.usd else []
    return ", ".join(words) or "nothing"


def _finding_lines(state: ResearchState, finding: Finding) -> Iterable[str]:
    ending = "" if finding.ended == "done" else f" – {finding.ended}: {finding.reason}"
    name = "Analysis:" if finding.is_analysis else f"{finding.cycle + 1}.{finding.position + 1}"
    yield f"  {name} {finding.task}{ending}"
    for action in finding.actions:
        yield f"      {action.tool}: {' | '.join(action.inputs)} – {counted(len(action.found), 'source')}"
        yield from (f"        {problem}" for problem in action.problems)
    for source in _cited(state, finding):
        location = short_location(source) if source.kind == "document" else source.location
        yield f"      cited: {source.title} – {location}"


def engines_line(state: ResearchState) -> str:
    """Return how many sources each search engine found and how many of them are cited; empty if
    none found any."""
    cited = set(state.report.sources) if state.report else set()
    found = Counter(engine for source in state.sources.values() for engine in source.engines)
    used = Counter(engine for key in cited for engine in state.sources[key].engines)
    return "; ".join(
        f"{engine}: {counted(count, 'source')}, {used[engine]} cited"
        for engine, count in found.items()
    )


def _findings(state: ResearchState) -> list[Finding]:
    """Return the findings for the current question, in the order of the tasks."""
    return sorted(state.own_findings, key=lambda finding: (finding.cycle, finding.position))


def _cited(state: ResearchState, finding: Finding) -> list[Source]:
    """Return the sources that a finding cites, in the order of its text."""
    numbered = by_number(state.sources.values())
    return [numbered[number] for number in cited_numbers(finding.numbered or "", numbered)]
