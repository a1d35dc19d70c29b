"""Whole runs without a key, whose DuckDuckGo turns programs away: who is asked instead, how often, and what is said."""

from __future__ import annotations

import pytest
from command import Desk
from free_web import BLOCKS, DOWN, NO_RESULTS, FreeWeb, free_web, shown
from openai_server import Received, Reply, say, use
from search_api import Answer
from wire import (
    END,
    FACTS,
    QUESTION,
    Script,
    WireLab,
    Wires,
    hand_out,
    is_right,
    plain_run,
    search_for,
    task_of,
    tool_results,
)

from deep_research.core.evidence.memory.observations import notes_of
from deep_research.core.run.errors import SearchFailed

Patch = pytest.MonkeyPatch


def articles(wire: WireLab) -> dict[str, tuple[str, str]]:
    return {name: (wire.web.url(f"/{name}"), fact) for name, fact in FACTS.items()}


def lead_to(free: FreeWeb, monkeypatch: Patch) -> None:
    for name, value in free.environment().items():
        monkeypatch.setenv(name, value)


@pytest.mark.behaviour("O-93")
@pytest.mark.fault(26, logs="WARNING tools.web_search")
@pytest.mark.parametrize("how", BLOCKS)
async def test_where_duckduckgo_turns_programs_away_wikipedia_serves_and_the_notes_say_so(
    wires: Wires, monkeypatch: Patch, how: str
) -> None:
    with wires() as wire, free_web(BLOCKS[how], articles(wire)) as free:
        lead_to(free, monkeypatch)
        state = await wire.ask()
        assert is_right(wire, state)
    assert free.counts() == (1, 3, 0)
    [note] = [note for note in notes_of(state) if "DuckDuckGo" in note]
    assert how in note and "TAVILY_API_KEY" in note and note.endswith("Wikipedia was searched instead.")


@pytest.mark.fault(26)
@pytest.mark.parametrize("how", BLOCKS)
async def test_duckduckgo_by_name_and_alone_stops_the_run_with_what_to_set_and_nobody_else_is_asked(
    wires: Wires, monkeypatch: Patch, how: str
) -> None:
    with wires(engines=("duckduckgo",)) as wire, free_web(BLOCKS[how], articles(wire)) as free:
        lead_to(free, monkeypatch)
        line = await wire.fail(SearchFailed)
        assert how in line and "TAVILY_API_KEY" in line
        assert wire.asked()["finding"] == 0
    assert free.counts() == (1, 0, 0)


@pytest.mark.fault(28)
async def test_four_researchers_with_many_queries_ask_a_blocked_engine_once(wires: Wires, monkeypatch: Patch) -> None:
    turns = range(1, 5)

    def queries(task: str, turn: int) -> list[str]:
        return [f"{task} {turn} {letter}" for letter in "xyz"]

    def many(request: Received) -> Reply:
        turn = sum(message["role"] == "assistant" for message in request.messages) + 1
        return search_for(*queries(task_of(request), turn)) if turn in turns else END

    script: dict[str, Script] = {
        "orchestrator": lambda request: END if "Nothing was found" in request.prompt else hand_out(*"abcd"),
        "researcher": many,
    }
    limits = {"max_parallel_researchers": 4, "max_searches": 50}
    known = {
        query: ("https://a.example/", "Tide.") for task in "abcd" for turn in turns for query in queries(task, turn)
    }
    with wires(script, limits=limits) as wire, free_web(BLOCKS["(status 202)"], known) as free:
        lead_to(free, monkeypatch)
        state = await wire.ask()
    blocked, served, unasked = free.counts()
    assert (blocked, unasked) == (1, 0)
    assert 40 < served + blocked == sum(spent.searches for spent in state.spending.values()) <= 50
    assert len([note for note in notes_of(state) if "DuckDuckGo" in note]) == 1


async def test_a_search_that_rightly_finds_nothing_is_no_block_and_the_next_engine_is_asked(
    wires: Wires, monkeypatch: Patch
) -> None:
    with wires() as wire, free_web(Answer(body=NO_RESULTS), articles(wire)) as free:
        lead_to(free, monkeypatch)
        state = await wire.ask()
        assert is_right(wire, state)
    assert free.counts() == (3, 3, 0)
    assert notes_of(state) == []


