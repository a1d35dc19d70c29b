"""What is traced of a run, where it is said, and how nothing is: against a tracing server on loopback."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from command import SECONDS, Desk, lines_until
from lab import QUESTION, REPORT, lab, search, write_documents
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.config import get_config
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph_sdk import get_sync_client
from scripted import call, calls
from server import CONFIG, Conversation, Server, said
from traced import PROJECT, Sink, tracing_here, tracing_sink
from typing_extensions import override

from deep_research import aresearch, build_graph, thread_id
from deep_research.core.run.context import Context

LIT = "The Skerry Light was lit for the first time in 1844."
SEEN_FROM: list[str] = []


class Archive(BaseRetriever):
    """A retriever that blocks."""

    @override
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(LIT, metadata={"source": "https://archive.example/light", "title": "The Light"})]


def _look_up(name: str) -> str:
    return f"Ada Moran kept the {name}."


look_up = RunnableLambda(_look_up).with_config(run_name="look_up")


@tool
def keepers(light: str) -> str:
    """Names the keepers of a light."""
    SEEN_FROM.append(get_config()["configurable"]["thread_id"])
    return look_up.invoke(light)


@pytest.fixture
def sink() -> Iterator[Sink]:
    with tracing_here() as sink:
        yield sink


def notice_of(sink: Sink) -> str:
    host = sink.url.removeprefix("http://")
    return f"Tracing is on: prompts and passages go to {host} (project '{PROJECT}')"


@pytest.mark.parametrize("is_multipart", [True, False])
async def test_a_run_with_its_nodes_calls_searches_reads_and_tools_is_one_tree(
    tmp_path: Path, is_multipart: bool
) -> None:
    steps = [
        search("Skerry Light"),
        calls(call("web_search", queries=["Skerry Light lit"])),
        calls(call("open_url", urls=["docs:lab-documents/lighthouse.md"])),
        calls(call("keepers", light="Skerry Light")),
    ]
    run = lab(tmp_path, researcher=[*steps, REPORT, "It was lit in 1844. [1]"], engines=(Archive(),), tools=(keepers,))
    SEEN_FROM.clear()
    with tracing_here(is_multipart=is_multipart) as sink:
        state = await run.ask()
        sink.flush()
        [tree] = sink.trees
        assert [note for note in state.run.notices if note.startswith(notice_of(sink))]
    nodes = ["begin", "clarify", "plan", "orchestrate", "researcher", "collect"]
    nodes += ["write_report", "grade_report", "verify_report"]
    inner = [one.name for one in tree.inner]
    assert (tree.name, list(dict.fromkeys(inner))) == ("deep_research", nodes)
    researcher = tree.named("researcher")
    assert [one.name for one in researcher.named("researcher_graph").inner] == [
        *["think_or_act", "use_tools"] * 4,
        *["think_or_act", "write_finding"],
    ]
    assert researcher.names("tool") == ["internal_search", "web_search", "open_url", "keepers"]
    assert tree.named("web_search").names("retriever") == ["Archive"]
    assert tree.named("keepers").names("chain") == ["look_up"]
    made = sum(len(model.calls) for model in run.models.values())
    assert len(tree.names("llm")) == made == 12
    assert tree.named("internal_search").inputs == {"queries": ["Skerry Light"]}
    read = tree.named("open_url")
    assert read.inputs == {"urls": ["docs:lab-documents/lighthouse.md"]}
    assert "38 metres tall" in read.outputs["output"]["found"][0]["text"]
    assert all(one.inputs and one.outputs for one in tree.every() if one.kind != "chain")
    # A function that blocks finds the run's settings as one that does not.
    assert [thread_id("lab")] == SEEN_FROM


async def test_a_planned_run_is_one_tree_too(tmp_path: Path, sink: Sink) -> None:
    docs = write_documents(tmp_path / "docs")
    await aresearch(QUESTION, "planned", models="extractive", docs=[docs], data_dir=tmp_path)
    sink.flush()
    [tree] = sink.trees
    nodes = {"begin", "orient", "clarify", "plan_steps", "step", "collect", "write_report", "verify_report"}
    assert tree.name == "planned_research"
    assert nodes <= {one.name for one in tree.inner}
    assert {"internal_search", "open_url"} >= set(tree.named("step").names("tool")) != set()
    assert tree.names("llm")


async def test_without_the_variable_that_switches_tracing_on_nothing_is_sent(tmp_path: Path) -> None:
    with tracing_here(is_on=False) as sink:
        state = await lab(tmp_path).ask()
        sink.flush()
        assert (sink.trees, [note for note in state.run.notices if "racing" in note]) == ([], [])


def test_the_command_is_traced_by_the_usual_variables_and_says_so(desk: Desk) -> None:
    question = ("ask", "When was the Skerry Light lit?", "--docs", str(desk.docs))
    with tracing_sink() as sink:
        keys = {name: value for name, value in sink.environment.items() if name != "LANGSMITH_TRACING"}
        untraced = {name: value for name, value in {**desk.environment, **keys}.items() if name != "LANGSMITH_TRACING"}
        traced = {**untraced, "LANGCHAIN_TRACING_V2": "true"}
        assert "Tracing" not in desk.run(*question, env=untraced).err
        kept = desk.run(*question, "--thread", "kept", "--no-trace", env=traced)
        assert (kept.code, "Tracing" in kept.err, sink.requests) == (0, False, [])
        # A run that was begun so goes on so.
        assert desk.run("ask", "Who kept it?", "--thread", "kept", env=traced).code == 0
        assert sink.requests == []
        asked = desk.run(*question, env=traced)
        assert f"Note: {notice_of(sink)}" in asked.err
        assert notice_of(sink) in asked.out
        [tree] = sink.trees
        assert (tree.name, tree.names("tool")) == ("deep_research", ["internal_search"])
        assert f"ok       tracing: {notice_of(sink)}" in desk.run("doctor", env=traced).out
        assert "ok       tracing: off" in desk.run("doctor", env=untraced).out


def test_traces_go_by_opentelemetry_alone_where_its_variables_say_so(desk: Desk) -> None:
    with tracing_sink() as sink:
        settings = {
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_TRACING_MODE": "otel",
            "OTEL_EXPORTER_OTLP_ENDPOINT": sink.url,
        }
        question = ("ask", "When was the Skerry Light lit?", "--docs", str(desk.docs))
        asked = desk.run(*question, env={**desk.environment, **settings})
        assert f"prompts and passages go to {sink.url[7:]} (project 'default')" in asked.err
        [tree] = sink.trees
        assert set(sink.requests) == {"/v1/traces"}
    assert (tree.name, tree.names("tool")) == ("deep_research", ["internal_search"])
    assert len(tree.names("llm")) == 8


async def test_on_a_server_a_user_can_keep_a_run_out_of_the_operators_tracing(tmp_path: Path) -> None:
    with tracing_sink() as sink:
        server = Server(tmp_path, CONFIG, **sink.environment)
        server.start()
        try:
            async with server.client() as client:
                kept = await Conversation(client).create()
                values = await kept.ask("When was the Skerry Light lit?", context={"tracing": False})
                assert not [note for note in values["run"]["notices"] if "racing" in note]
                traced = await Conversation(client).create()
                values = await traced.ask("Who kept the Skerry Light?")
                assert [note for note in values["run"]["notices"] if note.startswith(notice_of(sink))]
        finally:
            server.stop()
        [tree] = sink.trees
        assert tree.inputs["messages"][0]["content"] == "Who kept the Skerry Light?"
        assert tree.names("tool") == ["internal_search"]


@pytest.mark.slow
@pytest.mark.parametrize("is_on", [True, False])
def test_serve_traces_if_it_is_asked_to_and_a_key_alone_does_not_ask(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, is_on: bool
) -> None:
    monkeypatch.delenv("LANGSMITH_TRACING")
    with tracing_sink() as sink:
        settings = {name: value for name, value in sink.environment.items() if is_on or name != "LANGSMITH_TRACING"}
        with desk.started("serve", "--docs", str(desk.docs), **settings) as process:
            url, token = lines_until(process, "Its page: ")[-1].split()[-1].split("/#token=")
            offered = httpx.get(f"{url}/research/offer", headers={"X-Api-Key": token}, timeout=SECONDS).json()
            with get_sync_client(url=url, api_key=token) as client:
                thread = client.threads.create()["thread_id"]
                client.runs.wait(thread, "deep_research", input=said("When was the Skerry Light lit?"))
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS)
        assert bool(offered["tracing"]) == is_on
        assert [tree.name for tree in sink.trees] == ["Deep research"] * is_on


class Heard(BaseCallbackHandler):
    """Notes the models that a caller's callbacks hear of, with tags and metadata."""

    def __init__(self) -> None:
        self.models: list[tuple[list[str], dict[str, Any]]] = []

    def on_chat_model_start(self, *_: Any, **known: Any) -> None:
        self.models.append((known["tags"], known["metadata"]))


