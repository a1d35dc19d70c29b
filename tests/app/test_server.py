"""`langgraph dev` serves the graph of `langgraph.json`: no key, no network, no warning."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from command import Desk
from decisions import requested
from langgraph_sdk.client import LangGraphClient
from pages import Script, on_server
from server import GRAPH, Conversation, Server, said

from deep_research.app.stream import read_packet
from deep_research.core.run.events.packets import OverallStop

UNCLEAR = "Compare them?"
QUESTION = "On the coast:\n1. The Skerry Light\n2. Its keeper Ada Moran\n3. The harbour Port Anlow"

LINK = re.compile(r"^\[\d+\]: <([^>]+)>$", re.MULTILINE)
CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    async with server.client() as client:
        yield client


@pytest.fixture
async def talk(client: LangGraphClient) -> Conversation:
    return await Conversation(client).create()


def pages(server: Server, thread: str) -> set[str]:
    """Keys of the page texts that a thread has in the store."""
    with closing(sqlite3.connect(server.data / "runs.sqlite")) as connection:
        return {row[0] for row in connection.execute("SELECT key FROM store WHERE prefix = ?", (f"{thread}.pages",))}


@pytest.mark.skipif(sys.platform != "linux", reason="the machine has one loopback address")
@pytest.mark.fault("R24")
def test_it_listens_on_loopback_and_takes_the_token_that_it_made_from_its_own_address_alone(server: Server) -> None:
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    port = f":{server.port:04X}"
    assert [place for _, place, _, state, *_ in sockets if place.endswith(port) and state == "0A"] == [
        f"0100007F{port}"
    ]
    for address, status in (("127.0.0.1", 200), ("127.0.0.2", 401)):
        way = httpx.HTTPTransport(local_address=address)
        with httpx.Client(base_url=server.url, transport=way, headers={"X-Api-Key": server.token}) as web:
            assert web.get("/info").status_code == status


async def test_a_client_sees_schemas_in_which_everything_is_described(client: LangGraphClient) -> None:
    assistants = await client.assistants.search(graph_id=GRAPH)
    schemas: Any = await client.assistants.get_schemas(assistants[0]["assistant_id"])
    for name, title, fields in (
        ("input_schema", "Question", {"messages"}),
        ("output_schema", "Report", {"messages", "report"}),
    ):
        schema = schemas[name]
        assert (schema["title"], set(schema["properties"])) == (title, fields)
        assert all(field["title"] and field["description"] for field in schema["properties"].values())
    context = schemas["context_schema"]
    for schema in (context, context["$defs"]["Limits"]):
        lacking = [name for name, field in schema["properties"].items() if not field.get("description")]
        assert lacking == []


@pytest.mark.slow
async def test_the_planned_strategy_is_served_beside_the_other(client: LangGraphClient, server: Server) -> None:
    assistants = await client.assistants.search()
    assert {assistant["graph_id"] for assistant in assistants} == {GRAPH, "planned_research"}
    talk = await Conversation(client, graph="planned_research").create()
    await talk.ask(UNCLEAR)
    assert (await client.threads.get(talk.thread))["status"] == "interrupted"
    values = await talk.ask(None, command={"resume": QUESTION})
    assert "was lit for the first time in 1844." in values["report"]["text"]
    assert {step["status"] for step in values["steps"]} == {"completed"}
    told = [read_packet(packet) for packet in talk.packets()]
    assert isinstance(told[-1], OverallStop) and told[-1].stop_reason == "completed"
    types = {packet.type for packet in told}
    assert {"activity", "step_started", "step_learnings", "step_done", "report_framing", "sources"} <= types
    metadata: Any = (await client.threads.get_state(talk.thread))["metadata"]
    assert metadata["research_strategy"] == "planned"
    shown = await asyncio.to_thread(Desk(server.folder).run, "show", talk.thread)
    assert "\nStrategy  planned\n" in shown.out
    assert server.complaints() == []


@pytest.mark.fault(47)
async def test_a_question_back_is_answered_by_a_plain_message(talk: Conversation) -> None:
    asked = await talk.ask(UNCLEAR)
    thread = await talk.client.threads.get(talk.thread)
    assert thread["status"] == "interrupted"
    (interrupts,) = thread["interrupts"].values()
    waiting = interrupts[0]["value"]
    assert (waiting["type"], waiting["question"]) == ("clarification", asked["messages"][-1]["content"])
    values = await talk.ask(QUESTION)
    assert [message["type"] for message in values["messages"]] == ["human", "ai", "human", "ai"]
    assert values["run"]["question"] == UNCLEAR
    assert "1844. [" in values["report"]["text"]
    assert (await talk.client.threads.get(talk.thread))["status"] == "idle"


async def waiting(talk: Conversation) -> dict[str, Any]:
    """What the thread waits with."""
    thread = await talk.client.threads.get(talk.thread)
    assert thread["status"] == "interrupted"
    [[interrupt]] = thread["interrupts"].values()
    value: Any = interrupt["value"]
    return dict(value)


async def test_a_chat_client_answers_by_decisions_and_keeps_its_form_after_a_wrong_one(talk: Conversation) -> None:
    def decide(kind: str, **more: Any) -> Any:
        return {"resume": {"decisions": [{"type": kind, **more}]}}

    await talk.ask(UNCLEAR, context={"review_plan": True})
    question = await waiting(talk)
    await talk.ask(None, command=decide("edit"), context={"review_plan": True})
    again = await waiting(talk)
    assert "'edit' is not one of those allowed here" in again["refused"]
    assert requested(again) == requested(question)
    await talk.ask(None, command=decide("respond", message=QUESTION), context={"review_plan": True})
    assert requested(await waiting(talk))["action_requests"][0]["name"] == "research_plan"
    action = {"name": "research_plan", "args": {"plan": "1. The spring tide at Port Anlow"}}
    values = await talk.ask(None, command=decide("edit", edited_action=action))
    assert values["plan"]["steps"] == ["The spring tide at Port Anlow"]
    assert values["report"]
    assert (await talk.client.threads.get(talk.thread))["status"] == "idle"


async def test_a_waiting_thread_is_marked_as_resolved_and_takes_another_question(
    talk: Conversation, server: Server
) -> None:
    resolve: Any = {"assistant_id": GRAPH, "input": {}, "command": {"goto": "__end__"}}
    headers = {"X-Api-Key": server.token}
    async with httpx.AsyncClient(base_url=f"{server.url}/threads/{talk.thread}", headers=headers) as web:
        await talk.ask(UNCLEAR)
        answered = await web.post("/runs/wait", json=resolve)
    assert answered.json()["messages"][-1]["content"].startswith("Ended without a report")
    assert (await talk.values())["run"]["status"] == "ended"
    assert (await talk.client.threads.get(talk.thread))["status"] == "idle"
    values = await talk.ask(QUESTION)
    assert values["run"]["question"] == QUESTION
    assert "1844. [" in values["report"]["text"]


async def test_a_thread_goes_on_from_an_earlier_checkpoint(talk: Conversation) -> None:
    await talk.ask(UNCLEAR)
    first = await talk.ask(None, command={"resume": QUESTION})
    history: Any = await talk.client.threads.get_history(talk.thread, limit=100)
    assert history[0]["next"] == [] and history[-1]["next"] == ["__start__"]
    asked = next(state for state in history if state["next"] == ["ask_user"])
    # Without an answer it asks again; an answer given at once would be ignored for the one that is stored there.
    await talk.ask(None, checkpoint_id=asked["checkpoint"]["checkpoint_id"])
    assert (await talk.client.threads.get(talk.thread))["status"] == "interrupted"
    again = await talk.ask(None, command={"resume": "The spring tide at Port Anlow"})
    assert again["messages"][2]["content"] == "The spring tide at Port Anlow"
    assert "5.2 metres" in again["report"]["text"] != first["report"]["text"]
    assert again["findings"] and not again["findings"].keys() & first["findings"].keys()


@pytest.mark.fault("R23")
async def test_deleting_and_copying_a_thread_takes_its_page_texts_along(server: Server, talk: Conversation) -> None:
    await talk.ask(QUESTION)
    kept = pages(server, talk.thread)
    assert kept
    copy = await talk.copy()
    assert pages(server, copy.thread) == kept
    await talk.client.threads.delete(talk.thread)
    assert pages(server, talk.thread) == set()
    assert pages(server, copy.thread) == kept
    values = await copy.ask("How tall is the Skerry Light?")
    assert "38 metres" in values["report"]["text"]
    assert pages(server, talk.thread) == set()


async def hear(talk: Conversation, question: str) -> tuple[str, str]:
    """All that a chat client is sent of a question, and the link of the report's first source."""
    modes: Any = ["messages-tuple", "values"]
    settings: Any = {"stream_mode": modes, "stream_subgraphs": True}
    parts = [part async for part in talk.client.runs.stream(talk.thread, GRAPH, input=said(question), **settings)]
    assert "error" not in {part.event for part in parts}
    values = [part.data["messages"] for part in parts if part.event == "values"]
    streamed = [part.data[0] for part in parts if part.event.split("|")[0] == "messages"]
    marks = {message["id"]: message["additional_kwargs"].get("deep_research") for message in streamed}
    # Beside the report come lines that say what is under way; no state holds them.
    assert [key for key, mark in marks.items() if mark != "progress"] == [values[-1][-1]["id"]]
    lines = {key for key, mark in marks.items() if mark == "progress"}
    assert lines and lines.isdisjoint(one["id"] for messages in values for one in messages)
    return json.dumps([values, streamed]), LINK.findall(values[-1][-1]["content"])[0]


