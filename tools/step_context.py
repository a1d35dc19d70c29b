"""What a step knows when it asks its model: what it was given, and what it has noticed since."""

from __future__ import annotations

from ..evidence.memory.learned import facts_of, in_view
from ..evidence.memory.observations import open_gaps
from ..knowledge import Observation, short_hash
from ..run.knowing import as_elements, as_learned, as_sources, known
from ..run.limits import Limits
from ..run.step_branch import StepState, StepTask


def gaps_of(state: StepState) -> list[Observation]:
    """What the step does not know: what it was told so and what it noticed, less what it has answered."""
    return open_gaps([*state.task.gaps, *state.memory.values()])


def given_to(task: StepTask) -> str:
    """What a step was given when it was sent out, as a model reads it; empty if that is nothing."""
    keys = dict.fromkeys(one.source for one in task.known if one.source)
    numbers = {key: number for number, key in enumerate(keys, 1)}
    learned, elements = as_learned(facts_of(task.known), numbers), as_elements(task.elements)
    return known(fence_name=short_hash(task.question_id, task.id)[:8], learnings=learned, elements=elements)


def knowledge_of(state: StepState, limits: Limits) -> str:
    """All that a step knows by now, as a model reads it."""
    step = state.task.step
    learnings = in_view([list(state.learnings.values()), state.task.known], step.task, limits.memory_tokens)
    return known(
        title=step.title,
        task=step.task,
        learnings=as_learned(facts_of(learnings), state.numbers),
        sources=as_sources(state.task.rests_on, state.numbers),
        elements=as_elements(state.task.elements),
        gaps=[gap.text for gap in gaps_of(state)][: limits.max_elements],
    )
