"""The steps of a typed plan as text and as data, with what was not found and what does not agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..evidence.memory.observations import contradictions, open_gaps
from ..knowledge import FINAL_CHECK, Iteration, Observation, PlanStep, StepOutcome
from ..run.conversation import cleaned
from ..state import ResearchState
from .words import counted

NOTHING = StepOutcome(step="")
"""What a step came to that has not begun."""


def step_page(state: ResearchState) -> list[str]:
    """The steps, each follow-up below its parent, and the gaps that stayed open; empty without steps."""
    if not state.steps:
        return []
    lines = ["", "Steps", *(line for step in state.steps for line in _step_lines(step, _outcome(state, step)))]
    if gaps := open_gaps(_observed(state)):
        lines += ["", "Not found", *(f"  - {gap.text}" for gap in gaps)]
    return lines


def step_data(state: ResearchState) -> dict[str, Any]:
    """The steps with what they did, the gaps that are open, and the claims that cannot both hold."""
    observed = _observed(state)
    gaps = open_gaps(observed)
    return cleaned(
        {
            "steps": [_step(step, _outcome(state, step)) for step in state.steps],
            "gaps": [{"question": gap.text, "relevance": gap.score, "step": gap.step} for gap in gaps],
            "contradictions": _contradictions(state, observed),
        }
    )


def _outcome(state: ResearchState, step: PlanStep) -> StepOutcome:
    return state.outcomes.get(step.id, NOTHING)


def _observed(state: ResearchState) -> list[Observation]:
    """What was noticed for the present question."""
    question_id = state.run.id if state.run else ""
    return [observation for observation in state.memory.values() if observation.question_id == question_id]


def _step_lines(step: PlanStep, outcome: StepOutcome) -> Iterable[str]:
    indent = "  " * (step.depth + 1)
    facts = [step.status.replace("_", " "), step.kind]
    if outcome.iterations:
        facts += [counted(len(outcome.iterations), "iteration"), f"confidence {outcome.confidence:.2g}"]
    yield f"{indent}{step.id} {step.title} – {', '.join(facts)}"
    if step.reason:
        yield f"{indent}    {step.reason}"


def _step(step: PlanStep, outcome: StepOutcome) -> dict[str, Any]:
    return {
        **step.model_dump(mode="json", exclude={"description", "requires_search", "depth"}),
        "kind": step.kind,
        "iterations": [_iteration(iteration) for iteration in outcome.iterations],
        "completeness": outcome.completeness,
        "quality": outcome.quality,
    }


def _iteration(iteration: Iteration) -> dict[str, Any]:
    fields = iteration.model_dump(mode="json", include={"number", "queries", "confidence", "verdicts"})
    return {**fields, "learnings": len(iteration.learnings)}


def _contradictions(state: ResearchState, observed: Sequence[Observation]) -> list[dict[str, Any]]:
    confirmed = contradictions(one for one in observed if one.step == FINAL_CHECK)
    return [
        {
            "claims": [_claim(state, one.text, one.learnings[:1]), _claim(state, one.other, one.learnings[1:])],
            "step": one.step,
            # What says no more than those that are confirmed is one of them.
            "is_confirmed": len(contradictions([*confirmed, one])) == len(confirmed),
        }
        for one in contradictions(observed)
    ]


def _claim(state: ResearchState, text: str, learnings: Sequence[str]) -> dict[str, str]:
    """A claim and where a reader finds it."""
    known = [state.learnings[key] for key in learnings if key in state.learnings]
    locations = [state.sources[one.source].location for one in known if one.source]
    return {"text": text, "source": "".join(locations[:1])}
