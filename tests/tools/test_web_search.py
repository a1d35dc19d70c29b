"""Searching the web, as a model calls it: by Tavily against a server on loopback, and by engines of
the tests."""

from __future__ import annotations

import asyncio
import time
from datetime import date
from typing import Any

import pytest
from kit.engines import Answer, SearchApi, found, pages, refused
from kit.runs import Shelf, new_tool_context, settings, web_search
from langchain_core.tools import tool
from langgraph.store.memory import InMemoryStore

from deep_research.core.errors import UnknownSetting
from deep_research.core.evidence.citations.labels import labels
from deep_research.tools._web_search import WebSearch, WebSearchArguments
from deep_research.tools.engine import (
    EngineBlocked,
    EngineBusy,
    EngineFailed,
    Found,
    PartialResults,
)
from deep_research.tools.results import read_results, write_results
from deep_research.tools.run_engines import SearchEngines
from deep_research.tools.tool import Meter, Outcome, ToolContext


async def search(
    *queries: str,
    shelves: list[Shelf] | None = None,
    tool_context: ToolContext | None = None,
    **values: Any,
) -> Outcome:
    """Search by these shelves, or by the engines of the settings."""
    engines = shelves or SearchEngines(settings(**values)).chosen()
    return await web_search(engines, *queries, tool_context=tool_context, **values)


def addresses(outcome: Outcome) -> list[str]:
    return [hit.source.address for hit in outcome.hits]


@pytest.mark.behaviour("O-60")
async def test_twenty_results_are_taken_from_the_queries_in_turn(api: SearchApi) -> None:
    blank = [found("https://a.example/blank", "", " ")]
    api.on("one", Answer([*blank, *pages("a.example", 29)]))
    api.on("two", Answer(pages("b.example", 30)))
    tool_context = new_tool_context()
    outcome = await search("one", "two", tool_context=tool_context)
    assert len(outcome.hits) == 20
    assert addresses(outcome)[:4] == [
        f"https://{site}.example/{number}" for number in (0, 1) for site in "ab"
    ]
    assert tool_context.meter.searches == 2
    assert outcome.problems == ()


async def test_a_result_with_a_title_or_an_excerpt_is_kept_as_a_source_that_was_not_read() -> None:
    untitled = Found(
        "",
        "https://Example.org/a?id=1&utm_source=x#part",
        "Words\n\x1b[2J\tof the page.",
        "2026-01-02",
    )
    bare = Found("\x00A\n title " + "x" * 300, "https://example.org/b", "")
    first, second = (await search("q", shelves=[Shelf("shelf", untitled, bare)])).hits
    assert {first.source.key, first.source.title, first.source.location} == {
        "https://example.org/a?id=1"
    }
    assert (first.source.kind, first.source.content_hash) == ("web", "")
    assert first.source.address == "https://Example.org/a?id=1&utm_source=x#part"
    assert (first.excerpt, first.text, first.source.date) == (
        "Words [2J of the page.",
        "",
        "2026-01-02",
    )
    assert second.source.title.startswith("A title xx")


@pytest.mark.behaviour("O-62")
@pytest.mark.fault(27)
async def test_one_page_is_shown_once_and_pages_that_differ_in_their_query_are_two(
    api: SearchApi,
) -> None:
    video = "https://video.example/watch"
    same = [found(f"{video}?v=1&utm_source={number}#t={number}") for number in range(10)]
    api.on("one", Answer([*same, found(f"{video}?v=2")]))
    api.on("two", Answer([found(f"{video}?v=2&fbclid=x"), found(f"{video}?v=1")]))
    assert addresses(await search("one", "two")) == [
        f"{video}?v=1&utm_source=0#t=0",
        f"{video}?v=2&fbclid=x",
    ]


@pytest.mark.behaviour("O-63")
async def test_when_some_queries_fail_the_results_of_the_others_are_shown(api: SearchApi) -> None:
    api.on("good", Answer(pages("a.example", 2)))
    api.on("odd", refused(400))
    api.on("last", refused(432))
    outcome = await search("good", "odd", "last")
    assert len(outcome.hits) == 2
    odd, last = outcome.problems
    assert odd == "Tavily refused the search (status 400). Not searched: 'odd'."
    assert last.startswith("The quota of the key for Tavily is used up (status 432)")
    assert outcome.fault == ""


