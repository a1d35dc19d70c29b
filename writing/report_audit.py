"""Draws up the account of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..audit import Audit, Disagreement
from ..evidence.checking.accounting import disagreements, read_sources
from ..evidence.checking.reprints import independent, reprints
from ..evidence.checking.source_text import SourceText
from ..evidence.checking.units import plain_words
from ..evidence.editions import may_contradict
from ..evidence.memory.notes import missing_of
from ..evidence.memory.unread import not_read
from ..evidence.text.sentences import sentences_of
from ..run.spending import total
from ..state import ResearchState
from ..tools.disagreement import disagreement
from .examination import Examined


def audit_of(
    state: ResearchState, report: Examined, texts: Mapping[str, Sequence[SourceText]], failures: Sequence[str]
) -> Audit:
    """The account of an examined report; `texts` by the key of the source, `state` with all that the run has cost."""
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
    """Those that the planned strategy's last check has confirmed, and those among the passages behind the report."""
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
