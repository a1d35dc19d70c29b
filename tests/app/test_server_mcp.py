"""LangGraph's server speaks MCP at `/mcp`: its users' runs are those of its API, with the same
limits."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from kit.mcp import over_http, text_of
from kit.server import ALICE, BOB, THREE_TASKS, USERS, Server, write_config
from kit.server_graph import FOLDER, HOLD, NOTES

pytestmark = pytest.mark.slow

QUESTION = "When was the Skerry Light lit?"
SLOW = "Its keeper Ada Moran"
"""Beginning of the task that is held."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    tokens = {"DEEP_RESEARCH_SERVER_TOKENS": USERS, "DEEP_RESEARCH_SERVER_USER_RUNS": "1"}
    with Server(folder, write_config(folder), **{FOLDER: str(folder), **tokens}) as server:
        yield server


@pytest.mark.fault("R25")
async def test_a_user_researches_asks_on_and_reads_and_the_api_knows_the_run(
    server: Server,
) -> None:
    async with over_http(f"{server.url}/mcp", ALICE) as peer, server.client(ALICE) as client:
        report = await peer.call("research", question=QUESTION, documents=["docs/lighthouse.md"])
        assert text_of(report).startswith(
            "# When was the Skerry Light lit?\n\nThe Skerry Light was lit for the first time in 1844. [1]"
        )
        assert report.structuredContent is not None
        thread = report.structuredContent["thread"]
        assert f"[1]: <{server.url}/#/run/{thread}/source/1>" in text_of(report)
        assert peer.progress[0] == f"Research {thread}"
        assert any("searching: When was the Skerry Light lit?" in line for line in peer.progress)
        assert ((await client.threads.get(thread))["metadata"] or {})["owner"] == "alice"
        further = await peer.data(
            "follow_up", thread=thread, question="How tall is the Skerry Light?"
        )
        assert (further["status"], further["thread"]) == ("completed", thread)
        assert "38 metres" in further["report"] and "Ada Moran" not in further["report"]
        assert await peer.data("read_report", thread=thread) == further
        # A refused edit leaves the thread as it was.
        fault = await peer.fault("edit_report", thread=thread, words="Make it shorter.")
        assert "A report is edited by a language model" in fault
        assert await peer.data("read_report", thread=thread) == further
        without = await peer.data("exclude_sources", thread=thread, sources=["lighthouse.md"])
        assert without["versions"][-1]["kind"] == "edit" and without["sources"] == []
        asked = await peer.data("research", question="Compare them?")
        assert asked["status"] == "waiting"
        assert (
            "1844" in (await peer.data("answer", thread=asked["thread"], answer=QUESTION))["report"]
        )
        [passage] = (
            await peer.data("search_documents", query="Where was Ada Moran born?", passages=1)
        )["passages"]
        assert passage["path"] == "keeper.md"
        assert "docs: '/etc' is " in await peer.fault(
            "research", question="What?", documents=["/etc"]
        )
        assert "The question is empty" in await peer.fault("research", question=" ")
        async with over_http(f"{server.url}/mcp", BOB) as other:
            assert "There is no run" in await other.fault("read_report", thread=thread)
            assert "There is no run" in await other.fault(
                "follow_up", thread=thread, question="What else?"
            )
            assert "There is no run" in await other.fault(
                "edit_report", thread=thread, words="Make it shorter."
            )
            assert "There is no run" in await other.fault(
                "exclude_sources", thread=thread, sources=["1"]
            )
            assert "There is no run" in await other.fault("answer", thread=thread, answer="Yes.")


@pytest.mark.fault("R25")
async def test_a_session_is_its_users_alone(server: Server) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with over_http(f"{server.url}/mcp", ALICE) as peer, httpx.AsyncClient(timeout=60) as http:
        session = {
            "Mcp-Session-Id": peer.session_id,
            "Accept": "application/json, text/event-stream",
        }
        for status, headers in (
            (401, {}),
            (401, {"Authorization": "Bearer nobody-has-this-token"}),
            (403, {"Authorization": f"Bearer {ALICE}", "Origin": "https://evil.example"}),
            (421, {"Authorization": f"Bearer {ALICE}", "Host": "evil.example"}),
            (404, {"Authorization": f"Bearer {BOB}"}),
            (200, {"Authorization": f"Bearer {ALICE}"}),
        ):
            answer = await http.post(
                f"{server.url}/mcp", json=listing, headers={**session, **headers}
            )
            assert answer.status_code == status, answer.text


async def test_a_cancelled_call_stops_the_run_and_until_then_it_counts(server: Server) -> None:
    (server.folder / HOLD).write_text(SLOW, "utf-8")
    async with (
        over_http(f"{server.url}/mcp", ALICE) as peer,
        over_http(f"{server.url}/mcp", ALICE) as second,
    ):
        refused = list[str]()

        async def refuse() -> None:
            refused.append(await second.fault("research", question="Who was Ada Moran?"))

        await peer.cancelled(
            "research", f"researching: {SLOW}", meanwhile=refuse, question=THREE_TASKS
        )
        assert "DEEP_RESEARCH_SERVER_USER_RUNS" in refused[0]
        thread = peer.progress[0].removeprefix("Research ")
        await peer.until("stopped", thread)
        before = (server.folder / NOTES).read_text("utf-8")
        (server.folder / HOLD).unlink()
        assert (await peer.data("read_report", thread=thread))["status"] == "stopped"
        assert (server.folder / NOTES).read_text("utf-8") == before
        report = (await peer.data("follow_up", thread=thread, question=THREE_TASKS))["report"]
        assert "1844" in report and "Ada Moran kept" in report


def test_the_server_log_has_no_warning_or_error(server: Server) -> None:
    # Refusals are logged as warnings.
    refused = re.compile(r" (?:40[134]|42[129]) |Rejecting request for session")
    assert [line for line in server.complaints() if not refused.search(line)] == []
