"""Which documents are versions of one document, and which of them is in force."""

from __future__ import annotations

import random
import re
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deep_research.evidence.versions.contrast import may_contradict
from deep_research.evidence.versions.names import Name, read_path, read_title
from deep_research.evidence.versions.statements import status_in
from deep_research.evidence.versions.versions import Edition, superseded
from deep_research.knowledge import Source

SAME = "The basin is open to all guests of the house who have paid at the desk and left their shoes there. " * 3
BODY = (
    "Guests pay at the desk before they enter the basin. Children below six years swim free of charge with a parent. "
    "A locker costs {locker} and a towel {towel}; both are paid when they are handed out. The basin closes half an "
    "hour before the house does, and nobody is let in during the last hour of the day. Lost keys cost {key}."
)


def priced(locker: str, towel: str = "2 crowns", key: str = "15 crowns") -> str:
    return BODY.format(locker=locker, towel=towel, key=key)


def edition(path: str, title: str = "", date: str = "", text: str = SAME) -> Edition:
    return Edition(path, title or path.rpartition("/")[2].partition(".")[0], path, date, text)


def outdated(*editions: Edition) -> dict[str, str]:
    return superseded(editions)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Basin prices 2024", Name(("basin", "pric"), "2024")),
        ("Basin prices, valid from 1 March 2024", Name(("basin", "pric"), "2024-03-01")),
        ("Badeordnung (Stand: 3. Mai 2024)", Name(("badeordnung",), "2024-05-03")),
        ("Handbook v1.2", Name(("handbook",), number=(1, 2))),
        ("Handbook, version 2.0", Name(("handbook",), number=(2,))),
        ("Handbook, 3rd edition", Name(("handbook",), number=(3,))),
        ("Badeordnung – Entwurf", Name(("badeordnung",), status="draft")),
        ("Borrador del reglamento", Name(("reglamento",), status="draft")),
        ("House rules (old)", Name(("hous", "rule"), status="outdated")),
        ("The Old Mill", Name(("old", "mill"))),
        ("Pump type 2000", Name(("pump", "type", "2000"))),
        ("泳池价格（2024年版）", Name(("泳池", "池价", "价格"), "2024")),
        ("泳池价格草案", Name(("泳池", "池价", "价格"), status="draft")),
    ],
)
def test_a_title_tells_its_subject_its_date_its_number_and_its_status(title: str, name: Name) -> None:
    assert read_title(title) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("fees/2024/basin.docx", Name(("/", "fee", "/", "basin"), "2024")),
        ("archive/basin-prices_v1.0.md", Name(("/", "basin", "pric"), number=(1,), status="outdated")),
        ("basin_old.txt", Name(("/", "basin"), status="outdated")),
        ("basin-neu.txt", Name(("/", "basin"))),
        ("basin/old.txt", Name((), status="outdated")),
        ("basin/2024.txt", Name(("/", "basin"), "2024")),
        ("20240503_basin.txt", Name(("/", "basin"), "2024-05-03")),
        ("docs:drafts 2024/basin.txt", Name(("docs:drafts 2024", "/", "basin"))),
        ("docs:drafts/old/basin_v2.txt", Name(("docs:drafts", "/", "basin"), number=(2,), status="outdated")),
        ("docs:basin-draft.txt", Name(("/", "basin"), status="draft")),
    ],
)
def test_a_path_tells_it_by_its_folders_and_its_file(path: str, name: Name) -> None:
    assert read_path(path) == name


def test_a_higher_number_is_in_force() -> None:
    one, two, ten = (edition(f"handbook_v{number}.md") for number in ("1.0", "2.1", "10.0"))
    assert outdated(ten, one, two) == {one.key: ten.key, two.key: ten.key}


def test_a_draft_gives_way_to_what_was_decided_and_replaces_nothing_itself() -> None:
    draft, final = edition("badeordnung_entwurf.md", date="2025-11"), edition("badeordnung.md", date="2026-01")
    assert outdated(draft, final) == {draft.key: final.key}
    next_draft = edition(
        "badeordnung-2027-entwurf.md", text=f"Diese Badeordnung ersetzt alle früheren Fassungen. {SAME}"
    )
    assert outdated(next_draft, final) == {next_draft.key: final.key}


