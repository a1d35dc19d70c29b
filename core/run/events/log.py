"""The log of a run: its packets as they were emitted, kept with the texts of the thread.

A question has one log. Its parts are written a moment after they were emitted, by whichever process works on the
thread; a part is never changed. Of a run that was killed, what was emitted in the last moment is missing; its nodes
run again when it is resumed, and emit their blocks anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from typing import Any

from langgraph.config import get_config, get_store, get_stream_writer
from langgraph.store.base import BaseStore
from langgraph.types import StreamWriter

from ..concurrency import PerLoop
from ..errors import DatabaseUnusable
from ..logs import log_failure
from ..store.changes import announce
from ..store.pages import Pages, page_namespace, pages_of
from .packets import Packet

FAILURE = "failure"
"""Name of the note that says why the last run on a thread failed."""
FLUSH_SECONDS = 0.5
"""Seconds after which what was emitted is kept."""
READ_AT_ONCE = 64
"""Parts that are asked for at once."""
PASSING = frozenset(
    {"call_continued", "call_delayed", "call_finished", "chat_heartbeat", "documents_indexed", "elapsed_time"}
)
"""Types of packets that say something of the moment only: costs stand in the state, and waits are over."""
STARTS = frozenset(
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
"""Types of packets with which a block begins."""
_WORDS = {
    "deep_research_plan_delta": "content",
    "intermediate_report_delta": "content",
    "message_delta": "content",
    "reasoning_delta": "reasoning",
}
"""Types of packets whose words continue those of the packet before, and the field in which they stand."""

Data = dict[str, Any]


class Log:
    """The log of one question, as the process that works on it writes it."""

    def __init__(self, pages: Pages, question_id: str) -> None:
        self._pages, self._question_id = pages, question_id
        self._waiting: list[Data] = []
        self._parts: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._tasks = set[asyncio.Task[None]]()

    def append(self, packet: Data) -> None:
        """Take a packet as it goes out, and its time in seconds since 1970; it is kept `FLUSH_SECONDS` later."""
        if not self._waiting or not _continued(self._waiting[-1], packet):
            self._waiting.append({**packet, "at": round(time.time(), 1)})
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._start)

    async def flush(self) -> None:
        """Keep what has not been kept yet, and wait until all is."""
        self._start()
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None
        if self._waiting:
            task = asyncio.get_running_loop().create_task(self._keep())
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # A store that takes nothing stops the run where something is read from it, not here.
        if not task.cancelled() and (error := task.exception()):
            log_failure(__name__, error, "Packets of a run could not be kept")

    async def _keep(self) -> None:
        async with self._pages.alone(f"log-{self._question_id}"):
            if self._parts is None:
                self._parts = len(await _parts(self._pages, self._question_id))
            packets, self._waiting = self._waiting, []
            try:
                await self._pages.note({_name(self._question_id, self._parts): {"packets": packets}})
            except BaseException:
                # The next part takes them along.
                self._waiting = [*packets, *self._waiting]
                raise
            self._parts += 1
        announce(self._pages.thread)


class Emitter:
    """Sends packets to the clients that listen, and appends them to the log."""

    def __init__(self, writer: StreamWriter, log: Log | None = None) -> None:
        self._writer, self._log = writer, log
        # Where LangGraph's `custom` mode is not streamed, its writer does nothing.
        is_langgraphs = str(getattr(writer, "__module__", "")).startswith("langgraph.")
        self.has_listener = not is_langgraphs or getattr(writer, "__closure__", None) is not None
        """Whether anybody listens."""

    def emit(self, *packets: Packet) -> None:
        """Emit packets in this order."""
        for packet in packets:
            is_logged = self._log is not None and packet.type not in PASSING
            if not (self.has_listener or is_logged):
                continue
            data: Data = packet.model_dump(mode="json")
            if self.has_listener:
                self._writer(data)
            if self._log and is_logged:
                self._log.append(data)


_logs = PerLoop(dict[tuple[tuple[str, str], str], Log])


def emitter(question_id: str) -> Emitter:
    """Return the emitter of the calling node for this question; without a thread, nothing is kept."""
    if not get_config().get("configurable", {}).get("thread_id"):
        return Emitter(get_stream_writer())
    pages = pages_of(get_store(), question_id)
    logs, name = _logs.get(), (pages.place, question_id)
    if name not in logs:
        logs[name] = Log(pages, question_id)
    return Emitter(get_stream_writer(), logs[name])


async def flush(thread_id: str, failure: str | None, store: BaseStore | None) -> None:
    """Keep all that was emitted on a thread, on which nobody is at work any more.

    `failure` says in a line for the user why its run failed, and is empty if it did not; with none, nothing is said.
    """
    logs, place = _logs.get(), page_namespace(thread_id)
    names = [name for name in logs if name[0] == place]
    for name in names:
        await logs.pop(name).flush()
    # One that failed before its first packet has no log.
    if store and failure is not None and (names or (failure and thread_id)):
        await _note_failure(Pages(store, thread_id), failure)


async def _note_failure(pages: Pages, words: str) -> None:
    # A store that takes nothing is what the run has failed of.
    with suppress(DatabaseUnusable):
        if words != await read_failure(pages):
            await pages.note({FAILURE: {"words": words}})


async def read_failure(pages: Pages) -> str:
    """Return why the last run on a thread failed; empty if it did not."""
    return str((await pages.read_note(FAILURE) or {}).get("words", ""))


async def read_log(pages: Pages, question_id: str) -> list[Data]:
    """Return the packets of a question in the order in which they were emitted, without what was emitted anew later.

    Words that came one by one come in one packet; of the packets that end a part of the run, the last one stays.
    """
    return _settled(await _parts(pages, question_id))


class LogTail:
    """The log of a question as it grows, read again and again."""

    def __init__(self, pages: Pages, question_id: str) -> None:
        self._pages, self._question_id = pages, question_id
        self._parts = list[list[Data]]()
        self._packets = list[Data]()

    async def news(self) -> tuple[int, list[Data]]:
        """Return how many of the packets that were returned before still hold, and those that follow them now."""
        before, new = self._packets, await _parts(self._pages, self._question_id, len(self._parts))
        if not new:
            return len(before), []
        self._parts += new
        self._packets = _settled(self._parts)
        pairs = zip(before, self._packets, strict=False)
        held = next((place for place, (old, packet) in enumerate(pairs) if old != packet), len(before))
        held = min(held, len(self._packets))
        return held, self._packets[held:]


def _settled(parts: Iterable[list[Data]]) -> list[Data]:
    kept = list[Data]()
    for part in parts:
        for packet in part:
            turn = packet["placement"]["turn_index"]
            if kept and kept[-1]["placement"]["turn_index"] > turn:
                # Turns only grow: a node of an earlier turn runs again, and what came after it does not hold any more.
                kept = [one for one in kept if one["placement"]["turn_index"] <= turn]
            if packet["type"] in STARTS:
                kept = _without_block(kept, packet)
            # One that ended a pause is no end any more.
            kept = [*kept[:-1], packet] if kept and kept[-1]["type"] == "stop" else [*kept, packet]
    return kept


def _without_block(packets: Iterable[Data], start: Data) -> list[Data]:
    """Return the packets without what stands where a block begins anew: a node that did not end emitted it."""
    packets, place = list(packets), start["placement"]
    if place["sub_turn_index"] is not None:
        return [one for one in packets if one["placement"] != place]
    same = {name: start.get(name) for name in ("type", "placement", "text")}
    begins = (one for one, packet in enumerate(packets) if {name: packet.get(name) for name in same} == same)
    first = next(begins, len(packets))
    return [*packets[:first], *(one for one in packets[first:] if not _is_within(one["placement"], place))]


def _is_within(place: Data, block: Data) -> bool:
    return (place["turn_index"], place["tab_index"]) == (block["turn_index"], block["tab_index"])


def _continued(last: Data, packet: Data) -> bool:
    """Whether the words of a packet could be put behind those of the last one; then they are."""
    field = _WORDS.get(packet["type"], "")
    is_same = field and last["type"] == packet["type"] and last["placement"] == packet["placement"]
    if is_same:
        last[field] += packet[field]
    return bool(is_same)


async def _parts(pages: Pages, question_id: str, start: int = 0) -> list[list[Data]]:
    parts = list[list[Data]]()
    for first in count(start, READ_AT_ONCE):
        notes = await pages.read_notes([_name(question_id, first + one) for one in range(READ_AT_ONCE)])
        parts += [note["packets"] for note in notes if note]
        if not all(notes):
            break
    return parts


def _name(question_id: str, part: int) -> str:
    return f"packets-{question_id}-{part}"
