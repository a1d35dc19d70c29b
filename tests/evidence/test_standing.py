"""The standing that documents state (draft, superseded, in force), and its effect on searches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from kit.files import Papers

from deep_research.core.evidence.standing import Standing, standing_of
from deep_research.core.library.library import Library
from deep_research.core.records.sources import Source, merge_sources
from deep_research.tools.results import read_results, write_results
from deep_research.tools.tool import Hit, Outcome


@pytest.mark.parametrize(
    ("title", "name", "text"),
    [
        ("Product roadmap (DRAFT, for discussion)", "roadmap.md", ""),
        ("Vessel brief (draft 3, February 2026)", "brief.md", ""),
        ("House rules", "rules.md", "House rules\n\nStatus: draft\n"),
        ("Hausordnung", "h.txt", "Hausordnung\n\nENTWURF zur Beratung im Oktober 2025\n"),
        ("Price list", "p.md", "Draft for the board, June 2026. A locker costs 3 crowns."),
        ("Berths", "berths.md", "# Berths\n\nDraft. There shall be 40."),
        ("Berths, draft v0.4 (May 2026)", "berths.md", "There shall be 40."),
    ],
)
def test_a_title_a_name_or_a_first_line_may_mark_a_draft(title: str, name: str, text: str) -> None:
    assert standing_of(title, name, text) == Standing(is_draft=True)


@pytest.mark.parametrize(
    ("title", "name", "text"),
    [
        ("Draft horses", "draft_horses.md", "Draft horses are bred to pull."),
        ("MV Orm", "orm.md", "Length: 12 m\nDraft: 3.4 m\n"),
        ("Mikael Lindholm", "lindholm.md", "He was chosen in the tenth round of the 1987 NHL draft."),
        ("Rules", "archive/rules_old.md", "The 2019 rules were superseded by these rules."),
        ("Q-10", "q10.md", "- The Q-10 is replaced by the Q-12 with a paper housing."),
    ],
)
def test_a_document_about_drafts_or_replacements_is_in_force(title: str, name: str, text: str) -> None:
    assert standing_of(title, name, text) == Standing()


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("Data policy 2022\nSuperseded by: Data policy 2025\n", Standing(superseded_by="Data policy 2025")),
        ("Diese Satzung wurde ersetzt durch die Satzung 2026.", Standing(superseded_by="Satzung 2026")),
        ("**Status:** superseded by [Fees 2026]", Standing(superseded_by="[Fees 2026]")),
        ("Tariff\nValid from 1 March 2027.", Standing(valid_from="2027-03-01")),
        ("Diese Ordnung tritt am 1. Mai 2031 in Kraft.", Standing(valid_from="2031-05-01")),
        ("La présente charte entre en vigueur le 1er mai 2031.", Standing(valid_from="2031-05-01")),
        ("本规定自2031年5月1日起施行。", Standing(valid_from="2031-05-01")),
        ("1. Boats. From 1 May 2031 the lock opens at six.", Standing()),
        ("The pact entered into force on 1 May 1998.", Standing()),
    ],
)
def test_a_document_states_its_successor_and_its_entry_into_force(text: str, standing: Standing) -> None:
    assert standing_of("Fees", "fees.md", text) == standing


STORY = (
    "On a rainy day in May the mayor opened the basin, and 400 guests swam in it before the lamps of it were lit, "
    "while Ada Lindqvist, who had built it in two long and stormy years, stood at the desk and sold the tickets."
)
QUESTION = "What does a locker cost?"
PRICES = "# Basin prices\n\n{status}\n\nA locker costs {crowns} crowns at the desk.\n"
TIDES = {f"tide-{day}.md": f"# Tides of day {day}\n\nHigh water stood at {day} o'clock.\n" for day in range(1, 9)}


def library(folder: Path, files: Mapping[str, str]) -> Library:
    docs = folder / "docs"
    docs.mkdir()
    for name, text in {**TIDES, **files}.items():
        (docs / name).write_text(text, encoding="utf-8")
    return Papers(docs, folder / "data").indexed()


def shown(documents: Library, question: str = QUESTION) -> list[Source]:
    """The sources of a search's passages, in order."""
    return [hit.source for hit in documents.follow(question, 25) if "tide" not in hit.source.key]