@pytest.mark.behaviour("O-63")
async def test_an_engine_that_fails_in_an_unknown_way_keeps_the_results_of_the_others() -> None:
    broken = Shelf("broken", KeyError("https://secret.example/?key=1"))
    good = Shelf("good", Found("A", "https://a.example/", "x"))
    outcome = await search("q", shelves=[broken, good])
    assert addresses(outcome) == ["https://a.example/"]
    assert (
        outcome.problems
        == outcome.replaced
        == ("Shelf failed (KeyError). Shelf was searched instead.",)
    )


async def test_a_page_that_several_engines_find_stands_where_their_ranks_put_it_once_with_their_names() -> (
    None
):
    """By hand, with a constant of 60: c has 1/63 + 1/61, b 1/62 + 1/62, a 1/61 alone and d 1/63
    alone."""

    def page(name: str, query: str = "") -> Found:
        return Found(name, f"https://{name}.example/{query}", "")

    first = Shelf("one", page("a"), page("b"), page("c"))
    second = Shelf("two", page("c", "?utm_source=two"), page("b", "#part"), page("d"), page("c"))
    hits = (await search("q", shelves=[first, second])).hits
    assert [(hit.source.title, hit.source.engines) for hit in hits] == [
        ("c", ("one", "two")),
        ("b", ("one", "two")),
        ("a", ("one",)),
        ("d", ("two",)),
    ]


async def test_results_that_are_known_to_be_too_old_are_left_out(api: SearchApi) -> None:
    dates = {
        "old": "Tue, 31 Dec 2024 23:00:00 GMT",
        "new": "2025-01-01T00:00:00Z",
        "unknown": "last week",
    }
    api.otherwise = Answer(
        [found(f"https://a.example/{age}", published_date=day) for age, day in dates.items()]
    )
    hits = (await search("q", published_after=date(2025, 1, 1))).hits
    shown = [(hit.source.address[18:], hit.source.date) for hit in hits]
    assert shown == [("new", "2025-01-01"), ("unknown", "")]


async def test_results_that_cannot_be_shown_are_named_by_what_they_lack(api: SearchApi) -> None:
    blank = [
        found("https://a.example/1", "", ""),
        {**found("https://a.example/2"), "title": None, "content": None},
        {"url": "x"},
    ]
    nowhere: list[Any] = [
        found("/relative"),
        found("javascript:alert(1)"),
        {"title": "No address"},
        "text",
        None,
    ]
    api.on("blank", Answer(blank))
    api.on("both", Answer([*blank, *nowhere]))
    api.on("nowhere", Answer(nowhere))
    begins = "All results for {!r} are {}"
    outside = (
        "outside domains_allow, domains_deny and published_after, or without a public address."
    )
    assert (await search("blank")).problems == (begins.format("blank", "without title and text."),)
    assert (await search("both")).problems == (
        begins.format("both", f"without title and text, or {outside}"),
    )
    assert (await search("nowhere")).problems == (begins.format("nowhere", outside),)
    api.on("denied", Answer(pages("a.example", 3)))
    assert (await search("denied", domains_allow=("b.example",))).problems == (
        begins.format("denied", outside),
    )


@pytest.mark.fault("R8")
async def test_long_queries_are_cut_at_a_word_and_surplus_ones_dropped(api: SearchApi) -> None:
    outcome = await search(
        f"{'harbour ' * 50}walls",
        f"{'harbour ' * 50}works",
        "潮汐" * 300,
        "b",
        "c",
        limits={"max_queries": 3},
    )
    assert sorted(api.queries) == ["b", " ".join(["harbour"] * 50), "潮汐" * 200]
    assert outcome.problems[:2] == (
        "Queries were cut to 400 characters.",
        "Only the first 3 of 4 queries were searched (max_queries).",
    )


@pytest.mark.fault(26, logs="WARNING tools._web_search")
async def test_all_engines_down_is_a_fault_with_each_of_the_reasons() -> None:
    first = Shelf("one", EngineFailed("One is down.", is_lasting=True))
    second = Shelf("two", EngineFailed("Two is down.", is_lasting=True))
    slow = Shelf("slow", EngineFailed("Three is slow."))
    assert (await search("q", shelves=[first, second])).fault == "One is down. Two is down."
    assert (await search("q", shelves=[first, slow])).fault == ""