def test_what_is_marked_as_old_or_lies_in_an_archive_gives_way_to_its_namesake() -> None:
    current, shelved = edition("rules/hours.md"), edition("rules/archive/hours.md")
    assert outdated(current, shelved) == {shelved.key: current.key}
    assert outdated(shelved, edition("rules/tides.md")) == {}


def test_a_price_list_of_another_year_with_the_same_words_is_a_version() -> None:
    old, new = (
        edition("prices-2024.md", text=priced("1 crown", key="9 crowns")),
        edition("prices-2026.md", text=priced("3 crowns")),
    )
    assert outdated(old, new) == {old.key: new.key}
    assert outdated(old, edition("prices-2026.md", text=SAME)) == {}


@pytest.mark.parametrize(
    "names",
    [
        ("annual-report-2023.md", "annual-report-2024.md"),
        ("jahresbericht_2023.md", "jahresbericht_2024.md"),
        ("regatta 1996.md", "regatta 2000.md"),
        ("minutes/2024-03-01.md", "minutes/2024-04-01.md"),
        ("volume 1.md", "volume 2.md"),
    ],
)
def test_what_is_made_anew_for_each_year_or_occasion_is_a_series(names: tuple[str, str]) -> None:
    texts = priced("1 crown"), priced("3 crowns")
    assert outdated(*(edition(name, text=text) for name, text in zip(names, texts, strict=True))) == {}


def test_a_draft_of_one_year_and_the_report_of_another_are_no_versions() -> None:
    draft = edition("annual-report-2023-draft.md")
    assert outdated(draft, edition("annual-report-2024.md")) == {}
    final = edition("annual-report-2023.md")
    assert outdated(draft, final, edition("annual-report-2024.md")) == {draft.key: final.key}


def test_a_statement_is_enough_where_names_differ() -> None:
    old = edition("a.md", "Basin tickets 2024", "2024-01-01", priced("1 crown"))
    new = edition("b.md", "What a visit costs", "2026-01-01", f"This list replaces the basin tickets of 2024. {SAME}")
    assert outdated(old, new) == {old.key: new.key}
    assert outdated(old, new._replace(text=f"The new basin replaces the basin of 2024. {SAME}")) == {}


def test_a_statement_means_the_version_that_it_names_and_no_other() -> None:
    first, second = edition("rules 2022.md", text=SAME), edition("rules 2024.md", text=priced("1 crown"))
    third = edition("rules 2026.md", text="These rules supersede nothing.")
    assert outdated(first, second, third) == {}
    third = third._replace(text="These rules replace the 2022 edition. Guests of the house pay at the desk.")
    assert outdated(first, second, third) == {first.key: third.key}
    third = third._replace(text="These rules replace all earlier editions. Guests of the house pay at the desk.")
    assert outdated(first, second, third) == {first.key: third.key, second.key: third.key}


def test_documents_that_replace_each_other_are_both_in_force() -> None:
    one = edition("a.md", "Basin tickets", text="This list replaces the tower tickets.")
    other = edition("b.md", "Tower tickets", text="This list replaces the basin tickets.")
    assert outdated(one, other) == {}
    third = edition("c.md", "Ferry tickets", text="This list replaces the basin tickets.")
    assert outdated(one, other, third) == {one.key: third.key, other.key: third.key}


def test_a_number_and_a_date_that_say_opposite_things_say_nothing() -> None:
    one, other = edition("manual_v1_2026.md"), edition("manual_v2_2024.md")
    assert outdated(one, other) == {}


def test_documents_of_one_title_on_different_things_are_no_versions() -> None:
    one = edition("basin/report_v1.md", text=SAME)
    other = edition("tower/report_v2.md", text="A lamp burns in the lantern room of the light from dusk until dawn.")
    assert outdated(one, other) == {}


