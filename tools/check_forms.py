"""Forms that are filled in while a report is checked: each is a tool whose call is the answer."""

from __future__ import annotations

from ..audit import SupportVerdict
from ..run import tool_names
from .control import tool_schema
from .forms import Form


class JudgedPair(Form):
    """What a passage is worth for a sentence."""

    pair: int
    """Number of the pair."""
    verdict: SupportVerdict
    """Whether the passage says all that the sentence says, a part of it, or not."""


class JudgeSentences(Form):
    """Hand in the verdicts."""

    verdicts: list[JudgedPair]
    """One for each pair."""


class RewrittenSentence(Form):
    """A sentence as it should stand in the report."""

    number: int
    """Its number in the list."""
    text: str
    """The new sentence with its citations, such as [3]; empty if no passage lets anything be said."""


class RewriteSentences(Form):
    """Hand in the sentences."""

    sentences: list[RewrittenSentence]
    """Those that can be mended."""


FORMS: dict[str, type[Form]] = {
    tool_names.JUDGE_SENTENCES: JudgeSentences,
    tool_names.REWRITE_SENTENCES: RewriteSentences,
}
"""The forms by the names of their tools."""
NAMES = {form: name for name, form in FORMS.items()}
"""The names of their tools."""
SCHEMAS = {form: tool_schema(name, form) for name, form in FORMS.items()}
"""What a model is told of each."""
