"""Prints the packets of a run for programs."""

from __future__ import annotations

import json
import time

from ..run.packet import Placement
from ..run.packets import AnyPacket, OverallStop
from ..state import ResearchState
from .progress import Progress
from .terminal import ReaderGone, put_out


class PacketLines(Progress):
    """Every packet as a line of JSON on standard output; the last line is a stop, whatever happens."""

    def __init__(self) -> None:
        super().__init__("")
        self.has_stopped = False
        self.start = time.monotonic()

    def take(self, packet: AnyPacket) -> None:
        """Print a packet; raises `ReaderGone`, which stops the run: it is told to nobody."""
        self.has_stopped = isinstance(packet, OverallStop)
        # ASCII alone, so that no reader's encoding matters.
        if not put_out(json.dumps(packet.model_dump(mode="json"))):
            raise ReaderGone

    def recall(self, state: ResearchState) -> None:
        """Say nothing: packets tell of what happens now."""

    def close(self, message: str, *, is_cancelled: bool) -> None:
        """Print a stop, unless the stream ended with one: what went wrong may have done so before it began."""
        if self.has_stopped:
            return
        stop = OverallStop(
            placement=Placement(turn_index=0),
            stop_reason="user_cancelled" if is_cancelled else "failed",
            message=message,
            elapsed_seconds=round(time.monotonic() - self.start, 3),
        )
        self.take(stop)
