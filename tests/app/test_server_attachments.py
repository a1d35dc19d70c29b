"""Files in messages over the SDK: cited or named, of one user and one thread, in no checkpoint, gone when deleted."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attached import BERTHS, BROKEN, FILES, QUESTION, TARIFF, asked, block, left_of
from command import Desk
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, NotFoundError
from server import GRAPH, Conversation, Server

ALICE, BOB = "alice-has-a-long-token", "bob-has-another-token"
LARGE = b"The fee is written on line one.\n" + b"x" * 2_100_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(
        tmp_path_factory.mktemp("server"),
        DEEP_RESEARCH_SERVER_TOKENS=f"alice:{ALICE} bob:{BOB}",
        DEEP_RESEARCH_SERVER_BODY_BYTES="4000000",
        DEEP_RESEARCH_MAX_ATTACHMENT_BYTES="2000000",
    )
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def alice(server: Server) -> AsyncIterator[LangGraphClient]:
    async with server.client(ALICE) as client:
        yield client


@pytest.fixture
async def bob(server: Server) -> AsyncIterator[LangGraphClient]:
    async with server.client(BOB) as client:
        yield client


async def send(talk: Conversation, given: dict[str, Any]) -> dict[str, Any]:
    """Send an input; returns the values of the thread afterwards."""
    async for part in talk.client.runs.stream(talk.thread, GRAPH, input=given, stream_mode="custom"):
        assert part.event != "error", part.data
    return await talk.values()


def kept(server: Server) -> list[Path]:
    """Attached files and their indexes, of all threads."""
    return [one for one in (server.data / "attachments").rglob("*") if one.is_file()]


def rows(server: Server, thread: str) -> int:
    """What the database holds of a thread."""
    with closing(sqlite3.connect(server.data / "runs.sqlite")) as connection:
        counts = [
            connection.execute("SELECT count(*) FROM checkpoints WHERE thread_id = ?", (thread,)),
            connection.execute("SELECT count(*) FROM writes WHERE thread_id = ?", (thread,)),
            connection.execute("SELECT count(*) FROM store WHERE prefix = ?", (f"{thread}.pages",)),
        ]
        return sum(count.fetchone()[0] for count in counts)


@pytest.mark.fault("R32")
async def test_files_are_cited_or_named_and_belong_to_one_thread_of_one_user_until_it_is_deleted(
    server: Server, alice: LangGraphClient, bob: LangGraphClient
) -> None:
    talk = await Conversation(alice).create()
    large = block("large.txt", LARGE, "text/plain")
    values = await send(talk, asked(QUESTION, *FILES, large))
    report = values["messages"][-1]["content"].replace("\\", "")
    assert "47 crowns a night" in report and "44" in report
    assert {Path(key).name for key in values["report"]["sources"]} == {"tariff.pdf", "berths.csv"}
    assert "Not read: torn.pdf (" in report
    assert f"Not read: large.txt ({len(LARGE)} bytes are more than 2000000 (limit max_attachment_bytes))." in report
    [first, *_] = values["messages"]
    attached = {one["name"]: one["size"] for one in first["additional_kwargs"]["deep_research_attached"]}
    assert first["content"] == QUESTION
    assert attached == {
        "tariff.pdf": len(TARIFF),
        "berths.csv": len(BERTHS),
        "torn.pdf": len(BROKEN),
        "large.txt": len(LARGE),
    }
    # Neither checkpoints nor the server's list of runs hold their bytes; the only copies are the files.
    places = {Path(path).parts[0] for path in left_of(TARIFF, BROKEN, LARGE, folder=server.data)}
    assert places == {"attachments"}
    later = await send(talk, asked("How long is the north berth of Brannock Pier?"))
    assert "31" in later["messages"][-1]["content"]

    for client in (alice, bob):
        other = await send(await Conversation(client).create(), asked(QUESTION))
        assert "47 crowns" not in str(other) and "tariff" not in str(other)
    before = len(kept(server))
    with pytest.raises(NotFoundError):
        await send(Conversation(bob, talk.thread), asked(QUESTION, block("planted.txt", b"Nothing.", "text/plain")))
    assert len(kept(server)) == before

    assert kept(server) and rows(server, talk.thread)
    await alice.threads.delete(talk.thread)
    assert kept(server) == [] and rows(server, talk.thread) == 0


async def test_a_client_may_repeat_a_message_with_a_file_and_a_link(alice: LangGraphClient) -> None:
    talk = await Conversation(alice).create()
    link = {"type": "file", "url": "http://127.0.0.1:9/berths"}
    given = asked("How long is the south berth of Brannock Pier?", FILES[1], link)
    given["messages"][0]["id"] = str(uuid.uuid4())
    first = await send(talk, given)
    assert first["messages"][0]["content"].splitlines()[1:] == [link["url"]]
    given["messages"].append({"role": "user", "content": "How long is the north berth of Brannock Pier?"})
    values = await send(talk, given)
    assert "31" in values["messages"][-1]["content"]
    assert [message["type"] for message in values["messages"]] == ["human", "ai", "human", "ai"]
    await alice.threads.delete(talk.thread)


@pytest.mark.fault("R32")
async def test_nobody_leaves_a_file_in_a_thread_of_another_on_which_nothing_has_begun(
    server: Server, alice: LangGraphClient, bob: LangGraphClient
) -> None:
    talk = await Conversation(alice).create()
    planted = block("planted.txt", b"The mooring fee at Brannock Pier is 1 crown.", "text/plain")
    with pytest.raises(NotFoundError):
        await send(Conversation(bob, talk.thread), asked(QUESTION, planted))
    assert kept(server) == []
    assert "1 crown" not in str(await send(talk, asked(QUESTION)))


async def test_files_of_a_run_without_a_thread_are_read_and_not_kept(server: Server, alice: LangGraphClient) -> None:
    values: Any = await alice.runs.wait(None, GRAPH, input=asked(QUESTION, *FILES))
    assert "47 crowns a night" in values["messages"][-1]["content"]
    assert kept(server) == []


async def test_a_request_that_is_too_long_is_refused_with_the_setting(server: Server, alice: LangGraphClient) -> None:
    talk = await Conversation(alice).create()
    with pytest.raises(APIStatusError) as refused:
        await send(talk, asked(QUESTION, block("large.txt", b"x" * 4_000_000, "text/plain")))
    assert refused.value.response.status_code == 413
    assert "4000000 bytes (DEEP_RESEARCH_SERVER_BODY_BYTES" in refused.value.response.text


async def test_the_command_line_deletes_files_that_came_over_the_server(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.start()
    try:
        async with server.client() as client:
            talk = await Conversation(client).create()
            await send(talk, asked(QUESTION, *FILES))
            assert kept(server) and rows(server, talk.thread)
    finally:
        server.stop()
    assert left_of(TARIFF, BROKEN, folder=tmp_path / ".langgraph_api") == []
    desk = Desk(tmp_path)
    assert desk.run("delete", talk.thread, "--yes").code == 0
    assert kept(server) == [] and rows(server, talk.thread) == 0
