"""What a run of the planned strategy has learned and noticed for its present question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..evidence.memory.learned import facts_of
from ..knowledge import Learning, Observation
from ..run.knowing import as_learned, as_sources
from ..state import ResearchState


def own_learnings(state: ResearchState) -> list[Learning]:
    """What was learned for the present question, in order."""
    assert state.run is not None
    return [learning for learning in state.learnings.values() if learning.question_id == state.run.id]


def own_observations(state: ResearchState) -> list[Observation]:
    """What was noticed for the present question."""
    assert state.run is not None
    return [observation for observation in state.memory.values() if observation.question_id == state.run.id]


def sources_of(state: ResearchState, learnings: Iterable[Learning]) -> list[dict[str, Any]]:
    """The sources of learnings as a model reads them, with the numbers of the thread."""
    keys = dict.fromkeys(one.source for one in learnings if one.source)
    return as_sources((state.sources[key] for key in keys), _numbers(state))


def with_numbers(state: ResearchState, learnings: Iterable[Learning]) -> list[dict[str, Any]]:
    """What was learned as a model reads it, each thing once, with the numbers of the thread."""
    return as_learned(facts_of(learnings), _numbers(state))


def _numbers(state: ResearchState) -> dict[str, int]:
    return {source.key: source.number for source in state.sources.values() if source.number}
