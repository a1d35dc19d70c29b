"""Streams a run as typed packets, live or from its stored log; the last packet, `stop`, says how
the run ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from functools import cache
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore
from langgraph.types import Command
from pydantic import TypeAdapter

from ..core.errors import UnknownThread, UserMistake, stop_message
from ..core.events.blocks import ReportPackets
from ..core.events.log import StoredLog
from ..core.events.packets import (
    AnyPacket,
    ChatHeartbeat,
    ElapsedTime,
    OverallStop,
    Placement,
    StopReason,
)
from ..core.evidence.citations.rendering import plain_citations
from ..core.records.research import Run
from ..core.settings.context import Clock, Context, SystemClock
from ..core.store.pages import Pages
from ..state import ResearchState
from ._loops import CANCEL_SECONDS, StreamEnd, iterate, pump
from .embed import ResearchGraph, thread_config
from .words import GRAPHS

_ELAPSED_SECONDS = 1.0
"""Seconds between two packets with the elapsed time."""
StreamInput = str | Mapping[str, Any] | Command[Any] | None
"""The user's text, an input for the graph, a command, or None to resume a stopped run."""
ThreadOrConfig = str | RunnableConfig | None
"""Name of a thread, or a config that contains its id; None for a graph without a checkpointer."""
_UNFINISHED = "The run was stopped before it finished."
_SILENCE = object()
"""Stands for a stream part: no part has arrived for a while, so a heartbeat is due."""
_SECOND = object()
"""Stands for a stream part: `_ELAPSED_SECONDS` have passed, so an elapsed-time packet is due."""


async def apackets(
    graph: ResearchGraph,
    message: StreamInput,
    thread: ThreadOrConfig = None,
    *,
    context: Context | Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncGenerator[AnyPacket, None]:
    """Run the graph and yield its packets as they arrive; `settings` are passed to LangGraph's
    `astream`.

    A silent run yields a heartbeat every `Limits.heartbeat_seconds`; the planned strategy also
    yields the elapsed time every second. The last packet is `stop`, with the reason. Then an error
    that ended the run is raised again, and so is a cancellation of the caller's task; a caller that
    reads no further is cancelled at its next `await`. Close the generator (`aclosing`) to stop the
    run early.
    """
    is_stored = graph.checkpointer is not None
    try:
        given = context if isinstance(context, Context) else Context.read(context or {})
    except Exception as error:
        yield PacketReader(SystemClock(), is_stored=is_stored).failure(error)
        raise
    reader = PacketReader(
        given.clock, is_stored=is_stored, has_time=graph.name == GRAPHS["planned"]
    )
    stream = graph.astream(
        {"messages": [HumanMessage(message)]} if isinstance(message, str) else message,
        thread_config(thread) if isinstance(thread, str) else thread,
        context=given,
        stream_mode=["custom", "values"],
        # Only this value contains the status of the run.
        output_keys=["run"],
        subgraphs=True,
        version="v2",
        **settings,
    )
    try:
        async with aclosing(reader.packets(stream, given.limits.heartbeat_seconds)) as packets:
            async for packet in packets:
                yield packet
    except asyncio.CancelledError as cancellation:
        with _postponed(cancellation):
            yield reader.stop("user_cancelled")
    except Exception as error:
        yield reader.failure(error)
        raise
    yield reader.end()


def packets(
    graph: ResearchGraph,
    message: StreamInput,
    thread: ThreadOrConfig = None,
    *,
    context: Context | Mapping[str, Any] | None = None,
    **settings: Any,
) -> Generator[AnyPacket, None, None]:
    """Run the graph like `apackets`, for synchronous callers; leaving the iteration early stops the
    run."""
    yield from iterate(
        lambda: apackets(graph, message, thread, context=context, **settings), graph._loop()
    )


def read_packet(data: Mapping[str, Any]) -> AnyPacket:
    """Return the packet in data from a server or a file; raises `ValueError` if the data is no
    packet."""
    return _packet_adapter().validate_python(data)


@cache
def _packet_adapter() -> TypeAdapter[AnyPacket]:
    return TypeAdapter(AnyPacket)


class PacketReader:
    """Converts the parts of a LangGraph stream into packets, and its end into a stop packet."""

    def __init__(self, clock: Clock, *, is_stored: bool, has_time: bool = False) -> None:
        """`is_stored`: the run can be resumed from a checkpointer; `has_time`: emit the elapsed
        time every second."""
        self._clock = clock
        self._start = clock.seconds()
        self._is_stored = is_stored
        self._has_time = has_time
        self._seconds_sent = 0
        """Number of elapsed-time packets so far."""
        self._turn = 0
        """Turn of the last packet that belongs to the run's main sequence, for the stop packet."""
        self._run: Run | None = None
        self._is_waiting = False

    async def packets(
        self, stream: AsyncIterator[Any], silence_seconds: float
    ) -> AsyncGenerator[AnyPacket, None]:
        """Yield the packets in a graph's stream, the elapsed time, and a heartbeat after
        `silence_seconds` of silence.

        Elapsed-time packets do not interrupt a silence. Closing the generator cancels the stream.
        """
        parts: asyncio.Queue[Any] = asyncio.Queue()
        # Separate tasks, since cancelling a wait on the stream itself would end the stream.
        tasks = [asyncio.create_task(pump(stream, parts.put_nowait))]
        if self._has_time:
            tasks.append(asyncio.create_task(self._tick(parts)))
        loop = asyncio.get_running_loop()
        quiet_since = loop.time()
        try:
            while True:
                part = await _next(parts, quiet_since + silence_seconds)
                if isinstance(part, StreamEnd):
                    break
                for packet in self._packets_of(part):
                    yield packet
                if part is not _SECOND:
                    quiet_since = loop.time()
            if part.error:
                raise part.error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=CANCEL_SECONDS)

    async def _tick(self, parts: asyncio.Queue[Any]) -> None:
        while True:
            await self._clock.sleep(_ELAPSED_SECONDS - self._elapsed() % _ELAPSED_SECONDS)
            parts.put_nowait(_SECOND)

    def _elapsed(self) -> float:
        return round(self._clock.seconds() - self._start, 3)

    def _packets_of(self, part: Any) -> Iterator[AnyPacket]:
        """Yield the packet that a stream part contains, if any, after packets for the seconds that
        passed before it."""
        placement = Placement(turn_index=0)
        if self._has_time:
            first = self._seconds_sent + 1
            self._seconds_sent = int(self._elapsed() / _ELAPSED_SECONDS)
            for number in range(first, self._seconds_sent + 1):
                yield ElapsedTime(placement=placement, elapsed_seconds=number * _ELAPSED_SECONDS)
        if part is _SILENCE:
            yield ChatHeartbeat(placement=placement, elapsed_seconds=self._elapsed())
            return
        if part is _SECOND:
            return
        if part["type"] == "values":
            if not part["ns"]:
                self._run = (part["data"] or {}).get("run")
                self._is_waiting = bool(part["interrupts"])
            return
        packet = read_packet(part["data"])
        if isinstance(packet, OverallStop):
            # This reader sends its own stop, which includes elapsed time and errors.
            return
        if packet.placement.sub_turn_index is None and not packet.is_about_call:
            self._turn = packet.placement.turn_index
        yield packet

    def end(self) -> OverallStop:
        """Return the stop packet for a run that has ended or is waiting for an answer."""
        if self._run is None or self._is_waiting:
            return self.stop("waiting_for_user")
        stop = OverallStop.of(self._run, self._turn)
        is_waiting = stop.stop_reason == "waiting_for_user"
        return self.stop(stop.stop_reason, stop.message, is_resumable=is_waiting)

    def failure(self, error: Exception) -> OverallStop:
        """Return the stop packet for a run that failed with an error."""
        was_refused = isinstance(error, UserMistake) and self._run is None
        return self.stop("failed", stop_message(error), is_resumable=not was_refused)

    def stop(
        self, reason: StopReason, message: str = "", *, is_resumable: bool = True
    ) -> OverallStop:
        """Return the packet that ends the stream."""
        return OverallStop(
            placement=Placement(turn_index=self._turn),
            stop_reason=reason,
            message=message,
            is_resumable=is_resumable and self._is_stored,
            elapsed_seconds=self._elapsed(),
        )


