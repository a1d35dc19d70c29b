"""How tool results are shown to a model."""

from __future__ import annotations

from deep_research.core.records.sources import Source
from deep_research.tools.results import Result, read_results, shorten_results, write_results
from deep_research.tools.tool import Hit, Outcome

TEXT = "The Skerry Light was lit in 1844.\n\nIt stands 38 metres tall."
LINKS = (("its keeper", "https://light.example/keeper"), ("", "https://light.example/plan"))


def written(*hits: Hit) -> str:
    return write_results(Outcome(hits), {hit.source.key: number for number, hit in enumerate(hits, 1)})


def hit(excerpt: str, text: str = "", date: str = "", links: tuple[tuple[str, str], ...] = ()) -> Hit:
    source = Source(key="k", title="Skerry Light", location="k", address="docs:light.md", kind="document", date=date)
    return Hit(source, excerpt, text, links)


def result_of(shown: Hit) -> Result:
    [result] = read_results(written(shown))
    return result


def test_a_result_says_whether_it_shows_all_of_its_text() -> None:
    assert "is_whole" not in result_of(hit("It stands 38 metres tall.", TEXT))
    assert "is_whole" not in result_of(hit(TEXT))
    assert result_of(hit(f"{TEXT}\n", TEXT))["is_whole"]


def test_unknown_fields_are_left_out_and_a_link_has_its_address_in_a_field_of_its_own() -> None:
    assert list(result_of(hit("It is tall."))) == ["document", "title", "address", "text"]
    shown = result_of(hit(TEXT, TEXT, "2020-05-06", LINKS))
    assert list(shown)[3:] == ["date", "is_whole", "text", "links"]
    keeper, plan = ("https://light.example/keeper", "https://light.example/plan")
    assert shown["links"] == [{"words": "its keeper", "address": keeper}, {"address": plan}]


def test_a_shortened_result_says_that_it_was_cut() -> None:
    [cut] = read_results(shorten_results(written(hit(TEXT, TEXT, links=LINKS)), 10))
    assert cut["text"].endswith("[…]") and len(cut["text"]) <= 10
    assert "is_whole" not in cut
    assert "links" not in cut
    [kept] = read_results(shorten_results(written(hit(TEXT, TEXT)), 1000))
    assert (kept["text"], kept["is_whole"]) == (TEXT, True)
