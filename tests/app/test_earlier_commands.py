"""Earlier research on the command line, by MCP and on a server: each user finds what their own runs have read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import desk_in
from mcp_peer import over_http, over_streams
from server import Conversation, Server

ALICE, BOB = "alice-has-a-long-token", "bob-has-another-token"
QUESTION = "When was the Skerry Light lit?"
ALONE = ("--no-web", "--earlier")


@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
def test_what_a_run_has_read_is_searched_and_cited_until_the_run_is_deleted(tmp_path: Path, strategy: str) -> None:
    desk = desk_in(tmp_path)
    assert desk.call("search", "Skerry Light").out == ""
    assert desk.call("ask", QUESTION, "--docs", str(desk.docs), "--thread", "first", "--strategy", strategy).code == 0
    found = desk.call("search", "first lit").out
    assert found.startswith("Skerry Light (read on 20") and "1844" in found
    # The documents are gone, and what was read of them is kept.
    for file in desk.docs.iterdir():
        file.unlink()
    asked = desk.call("ask", QUESTION, *ALONE, "--thread", "second", "--strategy", strategy)
    assert asked.code == 0 and "lit for the first time in 1844. [1]" in asked.out
    assert f"[1]: <{(desk.docs / 'lighthouse.md').as_uri()}>" in asked.out and "read on 20" in asked.out
    assert desk.call("delete", "first", "--yes").code == 0
    assert desk.call("search", "first lit").out == ""
    assert "1844" not in desk.call("ask", QUESTION, *ALONE, "--thread", "third").out


async def test_mcp_finds_what_runs_have_read(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    async with over_streams(desk, "--docs", str(desk.docs)) as peer:
        thread = (await peer.data("research", question=QUESTION))["thread"]
        found = (await peer.data("search_earlier", query="Skerry Light lit", passages=1))["passages"]
    assert [(one["title"], one["thread"], "1844" in one["text"]) for one in found] == [("Skerry Light", thread, True)]
    assert found[0]["location"] == (desk.docs / "lighthouse.md").as_uri() and found[0]["read_at"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(
        tmp_path_factory.mktemp("server"),
        DEEP_RESEARCH_SERVER_TOKENS=f"alice:{ALICE} al:{BOB}",
        # Whoever runs the server cannot choose it for its users.
        DEEP_RESEARCH_EARLIER="true",
    )
    server.start()
    yield server
    server.stop()


@pytest.mark.slow
async def test_on_a_server_a_user_chooses_it_and_finds_their_own_runs_only(server: Server) -> None:
    async def keys(token: str, **settings: Any) -> list[str]:
        async with server.client(token) as client:
            talk = await Conversation(client).create()
            return sorted((await talk.ask(QUESTION, context=settings))["sources"])

    async def found(token: str) -> list[str]:
        async with over_http(f"{server.url}/mcp", token) as peer:
            passages = (await peer.data("search_earlier", query="Skerry Light"))["passages"]
            return [one["location"] for one in passages]

    assert await keys(ALICE, docs=["docs/lighthouse.md"])
    other, chosen = {"docs": ["docs/tides.html"]}, {"docs": ["docs/tides.html"], "earlier": True}
    light = (server.docs / "lighthouse.md").as_uri()
    assert await found(ALICE) == [light]
    assert light not in await keys(ALICE, **other)
    assert light not in await keys(BOB, **chosen)
    assert light not in await found(BOB)
    assert light in await keys(ALICE, **chosen)
    assert server.complaints() == []
