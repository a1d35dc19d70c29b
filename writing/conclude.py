"""The end of a report: its audit, and the message that carries it into the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage

from ..evidence.checking.source_text import SourceText
from ..evidence.checking.units import plain_words
from ..evidence.checking.verification import disagreements, read_sources
from ..evidence.citations.citing import without_unknown
from ..evidence.citations.labels import labels
from ..evidence.citations.rendering import write_document
from ..evidence.citations.sanitizing import sanitized
from ..evidence.editions import may_contradict
from ..evidence.memory.observations import comparison_table, missing_of, not_read, notes_of
from ..evidence.text.sentences import sentences_of
from ..evidence.text.similarity import independent, reprints
from ..records.report import Audit, Disagreement, Draft, Report
from ..records.research import Run
from ..run.conversation import NUMBERS, marked
from ..run.spending import total
from ..state import ResearchState
from .basis import disagreement, disagreement_of
from .examination import Examined


def report_message(state: ResearchState, report: Report) -> AIMessage:
    """Return the report as a message for the user; `state` has the run as it ends."""
    assert state.run is not None
    words, cited = labels(state.run.language_code), [state.sources[key] for key in report.sources]
    numbers = {key: number for number, key in enumerate(report.sources, 1)}
    table = comparison_table(disagreement_of(state, report), words, numbers)
    document = write_document(report, cited, notes_of(state), words, bool(state.sources), table)
    return marked(document, "report", **{NUMBERS: [source.number for source in cited]})


def unchecked(draft: Draft) -> Report:
    """Return the draft as the report, without a check."""
    return Report(text=sanitized(without_unknown(draft.text)), sources=draft.sources)


def ended(run: Run, *, has_gaps: bool, seconds: float) -> Run:
    """Return the run as completed, with these further seconds."""
    status = "completed_with_gaps" if has_gaps else "completed"
    return run.model_copy(update={"active_seconds": run.active_seconds + seconds, "status": status})


def audit_of(
    state: ResearchState, report: Examined, texts: Mapping[str, Sequence[SourceText]], failures: Sequence[str]
) -> Audit:
    """Return the audit of an examined report; `texts` by the key of the source, `state` with all costs of the run."""
    run, draft, claims, spent = state.run, state.draft, report.claims, total(state.spending)
    assert run is not None and draft is not None
    groups = reprints({key: own[0].text for key in report.sources if (own := texts.get(key))})
    verdicts = [claim.verdict for claim in claims]
    actions = [action for one in state.findings.values() if one.question_id == run.id for action in one.actions]
    found = [key for action in (*state.brief.actions, *actions) for key in action.found]
    return Audit(
        sentences=sum(bool(plain_words(sentence)) for sentence in sentences_of(report.text)),
        cited=sum(bool(claim.passages) for claim in claims),
        supported=verdicts.count("supported"),
        unchecked=verdicts.count("unchecked"),
        unsupported=verdicts.count("unsupported"),
        uncited=verdicts.count("uncited"),
        repaired=sum(claim.repair is not None for claim in claims),
        marked=sum(claim.is_marked for claim in claims),
        removed_markers=draft.removed_markers,
        sources_read=read_sources(state.sources, [*found, *report.sources]),
        sources_cited=len(report.sources),
        independent_sources=independent(report.sources, groups),
        excerpts_cited=sum(not state.sources[key].content_hash for key in report.sources),
        reprints=tuple(groups),
        disagreements=tuple(_disagreements(state, report)),
        open_gaps=tuple(missing_of(run, state.findings.values(), state.memory.values())),
        not_read=tuple(not_read(run, state.findings.values(), state.brief.actions)),
        model_calls=spent.calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        usd=spent.usd,
        seconds=run.active_seconds,
        failures=tuple(failures),
    )


def _disagreements(state: ResearchState, report: Examined) -> list[Disagreement]:
    """Return those that the planned strategy's last check confirmed, and those among the passages behind the report."""
    assert state.run is not None
    confirmed = [
        Disagreement(claims=pair.claims, sources=(pair.sources[0].key, pair.sources[1].key))
        for pair in disagreement(state)
    ]
    known = {frozenset(one.claims) for one in confirmed}
    found = [
        one
        for one in disagreements(report.claims, state.run.id)
        if may_contradict(*(state.sources[key] for key in one.sources))
    ]
    return confirmed + [one for one in found if frozenset(one.claims) not in known]
