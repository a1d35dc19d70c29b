"""Whole runs by several engines at once: what they find is fused, and one that fails costs its part alone."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from api_engines import SECRET, brave, searxng
from command import Desk
from search_api import Answer, Request, serving
from wire import FACTS, WireLab, Wires, is_right

from deep_research.app.output import engines_line
from deep_research.core.evidence.memory.observations import notes_of

Patch = pytest.MonkeyPatch
ENGINES = ("brave", "searxng")


def query_of(request: Request) -> str:
    return parse_qs(urlsplit(request.path).query)["q"][0]


def lead_to(monkeypatch: Patch, brave: str, searxng: str) -> None:
    for name, value in {"BRAVE_URL": brave, "BRAVE_API_KEY": SECRET, "SEARXNG_URL": searxng}.items():
        monkeypatch.setenv(name, value)


def of_brave(wire: WireLab, request: Request) -> Answer:
    """The page of the task behind one that only Brave knows."""
    name = query_of(request)
    page = {"title": name.title(), "url": wire.web.url(f"/{name}"), "description": FACTS[name]}
    other = {"title": "Tides", "url": "https://tides.example/", "description": "The sea rises twice a day."}
    return Answer(body=json.dumps(brave(other, page)))


def of_searxng(wire: WireLab, request: Request) -> Answer:
    """The page of the task under an address with a mark of whoever sent the reader."""
    name = query_of(request)
    url = wire.web.url(f"/{name}") + "?utm_source=searxng#top"
    return Answer(body=json.dumps(searxng({"title": name.title(), "url": url, "content": FACTS[name]})))


@pytest.mark.behaviour("O-95")
async def test_what_two_engines_find_is_one_ranking_and_the_run_says_which_found_it(
    wires: Wires, monkeypatch: Patch
) -> None:
    with (
        wires(engines=ENGINES) as wire,
        serving(lambda request: of_brave(wire, request)) as one,
        serving(lambda request: of_searxng(wire, request)) as two,
    ):
        lead_to(monkeypatch, one.url, two.url)
        state = await wire.ask()
        assert is_right(wire, state)
        assert sorted(map(query_of, one.requests)) == sorted(map(query_of, two.requests)) == sorted(FACTS)
    assert state.run.scope.engines == ENGINES
    cited = [state.sources[key] for key in state.report.sources] if state.report else []
    assert [source.engines for source in cited] == [ENGINES] * 3
    assert state.sources["https://tides.example/"].engines == ("brave",)
    assert engines_line(state) == "brave: 4 sources, 3 cited; searxng: 3 sources, 3 cited"
    shown = next(packet for packet in wire.packets if packet["type"] == "search_tool_documents_delta")
    assert [document["title"] for document in shown["documents"]][-1] == "Tides", "two engines outweigh a first rank"


@pytest.mark.behaviour("O-95")
@pytest.mark.fault(26, logs="WARNING tools.web_search")
async def test_where_an_engine_fails_the_next_serves_and_the_report_names_the_failure(
    wires: Wires, monkeypatch: Patch
) -> None:
    with (
        wires(engines=ENGINES) as wire,
        serving(lambda _: Answer(status=503, headers={"Retry-After": "0"})) as one,
        serving(lambda request: of_searxng(wire, request)) as two,
    ):
        lead_to(monkeypatch, one.url, two.url)
        state = await wire.ask()
        assert is_right(wire, state)
        assert SECRET not in wire.everything(state)
    assert [note for note in notes_of(state) if "Brave" in note] == [
        "A search failed: Brave is out of order (status 503). SearXNG was searched instead."
    ]
    assert engines_line(state) == "searxng: 3 sources, 3 cited"


def test_the_audit_and_the_export_of_a_run_name_its_engines(desk: Desk, monkeypatch: Patch) -> None:
    page = {"title": "The Light", "url": "https://light.example/", "content": FACTS["light"]}
    with serving(lambda _: Answer(body=json.dumps(searxng(page)))) as server:
        asked = ("ask", "When was the Skerry Light lit?", "--engine", "searxng", "--thread", "light", "--yes")
        environment = {"SEARXNG_URL": server.url, "OPENAI_API_KEY": ""}
        assert desk.call(*asked, "--model", "extractive", **environment).code == 0
    assert "Found by  searxng: 1 source, 1 cited" in desk.call("audit", "light").out
    [source] = json.loads(desk.call("export", "light", "--format", "json").out)["sources"]
    assert source["engines"] == ["searxng"]
