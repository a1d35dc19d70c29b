"""What one user sends is limited in size, shape and number, so that the server serves others."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from kit.mcp import over_http
from kit.server import (
    ALICE,
    GRAPH,
    THREE_TASKS,
    USERS,
    Conversation,
    Server,
    asked,
    block,
    left_of,
    packed,
    said,
    until,
    write_config,
)
from kit.server_graph import FOLDER, HOLD, NOTES
from langgraph_sdk.client import LangGraphClient

pytestmark = pytest.mark.slow

QUESTION = "When was the Skerry Light lit?"
FEE = "What is the mooring fee at Brannock Pier?"
HELD = "Its keeper Ada Moran"
"""Beginning of the task that is held."""
USER_RUNS = 2
LARGE = (
    b"The mooring fee at Brannock Pier is 47 crowns a night.\n\n"
    + b"Rocks and deep water. " * 60_000
)
"""A document larger than a request without files may be."""
DEEP = "[" * 5000 + "]" * 5000
DIGITS = "1" * 5000
"""A number that LangGraph's parser of JSON accepts, and Python's does not."""
MCP = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    settings = {
        FOLDER: str(folder),
        "DEEP_RESEARCH_SERVER_TOKENS": USERS,
        "DEEP_RESEARCH_SERVER_USER_RUNS": str(USER_RUNS),
    }
    with Server(folder, write_config(folder), **settings) as server:
        yield server


@pytest.fixture
async def web(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"X-Api-Key": ALICE, "Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=server.url, timeout=120, headers=headers) as client:
        yield client


async def refusal(web: httpx.AsyncClient, path: str, body: Any) -> tuple[int, str]:
    """Status and words with which a body is refused."""
    content = body if isinstance(body, str) else json.dumps(body)
    answer = await web.post(path, content=content, headers=MCP)
    return answer.status_code, answer.json()["detail"]


@pytest.mark.fault("R27")
async def test_only_requests_with_files_may_be_large(web: httpx.AsyncClient) -> None:
    long = {"note": "x" * 1_000_000}
    run = {"assistant_id": GRAPH, "input": said(QUESTION)}
    thread = (await web.post("/threads", json={})).json()["thread_id"]
    for path, body in (
        ("/threads", {"metadata": long}),
        (f"/threads/{thread}", {"metadata": long}),
        ("/assistants", {"graph_id": GRAPH, "metadata": long}),
        ("/mcp", long),
    ):
        method = "PATCH" if path.endswith(thread) else "POST"
        answer = await web.request(method, path, json=body)
        assert answer.status_code == 413
        assert answer.json()["detail"].startswith("The request is longer than 1000000 bytes")
    file = block("large.txt", LARGE, "text/plain")
    for body in (
        {**run, "metadata": long},
        {**run, "config": {"metadata": long}},
        {**run, "input": asked("x" * 1_000_000, file)},
        {**run, "input": asked(QUESTION, file), "metadata": long},
    ):
        status, words = await refusal(web, f"/threads/{thread}/runs", body)
        assert (status, "Without its files" in words) == (413, True)


@pytest.mark.fault("R27")
async def test_json_that_is_deep_wide_or_odd_is_refused_in_words(web: httpx.AsyncClient) -> None:
    thread = (await web.post("/threads", json={})).json()["thread_id"]
    wide: dict[str, Any] = {"metadata": {"list": [{}] * 20_000}}
    for path in ("/threads", "/research/check", "/mcp", f"/threads/{thread}/runs"):
        status, words = await refusal(web, path, DEEP)
        assert (status, "nested more than 100 levels" in words) == (422, True)
        status, words = await refusal(web, path, wide)
        assert (status, "more than 20000 values" in words) == (422, True)
        status, words = await refusal(web, path, "{")
        assert (status, "not valid JSON" in words) == (422, True)
    # LangGraph would read what our own parser does not.
    forged = f'{{"a": {DIGITS}, "supersteps": [{{"updates": [{{"values": {{}}}}]}}]}}'
    assert (await refusal(web, "/threads", forged))[0] == 422
    wrongs: list[Any] = [[], 5, {"name": 5}, {"name": "a.md", "base64": []}, {"base64": ""}]
    for body in wrongs:
        status, words = await refusal(web, "/research/check", body)
        assert status == 422 and words


@pytest.mark.fault("R27", "R32")
async def test_a_large_file_reaches_the_run_and_not_the_list_of_runs(
    server: Server, web: httpx.AsyncClient, alice: LangGraphClient
) -> None:
    talk = await Conversation(alice).create()
    file = block("large.txt", LARGE, "text/plain")
    # Two wait for the end of a third one's body.
    values, *_ = await asyncio.gather(
        talk.ask(asked(FEE, file)),
        *(
            refusal(web, "/research/check", {"name": "a.xyz", "base64": file["base64"]})
            for _ in range(3)
        ),
    )
    assert "47 crowns a night" in values["report"]["text"]
    [entry] = values["messages"][0]["additional_kwargs"]["deep_research_attached"]
    assert (entry["name"], entry["size"]) == ("large.txt", len(LARGE))
    kept = {path.split("/")[0] for path in left_of(LARGE, folder=server.folder)}
    assert kept == {"data"}
    # Without a thread there is no folder for the file, so the run keeps it.
    run = {"assistant_id": GRAPH, "input": asked(FEE, file)}
    answer = await web.post("/runs/wait", json=run)
    assert "47 crowns a night" in answer.json()["report"]["text"]


async def closed_with(server: Server, thread: str, text: str) -> int:
    """Code with which the server closes a web socket after a text of up to 65,535 bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    lines = [
        f"GET /threads/{thread}/stream/events HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"X-Api-Key: {ALICE}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {packed(bytes(16))}",
    ]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    # A masked frame of text, whose mask changes nothing.
    writer.write(b"\x81\xfe" + len(text).to_bytes(2) + bytes(4) + text.encode())
    while True:
        opcode, length = await reader.readexactly(2)
        if length == 126:
            length = int.from_bytes(await reader.readexactly(2))
        data = await reader.readexactly(length)
        if opcode == 0x88:
            writer.close()
            return int.from_bytes(data[:2])


