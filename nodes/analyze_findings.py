"""Asks the orchestrator's model to compare or challenge the findings, without a search."""

from __future__ import annotations

from ..core.events.blocks import ResearcherPackets
from ..core.evidence.citations.citing import by_number, cited_numbers, number_finding
from ..core.evidence.citations.markers import with_calculations
from ..core.evidence.text.sentences import cited_sentences
from ..core.records.research import Ending, Finding
from ..core.writing.calculating import Analysis, Calculations
from ..prompts import fence
from ..state import ResearchState, StateUpdate
from .turn import NodeRuntime, begin_turn

_HEAD = "Analysis, which rests on the findings and is no source of its own:"


_MISSING = "Not known yet, and worth a task:"
_NOWHERE = "Not in the user's documents, and nothing else is searched:"


class FindingsAnalysis(Analysis):
    """Hand in what follows from the findings, with the numbers of the sources and calculations that it is based on, such as [3] or [calc 2]."""  # noqa: E501


async def analyze_findings(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Make the conclusions of the requested analysis a finding.

    They cite the sources of the analyzed findings.
    """
    turn = await begin_turn(state, runtime)
    state = turn.state
    run = state.run
    call_id, task = state.progress.analyses[-1]
    turn.emit(ResearcherPackets(turn.placement).start(task))
    findings = fence(_shown_findings(state, turn.context.limits.memory_tokens))

    async def ask(*, results: str, is_last: bool) -> FindingsAnalysis | None:
        return await turn.filler.ask_if_possible(
            FindingsAnalysis,
            "orchestrator",
            "analyze",
            [],
            task=task,
            question=run.question,
            findings=findings,
            knowledge="",
            calculations=turn.basis.calculations,
            results=results,
            is_last=is_last,
        )

    calculating = Calculations(turn.calculator)
    async with turn.paid():
        form = await calculating.ask(ask)
    lines = list[str]()
    if form:
        lines += [f"- {conclusion}" for conclusion in form.conclusions]
    known = by_number(state.sources.values())
    keys = {number: source.key for number, source in known.items()}
    numbers = {key: number for number, key in keys.items()}
    conclusions, _, dropped_markers = number_finding("\n".join(lines), keys, numbers)
    known_calculations = {**state.calculations, **calculating.changed}
    own_numbers = {found.number: found.number for found in known_calculations.values()}
    conclusions, dropped_calculations = with_calculations(conclusions, own_numbers)
    text = ""
    reason = "its model drew no conclusions"
    ended: Ending = "failed"
    if conclusions:
        missing = _missing(form, _MISSING if turn.branch_tools else _NOWHERE)
        text = f"{_HEAD}\n{conclusions}{missing}"
        reason = ""
        ended = "done"
    finding = Finding(
        id=call_id,
        question_id=run.id,
        cycle=state.progress.cycle,
        position=0,
        task=task,
        text=text,
        numbered=text,
        ended=ended,
        reason=reason,
        is_analysis=True,
        dropped_markers=dropped_markers + dropped_calculations,
    )
    packets = ResearcherPackets(turn.placement)
    if reason:
        turn.emit(packets.failure(reason))
    cited = [known[number] for number in cited_numbers(conclusions, known)]
    turn.emit(*packets.finding(finding.text, cited))
    return {**turn.update(), "findings": {call_id: finding}, "calculations": calculating.changed}


def _missing(form: FindingsAnalysis | None, head: str) -> str:
    """Return what an analysis names as missing, for the orchestrator; empty if it names nothing."""
    lines = [f"- {fact}" for fact in form.missing_facts] if form else []
    return "\n".join(["", head, *lines]) if lines else ""


def _shown_findings(state: ResearchState, tokens: int) -> str:
    """Return the texts of all findings, each shortened to an equal part of `tokens`."""
    texts = list[str]()
    for finding in state.findings.values():
        if finding.text and not finding.is_withheld:
            texts.append(finding.numbered or finding.text)
    room = tokens * 4 // max(1, len(texts))
    shown = list[str]()
    for text in texts:
        if len(text) > room:
            shown.append(cited_sentences(text, room / len(text)))
        else:
            shown.append(text)
    return "\n\n".join(shown)
