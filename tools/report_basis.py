"""What the writer of a planned research is shown: what was learned, source by source, and what was thought."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from ..evidence.memory.learned import merged_by_source, thoughts
from ..evidence.memory.notes import WITHHELD
from ..evidence.memory.observations import insights
from ..knowledge import Fact, Learning, Observation
from ..run import tool_names
from ..run.transcripts import EARLIER
from ..run.transcripts import WITHHELD as WITHHELD_RESULT
from ..state import ResearchState
from .run_context import own_learnings, own_observations

ANALYSIS = "analysis"
"""Id of the call whose result holds the thoughts."""


def report_basis(state: ResearchState, refused: Collection[str]) -> list[AnyMessage]:
    """A call and its result for each source in the order of their numbers, and one for all thoughts.

    What a filter has `refused` to have read (ids of calls) is withheld.
    """
    results = {
        one.call_id: (one.task, WITHHELD_RESULT if one.call_id in refused else one.text) for one in _results(state)
    }
    if not results:
        return []
    calls = [
        tool_call(name=tool_names.RESEARCH_AGENT, args={"task": task}, id=call_id)
        for call_id, (task, _) in results.items()
    ]
    return [
        # The mark lets results be shortened where the prompt does not fit.
        AIMessage("", tool_calls=calls, additional_kwargs={EARLIER: True}),
        *(ToolMessage(text, tool_call_id=call_id) for call_id, (_, text) in results.items()),
    ]


def left_out(state: ResearchState, refused: Collection[str]) -> list[str]:
    """What of it the provider of the writer's model refused to read (ids of calls), in words for the reader."""
    return [f"Found, but left out: {one.name}: {WITHHELD}." for one in _results(state) if one.call_id in refused]


def _texts(learnings: Sequence[Learning], noticed: Iterable[Observation]) -> list[str]:
    return [*(thought.text for thought in thoughts(learnings)), *(insight.text for insight in insights(noticed))]


def _citation(state: ResearchState, fact: Fact) -> str:
    return f"[{', '.join(str(state.sources[key].number) for key in fact.sources)}]"


class _Result(NamedTuple):
    call_id: str
    task: str
    """What a model is told that it is; a title might tell it something else."""
    name: str
    """The same for a reader."""
    text: str


def _results(state: ResearchState) -> Iterator[_Result]:
    learnings = list(state.learnings.values())
    merged = [(state.sources[key], facts) for key, facts in merged_by_source(learnings)]
    for source, facts in sorted(merged, key=lambda pair: pair[0].number):
        number, lines = source.number, "\n".join(f"{fact.text} {_citation(state, fact)}" for fact in facts)
        yield _Result(f"source-{number}", f"What source {number} says", f"What {source.title!r} says", lines)
    own = list(dict.fromkeys(_texts(own_learnings(state), own_observations(state))))
    earlier = [text for text in dict.fromkeys(_texts(learnings, state.memory.values())) if text not in own]
    if own or earlier:
        head = "Analysis, not a source and without a number:"
        behind = (
            ["Analysis for earlier questions, which what was found since may overrule:", *earlier] if earlier else []
        )
        text = "\n".join([head, *own, *behind])
        yield _Result(ANALYSIS, "What follows from it", "What follows from it", text)