async def test_citations_in_messages_lead_to_a_page_of_the_server_that_shows_the_passage(
    server: Server, talk: Conversation
) -> None:
    links = dict[str, str]()
    for question, passage in (
        ("When was the Skerry Light lit?", "for the first time in 1844"),
        ("How high does the spring tide at Port Anlow reach?", "reaches 5.2 metres"),
    ):
        sent, link = await hear(talk, question)
        assert "file:" not in sent and str(server.folder) not in sent
        links[link] = passage
    # Also the link of the earlier report leads to its own source.
    assert len(links) == 2
    async with httpx.AsyncClient() as web:
        for link, passage in links.items():
            page, _, place = link.partition("#/run/")
            # The page itself is nobody's, and asks for the passage.
            shown = await web.get(page, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
            assert (shown.status_code, page) == (200, f"{server.url}/")
            thread, number = place.split("/source/")
            asked = f"{page}research/runs/{thread}/sources/{number}?of=thread"
            source = (await web.get(asked, headers={"X-Api-Key": server.token})).json()
            assert passage in source["texts"][0]
    await asyncio.to_thread(follow_in_browser, server, links)


def follow_in_browser(server: Server, links: dict[str, str]) -> None:
    if not CHROMIUM.exists():
        return
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        page = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"]).new_page()
        page.goto(f"{server.url}/#token={server.token}")
        page.locator("#question").wait_for()
        for link, passage in links.items():
            page.goto("about:blank")
            page.goto(link)
            page.locator("dialog[open] mark").first.wait_for()
            assert passage in page.locator("dialog[open] .source-text").inner_text()
            assert passage in " ".join(page.locator("dialog[open] mark").all_inner_texts())


@pytest.mark.slow
@pytest.mark.parametrize("script", on_server(), ids=lambda script: script.page)
def test_a_script_of_the_docs_asks_the_server_and_prints_a_cited_report(script: Script, server: Server) -> None:
    assert "http://127.0.0.1:2024" in script.text
    here = script.text.replace("http://127.0.0.1:2024", server.url)
    environment = {**os.environ, "LANGGRAPH_API_KEY": server.token}
    done = subprocess.run([sys.executable, "-c", here], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    assert "1844. [1]" in done.stdout


@pytest.mark.fault(54)
def test_all_of_this_was_done_without_a_complaint(server: Server) -> None:
    assert server.complaints() == []
