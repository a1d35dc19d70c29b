"""A corrected sentence cites the calculations that its figures come from, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from kit.models import ScriptedChatModel, call, calls, units_shown
from kit.reports import rewritten, source_at
from langchain_core.language_models import ModelProfile

from deep_research.app._source_check import run_for_check
from deep_research.core.events.call import SilentEvents
from deep_research.core.events.log import Emitter
from deep_research.core.events.packets import Placement
from deep_research.core.evidence.checking.calculator import Calculator
from deep_research.core.evidence.checking.proof import Known
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.records.report import CitingText
from deep_research.core.settings.context import Context
from deep_research.core.writing.examination import Examination, Examined
from deep_research.core.writing.forms import Filler

PROFILE = ModelProfile(max_input_tokens=100_000)
RISK = "The chance of losing is 25 %."
CLAIM = "They demand 3.1 million pounds."
MARGIN = "The customer brings 2,142,000 pounds of gross profit a year."
OWN = "Our own estimate of the damages is 2.0 million pounds; use it instead."
TEXTS = {"memo": f"{RISK} {CLAIM}", "update": MARGIN}
KEYS = {1: "memo", 2: "update"}
LINES = (
    "Weighted damages: 25 % [1] * 2.0 million pounds (request) = pounds",
    "Share of a year: x * 2142000 [2] = 25 / 100 * 3100000 [1]",
)
WRONG = "It weighs more if the chance is above 36 % [calc 2]"
PROFIT = "The customer brings 2,142,000 pounds a year [2]"
IS_23 = {
    "verdict": "contradicted",
    "words": f"{RISK}\n{OWN}\n{MARGIN}",
    "right": "23 %",
    "calculations": ["25 / 100 * 2.0 million = 500000", "500000 / 2142000 = 23 %"],
}
VERDICTS: Mapping[str, dict[str, Any]] = {
    "36 %": IS_23,
    "2,142,000": {"verdict": "supported", "words": MARGIN},
    "500,000": {"verdict": "supported", "words": f"{RISK}\n{OWN}"},
    "assumed": {"verdict": "reasoning"},
    "6,741,400": {"verdict": "supported", "words": CLAIM},
    "9,999,999": {"verdict": "reasoning"},
    "749,700": {"verdict": "not_found"},
    "about a third": {"verdict": "reasoning"},
}


async def examined(
    text: str, *rewrites: str, lines: Sequence[str] = LINES
) -> tuple[Examined, list[list[str]]]:
    """The examination of a report whose wrong sentences the writer corrects to these, and the
    units that the judge was asked about, by call."""
    texts = {key: [SourceText(key, text)] for key, text in TEXTS.items()}
    shown = {number: (key, Known(texts[key], "")) for number, key in KEYS.items()}
    calculator = Calculator(shown, OWN)
    calculator.calculate(lines)
    asked = list[list[str]]()

    def judge(messages: list[Any], _: Any) -> Any:
        units, _passages = units_shown(messages[-1].text)
        asked.append([unit["says"] for unit in units])
        handed_in = list[dict[str, Any]]()
        for unit in units:
            verdict: dict[str, Any] = {"verdict": "not_found"}
            for part, known in VERDICTS.items():
                if part in unit["says"]:
                    verdict = known
            handed_in.append({"unit": unit["unit"], **verdict})
        return calls(call("judge_units", verdicts=handed_in))

    verifier = ScriptedChatModel(replies={"": judge}, profile=PROFILE)
    writer = ScriptedChatModel(replies=[rewritten(*rewrites)], profile=PROFILE)
    models: Any = {"verifier": verifier, "writer": writer}
    context = Context(models=models, verify="repair", trust_verifier=True)
    run = run_for_check(text, context)
    events = SilentEvents(Emitter(lambda _: None), Placement(turn_index=0))
    sources = {
        key: source_at(key, key, number=number, content_hash=key) for number, key in KEYS.items()
    }
    examination = Examination(
        CitingText(text=text, sources=tuple(KEYS.values()), numbers=tuple(KEYS)),
        texts,
        sources,
        Filler(context, run, events, events.placement),
        "en",
        calculator.changed.values(),
        [OWN],
    )
    return await examination.examine(), asked


@pytest.mark.parametrize(
    ("rewrite", "result"),
    [
        # The record of calculation 2 says 36 %.
        ("above 23 % [calc 2]", "above 23 % [1][2]"),
        ("above 23 % [1][2]", "above 23 % [1][2]"),
        ("above 23 % [calc 2] [1]", "above 23 % [2] [1]"),
        # A number of no calculation; one whose result is no figure of the sentence.
        ("above 23 % [calc 7]", "above 23 % [1][2]"),
        ("above 23 % [calc 1]", "above 23 % [1][2]"),
    ],
)
async def test_a_corrected_figure_cites_no_calculation_with_another_result(
    rewrite: str, result: str
) -> None:
    right = WRONG.replace("above 36 % [calc 2]", rewrite)
    checked, asked = await examined(f"{WRONG}.", f"{right}.")
    assert checked.text == f"{WRONG.replace('above 36 % [calc 2]', result)}."
    assert [verdict.shown for verdict in checked.verdicts] == ["corrected"]
    # The judge's own words and calculations prove it.
    assert len(asked) == 1
    assert all(claim.verdict == "supported" for claim in checked.claims)


async def test_a_right_part_keeps_its_calculation_and_a_kept_one_has_to_fit() -> None:
    half = "weighted, the damages are 500,000 pounds [calc 1]"
    text = f"{PROFIT}, and {half}; it weighs more if the chance is above 36 % [calc 2]."
    fits = text.replace("36 % [calc 2]", "23 % [1][2]")
    kept, _ = await examined(text, fits)
    assert kept.text == fits
    # A correction that loses the calculation of a right part is refused.
    lost, _ = await examined(text, fits.replace(" [calc 1]", ""))
    assert lost.text == text


async def test_what_follows_from_an_assumption_stands_if_the_report_names_it() -> None:
    lines = (
        "Kept: 2142000 pounds/year [2] * 1.7 years",
        "Both: [calc 1] + 3100000 pounds [1]",
        "Cut: 2142000 pounds [2] * 0.35",
    )
    kept = "At an assumed 1.7 years this brings 3,641,400 pounds"
    both = "With the damages it is 6,741,400 pounds"
    wrong = "With the costs it is 9,999,999 pounds"
    cut = "The margin falls to 749,700 pounds"
    in_words = "Cut to about a third, the margin is 749,700 pounds"
    text = (
        f"{kept} [calc 1]. {both} [calc 2]. {wrong} [calc 2]. {cut} [calc 3]. {in_words} [calc 3]."
    )
    checked, asked = await examined(text, lines=lines)
    statements = [f"{words}." for words in (kept, both, wrong, cut, in_words)]
    # Whether words name an assumption is for the judge to say.
    assert asked == [statements, [f"{wrong}."]]
    shown = [found.shown for found in checked.verdicts]
    assert shown == ["reasoning", "supported", "not_verified", "marked", "reasoning"]