@pytest.mark.fault("R27")
async def test_a_web_socket_is_closed_after_a_message_beyond_the_limits(
    server: Server, alice: LangGraphClient
) -> None:
    thread = (await alice.threads.create())["thread_id"]
    for text in (DEEP, "[" + "{}," * 20_000 + "1]"):
        assert await closed_with(server, thread, text) == 1009


async def is_held(server: Server, thread: str) -> bool:
    """Whether a run waits for the held researcher."""
    notes = server.folder / NOTES
    lines = notes.read_text("utf-8").splitlines(keepends=True) if notes.exists() else []
    calls = [json.loads(line) for line in lines if line.endswith("\n")]
    return any(call["thread"] == thread and call["first"].startswith(HELD) for call in calls)


@pytest.mark.fault("R28")
async def test_of_many_starts_at_once_as_many_succeed_as_a_user_may_have_and_others_go_on(
    server: Server, web: httpx.AsyncClient, alice: LangGraphClient, bob: LangGraphClient
) -> None:
    (server.folder / HOLD).write_text(HELD, "utf-8")
    run = {"assistant_id": GRAPH, "input": said(THREE_TASKS), "if_not_exists": "create"}
    threads = [(await alice.threads.create())["thread_id"] for _ in range(40)]
    # Some would wait on one thread.
    paths = [f"/threads/{thread}/runs" for thread in (*threads, *threads[:1] * 10)]
    answers = await asyncio.gather(*(web.post(path, json=run) for path in paths))
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses == {200: USER_RUNS, 429: len(paths) - USER_RUNS}
    status, words = await refusal(web, "/runs", run)
    assert (status, "DEEP_RESEARCH_SERVER_USER_RUNS" in words) == (429, True)
    async with over_http(f"{server.url}/mcp", ALICE) as peer:
        assert "DEEP_RESEARCH_SERVER_USER_RUNS" in await peer.fault("research", question=QUESTION)

    # Both workers that are left are free for others.
    values = await (await Conversation(bob).create()).ask(QUESTION)
    assert "1844" in values["report"]["text"]
    # A message that interrupts a run takes its place.
    started = [answer.json()["thread_id"] for answer in answers if answer.status_code == 200]
    held = list[str]()

    async def is_one_held() -> bool:
        # Without a language model, one run of a user works at a time.
        for thread in started:
            if await is_held(server, thread):
                held.append(thread)
        return bool(held)

    steering = {
        "command": {"update": said("Tides matter most.")},
        "multitask_strategy": "interrupt",
    }
    await until(is_one_held)
    answer = await web.post(f"/threads/{held[0]}/runs", json={"assistant_id": GRAPH, **steering})
    assert answer.status_code == 200, answer.text
    (server.folder / HOLD).unlink()

    async def are_over() -> bool:
        return not await alice.threads.search(status="busy")

    await until(are_over)
    assert (await web.post("/runs", json=run)).status_code == 200


def test_the_server_log_has_no_traceback(server: Server) -> None:
    log = server.log.read_text("utf-8")
    assert "Traceback" not in log and "BlockingError" not in log
