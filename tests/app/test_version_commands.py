"""Versions of a report on the command line: listed, shown, compared, exported, put back."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kit.commands import SEQUENCES, Desk, wire_desk
from kit.openai_server import Received, Reply, say, use
from kit.runs import QUESTION
from kit.wire import FACTS, written
from langchain_core.messages import HumanMessage

from deep_research.app.embed import build_graph, thread_config
from deep_research.app.runs import RunBook
from deep_research.core.settings.context import Context
from deep_research.core.store.database import open_database
from deep_research.core.store.location import FILE_NAME, RunsLocation, thread_id
from deep_research.core.store.pages import Pages

KEEPER, HEIGHT = "Who kept the Skerry Light from 1901 to 1932?", "How tall is the Skerry Light?"
OFFLINE = ("--thread", "light", "--model", "extractive", "--no-web")


@pytest.fixture(scope="module")
def asked(library: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A data folder with a run that was asked a second question, and then a small one."""
    folder = tmp_path_factory.mktemp("versions")
    shutil.copytree(library.folder, folder, dirs_exist_ok=True)
    desk = Desk(folder)
    assert desk.call("ask", KEEPER, *OFFLINE).code == 0
    assert desk.call("ask", HEIGHT, *OFFLINE, "--depth", "quick").code == 0
    return desk


@pytest.fixture
def desk(asked: Desk, tmp_path: Path) -> Desk:
    """A copy of that folder, for a test that changes it."""
    shutil.copytree(asked.folder, tmp_path, dirs_exist_ok=True)
    return Desk(tmp_path)


def shown_versions(desk: Desk) -> list[str]:
    """The list of versions as `show` prints it, without their times."""
    body = desk.call("show", "light").out.partition("\nVersions\n")[2].partition("\n\n")[0]
    return [re.sub(r" +\d{4}-\d\d-\d\d \d\d:\d\d ", "", line).strip() for line in body.splitlines()]


def test_show_lists_the_versions_and_prints_one_of_them(asked: Desk, library: Desk) -> None:
    assert shown_versions(library) == []
    assert shown_versions(asked) == [
        f"version 1 first report      {QUESTION}",
        f"version 2 further question  {KEEPER}",
        f"answer 1 short answer      {HEIGHT}",
    ]
    first = library.call("export", "light").out.strip()
    version = asked.call("show", "light", "--version", "1").out.strip()
    assert version.endswith(first) and version.splitlines()[0].startswith("version 1    20")
    answer = asked.call("show", "light", "--answer", "1").out
    assert HEIGHT in answer.splitlines()[0] and "It stands 38 metres tall. [1]" in answer
    data = json.loads(asked.call("show", "light", "--version", "1", "--format", "json").out)
    whole = json.loads(library.call("show", "light", "--format", "json").out)
    for name in ("title", "question", "report", "status", "research", "verdicts", "claims"):
        assert data[name] == whole[name]
    assert [version["kind"] for version in data["versions"]] == ["research", "question", "answer"]


def test_the_difference_of_two_versions_is_readable_in_a_pipe_and_on_a_terminal(
    asked: Desk,
) -> None:
    piped = asked.call("show", "light", "--diff", "1", "2").out
    assert f"[-# {QUESTION}-]" in piped and f"{{+# {KEEPER}+}}" in piped
    assert "The Skerry Light was lit for the first time in 1844. [1] It stands" in piped
    seen = asked.on_terminal("show", "light", "--diff", "1", "2")
    assert "\x1b[31m\x1b[9m#" in seen and "{+" not in seen
    assert f"# {KEEPER}" in SEQUENCES.sub("", seen)
    assert asked.call("show", "light", "--diff", "2", "2").out == "The texts are the same.\n"
    blocks = json.loads(asked.call("show", "light", "--diff", "1", "2", "--format", "json").out)
    assert blocks[0] == [{"change": "removed", "text": f"# {QUESTION}"}]


def test_each_version_is_exported_in_each_format(asked: Desk) -> None:
    def exported(name: str, *options: str) -> bytes:
        assert asked.call("export", "light", *options, "--out", str(asked.folder / name)).code == 0
        return (asked.folder / name).read_bytes()

    # The latest report, and not the short answer about it.
    said = "This is version 2; the short answer after it: --answer 1\n"
    assert asked.call("export", "light").err == said
    assert exported("default.md") == exported("two.md", "--version", "2")
    assert KEEPER in exported("default.md").decode()
    for number, question, other in (("1", QUESTION, KEEPER), ("2", KEEPER, QUESTION)):
        for name in ("page.html", "report.md"):
            text = exported(name, "--version", number).decode()
            assert question in text and other not in text and "1901" in text
        with zipfile.ZipFile(io.BytesIO(exported("report.docx", "--version", number))) as word:
            assert question in word.read("word/document.xml").decode()
        assert exported("report.pdf", "--version", number).startswith(b"%PDF")
        assert question in exported("report.json", "--version", number).decode()
    assert HEIGHT in exported("answer.html", "--answer", "1").decode()


def test_a_wrong_number_is_refused_with_the_numbers_that_there_are(asked: Desk) -> None:
    for arguments, words in (
        (("show", "light", "--version", "9"), "no version 9: it has versions 1 to 2."),
        (("show", "light", "--diff", "1", "3"), "no version 3: it has versions 1 to 2."),
        (("export", "light", "--version", "3"), "no version 3: it has versions 1 to 2."),
        (("export", "light", "--answer", "2"), "no answer 2: it has answer 1."),
        (("revert", "light", "5"), "no version 5: it has versions 1 to 2."),
        (("revert", "dark", "1"), "There is no run 'dark'"),
    ):
        ended = asked.call(*arguments)
        assert (ended.code, ended.out) == (2, "") and words in ended.err


