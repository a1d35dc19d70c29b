"""The server stops within seconds, whatever is open, and its runs go on when it starts again."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import httpx
import pytest
from kit.mcp import over_http
from kit.server import (
    ALICE,
    BOB,
    GRAPH,
    THREE_TASKS,
    USERS,
    Conversation,
    Server,
    said,
    until,
    write_config,
)
from kit.server_graph import FOLDER, HOLD, NOTES

pytestmark = pytest.mark.slow

CAROL = "carol-has-a-third-token"

HELD = "Its keeper Ada Moran"
"""Beginning of the task that is held."""
END_SECONDS = 10.0
"""Seconds within which the process ends."""
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    settings = {FOLDER: str(folder), "DEEP_RESEARCH_SERVER_TOKENS": f"{USERS} carol:{CAROL}"}
    with Server(folder, write_config(folder), **settings) as server:
        yield server


class Clients:
    """Requests that are open when the server stops."""

    def __init__(self, server: Server, web: httpx.AsyncClient) -> None:
        self.server, self.web = server, web
        self.begun = set[str]()
        """Names of the requests of which a response, or progress, has arrived."""

    async def stream(self, method: str, path: str, body: Any = None, token: str = ALICE) -> None:
        """Read a response until the connection ends."""
        headers = {"X-Api-Key": token}
        with suppress(httpx.TransportError):
            async with self.web.stream(method, path, json=body, headers=headers) as response:
                assert response.status_code == 200
                self.begun.add(path)
                async for _ in response.aiter_raw():
                    pass

    async def upload(self) -> None:
        """Send a body that does not end."""
        with suppress(httpx.TransportError):
            await self.web.post("/research/check", content=self._body(), headers=JSON)

    async def _body(self) -> AsyncIterator[bytes]:
        while True:
            yield b" "
            self.begun.add("upload")
            await asyncio.sleep(0.1)

    async def call(self) -> None:
        """Research by MCP."""
        async with over_http(f"{self.server.url}/mcp", CAROL) as peer:
            calling = asyncio.create_task(peer.call("research", question=THREE_TASKS))
            await peer.has_progress.wait()
            self.begun.add("mcp")
            await calling


async def started(client: Any) -> str:
    """Start a run; returns its thread."""
    talk = await Conversation(client).create()
    await client.runs.create(talk.thread, GRAPH, input=said(THREE_TASKS))
    return talk.thread


@pytest.mark.fault(56)
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
async def test_open_requests_do_not_delay_the_end_and_runs_go_on_afterwards(
    server: Server, by: signal.Signals
) -> None:
    (server.folder / NOTES).unlink(missing_ok=True)
    (server.folder / HOLD).write_text(HELD, "utf-8")
    async with (
        server.client(ALICE) as client,
        server.client(BOB) as other_client,
        httpx.AsyncClient(base_url=server.url, timeout=None, headers={"X-Api-Key": ALICE}) as web,
    ):
        clients = Clients(server, web)
        first = await started(client)
        # Without a language model, one run of a user works at a time.
        second = str((await other_client.threads.create())["thread_id"])
        opened = [
            clients.stream("GET", f"/research/runs/{first}/packets"),
            clients.stream("GET", f"/threads/{first}/stream"),
            clients.stream(
                "POST",
                f"/threads/{second}/runs/wait",
                {"assistant_id": GRAPH, "input": said(THREE_TASKS)},
                BOB,
            ),
            clients.upload(),
            clients.call(),
        ]
        tasks = [asyncio.create_task(request) for request in opened]

        async def are_all_open() -> bool:
            return len(clients.begun) == len(opened) and await asyncio.to_thread(are_held, server)

        await until(are_all_open)
        await asyncio.to_thread(server.stop, by, END_SECONDS)
        # An MCP client goes on waiting for the server.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    (server.folder / HOLD).unlink()
    server.start()
    for token in (ALICE, BOB, CAROL):
        async with server.client(token) as client:
            await until(partial(are_finished, client))
    assert "Traceback" not in server.log.read_text("utf-8")


def are_held(server: Server) -> bool:
    """Whether the held researcher of each of the three runs is at work."""
    notes = server.folder / NOTES
    lines = notes.read_text("utf-8").splitlines(keepends=True) if notes.exists() else []
    calls = [json.loads(line) for line in lines if line.endswith("\n")]
    return len({call["thread"] for call in calls if call["first"].startswith(HELD)}) == 3


async def are_finished(client: Any) -> bool:
    threads = await client.threads.search(limit=100)
    assert {thread["status"] for thread in threads} <= {"busy", "idle"}
    return all(thread["status"] == "idle" and "1844" in str(thread["values"]) for thread in threads)


@pytest.mark.fault(56)
async def test_a_second_ctrl_c_ends_the_process_at_once(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=None) as web:
        clients = Clients(server, web)
        web.headers["X-Api-Key"] = BOB
        uploading = asyncio.create_task(clients.upload())

        async def is_open() -> bool:
            return bool(clients.begun)

        await until(is_open)
        server.process.send_signal(signal.SIGINT)

        async def is_stopping() -> bool:
            # It accepts no more connections.
            try:
                async with httpx.AsyncClient(base_url=server.url) as other:
                    await other.get("/ok")
            except httpx.TransportError:
                return True
            return False

        await until(is_stopping)
        await asyncio.to_thread(server.stop, signal.SIGINT, END_SECONDS)
        assert server.process.returncode == -signal.SIGINT
        uploading.cancel()
        await asyncio.gather(uploading, return_exceptions=True)
