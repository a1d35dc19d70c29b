"""Tries a verifier's model once, on six statements two of which are wrong: some models call everything supported.

What came of it is kept with the model's other abilities, by its server.
"""

from __future__ import annotations

from typing import NamedTuple

from ...prompts import fenced_knowledge
from ..models.abilities import judges_soundly, remember_judging
from ..models.resolve import is_named
from ..run.context import Context
from ..run.errors import ToolsMissing
from .fill_in import Filler
from .forms import JudgeUnits

LEAST_ACCEPTED = 3
"""Right statements that it has to call supported; both wrong ones it has to call something else."""


class TrialStatement(NamedTuple):
    """A statement on one of the sources of the trial."""

    says: str
    source: int
    is_right: bool


SOURCES = (
    {
        "source": 1,
        "title": "The mill at Halbeck",
        "passages": [
            "The mill ground 340 tonnes of rye in 1911. Its owner, Ilse Brandt, sold it to the parish in 1920."
        ],
    },
    {
        "source": 2,
        "title": "Survey of the Torne bridge",
        "passages": [
            "The bridge is 84 metres long. Lorries may no longer use it. Its repair is planned but not yet paid for."
        ],
    },
)
STATEMENTS = (
    TrialStatement("In 1911 the mill ground 340 tonnes of rye.", 1, is_right=True),
    TrialStatement("Ilse Brandt bought the mill in 1920.", 1, is_right=False),
    TrialStatement("Until 1920 the mill belonged to Ilse Brandt.", 1, is_right=True),
    TrialStatement("The Torne bridge is 84 metres long.", 2, is_right=True),
    TrialStatement("The Torne bridge is 48 metres wide, and its repair is paid for.", 2, is_right=False),
    TrialStatement("Lorries are not allowed on the bridge.", 2, is_right=True),
)


async def is_sound(context: Context, filler: Filler) -> bool:
    """Whether the verifier's model tells right from wrong; an app's own model is trusted."""
    if context.trust_verifier or not is_named("verifier", context):
        return True
    if (known := await judges_soundly("verifier", context)) is not None:
        return known
    units = [{"unit": number, "says": one.says, "cites": [one.source]} for number, one in enumerate(STATEMENTS, 1)]
    knowledge = fenced_knowledge(sources=list(SOURCES), units=units)
    try:
        form = await filler.ask_if_possible(
            JudgeUnits, "verifier", "verify_report", (), asked="verdicts", knowledge=knowledge
        )
    except ToolsMissing:
        # A report that nobody can judge is better than none.
        return False
    if form is None:
        return True
    accepted = {one.unit for one in form.verdicts if one.verdict == "supported"}
    right = [number in accepted for number, one in enumerate(STATEMENTS, 1) if one.is_right]
    wrong = [number in accepted for number, one in enumerate(STATEMENTS, 1) if not one.is_right]
    sound = sum(right) >= LEAST_ACCEPTED and not any(wrong)
    await remember_judging("verifier", context, sound=sound)
    return sound