async def _next(parts: asyncio.Queue[Any], end: float) -> Any:
    """Return the next part of the queue, or `_SILENCE` if none arrives before `end`, a time of the
    loop's clock."""
    with suppress(TimeoutError):
        async with asyncio.timeout_at(end):
            return await parts.get()
    return _SILENCE


@contextmanager
def _postponed(cancellation: asyncio.CancelledError) -> Iterator[None]:
    """Let a cancelled generator yield once more; its caller is cancelled when it goes on, or at its
    next `await`."""
    is_back = False
    task = asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        # A handler of the cancellation, such as an expired timeout, has already called `uncancel`.
        if not is_back and task.cancelling():
            task.cancel()
            task.uncancel()

    asyncio.get_running_loop().call_soon(cancel)
    try:
        yield
    finally:
        is_back = True
        raise cancellation


def replay_thread(graph: ResearchGraph, thread: str) -> Generator[AnyPacket, None, None]:
    """Yield the stored packets of a thread's latest question, in order, then a stop; raises
    `UnknownThread`."""
    yield from iterate(lambda: areplay_thread(graph, thread), graph._loop())


async def areplay_thread(graph: ResearchGraph, thread: str) -> AsyncGenerator[AnyPacket, None]:
    """Replay like `replay_thread`, for async callers."""
    config = thread_config(thread)
    values = (await graph.aget_state(config)).values
    if not values:
        raise UnknownThread(f"There is no run {thread!r}.")
    for packet in await replay(
        graph.page_store, config["configurable"]["thread_id"], ResearchState(**values)
    ):
        yield packet


async def replay(store: BaseStore | None, thread_id: str, state: ResearchState) -> list[AnyPacket]:
    """Return the stored packets of a thread's latest question; the pieces of one text are merged
    into one packet.

    Packets on call costs and delays are not stored. The last packet is `stop`, even if the run has
    not ended.
    """
    run = state.run
    packets = list[AnyPacket]()
    if run.id and store:
        logged = await StoredLog(Pages(store, thread_id), run.id).read()
        packets += map(read_packet, _upgraded(logged))
    if packets and packets[-1].type == "stop":
        return packets
    if state.report and not packets:
        # The user has put an earlier version back, so that nothing was streamed.
        text = plain_citations(state.report.text)
        revised = ReportPackets(Placement(turn_index=0)).revised(text, state.report.keys)
        return [read_packet(revised.model_dump()), OverallStop.of(run, 0)]
    last_turn = 0
    for packet in packets:
        if packet.placement.sub_turn_index is None:
            last_turn = packet.placement.turn_index
    stop = OverallStop(
        placement=Placement(turn_index=last_turn),
        stop_reason="failed",
        message=_UNFINISHED,
        is_resumable=True,
        elapsed_seconds=run.active_seconds,
    )
    packets.append(stop)
    return packets


def _upgraded(logged: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return logged packets without the estimates of bad86816, which `estimate_made` no longer
    holds."""
    return [packet for packet in logged if not _is_old_estimate(packet)]


def _is_old_estimate(packet: Mapping[str, Any]) -> bool:
    return packet["type"] == "estimate_made" and "median_seconds" not in packet["estimate"]
