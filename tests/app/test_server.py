"""`langgraph dev` serves the graphs of `langgraph.json`: no key, no token, no network, no warning."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from kit.docs import Script, on_server
from kit.forked import run_forked
from kit.server import GRAPH, THREE_TASKS, Conversation, Server, said
from langgraph_sdk.client import LangGraphClient

from deep_research.app.stream import read_packet
from deep_research.core.events.packets import OverallStop, RowShown

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
"""Attacks from a page of another origin, one of them with the token."""
CHROMIUM = Path("/usr/bin/chromium")
STUDIO = {
    "Origin": "https://smith.langchain.com",
    "Sec-Fetch-Site": "cross-site",
    "x-auth-scheme": "langsmith",
}
"""Headers that a browser sends for Studio."""
PLAIN = {"Content-Type": "text/plain"}
REFUSED: dict[int, list[dict[str, str]]] = {
    403: [
        {"Origin": "https://evil.example"},
        {**STUDIO, "Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {
            "Sec-Fetch-Site": "same-site",
            "x-auth-scheme": "langsmith",
            "X-Api-Key": "a-key-of-something-else",
        },
    ],
    415: [
        {**STUDIO, **PLAIN},
        {"Sec-Fetch-Site": "same-origin", **PLAIN},
        {**STUDIO, "Content-Type": ""},
    ],
    421: [{"Host": "evil.example"}, {**STUDIO, "Host": "evil.example"}],
}
"""Headers of refused requests, by the status of the answer."""
UNCLEAR = "Compare them?"
LINK = re.compile(r"^\[(\d+)\]: <([^>]+)>$", re.MULTILINE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
async def talk(client: LangGraphClient) -> Conversation:
    return await Conversation(client).create()


def pages(server: Server, thread: str) -> set[str]:
    """Keys of a thread's page texts in the store."""
    with closing(sqlite3.connect(server.data / "runs.sqlite")) as connection:
        return {
            row[0]
            for row in connection.execute(
                "SELECT key FROM store WHERE prefix = ?", (f"{thread}.pages",)
            )
        }


@pytest.mark.skipif(sys.platform != "linux", reason="the machine has one loopback address")
@pytest.mark.fault("R24")
def test_the_server_listens_on_loopback_and_needs_a_token_from_other_addresses(
    server: Server,
) -> None:
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    port = f":{server.port:04X}"
    assert [
        address for _, address, _, state, *_ in sockets if address.endswith(port) and state == "0A"
    ] == [f"0100007F{port}"]
    for address, status in (("127.0.0.1", 200), ("127.0.0.2", 401)):
        for headers in ({}, {"X-Api-Key": server.token}):
            way = httpx.HTTPTransport(local_address=address)
            with httpx.Client(base_url=server.url, transport=way, headers=headers) as web:
                assert web.get("/info").status_code == status


