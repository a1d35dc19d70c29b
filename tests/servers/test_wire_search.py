"""Whole runs by their search engines: one that fails, none with a key, and several at once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from kit.commands import Desk
from kit.engines import BLOCKS, KEY, SECRET, Answer, brave, closed_port, free_web, searxng, serving
from kit.openai_server import Received, Reply, say, use
from kit.runs import write_documents
from kit.web import Request
from kit.wire import (
    END,
    FACTS,
    Script,
    WireLab,
    Wires,
    all_faults,
    found_by,
    hand_out,
    is_right,
    plain_run,
    search_for,
    tool_results,
    wire_lab,
)

from deep_research.app.output import engines_line
from deep_research.core.errors import SearchFailed
from deep_research.core.records.research import total
from deep_research.core.settings.context import Context
from deep_research.core.writing.notes import ReportNotes
from deep_research.tools.engine import EngineBlocked
from deep_research.tools.run_engines import SearchEngines

Patch = pytest.MonkeyPatch


@pytest.mark.sweep
@pytest.mark.fault(24, 26)
@pytest.mark.parametrize(
    ("setting", "value"),
    [("TAVILY_API_KEY", "tvly-wrong"), ("TAVILY_BASE_URL", "http://127.0.0.1:9")],
)
async def test_an_unusable_search_engine_stops_the_run_and_nothing_more_is_spent(
    wires: Wires, monkeypatch: Patch, setting: str, value: str
) -> None:
    with wires() as wire:
        monkeypatch.setenv(setting, value)
        line = await wire.fail(SearchFailed)
        assert setting in line and KEY not in line + wire.everything(await wire.state())
        assert wire.asked() == {"clarifier": 1, "planner": 1, "orchestrator": 1, "researcher": 3}
        assert len(wire.engine.requests) <= 3
        assert wire.packets[-1]["message"] == line
        monkeypatch.setenv(setting, wire.engine.environment()[setting])
        state = await wire.ask(None)
        assert is_right(wire, state)
        assert total(state.spending).searches > len(FACTS), "those that failed count"
        # The decisions to search were taken already.
        assert wire.asked()["researcher"] == 6
        assert wire.asked()["orchestrator"] == 2


@pytest.mark.fault(24, 26)
async def test_a_run_with_documents_goes_on_without_the_web_and_the_report_says_so(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def from_notes(request: Received) -> Reply:
        [_, internal] = tool_results(request)
        return say(f"Found: {internal['results'][0]['text'].splitlines()[-1]} [1]")

    script: dict[str, Script] = {
        **plain_run(["keeper"]),
        # It asks the web, and then the documents.
        "researcher": [
            search_for("Skerry Light"),
            use(("internal_search", {"queries": ["Ada Moran"]})),
            END,
        ],
        "finding": from_notes,
    }
    docs = write_documents(tmp_path / "docs")
    with wire_lab(
        tmp_path / "data", monkeypatch, script, docs=(docs,), limits={"whole_characters": 0}
    ) as wire:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-wrong")
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
        assert wire.requests("researcher")[0].tools[:3] == [
            "internal_search",
            "web_search",
            "open_url",
        ]
        assert "TAVILY_API_KEY" in wire.requests("researcher")[1].prompt
    assert found_by(state)["keeper"].ended == "done"
    assert state.report and "from 1901 to 1932" in state.report.text and state.report.sources
    assert state.run and state.run.status == "completed_with_gaps"
    assert "TAVILY_API_KEY" in state.messages[-1].text.partition("## Notes")[2]


@pytest.mark.fault(26)
async def test_if_the_engine_fails_later_the_report_uses_what_was_found(
    wires: Wires, monkeypatch: Patch
) -> None:
    def two_rounds(request: Received) -> Reply:
        rounds = [message for message in request.messages if message["role"] == "assistant"]
        if rounds:
            monkeypatch.setenv("TAVILY_BASE_URL", closed_port())
        return [hand_out("light"), hand_out("keeper", "harbour"), END][len(rounds)]

    with wires({"orchestrator": two_rounds}) as wire:
        state = await wire.ask()
        # Who cannot search any more writes nothing down.
        assert wire.asked()["finding"] == 1
        assert len(wire.of_type("error")) == 2
    assert [found_by(state)[task].ended for task in FACTS] == ["done", "failed", "failed"]
    assert state.report and state.report.text == f"{FACTS['light']} [1]"
    assert state.run and state.run.status == "completed_with_gaps"
    assert "Not researched to the end: harbour: Tavily cannot be reached" in state.messages[-1].text


def articles(wire: WireLab) -> dict[str, tuple[str, str]]:
    return {name: (wire.web.url(f"/{name}"), fact) for name, fact in FACTS.items()}


def use_servers(monkeypatch: Patch, environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.behaviour("O-93")
@pytest.mark.fault(26, 28, logs="WARNING tools._web_search")
async def test_if_duckduckgo_blocks_wikipedia_is_searched_and_the_notes_say_so(
    wires: Wires, monkeypatch: Patch
) -> None:
    how = "(status 202, a challenge)"
    with wires() as wire, free_web(BLOCKS[how], articles(wire)) as free:
        use_servers(monkeypatch, free.environment())
        state = await wire.ask()
        assert is_right(wire, state)
    assert free.counts() == (1, 3, 0)
    assert not any(finding.failures for finding in state.findings.values()), "another engine served"
    [note] = [note for note in ReportNotes(state).lines() if "DuckDuckGo" in note]
    assert (
        how in note
        and "TAVILY_API_KEY" in note
        and note.endswith("Wikipedia was searched instead.")
    )


@pytest.mark.parametrize("how", BLOCKS)
async def test_each_way_in_which_duckduckgo_blocks_is_recognized(
    monkeypatch: Patch, how: str
) -> None:
    with free_web(BLOCKS[how], {}) as free:
        use_servers(monkeypatch, free.environment())
        [engine] = SearchEngines(Context(engines=("duckduckgo",))).chosen()
        with pytest.raises(EngineBlocked, match=re.escape(how)):
            await engine.search("light", 5)


def test_doctor_says_which_free_engine_works_and_what_to_set(desk: Desk) -> None:
    given = ("doctor", "--model", "extractive")
    with free_web(BLOCKS["(status 202)"], {}) as free:
        before = desk.call(*given, **free.environment())
        assert free.counts() == (0, 0, 0)
        assert "web search: duckduckgo; if it finds nothing, wikipedia, arxiv; " in before.out
        assert "TAVILY_API_KEY" in before.out
        served = desk.call(*given, "--try", **free.environment())
        alone = desk.call(*given, "--try", "--engine", "duckduckgo", **free.environment())
    assert (served.code, alone.code) == (0, 2)
    assert (
        "note     search with DuckDuckGo: DuckDuckGo turns automated queries away (status 202)"
        in served.out
    )
    assert "ok       search with Wikipedia: works" in served.out and "arXiv:" not in served.out
    assert "failed   search with DuckDuckGo" in alone.out and "TAVILY_API_KEY" in alone.out


ENGINES = ("brave", "searxng")


def query_of(request: Request) -> str:
    return parse_qs(urlsplit(request.target).query)["q"][0]


def brave_and_searxng(brave: str, searxng: str) -> dict[str, str]:
    return {"BRAVE_URL": brave, "BRAVE_API_KEY": SECRET, "SEARXNG_URL": searxng}


def of_brave(wire: WireLab, request: Request) -> Answer:
    """The page of the task behind one that only Brave knows."""
    name = query_of(request)
    page = {"title": name.title(), "url": wire.web.url(f"/{name}"), "description": FACTS[name]}
    other = {
        "title": "Tides",
        "url": "https://tides.example/",
        "description": "The sea rises twice a day.",
    }
    return Answer(body=json.dumps(brave(other, page)))


def of_searxng(wire: WireLab, request: Request) -> Answer:
    """The page of the task under an address with a mark of whoever sent the reader."""
    name = query_of(request)
    url = wire.web.url(f"/{name}") + "?utm_source=searxng#top"
    return Answer(
        body=json.dumps(searxng({"title": name.title(), "url": url, "content": FACTS[name]}))
    )


@pytest.mark.behaviour("O-95")
async def test_results_of_two_engines_are_fused_and_attributed(
    wires: Wires, monkeypatch: Patch
) -> None:
    with (
        wires(engines=ENGINES) as wire,
        serving(lambda request: of_brave(wire, request)) as first,
        serving(lambda request: of_searxng(wire, request)) as second,
    ):
        use_servers(monkeypatch, brave_and_searxng(first.url, second.url))
        state = await wire.ask()
        assert is_right(wire, state)
        assert (
            sorted(map(query_of, first.requests))
            == sorted(map(query_of, second.requests))
            == sorted(FACTS)
        )
    assert state.run.scope.engines == ENGINES
    cited = [state.sources[key] for key in state.report.sources] if state.report else []
    assert [source.engines for source in cited] == [ENGINES] * 3
    assert state.sources["https://tides.example/"].engines == ("brave",)
    assert engines_line(state) == "brave: 4 sources, 3 cited; searxng: 3 sources, 3 cited"
    shown = next(
        packet for packet in wire.packets if packet["type"] == "search_tool_documents_delta"
    )
    assert [document["title"] for document in shown["documents"]][-1] == "Tides", (
        "two engines outweigh a first rank"
    )


@pytest.mark.slow
@pytest.mark.behaviour("O-95")
@pytest.mark.fault(26, logs="WARNING tools._web_search")
async def test_if_an_engine_fails_the_other_is_used_and_the_report_says_so(
    wires: Wires, monkeypatch: Patch
) -> None:
    with (
        wires(engines=ENGINES) as wire,
        serving(lambda _: Answer(status=503, headers={"Retry-After": "0"})) as first,
        serving(lambda request: of_searxng(wire, request)) as second,
    ):
        use_servers(monkeypatch, brave_and_searxng(first.url, second.url))
        state = await wire.ask()
        assert is_right(wire, state)
        assert SECRET not in wire.everything(state)
    assert [note for note in ReportNotes(state).lines() if "Brave" in note] == [
        "A search failed: Brave reports an error of its own (status 503). SearXNG was searched instead."
    ]
    assert engines_line(state) == "searxng: 3 sources, 3 cited"


def test_the_audit_and_the_export_of_a_run_name_its_engines(desk: Desk, monkeypatch: Patch) -> None:
    page = {"title": "The Light", "url": "https://light.example/", "content": FACTS["light"]}
    with serving(lambda _: Answer(body=json.dumps(searxng(page)))) as server:
        asked = (
            "ask",
            "When was the Skerry Light lit?",
            "--engine",
            "searxng",
            "--thread",
            "light",
            "--yes",
        )
        environment = {"SEARXNG_URL": server.url, "OPENAI_API_KEY": ""}
        assert desk.call(*asked, "--model", "extractive", **environment).code == 0
    assert "Found by  searxng: 1 source, 1 cited" in desk.call("audit", "light").out
    [source] = json.loads(desk.call("export", "light", "--format", "json").out)["sources"]
    assert source["engines"] == ["searxng"]


@pytest.mark.fault(68, logs="WARNING tools._web_search")
def test_an_empty_answer_that_names_the_engines_that_did_not_answer_is_a_failed_search(
    desk: Desk,
) -> None:
    page = {"title": "The Light", "url": "https://light.example/", "content": FACTS["light"]}
    down = {"unresponsive_engines": [["duckduckgo", "CAPTCHA"], ["brave", "timeout"]]}
    reports = "reports unresponsive engines: duckduckgo (CAPTCHA), brave (timeout)."
    asked = ("ask", "When was the Skerry Light lit?", "--engine", "searxng", "--yes")
    called: list[tuple[int, str]] = []
    for content in ({**searxng(), **down}, searxng(), {**searxng(page), **down}):
        answer = Answer(body=json.dumps(content))
        with serving(partial(lambda answer, _: answer, answer)) as server:
            environment = {"SEARXNG_URL": server.url, "OPENAI_API_KEY": ""}
            run = desk.call(*asked, "--model", "extractive", **environment)
            called.append((run.code, run.out))
    failed, silent, incomplete = called
    assert failed[0] == 1 and f"A search failed: SearXNG found nothing and {reports}" in failed[1]
    assert silent[0] == 0 and "SearXNG" not in silent[1]
    assert incomplete[0] == 0 and f"SearXNG found results, but also {reports}" in incomplete[1]
