"""What the writer is asked when a report, or a part of it, is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ..evidence.citations.numbering import by_number
from ..evidence.citations.outline import PlannedSection
from ..evidence.citations.stream import cited_numbers
from ..evidence.memory.comparison import in_words
from ..evidence.memory.notes import missing_of
from ..evidence.memory.observations import open_gaps
from ..evidence.text.shrink import cited_sentences
from ..knowledge import Source
from ..models.request import Request
from ..prompts import render
from ..run.context import Context
from ..run.fencing import fence
from ..run.transcripts import earlier_findings, research_in, with_findings, withheld
from ..state import Finding, ResearchState
from .disagreement import disagreement_in_thread
from .framing import intent_of
from .report_basis import report_basis
from .request_facts import facts_of_run
from .write_unheard import last_words

_SEEN = {
    "part": "read in part",
    "excerpt": "only a search excerpt was read",
    "not opened": "could not be opened, only a search excerpt was read",
}
TITLE = 100
"""Characters of a source's title."""


class Asked(NamedTuple):
    """What is to be written now."""

    part: Literal["report", "continuation", "outline", "opening", "section"]
    """All of it, the next words of what was cut off, the list of its sections, what stands before these, or one."""
    is_again: bool = False
    """Whether the last answer was empty."""
    section: PlannedSection | None = None
    """The section that is written, or continued."""
    outline: Sequence[PlannedSection] = ()
    """All sections of a report that is written one by one."""
    most_words: int = 0
    """Words that the model can write of this part; 0 if that is not limited."""


def report_request(
    state: ResearchState, context: Context, asked: Asked, draft: str, refused: Collection[str]
) -> Request:
    """The call that writes this part behind the `draft`; `refused` are findings that the model was not let read."""
    run, limits = state.run, context.limits
    assert run is not None
    findings = {**state.findings, **withheld(state.findings, refused)}
    system = render("write_report", "system", date=run.date, language=run.language, instructions=context.instructions)
    partial = [AIMessage(draft)] if draft else []
    progress = state.progress
    messages = [
        SystemMessage(system),
        *state.messages[: progress.opening or len(state.messages)],
        *(report_basis(state, refused) if state.steps else earlier_findings(findings, run.id)),
        *with_findings(research_in(state.transcript), findings),
        *(state.messages[progress.seen_messages :] if progress.opening else []),
        *partial,
        HumanMessage(_reminder(state, context, asked, draft, has_findings=_has_findings(state, findings.values()))),
    ]
    most = limits.form_tokens if asked.part == "outline" else limits.report_tokens
    facts = facts_of_run(state, context, "writer")
    return Request("writer", run.id, messages, cited_sentences, max_tokens=most, facts=facts, is_long=True)


def _reminder(state: ResearchState, context: Context, asked: Asked, draft: str, *, has_findings: bool) -> str:
    run, pairs = state.run, disagreement_in_thread(state)
    assert run is not None and state.plan is not None
    missing = missing_of(run, state.findings.values(), state.memory.values())
    earlier = [gap.text for gap in open_gaps(state.memory.values()) if gap.question_id != run.id]
    return render(
        "write_report",
        "reminder",
        asked=asked.part,
        again=asked.is_again,
        section=asked.section,
        outline=asked.outline,
        most_words=asked.most_words,
        most_sections=context.limits.max_sections,
        has_draft=bool(draft),
        last_words=last_words(draft),
        used=cited_numbers(draft, by_number(state.sources.values())),
        is_start=asked.part in ("report", "opening"),
        stop_reason=run.stop_reason,
        has_findings=has_findings,
        assumptions=run.assumptions,
        # The plan may have been adapted since it was shown.
        plan="\n".join(f"{step.id}. {step.title}" for step in state.steps) or state.plan.text,
        intent=intent_of(state) if state.steps else "",
        sources=_sources_told(state),
        gaps=fence("\n".join(missing)) if missing else "",
        earlier_gaps=fence("\n".join(earlier)) if earlier else "",
        contradictions=fence("\n".join(map(in_words, pairs))) if pairs else "",
    )


def _sources_told(state: ResearchState) -> str:
    """What a reader should know of each source that findings cite: its title, its date, and what it is worth."""
    text = "\n".join(finding.numbered or "" for finding in state.findings.values())
    learned = {one.source for one in state.learnings.values()}
    numbered = by_number(state.sources.values())
    cited = {*cited_numbers(text, numbered), *(number for number, one in numbered.items() if one.key in learned)}
    lines = [f"[{number}] {_told(numbered[number])}" for number in sorted(cited)]
    return fence("\n".join(lines)) if lines else ""


def _told(source: Source) -> str:
    marks = (
        source.date,
        "superseded" if source.superseded_by else "",
        "draft" if source.is_draft else "",
        f"in force from {source.in_force_from}" if source.in_force_from else "",
        _SEEN.get(source.extent, ""),
    )
    host = urlsplit(source.key).hostname if source.kind == "web" else ""
    return "; ".join(filter(None, (source.title[:TITLE], host, *marks)))


def _has_findings(state: ResearchState, findings: Iterable[Finding]) -> bool:
    if state.steps:
        return bool(state.learnings)
    return any(finding.text and not finding.is_withheld for finding in findings)
