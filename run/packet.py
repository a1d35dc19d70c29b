"""What all packets have: a place, a type, and how they are sent."""

from __future__ import annotations

from typing import Any

from langgraph.types import StreamWriter
from pydantic import BaseModel, ConfigDict

from ..knowledge import Source


class Placement(BaseModel):
    """Where a packet belongs: a block of the run, a parallel call in it, a step of that call."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    turn_index: int
    """Block of the run, growing."""
    tab_index: int = 0
    """Parallel call inside the block."""
    sub_turn_index: int | None = None
    """Step of a researcher; none at the top level."""
    model_index: int = 0
    """Always 0: one model answers."""


class Document(BaseModel):
    """A source as packets name it."""

    document_id: str
    title: str
    link: str


class Packet(BaseModel):
    """Base of all packets; `type` is its name on the wire."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    placement: Placement
    type: str


def document(source: Source) -> Document:
    """A source as packets name it."""
    return Document(document_id=source.key, title=source.title, link=source.location)


def emit(writer: StreamWriter, *packets: Packet) -> None:
    """Send packets to the run's listeners."""
    for packet in packets:
        data: dict[str, Any] = packet.model_dump(mode="json")
        writer(data)
