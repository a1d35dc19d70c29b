"""How tool results are shown to a model, and which part of a long text is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage

from deep_research.core.records.sources import Source
from deep_research.tools.results import (
    CUT,
    Result,
    passages,
    read_on,
    read_results,
    shorten_results,
    shrunk,
    window,
    write_results,
)
from deep_research.tools.tool import Hit, Outcome

TEXT = "The Skerry Light was lit in 1844.\n\nIt stands 38 metres tall."
LINKS = (("its keeper", "https://light.example/keeper"), ("", "https://light.example/plan"))


def written(*hits: Hit) -> str:
    return write_results(
        Outcome(hits), {hit.source.key: number for number, hit in enumerate(hits, 1)}
    )


def hit(
    excerpt: str, text: str = "", date: str = "", links: tuple[tuple[str, str], ...] = ()
) -> Hit:
    source = Source(
        key="k",
        title="Skerry Light",
        location="k",
        address="docs:light.md",
        kind="document",
        date=date,
    )
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


def test_a_page_is_shown_with_its_publisher_and_the_kind_of_its_date() -> None:
    page = Source(
        key="https://www.lights.gov.uk/a",
        title="Lamps",
        location="https://www.lights.gov.uk/a",
        address="https://www.lights.gov.uk/a",
        kind="web",
        publisher="Lights Board",
        date="2026-08-26",
        date_kind="publication",
        is_update=True,
    )
    result = result_of(Hit(page, "x", ""))
    assert (result["publisher"], result["publisher_kind"]) == ("Lights Board", "official")
    assert (result["date"], result["date_kind"]) == ("2026-08-26", "updated")


def test_a_shortened_result_says_that_it_was_cut() -> None:
    [cut] = read_results(shorten_results(written(hit(TEXT, TEXT, links=LINKS)), 10))
    assert cut["text"].endswith("[…]") and len(cut["text"]) <= 10
    assert "is_whole" not in cut
    assert "links" not in cut
    [kept] = read_results(shorten_results(written(hit(TEXT, TEXT)), 1000))
    assert (kept["text"], kept["is_whole"]) == (TEXT, True)


LIT = "The Skerry Light was first lit on a night of 1844."
ROW = "| Skerry Light | 1844 | 38 metres | Alan Moran |"
PAGE = f"Its keeper told the story.\n{LIT} It had cost 900 crowns.\n{ROW}"


def test_an_opened_page_leaves_out_sentences_that_its_search_result_has_shown_but_no_rows() -> None:
    [found] = read_results(written(hit(f"{LIT} {ROW}")))
    opened = write_results(Outcome((hit(PAGE, PAGE),)), {"k": 1}, [found])
    [result] = read_results(opened)
    assert result["text"] == f"Its keeper told the story.\n […] It had cost 900 crowns.\n{ROW}"


def test_older_results_of_a_page_become_one_with_all_that_they_show() -> None:
    found, opened = written(hit(LIT)), written(hit("It had cost 900 crowns.", PAGE))
    notes = [ToolMessage(text, tool_call_id=text[:20]) for text in (found, opened, found)]
    results = [read_results(note.text) for note in shrunk(notes, 2, "When was it lit?")]
    [whole] = results[0] + results[1]
    assert LIT in whole["text"] and "900 crowns" in whole["text"]
    assert results[2] == read_results(found)


WORDS = "The lamp was seen from twenty miles away. " * 2000
NEEDLE = "It was replaced in 1911 by a brighter one, which a keeper of the name of Moran had to wind up at dawn."


@pytest.mark.parametrize(
    ("excerpt", "text"),
    [
        ("a a a a a b…" * 166, "a " * 99_999),
        (f"{'a ' * 39}b…" * 25, "a " * 99_999),
        ("a" * 2000 + "b", "a" * 200_000),
    ],
)
def test_finding_an_excerpt_is_fast_for_any_text(excerpt: str, text: str) -> None:
    start = time.process_time()
    assert len(window(text, excerpt, 15_000)) <= 15_000
    assert time.process_time() - start < 0.5


@pytest.mark.behaviour("O-61")
@pytest.mark.parametrize(
    "excerpt",
    [
        NEEDLE,
        NEEDLE.replace(" ", "  \n"),
        f"Nothing of it … {NEEDLE[:50]}",
        f"{NEEDLE} But this is not there.",
        f"[…] {NEEDLE} […]",
    ],
)
def test_the_part_around_the_excerpt_is_shown_however_an_engine_has_changed_it(
    excerpt: str,
) -> None:
    text = f"{WORDS}{NEEDLE.replace(' ', chr(10), 3)} {WORDS}"
    shown = window(text, excerpt, 600)
    assert " ".join(NEEDLE.split()) in " ".join(shown.split())
    assert shown.startswith(CUT)
    assert shown.endswith(CUT)


def test_a_part_that_is_shortened_keeps_its_middle() -> None:
    text = f"{WORDS}{NEEDLE} {WORDS}"
    assert NEEDLE in window(text, window(text, NEEDLE, 15_000), 1000)


@given(
    st.text("ab \n", min_size=1, max_size=300),
    st.integers(0, 250),
    st.integers(10, 60),
    st.integers(20, 80),
)
def test_the_shown_window_contains_the_piece_it_was_cut_around(
    text: str, start: int, length: int, characters: int
) -> None:
    piece = " ".join(text[start : start + length].split())
    shown = window(text, piece, characters + 2 * len(piece) + 2 * length + 20)
    assert piece in " ".join(shown.split())
    assert len(shown) <= max(len(text), characters + 2 * len(piece) + 2 * length + 20)


@example(["# gh", NEEDLE, NEEDLE, NEEDLE, "\n\n", "ab cd"], 200)
@given(
    st.lists(st.sampled_from(["ab cd", "ef", "\n\n", "# gh", "| i | 7 |", NEEDLE]), max_size=60),
    st.integers(200, 900),
)
def test_passages_are_found_in_the_text_at_their_offsets(parts: list[str], characters: int) -> None:
    text = " ".join(parts)
    shown = passages(text, "What of cd?", NEEDLE, characters)
    if len(text) <= characters:
        assert shown == text
        return
    for start in map(int, re.findall(r"\[… (\d+)\]", shown)):
        assert read_on(text, start, 20).startswith(f"[… {start}] {text[start : start + 20]}")
    assert len(shown) <= characters + 40 * (1 + shown.count(CUT[1]))


def test_the_passages_on_the_topic_are_shown_before_the_others() -> None:
    filler = "Nothing of the kind stands here, and so it goes on. " * 8
    text = f"# Harbours\n\n{filler}\n\n{filler}\n\nThe pier of Tarn was built in 1844.\n\n{filler}\n\n{filler}"
    shown = passages(text, "When was the pier of Tarn built?", "", 600)
    assert "built in 1844" in shown and shown.startswith("# Harbours") and len(shown) < 700


def test_of_a_long_text_only_what_is_like_a_question_is_shown_if_there_are_some() -> None:
    filler = "\n\n".join(f"Nothing of the kind stands in part {n} of it." for n in range(80))
    text = (
        f"# Harbours\n\n{filler}\n\nThe pier of Tarn was built in 1844.\n\n{filler}\n\n"
        f"The keeper of Tarn was Ada Moran.\n\n{filler}"
    )
    questions = ["Tarn pier: year in which it was built", "Tarn keeper"]
    shown = passages(text, "", "", 3000, questions)
    assert "built in 1844" in shown and "Ada Moran" in shown and shown.startswith("# Harbours")
    assert len(shown) < 300
