"""What stands in the user's documents is not told to search engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai_replies import Reply
from openai_server import Received, say, use
from search_api import Answer as ApiAnswer
from search_api import found
from searching import Shelf, new_desk
from wire import END, Script, hand_out, search_for, task_of, tool_results, wire_lab

from deep_research.run.context import Context
from deep_research.tools.engines.engine import Found
from deep_research.tools.outcome import Outcome, ToolFailed
from deep_research.tools.quotes import MOST_SHARED, quoting
from deep_research.tools.web_search import WebSearch, WebSearchArguments

PASSAGE = "Sale of the harbour works to Moran & Sons is planned for the third of May, at a price of nine million."
QUOTE = "harbour works to Moran & Sons is planned for the third"
WORDS = st.lists(st.sampled_from(["light", "keeper", "1844", "Über", "光", "the"]), max_size=30)
FOUND = Found("T", "https://a.example/", "x")
pytestmark = pytest.mark.fault("R8")


@given(WORDS, WORDS, WORDS)
def test_a_query_with_more_than_eight_words_of_a_passage_in_a_row_quotes_it(
    before: list[str], shared: list[str], after: list[str]
) -> None:
    passage = " ".join([*before, *shared, *after])
    query = " \n, ".join(shared).upper()
    assert quoting([query], [passage]) == [query] * (len(shared) > MOST_SHARED)


@given(WORDS, WORDS)
def test_texts_without_such_a_run_are_no_quote(query: list[str], passage: list[str]) -> None:
    size = MOST_SHARED + 1
    runs = [passage[start : start + size] for start in range(len(passage) - size + 1)]
    expected = any(query[start : start + size] in runs for start in range(len(query) - size + 1))
    asked = " ".join(query)
    assert quoting(["light", asked], ["", " ".join(passage)]) == [asked] * expected


async def search(shelf: Shelf, private: tuple[str, ...], *queries: str) -> Outcome:
    tool = WebSearch(Context(), [shelf], new_desk(private=private))
    return await tool.run(WebSearchArguments(queries=list(queries)))


async def test_a_query_that_quotes_a_document_is_not_sent_and_the_others_are() -> None:
    shelf = Shelf("shelf", FOUND)
    outcome = await search(shelf, (PASSAGE,), QUOTE, "Moran & Sons harbour works")
    assert shelf.asked == ["Moran & Sons harbour works"]
    assert outcome.problems[0].startswith(f"Not searched: {QUOTE!r} quotes your documents; ")
    with pytest.raises(ToolFailed, match="quotes your documents"):
        await search(shelf, (PASSAGE,), QUOTE)


def said(request: Received) -> list[str]:
    return [problem for results in tool_results(request) for problem in results["problems"]]


async def test_a_researcher_may_quote_what_the_web_has_shown_and_nothing_that_its_documents_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All passages of a document count, also where it was found before."""
    sale = "\n\n".join([f"Keeper\n\n{'The keeper wound up the lamp at dawn. ' * 40}", f"Sale\n\n{PASSAGE}"])
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "plans.md").write_text(sale)
    told = "The lamp of the tower was lit by an Irish keeper on a stormy night of May."
    steps = [
        use(("internal_search", {"queries": ["keeper lamp dawn"]})),
        use(("internal_search", {"queries": ["sale price million"]})),
        search_for("light"),
        search_for(QUOTE, told),
        END,
    ]
    script: dict[str, Script] = {
        "orchestrator": lambda request: END if "Found:" in request.prompt else hand_out("light"),
        "researcher": lambda request: steps[len(tool_results(request))],
        "finding": lambda _: say("Found: it was lit. [1]"),
    }
    with wire_lab(
        tmp_path / "data", monkeypatch, script, docs=(tmp_path / "docs",), limits={"whole_characters": 0}
    ) as wire:
        wire.engine.on("light", ApiAnswer([found("https://a.example/", "Light", told)]))
        await wire.ask()
        assert wire.engine.queries == ["light", told]
        assert f"Not searched: {QUOTE!r} quotes your documents" in " ".join(said(wire.requests("finding")[0]))


async def test_what_one_researcher_has_read_in_documents_is_not_told_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finding quotes the document, the next task quotes the finding, and its researcher searches for the task."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "plans.md").write_text(PASSAGE)

    def orchestrator(request: Received) -> Reply:
        rounds = request.prompt.count("Found:")
        return END if rounds > 1 else hand_out(QUOTE if rounds else "sale price million")

    def researcher(request: Received) -> Reply:
        if tool_results(request):
            return END
        task = task_of(request)
        return search_for(task) if task == QUOTE else use(("internal_search", {"queries": [task]}))

    script: dict[str, Script] = {
        "orchestrator": orchestrator,
        "researcher": researcher,
        "finding": lambda request: say(f"Found: {PASSAGE if task_of(request) != QUOTE else 'nothing more'}"),
    }
    with wire_lab(
        tmp_path / "data", monkeypatch, script, docs=(tmp_path / "docs",), limits={"whole_characters": 0}
    ) as wire:
        await wire.ask()
        assert wire.engine.queries == []
        assert f"Not searched: {QUOTE!r} quotes your documents" in " ".join(said(wire.requests("finding")[-1]))
