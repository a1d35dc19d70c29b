"""Tells of a run while it works, a line an event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from deep_research.app.terminal import say
from deep_research.run.conversation import clean
from deep_research.state import ResearchState

WIDTH = 100
"""Characters of a task or query that are shown."""
EVERY = 100
"""Documents indexed from one plain line to the next."""


class Progress(ABC):
    """Something that listens to the packets of a run."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def __call__(self, packet: dict[str, Any]) -> None:
        """Take a packet; the title comes with the first, so that a refused call shows the reason alone."""
        if self.title:
            self.tell(self.title)
            self.title = ""
        self.take(packet)

    def tell(self, words: str) -> None:
        """Print something that stays."""
        say(words)

    @abstractmethod
    def take(self, packet: dict[str, Any]) -> None:
        """Show what a packet says."""

    @abstractmethod
    def recall(self, state: ResearchState) -> None:
        """Take in what a run that goes on has done before."""


def describe(packet: dict[str, Any]) -> str:
    """A packet in words; empty for those that say nothing new to a reader of lines."""
    kind = packet["type"]
    if kind == "research_agent_start":
        return f"researching: {shorten(packet['research_task'])}"
    if kind == "search_tool_queries_delta":
        return f"searching: {shorten(' | '.join(packet['queries']))}"
    if kind == "open_url_urls":
        return f"reading: {shorten(', '.join(packet['urls']))}"
    if kind in ("search_tool_documents_delta", "open_url_documents"):
        return f"found {count_sources(len(packet['documents']))}"
    if kind == "intermediate_report_start":
        return "writing its finding"
    if kind == "intermediate_report_cited_docs":
        return f"done, cites {count_sources(len(packet['cited_docs']))}"
    return shorten(packet["message"]) if kind == "error" else ""


class PlainLines(Progress):
    """One line an event, for pipes and logs."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.plan = ""

    def take(self, packet: dict[str, Any]) -> None:
        """Print what a packet says."""
        kind, place = packet["type"], packet["placement"]
        if kind == "deep_research_plan_start":
            self.plan = ""
        elif kind == "deep_research_plan_delta":
            self.plan += packet["content"]
        elif kind == "section_end" and place["turn_index"] == 0:
            say(f"plan:\n{self.plan.strip()}")
        elif kind == "documents_indexed" and (packet["done"] == packet["total"] or packet["done"] % EVERY == 0):
            say(f"documents indexed: {packet['done']} of {packet['total']}")
        elif is_report_start(packet):
            say("writing the report")
        elif words := describe(packet):
            say(f"[{place['turn_index']}.{place['tab_index'] + 1}] {words}")

    def recall(self, state: ResearchState) -> None:
        """Say where the run goes on."""
        if state.plan:
            self.title += f"\ngoing on with the plan:\n{state.plan.text}"


def is_report_start(packet: dict[str, Any]) -> bool:
    """Whether the report follows."""
    # A question to the user starts with the same packet, but has no sources.
    return packet["type"] == "message_start" and packet["final_documents"] is not None


def count_sources(count: int) -> str:
    """So many sources, in words."""
    return "1 source" if count == 1 else f"{count} sources"


def shorten(words: str) -> str:
    """The words in one line of bearable length."""
    line = " ".join(clean(words).split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
