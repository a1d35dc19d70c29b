"""The sources of a report for reference managers."""

from __future__ import annotations

import json

import pytest
from exported import SOURCES
from hypothesis import given
from hypothesis import strategies as st

from deep_research.app.exports.bibliography import bibtex, csl_json, reference_id
from deep_research.core.records.sources import Source


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
    register, keeper, coast = json.loads(csl_json(SOURCES))
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
    assert coast["issued"] == {"date-parts": [[2019, 11]]}, "as exact as the source gives it"


def test_names_tell_where_a_source_is_from_and_stay_the_same() -> None:
    names = [reference_id(source) for source in SOURCES]
    assert [name.rpartition("-")[0] for name in names] == ["lights-example", "the-keeper", "coast-example"]
    assert [reference_id(source.model_copy(update={"number": 7, "title": "x"})) for source in SOURCES] == names


@pytest.mark.parametrize("title", [r"\input{x} $a_1$ #~", "{open", "close}", "a@b, c = {d}", 'quoted "words"', "% x"])
def test_a_title_is_the_same_after_latex_has_read_it(title: str) -> None:
    latex2text = pytest.importorskip("pylatexenc.latex2text").LatexNodes2Text()
    (entry,) = entries([titled(title)])
    assert latex2text.latex_to_text(entry["title"]) == title


@given(st.text(max_size=60))
def test_any_title_leaves_one_entry_with_balanced_braces(title: str) -> None:
    text = bibtex([titled(title)]).replace("\\{", "").replace("\\}", "")
    assert text.count("{") == text.count("}")
    assert len(entries([titled(title)])) == 1
