"""What stands in the user's documents is not told to search engines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from deep_research.run.context import Context
from deep_research.run.pages import Pages
from deep_research.tools.desk import Desk
from deep_research.tools.engines.engine import Found
from deep_research.tools.outcome import Outcome, ToolFailed
from deep_research.tools.quotes import MOST_SHARED, quotes
from deep_research.tools.web_search import WebSearch, WebSearchArguments

PASSAGE = "Sale of the harbour works to Moran & Sons is planned for the third of May, at a price of nine million."
QUOTE = "harbour works to Moran & Sons is planned for the third"
WORDS = st.lists(st.sampled_from(["light", "keeper", "1844", "Über", "光", "the"]), max_size=30)
pytestmark = pytest.mark.fault("R8")


@given(WORDS, WORDS, WORDS)
def test_a_query_with_more_than_eight_words_of_a_passage_in_a_row_quotes_it(
    before: list[str], shared: list[str], after: list[str]
) -> None:
    passage = " ".join([*before, *shared, *after])
    assert quotes(" \n, ".join(shared).upper(), [passage]) == (len(shared) > MOST_SHARED)


@given(WORDS, WORDS)
def test_texts_without_such_a_run_are_no_quote(query: list[str], passage: list[str]) -> None:
    size = MOST_SHARED + 1
    runs = [passage[start : start + size] for start in range(len(passage) - size + 1)]
    expected = any(query[start : start + size] in runs for start in range(len(query) - size + 1))
    assert quotes(" ".join(query), ["", " ".join(passage)]) == expected


class Shelf:
    name = title = "Shelf"
    parallel, gap = 4, 0.0

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def search(self, query: str, count: int) -> list[Found]:
        self.asked.append(query)
        return [Found("T", "https://a.example/", "x")]


async def search(shelf: Shelf, excerpts: dict[str, str], *queries: str) -> Outcome:
    desk = Desk(Pages(InMemoryStore(), "thread"), "question", excerpts)
    arguments: Any = WebSearchArguments(queries=list(queries))
    return await WebSearch(Context(), [shelf], desk).run(arguments)


async def test_a_query_that_quotes_a_document_is_not_sent_and_the_others_are() -> None:
    shelf = Shelf()
    outcome = await search(shelf, {"docs:plans/sale.md": PASSAGE}, QUOTE, "Moran & Sons harbour works")
    assert shelf.asked == ["Moran & Sons harbour works"]
    assert outcome.problems[0].startswith(f"Not searched: {QUOTE!r} quotes your documents; ")
    with pytest.raises(ToolFailed, match="quotes your documents"):
        await search(shelf, {"docs:plans/sale.md": PASSAGE}, QUOTE)


async def test_a_query_may_quote_what_the_web_has_shown() -> None:
    shelf = Shelf()
    await search(shelf, {"https://a.example/": PASSAGE}, QUOTE)
    assert shelf.asked == [QUOTE]
