"""Shows a run while it works: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from deep_research.run.conversation import clean

WIDTH = 100
"""Characters of a task or query that are shown."""


class Progress(Protocol):
    """Something that listens to the packets of a run."""

    def __enter__(self) -> Progress: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __call__(self, packet: dict[str, Any]) -> None:
        """Take a packet."""


@dataclass
class Researcher:
    """What is known of one researcher."""

    task: str
    doing: str = "starts"
    sources: set[str] = field(default_factory=set)


def describe(packet: dict[str, Any]) -> str:
    """A packet in words; empty for those that say nothing new to a reader of lines."""
    kind = packet["type"]
    if kind == "research_agent_start":
        return f"researching: {_short(packet['research_task'])}"
    if kind == "search_tool_queries_delta":
        return f"searching: {_short(' | '.join(packet['queries']))}"
    if kind == "open_url_urls":
        return f"reading: {_short(', '.join(packet['urls']))}"
    if kind in ("search_tool_documents_delta", "open_url_documents"):
        return f"found {len(packet['documents'])} sources"
    if kind == "error":
        return _short(packet["message"])
    return {"intermediate_report_start": "writing its finding", "message_start": "writing"}.get(kind, "")


class PlainLines:
    """One line an event, for pipes and logs."""

    def __init__(self, output: TextIO | None = None) -> None:
        self.output, self.plan = output or sys.stderr, ""

    def __enter__(self) -> PlainLines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, packet: dict[str, Any]) -> None:
        """Print what a packet says."""
        kind, place = packet["type"], packet["placement"]
        if kind == "deep_research_plan_delta":
            self.plan += packet["content"]
        elif kind == "section_end" and place["turn_index"] == 0:
            self._print(f"plan:\n{clean(self.plan).strip()}")
        elif kind == "documents_indexed" and (packet["done"] == packet["total"] or packet["done"] % 100 == 0):
            self._print(f"documents indexed: {packet['done']} of {packet['total']}")
        elif words := describe(packet):
            is_branch = place["sub_turn_index"] is not None or kind in ("research_agent_start", "error")
            self._print(f"[{place['turn_index']}.{place['tab_index'] + 1}] {words}" if is_branch else words)

    def _print(self, line: str) -> None:
        print(line, file=self.output, flush=True)


class LiveView:
    """Plan, researchers, sources and time, redrawn in place."""

    def __init__(self) -> None:
        self.plan, self.indexing, self.writing = "", "", False
        self.researchers: dict[tuple[int, int], Researcher] = {}
        self.start = time.monotonic()
        self.live = Live(self, console=Console(stderr=True), refresh_per_second=4, transient=True)

    def __enter__(self) -> LiveView:
        self.live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.__exit__(kind, error, trace)

    def __call__(self, packet: dict[str, Any]) -> None:
        """Take a packet into the view."""
        kind, place = packet["type"], packet["placement"]
        branch = (place["turn_index"], place["tab_index"])
        if kind == "deep_research_plan_delta":
            self.plan += packet["content"]
        elif kind == "documents_indexed":
            self.indexing = f"{packet['done']} of {packet['total']} documents indexed"
        elif kind == "research_agent_start":
            self.researchers[branch] = Researcher(_short(packet["research_task"]))
        elif kind == "message_start":
            self.writing = True
        elif branch in self.researchers:
            researcher = self.researchers[branch]
            researcher.doing = describe(packet) or researcher.doing
            researcher.sources |= {document["document_id"] for document in packet.get("documents", [])}
            if kind == "intermediate_report_cited_docs":
                researcher.doing = "done"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The view as it stands."""
        sources = set().union(*(researcher.sources for researcher in self.researchers.values()))
        yield Text(f"{time.monotonic() - self.start:5.0f} s   {len(sources)} sources", style="bold")
        if not self.researchers:
            yield Text(self.indexing, style="dim")
        if self.plan:
            yield Text(clean(self.plan).strip(), style="cyan")
        for researcher in list(self.researchers.values())[-6:]:
            style = "green" if researcher.doing == "done" else "yellow"
            yield Text.assemble(("● ", style), researcher.task, (f"\n  {researcher.doing}", "dim"))
        if self.writing:
            yield Text("writing the report", style="bold green")


def progress_view(is_terminal: bool) -> Progress:
    """The view that fits the output."""
    return LiveView() if is_terminal else PlainLines()


def _short(words: str) -> str:
    line = " ".join(clean(words).split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
