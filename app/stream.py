"""A run as a stream of typed packets, live or from its log; the last is `stop` and says how the run ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from enum import Enum
from functools import cache
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore
from langgraph.types import Command
from pydantic import TypeAdapter

from ..core.records.research import Run
from ..core.run.context import Clock, Context, SystemClock
from ..core.run.errors import UnknownThread, UserMistake, said_of
from ..core.run.events.call import STOP_REASONS
from ..core.run.events.log import read_log
from ..core.run.events.packets import (
    AnyPacket,
    CallContinued,
    CallDelayed,
    CallFinished,
    ChatHeartbeat,
    ElapsedTime,
    OverallStop,
    Placement,
    StopReason,
)
from ..core.run.settings import read_context
from ..core.run.store.pages import Pages
from ..state import ResearchState
from .embed import ResearchGraph, thread_config
from .loops import CANCEL_SECONDS, Item, iterate, pump
from .words import GRAPHS

ELAPSED_SECONDS = 1.0
"""Seconds between two packets with the elapsed time."""

Queue = asyncio.Queue[Item]
Message = str | Mapping[str, Any] | Command[Any] | None
"""Words of the user, an input of the graph, a command, or nothing to go on with a run that was stopped."""
Thread = str | RunnableConfig | None
"""Name of a thread, or the config that names one; none for a graph without a checkpointer."""
UNFINISHED = "The run was stopped before its end."


class Beat(Enum):
    """What comes between the parts of a stream."""

    SILENCE = "silence"
    """The stream has brought nothing for a while."""
    SECOND = "second"
    """`ELAPSED_SECONDS` more have passed by the stopwatch."""


class Stopwatch:
    """The seconds of a clock since the watch was made."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._start = clock, clock.seconds()
        self._marks = 0

    def elapsed(self) -> float:
        """Return seconds since the start, to the millisecond."""
        return round(self._clock.seconds() - self._start, 3)

    def passed(self) -> list[float]:
        """Return the marks at every `ELAPSED_SECONDS` that have passed since the last call."""
        before, self._marks = self._marks, int(self.elapsed() / ELAPSED_SECONDS)
        return [mark * ELAPSED_SECONDS for mark in range(before + 1, self._marks + 1)]

    async def wait(self) -> None:
        """Wait for the next mark."""
        await self._clock.sleep(ELAPSED_SECONDS - self.elapsed() % ELAPSED_SECONDS)


async def with_beats(
    stream: AsyncIterator[Any], silence_seconds: float, watch: Stopwatch | None
) -> AsyncGenerator[Any, None]:
    """Yield the parts of a stream, a `Beat` after each silence of `silence_seconds`, and one for each mark of a watch.

    A mark does not break a silence. Closing this ends the stream.
    """
    queue: Queue = asyncio.Queue()
    # Tasks of their own, for a wait that is given up would end the stream itself.
    tasks = [asyncio.create_task(pump(stream, queue.put_nowait))]
    if watch:
        tasks.append(asyncio.create_task(_tick(watch, queue)))
    loop = asyncio.get_running_loop()
    quiet_since = loop.time()
    try:
        while True:
            part, error, is_last = await _next(queue, quiet_since + silence_seconds)
            if error:
                raise error
            if is_last:
                return
            yield part
            if part is not Beat.SECOND:
                quiet_since = loop.time()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=CANCEL_SECONDS)


async def _tick(watch: Stopwatch, queue: Queue) -> None:
    while True:
        await watch.wait()
        queue.put_nowait((Beat.SECOND, None, False))


async def _next(queue: Queue, end: float) -> Item:
    try:
        async with asyncio.timeout_at(end):
            return await queue.get()
    except TimeoutError:
        return Beat.SILENCE, None, False


async def apackets(
    graph: ResearchGraph,
    message: Message,
    thread: Thread = None,
    *,
    context: Context | Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncGenerator[AnyPacket, None]:
    """Run the graph and yield its packets as they come; `settings` go to LangGraph's `astream`.

    While the run is silent, a heartbeat comes every `Limits.heartbeat_seconds`; while the planned strategy is at work,
    the time comes every second, whatever else does. The last packet is `stop`, once, with its reason. After it an error
    that ended the run is raised, and so is the cancellation of the caller's task; one that reads no further is
    cancelled where it waits next. Close the generator (`aclosing`) to stop the run early.
    """
    is_kept = graph.checkpointer is not None
    try:
        given = context if isinstance(context, Context) else read_context(context or {})
    except Exception as error:
        yield PacketReader(Stopwatch(SystemClock()), is_kept=is_kept).failure(error)
        raise
    watch = Stopwatch(given.clock)
    reader = PacketReader(watch, is_kept=is_kept, has_time=graph.name == GRAPHS["planned"])
    try:
        parts = _parts(graph, message, thread, context=given, **settings)
        beating = with_beats(parts, given.limits.heartbeat_seconds, watch if reader.has_time else None)
        async with aclosing(beating):
            async for part in beating:
                for packet in reader.packets(part):
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
    message: Message,
    thread: Thread = None,
    *,
    context: Context | Mapping[str, Any] | None = None,
    **settings: Any,
) -> Generator[AnyPacket, None, None]:
    """Do as `apackets`, for callers without an event loop; leaving the loop early stops the run."""
    yield from iterate(lambda: apackets(graph, message, thread, context=context, **settings), graph._loop())


