"""Forms that models fill in: each is a tool, and the call of the tool is the answer.

The docstrings and the strings below fields are part of the prompt.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidatorFunctionWrapHandler, field_validator

from ...tools.disputes import StatedDispute, StatedDisputes
from ...tools.tool import tool_schema


class Form(BaseModel):
    """Base of all forms; fields that a model adds are ignored."""

    model_config = ConfigDict(use_attribute_docstrings=True, coerce_numbers_to_str=True)


class PlannedStep(Form):
    """A step of the plan."""

    title: str
    """A few words."""
    description: str = ""
    """What the step is for, in one sentence."""
    task: str
    """One or two sentences: what to find out; understandable without the other steps."""
    requires_search: bool
    """True: it searches. False: it only reasons about what other steps found."""
    requires_previous: bool = False
    """Whether it can only be done once earlier steps are done."""
    depends_on: list[int] = Field(default_factory=list)
    """Numbers of those earlier steps; empty: all earlier steps."""


class MakePlan(Form):
    """Hand in the plan."""

    title: str = ""
    """Title of the report, ten words at most."""
    steps: list[PlannedStep]
    """The steps in their order; the first has the number 1."""
    requirements: list[str] = Field(default_factory=list)
    """The checklist: what the report must say to answer the request, one thing per item."""

    @field_validator("steps")
    @classmethod
    def _say_something(cls, steps: list[PlannedStep]) -> list[PlannedStep]:
        if not any(step.title.strip() or step.task.strip() for step in steps):
            raise ValueError("a plan has at least one step with words")
        return steps


class RecordSummary(Form):
    """Hand in the summary of the conversation."""

    summary: str
    """What the user wants to know, with every detail they gave, in a few sentences."""


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
    """What the task asks for and is still unknown, unless it is already listed as an open question."""
    completeness: float = Field(default=0.0, ge=0, le=1)
    """How much of what the task asks for is known by now, from 0 to 1."""
    quality: float = Field(default=0.0, ge=0, le=1)
    """How reliable and precise the results are, from 0 to 1."""
    next_steps: list[NextStep] = Field(default_factory=list)
    """Further research steps that would help in addition to this one, best first."""


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


class UpdateStep(Form):
    """Formulate a further step of the plan, or decline it."""

    is_needed: bool
    """Whether the plan needs it."""
    title: str = ""
    """A few words."""
    task: str = ""
    """What to find out; understandable on its own."""


class NeedlessStep(Form):
    """A step that is no longer needed."""

    step: str
    """Its id."""
    reason: str
    """Why, in one sentence."""


class RewordedStep(Form):
    """A step that should ask for something else."""

    step: str
    """Its id."""
    task: str
    """What to find out now; understandable on its own."""


class AddedStep(Form):
    """A step that the user asked for after the plan was made."""

    title: str
    """A few words."""
    task: str
    """What to find out; understandable on its own."""
    requires_search: bool = True
    """Whether it searches or only thinks."""


class UpdatePlan(Form):
    """Adapt the rest of the plan to the findings; leave all lists empty if it is right as it is."""

    needless: list[NeedlessStep] = Field(default_factory=list)
    """Pending steps whose answer is already known."""
    reworded: list[RewordedStep] = Field(default_factory=list)
    """Pending steps that should ask for something else, given the findings."""
    added: list[AddedStep] = Field(default_factory=list)
    """Steps that the user asked for after the plan was made; they come last."""


class RecordAnalysis(Judged):
    """Hand in your conclusions and your judgement of them."""

    statements: list[str]
    """The conclusions, one sentence each; no new facts."""


class RecordConclusions(Form):
    """Hand in what follows from the findings."""

    conclusions: list[str]
    """One sentence each, with the numbers of the sources that it is based on, such as [3]."""


class RecordContradictions(Form):
    """Hand in which learnings contradict each other, and which open questions they answer."""

    contradictions: StatedDisputes
    """The pairs of learnings that contradict each other; empty if there are none."""
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the open questions that the learnings do answer."""

    @field_validator("contradictions", mode="wrap")
    @classmethod
    def _keep_a_pair(cls, given: Any, read: ValidatorFunctionWrapHandler) -> list[StatedDispute]:
        # Malformed pairs are dropped; if none is left, the model is asked again.
        pairs: list[StatedDispute] = read(given)
        if given and not pairs:
            raise ValueError("each pair needs claim, document, other and other_document")
        return pairs


class RequirementGrade(Form):
    """Whether the report meets a requirement."""

    number: int
    """Number of the requirement."""
    verdict: Literal["answered", "partly", "not answered"]
    missing: str = ""
    """Unless it is answered: what the draft lacks, in a few words for its reader."""
    is_found: bool = False
    """Unless it is answered: whether the findings contain what the draft lacks."""
    task: str = ""
    """What to find out, in a sentence understandable on its own; empty if there is nothing to find out."""


class GradeReport(Form):
    """Hand in the grades."""

    grades: list[RequirementGrade]
    """One for each requirement, by its number."""


class Addition(Form):
    """A passage that the report lacks."""

    after: int
    """Number of the block that it follows; 0: at the beginning."""
    is_continued: bool = False
    """Whether it continues the paragraph, list or table of that block."""
    text: str
    """The passage in Markdown, with its citations such as [3]; a new section begins with its heading."""


class AddToReport(Form):
    """Hand in what the report lacks."""

    additions: list[Addition]
    """The passages; empty if the new findings add nothing."""


class JudgedUnit(Form):
    """What the sources say about a unit."""

    unit: int
    """Number of the unit."""
    verdict: Literal["supported", "contradicted", "not_found", "reasoning"]
    words: str = ""
    """The deciding sentences or rows of the passages, copied exactly; a line break between different places."""
    right: str = ""
    """If it is contradicted: the correct words."""
    calculations: list[str] = Field(default_factory=list)
    """How numbers that are not in the words follow from those that are, one line each: (48 - 40) / 40 = 20%."""
    is_absence: bool = False
    """Whether it says that something is not stated, not known or absent."""


class JudgeUnits(Form):
    """Hand in the verdicts."""

    verdicts: list[JudgedUnit]
    """One for each unit, by its number."""


class RewrittenSentence(Form):
    """A corrected sentence of the report."""

    number: int
    """Its number in the list."""
    text: str
    """The new sentence with its citations, such as [3]."""


class RewriteSentences(Form):
    """Hand in the sentences."""

    sentences: list[RewrittenSentence]
    """The sentences that can be corrected."""


@cache
def form_name(form: type[Form]) -> str:
    """Return the name of a form's tool: `make_plan` for `MakePlan`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", form.__name__).lower()


def form_schema(form: type[Form]) -> dict[str, Any]:
    """Return the tool schema of a form."""
    return tool_schema(form_name(form), form)
