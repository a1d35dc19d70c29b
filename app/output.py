"""Reports, plans, audits and runs as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..evidence.citations.numbering import by_number
from ..evidence.citations.rendering import source_place
from ..evidence.citations.stream import cited_numbers
from ..evidence.memory.notes import gaps_of, missing_of
from ..evidence.memory.observations import contradictions, open_gaps
from ..records.plan import FINAL_CHECK, Iteration, Observation, PlanStep, StepOutcome
from ..records.report import Audit, Report
from ..records.research import Finding
from ..records.sources import Source
from ..run.conversation import clean, cleaned
from ..run.spending import dollars, total
from ..state import ResearchState
from .runs import Standing
from .terminal import RunName
from .words import Format, counted, in_words

NOTHING = StepOutcome(step="")
"""What a step came to that has not begun."""


def step_page(state: ResearchState) -> list[str]:
    """The steps, each follow-up below its parent, and the gaps that stayed open; empty without steps."""
    if not state.steps:
        return []
    lines = ["", "Steps", *(line for step in state.steps for line in _step_lines(step, _outcome(state, step)))]
    if gaps := open_gaps(_observed(state)):
        lines += ["", "Not found", *(f"  - {gap.text}" for gap in gaps)]
    return lines


def step_data(state: ResearchState) -> dict[str, Any]:
    """The steps with what they did, the gaps that are open, and the claims that cannot both hold."""
    observed = _observed(state)
    gaps = open_gaps(observed)
    return cleaned(
        {
            "steps": [_step(step, _outcome(state, step)) for step in state.steps],
            "gaps": [{"question": gap.text, "relevance": gap.score, "step": gap.step} for gap in gaps],
            "contradictions": _contradictions(state, observed),
        }
    )


def _outcome(state: ResearchState, step: PlanStep) -> StepOutcome:
    return state.outcomes.get(step.id, NOTHING)


def _observed(state: ResearchState) -> list[Observation]:
    """What was noticed for the present question."""
    question_id = state.run.id if state.run else ""
    return [observation for observation in state.memory.values() if observation.question_id == question_id]


def _step_lines(step: PlanStep, outcome: StepOutcome) -> Iterable[str]:
    indent = "  " * (step.depth + 1)
    facts = [step.status.replace("_", " "), step.kind]
    if outcome.iterations:
        facts += [counted(len(outcome.iterations), "iteration"), f"confidence {outcome.confidence:.2g}"]
    yield f"{indent}{step.id} {step.title} – {', '.join(facts)}"
    if step.reason:
        yield f"{indent}    {step.reason}"


def _step(step: PlanStep, outcome: StepOutcome) -> dict[str, Any]:
    return {
        **step.model_dump(mode="json", exclude={"description", "requires_search", "depth"}),
        "kind": step.kind,
        "iterations": [_iteration(iteration) for iteration in outcome.iterations],
        "completeness": outcome.completeness,
        "quality": outcome.quality,
    }


def _iteration(iteration: Iteration) -> dict[str, Any]:
    fields = iteration.model_dump(mode="json", include={"number", "queries", "confidence", "verdicts"})
    return {**fields, "learnings": len(iteration.learnings)}


def _contradictions(state: ResearchState, observed: Sequence[Observation]) -> list[dict[str, Any]]:
    confirmed = contradictions(one for one in observed if one.step == FINAL_CHECK)
    return [
        {
            "claims": [
                _learned_claim(state, one.text, one.learnings[:1]),
                _learned_claim(state, one.other, one.learnings[1:]),
            ],
            "step": one.step,
            # What says no more than those that are confirmed is one of them.
            "is_confirmed": len(contradictions([*confirmed, one])) == len(confirmed),
        }
        for one in contradictions(observed)
    ]


def _learned_claim(state: ResearchState, text: str, learnings: Sequence[str]) -> dict[str, str]:
    """A claim and where a reader finds it."""
    known = [state.learnings[key] for key in learnings if key in state.learnings]
    locations = [state.sources[one.source].location for one in known if one.source]
    return {"text": text, "source": "".join(locations[:1])}


def audit_page(state: ResearchState) -> list[str]:
    """The figures in words; empty where nothing was checked."""
    audit = state.report.audit if state.report else None
    return ["", "Audit", *(f"  {line}" for line in _lines(audit))] if audit else []


def audit_data(state: ResearchState) -> dict[str, Any]:
    """The figures, and the sentences that were checked with the passages behind them; empty where nothing was."""
    report = state.report
    if report is None or report.audit is None:
        return {}
    claims = [_checked_claim(report, place) for place in range(len(report.claims))]
    return cleaned({"audit": report.audit.model_dump(mode="json"), "claims": claims})


def _checked_claim(report: Report, place: int) -> dict[str, Any]:
    claim = report.claims[place]
    return {"sentence": report.text[claim.start : claim.end], **claim.model_dump(mode="json")}


def _lines(audit: Audit) -> list[str]:
    return [
        f"{counted(audit.sentences, 'sentence')}, {audit.cited} with a source: {audit.supported} supported, "
        f"{audit.unsupported} not, {audit.unchecked} not checked by a model; {audit.uncited} with figures, no source",
        f"{audit.repaired} repaired after a check, {audit.marked} marked as not verified, "
        f"{counted(audit.removed_markers, 'citation')} removed that named no source",
        f"{counted(audit.sources_read, 'source')} read, {audit.sources_cited} cited, "
        f"{audit.independent_sources} of them independent, "
        f"{audit.excerpts_cited} seen only as a search excerpt; {len(audit.not_read)} not readable",
        f"{counted(len(audit.disagreements), 'contradiction')}, {counted(len(audit.open_gaps), 'gap')} left open",
        *([calls_line(audit)] if audit.model_calls else []),
    ]


def calls_line(audit: Audit) -> str:
    """What the models of a run, or of a check, have cost."""
    money = f", {dollars(audit.usd)}" if audit.usd else ""
    tokens = f"{audit.input_tokens} tokens read, {audit.output_tokens} written"
    return f"{counted(audit.model_calls, 'model call')}, {tokens}{money}"


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
