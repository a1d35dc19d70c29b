"""What the sources of a planned research disagree on, as its final check has it."""

from __future__ import annotations

from ..evidence.memory.comparison import Compared, compared
from ..run.packet import Placement
from ..run.step_packets import Contradiction, ContradictionsFound
from ..state import Report, ResearchState


def disagreement(state: ResearchState) -> list[Compared]:
    """The confirmed contradictions of the present question."""
    assert state.run is not None
    return compared(state.memory.values(), state.learnings, state.sources, state.run.id)


def disagreement_in_thread(state: ResearchState) -> list[Compared]:
    """The same of all questions of the thread, which a report may rest on."""
    questions = dict.fromkeys(one.question_id for one in state.memory.values())
    pairs = (compared(state.memory.values(), state.learnings, state.sources, one) for one in questions)
    return [pair for of_one in pairs for pair in of_one]


def disagreement_of(state: ResearchState, report: Report) -> list[Compared]:
    """What the sources of a report disagree on, also by its own check."""
    if report.audit is None:
        return disagreement(state)
    return [
        Compared(found.claims, (state.sources[found.sources[0]], state.sources[found.sources[1]]))
        for found in report.audit.disagreements
    ]


def disagreement_told(pairs: list[Compared], place: Placement) -> list[ContradictionsFound]:
    """The packet that tells them; nothing if there are none."""
    shown = [
        Contradiction(
            claim=pair.claims[0],
            document_id=pair.sources[0].key,
            other_claim=pair.claims[1],
            other_document_id=pair.sources[1].key,
            newer_document_id=pair.newer.key if pair.newer else "",
        )
        for pair in pairs
    ]
    return [ContradictionsFound(placement=place, contradictions=shown)] if shown else []
