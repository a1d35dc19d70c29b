"""Formats stored runs as text and as JSON: report, plan, steps, research, audit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..core.dialogue.conversation import clean_nested, safe_text
from ..core.evidence.citations.citing import by_number, cited_numbers
from ..core.evidence.memory.observations import ResearchMemory, ThreadDisputes
from ..core.records.plan import FINAL_CHECK, Observation, PlanStep, StepOutcome
from ..core.records.report import Audit, Version, VersionKind
from ..core.records.research import Finding, Run, Spent, dollars, total
from ..core.records.sources import Source
from ..core.tables.report_tables import sheets_of
from ..core.writing.notes import ReportNotes
from ..state import ResearchState
from ._overview import ListedRun, Overview
from ._settings import RunName
from .runs import StoredRun
from .words import counted, in_words

_KIND_WORDS: Mapping[VersionKind, str] = {
    "research": "first report",
    "question": "further question",
    "edit": "edited",
    "revert": "back to version",
    "answer": "short answer",
}
_NOT_BEGUN = StepOutcome(step="")
"""Outcome shown for a step that has not started."""


def report_json(stored: StoredRun) -> str:
    """Return the status, the report and its sources as JSON, without plan, research and audit."""
    return json.dumps(_report_data(stored), ensure_ascii=False, indent=2)


def run_markdown(stored: StoredRun) -> str:
    """Return the report of a run as Markdown, as the user saw it."""
    return stored.report


def run_json(stored: StoredRun) -> str:
    """Return a whole run as JSON: what `report_json` returns, and plan, steps, research, audit and
    verdicts."""
    return listed_run(stored).json()


def run_page(stored: StoredRun, name: RunName) -> str:
    """Return a run with its plan, research and report as text; if unfinished, with the command that
    resumes `name`."""
    return listed_run(stored).page(name)


def listed_run(stored: StoredRun) -> ListedRun:
    """Return a run as it is listed and shown."""
    run = stored.state.run
    time = ""
    if run.id:
        time = f"{run.active_seconds:.1f} s active, started {run.date}, version {run.version}"
    overview = Overview(
        strategy=stored.strategy,
        title=stored.title,
        question=stored.question,
        depth=_depth(run) if run.depth else "",
        asks=stored.asks,
        is_unfinished=stored.is_unfinished,
        status=stored.settled_status,
        doubts=stored.trust.doubts if stored.trust else "",
        changed=stored.changed,
        stop_reason=run.stop_reason,
        time=time,
        spent=spent_line(stored.state.spending),
        body="\n".join(_body_lines(stored)),
        data=_run_data(stored),
    )
    return ListedRun(stored.thread, stored.name, stored.failure, stored.runner, overview)


def _run_data(stored: StoredRun) -> dict[str, Any]:
    """Return a whole run as data: what `report_json` returns, and plan, steps, research, audit and
    verdicts."""
    state = stored.state
    steps = list[dict[str, Any]]()
    for step in state.steps:
        steps.append(_step_data(step, state.outcomes.get(step.id, _NOT_BEGUN)))
    planned = {
        "strategy": stored.strategy,
        "plan": list(state.plan.steps) if state.plan else [],
        "steps": steps,
        "gaps": _gaps(state),
        "contradictions": _contradictions(state, state.own_observations),
    }
    data = _report_data(stored)
    data["versions"] = [version.listed for version in stored.versions]
    data.update(clean_nested(planned))
    data["research"] = [_finding_data(state, finding) for finding in _findings(state)]
    excluded = dict[str, Any]()
    for key, exclusion in state.excluded.items():
        excluded[key] = exclusion.model_dump(mode="json")
    data["excluded"] = clean_nested(excluded)
    if state.report and state.report.audit:
        claims = list[dict[str, Any]]()
        for claim in state.report.claims:
            sentence = state.report.text[claim.start : claim.end]
            claims.append({"sentence": sentence, **claim.model_dump(mode="json")})
        checked = {
            "audit": state.report.audit.model_dump(mode="json"),
            "claims": claims,
            "calculations": [
                calculation.model_dump(mode="json") for calculation in state.report.calculations
            ],
            "verdicts": [verdict.model_dump(mode="json") for verdict in state.report.verdicts],
        }
        data.update(clean_nested(checked))
    if state.report and state.report.columns:
        tables = [sheet.data for sheet in sheets_of(state.report)]
        data["tables"] = clean_nested(tables)
    return data


def _body_lines(stored: StoredRun) -> list[str]:
    """Return the plan, the research and the report of a run as lines of text."""
    state = stored.state
    lines = list[str]()
    # The steps of a typed plan, below, show it in more detail.
    if state.plan and not state.steps:
        lines += ["", "Plan"]
        for number, words in enumerate(state.plan.steps, 1):
            lines.append(f"  {number}. {words}")
    if state.steps:
        lines += ["", "Steps"]
        for step in state.steps:
            lines += _step_lines(step, state.outcomes.get(step.id, _NOT_BEGUN))
        gaps = _gaps(state)
        if gaps:
            lines += ["", "Not found"]
            lines += [f"  - {gap['question']}" for gap in gaps]
    findings = _findings(state)
    if findings:
        lines += ["", "Research"]
        for finding in findings:
            lines += _finding_lines(state, finding)
    if stored.trust:
        lines += ["", "Audit", f"  {stored.trust.line}"]
    if state.report and state.report.audit:
        lines += _audit_lines(state, state.report.audit)
    versions = stored.versions
    if len(versions) > 1:
        lines += ["", "Versions"]
        for version in versions:
            lines.append(f"  {version_line(version)}")
    if state.excluded:
        lines += ["", "Excluded by you"]
        for key, exclusion in state.excluded.items():
            source = state.sources[key]
            because = f": {exclusion.because}" if exclusion.because else ""
            lines.append(f"  - [{source.number}] {source.shown_title} ({exclusion.date}){because}")
    if stored.asks:
        lines += ["", "The run asks"]
        lines += [f"  {line}" for line in stored.asks.splitlines()]
    return [*lines, "", stored.report]


def _step_lines(step: PlanStep, outcome: StepOutcome) -> list[str]:
    """Return the lines on a step of a plan."""
    indent = "  " * (step.depth + 1)
    facts = [step.status.replace("_", " "), step.kind]
    if outcome.iterations:
        facts.append(counted(len(outcome.iterations), "iteration"))
        facts.append(f"confidence {outcome.confidence:.2g}")
    lines = [f"{indent}{step.id} {step.title} – {', '.join(facts)}"]
    if step.reason:
        lines.append(f"{indent}    {step.reason}")
    return lines


def _audit_lines(state: ResearchState, audit: Audit) -> list[str]:
    """Return the lines on the check of the report."""
    lines = [
        f"  {counted(audit.reasoning, 'other statement')} without need for a source",
        f"  {counted(audit.removed_markers, 'citation')} removed that named no source",
        *_corrected_lines(audit),
        f"  {counted(audit.sources_read, 'source')} read, {audit.sources_cited} cited, from "
        f"{counted(audit.independent_sources, 'independent organisation')}, "
        f"{audit.excerpts_cited} seen only as a search excerpt; {len(audit.not_read)} not "
        "readable",
    ]
    for failure in audit.failures:
        lines.append(f"  failed: {safe_text(failure)}")
    engines = engines_line(state)
    if engines:
        lines.append(f"  found by {engines}")
    if audit.model_calls:
        lines.append(f"  {calls_line(audit)}")
    return lines


def _corrected_lines(audit: Audit) -> list[str]:
    """Return the line on citations of findings that were corrected; none if none was."""
    if not audit.corrected_markers:
        return []
    corrected = counted(audit.corrected_markers, "citation")
    return [f"  {corrected} of findings corrected: another source states it"]


def version_line(version: Version) -> str:
    """Return a version or answer of a thread as one line of a list: name, date, kind, title."""
    kind = _KIND_WORDS[version.kind]
    if version.kind == "revert":
        kind += f" {version.restores}"
    date = version.date[:16].replace("T", " ")
    return f"{version.name:12} {date:16}  {kind:17} {version.title}".rstrip()


def end_line(stored: StoredRun) -> str:
    """Summarise a finished run in one line: sources, trust, time and costs."""
    state = stored.state
    report = state.report
    if report is None or stored.trust is None:
        return ""
    found = counted(len(state.sources), "source")
    read = [source for source in state.sources.values() if source.content_hash]
    parts = [f"{found} found, {len(read)} read, {len(report.sources)} cited"]
    parts.append(stored.trust.line)
    parts.append(f"{in_words(state.run.active_seconds)}, {spent_line(state.spending)}")
    return f"Done: {'; '.join(parts)}."


def calls_line(audit: Audit) -> str:
    """Return the number, tokens and cost of the model calls in words."""
    money = f", {dollars(audit.usd)}" if audit.usd else ""
    tokens = f"{audit.input_tokens} tokens read, {audit.output_tokens} written"
    return f"{counted(audit.model_calls, 'model call')}, {tokens}{money}"


def _report_data(stored: StoredRun) -> dict[str, Any]:
    """Return the status of a run, its report and its sources."""
    state = stored.state
    run = state.run
    report = ""
    sources = list[dict[str, Any]]()
    if state.report:
        report = safe_text(state.report.text)
        for source in state.report.cited(state.sources):
            sources.append({"n": source.number, **_source_data(source)})
    return {
        "thread": stored.thread,
        "name": stored.name,
        "title": stored.title,
        "question": safe_text(stored.question),
        "depth": _depth(run) if run.id else "",
        "status": stored.status,
        "failure": stored.failure,
        "asks": safe_text(stored.asks),
        "report": report,
        "sources": sources,
        "assumptions": run.assumptions,
        "notices": run.notices,
        "stop_reason": run.stop_reason,
        "seconds": round(run.active_seconds, 3),
        "spending": total(state.spending)._asdict(),
        "estimate": run.usual_cost.model_dump() if run.usual_cost else None,
        "trust": trust_data(stored),
        "follow_ups": clean_nested([*state.report.follow_ups]) if state.report else [],
    }


def trust_data(stored: StoredRun) -> dict[str, Any] | None:
    """Return how far a report can be relied on, as numbers and in words; None if there is none."""
    trust = stored.trust
    if trust is None:
        return None
    failures = clean_nested([*trust.failures])
    return {**trust._asdict(), "failures": failures, "line": trust.line, "doubts": trust.doubts}


def _source_data(source: Source) -> dict[str, Any]:
    fields = source.model_dump(include={"title", "location", "content_hash", "date", "extent"})
    if source.shown_publisher:
        fields["publisher"] = source.shown_publisher
    fields["publisher_kind"] = source.publisher_kind
    if source.date_words:
        fields["date_kind"] = source.date_words
    if source.engines:
        fields["engines"] = list(source.engines)
    if source.kind == "document" and source.location.startswith("file:"):
        fields["path"] = url2pathname(urlsplit(source.location).path)
    return fields


def _finding_data(state: ResearchState, finding: Finding) -> dict[str, Any]:
    """Return the finding of a researcher, its actions and its sources."""
    fields = {"cycle", "position", "task", "ended", "reason", "seconds"}
    return {
        **finding.model_dump(include=fields),
        "finding": safe_text(finding.numbered or finding.text),
        "actions": [action.model_dump(exclude={"id"}) for action in finding.actions],
        "sources": [_source_data(source) for source in _cited(state, finding)],
    }


def _step_data(step: PlanStep, outcome: StepOutcome) -> dict[str, Any]:
    """Return a step of a plan with its outcome."""
    fields = {"number", "queries", "confidence", "verdicts"}
    iterations = list[dict[str, Any]]()
    for iteration in outcome.iterations:
        data = iteration.model_dump(mode="json", include=fields)
        data["learnings"] = len(iteration.learnings)
        iterations.append(data)
    return {
        **step.model_dump(mode="json", exclude={"description", "requires_search", "depth"}),
        "kind": step.kind,
        "iterations": iterations,
        "completeness": outcome.completeness,
        "quality": outcome.quality,
    }


def _gaps(state: ResearchState) -> list[dict[str, Any]]:
    """Return what is missing in the report, or what the research has not found if there is no
    report yet."""
    found = {gap.text: gap for gap in ResearchMemory(state.own_observations).open_gaps()}
    texts = list(found)
    if state.report:
        texts = ReportNotes(state).gaps()
    gaps = list[dict[str, Any]]()
    for text in texts:
        gap = found.get(text)
        step = gap.step if gap else ""
        gaps.append({"question": text, "relevance": gap.score if gap else 1.0, "step": step})
    return gaps


def _contradictions(
    state: ResearchState, observations: Sequence[Observation]
) -> list[dict[str, Any]]:
    """Return the contradictions that the run has found, except those that the final check has
    dismissed."""
    noticed_by = dict[frozenset[str], str]()
    for observation in sorted(observations, key=lambda found: found.order):
        noticed_by.setdefault(frozenset(observation.claims), observation.step)
    data = list[dict[str, Any]]()
    for contradiction in ResearchMemory(observations).contradictions():
        dispute = ThreadDisputes(state).current(contradiction)
        claims = list[dict[str, Any]]()
        for side in dispute.sides:
            claim = {"text": side.text, "n": 0, "source": "", "date": side.date}
            source = state.sources.get(side.source)
            if source:
                claim |= {"n": source.number, "source": source.location}
            claims.append({**claim, "origin": side.origin})
        data.append(
            {
                "claims": claims,
                "about": dispute.about,
                "resolution": dispute.resolution,
                "step": noticed_by[frozenset(contradiction.claims)],
                "is_confirmed": contradiction.step == FINAL_CHECK,
            }
        )
    return data


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
    if spent.fetches:
        words.append(f"{counted(spent.fetches, 'document')} opened")
    if spent.usd:
        words.append(dollars(spent.usd))
    return ", ".join(words) or "nothing"


def _finding_lines(state: ResearchState, finding: Finding) -> list[str]:
    """Return the lines on what a researcher has found and how."""
    name = "Analysis:" if finding.is_analysis else f"{finding.cycle + 1}.{finding.position + 1}"
    heading = f"  {name} {finding.task}"
    if finding.ended != "done":
        heading += f" – {finding.ended}: {finding.reason}"
    lines = [heading]
    for action in finding.actions:
        inputs = " | ".join(action.inputs)
        lines.append(f"      {action.tool}: {inputs} – {counted(len(action.found), 'source')}")
        lines += [f"        {problem}" for problem in action.problems]
    for source in _cited(state, finding):
        # Passages stand for a finding of which only the report says what it cites.
        if finding.is_excerpt and state.report and source.key not in state.report.sources:
            continue
        location = source.short_location if source.kind == "document" else source.location
        lines.append(f"      cited: {source.title} – {location}")
    return lines


def engines_line(state: ResearchState) -> str:
    """Return how many sources each search engine found and how many of them are cited; empty if
    none found any."""
    found = Counter[str]()
    for source in state.sources.values():
        found.update(source.engines)
    cited = Counter[str]()
    for key in set(state.report.sources) if state.report else ():
        cited.update(state.sources[key].engines)
    parts = list[str]()
    for engine, count in found.items():
        parts.append(f"{engine}: {counted(count, 'source')}, {cited[engine]} cited")
    return "; ".join(parts)


def _findings(state: ResearchState) -> list[Finding]:
    """Return the findings for the current question, in the order of the tasks."""
    return sorted(state.own_findings, key=lambda finding: (finding.cycle, finding.position))


def _cited(state: ResearchState, finding: Finding) -> list[Source]:
    """Return the sources that a finding cites, in the order of its text."""
    numbered = by_number(state.sources.values())
    return [numbered[number] for number in cited_numbers(finding.numbered or "", numbered)]
