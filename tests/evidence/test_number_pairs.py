"""200 pairs of statements in ten languages: the check tells the same amount from another sign,
scale or unit."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deep_research.core.evidence.checking.proof import Grounds, Known, doubt_about, prove
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import report_units

WORDS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("number_pairs.toml").read_text("utf-8")
)
KINDS = ("same", "other sign", "other scale", "other unit")
FACTORS = {"en": (3, 6, 9), "hi": (3, 5, 7), "zh": (3, 4, 8), "ja": (3, 4, 8)}
Pair = tuple[str, str]


def pairs(code: str, kind: str) -> Iterator[Pair]:
    """Yield five statements, each with what the source says."""
    words = WORDS[code]
    point = words["decimal"]
    gap = "" if code in ("zh", "ja") else " "
    state, rise, fall = (words[name].format for name in ("state", "rise", "fall"))
    thousand, million, billion = (gap + scale for scale in words["scales"])
    _, millions, billions = FACTORS.get(code, FACTORS["en"])
    euros, dollars = (gap + name for name in words["money"])
    hours, minutes, days, weeks = (gap + name for name in words["times"])
    minus = words["minus"] + gap
    if kind == "same":
        yield state(f"{24 * 10**millions}{euros}"), state(f"24{million}{euros}")
        yield state(f"3{point}2{billion}{dollars}"), state(f"{32 * 10 ** (billions - 1)}{dollars}")
        yield fall("3.5 %".replace(".", point)), state("−3.5 %".replace(".", point))
        yield state(f"{minus}4{days}"), state(f"-4{days}")
        yield state(f"7{point}5{hours}"), state(f"7½{hours}")
    elif kind == "other sign":
        yield rise("3.5 %".replace(".", point)), state("-3.5 %".replace(".", point))
        yield rise("12 %"), fall("12 %")
        yield state(f"40{million}{euros}"), state(f"−40{million}{euros}")
        yield state(f"{minus}5{days}"), state(f"5{days}")
        yield state(f"1250{thousand}{euros}"), state(f"(1250){thousand}{euros}")
    elif kind == "other scale":
        yield state(f"1{point}2{billion}{dollars}"), state(f"1{point}2{million}{dollars}")
        yield state(f"7{thousand}{euros}"), state(f"7{million}{euros}")
        yield state(f"35{euros}"), state(f"35{million}{euros}")
        yield state(f"{8 * 10**millions}"), state(f"8{billion}")
        yield state("2.4 × 10^6".replace(".", point)), state("2.4 × 10^9".replace(".", point))
    else:
        yield state(f"40{euros}"), state(f"40{dollars}")
        yield state(f"16{hours}"), state(f"16{minutes}")
        yield state(f"9{days}"), state(f"9{weeks}")
        for names in (words["lengths"], words["masses"]):
            small, large = (gap + name for name in names)
            yield state(f"25{small}"), state(f"25{large}")


def test_there_are_two_hundred_pairs() -> None:
    assert sum(len([*pairs(code, kind)]) for code in WORDS for kind in KINDS) == 200


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("code", [*WORDS])
def test_the_check_decides_whether_two_statements_give_the_same_amount(
    code: str, kind: str
) -> None:
    for statement, stated in pairs(code, kind):
        [unit] = report_units(statement, {})
        source = {"a": Known([SourceText("a", stated)], "")}
        for doubt in (doubt_about(unit, stated), prove(unit, Grounds(stated), source).doubt):
            assert (doubt is not None) == (kind != "same"), (statement, stated, doubt)
