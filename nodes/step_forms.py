"""Forms that models fill in on the results of a step, and what their entries mean.

The docstrings of the classes and the strings below fields are part of the prompt.
"""

from __future__ import annotations

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call
from pydantic import Field

from ..core.records import tool_names
from ..core.records.plan import Judgement, Suggestion
from ..core.writing.forms import Form
from ._disputes import StatedDisputes


class LearnedFact(Form):
    """One fact."""

    text: str
    """The fact, in one sentence that is understandable on its own."""
    document: int
    """The `document` number of the result that says so."""
    also: list[int] = Field(default_factory=list)
    """Numbers of other results that say the same."""


class FoundGap(Form):
    """Something that is not known."""

    question: str
    """What is not known, as a question."""
    relevance: float = Field(ge=0, le=1)
    """How much it matters to the task, from 0 to 1."""


class NextStep(Form):
    """A further step."""

    title: str = ""
    """A few words."""
    rationale: str = ""
    """What it should find out; understandable on its own."""
    requires_search: bool = True
    """Whether it searches or only thinks."""


class Judged(Form):
    """A judgement of what a step has found."""

    insights: list[str] = Field(default_factory=list)
    """What the learnings show when taken together, one sentence each."""
    gaps: list[FoundGap] = Field(default_factory=list)
    """What the task asks for and is still unknown, unless it is already listed as an open question."""  # noqa: E501
    completeness: float = Field(default=0.0, ge=0, le=1)
    """How much of what the task asks for is known by now, from 0 to 1."""
    quality: float = Field(default=0.0, ge=0, le=1)
    """How reliable and precise the results are, from 0 to 1."""
    next_steps: list[NextStep] = Field(default_factory=list)
    """Further research steps that would help in addition to this one, best first."""

    @property
    def judgement(self) -> Judgement:
        """Completeness, quality and suggested further steps."""
        suggestions = list[Suggestion]()
        for step in self.next_steps:
            suggestion = Suggestion(
                title=step.title.strip(),
                task=step.rationale.strip(),
                requires_search=step.requires_search,
            )
            suggestions.append(suggestion)
        return Judgement(
            completeness=self.completeness,
            quality=self.quality,
            suggestions=tuple(suggestions),
        )


class RecordRound(Judged):
    """Hand in what the last results say, whether the task is done, and what to search for next."""

    learnings: list[LearnedFact] = Field(default_factory=list)
    """The facts in the last results that are relevant to the task and not known yet."""
    contradictions: StatedDisputes = Field(default_factory=list)
    """Where results contradict each other; empty if they do not."""
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the open questions that the last results answer."""
    is_complete: bool = False
    """True if everything that sources can be expected to say on the task has been found."""
    reasoning: str = ""
    """What is known and what is missing, in one or two sentences."""
    key_elements: list[str] = Field(default_factory=list)
    """What the next search should focus on, a few words each."""
    open_next: list[str] = Field(default_factory=list)
    """Addresses among the results that are worth reading, copied exactly."""
    next_queries: list[str] = Field(default_factory=list)
    """The next searches: short queries of a few specific words, each about one thing."""

    def as_call(self, call_id: str) -> AIMessage:
        """Return a message in which the model calls the form's tool.

        The next search results answer that call.
        """
        args = self.model_dump(exclude_defaults=True)
        call = tool_call(name=tool_names.RECORD_ROUND, args=args, id=call_id)
        return AIMessage("", tool_calls=[call])
