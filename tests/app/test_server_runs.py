"""What the page asks of runs: their earlier questions, other names, and that they are gone."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from server import Conversation, Server, said

ALICE, BOB = "a-token-of-alice-1234", "b-token-of-bob-123456"
FIRST, FURTHER = "When was the Skerry Light lit?", "Who kept the Skerry Light?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"), DEEP_RESEARCH_SERVER_TOKENS=f"alice:{ALICE} bob:{BOB}")
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def web(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"X-Api-Key": ALICE}
    async with httpx.AsyncClient(base_url=server.url, timeout=60, headers=headers) as client:
        yield client


@pytest.fixture
async def talk(server: Server) -> AsyncIterator[Conversation]:
    async with server.client(ALICE) as client:
        talk = await Conversation(client).create()
        await talk.ask(FIRST)
        await talk.ask(FURTHER)
        yield talk


async def get(web: httpx.AsyncClient, path: str) -> Any:
    answer = await web.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows_of(server: Server, thread: str) -> int:
    """Rows that the database has of a thread, in whatever table."""
    with closing(sqlite3.connect(server.data / "runs.sqlite")) as connection:
        queries = (
            "checkpoints WHERE thread_id = ?",
            "writes WHERE thread_id = ?",
            "store WHERE prefix = ? || '.pages'",
        )
        return sum(connection.execute(f"SELECT count(*) FROM {query}", (thread,)).fetchone()[0] for query in queries)


async def test_an_earlier_report_is_read_with_its_sources_and_packets(
    web: httpx.AsyncClient, talk: Conversation
) -> None:
    [earlier] = await get(web, f"/research/runs/{talk.thread}/earlier")
    assert (earlier["question"], earlier["status"]) == (FIRST, "completed")
    assert earlier["sources"][0]["title"] and "deep_research_plan_start" in {one["type"] for one in earlier["packets"]}
    at = f"question={earlier['question_id']}"
    page = (await web.get(f"/research/runs/{talk.thread}/export?format=html&{at}")).text
    assert FIRST in page and FURTHER not in page
    source = await get(web, f"/research/runs/{talk.thread}/sources/{earlier['sources'][0]['number']}?{at}")
    assert source["quotes"] and source["quotes"][0] in "".join(source["texts"])
    assert (await web.get(f"/research/runs/{talk.thread}/export?question=none")).status_code == 404


async def test_a_run_is_listed_under_its_first_question_found_and_renamed(
    web: httpx.AsyncClient, talk: Conversation
) -> None:
    path = f"/research/runs/{talk.thread}"
    line = next(one for one in await get(web, "/research/runs") if one["thread"] == talk.thread)
    assert (line["asked"], line["label"]) == (FIRST, "")
    for label in (" The light ", ""):
        assert (await web.patch(path, json={"label": label})).status_code == 200
        line = next(one for one in await get(web, "/research/runs") if one["thread"] == talk.thread)
        assert line["label"] == label.strip()
        found = await get(web, "/research/runs?search=SKERRY+light")
        assert talk.thread in {one["thread"] for one in found}
    assert await get(web, "/research/runs?search=volcano") == []
    wrongs: list[Any] = [{}, {"label": 7}, {"label": "x" * 201}, []]
    for wrong in wrongs:
        assert (await web.patch(path, json=wrong)).status_code == 422
    assert (await web.patch(path, json={"label": "mine"}, headers={"X-Api-Key": BOB})).status_code == 404


async def test_a_deleted_run_leaves_nothing_behind(server: Server, web: httpx.AsyncClient, talk: Conversation) -> None:
    path = f"/research/runs/{talk.thread}"
    assert (await web.delete(path, headers={"X-Api-Key": BOB})).status_code == 404
    assert rows_of(server, talk.thread) > 0
    assert (await web.delete(path)).status_code == 204
    assert rows_of(server, talk.thread) == 0
    assert (await web.get(f"/threads/{talk.thread}")).status_code == 404
    assert (await web.get(f"{path}/earlier")).status_code == 404
    assert (await web.delete(path)).status_code == 404


async def test_why_a_run_failed_before_its_first_step_is_kept(server: Server, web: httpx.AsyncClient) -> None:
    (server.docs / "empty").mkdir()
    thread = (await web.post("/threads", json={})).json()["thread_id"]
    run = {"assistant_id": "deep_research", "input": said(FIRST), "context": {"docs": ["docs/empty"]}}
    await web.post(f"/threads/{thread}/runs/wait", json=run)
    line = next(one for one in await get(web, "/research/runs") if one["thread"] == thread)
    assert line["status"] == "failed"
    page = await web.get(f"/research/runs/{thread}/export")
    assert (page.status_code, "no report yet" in page.text) == (409, True)


async def test_the_offer_says_what_is_searched_and_has_examples_from_the_documents(
    server: Server, web: httpx.AsyncClient
) -> None:
    offer = await get(web, "/research/offer")
    assert offer["uses"] == {"files": offer["uses"]["files"], "engines": [], "has_model": False, "fault": ""}
    assert offer["uses"]["files"] == sum(path.is_file() for path in Path(server.docs).rglob("*"))
    assert len(offer["examples"]) == 3 and all(question.endswith(("?", "”")) for question in offer["examples"])
    assert offer["costs"]["standard"] == {"runs": 0}


def test_nothing_of_this_blocks_the_server(server: Server) -> None:
    log = server.log.read_text("utf-8")
    assert "BlockingError" not in log and "Traceback" not in log
