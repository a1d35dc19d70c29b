"""`langgraph dev` serves the graphs of `langgraph.json`: no key, no token, no network, no warning."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from command import Desk
from decisions import requested
from langgraph_sdk.client import LangGraphClient
from pages import Script, on_server
from server import GRAPH, Conversation, Server, said, until

from deep_research.app.stream import read_packet
from deep_research.core.run.events.packets import OverallStop

ATTACKS = """async ([server, token]) => {
  const got = {};
  const send = async (name, path, options) => {
    try {
      const answer = await fetch(server + path, options);
      got[name] = answer.type === "opaque" ? "nothing" : `${answer.status} ${await answer.text()}`;
    } catch { got[name] = "nothing"; }
  };
  const json = {"Content-Type": "application/json"}, post = {method: "POST", body: "{}"};
  await send("read", "/threads/search", {...post, headers: json});
  await send("read with the token", "/threads/search", {...post, headers: {...json, "X-Api-Key": token}});
  await send("simple", "/threads", {...post, headers: {"Content-Type": "text/plain"}});
  await send("blind", "/threads", {...post, mode: "no-cors", headers: {"Content-Type": "text/plain"}});
  await send("get", "/info", {});
  await send("form", "/threads", {method: "POST", mode: "no-cors", body: new FormData()});
  got["socket"] = await new Promise(done => {
    const socket = new WebSocket(server.replace("http", "ws") + `/threads/${crypto.randomUUID()}/stream/events`);
    socket.onopen = () => done("open");
    socket.onerror = () => done("nothing");
  });
  return got;
}"""
"""What a page of another origin may try; who knows the token as well gets no further."""
CHROMIUM = Path("/usr/bin/chromium")
STUDIO = {"Origin": "https://smith.langchain.com", "Sec-Fetch-Site": "cross-site", "x-auth-scheme": "langsmith"}
"""What a browser and Studio send with each request."""
PLAIN = {"Content-Type": "text/plain"}
REFUSED: dict[int, list[dict[str, str]]] = {
    403: [
        {"Origin": "https://evil.example"},
        {**STUDIO, "Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "x-auth-scheme": "langsmith", "X-Api-Key": "a-key-of-something-else"},
    ],
    415: [{**STUDIO, **PLAIN}, {"Sec-Fetch-Site": "same-origin", **PLAIN}, {**STUDIO, "Content-Type": ""}],
    421: [{"Host": "evil.example"}, {**STUDIO, "Host": "evil.example"}],
}
"""Requests that no web page may send but by Studio, by the status of the answer."""
UNCLEAR = "Compare them?"
QUESTION = "On the coast:\n1. The Skerry Light\n2. Its keeper Ada Moran\n3. The harbour Port Anlow"

LINK = re.compile(r"^\[(\d+)\]: <([^>]+)>$", re.MULTILINE)
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
def test_it_listens_on_loopback_and_needs_no_token_from_its_own_address_alone(server: Server) -> None:
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    port = f":{server.port:04X}"
    assert [place for _, place, _, state, *_ in sockets if place.endswith(port) and state == "0A"] == [
        f"0100007F{port}"
    ]
    for address, status in (("127.0.0.1", 200), ("127.0.0.2", 401)):
        for headers in ({}, {"X-Api-Key": server.token}):
            way = httpx.HTTPTransport(local_address=address)
            with httpx.Client(base_url=server.url, transport=way, headers=headers) as web:
                assert web.get("/info").status_code == status


async def test_it_says_where_to_click(server: Server) -> None:
    studio = f"https://smith.langchain.com/studio/?baseUrl={server.url}"

    async def is_printed() -> bool:
        return f"Deep Research: open {server.url}/ or {studio}\n" in server.log.read_text("utf-8")

    await until(is_printed)


async def test_studio_asks_answers_edits_and_forks_as_it_comes(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url, headers=STUDIO, timeout=60) as web:
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"}
        leave = (await web.options("/assistants/search", headers=asked)).headers
        assert leave["Access-Control-Allow-Origin"] == STUDIO["Origin"]
        assert leave["Access-Control-Allow-Private-Network"] == "true"
        info = await web.get("/info")
        assert (info.status_code, info.headers["Access-Control-Allow-Origin"]) == (200, STUDIO["Origin"])
        assistants = {one["graph_id"]: one for one in (await web.post("/assistants/search", json={})).json()}
        assert {one["name"] for one in assistants.values()} == {"Deep research", "Planned research"}
        assert all("every sentence is traced" in one["description"] for one in assistants.values())
        assistant = assistants[GRAPH]["assistant_id"]
        for path in ("schemas", "subgraphs", "graph?xray=true"):
            assert (await web.get(f"/assistants/{assistant}/{path}")).json()
        thread = f"/threads/{(await web.post('/threads', json={})).json()['thread_id']}"
        run = {"assistant_id": assistant, "stream_mode": ["values", "messages-tuple", "custom"]}
        streamed = await web.post(f"{thread}/runs/stream", json={**run, "input": said(UNCLEAR)})
        assert "__interrupt__" in streamed.text
        await web.post(f"{thread}/runs/stream", json={**run, "command": {"resume": QUESTION}})
        state = (await web.get(f"{thread}/state")).json()
        assert "1844. [" in state["values"]["report"]["text"] and state["next"] == []

        # It sends back all that it has shown, with what the user has changed in it.
        edited = state["values"] | {
            "messages": [*state["values"]["messages"][:-1], {**state["values"]["messages"][-1]}]
        }
        edited["messages"][-1]["content"] = "Edited."
        answer = await web.post(f"{thread}/state", json={"values": edited, "checkpoint": state["checkpoint"]})
        assert answer.status_code == 200, answer.text
        assert (await web.get(f"{thread}/state")).json()["values"] == edited

        history = (await web.post(f"{thread}/history", json={"limit": 100})).json()
        first = next(state for state in history if state["next"] == ["begin"])
        first["values"]["messages"][0]["content"] = "How tall is the Skerry Light?"
        answer = await web.post(f"{thread}/state", json={"values": first["values"], "checkpoint": first["checkpoint"]})
        forked = {**run, "input": None, "checkpoint": answer.json()["checkpoint"]}
        await web.post(f"{thread}/runs/stream", json=forked)
        values = (await web.get(f"{thread}/state")).json()["values"]
        assert values["run"]["question"] == "How tall is the Skerry Light?" and "38 metres" in values["report"]["text"]
        assert [message["type"] for message in values["messages"]] == ["human", "ai"]
        assert (await web.post(f"{thread}/state", json={"values": {}, "checkpoint": {"checkpoint_ns": "researcher:x"}})
        ).status_code == 403  # fmt: skip


@pytest.mark.fault("R26")
async def test_no_other_page_gets_in_and_clients_that_are_no_page_do(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as web:
        before = (await web.post("/threads/count", json={})).json()
        for status, requests in REFUSED.items():
            for headers in requests:
                sent = {"Content-Type": "application/json", **headers}
                answer = await web.post("/threads", content="{}", headers=sent)
                assert answer.status_code == status, (headers, answer.text)
                if status == 403:
                    assert "DEEP_RESEARCH_SERVER_ORIGINS" in answer.text
                    assert "Access-Control-Allow-Origin" not in answer.headers
                if status != 415:
                    assert (await web.get("/info", headers=headers)).status_code == status
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"}
        answer = await web.options("/threads", headers={**asked, "Origin": "https://evil.example"})
        assert (answer.status_code, "Access-Control-Allow-Private-Network" in answer.headers) == (400, False)
        assert (await web.post("/threads/count", json={})).json() == before
        for headers in ({}, {"X-Api-Key": "a-key-of-something-else", **PLAIN}, {"Sec-Fetch-Site": "none"}):
            answer = await web.post(
                "/threads/count", content="{}", headers={"Content-Type": "application/json", **headers}
            )
            assert answer.status_code == 200, (headers, answer.text)
        own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
        assert (await web.post("/threads/count", json={}, headers=own)).status_code == 200


@pytest.mark.slow
@pytest.mark.fault("R26")
@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium here")
def test_another_page_in_a_browser_gets_nothing_and_changes_nothing_and_our_own_works(
    server: Server, tmp_path: Path
) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "page.html").write_text("<title>A page</title>", "utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    threads = httpx.post(f"{server.url}/threads/count", json={}).json()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as pages, playwright.sync_playwright() as driver:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        started = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = started.new_page()
        # Of the same site by the browser's reckoning, and of another one.
        for host in ("127.0.0.1", "localhost"):
            page.goto(f"http://{host}:{pages.server_port}/page.html")
            got = page.evaluate(ATTACKS, [server.url, server.token])
            assert got == dict.fromkeys(got, "nothing") and len(got) == 7
        page.goto(server.url)
        page.locator("#question").wait_for()
        started.close()
        pages.shutdown()
    assert httpx.post(f"{server.url}/threads/count", json={}).json() == threads


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
    context = schemas["context_schema"]["properties"]
    assert {field["title"].split(":")[0] for field in context.values()} == {"Report", "Research", "Sources", "Limits"}
    limits = context["limits"]["properties"]
    assert len(limits) == 6
    for field in (*context.values(), *limits.values()):
        assert field["title"] and field["description"] and isinstance(field["type"], str)
    assert context["depth"]["enum"] == ["quick", "standard", "deep", "auto"]


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
    packets = [read_packet(packet) for packet in talk.packets()]
    assert isinstance(packets[-1], OverallStop) and packets[-1].stop_reason == "completed"
    types = {packet.type for packet in packets}
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
    report = values[-1][-1]["content"]
    first = re.findall(r"\[(\d+)\]", report)[0]
    return json.dumps([values, streamed]), dict(LINK.findall(report))[first]


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
    done = subprocess.run([sys.executable, "-c", here], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "1844. [1]" in done.stdout


@pytest.mark.fault(54)
def test_all_of_this_was_done_without_a_complaint(server: Server) -> None:
    assert server.complaints() == []
