"""Makes the packets of the blocks of a run: plan, step, researcher, tool call, report.

Each class is built with the placement of its block.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple, cast

from ..records import tool_names
from ..records.plan import Iteration, Learning, PlanStep
from ..records.report import Audit, Grade
from ..records.research import Scope, UsualCost
from ..records.sources import Dispute, Source, short_hash
from ..records.table import RowEntry, RowResult, TableCell
from . import packets
from .packets import Icon, Packet, Placement

ActivityKind = Literal[
    "understand",
    "clarify",
    "summarize",
    "plan",
    "search",
    "analyze",
    "adapt",
    "cross_check",
    "frame",
    "grade",
    "edit",
    "verify",
]
_READING = (tool_names.OPEN_URL, tool_names.READ_DOCUMENTS)
"""Tools that open sources; all others search."""


def activity(
    kind: ActivityKind, seed: str, placement: Placement, step_title: str = ""
) -> packets.Activity:
    """Return a status message of this kind; the same seed (the question) and placement give the
    same text.

    `step_title`: title of the step that it belongs to, if any.
    """
    wordings = wordings_of(kind)
    choice = int(short_hash(seed, kind, placement.model_dump_json()), 16) % len(wordings)
    icon = cast(Icon, _table()["icons"][kind])
    return packets.Activity(
        placement=placement, text=wordings[choice], icon=icon, step_title=step_title
    )


def wordings_of(kind: ActivityKind) -> list[str]:
    """Return the texts of which `activity` chooses one."""
    return _table()["wordings"][kind].splitlines()


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(
        resources.files(__package__).joinpath("activities.toml").read_text("utf-8")
    )


def _document(source: Source) -> packets.Document:
    """Return a source as packets show it during research."""
    return packets.Document(document_id=source.key, title=source.title, link=source.location)


def _final_document(source: Source) -> packets.Document:
    """Return a source as packets show it after the research: also with its date and how much of it
    was read."""
    return _document(source).model_copy(update={"date": source.date, "extent": source.extent})


class PlanPackets(NamedTuple):
    """The packets of the plan."""

    placement: Placement

    def start(self) -> Packet:
        """Return the packet that opens the plan."""
        return packets.PlanStart(placement=self.placement)

    def piece(self, text: str) -> Packet:
        """Return the packet with a piece of its text."""
        return packets.PlanDelta(placement=self.placement, content=text)

    def end(self) -> Packet:
        """Return the packet that ends the plan."""
        return packets.SectionEnd(placement=self.placement)

    def branching(self, branches: int) -> Packet:
        """Return the packet with the number of its tasks or steps that start in parallel."""
        return packets.TopLevelBranching(placement=self.placement, num_parallel_branches=branches)

    def estimate(self, cost: UsualCost) -> Packet:
        """Return the packet with what runs like this one cost."""
        return packets.EstimateMade(placement=self.placement, estimate=cost)


class StepPackets(NamedTuple):
    """The packets of a step of the plan."""

    placement: Placement

    def start(self, step: PlanStep) -> Packet:
        """Return the packet that opens the step."""
        return packets.StepStarted(
            placement=self.placement,
            step_id=step.id,
            title=step.title,
            task=step.task,
            kind=step.kind,
            parent_id=step.parent,
        )

    def iteration(
        self, step_id: str, iteration: Iteration, learnings: Mapping[str, Learning]
    ) -> list[Packet]:
        """Return the packets of a finished iteration: its learnings, taken from `learnings` by id,
        and its verdict."""
        learned: list[packets.LearningShown] = []
        for key in iteration.learnings:
            learning = learnings[key]
            learned.append(
                packets.LearningShown(
                    id=learning.id, text=learning.text, document_id=learning.source
                )
            )
        first = packets.StepLearnings(
            placement=self.placement,
            step_id=step_id,
            iteration=iteration.number,
            learnings=learned,
            confidence=iteration.confidence,
        )
        shown: list[Packet] = [first]
        for verdict in iteration.verdicts:
            assessed = packets.StepAssessed(
                placement=self.placement,
                step_id=step_id,
                iteration=iteration.number,
                query=verdict.query,
                is_complete=verdict.is_complete,
                reasoning=verdict.reasoning,
                key_elements=list(verdict.key_elements),
            )
            shown.append(assessed)
        return shown

    def failure(self, reason: str) -> Packet:
        """Return the packet for a failed part of the step."""
        message = f"Part of a step failed: {reason}."
        return packets.PacketError(placement=self.placement, message=message)

    def end(self, step: PlanStep) -> list[Packet]:
        """Return the packets that end the step, which must be completed, failed or skipped."""
        assert step.status in ("completed", "failed", "skipped")
        done = packets.StepDone(
            placement=self.placement, step_id=step.id, status=step.status, reason=step.reason
        )
        return [done, packets.SectionEnd(placement=self.placement)]


class TablePackets(NamedTuple):
    """The packets of the rows of a table."""

    placement: Placement

    def rows(self, entries: Iterable[RowEntry]) -> Iterator[Packet]:
        """Yield the packets on rows as the state has them."""
        for entry in entries:
            yield packets.RowShown(
                placement=self.placement,
                row_id=entry.id,
                name=entry.name,
                standing=entry.standing,
                reason=entry.reason,
            )

    def filled(self, names: Mapping[str, str], results: Iterable[RowResult]) -> Iterator[Packet]:
        """Yield the packets on rows that a researcher has filled; `names`: of the rows, by id."""
        for result in results:
            yield packets.RowShown(
                placement=self.placement,
                row_id=result.row,
                name=names[result.row],
                standing="rejected" if result.reason else "filled",
                reason=result.reason,
                cells=list(map(_cell_shown, result.cells)),
            )


def _cell_shown(cell: TableCell) -> packets.CellShown:
    """Return a cell as packets show it."""
    texts = dict[str, None]()
    sources = dict[str, None]()
    for value in cell.values:
        texts[value.text] = None
        sources[value.source] = None
    return packets.CellShown(
        column=cell.column,
        state=cell.state,
        text="; ".join(filter(None, texts)),
        document_ids=list(filter(None, sources)),
    )


class ResearcherPackets(NamedTuple):
    """The packets of a researcher: its task and its finding."""

    placement: Placement

    def start(self, task: str) -> Packet:
        """Return the packet that opens the task."""
        return packets.ResearchAgentStart(placement=self.placement, research_task=task)

    def title(self, title: str) -> Packet:
        """Return the packet with the task in a few words."""
        return packets.ResearchAgentTitle(placement=self.placement, title=title)

    def failure(self, reason: str, *, is_final: bool = False) -> Packet:
        """Return the packet for a researcher that did not finish; `is_final`: it writes no finding
        either."""
        message = f"A researcher did not finish: {reason}."
        return packets.PacketError(placement=self.placement, message=message, is_final=is_final)

    def finding_start(self) -> Packet:
        """Return the packet that opens the finding."""
        return packets.FindingStart(placement=self.placement)

    def finding_piece(self, text: str) -> Packet:
        """Return the packet with a piece of the finding's text."""
        return packets.FindingDelta(placement=self.placement, content=text)

    def finding_end(self, cited: Iterable[Source]) -> list[Packet]:
        """Return the packets that end a finding which cites these sources."""
        documents = [_document(source) for source in cited]
        shown = packets.FindingCitedDocuments(placement=self.placement, cited_docs=documents)
        return [shown, packets.SectionEnd(placement=self.placement)]

    def finding(self, text: str, cited: Iterable[Source]) -> list[Packet]:
        """Return the packets of a finding that no model streamed; only its end if it has no
        text."""
        if not text:
            return [packets.SectionEnd(placement=self.placement)]
        return [self.finding_start(), self.finding_piece(text), *self.finding_end(cited)]