@pytest.mark.parametrize("is_beside", [False, True])
def test_titles_of_one_word_make_versions_in_one_folder_only(is_beside: bool) -> None:
    folders = ("sauna", "sauna" if is_beside else "library")
    one, other = (
        edition(f"{folder}/rules-{year}.md", title=f"Rules {year}", text=SAME)
        for folder, year in zip(folders, (2024, 2025), strict=True)
    )
    assert outdated(one, other) == ({one.key: other.key} if is_beside else {})


def source(title: str, address: str, superseded_by: str = "") -> Source:
    kind: Literal["document", "web"] = "document" if address.startswith("docs:") else "web"
    return Source(key=address, title=title, location=address, address=address, kind=kind, superseded_by=superseded_by)


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        (source("The basin", "docs:a.md"), source("The town", "docs:b.md"), True),
        (source("The basin", "docs:a.md"), source("The basin", "docs:b.md"), True),
        (source("The basin", "docs:a.md", "docs:c.md"), source("The town", "docs:b.md"), False),
        (source("Annual report 2023", "docs:a.md"), source("Annual report 2024", "docs:b.md"), False),
        (source("Visitors", "docs:report-2023.md"), source("Guests", "docs:report-2024.md"), False),
        (source("Basin 2023", "https://a.example/1"), source("Basin 2024", "https://a.example/2"), False),
        (source("A", "https://a.example/report-2023"), source("B", "https://a.example/report-2024"), True),
    ],
)
def test_only_documents_of_one_time_contradict_each_other(one: Source, other: Source, may: bool) -> None:
    assert may_contradict(one, other) is may_contradict(other, one) is may


NAMES = st.builds(
    "{}{}{}{}.md".format,
    st.sampled_from(["", "archive/", "2024/"]),
    st.sampled_from(["prices", "hours", "annual report"]),
    st.sampled_from(["", "-2022", "-2024", "-2026-03"]),
    st.sampled_from(["", "_v1", "_v2", "-draft", "-old"]),
)
TEXTS = st.sampled_from(
    [
        SAME,
        priced("1 crown"),
        priced("3 crowns"),
        f"This edition replaces the 2024 edition. {SAME}",
        f"Superseded by prices 2026. {SAME}",
        f"These prices replace all earlier versions. {SAME}",
        f"This edition replaces hours 2022. {SAME}",
        f"Draft\n\n{SAME}",
    ]
)
COLLECTIONS = st.lists(
    st.builds(edition, NAMES, date=st.sampled_from(["", "2023", "2025-01-01"]), text=TEXTS),
    max_size=7,
    unique_by=lambda one: one.key,
)


@given(COLLECTIONS, st.randoms(use_true_random=False))
def test_the_order_of_documents_changes_nothing(documents: list[Edition], chance: random.Random) -> None:
    shuffled = chance.sample(documents, len(documents))
    assert outdated(*shuffled) == outdated(*documents)


@given(COLLECTIONS, st.sampled_from(["", "2023-05-01", "2025-06-30"]))
def test_what_is_in_force_is_one_of_the_documents_and_is_not_outdated_itself(
    documents: list[Edition], today: str
) -> None:
    found = superseded(documents, today)
    assert found.keys() <= {one.key for one in documents}
    assert set(found.values()) <= {one.key for one in documents} - found.keys()


DATES = st.lists(st.sampled_from(["3 ", "aprıl", "APRİL", "Sıyım", " 2024", " 20٢٤", "v2 ", "rules ", "/", "."]))


@given(st.text(max_size=80) | DATES.map("".join), st.text(max_size=200) | DATES.map("".join))
@example("3 aprıl 2024", "")
def test_any_title_and_text_can_be_read(title: str, text: str) -> None:
    assert re.fullmatch(r"(?:[0-9]{4}(?:-[0-9]{2}){0,2})?", read_title(title).date)
    read_title(title)
    read_path(title)
    status_in(text)
    assert outdated(Edition("a", title, title, "", text)) == {}
