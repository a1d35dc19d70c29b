"""Editions of documents: when each is of, which of them are one document, and what a search makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shelf import Place

from deep_research.core.evidence.editions import (
    LARGEST,
    Edition,
    calls_itself_draft,
    date_of,
    series_of,
    superseded,
)
from deep_research.core.evidence.text.similarity import without_repeated
from deep_research.core.library.library import Library
from deep_research.core.records.sources import Source, merge_sources
from deep_research.tools.results import read_results, write_results
from deep_research.tools.tool import Hit, Outcome

TODAY = "2026-11-23"


@pytest.mark.parametrize(
    ("title", "path", "text", "date"),
    [
        ("Annual report 2025", "a.md", "Held on 3 May 2024.", "2025"),
        ("Plant report", "plant_report_2025.md", "Plant report, 31 March 2025", "2025-03-31"),
        ("Customers 2026", "c.md", "Renewal in 2026-12", "2026"),
        ("Tariff 2027", "t.md", "Valid from 1 March 2027.", "2027-03-01"),
        ("Season 2026/27", "s.md", "", "2026"),
        ("Strategy 2025-2030", "s.md", "", "2025"),
        ("Visiting hours", "v.html", "Opened in 1968.\nValid from 1 April 2026.\n", "2026-04-01"),
        ("Fees", "f.md", "Gültig ab dem 1. Januar 2027", "2027-01-01"),
        ("Heat plan", "h.md", "Heat plan, version 1\nMay 2024. Level 1 is called at 32 degrees.", "2024-05"),
        ("Minutes", "m.md", "Board, 3 November 2026. The fee rises from 1 January 2027.", "2026-11-03"),
        ("Contract", "c.md", "It ends on 31 December 2029.", ""),
        (
            "The club",
            "about.md",
            f"Founded on 3 May 1911. {'It rows. ' * 60} In May 2025:  312 members.",
            "2025-05",
        ),
        ("The lamp", "l.md", "It was lit on 3 May 1844 and out in 2021.", ""),
    ],
)
def test_a_document_is_of_the_day_that_it_bears_and_of_none_that_it_only_tells_of(
    title: str, path: str, text: str, date: str
) -> None:
    assert date_of(title, path, text, TODAY) == date


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("Travel rules", "rules draft.md", "2026-05"), ("Travel rules", "rules.md", "2025")),
        (("Hygiene, version 2", "a.md", ""), ("Hygiene, version 3", "b.md", "")),
        (("Plant report", "plant_old.md", "2024"), ("Plant report", "plant.md", "2025")),
        (("Guest rooms", "archive/rooms.md", ""), ("Guest rooms", "rooms.md", "")),
    ],
)
def test_an_edition_gives_way_to_what_was_decided_to_a_later_version_and_to_a_newer_one_of_its_title(
    old: tuple[str, str, str], new: tuple[str, str, str]
) -> None:
    assert superseded([edition(*new), edition(*old)]) == {old[1]: new[1]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Annual report 2024", "a.md", "2024"), ("Annual report 2025", "b.md", "2025")),
        (("Hygiene, version 2", "a.md", "2026"), ("Hygiene, version 3", "b.md", "2023")),
        (("Overview", "hr/overview.md", "2024"), ("Overview", "it/overview.md", "2025")),
        (("Old Town fees", "old_town.md", ""), ("Town fees", "town.md", "")),
        (("Travel rules draft", "a.md", "2025"), ("Menu", "b.md", "2026")),
    ],
)
def test_reports_of_years_and_documents_of_other_names_take_nothing_back(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert superseded([edition(*one), edition(*other)]) == {}


def edition(title: str, path: str, date: str) -> Edition:
    return Edition(path, title, path, date, calls_itself_draft(title, path, ""))


EDITIONS = st.lists(
    st.builds(
        edition,
        st.sampled_from(["Fees", "Boat fees", "Boat fees 2024", "Boat fees, version 2", "Boat and crew fees", "Crew"]),
        st.sampled_from(["a.md", "b/old.md", "fees_2025.md", "fees draft.md", "crew/fees v3.md", "archive/crew.md"]),
        st.sampled_from(["", "2024", "2025-03", "2026-01-01"]),
    ),
    unique_by=lambda one: one.key,
)


@given(EDITIONS, st.randoms())
def test_the_order_of_the_documents_makes_no_difference(editions: list[Edition], random: object) -> None:
    shuffled = [*editions]
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives the class no public name
    assert sorted(series_of(shuffled)) == sorted(series_of(editions))
    assert superseded(shuffled) == superseded(editions)


@given(EDITIONS)
def test_what_supersedes_is_not_superseded_by_what_it_supersedes(editions: list[Edition]) -> None:
    newer = superseded(editions)
    for old in newer:
        seen = [old]
        while seen[-1] in newer:
            seen.append(newer[seen[-1]])
            assert len(seen) <= len(editions)


def test_documents_that_are_too_many_for_editions_are_entries_of_a_kind() -> None:
    entries = [edition("Log", f"log {number}.md", f"2026-01-{number:02}") for number in range(1, LARGEST + 2)]
    assert superseded(entries) == {}
    assert len(superseded(entries[1:])) == LARGEST - 1


QUESTION = "What does a locker cost?"
DESK = "Guests pay at the desk before they swim."
PRICES = {
    "prices-2024.md": f"# Basin prices 2024\n\nA locker costs 1 crown. {DESK}\n",
    "prices-2026.md": f"# Basin prices 2026\n\nA locker costs 3 crowns. {DESK}\n",
}
TIDES = {f"tide-{day}.md": f"# Tides of day {day}\n\nHigh water stood at {day} o'clock.\n" for day in range(1, 9)}


def library(folder: Path, files: Mapping[str, str], **limits: float) -> Library:
    docs = folder / "docs"
    for name, text in files.items():
        file = docs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return Place(docs, folder / "data").indexed(**limits)


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return library(tmp_path_factory.mktemp("prices"), PRICES | TIDES)


def shown(documents: Library, question: str = QUESTION) -> list[tuple[str, str]]:
    """The files of the passages in their order, each with the file that is in force in its place."""
    found = documents.follow(question, 25)
    return [(_name(one.source.key), _name(one.source.superseded_by)) for one in found if "tide" not in one.source.key]


def _name(key: str) -> str:
    return key.rpartition("/docs/")[2]


def test_of_prices_of_two_years_the_newest_come_first(prices: Library) -> None:
    assert shown(prices) == [("prices-2026.md", ""), ("prices-2024.md", "")]


RULES = "# Basin rules, version {number}\n\nGuests may stay {hours} hours. {desk}\n"
VERSIONS = {f"rules-v{number}.md": RULES.format(number=number, hours=number + 3, desk=DESK) for number in (1, 2)}


def test_what_is_outdated_comes_last_and_says_what_is_in_force(tmp_path: Path) -> None:
    rules = library(tmp_path, TIDES | VERSIONS)
    assert shown(rules, "guests stay hours") == [("rules-v2.md", ""), ("rules-v1.md", "rules-v2.md")]
    asked = shown(rules, "How many hours may guests stay by version 1?")
    assert asked == [("rules-v1.md", "rules-v2.md"), ("rules-v2.md", "")]


def test_what_is_dated_later_than_today_is_not_in_force(tmp_path: Path) -> None:
    coming = {"prices-2032.md": PRICES["prices-2026.md"].replace("2026", "2032").replace("3 crowns", "9 crowns")}
    plan = {"plan.md": "# Strategy 2040\n\nA locker shall be free of charge one day.\n"}
    found = library(tmp_path, TIDES | PRICES | coming | plan).follow(QUESTION, 25)
    from_when = {_name(one.source.key): one.source.in_force_from for one in found}
    assert from_when["prices-2032.md"] == "2032"
    assert {*from_when.values()} == {"", "2032"}
    places = [_name(one.source.key) for one in found]
    assert places.index("prices-2026.md") < places.index("prices-2024.md")
    assert places.index("prices-2026.md") < places.index("prices-2032.md")


def test_the_version_that_the_question_asks_for_comes_first(prices: Library) -> None:
    found = shown(prices, "What did a locker cost in 2024?")
    assert found == [("prices-2024.md", ""), ("prices-2026.md", "")]


def test_the_version_in_force_is_found_even_where_only_an_outdated_one_has_the_words(tmp_path: Path) -> None:
    renamed = PRICES["prices-2026.md"].replace("A locker costs 3 crowns.", "Boxes for clothes: 3 crowns.")
    found = shown(library(tmp_path, TIDES | PRICES | {"prices-2026.md": renamed}), "locker")
    assert found == [("prices-2026.md", ""), ("prices-2024.md", "")]


def test_of_a_long_document_the_passage_in_place_of_the_outdated_one_is_shown(tmp_path: Path) -> None:
    filler = "\n\n".join(f"Rule {number} speaks of towels, benches and the {number}. lamp." * 8 for number in range(30))
    long = PRICES["prices-2026.md"].replace("A locker", f"{filler}\n\n## Lockers\n\nA box for clothes, or a locker,")
    [first, *_] = library(tmp_path, TIDES | PRICES | {"prices-2026.md": long}).follow(QUESTION, 25)
    assert "locker, costs 3 crowns" in first.text


def test_a_reprint_is_shown_once_and_a_text_with_another_figure_twice(tmp_path: Path) -> None:
    same = {"gazette.md": f"# Gazette\n\n{STORY}\n", "herald.md": f"# Herald\n\n{STORY}\n"}
    other = {"courier.md": f"# Courier\n\n{STORY.replace('400', '900')}\n"}
    files = [name for name, _ in shown(library(tmp_path, TIDES | same | other), "Who opened the basin?")]
    assert len(files) == 2
    assert "courier.md" in files


def test_a_model_reads_the_number_of_the_document_in_force() -> None:
    def hit(key: str, superseded_by: str = "") -> Hit:
        source = Source(key=key, title=key, location=key, address=key, kind="document", superseded_by=superseded_by)
        return Hit(source, key, "")

    outcome = Outcome((hit("new"), hit("old", "new"), hit("lost", "elsewhere")))
    new, old, lost = read_results(write_results(outcome, {"new": 1, "old": 2, "lost": 3}))
    assert old["superseded_by"] == 1
    assert "superseded_by" not in new
    assert "superseded_by" not in lost


STORY = (
    "On a rainy day in May the mayor opened the basin, and 400 guests swam in it before the lamps of it were lit, "
    "while Ada Lindqvist, who had built it in two long and stormy years, stood at the desk and sold the tickets."
)


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (("It is tall.", "It is tall."), 1),
        (("It is tall.", "It is wide."), 2),
        (("Anna lives in the white house on the hill.", "Berta lives in the white house on the hill."), 2),
        ((STORY, f"The town reports. {STORY}"), 1),
        ((f"The town reports. {STORY}", STORY), 1),
        ((STORY, STORY.replace("400", "900")), 2),
        ((STORY, STORY.replace("Ada", "Ida")), 2),
        ((STORY, STORY + " ".join(f" A further sentence tells of lamp {number}." for number in range(9))), 2),
        (("", ""), 1),
    ],
)
def test_a_text_is_left_out_if_one_before_it_says_the_same_of_the_same_names_and_figures(
    texts: tuple[str, ...], kept: int
) -> None:
    assert without_repeated(texts, str) == list(texts[:kept])


def test_what_was_decided_since_is_no_draft_any_more_in_a_thread_that_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path / "papers", tmp_path / "data")
    place.docs.mkdir()
    question = "How much is refunded for meals on a journey?"
    rules = "# Travel rules\n\n{status}\n\nMeals are refunded up to 480 kroner a day on each journey.\n"

    def found(status: str, at: str) -> dict[str, Source]:
        (place.docs / "rules.md").write_text(rules.format(status=status))
        [one, *_] = place.indexed().follow(question, 5)
        return {one.source.key: one.source.model_copy(update={"read_at": at, "judged_at": at})}

    draft, decided = found("Status: draft", "2031-05-06"), found("Status: decided", "2031-05-07")
    assert [one.is_draft for sources in (draft, decided) for one in sources.values()] == [True, False]
    for sources in (merge_sources(draft, decided), merge_sources(decided, draft)):
        assert [one.is_draft for one in sources.values()] == [False]
