"""What the writer of a planned research is shown: what was learned, source by source, and what was thought."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from deep_research.evidence.learned import merged_by_source, thoughts
from deep_research.evidence.notes import WITHHELD
from deep_research.run import tool_names
from deep_research.state import ResearchState

ANALYSIS = "analysis"
"""Id of the call whose result holds the thoughts."""


def report_basis(state: ResearchState) -> list[AnyMessage]:
    """A call and its result for each source in the order of their numbers, and one for all thoughts."""
    results = {call_id: (task, text) for call_id, task, text in _results(state)}
    if not results:
        return []
    calls = [
        tool_call(name=tool_names.RESEARCH_AGENT, args={"task": task}, id=call_id)
        for call_id, (task, _) in results.items()
    ]
    return [
        AIMessage("", tool_calls=calls),
        *(ToolMessage(text, tool_call_id=call_id) for call_id, (_, text) in results.items()),
    ]


def left_out(state: ResearchState, refused: Collection[str]) -> list[str]:
    """What of it the provider of the writer's model refused to read (ids of calls), in words for the reader."""
    return [f"Found, but left out: {task}: {WITHHELD}." for call_id, task, _ in _results(state) if call_id in refused]


def _results(state: ResearchState) -> Iterator[tuple[str, str, str]]:
    """Id, task and text of each."""
    learnings = list(state.learnings.values())
    merged = [(state.sources[key], texts) for key, texts in merged_by_source(learnings)]
    for source, texts in sorted(merged, key=lambda pair: pair[0].number):
        lines = "\n".join(f"{text} [{source.number}]" for text in texts)
        yield f"source-{source.number}", f"What {source.title!r} says", lines
    if thought := thoughts(learnings):
        lines = "\n".join(learning.text for learning in thought)
        yield ANALYSIS, "What follows from it", f"Analysis, not a source and without a number:\n{lines}"
