"""What a new text of a source means for the sentences that cite it: only what takes a sentence away counts."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.checking.changes import Change, Comparison
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import units_of
from deep_research.core.evidence.text.wording import difference

TEXT = """# Skerry Light

The Skerry Light was lit for the first time in 1844. It stands 38 metres tall. Ada Moran kept the light from 1901 to
1932, and never left the island. Its lamp could be replaced in 2030.

## The port

Boats sail twice a day, and the pier has 14 berths.

| Port | Depth |
|---|---|
| Anlow | 12 m |
| Brack | 9 m |
"""
QUOTED = "The Skerry Light was lit for the first time in 1844. [1]"
OWN_WORDS = "The lighthouse, which is 38 m tall [1], was tended by Moran until 1932. [1]"


def changes(report: str, now: str, before: str = TEXT) -> list[Change]:
    """What has changed for the parts of a report that cites one source."""
    comparison = Comparison([SourceText("a", before)], [SourceText("b", now)])
    return [change for unit in units_of(report, ["source"]) if (change := comparison.change(unit))]


@pytest.mark.parametrize(
    "now",
    [
        TEXT.replace("\n", "\r\n"),
        TEXT.replace(". ", ".\n\n").replace("# Skerry Light", "SKERRY LIGHT\n============"),
        "\n\n".join(reversed(TEXT.split("\n\n"))),
        TEXT.replace("1844", "**1844**").replace("The Skerry Light", "- The _Skerry_ Light"),
        TEXT.replace("metres", "meters"),
        TEXT.replace("14 berths", "15 berths").replace("Boats", "No boats") + "\nIn 1999 the pier was closed.\n",
        TEXT.replace("in 1844.", "in 1844, after a storm."),
    ],
)
def test_layout_order_spelling_and_other_sentences_change_nothing(now: str) -> None:
    assert changes(f"{QUOTED} {OWN_WORDS}", now) == []


@pytest.mark.parametrize(
    ("old", "new", "reason", "says"),
    [
        ("in 1844", "in 1846", "another figure or date", QUOTED.replace("1844", "1846")),
        ("Skerry Light was", "Fastnet Light was", "names somebody", QUOTED.replace("Skerry", "Fastnet")),
        ("was lit", "was not lit", "denies now", QUOTED.replace("was lit", "was not lit")),
        ("first time", "last time", "the opposite", QUOTED.replace("first", "last")),
        ("in 1844.", "in 1844, which is not true.", "denies now", QUOTED.replace("1844.", "1844, which is not true.")),
        (
            "was lit for the first time",
            "began to shine",
            "words it otherwise",
            "The Skerry Light began to shine in 1844. [1]",
        ),
        ("The Skerry Light was lit for the first time in 1844. ", "", "no longer says it", ""),
    ],
)
def test_a_quote_is_told_as_it_would_be_quoted_now(old: str, new: str, reason: str, says: str) -> None:
    [change] = changes(QUOTED, TEXT.replace(old, new))
    assert reason in change.reason and change.says == says
    assert bool(change.now) == bool(new)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("38 metres", "41 metres", "The lighthouse, which is 41 m tall [1],"),
        ("Ada Moran kept", "Ada Brennan kept", "was tended by Brennan until 1932. [1]"),
        ("1901 to\n1932", "1901 to\n1935", "was tended by Moran until 1935. [1]"),
        ("1901 to\n1932", "1899 to\n1932", ""),
        ("never left", "often left", ""),
    ],
)
def test_a_sentence_in_other_words_changes_only_with_what_it_says_itself(old: str, new: str, says: str) -> None:
    assert "".join(change.says for change in changes(OWN_WORDS, TEXT.replace(old, new))) in (says, says.rstrip(","))


def test_a_cell_follows_its_row() -> None:
    table = "| Port | Depth |\n|---|---|\n| Anlow | 12 m [1] |\n| Brack | 9 m [1] |\n"
    [change] = changes(table, TEXT.replace("12 m", "13 m"))
    assert (change.before, change.now, change.says) == ("| Anlow | 12 m |", "| Anlow | 13 m |", "13 m [1]")


def test_a_name_that_stands_nowhere_any_more_is_missed() -> None:
    report = "The Skerry Light, whose keeper was Ada Moran, stands 38 metres tall. [1]"
    [change] = changes(report, TEXT.replace("Ada Moran", "A keeper"))
    assert "names somebody" in change.reason


def test_a_difference_is_by_words_and_keeps_the_layout_of_the_second() -> None:
    parts = difference("It was lit in 1844, by Ada.", "It was  first lit in 1846, by **Ada**.")
    assert "".join(f"[{one.kind[0]}:{one.text}]{one.space}" for one in parts) == (
        "[s:It was] [i:first] [s:lit in] [d:1844] [i:1846][s:, by **Ada**.]"
    )
