"""What all packets have: a place, a type, and how they are sent."""

from __future__ import annotations

from typing import Any

from langgraph.types import StreamWriter
from pydantic import BaseModel, ConfigDict

from ..knowledge import Extent, Source


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
    date: str = ""
    """As the source states it (the beginning of an ISO date); empty if it states none, and while research goes on."""
    extent: Extent | None = None
    """How much of it was read; none while research goes on."""


class Packet(BaseModel):
    """Base of all packets; `type` is its name on the wire."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    placement: Placement
    type: str


def document(source: Source) -> Document:
    """A source as packets name it while research goes on."""
    return Document(document_id=source.key, title=source.title, link=source.location)


def final_document(source: Source) -> Document:
    """A source as packets name it once research has ended."""
    return document(source).model_copy(update={"date": source.date, "extent": source.extent})


def is_listened_to(writer: StreamWriter) -> bool:
    """Whether anybody receives what is sent; where LangGraph's `custom` mode is not streamed, nobody does."""
    is_langgraphs = str(getattr(writer, "__module__", "")).startswith("langgraph.")
    return not is_langgraphs or getattr(writer, "__closure__", None) is not None


def emit(writer: StreamWriter, *packets: Packet) -> None:
    """Send packets to the run's listeners."""
    if not is_listened_to(writer):
        return
    for packet in packets:
        data: dict[str, Any] = packet.model_dump(mode="json")
        writer(data)
