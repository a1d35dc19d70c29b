"""Runs on the server: earlier questions, names, deletion, tracing, and files in messages."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from kit.server import (
    ALICE,
    BERTHS,
    BOB,
    BROKEN,
    FILES,
    QUESTION,
    TARIFF,
    USERS,
    Conversation,
    Server,
    asked,
    block,
    left_of,
    until,
)
from kit.tracing import Sink, tracing_sink
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

FIRST, FURTHER = "When was the Skerry Light lit?", "Who kept the Skerry Light?"
DOCUMENT_BYTES = 100_000
"""Size limit of documents, so that one beyond it need not be large."""
LARGE = b"The fee is written on line one.\n" + b"x" * DOCUMENT_BYTES


@pytest.fixture(scope="module")
def sink() -> Iterator[Sink]:
    with tracing_sink() as sink:
        yield sink


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sink: Sink) -> Iterator[Server]:
    settings: dict[str, Any] = {
        "DEEP_RESEARCH_SERVER_TOKENS": USERS,
        "DEEP_RESEARCH_MAX_DOCUMENT_BYTES": str(DOCUMENT_BYTES),
        **sink.environment,
    }
    with Server(tmp_path_factory.mktemp("server"), **settings) as server:
        yield server


@pytest.fixture
async def web(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"X-Api-Key": ALICE}
    async with httpx.AsyncClient(base_url=server.url, timeout=60, headers=headers) as client:
        yield client


async def get(web: httpx.AsyncClient, path: str) -> Any:
    answer = await web.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows_of(server: Server, thread: str) -> int:
    """Number of the thread's rows in all tables."""
    with closing(sqlite3.connect(server.data / "runs.sqlite")) as connection:
        queries = (
            "checkpoints WHERE thread_id = ?",
            "writes WHERE thread_id = ?",
            "store WHERE prefix = ? || '.pages'",
        )
        return sum(
            connection.execute(f"SELECT count(*) FROM {query}", (thread,)).fetchone()[0]
            for query in queries
        )


async def test_a_run_is_listed_found_renamed_shown_with_earlier_reports_and_deleted_completely(
    server: Server, web: httpx.AsyncClient, alice: LangGraphClient
) -> None:
    talk = await Conversation(alice).create()
    await talk.ask(FIRST)
    await talk.ask(FURTHER)
    path = f"/research/runs/{talk.thread}"
    for label in ("", " The light ", ""):
        assert (await web.patch(path, json={"label": label})).status_code == 200
        [line] = [run for run in await get(web, "/research/runs") if run["thread"] == talk.thread]
        assert (line["asked"], line["label"]) == (FIRST, label.strip())
        assert talk.thread in {
            run["thread"] for run in await get(web, "/research/runs?search=SKERRY+light")
        }
    assert await get(web, "/research/runs?search=volcano") == []
    # Reports are searched too; an excerpt shows a word that is in no name of the run.
    [found] = await get(web, "/research/runs?search=moran+1932+skerry")
    assert found["thread"] == talk.thread and "Ada Moran" in found["found"]
    assert "[" not in found["found"] and (line["found"], len(found["found"]) < 160) == ("", True)
    assert (await web.patch(path, json={"label": "Heron"})).status_code == 200
    [found] = await get(web, "/research/runs?search=heron+1932")
    assert found["label"] == "Heron" and "1932" in found["found"]
    assert await get(web, "/research/runs?search=heron+volcano") == []
    wrongs: list[Any] = [{}, {"label": 7}, {"label": "x" * 201}, []]
    for wrong in wrongs:
        assert (await web.patch(path, json=wrong)).status_code == 422
    assert (
        await web.patch(path, json={"label": "mine"}, headers={"X-Api-Key": BOB})
    ).status_code == 404

    [earlier] = await get(web, f"{path}/earlier")
    assert (earlier["question"], earlier["status"]) == (FIRST, "completed")
    assert earlier["sources"][0]["title"]
    assert "deep_research_plan_start" in {packet["type"] for packet in earlier["packets"]}
    at = f"question={earlier['question_id']}"
    exported = await web.get(f"{path}/export?format=html&{at}")
    named = "filename*=UTF-8''When%20was%20the%20Skerry%20Light%20lit.html"
    assert exported.headers["Content-Disposition"].endswith(named)
    page = exported.text
    assert FIRST in page and FURTHER not in page
    number = earlier["sources"][0]["number"]
    source = await get(web, f"{path}/sources/{number}?{at}")
    assert source["quotes"] and source["quotes"][0] in "".join(source["texts"])
    file = await web.get(f"{path}/sources/{number}/file?{at}")
    assert file.content == (server.docs / source["file"]).read_bytes()
    assert file.headers["content-type"].startswith("text/plain")
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.headers["content-security-policy"] == "sandbox"
    assert (await web.get(f"{path}/sources/99/file")).status_code == 404
    assert (await web.get(f"{path}/export?question=none")).status_code == 404

    assert (await web.delete(path, headers={"X-Api-Key": BOB})).status_code == 404
    assert rows_of(server, talk.thread) > 0
    assert (await web.delete(path)).status_code == 204
    assert rows_of(server, talk.thread) == 0
    for gone in (f"/threads/{talk.thread}", f"{path}/earlier"):
        assert (await web.get(gone)).status_code == 404
    assert (await web.delete(path)).status_code == 404


