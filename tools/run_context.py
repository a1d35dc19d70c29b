"""What a run of the planned strategy has learned and noticed for its present question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..knowledge import Learning, Observation
from ..run.knowing import as_learned
from ..state import ResearchState


def own_learnings(state: ResearchState) -> list[Learning]:
    """What was learned for the present question, in order."""
    assert state.run is not None
    return [learning for learning in state.learnings.values() if learning.question_id == state.run.id]


def own_observations(state: ResearchState) -> list[Observation]:
    """What was noticed for the present question."""
    assert state.run is not None
    return [observation for observation in state.memory.values() if observation.question_id == state.run.id]


def with_numbers(state: ResearchState, learnings: Iterable[Learning]) -> list[dict[str, Any]]:
    """Learnings as a model reads them, with the numbers of the thread."""
    numbers = {source.key: source.number for source in state.sources.values() if source.number}
    return as_learned(learnings, numbers)
