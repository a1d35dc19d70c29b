"""`langgraph dev` over real wires: models, the web, several threads, a key that is refused, and a
kill."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.commands import KEYS, Point, WireDesk, model_call, page_call, search_call, wire_desk
from kit.engines import Answer
from kit.openai_server import Received, Reply, fail, use
from kit.packets import PASSING, Check
from kit.server import GRAPH, Conversation, Server, said, until
from kit.wire import FACTS, QUESTION
from langgraph_sdk.client import LangGraphClient

from deep_research.app.stream import read_packet

pytestmark = pytest.mark.slow

LOCKED = "What is behind the locked door?"
REFUSED = "What does the model refuse?"


def clarify(request: Received) -> Reply:
    """For one question the key is refused, for another one the request."""
    if REFUSED in request.prompt:
        return fail(400, "This request is not understood.")
    if LOCKED in request.prompt:
        return fail(401, f"Incorrect API key provided: {request.key}.", code="invalid_api_key")
    return use(("generate_plan", {}))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    with wire_desk(tmp_path_factory.mktemp("wire"), clarifier=clarify) as desk:
        yield desk


@pytest.fixture(scope="module")
def server(desk: WireDesk) -> Iterator[Server]:
    with Server(desk.desk.folder, DEEP_RESEARCH_DOCS="") as server:
        yield server


def is_whole(desk: WireDesk, values: dict[str, Any]) -> bool:
    """Whether the report says all there is to know, each fact with its page."""
    sources = [values["sources"][key]["address"] for key in values["report"]["sources"]]
    assert sources == [desk.lab.web.url(f"/{name}") for name in FACTS]
    report = values["messages"][-1]["content"]
    return all(f"{fact} [{n}]" in report and f"\n[{n}]: <{url}>" in report
               for n, (fact, url) in enumerate(zip(FACTS.values(), sources, strict=True), 1))  # fmt: skip


async def test_the_server_researches_the_web_and_sends_packets_in_order(
    server: Server, client: LangGraphClient, desk: WireDesk
) -> None:
    talk = await Conversation(client).create()
    assert is_whole(desk, await talk.ask(QUESTION))
    assert server.complaints() == []
    check = Check()
    packets = [
        packet for each in talk.packets() if not isinstance(packet := read_packet(each), PASSING)
    ]
    for packet in packets:
        check.take(packet)
    assert check.faults + check.left_open() == []
    types = Counter(packet.type for packet in packets)
    assert (types["research_agent_start"], types["search_tool_start"], types["open_url_start"]) == (
        4,
        4,
        4,
    )
    assert types["citation_info"] == 3
    branches = {
        part.event.split("|")[1]
        for part in talk.parts
        if part.event.startswith("custom|researcher:")
    }
    assert len(branches) == 4


@pytest.mark.fault(36, 53, "R21")
async def test_a_killed_server_repeats_only_calls_under_way(server: Server, desk: WireDesk) -> None:
    desk.forget()
    desk.hold_page("/light")
    desk.hold_search("keeper")
    desk.holds.points.add(Point("finding", "tides", 3))
    async with server.client() as client:
        talk = await Conversation(client).create()
        await client.runs.create(talk.thread, GRAPH, input=said(QUESTION), durability="sync")
        await until(lambda: all_at_work(desk))
    server.kill()
    assert desk.files_with(*KEYS) == []
    server.forget()
    server.start()
    async with server.client() as client:
        talk = await Conversation(client, talk.thread).create()
        assert is_whole(desk, await talk.ask(None))
    again = Counter([*map(model_call, desk.holds.held), search_call("keeper"), page_call("/light")])
    assert desk.paid() == Counter(desk.paid().keys()) + again
    assert server.complaints() == []


async def all_at_work(desk: WireDesk) -> bool:
    """Whether one researcher waits for a page, one for a search and one for its model."""
    return (
        "/light" in desk.fetched() and "keeper" in desk.lab.engine.queries and bool(desk.holds.held)
    )


@pytest.mark.fault(24)
async def test_a_refused_key_ends_the_run_in_one_line(
    client: LangGraphClient, desk: WireDesk
) -> None:
    desk.forget()
    talk = await Conversation(client).create()
    stream = client.runs.stream(
        talk.thread, GRAPH, input=said(LOCKED), stream_mode=["custom", "values"]
    )
    parts = [part async for part in stream]
    state = await client.threads.get_state(talk.thread)
    thread = await client.threads.get(talk.thread)
    assert parts[-1].event == "error"
    assert parts[-1].data["error"] == "KeyRefused"
    line = parts[-1].data["message"]
    assert line.endswith("rejects the key (HTTP 401); check OPENAI_API_KEY.")
    assert len(desk.lab.models.requests) == 1
    assert "Traceback" not in f"{parts}{state}{thread}"
    assert not any(key in f"{parts}{state}{thread}" for key in KEYS)


@pytest.mark.fault(62)
async def test_a_compression_bomb_of_a_search_engine_costs_little_memory_and_the_run_says_so(
    server: Server, client: LangGraphClient, desk: WireDesk
) -> None:
    desk.forget()
    packer, result = zlib.compressobj(wbits=31), b'{"title": "Light", "url": "https://a.example/"},'
    parts = [packer.compress(b'{"results": ['), packer.compress(result * 2_000_000)]
    bomb = b"".join([*parts, packer.compress(result[:-1] + b"]}"), packer.flush()])
    desk.lab.engine.on("keeper", Answer(body=bomb, headers={"Content-Encoding": "gzip"}))
    before = peak_bytes(server)
    talk = await Conversation(client).create()
    await talk.ask(QUESTION)
    assert "Tavily sent more than 4000000 bytes, the most that is read" in str(talk.packets())
    assert len(bomb) < 300_000 and peak_bytes(server) - before < 100_000_000


def peak_bytes(server: Server) -> int:
    """The most memory that the server has used so far."""
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    [kilobytes] = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return 1024 * int(kilobytes)


@pytest.mark.fault(24)
async def test_a_failed_model_takes_one_line_for_each_logger_and_no_traceback(
    server: Server, client: LangGraphClient
) -> None:
    talk = await Conversation(client).create()
    before = len(server.log.read_text("utf-8"))
    with pytest.raises(AssertionError, match="ModelFailed"):
        await talk.ask(REFUSED)

    def logged() -> list[str]:
        return server.log.read_text("utf-8")[before:].splitlines()

    async def are_all_logged() -> bool:
        # The packages of the call, of the graph, and of LangGraph's worker, twice.
        return sum("rejects the request (HTTP 400)" in line for line in logged()) == 4

    await until(are_all_logged)
    assert not any("Traceback" in line or line.startswith("  ") for line in logged())


@pytest.mark.fault("R9", "R18", "R20")
def test_the_server_stores_no_key_contacts_only_its_three_servers_and_its_files_are_private(
    server: Server, desk: WireDesk
) -> None:
    server.stop()
    assert desk.files_with(*KEYS) == []
    assert desk.contacted() - server.places == desk.places
    kept = [*(server.folder / ".langgraph_api").iterdir(), *server.data.rglob("*")]
    assert {"runs.sqlite", "server-token", ".langgraph_ops.pckl"} <= {path.name for path in kept}
    assert [path for path in kept if path.stat().st_mode & 0o077] == []