async def test_the_offer_has_examples_from_the_documents(
    server: Server, web: httpx.AsyncClient
) -> None:
    offer = await get(web, "/research/offer")
    assert offer["uses"] == {
        "files": offer["uses"]["files"],
        "engines": [],
        "model": "",
        "has_model": False,
        "fault": "",
    }
    assert offer["uses"]["files"] == sum(path.is_file() for path in Path(server.docs).rglob("*"))
    assert len(offer["examples"]) == 3 and all(
        question.endswith(("?", "”")) for question in offer["examples"]
    )
    assert offer["costs"] == offer["times"] == {}
    attach = offer["attach"]
    assert {".pdf", ".docx", ".txt"} < {*attach["suffixes"]}
    assert attach["saved_as"][".doc"] == ".docx"
    sizes = (attach["file_bytes"], attach["request_bytes"], attach["files"])
    assert sizes == (DOCUMENT_BYTES, 64_000_000, 20)


async def test_a_user_can_keep_a_run_out_of_the_operators_tracing(
    alice: LangGraphClient, sink: Sink
) -> None:
    def tracing_notes(values: dict[str, Any]) -> list[str]:
        return [note for note in values["run"]["notices"] if "racing" in note]

    secret, public = "Who painted the Skerry Light?", "How tall is the tower of the Skerry Light?"
    kept = await (await Conversation(alice).create()).ask(secret, context={"tracing": False})
    assert tracing_notes(kept) == []
    traced = await (await Conversation(alice).create()).ask(public)
    [note] = tracing_notes(traced)
    assert note.startswith(f"Tracing is on: prompts and passages go to {urlsplit(sink.url).netloc}")

    async def is_traced() -> bool:
        trees = [tree for tree in sink.trees if public in str(tree.inputs)]
        return bool(trees) and "internal_search" in trees[0].names("tool")

    # Traces are sent in the order of the runs.
    await until(is_traced)
    assert not [request for request in sink.requests if b"painted" in request.body]


def test_no_request_blocks_the_server(server: Server) -> None:
    log = server.log.read_text("utf-8")
    assert "BlockingError" not in log and "Traceback" not in log


def kept(server: Server) -> list[Path]:
    """Attached files and their indexes, of all threads."""
    return [path for path in (server.data / "attachments").rglob("*") if path.is_file()]


