"""Steps that search the web: queries, opened pages, and failing engines and pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.engines import Answer, SearchApi, found, refused
from kit.planned import (
    INCOMPLETE,
    RULES,
    Asked,
    PlannedLab,
    Rule,
    fact,
    failing,
    in_turn,
    plan,
    planned_lab,
    queries,
    step,
)
from kit.runs import DOCUMENTS
from kit.web import Web, hostile_web

from deep_research.core.errors import SearchFailed
from deep_research.state import ResearchState
from deep_research.tools.use import READ_PER_QUERY

TASK, QUERY = "When was the lamp lit?", "lamp lit"
PADDING = "The harbour office keeps a log of wind and water for every day of the year. " * 8
QUOTE = DOCUMENTS["lighthouse.md"].splitlines()[-1].split(". ")[0]
PLAN = plan(step(TASK))


@pytest.fixture
def web() -> Iterator[Web]:
    with hostile_web() as web:
        for name in ("one", "two", "three"):
            web.publish(f"/{name}", page(name))
        yield web


def page(name: str) -> str:
    """HTML of a page, titled as in the engine's results."""
    fact = f"The lamp of page {name} was lit in 1844."
    link = '<p>See <a href="/linked">more</a>.</p>'
    return f"<html><head><title>{name.title()}</title></head><body><p>{fact}</p><p>{PADDING}</p>{link}</body></html>"


def on_the_web(
    tmp_path: Path,
    web: Web,
    rules: dict[str, Rule] | None = None,
    *,
    has_documents: bool = False,
    **settings: Any,
) -> PlannedLab:
    """A run of one step by default, over the web and, with `has_documents`, the documents."""
    usual: dict[str, Rule] = {"make_plan": PLAN, "choose_queries": queries(QUERY), **(rules or {})}
    given = settings if has_documents else {"docs": (), **settings}
    return planned_lab(tmp_path, usual, engines=("tavily",), allow_private=(web.netloc,), **given)


def finds(api: SearchApi, web: Web, query: str, *names: str) -> None:
    """Let the engine return these pages."""
    api.on(
        query,
        Answer(
            [found(web.url(f"/{name}"), name.title(), f"A lamp, page {name}.") for name in names]
        ),
    )


def opened(web: Web) -> list[str]:
    """Fetched pages, in order."""
    return [request.target for request in web.requests if request.target != "/robots.txt"]


def problems(state: ResearchState) -> str:
    """All problems of tools, as one text."""
    actions = (action for finding in state.findings.values() for action in finding.actions)
    return " ".join(problem for action in actions for problem in action.problems)


async def test_a_step_reads_the_pages_that_its_model_chose_once_it_saw_the_results(
    tmp_path: Path, api: SearchApi, web: Web
) -> None:
    hidden = web.url("/hidden")
    finds(api, web, QUERY, "one", "three")
    finds(api, web, "lamp", "two", "one")
    opened_before = list[list[str]]()

    def choose(asked: Asked) -> dict[str, Any]:
        opened_before.append(opened(web))
        answers: list[dict[str, Any]] = [
            {"queries": [QUERY, "lamp"]},
            {"queries": ["keeper"], "open_next": [web.url("/three"), hidden]},
            {"queries": []},
        ]
        return answers[asked.number - 1]

    nothing_yet: Rule = lambda _: {"learnings": []}  # noqa: E731 - a rule
    learning = in_turn(nothing_yet, RULES["record_learnings"])
    rules: dict[str, Rule] = {
        "choose_queries": choose,
        "give_verdict": INCOMPLETE,
        "record_learnings": learning,
    }
    run = on_the_web(tmp_path, web, rules)
    state = await run.ask()
    assert sorted(api.queries[1:3]) == sorted((QUERY, "lamp")) and api.queries[3:] == ["keeper"]
    assert opened_before == [[], [], ["/three"]]
    first, second = run.asked("record_learnings")
    assert [PADDING.strip() in result["text"] for result in first.results] == [False] * 3
    [read] = second.results
    assert read["title"] == "Three" and PADDING.strip() in read["text"]
    assert "neither the user nor a result" in problems(state)
    shown = [
        document["link"]
        for packet in run.of_type("open_url_documents")
        for document in packet["documents"]
    ]
    assert shown == [web.url("/three")]
    assert {learning.source for learning in state.learnings.values()} <= state.sources.keys()
    assert state.report and web.url("/three") in state.messages[-1].text


async def test_pages_whose_excerpts_brought_facts_are_read_if_the_model_names_none(
    tmp_path: Path, api: SearchApi, web: Web
) -> None:
    finds(api, web, QUERY, "one", "two", "three")
    choosing = in_turn(queries(QUERY), queries("keeper"), queries())
    learning = in_turn(lambda asked: {"learnings": [fact("A.", 2)]}, RULES["record_learnings"])
    rules = {
        "choose_queries": choosing,
        "give_verdict": INCOMPLETE,
        "record_learnings": learning,
    }
    run = on_the_web(tmp_path, web, rules)
    await run.ask()
    assert opened(web) == ["/two"]
    assert [result["title"] for result in run.asked("record_learnings")[1].results] == ["Two"]