async def test_a_step_that_another_engine_served_has_not_failed(wires: Wires, monkeypatch: Patch) -> None:
    with wires(depth="quick") as wire, free_web(BLOCKS["(status 202)"], {QUESTION: articles(wire)["light"]}) as free:
        lead_to(free, monkeypatch)
        state = await wire.ask()
    [finding] = state.findings.values()
    assert (finding.ended, finding.failures) == ("done", ())
    [note] = [note for note in notes_of(state) if "DuckDuckGo" in note]
    assert note.startswith("A search failed: DuckDuckGo") and note.endswith("Wikipedia was searched instead.")


async def test_an_engine_that_answers_is_the_only_one_asked(wires: Wires, monkeypatch: Patch) -> None:
    with wires() as wire, free_web(shown(wire.web.url("/light"), "Light", FACTS["light"]), None) as free:
        lead_to(free, monkeypatch)
        state = await wire.ask()
    assert state.report and state.report.text == f"{FACTS['light']} [1]"
    assert free.counts() == (3, 0, 0)


@pytest.mark.fault(26)
async def test_a_run_that_no_free_engine_served_goes_on_with_the_key_that_it_asked_for(
    wires: Wires, monkeypatch: Patch
) -> None:
    with wires(plain_run(("light",))) as wire, free_web(BLOCKS["(status 429)"], None, DOWN) as free:
        lead_to(free, monkeypatch)
        line = await wire.fail(SearchFailed)
        assert all(
            words in line for words in ("(status 429)", "TAVILY_API_KEY", "Wikipedia is out of", "arXiv is out of")
        )
        for name, value in wire.engine.environment().items():
            monkeypatch.setenv(name, value)
        state = await wire.ask(None)
    assert state.report and state.report.text == f"{FACTS['light']} [1]"
    assert free.duckduckgo.requests[1:] == []


@pytest.mark.fault(26)
async def test_beside_documents_nobody_stands_in_and_the_report_from_them_names_the_block(
    desk: Desk, wires: Wires, monkeypatch: Patch
) -> None:
    def both(request: Received) -> Reply:
        turns = [search_for("Skerry Light"), use(("internal_search", {"queries": ["Ada Moran"]})), END]
        return turns[len(tool_results(request))]

    script: dict[str, Script] = {
        "orchestrator": lambda request: END if "Found:" in request.prompt else hand_out("keeper"),
        "researcher": both,
        "finding": lambda _: say("Found: Ada Moran kept the Skerry Light from 1901 to 1932. [1]"),
    }
    settings = {"docs": (desk.docs,), "engines": ("duckduckgo",), "limits": {"whole_characters": 0}}
    with wires(script, **settings) as wire, free_web(BLOCKS["(status 202)"], articles(wire)) as free:
        lead_to(free, monkeypatch)
        state = await wire.ask()
    assert state.report and "from 1901 to 1932" in state.report.text and state.report.sources
    assert "(status 202)" in state.messages[-1].text.partition("## Notes")[2]
    assert free.counts() == (1, 0, 0)


def test_a_trial_says_which_free_engine_serves_and_what_to_set(desk: Desk) -> None:
    given = ("doctor", "--model", "extractive")
    with free_web(BLOCKS["(status 202)"], {}) as free:
        before = desk.call(*given, **free.environment())
        assert free.counts() == (0, 0, 0)
        assert "web search: duckduckgo; where it brings nothing, wikipedia, arxiv; " in before.out
        assert "TAVILY_API_KEY" in before.out
        served = desk.call(*given, "--try", **free.environment())
        alone = desk.call(*given, "--try", "--engine", "duckduckgo", **free.environment())
    assert (served.code, alone.code) == (0, 2)
    assert "note     search by DuckDuckGo: DuckDuckGo turns automatic queries away (status 202)" in served.out
    assert "ok       search by Wikipedia: it answers" in served.out and "arXiv:" not in served.out
    assert "failed   search by DuckDuckGo" in alone.out and "TAVILY_API_KEY" in alone.out