class ToolPackets(NamedTuple):
    """The packets of a tool call."""

    placement: Placement
    tool: str
    """Name of the tool."""

    def start(self, inputs: Sequence[str], scope: Scope) -> list[Packet]:
        """Return the packets that open the call; `inputs`: its queries or addresses; `scope` has
        the web filters."""
        if self.tool in _READING:
            return [
                packets.OpenUrlStart(placement=self.placement),
                packets.OpenUrlUrls(placement=self.placement, urls=list(inputs)),
            ]
        is_web = self.tool == tool_names.WEB_SEARCH
        shown: list[Packet] = [
            packets.SearchToolStart(placement=self.placement, is_internet_search=is_web),
            packets.SearchToolQueries(placement=self.placement, queries=list(inputs)),
        ]
        if is_web and (scope.domains_allow or scope.domains_deny or scope.published_after):
            filters = packets.SearchToolFilters(
                placement=self.placement,
                sources=list(scope.domains_allow),
                excluded=list(scope.domains_deny),
                time_start=scope.published_after or None,
            )
            shown.append(filters)
        return shown

    def end(self, sources: Iterable[Source], problems: Sequence[str]) -> Iterator[Packet]:
        """Yield the packets that end the call: problems, then sources."""
        if problems:
            yield packets.ToolProblems(placement=self.placement, problems=list(problems))
        documents = [_document(source) for source in sources]
        if self.tool in _READING:
            yield packets.OpenUrlDocuments(placement=self.placement, documents=documents)
        else:
            yield packets.SearchToolDocuments(placement=self.placement, documents=documents)
        yield packets.SectionEnd(placement=self.placement)


