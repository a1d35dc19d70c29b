"""The forms that models hand in, by the names of their tools."""

from __future__ import annotations

from deep_research.core.writing import forms
from deep_research.core.writing.forms import Form, form_name, form_schema

_HANDED_IN: tuple[type[Form], ...] = (
    forms.MakePlan,
    forms.RecordSummary,
    forms.RecordRound,
    forms.UpdateStep,
    forms.UpdatePlan,
    forms.RecordAnalysis,
    forms.RecordInconsistencies,
    forms.JudgeUnits,
    forms.RewriteSentences,
)
FORMS: dict[str, type[Form]] = {form_name(form): form for form in _HANDED_IN}
SCHEMAS = {form: form_schema(form) for form in _HANDED_IN}