@pytest.mark.sweep
@pytest.mark.parametrize("case", ["no round follows", "the model fails"])
async def test_a_step_reads_the_best_page_of_each_query_where_no_model_can_choose(
    tmp_path: Path, api: SearchApi, web: Web, case: str
) -> None:
    finds(api, web, QUERY, "one", "three")
    finds(api, web, "lamp", "two", "one")
    finds(api, web, f"About {TASK}", "two", "one")
    limits: dict[str, Any] = {}
    choosing = queries(QUERY, "lamp")
    expected = ["/one", "/two"]
    if case == "the model fails":
        choosing = failing(OSError("gone"))
        expected = ["/two"]
    else:
        limits["max_step_iterations"] = 1
    run = on_the_web(tmp_path, web, {"choose_queries": choosing}, limits=limits)
    await run.ask()
    assert sorted(opened(web)) == expected and READ_PER_QUERY == 1
    results = run.asked("record_learnings")[0].results
    read = [result["title"] for result in results if PADDING.strip() in result["text"]]
    assert sorted(f"/{title.lower()}" for title in read) == expected


@pytest.mark.sweep
@pytest.mark.parametrize(("most", "steps", "sent"), [(3, 1, 3), (5, 2, 5), (100, 1, 4)])
async def test_searches_keep_to_the_limit(
    tmp_path: Path, api: SearchApi, web: Web, most: int, steps: int, sent: int
) -> None:
    tasks = [f"{TASK} {number}" for number in range(steps)]
    choosing: Rule = lambda asked: {"queries": [f"{asked.task} {name}" for name in "abc"]}  # noqa: E731 - a rule
    rules = {"make_plan": plan(*map(step, tasks)), "choose_queries": choosing}
    run = on_the_web(tmp_path, web, rules, limits={"max_searches": most})
    state = await run.ask()
    # The orientation counts as one.
    assert len(api.requests) == sent
    assert sum(spent.searches for spent in state.spending.values()) == sent
    assert state.report


@pytest.mark.fault("R8")
async def test_what_a_query_quotes_of_the_users_documents_is_not_sent(
    tmp_path: Path, api: SearchApi, web: Web
) -> None:
    finds(api, web, QUERY, "one")
    run = on_the_web(tmp_path, web, {"choose_queries": queries(QUOTE, QUERY)}, has_documents=True)
    state = await run.ask()
    # Queries run in parallel, in no order; only words of the question and everyday words are left.
    assert {*api.queries[1:]} == {"Skerry Light lit first time", QUERY}
    assert len(api.queries) == 3
    searches = {
        packet["is_internet_search"]: packet for packet in run.of_type("search_tool_start")[2:]
    }
    assert set(searches) == {False, True}
    assert "stand only in the user's documents" in problems(state)
    assert {"web", "document"} == {source.kind for source in state.sources.values()}


@pytest.mark.sweep
@pytest.mark.behaviour("A-38", "A-49", "A-84")
@pytest.mark.parametrize("broken", [["one"], ["one", "two"]])
async def test_a_failed_page_or_search_costs_nothing_else(
    tmp_path: Path, api: SearchApi, web: Web, broken: list[str]
) -> None:
    finds(api, web, QUERY, "one")
    finds(api, web, "lamp", "two")
    for name in broken:
        web.publish(f"/{name}", "gone", 404)
    api.on("keeper", refused(400))
    rules = {"choose_queries": queries(QUERY, "lamp", "keeper")}
    # In the only round, the best page of each query is opened.
    run = on_the_web(tmp_path, web, rules, limits={"max_step_iterations": 1})
    state = await run.ask()
    [asked] = run.asked("record_learnings")
    # The engine's excerpt is still there.
    texts = [result["text"] for result in asked.results]
    assert texts[0] == "A lamp, page one."
    assert [PADDING.strip() in text for text in texts] == [False, "two" not in broken]
    assert problems(state).count("gone") == len(broken)
    assert "Not searched: 'keeper'" in problems(state)
    assert any("Not searched: 'keeper'" in packet["message"] for packet in run.of_type("error"))
    assert state.report and [step.status for step in state.steps] == ["completed"]
    read = {source.address.rpartition("/")[2]: source.extent for source in state.sources.values()}
    assert read == {name: "not opened" if name in broken else "whole" for name in ("one", "two")}
    assert "could not be opened, search excerpt only" in str(state.messages[-1].content)


async def test_without_engine_and_documents_the_run_can_be_resumed(
    tmp_path: Path, api: SearchApi, web: Web
) -> None:
    api.on(QUERY, refused(432), refused(432), Answer([found(web.url("/one"), "One", "A lamp.")]))
    run = on_the_web(tmp_path, web)
    with pytest.raises(SearchFailed):
        await run.ask()
    assert not run.asked("record_learnings")
    finds(api, web, QUERY, "one")
    state = await run.ask(None)
    assert len(run.asked("choose_queries")) == 1
    assert state.report and state.report.sources
