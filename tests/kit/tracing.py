"""A tracing server on loopback, which speaks to LangSmith's client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kit.engines import Answer, Loopback, serving
from kit.web import Request

PROJECT = "lighthouses"


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


class Sink(Loopback):
    """A tracing server that speaks to LangSmith's client; spans of OpenTelemetry are not read."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[str, dict[str, Any]] = {}

    @property
    def environment(self) -> dict[str, str]:
        """The variables that switch tracing on and lead here."""
        settings = {
            "TRACING": "true",
            "ENDPOINT": self.url,
            "API_KEY": "ls-key-of-the-test",
            "PROJECT": PROJECT,
        }
        return {f"LANGSMITH_{name}": value for name, value in settings.items()}

    @property
    def trees(self) -> list[Tree]:
        """The runs that are inside no other."""
        return self._trees_in(None)

    def _trees_in(self, parent: str | None) -> list[Tree]:
        runs = sorted(self._runs.values(), key=lambda run: str(run["dotted_order"]))
        return [
            Tree(
                run["run_type"],
                run["name"],
                run.get("inputs"),
                run.get("outputs"),
                tuple(self._trees_in(run["id"])),
            )
            for run in runs
            if run.get("parent_run_id") == parent
        ]

    def receive(self, request: Request) -> Answer:
        """Take what the client tells."""
        if request.method == "GET":
            batches = {
                "use_multipart_endpoint": False,
                "size_limit": 100,
                "size_limit_bytes": 20_000_000,
            }
            threads = {
                "scale_up_nthreads_limit": 1,
                "scale_up_qsize_trigger": 1000,
                "scale_down_nempty_trigger": 4,
            }
            return Answer(
                body=json.dumps({"version": "0.1", "batch_ingest_config": {**batches, **threads}})
            )
        if request.target.endswith("/runs/batch"):
            # Runs that begin, and what is new of those that end.
            for run in (*request.json.get("post", ()), *request.json.get("patch", ())):
                known = self._runs.setdefault(run["id"], {})
                known.update({name: value for name, value in run.items() if value is not None})
        return Answer(status=202, body="{}")


@contextmanager
def tracing_sink() -> Iterator[Sink]:
    sink = Sink()
    with serving(sink.receive, sink):
        yield sink
