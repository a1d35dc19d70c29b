"""A tracing server on loopback that takes what LangSmith's client sends, and shows the runs that it got as a tree."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import langsmith
import pytest
from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith import Client
from langsmith.utils import get_env_var
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typing_extensions import override

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
        for one in self.inner:
            yield from one.every()

    def names(self, *kinds: str) -> list[str]:
        """The names of all runs of these kinds, this one first."""
        return [one.name for one in self.every() if one.kind in kinds]

    def named(self, name: str) -> Tree:
        """The first run of this name."""
        return next(one for one in self.every() if one.name == name)


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
        inner = [self._tree(one) for one in self._sorted() if one.get("parent_run_id") == run["id"]]
        return Tree(run["run_type"], run["name"], run.get("inputs"), run.get("outputs"), tuple(inner))


class Desk(BaseHTTPRequestHandler):
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
            known = {one.key: one.value.string_value for one in span.attributes}
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
    with Receiver(("127.0.0.1", 0), Desk) as server:
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