class MessagePackets(NamedTuple):
    """The packets of a message to the user: the report, a clarifying question, or a summary."""

    placement: Placement

    def question(self, text: str) -> list[Packet]:
        """Return the packets of a clarifying question."""
        return [packets.MessageStart(placement=self.placement), self.piece(text)]

    def summary(self, text: str) -> Packet:
        """Return the packet with the summary of the conversation."""
        return packets.Summary(placement=self.placement, summary=text)

    def report_start(self, sources: Iterable[Source], seconds: float) -> Packet:
        """Return the packet that opens the report.

        `sources`: those that it may cite, by number; `seconds`: active seconds of the run so far.
        """
        return packets.MessageStart(
            placement=self.placement,
            final_documents=[_final_document(source) for source in sources],
            pre_answer_processing_seconds=seconds,
        )

    def piece(self, text: str) -> Packet:
        """Return the packet with a piece of the text."""
        return packets.MessageDelta(placement=self.placement, content=text)

    def citation(self, number: int, key: str) -> Packet:
        """Return the packet with a citation number and the key of its source, sent before the first
        text that uses it."""
        return packets.CitationInfo(
            placement=self.placement, citation_number=number, document_id=key
        )


class ReportPackets(NamedTuple):
    """The packets on what the report rests on, and on its checks."""

    placement: Placement

    def disputes(self, disputes: Iterable[Dispute]) -> Packet:
        """Return the packet with disputes between sources."""
        shown = list[packets.DisputeShown]()
        for dispute in disputes:
            first, second = dispute.sides
            shown.append(
                packets.DisputeShown(
                    claim=first.text,
                    document_id=first.source,
                    date=first.date,
                    origin=first.origin,
                    other_claim=second.text,
                    other_document_id=second.source,
                    other_date=second.date,
                    other_origin=second.origin,
                    newer_document_id=dispute.newer,
                    about=dispute.about,
                    resolution=dispute.resolution,
                )
            )
        return packets.ContradictionsFound(placement=self.placement, contradictions=shown)

    def framing(self, message: str, reasoning: str) -> Packet:
        """Return the packet with the main message of the report."""
        return packets.ReportFraming(
            placement=self.placement, main_message=message, reasoning=reasoning
        )

    def sources(self, sources: Sequence[Source]) -> Packet:
        """Return the packet with all sources of the research; those with a number are cited."""
        documents = [_final_document(source) for source in sources]
        cited = [source.key for source in sources if source.number]
        return packets.Sources(placement=self.placement, documents=documents, cited=cited)

    def grades(self, grades: Sequence[Grade], *, is_researched: bool) -> Packet:
        """Return the packet with the grades of a draft, and whether open items are researched
        next."""
        return packets.ReportGraded(
            placement=self.placement, grades=list(grades), is_researched=is_researched
        )

    def revised(
        self, text: str, keys: Mapping[int, str], changed: Iterable[tuple[int, int, int]] = ()
    ) -> Packet:
        """Return the packet with a report that replaces the one shown so far.

        `keys` of its sources are by number; `changed` are number, start and end of the blocks that
        differ.
        """
        citations: list[packets.ReportCitation] = []
        for number, key in keys.items():
            citations.append(packets.ReportCitation(citation_number=number, document_id=key))
        blocks: list[packets.RevisedBlock] = []
        for number, start, end in changed:
            blocks.append(packets.RevisedBlock(number=number, start=start, end=end))
        return packets.ReportRevised(
            placement=self.placement, content=text, citations=citations, changed=blocks
        )

    def notes(self, notes: Sequence[str], above: str) -> Packet:
        """Return the packet with the notes below the report, and the warning above it."""
        return packets.NotesAdded(placement=self.placement, notes=list(notes), above=above)

    def audit(self, audit: Audit) -> Packet:
        """Return the packet with the audit of the report."""
        return packets.ReportAudited(placement=self.placement, audit=audit)
