"""Publishers and standing (draft, superseded, in force) of sources, and the effect on searches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from kit.files import Papers
from kit.reports import source_at

from deep_research.core.library.library import Library
from deep_research.core.reading.documents._standing import Standing, standing_of
from deep_research.core.reading.documents.worker import parse
from deep_research.core.records.sources import Origin, Source
from deep_research.core.writing.report import organisations
from deep_research.state import merge_sources
from deep_research.tools.results import read_results, write_results
from deep_research.tools.tool import Hit, Outcome

DRAFT, IN_FORCE = Standing(is_draft=True), Standing()


@pytest.mark.parametrize(
    ("title", "name", "text", "standing"),
    [
        # A title, a name or a first line may mark a draft.
        ("Product roadmap (DRAFT, for discussion)", "roadmap.md", "", DRAFT),
        ("Vessel brief (draft 3, February 2026)", "brief.md", "", DRAFT),
        ("House rules", "rules.md", "House rules\n\nStatus: draft\n", DRAFT),
        ("Hausordnung", "h.txt", "Hausordnung\n\nENTWURF zur Beratung im Oktober 2025\n", DRAFT),
        ("Price list", "p.md", "Draft for the board, June 2026. A locker costs 3 crowns.", DRAFT),
        ("Berths", "berths.md", "# Berths\n\nDraft. There shall be 40.", DRAFT),
        ("Berths, draft v0.4 (May 2026)", "berths.md", "There shall be 40.", DRAFT),
        # A document about drafts or replacements is in force.
        ("Draft horses", "draft_horses.md", "Draft horses are bred to pull.", IN_FORCE),
        ("MV Orm", "orm.md", "Length: 12 m\nDraft: 3.4 m\n", IN_FORCE),
        (
            "Mikael Lindholm",
            "lindholm.md",
            "He was chosen in the tenth round of the 1987 NHL draft.",
            IN_FORCE,
        ),
        (
            "Rules",
            "archive/rules_old.md",
            "The 2019 rules were superseded by these rules.",
            IN_FORCE,
        ),
        ("Q-10", "q10.md", "- The Q-10 is replaced by the Q-12 with a paper housing.", IN_FORCE),
        # A document states its successor and its entry into force.
        (
            "Fees",
            "f.md",
            "Fees 2022\nSuperseded by: Data policy 2025\n",
            Standing(superseded_by="Data policy 2025"),
        ),
        (
            "Fees",
            "f.md",
            "Diese Satzung wurde ersetzt durch die Satzung 2.",
            Standing(superseded_by="Satzung 2"),
        ),
        (
            "Fees",
            "f.md",
            "**Status:** superseded by [Fees 2026]",
            Standing(superseded_by="[Fees 2026]"),
        ),
        ("Fees", "f.md", "Tariff\nValid from 1 March 2027.", Standing(valid_from="2027-03-01")),
        (
            "Fees",
            "f.md",
            "Diese Ordnung tritt am 1. Mai 2031 in Kraft.",
            Standing(valid_from="2031-05-01"),
        ),
        (
            "Fees",
            "f.md",
            "La présente charte entre en vigueur le 1er mai 2031.",
            Standing(valid_from="2031-05-01"),
        ),
        ("Fees", "f.md", "本规定自2031年5月1日起施行。", Standing(valid_from="2031-05-01")),
        ("Fees", "f.md", "1. Boats. From 1 May 2031 the lock opens at six.", IN_FORCE),
        ("Fees", "f.md", "The pact entered into force on 1 May 1998.", IN_FORCE),
    ],
)
def test_a_document_states_whether_it_is_in_force(
    title: str, name: str, text: str, standing: Standing
) -> None:
    assert standing_of(title, name, text) == standing


QUESTION = "What does a locker cost?"
PRICES = "# Basin prices\n\n{status}\n\nA locker costs {crowns} crowns at the desk.\n"
TIDES = {
    f"tide-{day}.md": f"# Tides of day {day}\n\nHigh water stood at {day} o'clock.\n"
    for day in range(1, 9)
}


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
def test_documents_not_in_force_are_last_and_marked(
    tmp_path: Path, status: str, field: str, value: object
) -> None:
    files = {
        "a.md": PRICES.format(status=f"{status}\n\nA locker: what does a locker cost?", crowns=1),
        "b.md": PRICES.format(status="Valid from 1 May 2025", crowns=3),
    }
    in_force, other = shown(library(tmp_path, files))
    assert (in_force.key.rpartition("/")[2], in_force.is_in_force, other.is_in_force) == (
        "b.md",
        True,
        False,
    )
    assert getattr(other, field) == value


def test_reports_of_a_series_are_all_in_force(tmp_path: Path) -> None:
    report = "# Report on quarter {0} of 2025\n\nA locker cost {0} crowns.\n"
    files = {f"report_q{quarter}.md": report.format(quarter) for quarter in range(1, 5)}
    found = shown(library(tmp_path, files))
    assert len(found) == 4
    assert all(source.is_in_force for source in found)


def test_a_question_about_a_draft_does_not_rank_it_lower(tmp_path: Path) -> None:
    files = {
        "prices draft.md": PRICES.format(status="A locker is a box for clothes", crowns=1),
        "menu.md": "# Menu\n\nA coffee does cost 3 crowns.\n",
    }
    assert shown(library(tmp_path, files), "What does a locker cost by the draft?")[0].is_draft


def test_a_model_sees_the_standing_of_a_document() -> None:
    source = source_at("old", kind="document", superseded_by="Fees 2026")
    [result] = read_results(
        write_results(Outcome((Hit(source, "It costs 3 crowns.", ""),)), {"old": 1})
    )
    assert result["superseded_by"] == "Fees 2026"
    assert "is_draft" not in result


def test_a_draft_that_was_decided_is_no_draft_later_in_the_thread(tmp_path: Path) -> None:
    shelf = Papers(tmp_path / "papers", tmp_path / "data")
    shelf.docs.mkdir()
    question = "How much is refunded for meals on a journey?"
    rules = (
        "# Travel rules\n\n{status}\n\nMeals are refunded up to 480 kroner a day on each journey.\n"
    )

    def found(status: str, at: str) -> dict[str, Source]:
        (shelf.docs / "rules.md").write_text(rules.format(status=status))
        source = shelf.indexed().follow(question, 5)[0].source
        return {source.key: source.model_copy(update={"read_at": at})}

    draft, decided = found("Status: draft", "2031-05-06"), found("Status: decided", "2031-05-07")
    assert [source.is_draft for sources in (draft, decided) for source in sources.values()] == [
        True,
        False,
    ]
    for sources in (merge_sources(draft, decided), merge_sources(decided, draft)):
        assert [source.is_draft for source in sources.values()] == [False]


def web(address: str, origin: Origin = "other") -> Source:
    return source_at(address, content_hash="c", origin=origin)


def document(path: str, publisher: str = "") -> Source:
    return source_at(
        f"file:///{path}", address=f"docs:{path}", kind="document", publisher=publisher
    )


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://www.weather.gov/a", "official"),
        ("https://data.gov.uk/a", "official"),
        ("https://www.insee.fr/a", "official"),
        ("https://ec.europa.eu/a", "official"),
        ("https://pubmed.ncbi.nlm.nih.gov/1", "scholarly"),
        ("https://www.ox.ac.uk/a", "scholarly"),
        ("https://www.bbc.co.uk/a", "news"),
        ("https://old.reddit.com/r/a", "forum"),
        ("https://ir.lamp.example/a", "company"),
        ("https://lamp.example/gov.html", "other"),
        ("https://notreddit.com/a", "other"),
        ("https://[", "other"),
    ],
)
def test_the_host_of_a_page_decides_the_kind_of_its_publisher(address: str, origin: Origin) -> None:
    assert web(address).publisher_kind == origin


def test_the_type_of_a_page_counts_if_its_host_is_unknown() -> None:
    for head, origin in (
        ('<script type="application/ld+json">{"@type": "NewsArticle"}</script>', "news"),
        ("<meta name='citation_doi' content='10.1/1'>", "scholarly"),
        ("<meta property='og:type' content='article'>", "other"),
    ):
        assert (
            parse(f"{head}<p>Lit.</p>".encode(), "a.html", address="https://a.example/").origin
            == origin
        )
    assert web("https://lamp.example/", "news").publisher_kind == "news"
    assert web("https://weather.gov/", "news").publisher_kind == "official"
    assert document("files/a.md").publisher_kind == "own"


def test_files_of_a_folder_and_pages_of_a_domain_are_one_organisation() -> None:
    files = [document(f"files/{number}.md") for number in range(13)]
    assert len({*organisations(files, ()).values()}) == 1
    letters = [
        document("files/a.eml", "lamp.example"),
        document("files/b.eml", "Lamp.example"),
        document("other/a.md"),
    ]
    assert len({*organisations([*files, *letters], ()).values()}) == 3
    hosts = ("lamp.co.uk", "www.shop.lamp.co.uk", "light.co.uk", "a.github.io", "b.github.io")
    pages = [web(f"https://{host}/") for host in hosts]
    assert len({*organisations(pages, ()).values()}) == 4
    reprinted = organisations([*files, *pages], [(files[0].key, pages[0].key)])
    assert reprinted[files[5].key] == reprinted[pages[1].key] != reprinted[pages[2].key]