async def test_an_error_that_only_the_user_can_fix_cancels_the_other_searches() -> None:
    slow = Shelf("slow", seconds=5)
    wrong = Shelf("wrong", UnknownSetting("domains_deny: 'a..b' is not a domain"))
    with pytest.raises(UnknownSetting):
        await search("q", shelves=[slow, wrong])
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.fault(28)
async def test_an_engine_is_asked_a_few_things_at_once_by_all_researchers_together() -> None:
    at_once = list[int]()

    class Watched(Shelf):
        now = 0

        async def search(self, query: str, count: int) -> list[Found]:
            self.now += 1
            at_once.append(self.now)
            found = await super().search(query, count)
            self.now -= 1
            return found

    shelf = Watched("watched", seconds=0.01)
    await asyncio.gather(
        *(search(*(f"{name}{number}" for number in range(3)), shelves=[shelf]) for name in "abc")
    )
    assert (len(at_once), max(at_once)) == (9, shelf.parallel)


@pytest.mark.fault(28)
async def test_an_engine_that_turns_queries_away_rests_longer_each_time_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, passed = asyncio.get_running_loop(), [0.0]
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + passed[0])
    blocked = EngineBlocked("Shelf turns queries away.")
    shelf = Shelf("resting", blocked)

    async def asked_after(seconds: float) -> bool:
        """Search for something new after this many seconds; return whether the engine was asked."""
        passed[0] += seconds
        before = len(shelf.asked)
        outcome = await search(f"q{passed[0]}", shelves=[shelf])
        assert outcome.hits or outcome.fault == blocked.words
        return len(shelf.asked) > before

    rests = [60, 120, 240, 480, 600, 600]
    assert await asked_after(0)
    for rest in rests:
        assert not await asked_after(rest - 5)
        assert await asked_after(6)
    shelf.found = [Found("Tide", "https://b.example/0", "Water.")]
    assert await asked_after(601)
    assert await asked_after(1)
    shelf.found = [blocked]
    assert await asked_after(1)
    assert not await asked_after(55)
    assert await asked_after(6)


async def test_stand_ins_are_asked_in_turn_for_what_is_not_found_and_never_beyond_the_searches_that_are_left() -> (
    None
):
    first, empty = Shelf("first", EngineBlocked("First is blocked.")), Shelf("empty")
    last = Shelf("last", Found("Tide", "https://b.example/0", "Water."))
    first.parallel, fallbacks = 1, (empty, last)

    async def searched(most: int) -> Outcome:
        tool_context = new_tool_context(meter=Meter(most_searches=most))
        tool = WebSearch(settings(), [first], tool_context, *fallbacks)
        outcome = await tool.run(WebSearchArguments(queries=["p", "q"]))
        assert tool_context.meter.searches <= most
        return outcome

    whole = await searched(5)
    assert (len(whole.hits), whole.broken, whole.fault) == (1, (), "")
    assert whole.replaced == whole.problems == ("First is blocked. Shelf was searched instead.",)
    assert sorted(empty.asked) == sorted(last.asked) == ["p", "q"] and len(first.asked) == 1
    short = await searched(2)
    assert short.hits == () and "(max_searches)" in " ".join(short.broken)
    assert "Nothing at Shelf matches" in short.problems[-1]


class Busy(Shelf):
    """Asks the first caller to wait."""

    async def search(self, query: str, count: int) -> list[Found]:
        if not self.asked:
            self.asked.append(query)
            raise EngineBusy("Shelf asks for fewer requests.", 0.3)
        return await super().search(query, count)


@pytest.mark.fault(28)
async def test_all_callers_wait_as_long_as_an_engine_asks_one_of_them() -> None:
    shelf, start = Busy("busy", Found("Tide", "https://b.example/0", "Water.")), time.monotonic()
    tool_context = new_tool_context()
    early = asyncio.create_task(search("first", shelves=[shelf], tool_context=tool_context))
    while not shelf.asked:
        await asyncio.sleep(0)
    await search("other", shelves=[shelf])
    assert time.monotonic() - start >= 0.3
    assert len((await early).hits) == tool_context.meter.searches == 1, (
        "a second try is no other search"
    )
    assert sorted(shelf.asked) == ["first", "first", "other"]


@pytest.mark.fault(28, logs="WARNING tools._web_search")
async def test_a_wait_that_is_too_long_is_reported_at_once_and_nothing_more_is_sent(
    api: SearchApi,
) -> None:
    api.on("a", refused(429, Retry_After="3600"))
    tool_context = new_tool_context()
    for query in "ab":
        assert (await search(query, tool_context=tool_context)).fault.startswith(
            "Tavily asks to wait 600 s"
        )
    assert (api.queries, tool_context.meter.searches) == (["a"], 1)


LIGHT = Found("Light", "https://a.example/light", "Lit in 1844.")


