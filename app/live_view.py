"""Shows a running run on a terminal, in a view that is redrawn continuously."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from ..core.run.branches import StepTask
from ..core.run.conversation import safe_text
from ..core.run.events import packets
from ..core.run.events.packets import AnyPacket
from ..state import ResearchState
from .progress import (
    PlainLines,
    ProgressView,
    describe,
    describe_index,
    is_completed,
    is_report_start,
    shorten,
)
from .terminal import supports_styles
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
            self.delay = (
                describe(packet)
                if isinstance(packet, packets.CallDelayed | packets.CallContinued)
                else ""
            )
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
                self.researchers[branch] = Researcher(
                    shorten(f"{packet.step_id} {packet.title}"), is_step=True
                )
            case packets.Activity() if branch not in self.researchers:
                self.activity = describe(packet)
            case _ if is_report_start(packet):
                self.is_writing, self.activity, self.written = True, "", ""
            case packets.MessageDelta() if self.is_writing:
                self.written = (self.written + safe_text(packet.content))[-_SHOWN_CHARACTERS:]
            case _ if researcher := self.researchers.get(branch):
                researcher.doing = describe(packet) or researcher.doing
                if isinstance(packet, packets.SearchToolDocuments | packets.OpenUrlDocuments):
                    researcher.sources |= {document.document_id for document in packet.documents}
                # A step continues after an error.
                last = (
                    packets.StepDone
                    if researcher.is_step
                    else packets.FindingCitedDocuments | packets.PacketError
                )
                researcher.is_done = researcher.is_done or isinstance(packet, last)

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
            step = task.step if isinstance(task, StepTask) else None
            words = f"{step.id} {step.title}" if step else task.title or task.text
            known = Researcher(
                shorten(words), "continues, or has finished", is_step=step is not None
            )
            self.researchers[task.turn, task.position] = known

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(2, (options.max_height if options.height is None else options.height) - 1)
        sources = set().union(*(researcher.sources for researcher in self.researchers.values()))
        spent = f", {self.costs}" if self.costs.calls else ""
        header = f"{time.monotonic() - self.start:.0f} s, {counted(len(sources), 'source')}{spent}"
        work = self._work()
        words = (
            [*Text(self.written.strip()).wrap(console, options.max_width)]
            if self.is_writing
            else []
        )
        # If space is short, the text being written comes first, then current work, then the plan.
        words = words[-max(room // 2, room - 1 - len(work)) :]
        work = work[-(room - 1 - len(words)) :] if room - 1 > len(words) else []
        plan = self._plan()[: room - 1 - len(work) - len(words)]
        for line in (Text(header, style="bold"), *plan, *work, *words):
            line.no_wrap, line.overflow = True, "ellipsis"
            yield line

    def _work(self) -> list[Text]:
        """Return two lines per researcher, then what the run is doing or waiting for."""
        work: list[Text] = []
        for researcher in list(self.researchers.values())[-_SHOWN_RESEARCHERS:]:
            style = "green" if researcher.is_done else "yellow"
            work += [
                Text.assemble(("● ", style), researcher.task),
                Text(f"  {researcher.doing}", style="dim"),
            ]
        if self.plan and self.activity:
            work.append(Text(self.activity, style="dim"))
        elif self.is_writing:
            work.append(Text("writing the report", style="bold green"))
        waiting = ((self.pending, "dim"), (self.delay, "bold yellow"))
        return work + [Text(words, style=style) for words, style in waiting if words]

    def _plan(self) -> list[Text]:
        """Return the plan, without the details of its steps once these are shown as work."""
        if not self.plan:
            return [Text(self.activity or self.indexing or "starting", style="dim")]
        has_steps = any(researcher.is_step for researcher in self.researchers.values())
        lines = safe_text(self.plan).strip().splitlines()
        return [
            Text(line, style="cyan") for line in lines if not has_steps or not line.startswith(" ")
        ]
