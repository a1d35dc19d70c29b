"""An answered search is not paid for again within the same question."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

from kit.runs import Shelf, new_tool_context, web_search
from langgraph.store.memory import InMemoryStore

from deep_research.tools.engine import EngineFailed, Found
from deep_research.tools.tool import Meter, Outcome

LIGHT = Found("Light", "https://a.example/light", "Lit in 1844.")


class Thread:
    """One thread, and what its searches have used up."""

    def __init__(self) -> None:
        self.store, self.meter = InMemoryStore(), Meter()

    async def search(self, shelf: Shelf, *queries: str, question: str = "question", **values: Any) -> Outcome:
        tool_context = new_tool_context(self.store, question, meter=self.meter)
        return await web_search([shelf], *queries, tool_context=tool_context, **values)


async def test_an_answered_query_is_not_sent_again_for_the_same_question() -> None:
    thread, shelf, empty = Thread(), Shelf("shelf", LIGHT), Shelf("empty")
    first = await thread.search(shelf, "light")
    second = await thread.search(shelf, "Light")
    assert first.hits == second.hits
    assert [hit.source.title for hit in second.hits] == ["Light"]
    for _ in range(2):
        await thread.search(empty, "nothing at all")
    assert (shelf.asked, empty.asked) == (["light"], ["nothing at all"] * 2)
    assert thread.meter.searches == 3, "what is known already is no search"
    await thread.search(shelf, "light", question="another question")
    assert shelf.asked == ["light"] * 2


async def test_researchers_that_ask_the_same_at_once_pay_once() -> None:
    thread, shelf = Thread(), Shelf("shelf", LIGHT, seconds=0.05)
    outcomes = await asyncio.gather(*(thread.search(shelf, query) for query in ("light", "Light", "light")))
    assert [len(outcome.hits) for outcome in outcomes] == [1, 1, 1]
    assert (len(shelf.asked), thread.meter.searches) == (1, 1)


async def test_a_waiting_duplicate_takes_no_slot_and_asks_itself_if_the_first_fails() -> None:
    class Failing(Shelf):
        parallel = 1

        async def search(self, query: str, count: int) -> list[Found]:
            found = await super().search(query, count)
            if query == "light" and self.asked.count("light") == 1:
                raise EngineFailed("Shelf is down.")
            return found

    thread, shelf = Thread(), Failing("failing", LIGHT, seconds=0.05)
    searches = [thread.search(shelf, query) for query in ("light", "light", "keeper")]
    first, second, _ = await asyncio.gather(*searches)
    assert shelf.asked == ["light", "keeper", "light"]
    assert (len(first.hits), len(second.hits)) == (0, 1)


async def test_settings_that_change_the_answer_make_another_search() -> None:
    thread, shelf = Thread(), Shelf("shelf", LIGHT)
    domains: list[dict[str, Any]] = [{"domains_allow": ("a.example",)}, {"domains_deny": ("b.example",)}]
    changes = [{}, *domains, {"published_after": date(2020, 1, 1)}, {"limits": {"max_web_results": 3}}]
    for given in changes * 2:
        await thread.search(shelf, "light", **given)
    await thread.search(Shelf("other", LIGHT), "light")
    assert (len(shelf.asked), thread.meter.searches) == (5, 6)