@pytest.mark.parametrize(
    ("status", "field", "value"),
    [
        ("Status: draft", "is_draft", True),
        ("Superseded by: Basin prices 2026", "superseded_by", "Basin prices 2026"),
        ("Valid from 1 May 2032", "in_force_from", "2032-05-01"),
    ],
)
def test_documents_not_in_force_come_last_and_are_marked(
    tmp_path: Path, status: str, field: str, value: object
) -> None:
    files = {
        "a.md": PRICES.format(status=f"{status}\n\nA locker: what does a locker cost?", crowns=1),
        "b.md": PRICES.format(status="Valid from 1 May 2025", crowns=3),
    }
    in_force, other = shown(library(tmp_path, files))
    assert (in_force.key.rpartition("/")[2], in_force.is_in_force, other.is_in_force) == ("b.md", True, False)
    assert getattr(other, field) == value


def test_reports_of_a_series_are_all_in_force(tmp_path: Path) -> None:
    files = {
        f"report_q{quarter}.md": f"# Report on quarter {quarter} of 2025\n\nA locker cost {quarter} crowns.\n"
        for quarter in range(1, 5)
    }
    found = shown(library(tmp_path, files))
    assert len(found) == 4
    assert all(source.is_in_force for source in found)


def test_a_question_about_a_draft_does_not_rank_it_lower(tmp_path: Path) -> None:
    files = {
        "prices draft.md": PRICES.format(status="A locker is a box for clothes", crowns=1),
        "menu.md": "# Menu\n\nA coffee does cost 3 crowns.\n",
    }
    assert shown(library(tmp_path, files), "What does a locker cost by the draft?")[0].is_draft


def test_a_reprint_is_shown_once_and_a_text_with_another_figure_twice(tmp_path: Path) -> None:
    same = {"gazette.md": f"# Gazette\n\n{STORY}\n", "herald.md": f"# Herald\n\n{STORY}\n"}
    other = {"courier.md": f"# Courier\n\n{STORY.replace('400', '900')}\n"}
    found = [source.key for source in shown(library(tmp_path, same | other), "Who opened the basin?")]
    assert len(found) == 2
    assert any(key.endswith("courier.md") for key in found)


def test_a_model_sees_the_standing_of_a_document() -> None:
    source = Source(key="old", title="Fees", location="old", address="old", kind="document", superseded_by="Fees 2026")
    [result] = read_results(write_results(Outcome((Hit(source, "It costs 3 crowns.", ""),)), {"old": 1}))
    assert result["superseded_by"] == "Fees 2026"
    assert "is_draft" not in result


def test_a_draft_that_was_decided_is_no_draft_later_in_the_thread(tmp_path: Path) -> None:
    shelf = Papers(tmp_path / "papers", tmp_path / "data")
    shelf.docs.mkdir()
    question = "How much is refunded for meals on a journey?"
    rules = "# Travel rules\n\n{status}\n\nMeals are refunded up to 480 kroner a day on each journey.\n"

    def found(status: str, at: str) -> dict[str, Source]:
        (shelf.docs / "rules.md").write_text(rules.format(status=status))
        source = shelf.indexed().follow(question, 5)[0].source
        return {source.key: source.model_copy(update={"read_at": at})}

    draft, decided = found("Status: draft", "2031-05-06"), found("Status: decided", "2031-05-07")
    assert [source.is_draft for sources in (draft, decided) for source in sources.values()] == [True, False]
    for sources in (merge_sources(draft, decided), merge_sources(decided, draft)):
        assert [source.is_draft for source in sources.values()] == [False]
