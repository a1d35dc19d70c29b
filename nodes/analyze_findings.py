"""Asks the orchestrator's model to compare or challenge the findings, without a search."""

from __future__ import annotations

from ..core.evidence.citations.citing import by_number, cited_numbers, number_finding
from ..core.evidence.text.sentences import cited_sentences
from ..core.records.research import Finding
from ..core.run.events.call import document, researcher_failed
from ..core.run.events.packets import ResearchAgentStart
from ..core.writing.forms import RecordConclusions
from ..core.writing.turn import NodeRuntime, begin_turn
from ..prompts import fence
from ..state import ResearchState, StateUpdate
from ..tools.excerpts import finding_packets

_HEAD = "Analysis, which rests on the findings and is no source of its own:"


async def analyze_findings(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Make the conclusions of the requested analysis a finding; they cite the sources of the analyzed findings."""
    turn, run = await begin_turn(state, runtime), state.run
    call_id, task = state.progress.analyses[-1]
    turn.emit(ResearchAgentStart(placement=turn.placement, research_task=task))
    texts = [found.numbered or found.text for found in state.findings.values() if found.text and not found.is_withheld]
    room = turn.context.limits.memory_tokens * 4 // max(1, len(texts))
    shown = "\n\n".join(text if len(text) <= room else cited_sentences(text, room / len(text)) for text in texts)
    async with turn.paid():
        form = await turn.filler.ask_if_possible(
            RecordConclusions,
            "orchestrator",
            "analyze_findings",
            [],
            task=task,
            question=run.question,
            findings=fence(shown),
        )
    known = by_number(state.sources.values())
    numbers = {source.key: number for number, source in known.items()}
    said = "\n".join(f"- {' '.join(words.split())}" for words in form.conclusions) if form else ""
    text, _, dropped = number_finding(said, {number: source.key for number, source in known.items()}, numbers)
    reason = "" if text else "its model drew no conclusions"
    finding = Finding(
        id=call_id,
        question_id=run.id,
        cycle=state.progress.cycle,
        position=0,
        task=task,
        text=f"{_HEAD}\n{text}" if text else "",
        numbered=f"{_HEAD}\n{text}" if text else "",
        ended="failed" if reason else "done",
        reason=reason,
        is_analysis=True,
        dropped_markers=dropped,
    )
    cited = [document(known[number]) for number in cited_numbers(text, known)]
    turn.emit(
        *([researcher_failed(turn.placement, reason)] if reason else []),
        *finding_packets(turn.placement, finding, cited),
    )
    return {**turn.update(), "findings": {call_id: finding}}
