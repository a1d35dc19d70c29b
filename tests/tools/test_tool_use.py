"""What the tools of a researcher may use up, and that all of it is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.models import call, calls
from kit.runs import REPORT, HandClock, Shelf, in_order, lab, new_tool_context, used, web_search
from kit.runs import search as search_documents
from langchain_core.tools import tool

from deep_research.core.errors import DocumentsUnreadable
from deep_research.core.records.research import total
from deep_research.core.settings.context import Context
from deep_research.tools.engine import EngineFailed
from deep_research.tools.tool import Meter, Outcome


@pytest.mark.parametrize("engines", [1, 2, 3])
@pytest.mark.parametrize(("queries", "left"), [(1, 1), (5, 1), (2, 3), (3, 5), (5, 7), (5, 100)])
async def test_no_more_is_sent_than_is_left_however_many_engines_there_are(
    engines: int, queries: int, left: int
) -> None:
    shelves = [Shelf(f"shelf {number}") for number in range(engines)]
    meter = Meter(most_searches=left)
    await web_search(
        shelves,
        *(f"query {number}" for number in range(queries)),
        tool_context=new_tool_context(meter=meter),
    )
    assert 0 < meter.searches == sum(len(shelf.asked) for shelf in shelves) <= left


async def test_if_too_few_searches_are_left_the_first_engines_are_asked_and_the_model_learns_why() -> (
    None
):
    first, second = Shelf("one", EngineFailed("One is down.", is_lasting=True)), Shelf("two")
    tool_context = new_tool_context(meter=Meter(most_searches=1))
    outcome = await web_search([first, second], "a", "b", tool_context=tool_context)
    assert (first.asked, second.asked) == (["a"], [])
    assert outcome.problems[:2] == (
        "Only the first 1 of 2 queries were searched (max_searches).",
        "Too few searches are left to ask Shelf as well (max_searches).",
    )
    assert outcome.fault == "", "the other engine may still answer"


async def failing(error: Exception) -> Outcome:
    """Call a tool that raises this error."""

    @tool
    async def fail() -> None:
        """Fail."""
        raise error

    return await used("fail", Context(tools=(fail,), engines=()))


@pytest.mark.behaviour("O-51")
@pytest.mark.parametrize("error", [RuntimeError("key=secret"), TimeoutError("socket")])
async def test_an_error_of_a_tool_is_reported_by_type_only_and_not_mistaken_for_a_limit(
    error: Exception,
) -> None:
    outcome = await failing(error)
    assert outcome.problems == outcome.broken == (f"The tool failed ({type(error).__name__}).",)


async def test_an_error_that_only_the_user_can_fix_stops_the_run() -> None:
    with pytest.raises(DocumentsUnreadable, match="gone"):
        await failing(DocumentsUnreadable("The folder is gone."))


@pytest.mark.sweep
@pytest.mark.behaviour("O-52")
@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"tool_seconds": 0.8}, "(tool_seconds)"),
        ({"researcher_seconds_hard": 4, "writing_share": 0.5}, "(researcher_seconds_hard)"),
    ],
)
async def test_a_search_that_is_cut_is_counted_and_says_what_cut_it(
    tmp_path: Path, limits: dict[str, Any], named: str
) -> None:
    engine, acts = (
        Shelf("slow", seconds=30),
        [calls(call("web_search", queries=["light", "keeper"])), REPORT, "Lit."],
    )
    run = lab(tmp_path, researcher=acts, docs=(), engines=(engine,), limits=limits)
    state = await run.ask()
    assert len(engine.asked) == total(state.spending).searches == 2
    [action] = in_order(state)[0].actions
    assert (
        action.problems[0].startswith("The tool did not finish within ")
        and named in action.problems[0]
    )


async def test_no_more_pages_are_opened_and_no_more_tools_called_than_may_be(
    tmp_path: Path,
) -> None:
    """Each search and each batch of pages counts, whatever its result; refused calls and failed
    attempts do not."""
    nowhere, keeper, tides = (
        f"docs:lab-documents/{name}" for name in ("nowhere.md", "keeper.md", "tides.html")
    )
    opened = [
        calls(call("open_url", urls=list(urls)))
        for urls in ((nowhere,), (keeper, tides), (keeper,))
    ]
    searches = [search_documents(*queries) for queries in ("ab", "c", "d")]
    acts = [searches[0], *opened, *searches[1:], REPORT, "Lit. [1]"]
    state = await lab(
        tmp_path, researcher=acts, limits={"max_fetches": 2, "max_tool_calls": 4}
    ).ask()
    spent = total(state.spending)
    assert (spent.tool_calls, spent.searches, spent.fetches) == (4, 3, 2)
    _, wrong, _, no_page, _, no_call = (action.problems for action in in_order(state)[0].actions)
    assert "No document has the address" in wrong[0]
    assert no_page == (
        "Not run: no pages are left to open (max_fetches). Write down what was found.",
    )
    assert no_call == (
        "Not run: no tool calls are left (max_tool_calls). Write down what was found.",
    )


async def test_a_researcher_whose_time_is_over_begins_no_tool(tmp_path: Path) -> None:
    clock = HandClock()
    acts = [clock.after(85, search_documents("Skerry Light")), "Nothing."]
    state = await lab(
        tmp_path, researcher=acts, clock=clock, limits={"researcher_seconds_hard": 100}
    ).ask()
    [action] = in_order(state)[0].actions
    assert action.problems == (
        "Not run: no time is left (researcher_seconds_hard). Write down what was found.",
    )
    assert total(state.spending).searches == 0
