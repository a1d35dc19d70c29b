"""What a judge sees of the sources: short texts whole, more at a second look, nothing twice."""

from __future__ import annotations

from kit.reports import source_at

from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import ReportUnit, report_units
from deep_research.core.records.research import Calculation, CalculationInput
from deep_research.core.writing._judging import FIRST_LOOK, SECOND_LOOK, Evidence

CONTRACT = """Liefervertrag Moltke Harze GmbH / Quillon Filtration Ltd (Auszug)

§ 4 Preis. Der Preis beträgt 2.140 Euro je Tonne und wird jährlich zum 1. Juli an den Erzeugerpreisindex angepasst, höchstens aber um 4 Prozent.

§ 9 Kündigung. Der Vertrag kann mit einer Frist von neun Monaten zum Jahresende gekündigt werden.

§ 12 Vertragsstrafe. Nimmt die Käuferin weniger als die vereinbarte Menge ab, zahlt sie 15 Prozent des Wertes der Fehlmenge."""
LONG = f"{CONTRACT}\n\n{'Die Ware wird frei Werk geliefert, verpackt und in der vereinbarten Menge. ' * 60}"
NOTICE = "Notice is nine months to the end of a year."
KEY = "contract.md"


def shown(text: str, most: int) -> str:
    """What is shown of a contract for a statement in English."""
    evidence = evidence_of(text)
    [entry] = evidence.shown([(unit(), [KEY])], most)
    return "\n".join(entry["passages"])


def evidence_of(text: str) -> Evidence:
    return Evidence({KEY: [SourceText("1", text)]}, {KEY: source_at(KEY)}, {1: KEY})


def unit() -> ReportUnit:
    return ReportUnit(NOTICE, 0, NOTICE, (KEY,), True, NOTICE, 0)


def test_a_short_source_in_another_language_is_shown_whole_at_the_first_look() -> None:
    assert shown(CONTRACT, 3) == CONTRACT
    assert not evidence_of(CONTRACT).has_more(unit())


def test_a_second_look_shows_more_of_a_long_source_in_another_language() -> None:
    first, second = (shown(LONG, most) for most in (3, SECOND_LOOK))
    assert "neun Monaten" not in first and "neun Monaten" in second
    assert len(first) < len(second) < 8 * 500
    assert evidence_of(LONG).has_more(unit())


def test_words_behind_calculations_are_shown_once() -> None:
    price = "Der Preis beträgt 2.140 Euro je Tonne"
    amount = "900 tonnes a year"
    calculations = list[Calculation]()
    for number in (1, 2):
        inputs = [
            CalculationInput(value=2140, origin="source", source=KEY, words=price),
            CalculationInput(value=900, origin="source", source=KEY, words=amount),
        ]
        calculations.append(
            Calculation(
                number=number,
                name="Purchases",
                formula="900 * 2140",
                inputs=tuple(inputs),
                value=1_926_000,
                result="1,926,000 €",
            )
        )
    evidence = Evidence(
        {KEY: [SourceText("1", CONTRACT)]}, {KEY: source_at(KEY)}, {1: KEY}, calculations
    )
    cited = unit()._replace(raw=f"{NOTICE} [calc 1] [calc 2]")
    first, second = evidence.shown_calculations([cited], evidence.shown([(cited, [KEY])], 3))
    # The price stands in a passage.
    assert (first["sources"], first["source_says"]) == ([1], [amount])
    assert second["sources"] == [1] and "source_says" not in second


MILL, BRIDGE, VANS = (f"https://{name}.test" for name in ("mill", "bridge", "vans"))
OPENING = "\n\n".join(f"Chapter {number} is about nothing at all." for number in range(9))
REST = "\n\n".join(
    f"Page {number} was left empty on purpose by its printer." for number in range(40)
)
PAGES = {
    MILL: f"{OPENING}\n\nThe mill ground 340 tonnes of rye.\n\n{REST}",
    BRIDGE: f"{OPENING}\n\nThe owner of the bridge is unknown.\n\n{REST}",
    VANS: f"{OPENING}\n\nThe vans are red.\n\n{REST}",
}
REPORT = """# Rye from the mill

The mill ground 340 tonnes of rye. [1] That is 94 % of its capacity [calc 1].

| Thing | Colour |
|---|---|
| The vans | red [3] |

# Owner

Who owns the bridge is not known."""
SHARE = Calculation(
    number=1,
    name="Share of the capacity",
    formula="340 / 360",
    inputs=(CalculationInput(value=340, origin="source", source=MILL, words="340 tonnes of rye"),),
    value=0.94,
    result="94 %",
)


def passages_for(*says: str) -> dict[int, str]:
    """What is shown of each page, by its number, when these parts of the report are judged."""
    keys = dict(enumerate(PAGES, 1))
    sources = {key: source_at(key, number=number) for number, key in keys.items()}
    texts = {key: [SourceText(key, text)] for key, text in PAGES.items()}
    evidence = Evidence(texts, sources, keys, [SHARE])
    report = report_units(REPORT, keys)
    units = [unit for unit in report if unit.text in says]
    assert len(units) == len(says)
    entries = evidence.shown(evidence.wanted(units, report), FIRST_LOOK)
    return {entry["source"]: "\n".join(entry["passages"]) for entry in entries}


def test_what_other_parts_of_a_report_decide_is_shown_no_passages() -> None:
    assert passages_for("Rye from the mill", "That is 94 % of its capacity.") == {}
    label, cell = "The vans", "The vans, Colour: red"
    assert passages_for(cell).keys() == passages_for(label, cell).keys() == {3}
    assert passages_for("Thing | Colour")


def test_a_statement_without_a_citation_is_shown_one_passage_of_each_source_that_is_like_it() -> (
    None
):
    shown = passages_for("Who owns the bridge is not known.")
    assert shown[2] == "The owner of the bridge is unknown."
    assert all("340 tonnes" not in passages for passages in shown.values())


def test_a_second_look_shows_uncited_sources_only_if_they_have_as_much_of_the_unit() -> None:
    said = "The mill ground 340 tonnes of rye in May."
    cited = ReportUnit(said, 0, said, (MILL,), True, said, 0)
    mills = {
        MILL: f"{OPENING}\n\nThe mill ground 340 tonnes of rye.\n\n{REST}",
        BRIDGE: f"{OPENING}\n\nThe other mill ground 340 bags of rye.\n\n{REST}",
    }

    def keys_for(unit: ReportUnit) -> list[str]:
        texts = {key: [SourceText(key, text)] for key, text in mills.items()}
        sources = {key: source_at(key) for key in mills}
        evidence = Evidence(texts, sources, {1: MILL, 2: BRIDGE})
        return evidence.keys_for(unit, is_second_look=True)

    assert keys_for(cited) == [MILL]
    assert keys_for(cited._replace(of_sentence=(MILL, BRIDGE))) == [MILL, BRIDGE]
    # The wrong one is cited.
    assert keys_for(cited._replace(sources=(BRIDGE,))) == [BRIDGE, MILL]
    assert keys_for(cited._replace(sources=(), is_cited=False)) == [MILL, BRIDGE]
