"""Earlier research as a source: texts of finished runs are found, cited, and deleted with their
run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from kit.commands import desk_in
from kit.models import call, calls
from kit.runs import REPORT, HandClock, Lab, Shelf, article, lab, search
from kit.web import Web, hostile_web
from typing_extensions import override

from deep_research.app.embed import ResearchGraph, build_graph
from deep_research.core.store.location import thread_id
from deep_research.tools.engine import Found

FACT = "The Skerry Light was lit in 1844."
WORDS = (
    f"{FACT} "
    + "Its lamp was seen from twenty miles away, and its keeper wrote down every ship. " * 4
)
QUESTION = "When was the Skerry Light lit?"
ALONE = ("--no-web", "--earlier")


class Day(HandClock):
    """A clock set to a given day."""

    def __init__(self, year: int, month: int, day: int) -> None:
        super().__init__()
        self._day = datetime(year, month, day, 12)

    @override
    def now(self) -> datetime:
        return self._day


@pytest.fixture
def web() -> Iterator[Web]:
    with hostile_web() as web:
        article(web, "/light", WORDS)
        yield web


@pytest.fixture
def graph(tmp_path: Path) -> ResearchGraph:
    return build_graph(checkpointer=tmp_path / "runs.sqlite")


def on(
    web: Web, tmp_path: Path, graph: ResearchGraph, thread: str, clock: Day, **settings: Any
) -> Lab:
    """A run without documents that fetches pages from this web."""
    given = {
        "docs": (),
        "allow_private": (web.netloc,),
        "robots": False,
        "clock": clock,
        **settings,
    }
    run = lab(tmp_path, graph=graph, writer=[f"{FACT} [1]"], **given)
    run.thread = thread
    return run


async def read_before(web: Web, tmp_path: Path, graph: ResearchGraph, **settings: Any) -> None:
    """A finished run that has read the page in January 2026."""
    opened = calls(call("open_url", urls=[web.url("/light")]))
    steps = [calls(call("web_search", queries=["Skerry Light"])), opened, REPORT, f"{FACT} [1]"]
    engine = Shelf("shelf", Found("Skerry Light", web.url("/light"), "Of a light."))
    run = on(
        web,
        tmp_path,
        graph,
        "first",
        Day(2026, 1, 5),
        engines=(engine,),
        researcher=steps,
        **settings,
    )
    assert (await run.ask()).report


async def test_a_second_run_cites_pages_read_by_the_first(
    web: Web, tmp_path: Path, graph: ResearchGraph
) -> None:
    await read_before(web, tmp_path, graph)
    fetched = len(web.requests)
    again = calls(call("open_url", urls=[web.url("/light")]))
    steps = [search("When was the Skerry Light lit?"), again, REPORT, f"{FACT} [1]"]
    run = on(
        web, tmp_path, graph, "second", Day(2026, 1, 9), earlier=True, engines=(), researcher=steps
    )
    state = await run.ask()
    assert len(web.requests) == fetched and run.all_used()
    [source] = state.report.cited(state.sources) if state.report else []
    assert (source.location, source.title, source.number) == (web.url("/light"), "Skerry Light", 1)
    assert (source.kind, source.read_at, source.is_earlier) == ("web", "2026-01-05T12:00:00", True)
    assert state.report and [claim.verdict for claim in state.report.claims] == ["supported"]
    assert (
        "read on 2026-01-05" in state.messages[-1].text
        and f"[1]: <{web.url('/light')}>" in state.messages[-1].text
    )
    # Deleting the reading run removes the page; the citing run keeps its evidence.
    await graph.checkpointer.adelete_thread(thread_id("first"))  # type: ignore[union-attr]
    third = on(web, tmp_path, graph, "third", Day(2026, 1, 9), earlier=True, engines=())
    assert not (await third.ask()).sources
    assert await graph.page_store.aget((thread_id("second"), "pages"), source.content_hash)


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("later", "settings"),
    [
        ("changed", {}),
        ("gone", {}),
        ("old enough to be kept", {"limits": {"earlier_days": 90}}),
        ("off the web", {"engines": ()}),
    ],
)
async def test_an_old_page_is_read_again_where_the_web_is_searched(
    web: Web, tmp_path: Path, graph: ResearchGraph, later: str, settings: dict[str, Any]
) -> None:
    await read_before(web, tmp_path, graph)
    fetched = len(web.requests)
    article(web, "/light", WORDS.replace("1844", "1846"))
    if later == "gone":
        web.publish("/light", "No.", 404)
    given = {"earlier": True, "engines": (Shelf("shelf"),), **settings}
    run = on(web, tmp_path, graph, "second", Day(2026, 3, 5), **given)
    state = await run.ask()
    [source] = state.sources.values()
    is_new = later == "changed"
    assert len(web.requests) - fetched == (later in ("changed", "gone"))
    assert (source.read_at[:10], source.is_earlier) == (
        ("2026-03-05", False) if is_new else ("2026-01-05", True)
    )
    assert ("1846" in run.calls("researcher")[1].text) == is_new
    assert ("(not since 2026-01-05: there is no such page" in state.messages[-1].text) == (
        later == "gone"
    )


async def test_pages_of_other_users_and_of_denied_domains_stay_hidden(
    web: Web, tmp_path: Path, graph: ResearchGraph
) -> None:
    await read_before(web, tmp_path, graph, user="alice")
    wanted = {"earlier": True, "engines": (), "user": "alice"}
    for settings in (
        {"user": "bob"},
        {"domains_deny": ("127.0.0.1",)},
        {"domains_allow": ("example.org",)},
    ):
        run = on(web, tmp_path, graph, str(settings), Day(2026, 1, 9), **{**wanted, **settings})
        assert not (await run.ask()).sources, settings
    own = on(web, tmp_path, graph, "own", Day(2026, 1, 9), **wanted)
    assert (await own.ask()).sources


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("planned", "orchestrated"),
        pytest.param("orchestrated", "planned", marks=pytest.mark.slow),
    ],
)
def test_what_a_run_has_read_is_searched_and_cited_until_the_run_is_deleted(
    tmp_path: Path, first: str, second: str
) -> None:
    desk = desk_in(tmp_path)
    assert desk.call("search", "Skerry Light").out == ""
    assert (
        desk.call(
            "ask", QUESTION, "--docs", str(desk.docs), "--thread", "first", "--strategy", first
        ).code
        == 0
    )
    found = desk.call("search", "first lit").out
    assert found.startswith("Skerry Light (read on 20") and "1844" in found
    # The files are deleted; their texts stay stored.
    for file in desk.docs.iterdir():
        file.unlink()
    asked = desk.call("ask", QUESTION, *ALONE, "--thread", "second", "--strategy", second)
    assert asked.code == 0 and "lit for the first time in 1844. [1]" in asked.out
    assert (
        f"[1]: <{(desk.docs / 'lighthouse.md').as_uri()}>" in asked.out
        and "read on 20" in asked.out
    )
    assert desk.call("delete", "first", "--yes").code == 0
    assert desk.call("search", "first lit").out == ""
    assert "1844" not in desk.call("ask", QUESTION, *ALONE, "--thread", "third").out
