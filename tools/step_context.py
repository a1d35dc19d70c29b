"""What a step knows when it asks its model: what it was given, and what it has noticed since."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..evidence.memory.observations import elements_for, open_gaps
from ..evidence.text.likeness import normalised
from ..knowledge import Element, Learning, Observation, last_verdict
from ..run.knowing import as_elements, as_learned, known
from ..run.limits import Limits
from ..run.step_branch import StepState

OWN_THOUGHT = 0.9
"""Relevance of the step's own last verdict."""
OWN_ELEMENT = 0.8
"""Relevance of what that verdict hangs on."""


def gaps_of(state: StepState) -> list[Observation]:
    """What the step does not know: what it was told so and what it noticed, less what it has answered."""
    return open_gaps([*state.task.gaps, *state.memory.values()])


def learnings_of(state: StepState, most: int) -> list[Learning]:
    """What the step was given, what it builds on first, and what it has learned last; each has half of the room."""
    own = list(state.learnings.values())[-max(1, most - min(len(state.task.known), most // 2)) :]
    return [*state.task.known[: max(1, most - len(own))], *own]


def elements_of(state: StepState, limits: Limits) -> list[Element]:
    """What bears on the step, each once: its last verdict, what it noticed, what it was given; gaps stand apart."""
    own = [one for one in state.memory.values() if one.kind != "gap"]
    noticed = elements_for(state.task.step.task, own, [], limits.max_elements)
    found: dict[tuple[str, str], Element] = {}
    for element in (*_last_verdict(state), *noticed, *state.task.elements):
        found.setdefault((element.kind, normalised(element.content)), element)
    return list(found.values())[: limits.max_elements]


def knowledge_of(state: StepState, limits: Limits, new: Collection[str] = ()) -> str:
    """All of it, as a model reads it; `new` are ids of learnings that are told apart."""
    step, learnings = state.task.step, learnings_of(state, limits.max_memory_items)
    return known(
        title=step.title,
        task=step.task,
        learnings=as_learned(learnings, state.numbers),
        new=[number for number, one in enumerate(learnings, 1) if one.id in new],
        elements=as_elements(elements_of(state, limits)),
        gaps=[gap.text for gap in gaps_of(state)][: limits.max_elements],
        asked=[query for iteration in state.iterations for query in iteration.queries],
    )


def _last_verdict(state: StepState) -> Iterable[Element]:
    """What was thought last; it takes the place of what was thought before."""
    last, step_id = last_verdict(state.iterations), state.task.step.id
    if last is None:
        return
    if last.reasoning:
        yield Element(content=last.reasoning, relevance=OWN_THOUGHT, source=step_id, kind="reasoning")
    for words in last.key_elements:
        yield Element(content=words, relevance=OWN_ELEMENT, source=step_id, kind="reasoning")
