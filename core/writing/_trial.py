"""The trial of the verifier's model: whether it can be trusted with quotations, and with reasoning.

Some models call everything supported, or read well but calculate and infer badly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..concurrency import slot
from ..errors import ToolsMissing
from ..evidence.checking.proof import Grounds, Known, OtherPremises, prove
from ..evidence.checking.source_text import SourceText
from ..evidence.checking.units import ReportUnit
from ..models.abilities import compatible_model
from ..models.resolve import profile_of
from ..records.report import JudgeGrade
from ..records.sources import text_hash
from ..settings.context import Context
from ._judging import JudgedUnit, StatedVerdict, ask_verdicts
from .forms import Filler

_LEAST_ACCEPTED = 3
"""Minimum true quotations that a model must call supported; it must not call any wrong one so."""


class TrialStatement(NamedTuple):
    """A statement that the verifier's model judges in its trial call."""

    says: str
    source: int
    """Number of the trial source that it cites; 0 if it cites none."""
    verdicts: tuple[StatedVerdict, ...]
    """The verdicts that are right."""
    calculation: str = ""
    """The line of arithmetic that leads to its figure; empty if it has none."""


_REQUEST = (
    "We look after 14 bridges like the one at Torne and may spend 9,000 euros on each. What should "
    "we do?"
)
_MILL = (
    "The mill ground 340 tonnes of rye in 1911. Its owner, Ilse Brandt, sold it to the parish in "
    "1920."
)
_BRIDGE = (
    "The bridge is 84 metres long. Lorries may no longer use it. Its repair is planned but not yet "
    "paid for."
)
_TRAFFIC = "| year | cars a day |\n|---|---|\n| 2019 | 1,250 |\n| 2024 | 1,600 |"
_SOURCES: tuple[dict[str, Any], ...] = (
    {"source": 1, "title": "The mill at Halbeck", "passages": [_MILL]},
    {"source": 2, "title": "Survey of the Torne bridge", "passages": [_BRIDGE]},
    {"source": 3, "title": "Traffic on the Torne bridge", "passages": [_TRAFFIC]},
)
QUOTATIONS_TRIAL = (
    TrialStatement("In 1911 the mill ground 340 tonnes of rye.", 1, ("supported",)),
    TrialStatement("Ilse Brandt bought the mill in 1920.", 1, ("contradicted", "not_found")),
    TrialStatement("Until 1920 the mill belonged to Ilse Brandt.", 1, ("supported",)),
    TrialStatement("The Torne bridge is 84 metres long.", 2, ("supported",)),
    TrialStatement(
        "The Torne bridge is 48 metres wide, and its repair is paid for.",
        2,
        ("contradicted", "not_found"),
    ),
    TrialStatement("Lorries are not allowed on the bridge.", 2, ("supported",)),
)
"""Statements that the sources say or do not say."""
REASONING_TRIAL = (
    TrialStatement(
        "For your 14 bridges you may spend 126,000 euros.",
        0,
        ("supported", "reasoning"),
        "14 * 9000 = 126,000",
    ),
    TrialStatement(
        "From 2019 to 2024 the traffic grew by 28%.",
        3,
        ("supported",),
        "(1600 - 1250) / 1250 = 28%",
    ),
    TrialStatement(
        "As the repair is not paid for yet, ask the county for money first.",
        2,
        ("advice", "reasoning", "supported"),
    ),
    TrialStatement(
        "As lorries still use the bridge, count them for a month first.", 2, ("contradicted",)
    ),
)
"""A total from the request, a change from two cells, and advice with a true and a false premise."""


async def known_grade(context: Context) -> JudgeGrade | None:
    """Return how far the verifier's model can be trusted, as its trial has shown or as it is set;
    None before its trial."""
    if context.trust_verifier:
        return "reasoning"
    return await compatible_model("verifier", context).grade_of_judge()


async def judge_grade(filler: Filler) -> JudgeGrade:
    """Return how far the verifier's model can be trusted, by a trial call.

    The grade is stored with the model's other abilities, so each model is tried once. A model that
    does not answer has not passed; with the setting `trust_verifier` there is no trial.
    """
    context = filler.context
    # Sections of a report are judged at the same time.
    async with slot(f"trial of {profile_of('verifier', context).at_server}", 1):
        known = await known_grade(context)
        if known is not None:
            return known
        return await _tried(filler)


async def _tried(filler: Filler) -> JudgeGrade:
    """Return the grade of the verifier's model by a trial call, which is remembered."""
    context = filler.context
    units = list[dict[str, Any]]()
    for number, statement in enumerate((*QUOTATIONS_TRIAL, *REASONING_TRIAL), 1):
        unit: dict[str, Any] = {"unit": number, "says": statement.says}
        if statement.source:
            unit["cites"] = [statement.source]
        units.append(unit)
    request = {"source": "request", "title": "the user's request", "passages": [_REQUEST]}
    try:
        form = await ask_verdicts(filler, [request, *_SOURCES], units)
    except ToolsMissing:
        # An unjudged report is better than none.
        return "unsound"
    if form is None:
        return "unsound"
    grade = _grade({verdict.unit: verdict for verdict in form.verdicts})
    await compatible_model("verifier", context).remember_grade(grade)
    return grade


def _grade(verdicts: dict[int, JudgedUnit]) -> JudgeGrade:
    """Return the grade for a model's verdicts on the statements of the trial, by number."""
    accepted = 0
    for number, statement in enumerate(QUOTATIONS_TRIAL, 1):
        verdict = verdicts.get(number)
        if verdict is None or verdict.verdict != "supported":
            continue
        if "supported" not in statement.verdicts:
            return "unsound"
        accepted += 1
    if accepted < _LEAST_ACCEPTED:
        return "unsound"
    for number, statement in enumerate(REASONING_TRIAL, len(QUOTATIONS_TRIAL) + 1):
        verdict = verdicts.get(number)
        if verdict is None or not _is_right(statement, verdict):
            return "quotations"
    return "reasoning"


def _is_right(statement: TrialStatement, verdict: JudgedUnit) -> bool:
    """Whether a verdict on a statement is right, and proves the statement's figure."""
    if verdict.verdict not in statement.verdicts:
        return False
    if not statement.calculation:
        return True
    keys = (str(statement.source),) if statement.source else ()
    unit = ReportUnit(statement.says, 0, statement.says, keys, bool(keys), statement.says, 0)
    grounds = Grounds(verdict.words, tuple(verdict.calculations))
    proof = prove(unit, grounds, _known(), OtherPremises(_REQUEST))
    return proof.doubt is None or proof.doubt.kind != "figure"


def _known() -> dict[str, Known]:
    """Return the sources of the trial, by key."""
    known = dict[str, Known]()
    for source in _SOURCES:
        text = "\n".join(source["passages"])
        known[str(source["source"])] = Known(
            [SourceText(text_hash(text), text)], str(source["title"])
        )
    return known
