"""What holds of every stream of packets: brackets, order, counts; and how two streams are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter

from deep_research.core.events import packets as p
from deep_research.core.events.packets import AnyPacket
from deep_research.core.records.research import total
from deep_research.state import ResearchState

Position = tuple[int, int, int]
"""Turn, tab and sub-turn; -1 for none."""
PASSING = (
    p.CallContinued,
    p.CallDelayed,
    p.CallFinished,
    p.CallPending,
    p.ChatHeartbeat,
    p.DocumentsIndexed,
    p.ElapsedTime,
)
"""Packets that belong to no block and that no replay has."""
INSIDE: dict[type[Any], type[Any] | tuple[type[Any], ...]] = {
    p.PlanDelta: p.PlanStart,
    p.ReasoningDelta: p.ReasoningStart,
    p.ReasoningDone: p.ReasoningStart,
    p.SearchToolQueries: p.SearchToolStart,
    p.SearchToolFilters: p.SearchToolStart,
    p.SearchToolDocuments: p.SearchToolStart,
    p.ToolProblems: (p.SearchToolStart, p.OpenUrlStart),
    p.ResearchAgentTitle: p.ResearchAgentStart,
    p.OpenUrlUrls: p.OpenUrlStart,
    p.OpenUrlDocuments: p.OpenUrlStart,
    p.FindingStart: p.ResearchAgentStart,
    p.FindingDelta: p.FindingStart,
    p.FindingCitedDocuments: p.FindingStart,
    p.PacketError: (p.ResearchAgentStart, p.StepStarted, p.Activity),
    p.StepDone: p.StepStarted,
    p.Summary: p.Activity,
    p.ReportFraming: p.Activity,
    p.Sources: p.Activity,
    p.ContradictionsFound: p.Activity,
    p.MessageDelta: p.MessageStart,
    p.CitationInfo: p.MessageStart,
}
STEPS = (p.ReasoningStart, p.SearchToolStart, p.OpenUrlStart)
BRANCHES = (p.ResearchAgentStart, p.StepStarted)
BLOCKS = (*STEPS, *BRANCHES, p.PlanStart, p.MessageStart)
WORDS = (p.Activity, p.StepLearnings)
"""Packets that need no end."""
READER: TypeAdapter[AnyPacket] = TypeAdapter(AnyPacket)
MARKER = re.compile(r"\[(\d+)\]")
CODE = re.compile(r"```.*?(?:```|$)|`[^`\n]*`?", re.DOTALL)
"""What stands in code cites nothing; what has not been closed yet may still be code."""


def position_of(packet: AnyPacket) -> Position:
    turn, tab, step = (
        packet.placement.turn_index,
        packet.placement.tab_index,
        packet.placement.sub_turn_index,
    )
    return turn, tab, -1 if step is None else step


def faults(packets: Sequence[AnyPacket], *, is_whole: bool = True) -> list[str]:
    """What is wrong with the stream of one run; `is_whole`: the run came to its report."""
    stops = [index for index, packet in enumerate(packets) if isinstance(packet, p.OverallStop)]
    found = faults_before_stop(packets, is_whole=is_whole)
    return found if stops == [len(packets) - 1] else [*found, "stop is not last"]


def faults_before_stop(packets: Sequence[AnyPacket], *, is_whole: bool = True) -> list[str]:
    """As `faults`, of a graph's own stream, in which each pause has a stop."""
    check = Check()
    for packet in packets:
        if not isinstance(packet, PASSING):
            check.take(packet)
    return check.faults + (check.left_open() if is_whole else [])


class Books:
    """Compares what calls were said to cost with what the state says, question by question."""

    def __init__(self) -> None:
        self._question = ""
        self._calls: list[dict[str, Any]] = []

    def fault(self, packets: Iterable[dict[str, Any]], state: ResearchState) -> str:
        """How they differ once there is a report; empty if they do not. `packets` are those since
        the last time."""
        calls = [packet for packet in packets if packet["type"] == "call_finished"]
        question = state.run.id if state.run else ""
        self._calls = calls if question != self._question else self._calls + calls
        self._question = question
        said = tuple(
            sum(packet[name] for packet in self._calls)
            for name in ("input_tokens", "output_tokens")
        )
        kept = total(state.spending)
        is_right = not state.report or said == (kept.input_tokens, kept.output_tokens)
        return "" if is_right else f"tokens {said} were told, {kept} is kept"