def read_packet(data: Mapping[str, Any]) -> AnyPacket:
    """Parse a packet from a server or a file; raises `ValueError` if it is none."""
    return _adapter().validate_python(data)


@cache
def _adapter() -> TypeAdapter[AnyPacket]:
    return TypeAdapter(AnyPacket)


def _parts(graph: ResearchGraph, message: Message, thread: Thread, **settings: Any) -> AsyncGenerator[Any, None]:
    """Return the stream of the graph: its packets, and how its run stands."""
    return graph.astream(
        {"messages": [HumanMessage(message)]} if isinstance(message, str) else message,
        thread_config(thread) if isinstance(thread, str) else thread,
        stream_mode=["custom", "values"],
        # Of the values, only this says how the run stands.
        output_keys=["run"],
        subgraphs=True,
        version="v2",
        **settings,
    )


class PacketReader:
    """Turns the parts of a graph's stream into packets, and its end into a stop."""

    def __init__(self, watch: Stopwatch, *, is_kept: bool, has_time: bool = False) -> None:
        """`is_kept`: a checkpointer holds the thread; `has_time`: the marks of the watch become packets."""
        self.has_time = has_time
        self._watch = watch
        self._is_kept = is_kept
        self._turn = 0
        self._run: Run | None = None
        self._is_waiting = False

    def packets(self, part: dict[str, Any] | Beat) -> Iterator[AnyPacket]:
        """Yield the packets of this part, after those of the time that passed before it."""
        place = Placement(turn_index=0)
        for seconds in self._watch.passed() if self.has_time else ():
            yield ElapsedTime(placement=place, elapsed_seconds=seconds)
        if part is Beat.SILENCE:
            yield ChatHeartbeat(placement=place, elapsed_seconds=self._watch.elapsed())
        elif not isinstance(part, Beat) and (packet := self._take(part)):
            yield packet

    def _take(self, part: dict[str, Any]) -> AnyPacket | None:
        """Return the packet of this part; none if it is for the reader alone."""
        if part["type"] == "values":
            if not part["ns"]:
                self._run = (part["data"] or {}).get("run")
                self._is_waiting = bool(part["interrupts"])
            return None
        packet = read_packet(part["data"])
        if isinstance(packet, OverallStop):
            # This reader knows more: how long it took, and what went wrong.
            return None
        if packet.placement.sub_turn_index is None and not isinstance(
            packet, CallContinued | CallDelayed | CallFinished | ChatHeartbeat
        ):
            self._turn = packet.placement.turn_index
        return packet

    def end(self) -> OverallStop:
        """Return the stop of a run that came to its end or to a pause."""
        if self._run is None or self._is_waiting or self._run.status not in STOP_REASONS:
            return self.stop("waiting_for_user")
        return self.stop(STOP_REASONS[self._run.status], self._run.stop_reason, is_resumable=False)

    def failure(self, error: Exception) -> OverallStop:
        """Return the stop of a run that an error ended."""
        was_refused = isinstance(error, UserMistake) and self._run is None
        return self.stop("failed", said_of(error), is_resumable=not was_refused)

    def stop(self, reason: StopReason, message: str = "", *, is_resumable: bool = True) -> OverallStop:
        """Return the last packet."""
        return OverallStop(
            placement=Placement(turn_index=self._turn),
            stop_reason=reason,
            message=message,
            is_resumable=is_resumable and self._is_kept,
            elapsed_seconds=self._watch.elapsed(),
        )


@contextmanager
def _postponed(cancellation: asyncio.CancelledError) -> Iterator[None]:
    """Raise the cancellation once the caller comes back, if only to close the stream, or else where it waits next."""
    task, is_back = asyncio.current_task(), False
    assert task is not None

    def cancel() -> None:
        # Whoever has taken note of the cancellation, such as a timeout that is over, has counted it down.
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
    """Yield the packets of a thread's latest question, as they were emitted; raises `UnknownThread`."""
    yield from iterate(lambda: areplay_thread(graph, thread), graph._loop())


async def areplay_thread(graph: ResearchGraph, thread: str) -> AsyncGenerator[AnyPacket, None]:
    """Do as `replay_thread`, for callers inside an event loop."""
    config = thread_config(thread)
    values = (await graph.aget_state(config)).values
    if not values:
        raise UnknownThread(f"There is no run {thread!r}.")
    for packet in await replay(graph.store, config["configurable"]["thread_id"], ResearchState(**values)):
        yield packet


async def replay(store: BaseStore | None, thread_id: str, state: ResearchState) -> list[AnyPacket]:
    """Return the packets of the latest question of a thread, in their places, the text of one place in one packet.

    What calls cost and how long a client waited is left out. The last packet is `stop`, also for a run that has
    not ended.
    """
    run = state.run
    logged = await read_log(Pages(store, thread_id), run.id) if run.id and store else []
    packets = [*map(read_packet, logged)]
    if packets and packets[-1].type == "stop":
        return packets
    turns = [one.placement.turn_index for one in packets if one.placement.sub_turn_index is None]
    stop = OverallStop(
        placement=Placement(turn_index=turns[-1] if turns else 0),
        stop_reason="failed",
        message=UNFINISHED,
        is_resumable=True,
        elapsed_seconds=run.active_seconds,
    )
    return [*packets, stop]
