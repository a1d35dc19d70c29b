"""Forms that are filled in while a report is checked: each is a tool whose call is the answer."""

from __future__ import annotations

from typing import Literal

from ..run import tool_names
from ..tools.control import tool_schema
from .forms import Form

UnitVerdict = Literal["supported", "contradicted", "missing", "wrong_source", "own"]


class JudgedUnit(Form):
    """What the sources say of a unit."""

    unit: int
    """Number of the unit."""
    verdict: UnitVerdict
    """Whether the sources that it cites say it, say something else, or do not say it; whether another source says it;
    or whether it is the writer's own."""
    words: str = ""
    """The words of a passage that decide, copied as they stand there, as few as will do; empty if there are none."""
    right: str = ""
    """Where it is contradicted: what should stand there, a value or a few words; else empty."""


class JudgeUnits(Form):
    """Hand in the verdicts."""

    verdicts: list[JudgedUnit]
    """One for each unit."""


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


FORMS: dict[str, type[Form]] = {
    tool_names.JUDGE_UNITS: JudgeUnits,
    tool_names.REWRITE_SENTENCES: RewriteSentences,
}
"""The forms by the names of their tools."""
NAMES = {form: name for name, form in FORMS.items()}
"""The names of their tools."""
SCHEMAS = {form: tool_schema(name, form) for name, form in FORMS.items()}
"""What a model is told of each."""