async def test_studio_asks_answers_edits_and_forks_as_it_comes(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url, headers=STUDIO, timeout=60) as web:
        asked = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Private-Network": "true",
        }
        leave = (await web.options("/assistants/search", headers=asked)).headers
        assert leave["Access-Control-Allow-Origin"] == STUDIO["Origin"]
        assert leave["Access-Control-Allow-Private-Network"] == "true"
        info = await web.get("/info")
        assert (info.status_code, info.headers["Access-Control-Allow-Origin"]) == (
            200,
            STUDIO["Origin"],
        )
        listed = (await web.post("/assistants/search", json={})).json()
        assistants = {assistant["graph_id"]: assistant for assistant in listed}
        assert {assistant["name"] for assistant in assistants.values()} == {
            "Deep research",
            "Planned research",
            "Table",
        }
        for assistant in assistants.values():
            assert re.search("every (?:sentence|cell) is traced", assistant["description"])
        assistant = assistants[GRAPH]["assistant_id"]
        for path in ("schemas", "subgraphs", "graph?xray=true"):
            assert (await web.get(f"/assistants/{assistant}/{path}")).json()
        thread = f"/threads/{(await web.post('/threads', json={})).json()['thread_id']}"
        run = {"assistant_id": assistant, "stream_mode": ["values", "messages-tuple", "custom"]}
        streamed = await web.post(f"{thread}/runs/stream", json={**run, "input": said(UNCLEAR)})
        assert "__interrupt__" in streamed.text
        await web.post(f"{thread}/runs/stream", json={**run, "command": {"resume": THREE_TASKS}})
        state = (await web.get(f"{thread}/state")).json()
        assert "1844. [" in state["values"]["report"]["text"] and state["next"] == []

        # Studio sends back the whole state with the user's change.
        edited = state["values"] | {
            "messages": [*state["values"]["messages"][:-1], {**state["values"]["messages"][-1]}]
        }
        edited["messages"][-1]["content"] = "Edited."
        answer = await web.post(
            f"{thread}/state", json={"values": edited, "checkpoint": state["checkpoint"]}
        )
        assert answer.status_code == 200, answer.text
        assert (await web.get(f"{thread}/state")).json()["values"] == edited

        history = (await web.post(f"{thread}/history", json={"limit": 100})).json()
        first = next(state for state in history if state["next"] == ["begin"])
        first["values"]["messages"][0]["content"] = "How tall is the Skerry Light?"
        answer = await web.post(
            f"{thread}/state", json={"values": first["values"], "checkpoint": first["checkpoint"]}
        )
        forked = {**run, "input": None, "checkpoint": answer.json()["checkpoint"]}
        await web.post(f"{thread}/runs/stream", json=forked)
        values = (await web.get(f"{thread}/state")).json()["values"]
        assert (
            values["run"]["question"] == "How tall is the Skerry Light?"
            and "38 metres" in values["report"]["text"]
        )
        assert [message["type"] for message in values["messages"]] == ["human", "ai"]
        assert (await web.post(f"{thread}/state", json={"values": {}, "checkpoint": {"checkpoint_ns": "researcher:x"}})
        ).status_code == 403  # fmt: skip


@pytest.mark.fault("R26")
async def test_pages_of_other_origins_are_refused_and_plain_clients_are_accepted(
    server: Server,
) -> None:
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
        asked = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Private-Network": "true",
        }
        asked |= {"Origin": "https://evil.example", "Access-Control-Request-Headers": "x-api-key"}
        answer = await web.options("/threads", headers=asked)
        assert (answer.status_code, "Access-Control-Allow-Private-Network" in answer.headers) == (
            400,
            False,
        )
        assert (await web.post("/threads/count", json={})).json() == before
        for headers in (
            {},
            {"X-Api-Key": "a-key-of-something-else", **PLAIN},
            {"Sec-Fetch-Site": "none"},
        ):
            answer = await web.post(
                "/threads/count",
                content="{}",
                headers={"Content-Type": "application/json", **headers},
            )
            assert answer.status_code == 200, (headers, answer.text)
        own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
        assert (await web.post("/threads/count", json={}, headers=own)).status_code == 200


@pytest.mark.slow
@pytest.mark.fault("R26")
@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium here")
def test_another_page_in_a_browser_reads_and_changes_nothing(
    server: Server, tmp_path: Path
) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "page.html").write_text("<title>A page</title>", "utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    threads = httpx.post(f"{server.url}/threads/count", json={}).json()
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as pages,
        playwright.sync_playwright() as driver,
    ):
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        started = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = started.new_page()
        # Same site for the browser, then another site.
        for host in ("127.0.0.1", "localhost"):
            page.goto(f"http://{host}:{pages.server_port}/page.html")
            got = page.evaluate(ATTACKS, [server.url, server.token])
            assert got == dict.fromkeys(got, "nothing") and len(got) == 7
        page.goto(server.url)
        page.locator("#question").wait_for()
        started.close()
        pages.shutdown()
    assert httpx.post(f"{server.url}/threads/count", json={}).json() == threads