def test_a_version_is_put_back_and_used_from_then_on(desk: Desk) -> None:
    first = desk.call("export", "light", "--version", "1").out
    ended = desk.call("revert", "light", "1")
    assert (ended.code, ended.err) == (
        0,
        "Version 3 has the text of version 1: deep-research show light\n",
    )
    assert shown_versions(desk)[-1] == f"version 3 back to version 1 {QUESTION}"
    shown = desk.call("show", "light").out
    assert f"Question  {QUESTION}" in shown and shown.endswith(first)
    assert desk.call("export", "light").out == first
    page = desk.call("export", "light", "--format", "html").out
    assert page == desk.call("export", "light", "--version", "1", "--format", "html").out
    assert desk.call("audit", "light").code == 0
    packets = [json.loads(line) for line in desk.call("show", "light", "--json").out.splitlines()]
    assert [packet["type"] for packet in packets] == ["report_revised", "stop"]
    again = desk.call("revert", "light", "3")
    assert again.code == 2 and "Version 3 of the run" in again.err
    # The next question goes on from there.
    assert desk.call("ask", KEEPER, *OFFLINE, "--depth", "standard").code == 0
    assert shown_versions(desk)[-1] == f"version 4 further question  {KEEPER}"
    assert desk.call("export", "light", "--version", "3").out == first


def test_while_a_question_has_no_report_the_latest_version_is_exported(desk: Desk) -> None:
    second = desk.call("export", "light", "--version", "2").out
    graph = build_graph(checkpointer=desk.data / FILE_NAME)
    context = Context(models="extractive", docs=desk.docs, engines=(), clarify="assume")
    stream: Any = graph.stream(
        {"messages": [HumanMessage(HEIGHT)]}, thread_config("light"), context=context
    )
    # Stopped after the first node, as if killed there.
    next(stream)
    stream.close()
    ended = desk.call("export", "light")
    said = "This is version 2; the question after it has no report yet.\n"
    assert (ended.code, ended.out, ended.err) == (0, second, said)
    refused = desk.call("revert", "light", "1")
    assert refused.code == 2 and "has not ended" in refused.err


async def test_a_run_at_work_is_not_put_back(desk: Desk) -> None:
    async with (
        open_database(RunsLocation.of(desk.data)) as database,
        database.saver.leases.hold(thread_id("light")),
    ):
        busy = await asyncio.to_thread(desk.run, "revert", "light", "1")
    assert busy.code == 4 and "This run is in progress in" in busy.err


def test_a_damaged_version_is_an_error_and_the_others_can_be_read(desk: Desk) -> None:
    async def key_of_first() -> str:
        async with RunBook.open(desk.data) as book:
            return (await book.read("light")).versions[0].content

    key = asyncio.run(key_of_first())
    with closing(sqlite3.connect(desk.data / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE store SET value = '{' WHERE key = ?", (key,))
    ended = desk.call("show", "light", "--version", "1")
    assert ended.code == 2 and f"its entry '{key}' of the run" in ended.err
    assert desk.call("revert", "light", "1").code == 2
    assert desk.call("show", "light", "--version", "2").code == 0


async def test_a_copy_has_the_versions_and_a_deleted_run_leaves_none(desk: Desk) -> None:
    async with RunBook.open(desk.data) as book:
        thread, copied = map(thread_id, ("light", "copy"))
        versions = (await book.read("light")).versions
        await book.database.saver.acopy_thread(thread, copied)
        await book.delete(thread)
        assert await Pages(book.database.store, thread).names() == []
        stored = await book.read(copied)
        assert stored.versions == versions
        for version in versions:
            assert (await book.with_version(stored, version)).report
        texts = await Pages(book.database.store, copied).texts([each.content for each in versions])
        assert all(texts) and len(texts) == 3


async def test_a_fork_has_the_versions_up_to_its_checkpoint(desk: Desk) -> None:
    async with RunBook.open(desk.data) as book:
        stored = await book.read("light")
        graph = book.graph("orchestrated")
        config = thread_config("light")
        history = [snapshot async for snapshot in graph.aget_state_history(config)]
        ended = [past for past in history if not past.next and past.values["report"]]
        second = next(past for past in ended if len(past.values["versions"]) == 2)
        await graph.aupdate_state(second.config, None, as_node="verify_report")
        forked = await book.read("light")
        assert [version.name for version in forked.versions] == ["version 1", "version 2"]
        await book.revert(forked, 1)
        forked = await book.read("light")
        assert forked.versions[-1].number == 3
        # The other branch keeps its own.
        latest = await graph.aget_state(history[0].config)
        assert [*latest.values["versions"].values()] == stored.versions


def test_show_names_of_an_answer_from_what_was_read_only_the_sources_that_it_cites(
    tmp_path: Path,
) -> None:
    def route(request: Received) -> Reply:
        is_first = "answer_from_read" not in json.dumps(request.json)
        return use(("generate_plan" if is_first else "answer_from_read", {}))

    def report(request: Received) -> Reply:
        asks_for_keeper = "Who else kept" in request.prompt
        return say(f"{FACTS['keeper']} [2]") if asks_for_keeper else written(request)

    with wire_desk(tmp_path, clarifier=route, writer=report) as wire:
        ask = ("--thread", "light")
        assert wire.desk.call("ask", "When was the light lit?", *ask).code == 0
        assert wire.desk.call("ask", "Who else kept it?", *ask).code == 0
        shown = wire.desk.call("show", "light").out
    assert re.findall("cited: (.*) – ", shown) == ["Keeper"]
    assert "answer 1" in shown