class Check:
    """Follows a stream and notes every breach."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.open: dict[Position, list[AnyPacket]] = {}
        self.closed: set[Position] = set()
        self.said: dict[Position, AnyPacket] = {}
        self.branches: dict[int, int] = {}
        self.agents: dict[int, int] = {}
        self.announced: dict[int, str] = {}
        self.text = ""
        self.turn = 0

    def take(self, packet: AnyPacket) -> None:
        position = position_of(packet)
        self._check_order(packet, position)
        around = INSIDE.get(type(packet))
        present = (*self.open.get(position, ()), self.said.get(position))
        if around and not any(isinstance(opener, around) for opener in present):
            self.faults.append(f"{packet.type} at {position} stands in no {around}")
        match packet:
            case p.SectionEnd() | p.ReasoningDone():
                self._close(packet, position)
            case p.TopLevelBranching():
                self.branches[position[0]] = packet.num_parallel_branches
            case p.CitationInfo(citation_number=number, document_id=document):
                if number in self.announced or document in self.announced.values():
                    self.faults.append(f"citation {number} is announced twice")
                self.announced[number] = document
            case p.MessageDelta():
                self.text += packet.content
                cited = {int(number) for number in MARKER.findall(CODE.sub("", self.text))}
                if not cited <= self.announced.keys():
                    self.faults.append(
                        f"{cited - self.announced.keys()} are cited before they are announced"
                    )
            case p.FindingStart():
                self.open[position] = [*self.open.get(position, ())[:1], packet]
        if isinstance(packet, BLOCKS):
            self._open(packet, position)
        if isinstance(packet, WORDS):
            self.said[position] = packet

    def left_open(self) -> list[str]:
        """What should have ended by the end, and branches that do not add up."""
        openers = [opener for stack in self.open.values() for opener in stack]
        left = [
            f"{opener.type} is never closed"
            for opener in openers
            if not isinstance(opener, p.MessageStart)
        ]
        wanted = {turn: count for turn, count in self.agents.items() if count > 1}
        return left + (
            []
            if wanted == self.branches
            else [f"branches {self.branches}, researchers {self.agents}"]
        )

    def _check_order(self, packet: AnyPacket, position: Position) -> None:
        if position[0] < self.turn:
            self.faults.append(f"{packet.type} goes back to turn {position[0]} from {self.turn}")
        self.turn = position[0]
        if position in self.closed and not isinstance(packet, p.OverallStop | p.EstimateMade):
            self.faults.append(f"{packet.type} comes after the end of {position}")
        if position[2] >= 0 and not self.open.get((position[0], position[1], -1)):
            self.faults.append(f"{packet.type} at {position} has no researcher")

    def _open(self, packet: AnyPacket, position: Position) -> None:
        turn, tab, step = position
        if self.open.get(position):
            self.faults.append(f"{packet.type} at {position} begins in an open block")
        if step > 0 and (turn, tab, step - 1) not in self.closed | self.said.keys():
            self.faults.append(f"step {position} comes before the one before it")
        if isinstance(packet, BRANCHES):
            self.agents[turn] = self.agents.get(turn, 0) + 1
        self.open[position] = [packet]

    def _close(self, packet: AnyPacket, position: Position) -> None:
        stack = self.open.pop(position, [])
        is_thought = bool(stack) and isinstance(stack[0], p.ReasoningStart)
        if not stack or is_thought is not isinstance(packet, p.ReasoningDone):
            self.faults.append(
                f"{packet.type} at {position} closes {[opener.type for opener in stack]}"
            )
        self.closed.add(position)


def merged(packets: Iterable[AnyPacket]) -> dict[Position, list[tuple[str, Any]]]:
    """What each position says: deltas joined, the passing left out, in the order of the places."""
    contents: dict[Position, list[tuple[str, Any]]] = {}
    for packet in packets:
        if isinstance(packet, PASSING):
            continue
        said = contents.setdefault(position_of(packet), [])
        fields = packet.model_dump(exclude={"type", "placement", "elapsed_seconds", "is_resumable"})
        if packet.type.endswith("_delta") and isinstance(text := next(iter(fields.values())), str):
            before = said.pop()[1] if said and said[-1][0] == packet.type else ""
            said.append((packet.type, before + text))
        else:
            said.append((packet.type, fields))
    return {position: contents[position] for position in sorted(contents)}
