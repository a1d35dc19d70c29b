"""Has results read for a step: what in them bears on its task, and which gaps they close."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from ..evidence.memory.learned import plain_fact
from ..evidence.memory.observations import answers
from ..knowledge import Learning, Observation, short_hash
from ..run import tool_names
from ..run.context import Context
from ..run.pages import Pages
from ..run.step_branch import ResultSet, StepState, StepTask
from .fill_in import Filler
from .forms import RecordLearnings
from .request_facts import facts_of_step
from .results import read_results
from .step_context import gaps_of, knowledge_of
from .together import together

_GIVEN = {tool_names.OPEN_URL: "urls"}
"""What a tool is given, where that is not queries."""


class Learned(NamedTuple):
    """What was new in the results."""

    by_query: dict[str, tuple[str, ...]]
    """Ids of the learnings, by query."""
    learnings: dict[str, Learning]
    """The learnings, by id."""
    memory: dict[str, Observation]
    """The gaps that they answer, by key."""


class Reader:
    """Has the results of a step read."""

    def __init__(self, state: StepState, context: Context, pages: Pages, filler: Filler) -> None:
        self._state, self._context, self._pages, self._filler = state, context, pages, filler

    async def read(self) -> Learned:
        """Have all result sets read at the same time; one that cannot be read costs its own learnings only."""
        read = await together(map(self._read, self._state.results))
        pairs = zip(read, self._state.results, strict=True)
        return _learned(self._state, [(form, results) for form, results in pairs if form])

    async def _read(self, results: ResultSet) -> RecordLearnings | None:
        """What the model says, less what names a document that it was not shown: that cannot be traced."""
        task = self._state.task
        text = await self._pages.text(results.text_hash) or ""
        call_id = short_hash(task.id, results.query, results.tool)
        call = tool_call(name=results.tool, args={_GIVEN.get(results.tool, "queries"): [results.query]}, id=call_id)
        shown: list[AnyMessage] = [AIMessage("", tool_calls=[call]), ToolMessage(text, tool_call_id=call_id)]
        numbers = {result["document"] for result in read_results(text)}
        form = await self._filler.ask_if_possible(
            RecordLearnings,
            "researcher",
            "extract_learnings",
            [HumanMessage(task.text), *shown],
            facts=facts_of_step(self._state, read_results(text)),
            knowledge=knowledge_of(self._state, self._context.limits),
            task=task.text,
        )
        facts = [fact for fact in form.learnings if fact.document in numbers] if form else []
        return form.model_copy(update={"learnings": facts}) if form else None


def _learned(state: StepState, forms: Iterable[tuple[RecordLearnings, ResultSet]]) -> Learned:
    """What is new, by query, and the gaps that are answered by now."""
    task, open_now = state.task, gaps_of(state)
    noticed = [*task.gaps, *state.memory.values()]
    known = {(learning.source, _plain(learning.text)) for learning in (*task.known, *state.learnings.values())}
    learned: dict[str, tuple[str, ...]] = {}
    learnings: dict[str, Learning] = {}
    memory: dict[str, Observation] = {}
    for form, results in forms:
        new = [one for one in _facts(form, state, task) if (one.source, _plain(one.text)) not in known]
        known |= {(one.source, _plain(one.text)) for one in new}
        learnings |= {one.id: one for one in new}
        learned[results.query] = (*learned.get(results.query, ()), *(one.id for one in new))
        closed = [open_now[number - 1] for number in form.answered_gaps if 0 < number <= len(open_now)]
        # Only something that was learned can answer.
        for gap in closed if form.learnings else []:
            found = answers(gap, noticed, task.cycle, task.step.id, state.iteration)
            memory |= {one.key: one for one in found}
    return Learned(learned, learnings, memory)


def _facts(form: RecordLearnings, state: StepState, task: StepTask) -> Iterable[Learning]:
    keys = state.keys
    for fact in form.learnings:
        if text := plain_fact(fact.text):
            source = keys[fact.document - 1]
            yield Learning(text=text, source=source, step=task.step.id, question_id=task.question_id)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
