"""Tracing of runs, its notices, and runs kept out of it, with a tracing server on loopback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import langsmith
import pytest
from kit.commands import Desk, Ended, desk_in
from kit.models import HeardCalls, call, calls
from kit.runs import QUESTION, REPORT, lab, search
from kit.tracing import PROJECT, Sink, tracing_sink
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers.langchain import wait_for_all_tracers
from langgraph.config import get_config
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langsmith import Client
from langsmith.utils import get_env_var
from typing_extensions import override

from deep_research import build_graph, thread_id
from deep_research.core.events.tracing import traced_to
from deep_research.core.settings.context import Context


@pytest.fixture
def sink() -> Iterator[Sink]:
    """A tracing server to which the environment of this process leads."""
    with tracing_sink() as sink, pytest.MonkeyPatch.context() as patch:
        for name, value in sink.environment.items():
            patch.setenv(name, value)
        # The library reads each variable once a process.
        get_env_var.cache_clear()  # type: ignore[attr-defined]  # overloads hide the cache
        client = Client()
        langsmith.configure(client=client)
        try:
            yield sink
        finally:
            client.flush()
            langsmith.configure(client=None)
            patch.undo()
            get_env_var.cache_clear()  # type: ignore[attr-defined]  # overloads hide the cache


LIT = "The Skerry Light was lit for the first time in 1844."
SEEN_FROM: list[str] = []


class Archive(BaseRetriever):
    """A retriever that blocks."""

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [
            Document(
                LIT, metadata={"source": "https://archive.example/light", "title": "The Light"}
            )
        ]


look_up = RunnableLambda[str, str](lambda name: f"Ada Moran kept the {name}.").with_config(
    run_name="look_up"
)


@tool
def keepers(light: str) -> str:
    """Names the keepers of a light."""
    SEEN_FROM.append(get_config()["configurable"]["thread_id"])
    return look_up.invoke(light)


def notice_of(sink: Sink) -> str:
    host = sink.url.removeprefix("http://")
    return f"Tracing is on: prompts and passages go to {host} (project '{PROJECT}')"


async def test_a_run_is_traced_as_one_tree(tmp_path: Path, sink: Sink) -> None:
    steps = [
        search("Skerry Light"),
        calls(call("web_search", queries=["Skerry Light lit"])),
        calls(call("open_url", urls=["docs:lab-documents/lighthouse.md"])),
        calls(call("keepers", light="Skerry Light")),
    ]
    run = lab(
        tmp_path,
        researcher=[*steps, REPORT, "It was lit in 1844. [1]"],
        engines=(Archive(),),
        tools=(keepers,),
    )
    SEEN_FROM.clear()
    state = await run.ask()
    wait_for_all_tracers()
    [tree] = sink.trees
    assert [note for note in state.run.notices if note.startswith(notice_of(sink))]
    nodes = ["begin", "clarify", "plan", "orchestrate", "researcher", "collect"]
    nodes += ["write_report", "grade_report", "verify_report"]
    inner = [span.name for span in tree.inner]
    assert (tree.name, list(dict.fromkeys(inner))) == ("deep_research", nodes)
    researcher = tree.named("researcher")
    assert [span.name for span in researcher.named("researcher_graph").inner] == [
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
    assert all(span.inputs and span.outputs for span in tree.every() if span.kind != "chain")
    # A blocking function sees the run's configuration too.
    assert [thread_id("lab")] == SEEN_FROM


class Traced(NamedTuple):
    """A command that was traced, with the servers of LangSmith and OpenTelemetry."""

    ended: Ended
    sink: Sink
    collector: Sink

    @property
    def posted(self) -> list[str]:
        """The paths at which LangSmith was sent anything."""
        return [request.target for request in self.sink.requests if request.method == "POST"]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Traced]]:
    """A command for each mode of tracing. The libraries read their variables once a process."""
    desk = desk_in(tmp_path_factory.mktemp("traced"))
    question = ("ask", "When was the Skerry Light lit?", "--docs", str(desk.docs))
    with ExitStack() as stack:
        servers = dict[str, tuple[Sink, Sink]]()
        commands = list[tuple[Sequence[str], Mapping[str, str]]]()
        for mode in ("hybrid", "otel"):
            sink = stack.enter_context(tracing_sink())
            collector = stack.enter_context(tracing_sink())
            servers[mode] = (sink, collector)
            variables = {
                **sink.environment,
                "LANGSMITH_TRACING_MODE": mode,
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            }
            if mode == "hybrid":
                # The older name of the variable.
                variables["LANGCHAIN_TRACING_V2"] = variables.pop("LANGSMITH_TRACING")
            commands.append((question, variables))
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("LANGSMITH_TRACING")
            ends = desk.run_each(*commands)
        yield {
            mode: Traced(ended, *pair)
            for (mode, pair), ended in zip(servers.items(), ends, strict=True)
        }


@pytest.mark.slow
def test_the_command_is_traced_with_the_variables_of_langsmith_and_opentelemetry_and_says_so(
    traced: dict[str, Traced],
) -> None:
    asked, sink, collector = traced["hybrid"]
    hosts = " and ".join(urlsplit(server.url).netloc for server in (sink, collector))
    notice = f"Tracing is on: prompts and passages go to {hosts} (project '{PROJECT}')"
    assert f"Note: {notice}" in asked.err
    assert notice in asked.out
    [tree] = sink.trees
    assert (tree.name, tree.names("tool")) == ("deep_research", ["internal_search"])
    assert {request.target for request in collector.requests} == {"/v1/traces"}


@pytest.mark.slow
def test_with_opentelemetry_alone_traces_go_to_its_collector_only(
    traced: dict[str, Traced],
) -> None:
    asked, _, collector = traced["otel"]
    host = urlsplit(collector.url).netloc
    assert f"prompts and passages go to {host} (project '{PROJECT}')" in asked.err
    assert {request.target for request in collector.requests} == {"/v1/traces"}
    assert traced["otel"].posted == []


def test_no_trace_sends_nothing_and_is_kept_with_the_run(desk: Desk, sink: Sink) -> None:
    question = ("ask", "When was the Skerry Light lit?", "--docs", str(desk.docs))
    for words in ((*question, "--no-trace"), ("ask", "Who kept it?")):
        ended = desk.call(*words, "--thread", "kept")
        assert (ended.code, "Tracing" in ended.err) == (0, False)
    wait_for_all_tracers()
    assert [request.target for request in sink.requests if request.method == "POST"] == []
    assert f"ok       tracing: {notice_of(sink)}" in desk.call("doctor").out


@pytest.mark.parametrize(
    ("variables", "hosts"),
    [
        ({"TRACING": "true"}, "127.0.0.1:9"),
        ({"TRACING": "true", "TRACING_MODE": "otel"}, "127.0.0.1:7"),
        ({"TRACING": "true", "TRACING_MODE": "hybrid"}, "127.0.0.1:9 and 127.0.0.1:7"),
        ({}, ""),
    ],
)
def test_the_notice_names_each_host_that_gets_traces(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], hosts: str
) -> None:
    monkeypatch.delenv("LANGSMITH_TRACING")
    given = {"ENDPOINT": "http://127.0.0.1:9", "PROJECT": PROJECT, **variables}
    for name, value in given.items():
        monkeypatch.setenv(f"LANGSMITH_{name}", value)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:7")
    get_env_var.cache_clear()  # type: ignore[attr-defined]  # overloads hide the cache
    try:
        assert traced_to() == (f"{hosts} (project '{PROJECT}')" if hosts else "")
    finally:
        get_env_var.cache_clear()  # type: ignore[attr-defined]  # overloads hide the cache


@pytest.mark.sweep
@pytest.mark.parametrize("is_node", [False, True])
async def test_an_untraced_run_reaches_only_the_callers_callbacks(
    tmp_path: Path, sink: Sink, is_node: bool
) -> None:
    run, heard = lab(tmp_path, tracing=False, clarify="assume"), HeardCalls()
    graph: Any = build_graph()
    if is_node:
        outer = StateGraph(MessagesState, context_schema=Context)
        outer.add_node("inner", graph)
        outer.add_edge(START, "inner")
        graph = outer.compile(store=InMemoryStore())
    await graph.ainvoke(
        {"messages": [HumanMessage(QUESTION)]}, {"callbacks": [heard]}, context=run.context
    )
    wait_for_all_tracers()
    made = sum(len(model.calls) for model in run.models.values())
    assert len(heard.models) == made == 9
    assert [span.name for tree in sink.trees for span in tree.every()] == (
        ["LangGraph", "inner"] if is_node else []
    )
