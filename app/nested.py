"""A research inside a run of another graph: nothing of that graph leaks in, and all that happens is told to it."""

from __future__ import annotations

import asyncio
import contextvars
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from langgraph.config import get_stream_writer
from typing_extensions import override

from ..run.context import Context
from ..run.errors import DeepResearchError
from ..run.packets import AnyPacket, CallFinished, OverallStop
from .embed import ResearchGraph
from .stream import apackets
from .tool_result import ToolResult, result_of

CHANNELS = ["run", "messages", "report", "sources", "spending"]
"""What is needed of the state of a run."""


class Caller(NamedTuple):
    """Who called for a research, and how it is told what goes on."""

    call_id: str
    """Id of the tool call; empty where there is none."""
    tool: str
    """Name of the tool."""
    write: Callable[[dict[str, Any]], object]
    """Writes to the caller's custom stream."""

    def hears(self, packet: AnyPacket) -> None:
        """Tell a packet of the research."""
        data = packet.model_dump(mode="json")
        self.write({"type": "deep_research", "tool_call_id": self.call_id, "packet": data})

    def hears_end(self, result: ToolResult) -> None:
        """Tell that the call is over."""
        told = {name: result[name] for name in ("tool_calls", "usage", "status")}
        self.write({"type": "tool_done", "tool_call_id": self.call_id, "name": self.tool, **told})


class Ended(NamedTuple):
    """How a research ended."""

    result: ToolResult
    failure: str = ""
    """What went wrong, in one line; empty if nothing did."""


class NestedResearch:
    """One research on behalf of a caller."""

    def __init__(self, graph: ResearchGraph, context: Context, caller: Caller) -> None:
        """Take a graph that nobody else uses."""
        graph.__class__ = _WatchedGraph
        assert isinstance(graph, _WatchedGraph)
        graph.state = {}
        self._graph, self._context, self._caller = graph, context, caller
        self._calls: list[CallFinished] = []
        self._stop: OverallStop | None = None
        self._thread = str(uuid.uuid4())

    async def run(self, question: str) -> Ended:
        """Run it on a thread of its own; a cancellation stops it, and errors that are not ours are raised."""
        # LangGraph looks up thread, checkpointer and callbacks in the context: in an empty one it finds none.
        return await asyncio.create_task(self._run(question), context=contextvars.Context())

    async def _run(self, question: str) -> Ended:
        failure = ""
        try:
            async with aclosing(apackets(self._graph, question, self._thread, context=self._context)) as packets:
                async for packet in packets:
                    self._hear(packet)
        except DeepResearchError:
            failure = self._stop.message if self._stop else ""
        finally:
            self._caller.hears_end(self._result())
        return Ended(self._result(), failure)

    def _hear(self, packet: AnyPacket) -> None:
        if isinstance(packet, OverallStop):
            self._stop = packet
        elif isinstance(packet, CallFinished):
            self._calls.append(packet)
        self._caller.hears(packet)

    def _result(self) -> ToolResult:
        status = self._stop.stop_reason if self._stop else "failed"
        return result_of(self._graph.state, self._calls, status, self._thread)


class _WatchedGraph(ResearchGraph):
    """Remembers the state of its only run, which without a checkpointer is kept nowhere."""

    state: Mapping[str, Any]

    @override
    async def astream(self, *args: Any, **settings: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(super().astream(*args, **{**settings, "output_keys": CHANNELS})) as parts:
            async for part in parts:
                if part["type"] == "values" and not part["ns"]:
                    self.state = part["data"] or {}
                yield part


def caller_writer() -> Callable[[dict[str, Any]], object]:
    """Writes to the custom stream of the graph within which this is called; to nobody where there is none."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):
        return lambda _: None
    # The writer looks up in the context in which node it writes.
    context = contextvars.copy_context()
    return lambda data: context.run(writer, data)