class Thread:
    """A thread, in which an answered search is not paid for again, and what its searches have used
    up."""

    def __init__(self) -> None:
        self.store, self.meter = InMemoryStore(), Meter()

    async def search(
        self, shelf: Shelf, *queries: str, question: str = "question", **values: Any
    ) -> Outcome:
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
    outcomes = await asyncio.gather(
        *(thread.search(shelf, query) for query in ("light", "Light", "light"))
    )
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
    domains: list[dict[str, Any]] = [
        {"domains_allow": ("a.example",)},
        {"domains_deny": ("b.example",)},
    ]
    changes = [{}, *domains, {"published_after": date(2020, 1, 1)}, {"limits": {"max_results": 3}}]
    for given in changes * 2:
        await thread.search(shelf, "light", **given)
    await thread.search(Shelf("other", LIGHT), "light")
    assert (len(shelf.asked), thread.meter.searches) == (5, 6)


async def test_an_engine_that_searched_in_part_keeps_its_results_and_says_so_each_time() -> None:
    page = Found("The light", "https://light.example/", "Lit in 1844.")
    words = "SearXNG found results, but also reports unresponsive engines: bing (timeout)."
    shelf = Shelf("shelf")
    shelf.found = PartialResults([page], words)
    tool_context = new_tool_context()
    for _ in range(2):
        outcome = await search("light", "lamp", shelves=[shelf], tool_context=tool_context)
        assert addresses(outcome) == [page.address]
        assert (outcome.partial, outcome.broken, outcome.problems) == ((words,), (), (words,))
    assert shelf.asked == ["light", "lamp"]


async def test_what_any_engine_lists_on_a_paper_reaches_the_model_the_notes_and_the_sources() -> (
    None
):
    paper = Found("Growth in tanks", "https://doi.org/10.9999/abc.1", "It grows.")
    doubted = Found("Decay in tanks", "https://doi.org/10.9999/abc.2", "It decays.")
    sound = Found("Tanks", "https://doi.org/10.9999/abc.3", "They are tanks.")
    silent = Shelf("first", paper, doubted, sound)
    listing = Shelf(
        "second", paper._replace(is_retracted=True), doubted._replace(has_concern=True), sound
    )
    listing.title = "Crossref"
    outcome = await search("tanks", shelves=[silent, listing])
    sources = {hit.source.title: hit.source for hit in outcome.hits}
    numbers = {source.key: number for number, source in enumerate(sources.values(), 1)}
    results = read_results(write_results(outcome, numbers))
    listed = [(result.get("is_retracted"), result.get("has_concern")) for result in results]
    assert listed == [(True, None), (None, True), (None, None)]
    numbered = [
        source.model_copy(update={"number": numbers[source.key]}) for source in sources.values()
    ]
    assert [note for source in numbered for note in source.notes] == [
        "Source 1 was retracted (Crossref).",
        "The publisher of source 2 expressed concern about it (Crossref).",
    ]
    assert [labels("en").standing(source) for source in numbered] == [
        "retracted",
        "expression of concern",
        "",
    ]
    assert [source.is_in_force for source in numbered] == [False, True, True]


FAULTS: list[Any] = [
    {"results": [], "error": "Upstream timed out."},
    '{"results": [], "errors": [{"message": "Upstream timed out"}]}',
    {"data": None, "exception": {"message": "Upstream timed out", "trace": "x"}},
    [{"type": "text", "text": '{"items": [], "warning": "Upstream timed out"}'}],
]


@pytest.mark.parametrize("result", FAULTS)
async def test_a_tool_that_only_reports_an_error_has_failed_and_its_error_is_no_source(
    result: Any,
) -> None:
    @tool
    def finder(query: str) -> Any:
        """Finds pages."""
        return result

    context = settings(engines=(finder,))
    outcome = await web_search(SearchEngines(context).chosen(), "light")
    assert outcome.hits == ()
    [broken] = outcome.broken
    assert broken.startswith("finder found nothing and reports ")
    assert broken.endswith(": Upstream timed out. Not searched: 'light'.")


async def test_the_records_of_a_tool_that_also_reports_an_error_are_used() -> None:
    page = {"url": "https://light.example/", "content": "Lit in 1844."}

    @tool
    def finder(query: str) -> Any:
        """Finds pages."""
        return {"results": [page], "warnings": ["The index is old"], "message": "done"}

    outcome = await web_search(SearchEngines(settings(engines=(finder,))).chosen(), "light")
    assert addresses(outcome) == ["https://light.example/"]
    words = "finder found results, but also reports warnings: The index is old."
    assert outcome.partial == (words,)
