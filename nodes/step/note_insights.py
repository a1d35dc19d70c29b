"""Notes what the learnings of an iteration show when taken together, and what they leave open."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ...knowledge import Observation
from ...models.settings import settings_of
from ...run.context import Context
from ...run.step_branch import StepState, noticed
from ...run.tries import Failed
from ...state import Spent
from ...tools.forms import RecordInsights
from ...tools.request_facts import facts_of_step
from ...tools.step_call import StepCall
from ...tools.step_context import knowledge_of

INSIGHT_CONFIDENCE = 0.8
"""Confidence of an insight: it is asked for only where the step's results are sure enough."""


class NoteInsightsUpdate(TypedDict, total=False):
    """What `note_insights` writes."""

    memory: dict[str, Observation]
    failures: list[str]
    seconds: float
    spending: dict[str, Spent]


async def note_insights(state: StepState, runtime: Runtime[Context]) -> NoteInsightsUpdate:
    """Have insights and gaps noted; if that fails, the step goes on without."""
    context = settings_of(runtime)
    call = StepCall(state, context, runtime)
    said, knowledge = [HumanMessage(state.task.text)], knowledge_of(state, context.limits)
    form = await call.tried(
        call.filler.ask_if_possible(
            RecordInsights, "orchestrator", "note_insights", said, facts=facts_of_step(state), knowledge=knowledge
        )
    )
    update = NoteInsightsUpdate(failures=call.filler.failures, seconds=call.seconds, spending=call.costs)
    if form is None or isinstance(form, Failed):
        return update
    return {**update, "memory": {noted.key: noted for noted in _observations(form, state)}}


def _observations(form: RecordInsights, state: StepState) -> Iterable[Observation]:
    rests_on = tuple(sorted(state.iterations[-1].learnings))
    for insight in form.insights:
        if text := " ".join(insight.split()):
            yield noticed(state, "insight", text, INSIGHT_CONFIDENCE, rests_on)
    for gap in form.gaps:
        if text := " ".join(gap.question.split()):
            yield noticed(state, "gap", text, gap.relevance)
