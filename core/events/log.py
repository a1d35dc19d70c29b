"""Emits packets, and stores them as the log of their question, for `show` and for clients that
reconnect.

The log is stored in parts (notes in the thread's store), each with the packets of `_FLUSH_SECONDS`;
parts never change. A killed run loses the packets of its last part, but nodes that run again on
resumption emit theirs again.

Parts and packets hold the time of work: the seconds for which runs have been at work on the
question so far. The first part of each run, which has no packets, marks its beginning, and the last
one its end, so pauses do not count.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, count
from typing import Any, NamedTuple, Self

from langgraph.config import get_config, get_store, get_stream_writer
from langgraph.store.base import BaseStore
from langgraph.types import StreamWriter

from ..concurrency import PerLoop
from ..errors import DatabaseUnusable, log_failure
from ..store.location import FAILURE_NOTE
from ..store.pages import Pages, thread_changes
from .packets import Packet

_FLUSH_SECONDS = 0.5
"""Seconds after which emitted packets are stored."""
_READ_AT_ONCE = 64
"""Parts read in one batch."""
_UNLOGGED = frozenset(
    {
        "call_continued",
        "call_delayed",
        "call_finished",
        "call_pending",
        "chat_heartbeat",
        "documents_indexed",
        "elapsed_time",
    }
)
"""Types of packets that are not logged: costs are in the state, the others matter only while they
happen."""
_BLOCK_STARTS = frozenset(
    {
        "activity",
        "deep_research_plan_start",
        "intermediate_report_start",
        "message_start",
        "open_url_start",
        "reasoning_start",
        "research_agent_start",
        "search_tool_start",
        "step_started",
        "top_level_branching",
    }
)
"""Types of packets that begin a block: a plan, a thought, a call, a text."""
_TEXT_FIELDS = {
    "deep_research_plan_delta": "content",
    "intermediate_report_delta": "content",
    "message_delta": "content",
    "reasoning_delta": "reasoning",
}
"""The field with the text, by type of packets with a piece of text; consecutive pieces are stored
as one packet."""

Data = dict[str, Any]
"""A packet as JSON."""


class LogPart(NamedTuple):
    """A stored part of a log."""

    packets: Sequence[Data]
    worked: float = 0.0
    """The time of work when it was stored; 0 in logs of earlier versions."""
    at: float = 0.0
    """When it was stored, as Unix time."""
    is_over: bool = True
    """Whether it is the last one of its run."""


class Log:
    """Writes the log of one question."""

    def __init__(
        self, pages: Pages, question_id: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` returns seconds since any moment."""
        self._pages, self._question_id = pages, question_id
        self._clock = clock
        self._waiting: list[Data] = []
        self._parts: int | None = None
        """Number of stored parts; None before the first is stored."""
        self._began = clock()
        self._worked_before = 0.0
        """Time of work before this run; known once `_parts` is."""
        self._is_over = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks = set[asyncio.Task[None]]()

    def append(self, packet: Data) -> None:
        """Add a packet, with the current Unix time as `at` and the time of work as `worked`; it is
        stored `_FLUSH_SECONDS` later."""
        if self._waiting and _continues(self._waiting[-1], packet):
            field = _TEXT_FIELDS[packet["type"]]
            self._waiting[-1][field] += packet[field]
        else:
            times = {"at": round(time.time(), 1), "worked": self._seconds}
            self._waiting.append({**packet, **times})
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_FLUSH_SECONDS, self._start_storing)

    def begin(self) -> None:
        """Store the part that marks the beginning of the run."""
        self._start_storing()

    async def flush(self) -> None:
        """Store all waiting packets and the end of the run, and wait until they are stored."""
        self._is_over = True
        self._start_storing()
        while self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def _seconds(self) -> float:
        """Seconds since this run began."""
        return self._clock() - self._began

    @property
    def worked(self) -> float:
        """The time of work so far."""
        return self._worked_before + self._seconds

    def _start_storing(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None
        task = asyncio.get_running_loop().create_task(self._store_part())
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        # A store that accepts no writes stops the run elsewhere, where something is read from it.
        error = task.exception()
        if error:
            log_failure(__name__, error, "Packets of a run could not be stored")

    async def _store_part(self) -> None:
        async with self._pages.lock(f"log-{self._question_id}"):
            if self._parts is None:
                stored = await _stored_parts(self._pages, self._question_id)
                self._parts = len(stored)
                if stored:
                    self._worked_before = stored[-1].worked
            packets = self._waiting
            self._waiting = []
            timed = list[Data]()
            for packet in packets:
                worked = round(self._worked_before + packet["worked"], 1)
                timed.append({**packet, "worked": worked})
            name = _part_name(self._question_id, self._parts)
            part = LogPart(
                packets=timed,
                worked=round(self.worked, 1),
                at=round(time.time(), 1),
                is_over=self._is_over,
            )
            try:
                await self._pages.note({name: part._asdict()})
            except BaseException:
                # Also if the task is cancelled: the packets go into the next part.
                self._waiting = [*packets, *self._waiting]
                raise
            self._parts += 1
        thread_changes.announce(self._pages.thread)


_logs = PerLoop(dict[tuple[str, str], Log])
"""The logs that are written, by the id of their thread and of their question."""


class Emitter:
    """Sends packets to the client that streams the run, if any, and appends them to the log, if
    there is one."""

    def __init__(self, writer: StreamWriter, log: Log | None = None) -> None:
        self._writer, self._log = writer, log
        # If the `custom` mode is not streamed, LangGraph's writer is a function that does nothing.
        is_from_langgraph = str(getattr(writer, "__module__", "")).startswith("langgraph.")
        self.has_listener = (
            not is_from_langgraph or getattr(writer, "__closure__", None) is not None
        )
        """Whether a client listens."""

    @classmethod
    def of_node(cls, question_id: str, clock: Callable[[], float] = time.monotonic) -> Self:
        """Return the emitter of the calling node for this question; it logs nothing if the run has
        no thread id. `clock`: see `Log`."""
        if not get_config().get("configurable", {}).get("thread_id"):
            return cls(get_stream_writer())
        pages = Pages.of_node(get_store(), question_id)
        logs = _logs.get()
        name = (pages.thread, question_id)
        if name not in logs:
            logs[name] = Log(pages, question_id, clock)
            logs[name].begin()
        return cls(get_stream_writer(), logs[name])

    @property
    def worked(self) -> float:
        """The time of work so far, as it is logged; 0 without a log."""
        return self._log.worked if self._log else 0.0

    def emit(self, *packets: Packet) -> None:
        """Emit packets in this order."""
        for packet in packets:
            log = self._log
            if packet.type in _UNLOGGED:
                log = None
            if self.has_listener or log:
                data: Data = packet.model_dump(mode="json")
                if self.has_listener:
                    self._writer(data)
                if log:
                    log.append(data)


async def flush(thread_id: str, failure: str | None, store: BaseStore | None) -> None:
    """Store all packets of a thread whose run has ended, and record whether it failed.

    `failure`: why the run failed, in one line; empty if it succeeded. None: leave what is recorded
    unchanged.
    """
    logs = _logs.get()
    names = [name for name in logs if name[0] == thread_id]
    for name in names:
        await logs.pop(name).flush()
    if store is None or failure is None:
        return
    # A run that failed before its first packet has no log.
    if names or (failure and thread_id):
        pages = Pages(store, thread_id)
        # An unusable store may be the very reason for the failure.
        with suppress(DatabaseUnusable):
            if failure != await read_failure(pages):
                await pages.note({FAILURE_NOTE: {"words": failure}})


async def read_failure(pages: Pages) -> str:
    """Return why the last run on a thread failed, in one line; empty if it succeeded."""
    note = await pages.read_note(FAILURE_NOTE) or {}
    return str(note.get("words", ""))


class StoredLog:
    """Reads the log of a question, also as it grows."""

    def __init__(self, pages: Pages, question_id: str) -> None:
        self._pages, self._question_id = pages, question_id
        self._parts = list[LogPart]()
        self._packets = list[Data]()

    def worked(self, *, is_at_work: bool) -> float:
        """Return the time of work, as far as the log has been read with `read_new`.

        `is_at_work`: a run is at work; then it is the time until now.
        """
        if not self._parts:
            return 0.0
        last = self._parts[-1]
        if last.is_over or not is_at_work:
            return last.worked
        return last.worked + max(0.0, time.time() - last.at)

    async def read(self) -> list[Data]:
        """Return the logged packets in order, without those that a restarted node emitted again
        later.

        Consecutive pieces of a text are one packet. A `stop` packet after which the run went on is
        left out.
        """
        return _without_repeated(await _stored_parts(self._pages, self._question_id))

    async def read_new(self) -> tuple[int, list[Data]]:
        """Return what has changed since the last call: how many packets are still valid, and those
        that follow them.

        A client drops all packets that it has received after the valid ones, since a restarted node
        replaced them.
        """
        before = self._packets
        new_parts = await _stored_parts(self._pages, self._question_id, len(self._parts))
        if not new_parts:
            return len(before), []
        self._parts += new_parts
        self._packets = _without_repeated(self._parts)
        valid = 0
        for old, new in zip(before, self._packets, strict=False):
            if old != new:
                break
            valid += 1
        return valid, self._packets[valid:]


def _continues(last: Data, packet: Data) -> bool:
    """Whether a packet has the next piece of the text in the last one."""
    if packet["type"] not in _TEXT_FIELDS or last["type"] != packet["type"]:
        return False
    return bool(last["placement"] == packet["placement"])


def _without_repeated(parts: Iterable[LogPart]) -> list[Data]:
    """Return the packets of these parts without those that `StoredLog.read` leaves out."""
    kept = list[Data]()
    for packet in chain.from_iterable(part.packets for part in parts):
        turn = _turn(packet)
        if kept and _turn(kept[-1]) > turn:
            # Turns only grow, so a node of an earlier turn runs again: later packets are obsolete.
            kept = [known for known in kept if _turn(known) <= turn]
        if packet["type"] in _BLOCK_STARTS:
            kept = _without_block(kept, packet)
        if kept and kept[-1]["type"] == "stop":
            # The run went on after a pause that a `stop` packet announced.
            kept.pop()
        kept.append(packet)
    return kept


def _without_block(packets: list[Data], start: Data) -> list[Data]:
    """Return the packets without the block that `start` begins again, which an interrupted node
    emitted before."""
    placement = start["placement"]
    if placement["sub_turn_index"] is not None:
        return [packet for packet in packets if packet["placement"] != placement]
    kept = list[Data]()
    branch = _branch(start)
    has_begun = False
    for packet in packets:
        if not has_begun and _begins_same_block(packet, start):
            has_begun = True
        if not has_begun or _branch(packet) != branch:
            kept.append(packet)
    return kept


def _begins_same_block(packet: Data, start: Data) -> bool:
    return all(packet.get(name) == start.get(name) for name in ("type", "placement", "text"))


def _turn(packet: Data) -> int:
    return int(packet["placement"]["turn_index"])


def _branch(packet: Data) -> tuple[int, int]:
    return packet["placement"]["turn_index"], packet["placement"]["tab_index"]


async def _stored_parts(pages: Pages, question_id: str, start: int = 0) -> list[LogPart]:
    """Return the stored parts of a log, from the one with the number `start` on."""
    parts = list[LogPart]()
    for first in count(start, _READ_AT_ONCE):
        names = [_part_name(question_id, part) for part in range(first, first + _READ_AT_ONCE)]
        notes = await pages.read_notes(names)
        parts += [LogPart(**note) for note in notes if note]
        if not all(notes):
            break
    return parts


def _part_name(question_id: str, part: int) -> str:
    return f"packets-{question_id}-{part}"
