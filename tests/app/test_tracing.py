"""Tracing of runs, its notices, and runs kept out of it, with a tracing server on loopback."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import langsmith
import pytest
from kit.commands import Desk
from kit.models import call, calls
from kit.runs import QUESTION, REPORT, lab, search
from kit.server import CONFIG, Conversation, Server
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
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
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typing_extensions import override

from deep_research import build_graph, thread_id
from deep_research.core.run.context import Context

PROJECT = "lighthouses"
BATCHES = {
    "scale_down_nempty_trigger": 4,
    "scale_up_nthreads_limit": 1,
    "scale_up_qsize_trigger": 1000,
    "size_limit": 100,
    "size_limit_bytes": 20_000_000,
}
"""How a server says that it takes runs."""


class Tree(NamedTuple):
    """A run with the runs inside it, in the order in which they began."""

    kind: str
    name: str
    inputs: Any
    outputs: Any
    inner: tuple[Tree, ...]

    def every(self) -> Iterator[Tree]:
        """This run and all inside it."""
        yield self
        for child in self.inner:
            yield from child.every()

    def names(self, *kinds: str) -> list[str]:
        """The names of all runs of these kinds, this one first."""
        return [run.name for run in self.every() if run.kind in kinds]

    def named(self, name: str) -> Tree:
        """The first run of this name."""
        return next(run for run in self.every() if run.name == name)


class Sink:
    """What a tracing server was sent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[str] = []
        """The paths that were asked for."""
        self._runs: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that switch tracing on and lead here."""
        return {
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_ENDPOINT": self.url,
            "LANGSMITH_API_KEY": "ls-key-of-the-test",
            "LANGSMITH_PROJECT": PROJECT,
        }

    def flush(self) -> None:
        """Wait until this process has sent all that it traced."""
        wait_for_all_tracers()

    @property
    def trees(self) -> list[Tree]:
        """The runs that are inside no other."""
        with self._lock:
            return [self._tree(run) for run in self._sorted() if not run.get("parent_run_id")]

    @property
    def text(self) -> str:
        """All that was sent, as JSON."""
        with self._lock:
            return json.dumps(list(self._runs.values()))

    def take(self, run: Mapping[str, Any]) -> None:
        """Take what is new of a run."""
        with self._lock:
            known = self._runs.setdefault(str(run["id"]), {})
            known.update({name: value for name, value in run.items() if value is not None})

    def _sorted(self) -> list[dict[str, Any]]:
        return sorted(self._runs.values(), key=lambda run: str(run.get("dotted_order", "")))

    def _tree(self, run: Mapping[str, Any]) -> Tree:
        inner = [self._tree(child) for child in self._sorted() if child.get("parent_run_id") == run["id"]]
        return Tree(run["run_type"], run["name"], run.get("inputs"), run.get("outputs"), tuple(inner))


class TraceDesk(BaseHTTPRequestHandler):
    """Answers LangSmith's client."""

    server: Receiver

    @override
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        """Say which batches are taken: `/info`."""
        batches = {
            "use_multipart_endpoint": self.server.is_multipart,
            "size_limit": 100,
            "size_limit_bytes": 20_000_000,
        }
        threads = {"scale_up_nthreads_limit": 1, "scale_up_qsize_trigger": 1000, "scale_down_nempty_trigger": 4}
        self._answer({"version": "0.1", "batch_ingest_config": {**batches, **threads}})

    def do_POST(self) -> None:
        """Take a batch."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/runs/multipart"):
            self._take_parts(body)
        elif self.path.endswith("/v1/traces"):
            self._take_spans(body)
        elif self.path.endswith("/runs/batch"):
            for run in (run for runs in json.loads(body).values() for run in runs):
                self.server.sink.take(run)
        self._answer({}, 202)

    def _take_parts(self, body: bytes) -> None:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        for part in BytesParser().parsebytes(head + body).get_payload():
            name = str(part.get_param("name", header="content-disposition"))  # type: ignore[union-attr]  # a message
            _, run_id, *field = name.split(".")
            value = json.loads(part.get_payload(decode=True))  # type: ignore[union-attr, arg-type]  # a message
            self.server.sink.take({"id": run_id, field[0]: value} if field else value)

    def _take_spans(self, body: bytes) -> None:
        request = ExportTraceServiceRequest()
        request.ParseFromString(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
        for span in (
            span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans
        ):
            known = {attribute.key: attribute.value.string_value for attribute in span.attributes}
            run = {"id": span.span_id.hex(), "parent_run_id": span.parent_span_id.hex(), "name": span.name}
            self.server.sink.take(
                {**run, "run_type": known["langsmith.span.kind"], "dotted_order": str(span.start_time_unix_nano)}
            )

    def _answer(self, value: Any, status: int = 200) -> None:
        self.server.sink.requests.append(self.path)
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Receiver(ThreadingHTTPServer):
    """The server."""

    sink: Sink
    is_multipart: bool


@contextmanager
def tracing_sink(*, is_multipart: bool = True) -> Iterator[Sink]:
    """A tracing server that takes `/runs/multipart` or else `/runs/batch`."""
    with Receiver(("127.0.0.1", 0), TraceDesk) as server:
        server.sink, server.is_multipart = Sink(f"http://127.0.0.1:{server.server_port}"), is_multipart
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.sink
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def tracing_here(*, is_multipart: bool = True, is_on: bool = True) -> Iterator[Sink]:
    """A tracing server to which the environment of this process leads; `is_on`: tracing is switched on as well."""
    with tracing_sink(is_multipart=is_multipart) as sink, pytest.MonkeyPatch.context() as patch:
        for name, value in sink.environment.items():
            if is_on or name != "LANGSMITH_TRACING":
                patch.setenv(name, value)
        if not is_on:
            patch.delenv("LANGSMITH_TRACING")
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
async def test_a_run_is_traced_as_one_tree(tmp_path: Path, is_multipart: bool) -> None:
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


def test_the_command_is_traced_by_the_usual_variables_and_says_so(desk: Desk) -> None:
    question = ("ask", "When was the Skerry Light lit?", "--docs", str(desk.docs))
    with tracing_sink() as sink:
        keys = {name: value for name, value in sink.environment.items() if name != "LANGSMITH_TRACING"}
        untraced = {name: value for name, value in {**desk.environment, **keys}.items() if name != "LANGSMITH_TRACING"}
        traced = {**untraced, "LANGCHAIN_TRACING_V2": "true"}
        assert "Tracing" not in desk.run(*question, env=untraced).err
        kept = desk.run(*question, "--thread", "kept", "--no-trace", env=traced)
        assert (kept.code, "Tracing" in kept.err, sink.requests) == (0, False, [])
        # The choice is kept with the run.
        assert desk.run("ask", "Who kept it?", "--thread", "kept", env=traced).code == 0
        assert sink.requests == []
        asked = desk.run(*question, env=traced)
        assert f"Note: {notice_of(sink)}" in asked.err
        assert notice_of(sink) in asked.out
        [tree] = sink.trees
        assert (tree.name, tree.names("tool")) == ("deep_research", ["internal_search"])
        assert f"ok       tracing: {notice_of(sink)}" in desk.run("doctor", env=traced).out
        assert "ok       tracing: off" in desk.run("doctor", env=untraced).out


def test_opentelemetry_receives_the_traces_if_its_variables_are_set(desk: Desk) -> None:
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


class Heard(BaseCallbackHandler):
    """Callback handler that records tags and metadata of chat model calls."""

    def __init__(self) -> None:
        self.models: list[tuple[list[str], dict[str, Any]]] = []

    def on_chat_model_start(self, *_: Any, **known: Any) -> None:
        self.models.append((known["tags"], known["metadata"]))


@pytest.mark.parametrize("is_node", [False, True])
async def test_an_untraced_run_reaches_only_the_callers_callbacks(tmp_path: Path, sink: Sink, is_node: bool) -> None:
    run, heard = lab(tmp_path, tracing=False, clarify="assume"), Heard()
    graph: Any = build_graph()
    if is_node:
        outer = StateGraph(MessagesState, context_schema=Context)
        outer.add_node("inner", graph)
        outer.add_edge(START, "inner")
        graph = outer.compile(store=InMemoryStore())
    await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, {"callbacks": [heard]}, context=run.context)
    sink.flush()
    made = sum(len(model.calls) for model in run.models.values())
    assert len(heard.models) == made == 9
    assert [span.name for tree in sink.trees for span in tree.every()] == (["LangGraph", "inner"] if is_node else [])
