"""Which passages of a source a judge sees for a statement in another language."""

from __future__ import annotations

from kit.reports import source_at

from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import ReportUnit
from deep_research.core.writing._judging import SECOND_LOOK, Evidence

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
