"""How the report of a planned research is framed: what the user wants of it, what it says, what it may rest on."""

from __future__ import annotations

from ..evidence.memory.learned import in_view, thoughts
from ..evidence.memory.observations import insights, relevance
from ..run.conversation import subject_of
from ..run.packet import Placement, final_document
from ..run.step_packets import ReportFraming, Sources
from ..state import ResearchState
from .run_context import own_learnings, own_observations

FIRST = 500
"""Tokens of what was learned, of which the best stands in for a conclusion."""


def intent_of(state: ResearchState) -> str:
    """What the user wants of the report: the summary of the conversation, or an answer to the question."""
    assert state.run is not None
    summary = state.brief.summary.strip()
    return summary if summary != state.run.question else f"An answer to the question: {subject_of(summary)}"


def framing_told(state: ResearchState, place: Placement) -> list[ReportFraming | Sources]:
    """What the report comes to, unless nothing was learned, and all that it may rest on."""
    ordered = sorted(state.sources.values(), key=lambda source: (not source.number, source.number, source.key))
    documents = [final_document(source) for source in ordered]
    cited = [source.key for source in ordered if source.number]
    told: list[ReportFraming | Sources] = []
    if concluded := _conclusions(state):
        message, *reasons = concluded
        told.append(ReportFraming(placement=place, main_message=message, reasoning=" ".join(reasons)))
    return [*told, Sources(placement=place, documents=documents, cited=cited)]


def _conclusions(state: ResearchState) -> list[str]:
    """What the last thought came to; else the insights, or the fact that bears most on the question."""
    own = own_learnings(state)
    thought = thoughts(own)
    if thought:
        return [one.text for one in thought if one.step == thought[-1].step]
    about = state.brief.summary
    noticed = sorted((one.text for one in insights(own_observations(state))), key=lambda text: -relevance(text, about))
    return noticed or [one.text for one in in_view([own], state.brief.summary, FIRST)[:1]]
