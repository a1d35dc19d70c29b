"""The forms of the planned strategy: who fills in which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage

from ...run import tool_names
from .analysis import record_analysis, record_inconsistencies
from .framing import frame_report, record_summary
from .judgement import evaluate_outcome, give_verdict, record_insights
from .learning import choose_queries, record_learnings
from .reply import Asked
from .typed_plan import make_plan, update_step

Arguments: TypeAlias = dict[str, Any]

FROM_MESSAGES: dict[str, Callable[[Sequence[BaseMessage]], Arguments]] = {
    tool_names.MAKE_PLAN: make_plan,
    tool_names.RECORD_SUMMARY: record_summary,
    tool_names.CHOOSE_QUERIES: choose_queries,
    tool_names.RECORD_LEARNINGS: record_learnings,
    tool_names.GIVE_VERDICT: give_verdict,
    tool_names.RECORD_INSIGHTS: record_insights,
    tool_names.EVALUATE_OUTCOME: evaluate_outcome,
    tool_names.UPDATE_STEP: update_step,
    tool_names.RECORD_ANALYSIS: record_analysis,
    tool_names.RECORD_INCONSISTENCIES: record_inconsistencies,
    tool_names.FRAME_REPORT: frame_report,
}
ALWAYS: dict[str, Arguments] = {
    tool_names.UPDATE_PLAN: {"needless": [], "reworded": []},
    tool_names.STATE_INTENT: {"intent": ""},
    tool_names.CHOOSE_FORMATTING: {"formatting": "Short sections with quoted sentences."},
}
"""Answers that do not depend on what is asked; an empty intent stands for the default."""
FORMS = frozenset((*FROM_MESSAGES, *ALWAYS))
"""The names of all forms."""


def fill_in(form: str, messages: Sequence[BaseMessage]) -> Asked:
    """The call that hands in the form."""
    return Asked(form, ALWAYS[form] if form in ALWAYS else FROM_MESSAGES[form](messages))
