"""The packets of a stored run, from its log."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator

from langgraph.store.base import BaseStore

from ..run.errors import UnknownThread
from ..run.events.log import read_log
from ..run.events.packets import AnyPacket, OverallStop, Placement
from ..run.store.pages import Pages
from ..state import ResearchState
from .embed import ResearchGraph, thread_config
from .loops import iterate
from .stream import read_packet

UNFINISHED = "The run was stopped before its end."


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
    logged = await read_log(Pages(store, thread_id), run.id) if run and store else []
    packets = [*map(read_packet, logged)]
    if packets and packets[-1].type == "stop":
        return packets
    turns = [one.placement.turn_index for one in packets if one.placement.sub_turn_index is None]
    stop = OverallStop(
        placement=Placement(turn_index=turns[-1] if turns else 0),
        stop_reason="failed",
        message=UNFINISHED,
        is_resumable=True,
        elapsed_seconds=run.active_seconds if run else 0.0,
    )
    return [*packets, stop]
