"""Forms that models fill in: each is a tool, and the call of the tool is the answer.

The docstrings and the strings below fields are part of the prompt.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

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
    """One or two sentences: what is to be found out, as it can be understood without the other steps."""
    requires_search: bool
    """True: it searches. False: it only thinks over what other steps found."""
    requires_previous: bool = False
    """Whether it can only be done once earlier steps are done."""
    depends_on: list[int] = Field(default_factory=list)
    """Numbers of those earlier steps; empty: all before it."""


class MakePlan(Form):
    """Hand in the plan."""

    title: str = ""
    """Title of the report, ten words at most."""
    steps: list[PlannedStep]
    """The steps in their order; the first has the number 1."""
    requirements: list[str] = Field(default_factory=list)
    """The checklist: what the report has to say to answer the request, one thing an item."""

    @field_validator("steps")
    @classmethod
    def _say_something(cls, steps: list[PlannedStep]) -> list[PlannedStep]:
        if not any(step.title.strip() or step.task.strip() for step in steps):
            raise ValueError("a plan has at least one step with words")
        return steps


class RecordSummary(Form):
    """Hand in the summary of the conversation."""

    summary: str
    """What the user wants to know, with all that was said of it, in a few sentences."""


class LearnedFact(Form):
    """One fact."""

    text: str
    """The fact, in one sentence that can be understood alone."""
    document: int
    """The `document` number of the result that says so."""
    also: list[int] = Field(default_factory=list)
    """Numbers of other results that say so, too."""


class FoundContradiction(Form):
    """Two facts that cannot both be true."""

    claim: LearnedFact
    """The one."""
    other: LearnedFact
    """The other, which another result says."""


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
    """What it should find out, as it can be understood alone."""
    requires_search: bool = True
    """Whether it searches or only thinks."""


class Judged(Form):
    """What is thought of what a step has come to."""

    insights: list[str] = Field(default_factory=list)
    """What all that was learned shows when taken together, a sentence each."""
    gaps: list[FoundGap] = Field(default_factory=list)
    """What the task asks for and is not known, if that is not told as an open question already."""
    completeness: float = Field(default=0.0, ge=0, le=1)
    """How much of what the task asks for is there by now, from 0 to 1."""
    quality: float = Field(default=0.0, ge=0, le=1)
    """How reliable and precise it is, from 0 to 1."""
    next_steps: list[NextStep] = Field(default_factory=list)
    """Further steps of the research that would help beside this one, the best first."""


class RecordRound(Judged):
    """Hand in what the last results say, whether the task is done, and what is searched for next."""

    learnings: list[LearnedFact] = Field(default_factory=list)
    """The facts in the last results that bear on the task and are not known yet."""
    contradictions: list[FoundContradiction] = Field(default_factory=list)
    """Where results say what cannot both be true of the same thing at the same time."""
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the open questions that they answer."""
    is_complete: bool = False
    """True if all is there that sources can be expected to say on the task."""
    reasoning: str = ""
    """What is there and what is missing, in a sentence or two."""
    key_elements: list[str] = Field(default_factory=list)
    """What the next search should go by, a few words each."""
    open_next: list[str] = Field(default_factory=list)
    """Addresses among the results that are worth reading, exactly as they stand there."""
    next_queries: list[str] = Field(default_factory=list)
    """What is searched for next: short queries of a few telling words, each about one thing."""


class UpdateStep(Form):
    """Word a further step of the plan, or leave it out."""

    is_needed: bool
    """Whether the plan needs it."""
    title: str = ""
    """A few words."""
    task: str = ""
    """What is to be found out, as it can be understood alone."""


class NeedlessStep(Form):
    """A step that need not be done."""

    step: str
    """Its id."""
    reason: str
    """Why, in one sentence."""


class RewordedStep(Form):
    """A step that should ask for something else."""

    step: str
    """Its id."""
    task: str
    """What is to be found out now, as it can be understood alone."""


class AddedStep(Form):
    """A step that the user has asked for since."""

    title: str
    """A few words."""
    task: str
    """What is to be found out, as it can be understood alone."""
    requires_search: bool = True
    """Whether it searches or only thinks."""


class UpdatePlan(Form):
    """Adapt what is left of the plan to what was found; leave all lists empty where it is right as it is."""

    needless: list[NeedlessStep] = Field(default_factory=list)
    """Pending steps whose answer is known already."""
    reworded: list[RewordedStep] = Field(default_factory=list)
    """Pending steps that what was found should steer elsewhere."""
    added: list[AddedStep] = Field(default_factory=list)
    """Steps that the user has asked for since; they come last."""


class RecordAnalysis(Judged):
    """Hand in what thinking it over has brought, and what you think of it."""

    statements: list[str]
    """What follows, a sentence each; no new facts."""


class RecordConclusions(Form):
    """Hand in what follows from the findings."""

    conclusions: list[str]
    """A sentence each, with the numbers of the sources that it rests on, such as [3]."""


class Inconsistency(Form):
    """Two learnings that cannot both be true."""

    claim: int
    """Number of the one."""
    other: int
    """Number of the other."""


class RecordInconsistencies(Form):
    """Hand in which learnings contradict each other, and which open questions they answer."""

    inconsistencies: list[Inconsistency]
    """The pairs; none if there are none."""
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the open questions that the learnings answer after all."""


class RequirementGrade(Form):
    """Whether the report meets a requirement."""

    number: int
    """Number of the requirement."""
    verdict: Literal["answered", "partly", "not answered"]
    missing: str = ""
    """Unless it is answered: what the draft lacks, in a few words for its reader."""
    is_found: bool = False
    """Unless it is answered: whether the findings hold what the draft lacks."""
    task: str = ""
    """What is to be found out, in a sentence that can be understood alone; empty if nothing is."""


class GradeReport(Form):
    """Hand in the grades."""

    grades: list[RequirementGrade]
    """One for each requirement, by its number."""


class Addition(Form):
    """A passage that the report lacks."""

    after: int
    """Number of the block behind which it stands; 0: at the beginning."""
    is_continued: bool = False
    """Whether it continues the paragraph, list or table of that block."""
    text: str
    """The passage in Markdown, with its citations such as [3]; a new section begins with its heading."""


class AddToReport(Form):
    """Hand in what the report lacks."""

    additions: list[Addition]
    """The passages; none where the new findings add nothing."""


class JudgedUnit(Form):
    """What the sources say of a unit."""

    unit: int
    verdict: Literal["supported", "contradicted", "not_found", "reasoning"]
    words: str = ""
    """The deciding words of passages, copied exactly; a line break between words of different places."""
    right: str = ""
    """Where it is contradicted: what should stand there."""
    calculations: list[str] = Field(default_factory=list)
    """How numbers that do not stand in the words follow from those that do, a line each: (48 - 40) / 40 = 20 %."""
    is_absence: bool = False
    """Whether it says that something is not stated, not known or not there."""


class JudgeUnits(Form):
    """Hand in the verdicts."""

    verdicts: list[JudgedUnit]
    """One for each unit, by its number."""


class RewrittenSentence(Form):
    """A sentence as it should stand in the report."""

    number: int
    """Its number in the list."""
    text: str
    """The new sentence with its citations, such as [3]."""


class RewriteSentences(Form):
    """Hand in the sentences."""

    sentences: list[RewrittenSentence]
    """Those that can be mended."""


@cache
def form_name(form: type[Form]) -> str:
    """Return the name of a form's tool: `make_plan` for `MakePlan`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", form.__name__).lower()


def form_schema(form: type[Form]) -> dict[str, Any]:
    """Return the tool schema of a form."""
    return tool_schema(form_name(form), form)
