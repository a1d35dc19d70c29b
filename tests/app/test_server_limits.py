"""Limits for clients of the server: the number of streams, and the time and size of requests."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import httpx
import pytest
from kit.server import GRAPH, Server, said, until

QUESTION = "When was the Skerry Light lit?"
TOKENS = {f"user{number}": f"a-long-token-of-user{number}" for number in range(11)}
FIRST, *OTHERS = TOKENS
MINUTES = 2 * 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    tokens = " ".join(f"{user}:{token}" for user, token in TOKENS.items())
    with Server(tmp_path_factory.mktemp("server"), DEEP_RESEARCH_SERVER_TOKENS=tokens) as server:
        yield server


@pytest.fixture
async def web(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=server.url, timeout=MINUTES, limits=limits) as client:
        yield client


class Streams(AsyncExitStack):
    """Streams of packets that are held open."""

    def __init__(self, web: httpx.AsyncClient) -> None:
        super().__init__()
        self._web = web

    async def open(self, user: str, thread: str = "") -> httpx.Response:
        path = f"/research/runs/{thread or uuid.uuid4()}/packets"
        return await self.enter_async_context(
            self._web.stream("GET", path, headers={"X-Api-Key": TOKENS[user]})
        )

    async def statuses(self, user: str, count: int) -> list[int]:
        return [(await self.open(user)).status_code for _ in range(count)]


@pytest.mark.fault("R28")
async def test_streams_are_counted_by_user_and_in_all_as_long_as_they_are_open(
    web: httpx.AsyncClient,
) -> None:
    async with Streams(web) as streams:
        assert await streams.statuses(FIRST, 25) == [200] * 20 + [429] * 5
        refused = await streams.open(FIRST)
        words = (await refused.aread()).decode()
        assert (refused.headers["Retry-After"], "20 per user" in words) == ("30", True)
        opened = await asyncio.gather(*(streams.statuses(user, 20) for user in OTHERS[:9]))
        assert opened == [[200] * 20] * 9
        assert await streams.statuses(OTHERS[9], 1) == [429]
        thread = (await web.post("/threads", json={}, headers={"X-Api-Key": TOKENS[FIRST]})).json()[
            "thread_id"
        ]
        run = {"assistant_id": GRAPH, "input": said(QUESTION)}
        ended = await web.post(
            f"/threads/{thread}/runs/wait", json=run, headers={"X-Api-Key": TOKENS[FIRST]}
        )
        assert "1844" in ended.json()["report"]["text"]

    async def are_all_free() -> bool:
        async with Streams(web) as streams:
            return await streams.statuses(OTHERS[9], 20) == [200] * 20

    await until(are_all_free)


@pytest.mark.slow
@pytest.mark.fault("R28")
async def test_a_stream_on_a_thread_on_which_nothing_begins_ends(web: httpx.AsyncClient) -> None:
    async with Streams(web) as streams:
        stream = await streams.open(FIRST)
        lines = [line async for line in stream.aiter_lines() if line]
    assert lines[:2] == [": nothing yet", "event: refused"]
    assert "No run has started on thread" in lines[2] and "within 30 s" in lines[2]


async def answered(server: Server, sent: str, again: str = "") -> str:
    """Response of the server until it closes the connection; `again` is sent every second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        sent.replace(
            "HOST", f"Host: 127.0.0.1:{server.port}\r\nX-Api-Key: {TOKENS[FIRST]}"
        ).encode()
    )

    async def drip() -> None:
        while again:
            await asyncio.sleep(1)
            writer.write(again.encode())

    dripping = asyncio.create_task(drip())
    try:
        async with asyncio.timeout(MINUTES):
            return (await reader.read()).decode()
    except ConnectionResetError:
        return "closed"
    finally:
        dripping.cancel()
        writer.close()


@pytest.mark.fault("R27")
async def test_the_head_of_a_request_has_a_size(server: Server) -> None:
    whole = "GET /ok HTTP/1.1\r\nHOST\r\nConnection: close\r\nX-Long: {}\r\n\r\n"
    assert (await answered(server, whole.format("a" * 60_000))).startswith("HTTP/1.1 200")
    too_long = await answered(server, whole.format("a" * 70_000))
    assert too_long.startswith("HTTP/1.1 431") and "longer than 65536 bytes" in too_long
    for unfinished in (
        f"GET /ok HTTP/1.1\r\nHOST\r\nX-Long: {'a' * 2_000_000}",
        "GET /ok HTTP/1.1\r\nX: Y" * 200_000,
    ):
        assert await answered(server, unfinished) in ("", "closed")


@pytest.mark.slow
@pytest.mark.fault("R27")
async def test_no_request_that_is_sent_by_half_stays_open(server: Server) -> None:
    head = "POST /threads HTTP/1.1\r\nHOST\r\nContent-Length: 100000\r\n"
    nothing, half, slow, second, body = await asyncio.gather(
        answered(server, ""),
        answered(server, head),
        answered(server, head, again="X-More: and more\r\n"),
        answered(server, "GET /ok HTTP/1.1\r\nHOST\r\n\r\n", again="\r\n"),
        answered(server, f"{head}\r\n{{", again=" "),
    )
    assert (nothing, half, slow) == ("", "", "")
    assert second.startswith("HTTP/1.1 200")
    assert body.startswith("HTTP/1.1 413") and "did not arrive within 60 s" in body
    assert server.complaints() == []