async def test_versions_of_a_report_are_compared_exported_and_put_back(
    web: httpx.AsyncClient, alice: LangGraphClient
) -> None:
    talk = await Conversation(alice).create()
    await talk.ask(FIRST)
    await talk.ask(FURTHER)
    path = f"/research/runs/{talk.thread}"

    async def listed() -> list[dict[str, Any]]:
        [run] = [run for run in await get(web, "/research/runs") if run["thread"] == talk.thread]
        assert run["status"] == "completed"
        return list((await get(web, f"{path}/export?format=json"))["versions"])

    assert [version["kind"] for version in await listed()] == ["research", "question"]
    first = (await web.get(f"{path}/export?version=1")).text
    second = (await web.get(f"{path}/export")).text
    assert FIRST in first and FIRST not in second
    # What is exported has the links that the user was shown.
    values: Any = (await alice.threads.get_state(talk.thread))["values"]
    shown = values["messages"]
    assert (shown[1]["content"], shown[-1]["content"]) == (first, second)
    blocks = await get(web, f"{path}/differences?old=1&new=2")
    words = dict.fromkeys(("same", "removed", "added"), "")
    for piece in itertools.chain(*blocks):
        words[piece["change"]] += piece["text"]
    assert all(words.values()) and "lit" in words["removed"]
    assert (await web.get(f"{path}/differences?old=1")).status_code == 422
    assert (await web.get(f"{path}/differences?old=1&new=7")).status_code == 404
    for wrong in ("version=x", "version=1234567", "answer=-1"):
        assert (await web.get(f"{path}/export?{wrong}")).status_code == 422
    unknown = await web.get(f"{path}/export?answer=1")
    assert (unknown.status_code, unknown.json()["detail"]) == (
        404,
        "The thread has no answer 1: it has no answer.",
    )
    wrongs: list[Any] = [{}, {"version": "1"}, []]
    for wrong_body in wrongs:
        assert (await web.post(f"{path}/revert", json=wrong_body)).status_code == 422
    back = f"{path}/revert"
    assert (await web.post(back, json={"version": 2})).status_code == 409
    assert (await web.post(back, json={"version": 5})).status_code == 404
    not_mine = await web.post(back, json={"version": 1}, headers={"X-Api-Key": BOB})
    assert not_mine.status_code == 404

    put_back = await web.post(back, json={"version": 1})
    assert (put_back.status_code, put_back.json()) == (200, {"version": 3})
    assert (await listed())[-1]["restores"] == 1
    assert (await web.get(f"{path}/export")).text == first
    values = (await alice.threads.get_state(talk.thread))["values"]
    shown = values["messages"]
    assert shown[-1]["content"] == first
    # Each question keeps its own report.
    earlier = await get(web, f"{path}/earlier")
    texts = list[str]()
    for question in earlier:
        answer = await web.get(f"{path}/export?question={question['question_id']}")
        texts.append(answer.text)
    assert texts == [first, second]
    await talk.ask(FURTHER)
    assert len(await get(web, f"{path}/earlier")) == 3
    assert [version["number"] for version in await listed()] == [1, 2, 3, 4]