async def inside(graph: Any, how: str, call: dict[str, Any]) -> None:
    """Have a graph run by itself or in another one, as its node or called by a node."""
    if how == "alone":
        await graph.ainvoke(**call)
        return

    async def node(state: MessagesState) -> dict[str, Any]:
        found = await graph.ainvoke(**{**call, "input": state})
        return {"messages": found["messages"][-1:]}

    outer = StateGraph(MessagesState, context_schema=Context)
    outer.add_node("inner", graph if how == "node" else node)
    outer.add_edge(START, "inner")
    store = InMemoryStore()
    await outer.compile(store=store).ainvoke(**call)


@pytest.mark.parametrize("how", ["alone", "called", "node"])
async def test_a_run_that_is_not_to_be_traced_is_seen_by_the_callers_callbacks_alone(
    tmp_path: Path, sink: Sink, how: str
) -> None:
    run, heard = lab(tmp_path, tracing=False, clarify="assume"), Heard()
    call = {
        "input": {"messages": [HumanMessage(QUESTION)]},
        "context": run.context,
        "config": {"callbacks": [heard]},
    }
    await inside(build_graph(), how, call)
    sink.flush()
    made = sum(len(model.calls) for model in run.models.values())
    assert len(heard.models) == made == 9
    assert [one.name for tree in sink.trees for one in tree.every()] == (
        [] if how == "alone" else ["LangGraph", "inner"]
    )
