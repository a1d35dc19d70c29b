"""`deep-research mcp`, called by the client of the SDK."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.commands import Desk, wire_desk
from kit.files import quotations, stands_in_its_file
from kit.mcp import over_streams, text_of
from kit.openai_server import Received, Reply, fail, say, use
from kit.wire import FACTS

# The SDK's client leaves pipes of ended processes open.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")

QUESTION = "When was the Skerry Light lit?"
OFFLINE = ("--no-web", "--model", "extractive")
TOOLS = [
    "research",
    "answer",
    "follow_up",
    "edit_report",
    "exclude_sources",
    "read_report",
    "search_documents",
    "search_earlier",
    "check_report",
]


def edited(request: Received) -> Reply:
    """A writer that adds a summary; any other call is a trial of the model."""
    if "You change a research report" not in request.system:
        return use(("save_word", {"word": "amber"}))
    if "Do without" in request.prompt:
        return use(("edit_report", {"edits": [], "done": "The source is gone."}))
    edits = [{"kind": "insert_after", "block": 0, "text": "It is a light. [1]"}]
    return use(("edit_report", {"edits": edits, "done": "A summary is there."}))


@pytest.fixture(scope="module", autouse=True)
def no_other_test_hears_of_the_pipes() -> Iterator[None]:
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


async def use_every_tool(desk: Desk) -> str:
    """Be an agent that researches, asks on, reads and checks; returns the thread of its
    research."""
    (desk.folder / "secret.md").write_text("It cost 900 pounds.", "utf-8")
    body = "<p>The light was lit in 1844 [1]. It cost 900 pounds [2].</p>"
    page = f"{body}<h2>Sources</h2><ol><li>Light, lighthouse.md</li><li>Secret, {desk.folder}/secret.md</li></ol>"
    async with over_streams(desk, "--docs", "docs", *OFFLINE) as peer:
        listed = (await peer.session.list_tools()).tools
        assert [tool.name for tool in listed] == TOOLS
        for tool in listed:
            assert tool.description and tool.outputSchema
            assert all("description" in field for field in tool.inputSchema["properties"].values())
        report = await peer.call("research", question=QUESTION, documents=["docs/lighthouse.md"])
        assert text_of(report).startswith(
            f"# {QUESTION}\n\nThe Skerry Light was lit for the first time in 1844. [1]"
        )
        assert all(map(stands_in_its_file, quotations(text_of(report))))
        assert report.structuredContent is not None
        thread = report.structuredContent["thread"]
        assert report.structuredContent["report"] in text_of(report) and thread in text_of(report)
        assert [source["title"] for source in report.structuredContent["sources"]] == [
            "Skerry Light"
        ]
        assert f"Research {thread}" in peer.progress[:2]
        assert any("searching: When was the Skerry Light lit?" in line for line in peer.progress)
        assert "writing the report" in peer.progress
        further = await peer.data(
            "follow_up", thread=thread, question="How tall is the Skerry Light?"
        )
        assert (further["status"], further["thread"]) == ("completed", thread)
        assert "38 metres" in further["report"] and "Ada Moran" not in further["report"]
        assert await peer.data("read_report", thread=thread) == further
        assert [(version["number"], version["kind"]) for version in further["versions"]] == [
            (1, "research"),
            (2, "question"),
        ]
        first = await peer.call("read_report", thread=thread, version=1)
        assert first.structuredContent is not None
        assert first.structuredContent["report"] == report.structuredContent["report"]
        assert "can read of it: version 1, version 2" in text_of(first)
        fault = await peer.fault("read_report", thread=thread, version=3)
        assert "no version 3: it has versions 1 to 2" in fault
        fault = await peer.fault("read_report", thread=thread, answer=1)
        assert "no answer 1: it has no answer" in fault
        # Without a language model, code alone can make a version without a source.
        fault = await peer.fault("edit_report", thread=thread, words="Make it shorter.")
        assert "A report is edited by a language model" in fault
        source = {"thread": thread, "sources": ["lighthouse.md"]}
        without = await peer.data("exclude_sources", because="out of date", **source)
        assert without["versions"][-1]["kind"] == "edit" and without["sources"] == []
        assert 'the excluded source "Skerry Light" were taken out' in without["report"]
        again = await peer.data("exclude_sources", use_again=True, **source)
        assert again == without
        fault = await peer.fault("exclude_sources", use_again=True, **source)
        assert "No source of the run" in fault and "is excluded" in fault
        fault = await peer.fault("exclude_sources", thread=thread, sources=["77"])
        assert "'77'" in fault and "1: Skerry Light" in fault
        found = await peer.data("search_documents", query="Where was Ada Moran born?", passages=1)
        [passage] = found["passages"]
        assert (passage["title"], passage["path"]) == ("Ada Moran", "keeper.md")
        assert "Tralee" in passage["text"] and passage["location"].endswith("/keeper.md")

        # A check reads no file but those of the user.
        checked = await peer.call("check_report", report=page, form="html", request=QUESTION)
        assert checked.structuredContent is not None
        assert checked.structuredContent["counts"] == {
            "numbers found": 1,
            "source not reachable": 1,
        }
        assert checked.structuredContent["table"] in text_of(checked) and "900 pounds" in text_of(
            checked
        )
        assert [
            note
            for note in checked.structuredContent["notes"]
            if note.startswith("Not read: source 2, ")
        ]
        assert "reading 2 sources" in peer.progress
        too_long = await peer.fault("check_report", report="a" * 300_001)
        assert "300001 characters; at most 300000 are checked" in too_long
        too_many = await peer.fault("check_report", report="The light burns. " * 2_001)
        assert "2001 statements; at most 2000 are checked" in too_many
        assert "the file contains no text" in await peer.fault("check_report", report=" ")
        fault = await peer.fault("check_report", report=page, form="html", request="a" * 32_001)
        assert "The request has 32001 characters; at most 32000 are accepted" in fault
    return str(thread)


def test_an_agent_researches_asks_on_reads_and_checks_and_the_command_line_knows_the_run(
    desk: Desk,
) -> None:
    thread = asyncio.run(use_every_tool(desk))
    assert (desk.folder / "mcp.log").read_text("utf-8") == ""
    assert thread[:6] in desk.call("runs").out


@pytest.mark.slow
async def test_an_agent_changes_a_report_and_excludes_one_of_its_sources(tmp_path: Path) -> None:
    with wire_desk(tmp_path, trial=edited) as wires:
        async with over_streams(wires.desk) as peer:
            report = await peer.data("research", question="What is on the coast?")
            thread = report["thread"]
            before = len(peer.progress)
            changed = await peer.data("edit_report", thread=thread, words="Begin with a summary.")
            assert "It is a light. [1]" in changed["report"]
            assert "- A summary is there." in changed["report"]
            assert [version["kind"] for version in changed["versions"]] == ["research", "edit"]
            assert len(peer.progress) > before
            [last] = [source for source in report["sources"] if source["title"] == "Harbour"]
            without = await peer.data(
                "exclude_sources",
                thread=thread,
                sources=[str(last["n"])],
                because="out of date",
                replace=True,
            )
            # A researcher was sent out for what is lost.
            prompts = [request.prompt for request in wires.lab.models.requests]
            assert any("other sources say in its place" in prompt for prompt in prompts)
            assert FACTS["light"] in without["report"]
            assert FACTS["harbour"] not in without["report"].partition("## Sources")[0]
            assert len(without["versions"]) == 3


@pytest.mark.slow
async def test_a_run_that_fails_is_an_error_that_says_how_to_go_on(tmp_path: Path) -> None:
    refusals = [fail(401, "Incorrect API key.", code="invalid_api_key")]
    with wire_desk(
        tmp_path, planner=lambda _: refusals.pop() if refusals else say("1. The light")
    ) as wires:
        async with over_streams(wires.desk) as peer:
            fault = await peer.fault("research", question="What is on the coast?")
            thread = peer.progress[0].removeprefix("Research ")
            assert f"`follow_up` and the thread {thread}" in fault and "CANARY" not in fault
            assert (await peer.data("read_report", thread=thread))["status"] == "failed"
            report = await peer.data("follow_up", thread=thread, question="What is on the coast?")
            assert FACTS["light"] in report["report"]
