"""What is not in force yet, a draft or what holds from a later day: asked by whole runs, on the sixth of May 2031."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from shelf import FixedClock

from deep_research import research
from deep_research.app.strategies import Strategy

ROOT = "drafts 2032"
"""The folder that the user names; what it is called says nothing of the documents in it."""
STRATEGIES: tuple[Strategy, ...] = ("orchestrated", "planned")
REST = (
    "The fee holds for all boats of members and guests at the piers of the club in Varnes.\n\nCanoes lie free of "
    "charge on the grass behind the sail loft. Dinghies belong into the shed.\n\nTickets are sold by the harbour "
    "master, who takes no cards.\n"
)
HEAD = "# Berth fees {year}\n\nValid from 1 April {year}.\n\nA berth costs {fee} thalers.\n\n"
BERTHS = {f"berth-fees-{year}.md": HEAD.format(year=year, fee=fee) + REST for year, fee in ((2029, 21), (2032, 34))}
RULES = (
    "Guests of members are put up for up to {nights} nights a year. Dogs stay on the leash. Fires need the consent of "
    "the warden. Keys are handed in at noon."
)
HUT = {
    "hut-rules.md": f"# Hut rules\n\nDate: 9 January 2031\n\n{RULES.format(nights='five')}\n",
    "hut-rules DRAFT.md": f"# Hut rules\n\nDraft, not approved.\n\nDate: 2 May 2031\n\n{RULES.format(nights='nine')}\n",
}
TABLE = "| Item | Price |\n|---|---|\n| Large sail | {large} |\n| Small sail | {small} |\n"
SAILS = {
    "sail-prices-2031.md": f"# Sail prices 2031\n\nValid from 1 February 2031.\n\n{TABLE.format(large=310, small=120)}",
    "sail-prices-2032 DRAFT.md": "# Sail prices 2032 (draft)\n\nDraft of 2 May 2031, not approved.\n\n"
    + TABLE.format(large=355, small=140),
}


def body(folder: Path, files: Mapping[str, str], question: str, strategy: Strategy = "orchestrated") -> str:
    """What a report says before its list of sources."""
    docs = folder / ROOT
    for name, text in files.items():
        file = docs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    answer = research(
        question, strategy, docs=(docs,), models="extractive", engines=(), data_dir=folder / "data", clock=FixedClock()
    )
    return answer.markdown.split("## Sources")[0]


def lines_with(text: str, words: str) -> list[str]:
    return [line for line in text.splitlines() if words in line]


@pytest.mark.parametrize("question", ["How much does a berth cost?", "How much does a berth cost today?"])
def test_prices_of_next_year_are_not_in_force_and_do_not_outdate_those_of_today(tmp_path: Path, question: str) -> None:
    text = body(tmp_path, BERTHS, question)
    assert text.startswith("A berth costs 21 thalers. [1]")
    assert text.rstrip().endswith("*(not yet in force)*")
    assert len(lines_with(text, "34 thalers")) == len(lines_with(text, "## Drafts and coming versions")) == 1
    assert "outdated" not in text


@pytest.mark.parametrize("time", ["from April 2032", "in 2032", "next year"])
def test_prices_of_next_year_answer_who_asks_for_them_and_are_marked(tmp_path: Path, time: str) -> None:
    text = body(tmp_path, BERTHS, f"How much will a berth cost {time}?")
    [line] = lines_with(text, "34 thalers")
    assert line == text.splitlines()[0]
    assert text.count("*(not yet in force)*") == text.count("[1]") > 0
    assert "outdated" not in text


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_draft_does_not_take_the_place_of_what_was_decided_before_it(tmp_path: Path, strategy: Strategy) -> None:
    text = body(tmp_path, HUT, "For up to how many nights are guests of members put up?", strategy)
    assert text.startswith("Guests of members are put up for up to five nights a year. [1]")
    assert all(line.startswith("- ") and line.endswith("*(draft)*") for line in lines_with(text, "nine nights"))
    assert "outdated" not in text


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_draft_that_stands_alone_answers_and_each_sentence_is_marked(tmp_path: Path, strategy: Strategy) -> None:
    files = {name: text for name, text in HUT.items() if "DRAFT" in name}
    text = body(tmp_path, files, "For up to how many nights are guests of members put up?", strategy)
    assert "nine nights" in text.split("\n\n")[0]
    assert text.count("*(draft)*") == text.count("[1]") > 0


def test_of_tables_only_that_of_what_was_decided_is_shown(tmp_path: Path) -> None:
    text = body(tmp_path, SAILS, "What does a large sail cost?")
    assert lines_with(text, "310")
    assert not lines_with(text, "355")


def test_a_row_of_a_draft_that_is_asked_for_is_marked(tmp_path: Path) -> None:
    [row] = lines_with(body(tmp_path, SAILS, "What does a large sail cost by the draft?"), "355")
    assert row.endswith(" *(draft)* |")