@pytest.mark.slow
async def test_the_planned_strategy_is_served_beside_the_other(
    client: LangGraphClient, server: Server
) -> None:
    talk = await Conversation(client, graph="planned_research").create()
    await talk.ask(UNCLEAR)
    assert (await client.threads.get(talk.thread))["status"] == "interrupted"
    values = await talk.ask(None, command={"resume": THREE_TASKS})
    assert "was lit for the first time in 1844." in values["report"]["text"]
    assert {step["status"] for step in values["steps"]} == {"completed"}
    packets = [read_packet(packet) for packet in talk.packets()]
    assert isinstance(packets[-1], OverallStop) and packets[-1].stop_reason == "completed"
    types = {packet.type for packet in packets}
    assert {
        "activity",
        "step_started",
        "step_learnings",
        "step_done",
        "report_framing",
        "sources",
    } <= types
    metadata: Any = (await client.threads.get_state(talk.thread))["metadata"]
    assert metadata["research_strategy"] == "planned"
    assert server.complaints() == []


@pytest.mark.slow
async def test_the_table_strategy_is_served_and_streams_its_rows(
    client: LangGraphClient, server: Server
) -> None:
    talk = await Conversation(client, graph="table_research").create()
    await talk.ask("A table of all documents: height of the light")
    values = await talk.ask(None, command={"resume": "yes"})
    assert "| Document |" in values["report"]["text"]
    rows = [read_packet(packet) for packet in talk.packets()]
    shown = [packet for packet in rows if isinstance(packet, RowShown)]
    assert {packet.standing for packet in shown} == {"found", "filled"}
    assert server.complaints() == []


@pytest.mark.fault("R23")
async def test_deleting_and_copying_a_thread_takes_its_page_texts_along(
    server: Server, talk: Conversation
) -> None:
    await talk.ask(THREE_TASKS)
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
    """Everything a chat client receives for a question, and the link of the report's first source."""
    modes: Any = ["messages-tuple", "values"]
    settings: Any = {"stream_mode": modes, "stream_subgraphs": True}
    parts = [
        part
        async for part in talk.client.runs.stream(
            talk.thread, GRAPH, input=said(question), **settings
        )
    ]
    assert "error" not in {part.event for part in parts}
    values = [part.data["messages"] for part in parts if part.event == "values"]
    streamed = [part.data[0] for part in parts if part.event.split("|")[0] == "messages"]
    marks = {
        message["id"]: message["additional_kwargs"].get("deep_research") for message in streamed
    }
    # Progress lines are streamed beside the report, but not stored in the state.
    assert [key for key, mark in marks.items() if mark != "progress"] == [values[-1][-1]["id"]]
    lines = {key for key, mark in marks.items() if mark == "progress"}
    assert lines and lines.isdisjoint(message["id"] for messages in values for message in messages)
    report = values[-1][-1]["content"]
    first = re.findall(r"\[(\d+)\]", report)[0]
    return json.dumps([values, streamed]), dict(LINK.findall(report))[first]


async def test_citations_lead_to_a_page_that_shows_the_passage(
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
    # The earlier report's link still leads to its own source.
    assert len(links) == 2
    async with httpx.AsyncClient() as web:
        for link, passage in links.items():
            page, _, fragment = link.partition("#/run/")
            # The page needs no token; its request for the passage does.
            shown = await web.get(
                page, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
            )
            assert (shown.status_code, page) == (200, f"{server.url}/")
            thread, number = fragment.split("/source/")
            asked = f"{page}research/runs/{thread}/sources/{number}?of=thread"
            source = (await web.get(asked, headers={"X-Api-Key": server.token})).json()
            assert passage in source["texts"][0]


@pytest.mark.slow
@pytest.mark.parametrize("script", on_server(), ids=lambda script: script.page)
def test_a_script_of_the_docs_asks_the_server_and_prints_a_cited_report(
    script: Script, server: Server
) -> None:
    assert "http://127.0.0.1:2024" in script.text
    here = script.text.replace("http://127.0.0.1:2024", server.url)
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    done = run_forked([sys.executable, "-c", here], **streams)
    assert done.returncode == 0, done.stderr
    assert "1844. [1]" in done.stdout


@pytest.mark.fault(54)
def test_the_server_log_has_no_warning_or_error(server: Server) -> None:
    assert server.complaints() == []
