"""The sources of a report for reference managers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from exported import HARM, SOURCES
from hypothesis import given
from hypothesis import strategies as st

from deep_research.app.exports.bibliography import bibtex, csl_json, reference_id
from deep_research.core.records.sources import Source

DATES = {"2021-05-04": [2021, 5, 4], "2019-11": [2019, 11], "1844": [1844], "2021-05-04T10:00:00": [2021, 5, 4]}


def entries(sources: list[Source]) -> list[dict[str, str]]:
    """What a reader of BibTeX finds: the fields of each entry, with its key."""
    bibtexparser = pytest.importorskip("bibtexparser")
    library = bibtexparser.parse_string(bibtex(sources))
    assert not library.failed_blocks
    return [{"key": one.key, **{field.key: field.value for field in one.fields}} for one in library.entries]


def titled(title: str) -> Source:
    return SOURCES[0].model_copy(update={"title": title})


def test_each_source_is_an_entry_of_bibtex() -> None:
    register, keeper, coast = entries(list(SOURCES))
    assert register == {
        "key": reference_id(SOURCES[0]),
        "title": "{Skerry Light – Register}",
        "year": "2021",
        "date": "2021-05-04",
        "url": "https://lights.example/skerry",
        "urldate": "2026-03-04",
    }
    assert keeper["title"] == r"{The keeper \& her 100\% \{granite\}}"
    assert (keeper["note"], "url" in keeper) == ("/docs/the keeper.md", False)
    assert (coast["year"], coast["date"]) == ("2019", "2019-11")
    assert coast["url"] == "https://www.coast.example/a?b=1&c=2#power"


def test_each_source_is_an_item_of_csl_json() -> None:
    register, keeper, _ = json.loads(csl_json(SOURCES))
    assert register == {
        "id": reference_id(SOURCES[0]),
        "type": "webpage",
        "title": "Skerry Light – Register",
        "URL": "https://lights.example/skerry",
        "issued": {"date-parts": [[2021, 5, 4]]},
        "accessed": {"date-parts": [[2026, 3, 4]]},
    }
    assert (keeper["type"], keeper["note"]) == ("document", "/docs/the keeper.md")
    assert not {"URL", "issued"} & keeper.keys()


def test_names_tell_where_a_source_is_from_and_stay_the_same() -> None:
    names = [reference_id(source) for source in SOURCES]
    assert [name.rpartition("-")[0] for name in names] == ["lights-example", "the-keeper", "coast-example"]
    assert [reference_id(source.model_copy(update={"number": 7, "title": "x"})) for source in SOURCES] == names


@pytest.mark.parametrize(("date", "parts"), DATES.items())
def test_a_date_is_as_exact_as_the_source_gives_it(date: str, parts: list[int]) -> None:
    (item,) = json.loads(csl_json([SOURCES[0].model_copy(update={"date": date})]))
    assert item["issued"] == {"date-parts": [parts]}


@pytest.mark.parametrize("title", [r"\input{x} $a_1$ #~", "{open", "close}", "a@b, c = {d}", 'quoted "words"', "% x"])
def test_a_title_is_the_same_after_latex_has_read_it(title: str) -> None:
    latex2text = pytest.importorskip("pylatexenc.latex2text").LatexNodes2Text()
    (entry,) = entries([titled(title)])
    assert latex2text.latex_to_text(entry["title"]) == title


@pytest.mark.parametrize("words", HARM, ids=lambda words: words[:20].encode("ascii", "replace").decode())
def test_harm_in_a_source_breaks_neither_form(words: str) -> None:
    changes: dict[str, Any] = {"title": words, "date": words, "read_at": words}
    sources = [source.model_copy(update=changes) for source in SOURCES]
    assert len(entries(sources)) == len(json.loads(csl_json(sources))) == 3


@given(st.text(max_size=60))
def test_any_title_leaves_one_entry_with_balanced_braces(title: str) -> None:
    text = bibtex([titled(title)]).replace("\\{", "").replace("\\}", "")
    assert text.count("{") == text.count("}")
    assert len(entries([titled(title)])) == 1
