"""Which documents are drafts or hold from a later day, and what they give way to."""

from __future__ import annotations

import pytest

from deep_research.evidence.versions.standing import Standing, beginning_in, says_it_is_draft
from deep_research.evidence.versions.versions import Edition, standings, superseded

PRICES = (
    "Guests pay at the desk before they enter the basin. Children below six years swim free of charge with a parent. "
    "A locker costs 1 crown and a towel 2 crowns; both are paid when they are handed out. The basin closes half an "
    "hour before the house does, and nobody is let in during the last hour of the day. Lost keys cost 15 crowns."
)


def priced(locker: str) -> str:
    return PRICES.replace("1 crown ", f"{locker} ")


def edition(path: str, text: str = PRICES) -> Edition:
    return Edition(path, path.removesuffix(".md"), path, "", text)


def test_a_draft_by_its_first_lines_alone_gives_way_to_its_namesake() -> None:
    draft = Edition("draft", "Basin rules", "proposals/to read.md", "2026-05", f"Draft, not approved.\n\n{PRICES}")
    final = Edition("final", "Basin rules", "rules.md", "2026-01", PRICES)
    assert superseded((draft, final)) == {draft.key: final.key}


def test_what_holds_from_a_later_day_gives_way_until_then_to_what_is_in_force() -> None:
    old, new, last = (edition(f"prices-{year}.md", text=priced(f"{year} crowns")) for year in (2024, 2026, 2028))
    assert superseded((old, new, last), "2023-05-01") == {new.key: old.key, last.key: old.key}
    assert superseded((old, new, last), "2025-05-01") == {new.key: old.key, last.key: old.key}
    assert superseded((old, new, last), "2027-05-01") == {old.key: new.key, last.key: new.key}
    assert superseded((old, new, last), "2028-01-01") == {old.key: last.key, new.key: last.key}


def test_the_day_that_a_text_gives_counts_for_more_than_the_year_of_its_name() -> None:
    old = edition("prices-2024.md", text=priced("1 crown"))
    new = edition(
        "prices-2026.md", text=f"Valid from 1 March 2026. This list replaces the 2024 edition.\n\n{priced('3 crowns')}"
    )
    assert superseded((old, new), "2026-02-28") == {new.key: old.key}
    assert superseded((old, new), "2026-03-01") == {old.key: new.key}


def test_a_reader_is_told_of_drafts_and_of_what_is_to_come() -> None:
    old, new = (edition(f"prices-{year}.md", text=priced(f"{year} crowns")) for year in (2024, 2026))
    draft, report = edition("prices-2027-draft.md", text=priced("9 crowns")), edition("annual report 2026.md")
    horses = edition("draft horses.md")
    documents, today = (old, new, draft, report, horses), "2025-05-01"
    found = standings(documents, superseded(documents, today), today)
    assert found == {new.key: Standing(in_force_from="2026"), draft.key: Standing(True, "2027")}


@pytest.mark.parametrize(
    ("title", "path", "text", "is_draft"),
    [
        ("Hut rules (draft)", "hut.md", "", True),
        ("Hüttenordnung – Entwurf", "hut.md", "", True),
        ("Hut rules", "hut DRAFT.md", "", True),
        ("Hut rules", "docs:club/drafts/hut.md", "", True),
        ("Hut rules", "docs:drafts/hut.md", "", False),
        ("Hut rules", "hut.md", "# Hut rules\n\nDraft of 2 May 2031", True),
        ("Hut rules", "hut.md", "Status: draft", True),
        ("Règlement", "r.md", "Statut : brouillon", True),
        ("规则", "r.md", "状态：草案", True),
        ("Reglamento", "r.md", "BORRADOR\n\nLos perros", True),
        ("Draft horses", "horses.md", "Draft horses pull logs.", False),
        ("The heron's draft", "heron.md", "Draft: 3 m. Built in 1902.", False),
    ],
)
def test_a_draft_is_told_by_what_it_says_of_itself(title: str, path: str, text: str, is_draft: bool) -> None:
    assert says_it_is_draft(title, path, text) is is_draft


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("# Fees\n\nValid from 1 April 2032.", "2032-04-01"),
        ("# Fees, effective 2032", "2032"),
        ("These rules enter into force on 2032-04-01.", "2032-04-01"),
        ("Effective date: April 2032", "2032-04"),
        ("Gültig ab dem 1. April 2032", "2032-04-01"),
        ("Diese Ordnung tritt am 1. April 2032 in Kraft.", "2032-04-01"),
        ("**En vigueur à partir du** 1 avril 2032", "2032-04-01"),
        ("Vigente desde el 1 de abril de 2032", "2032-04-01"),
        ("In vigore dal 01.04.2032", "2032-04-01"),
        ("自2032年4月1日起施行", "2032-04-01"),
        ("The new bridge takes effect on 1 April 2032.", ""),
        ("Valid for all boats. Built 2032.", ""),
    ],
)
def test_from_which_day_on_a_document_holds_is_told_by_what_it_says_of_itself(text: str, day: str) -> None:
    assert beginning_in(text) == day
