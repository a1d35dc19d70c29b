"""Turns a stored run back into the packets that a client would have seen."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from deep_research.evidence.citations import CitationStream, Cited
from deep_research.evidence.rendering import link_citations
from deep_research.run import packets
from deep_research.run.packets import Packet, Placement
from deep_research.state import Action, Finding, Report, ResearchState


def replay(state: ResearchState) -> Iterator[Packet]:
    """The packets of the thread's latest question: plan, branches with their steps and findings, and the report."""
    assert state.run is not None
    if state.plan:
        yield from _plan(state.plan.text)
    findings = [finding for finding in state.findings.values() if finding.question_id == state.run.id]
    findings.sort(key=lambda finding: (finding.cycle, finding.position))
    turn = 0
    for turn, (_, group) in enumerate(groupby(findings, key=lambda finding: finding.cycle), 1):
        yield from _round(state, list(group), turn)
    if state.report:
        yield from _report(state, state.report, turn + 1)


def _plan(text: str) -> Iterator[Packet]:
    place = Placement(turn_index=0)
    yield packets.PlanStart(placement=place)
    yield packets.PlanDelta(placement=place, content=text)
    yield packets.SectionEnd(placement=place)


def _round(state: ResearchState, findings: list[Finding], turn: int) -> Iterator[Packet]:
    if len(findings) > 1:
        yield packets.TopLevelBranching(placement=Placement(turn_index=turn), num_parallel_branches=len(findings))
    for finding in findings:
        place = Placement(turn_index=turn, tab_index=finding.position)
        yield packets.ResearchAgentStart(placement=place, research_task=finding.task)
        for step, action in enumerate(finding.actions):
            yield from _action(state, action, place.model_copy(update={"sub_turn_index": step}))
        if finding.ended == "failed":
            yield packets.PacketError(placement=place, message=f"A researcher did not finish: {finding.reason}.")
        else:
            yield packets.FindingStart(placement=place)
            yield packets.FindingDelta(placement=place, content=finding.text)
        yield packets.SectionEnd(placement=place)


def _action(state: ResearchState, action: Action, place: Placement) -> Iterator[Packet]:
    documents = [packets.document(state.sources[key]) for key in action.found]
    if action.tool == "open_url":
        yield packets.OpenUrlStart(placement=place)
        yield packets.OpenUrlUrls(placement=place, urls=list(action.inputs))
        yield packets.OpenUrlDocuments(placement=place, documents=documents)
    else:
        yield packets.SearchToolStart(placement=place, is_internet_search=action.tool == "web_search")
        yield packets.SearchToolQueries(placement=place, queries=list(action.inputs))
        yield packets.SearchToolDocuments(placement=place, documents=documents)
    yield packets.SectionEnd(placement=place)


def _report(state: ResearchState, report: Report, turn: int) -> Iterator[Packet]:
    place = Placement(turn_index=turn)
    yield packets.MessageStart(placement=place)
    stream = CitationStream(dict(enumerate(report.sources, 1)))
    for piece in [*stream.feed(report.text), *stream.finish()]:
        words = ""
        if isinstance(piece, Cited):
            if piece.is_first:
                yield packets.CitationInfo(placement=place, citation_number=piece.number, document_id=piece.key)
            words = link_citations(f"[{piece.number}]", {piece.number: state.sources[piece.key].location})
        yield packets.MessageDelta(placement=place, content=words or getattr(piece, "text", ""))
