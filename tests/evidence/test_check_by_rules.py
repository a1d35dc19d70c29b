"""What is marked in a report where no model judges it: what rules are sure of, and nothing else."""

from __future__ import annotations

import pytest

from deep_research import check_claim, score_support
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import units_of
from deep_research.core.evidence.checking.verification import Verifier

HARBOUR = """# Port of Ostvik, report for 2025

The port handled 14,850 tonnes of fish in 2025, 4 per cent more than in 2024.
A permit costs €15 a year. Repairs took six weeks and cost €1.2m, of which the town paid €0.4m.
Mooring is €95 per boat; no order is placed by month.

| Quay | Length | Berths |
|---|---|---|
| North | 120 m | 9 |
| South | 85 m | 7 |

Trials are set for September 2026. The firm Ellingsen Marine repaired the cranes.
"""
COUNCIL = """# Council of Ostvik, minutes

The mayor Ingrid Solheim promised nothing to the fishermen. The council met in 2023.
"""
DEUTSCH = "# Hafen Ostvik\n\nDer Hafen hat eine Mole und eine Werft. Die Werft repariert Boote und lackiert Segel.\n"


def verdicts_of(text: str) -> list[tuple[str, tuple[str, ...]]]:
    texts = {
        "1": [SourceText("1", HARBOUR, "Port of Ostvik")],
        "2": [SourceText("2", COUNCIL, "Council of Ostvik")],
        "3": [SourceText("3", DEUTSCH, "Hafen Ostvik")],
    }
    verifier = Verifier(texts)
    checks = [verifier.check(unit) for unit in units_of(text, list(texts))]
    return [(one.verdict, one.passages[0].reasons if one.passages else ()) for one in checks]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("It handled 14,580 tonnes of fish [1].", "the source does not say 14,580"),
        ("It handled 14,850 litres of fish [1].", "the source gives 14,850 in another unit"),
        ("The repairs took six months [1].", "the source gives six in another unit"),
        ("A permit costs €15 a month [1].", "the source gives 15 in another unit"),
        ("Mooring is €95 per order [1].", "the source gives 95 in another unit"),
        ("Trials are set for September 2025 [1].", "the source does not say September 2025"),
        ("The trials began in 1998 [1].", "the source does not say 1998"),
        ("Costs rose from €1.2m to €0.4m [1].", "its figures go the other way than “rose”"),
        ("Die Kosten sanken von 0,4 auf 1,2 Mio. € [1].", "its figures go the other way than “sanken”"),
        ("The cranes were repaired by Ingrid Solheim [1].", "the source does not say Ingrid Solheim"),
    ],
)
def test_another_figure_unit_year_or_name_is_marked(wrong: str, reason: str) -> None:
    [(verdict, reasons)] = verdicts_of(wrong)
    assert (verdict, reasons[:1]) == ("unsupported", (reason,))


@pytest.mark.parametrize(
    "right",
    [
        "It handled 14,850 tonnes of fish [1].",
        "Fish came to some 14.85 thousand tonnes [1].",
        "The company was left with €0.8m of the cost [1].",
        "Both quays together measure 205 m [1].",
        "Ten permits cost €150 [1].",
        "Repairs lasted 42 days [1].",
        "Trials follow in September [1].",
        "The Ostvik cranes were repaired by Ellingsen [1].",
        "Es gibt dort eine Mole, wie Ellingsen sagt [3].",
        "The fishermen were offered a loan [1].",
        "Trials were announced on 05.17.2025 in Build 10.15.2019 [1].",
        "The season 2024/25 brought 14,850 tonnes [1].",
        "Nearly 15,000 tonnes of fish came in [1].",
        "Mayor Ingrid Solheim chairs the port council [2].",
        "There are 2 quays and 1 crane, as in Phase 3 [1].",
        "A permit is €15 per annum [1].",
        "The town's part fell from €1.2m to €0.4m [1].",
    ],
)
def test_what_follows_from_figures_or_stands_in_other_words_gets_no_mark(right: str) -> None:
    [(verdict, _)] = verdicts_of(right)
    assert verdict in ("supported", "unchecked")


def test_the_cell_of_a_table_is_given_and_never_reckoned() -> None:
    table = "| Quay | Berths |\n|---|---|\n| South [1] | 16 |\n| North [1] | 9 |\n"
    assert [verdict for verdict, _ in verdicts_of(table)] == ["supported", "unsupported", "supported", "supported"]


def test_figures_of_a_long_table_do_not_hold_up_the_check() -> None:
    numbers = "\n".join(f"{n}, {n * 7}" for n in range(4000))
    assert check_claim("It came to 123,456,789 tonnes.", numbers).verdict == "contradicted"


@pytest.mark.parametrize(("claim", "text"), [("8,200 kWh", "8,200 kilowatt-hours"), ("40 °C", "40 degrees Celsius")])
def test_one_unit_in_other_words_is_no_other_one(claim: str, text: str) -> None:
    assert check_claim(f"The pump took {claim} that day.", f"That day the old pump took {text}.").verdict == "supported"


def test_a_claim_alone_is_supported_contradicted_or_not_told() -> None:
    assert check_claim("The port handled 14,850 tonnes of fish.", HARBOUR).verdict == "supported"
    wrong = check_claim("A permit costs €15 a month.", HARBOUR)
    assert (wrong.verdict, wrong.quote) == ("contradicted", "A permit costs €15 a year.")
    assert check_claim("The fishermen were offered a loan.", HARBOUR).verdict == "unchecked"
    assert score_support("The port handled fish.", HARBOUR) > 0.5 > score_support("It snowed.", HARBOUR)