@pytest.mark.slow
@pytest.mark.fault("R32")
async def test_files_belong_to_one_thread_and_nobody_else_leaves_one_in_it(
    server: Server, alice: LangGraphClient, bob: LangGraphClient
) -> None:
    talk = await Conversation(alice).create()
    large = block("large.txt", LARGE, "text/plain")
    values = await talk.ask(asked(QUESTION, *FILES, large))
    report = values["messages"][-1]["content"].replace("\\", "")
    assert "47 crowns a night" in report and "44" in report
    assert {Path(key).name for key in values["report"]["sources"]} == {"tariff.pdf", "berths.csv"}
    assert "Not read: torn.pdf (" in report
    assert (
        f"Not read: large.txt ({len(LARGE)} bytes are more than {DOCUMENT_BYTES} (limit max_document_bytes))."
        in report
    )
    [first, *_] = values["messages"]
    attached = {
        file["name"]: file["size"] for file in first["additional_kwargs"]["deep_research_attached"]
    }
    given = {"tariff.pdf": TARIFF, "berths.csv": BERTHS, "torn.pdf": BROKEN, "large.txt": LARGE}
    assert (first["content"], attached) == (
        QUESTION,
        {name: len(data) for name, data in given.items()},
    )
    # Checkpoints and the server's list of runs contain no bytes of the files.
    directories = {
        Path(path).parts[0] for path in left_of(TARIFF, BROKEN, LARGE, folder=server.data)
    }
    assert directories == {"attachments"}
    later = await talk.ask("How long is the north berth of Brannock Pier?")
    assert "31" in later["messages"][-1]["content"]

    for client in (alice, bob):
        other = await (await Conversation(client).create()).ask(QUESTION)
        assert "47 crowns" not in str(other) and "tariff" not in str(other)
    before = len(kept(server))
    planted = block("planted.txt", b"The mooring fee at Brannock Pier is 1 crown.", "text/plain")
    empty = await Conversation(alice).create()
    for thread in (talk.thread, empty.thread):
        with pytest.raises(NotFoundError):
            await Conversation(bob, thread).ask(asked(QUESTION, planted))
    assert len(kept(server)) == before
    assert "1 crown" not in str(await empty.ask(QUESTION))

    assert kept(server) and rows_of(server, talk.thread)
    await alice.threads.delete(talk.thread)
    assert kept(server) == [] and rows_of(server, talk.thread) == 0


@pytest.mark.slow
@pytest.mark.fault(61)
async def test_a_file_whose_shortened_name_would_be_hidden_is_read_and_counted(
    server: Server, alice: LangGraphClient
) -> None:
    talk = await Conversation(alice).create()
    # The last 60 characters of each name begin with a dot.
    names = [f"log.{number:02}{'x' * 53}.txt" for number in range(30)]
    files = [block(name, f"Entry {name}.".encode(), "text/plain") for name in names]
    fee = block(f"fee.{'x' * 55}.pdf", TARIFF)
    values = await talk.ask(asked(QUESTION, fee, *files))
    assert "47 crowns a night" in values["messages"][-1]["content"].replace("\\", "")
    not_read = [unread["code"] for unread in values["report"]["audit"]["not_read"]]
    assert not_read == ["too many"] * 11
    stored = [path for path in kept(server) if path.parent.name == "attached"]
    assert len(stored) == 20 and not any(path.name.startswith(".") for path in stored)
    await alice.threads.delete(talk.thread)


async def test_a_source_is_excluded_and_included_by_its_owner(
    server: Server, web: httpx.AsyncClient, alice: LangGraphClient
) -> None:
    talk = await Conversation(alice).create()
    await talk.ask(FIRST)
    path = f"/research/runs/{talk.thread}"
    number = (await get(web, f"{path}/sources/1"))["number_in_thread"]
    at = f"{path}/excluded/{number}"
    assert (await web.put(at, headers={"X-Api-Key": BOB})).status_code == 404
    assert (await web.put(f"{path}/excluded/99")).status_code == 422
    assert (await web.put(at, json={"replace": "yes"})).status_code == 422
    put = await web.put(at, json={"because": "out of date", "replace": True})
    # The words of the edit that the page then asks for.
    assert put.json()["edit"].startswith(f"Do without these sources: [{number}] ")
    assert put.json()["edit"].endswith(". Find others in their place. The reason: out of date.")
    assert (await web.put(at)).json()["edit"].endswith("Light.")
    assert (await get(web, f"{path}/sources/1"))["is_excluded"]
    await talk.ask(FURTHER)
    cited = (await get(web, f"{path}/sources/{number}?of=thread"))["number"]
    assert cited == 0
    assert (await web.delete(at)).status_code == 204
    assert not (await get(web, f"{path}/sources/{number}?of=thread"))["is_excluded"]
