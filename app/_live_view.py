"""Shows a running run on a terminal, in a view that is redrawn continuously."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from ..core.dialogue.conversation import safe_text
from ..core.events import packets
from ..core.events.packets import AnyPacket
from ..core.records.plan import StepTask
from ..state import ResearchState
from ._progress import (
    PlainLines,
    ProgressView,
    describe,
    describe_index,
    is_completed,
    is_report_start,
    shorten,
)
from ._terminal import supports_styles
from .words import counted

_SHOWN_RESEARCHERS = 6
"""Maximum number of researchers shown; the latest are kept."""
_SHOWN_CHARACTERS = 4000
"""Number of characters kept from the end of the text being written."""


def progress_view(title: str) -> ProgressView:
    """Return a live view if standard error is a terminal that can redraw lines, otherwise a view of
    plain lines."""
    return LiveView(title) if supports_styles(sys.stderr) else PlainLines(title)


@dataclass
class Researcher:
    """A researcher or plan step, as the view shows it."""

    task: str
    doing: str = "starts"
    """Its latest action, in words."""
    is_done: bool = False
    sources: set[str] = field(default_factory=set)
    """Ids of the documents that it has found or read."""
    is_step: bool = False
    """Whether it executes a step of a plan."""


class LiveView(ProgressView):
    """Shows elapsed time, costs, plan and researchers, then the report as it is written; erased at
    the end."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.plan = ""
        self.indexing = ""
        """Progress of indexing documents."""
        self.delay = ""
        """Why a model call outside of the researchers is delayed or continued."""
        self.activity = ""
        """What the run is doing outside of the researchers."""
        self.is_writing = False
        self.written = ""
        """End of the report as written so far."""
        self.researchers: dict[tuple[int, int], Researcher] = {}
        """By turn and tab of their packets."""
        self.start = time.monotonic()
        self.live = Live(self, console=Console(stderr=True), refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self.live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.live.__exit__(*error)

    def print(self, text: str) -> None:
        """Print a text above the view."""
        self.live.console.print(Text(safe_text(text)))

    def take(self, packet: AnyPacket) -> None:
        """Update the view from a packet."""
        branch = (packet.placement.turn_index, packet.placement.tab_index)
        if branch not in self.researchers:
            self.delay = ""
            if isinstance(packet, packets.CallDelayed | packets.CallContinued):
                self.delay = describe(packet)
        match packet:
            case packets.PlanStart():
                self.plan = ""
            case packets.PlanDelta():
                self.plan += packet.content
            # Printed above the view, which is erased at the end.
            case packets.OverallStop() if not is_completed(packet) and self.costs.calls:
                self.print(self.costs.line)
            case packets.EstimateMade():
                self.print(describe(packet))
            case packets.DocumentsIndexed() if packet.unread_total:
                self.print(describe_index(packet))
            case packets.DocumentsIndexed():
                self.indexing = f"{packet.done} of {packet.total} documents indexed"
            case packets.ResearchAgentStart():
                self.researchers[branch] = Researcher(shorten(packet.research_task))
            case packets.ResearchAgentTitle() if branch in self.researchers:
                self.researchers[branch].task = packet.title
            case packets.StepStarted():
                self.activity = ""
                task = shorten(f"{packet.step_id} {packet.title}")
                self.researchers[branch] = Researcher(task, is_step=True)
            case packets.Activity() if branch not in self.researchers:
                self.activity = describe(packet)
            case _ if is_report_start(packet):
                self.is_writing = True
                self.activity = ""
                self.written = ""
            case packets.MessageDelta() if self.is_writing:
                self.written = (self.written + safe_text(packet.content))[-_SHOWN_CHARACTERS:]
            case _ if branch in self.researchers:
                _update(self.researchers[branch], packet)

    def recall(self, state: ResearchState) -> None:
        """Show the plan of a resumed run, its findings for the question, and the tasks it was
        working on."""
        self.plan = state.plan.text if state.plan else ""
        for finding in state.own_findings:
            # Negative turns sort before those of the resumed run, which begin at 1.
            branch = (finding.cycle - len(state.findings), finding.position)
            self.researchers[branch] = Researcher(
                shorten(finding.task), finding.ended, True, set(finding.sources)
            )
        for task in state.tasks:
            words = task.title or task.text
            is_step = isinstance(task, StepTask)
            if isinstance(task, StepTask):
                words = f"{task.step.id} {task.step.title}"
            self.researchers[task.turn, task.position] = Researcher(
                shorten(words), "continues, or has finished", is_step=is_step
            )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = options.max_height if options.height is None else options.height
        room = max(2, height - 1) - 1
        # If space is short, the text being written comes first, then current work, then the plan.
        work = self._work()
        words = list[Text]()
        if self.is_writing:
            words = list(Text(self.written.strip()).wrap(console, options.max_width))
            words = words[-max((room + 1) // 2, room - len(work)) :]
        left = room - len(words)
        work = work[-left:] if left > 0 else []
        plan = self._plan()[: left - len(work)]
        for line in (self._header(), *plan, *work, *words):
            line.no_wrap = True
            line.overflow = "ellipsis"
            yield line

    def _header(self) -> Text:
        """Return the elapsed time, the number of sources and the costs."""
        sources = set[str]()
        for researcher in self.researchers.values():
            sources |= researcher.sources
        header = f"{time.monotonic() - self.start:.0f} s, {counted(len(sources), 'source')}"
        if self.costs.calls:
            header += f", {self.costs}"
        return Text(header, style="bold")

    def _work(self) -> list[Text]:
        """Return two lines per researcher, then what the run is doing or waiting for."""
        work: list[Text] = []
        for researcher in list(self.researchers.values())[-_SHOWN_RESEARCHERS:]:
            style = "green" if researcher.is_done else "yellow"
            work.append(Text.assemble(("● ", style), researcher.task))
            work.append(Text(f"  {researcher.doing}", style="dim"))
        if self.plan and self.activity:
            work.append(Text(self.activity, style="dim"))
        elif self.is_writing:
            work.append(Text("writing the report", style="bold green"))
        if self.pending:
            work.append(Text(self.pending, style="dim"))
        if self.delay:
            work.append(Text(self.delay, style="bold yellow"))
        return work

    def _plan(self) -> list[Text]:
        """Return the plan, without the details of its steps once these are shown as work."""
        if not self.plan:
            return [Text(self.activity or self.indexing or "starting", style="dim")]
        lines = safe_text(self.plan).strip().splitlines()
        if any(researcher.is_step for researcher in self.researchers.values()):
            lines = [line for line in lines if not line.startswith(" ")]
        return [Text(line, style="cyan") for line in lines]


def _update(researcher: Researcher, packet: AnyPacket) -> None:
    """Update a researcher from a packet of its branch."""
    researcher.doing = describe(packet) or researcher.doing
    if isinstance(packet, packets.SearchToolDocuments | packets.OpenUrlDocuments):
        researcher.sources |= {document.document_id for document in packet.documents}
    if researcher.is_step:
        # A step continues after an error.
        is_last = isinstance(packet, packets.StepDone)
    else:
        is_last = isinstance(packet, packets.FindingCitedDocuments | packets.PacketError)
    researcher.is_done = researcher.is_done or is_last
