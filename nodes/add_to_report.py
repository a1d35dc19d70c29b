"""Adds the results of the last research round to the draft; the existing text stays unchanged."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.events.blocks import ReportPackets
from ..core.evidence.citations.citing import by_number, known_citations
from ..core.evidence.citations.footnotes import joined_footnotes, note_marks
from ..core.evidence.citations.markers import code_lines
from ..core.evidence.citations.rendering import clean_for_draft, plain_citations
from ..core.records.report import Draft
from ..core.records.research import Finding
from ..core.records.sources import Source
from ..core.writing.forms import Form
from ..prompts import fence, fenced_knowledge
from ..state import ResearchState, StateUpdate
from .turn import NodeRuntime, begin_turn

_LINE = re.compile(r"\s*(?:[-*+•|]|\d{1,3}[.)]\s)")
"""Matches the start of a list item or table row."""


class Addition(Form):
    """A passage that the report lacks."""

    after: int
    """Number of the block that it follows; 0: at the beginning."""
    is_continued: bool = False
    """Whether it continues the paragraph, list or table of that block."""
    text: str
    """The passage in Markdown, with its citations such as [3]; a new section begins with its heading."""  # noqa: E501


class AddToReport(Form):
    """Hand in what the report lacks."""

    additions: list[Addition]
    """The passages; empty if the new findings add nothing."""


async def add_to_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the writer's model for passages on open requirements, and insert them into the draft.

    It is only asked if the findings have material for them.
    """
    turn = await begin_turn(state, runtime)
    draft = state.draft
    assert draft is not None
    if not _has_material(state.findings.values(), draft):
        return {"draft": draft.model_copy(update={"is_lacking": False})}
    blocks = list[dict[str, Any]]()
    for number, text in enumerate(text_blocks(draft.text), 1):
        blocks.append({"block": number, "text": text})
    open_points = list[str]()
    for grade in draft.open_grades:
        point = ": ".join(filter(None, (grade.requirement, grade.missing)))
        open_points.append(f"- {point}")
    async with turn.paid():
        form = await turn.filler.ask_if_possible(
            AddToReport,
            "writer",
            "add_to_report",
            [],
            instructions=turn.context.instructions,
            request=state.run.question,
            requirements=fence("\n".join(open_points)),
            words=draft.words,
            report=fenced_knowledge(report=blocks),
            knowledge=turn.basis.known_findings(turn.context.limits.memory_tokens),
            sources=turn.basis.described_sources,
        )
    extended = draft
    if form:
        extended = await asyncio.to_thread(_extended, state.sources, draft, form)
    extended = extended.model_copy(update={"findings": tuple(state.findings), "is_lacking": False})
    if extended.text == draft.text:
        return {**turn.update(), "draft": extended}
    content = plain_citations(extended.streamed)
    turn.emit(ReportPackets(turn.placement).revised(content, extended.keys))
    update = turn.update()
    turn.apply(run=update["run"])
    messages = await asyncio.to_thread(turn.delivery.changed_draft_messages, extended)
    return {**update, "draft": extended, "messages": messages}


def _has_material(findings: Iterable[Finding], draft: Draft) -> bool:
    """Whether there are new findings, or findings that have what the draft lacks."""
    for finding in findings:
        if finding.text and finding.id not in draft.findings:
            return True
    return any(grade.is_found for grade in draft.open_grades)


def _extended(sources: Mapping[str, Source], draft: Draft, form: AddToReport) -> Draft:
    """Return the draft with the new passages inserted, cleaned like the draft itself."""
    blocks = text_blocks(draft.text)
    removed_markers = draft.removed_markers
    labels = {mark.label for mark in note_marks(draft.text)}
    passages = dict[int, list[str]]()
    for addition in form.additions:
        text, _, removed = clean_for_draft(addition.text, sources, labels)
        removed_markers += removed
        labels.update(mark.label for mark in note_marks(text))
        if not text.strip():
            continue
        after = min(max(addition.after, 0), len(blocks))
        before = blocks[after - 1] if after else ""
        passage = passage_after(before, text, is_continued=addition.is_continued)
        passages.setdefault(after, []).append(passage)
    numbered = by_number(sources.values())
    keys = {number: source.key for number, source in numbered.items()}
    extended = joined_footnotes(insert_blocks(draft.text, passages))
    text, cited = known_citations(extended, keys)
    return draft.model_copy(
        update={
            "text": text,
            "sources": tuple(cited.values()),
            "numbers": tuple(cited),
            "streamed": text,
            "streamed_sources": tuple(cited.values()),
            "removed_markers": removed_markers,
            "is_graded": draft.is_graded and text == draft.text,
        }
    )


def text_blocks(text: str) -> list[str]:
    """Split a text into blocks at empty lines outside code.

    Blocks are paragraphs, headings, lists and tables.
    """
    lines = text.split("\n")
    blocks = list[str]()
    block = list[str]()
    for line, is_code in zip(lines, code_lines(lines), strict=True):
        if line.strip() or is_code:
            block.append(line)
        elif block:
            blocks.append("\n".join(block))
            block = []
    if block:
        blocks.append("\n".join(block))
    return blocks


def passage_after(block: str, text: str, *, is_continued: bool) -> str:
    """Return a passage with its separator.

    This is a space or line break if it continues `block`, else an empty line.
    """
    first = block.lstrip()[:1]
    text = text.strip()
    if not is_continued or first in ("#", "`", "~") or text.startswith("#"):
        return f"\n\n{text}"
    is_line = _LINE.match(text) is not None
    if is_line != (_LINE.match(block) is not None):
        return f"\n\n{text}"
    return f"\n{text}" if is_line else f" {text}"


def insert_blocks(text: str, additions: Mapping[int, Sequence[str]]) -> str:
    """Insert passages into a text after the blocks with these numbers (from 1; 0: at the start).

    Each passage starts with its separator (see `passage_after`). The rest of the text does not
    change.
    """
    pieces = [f"{passage.lstrip()}\n\n" for passage in additions.get(0, ())]
    end = 0
    for number, block in enumerate(text_blocks(text), 1):
        start = text.index(block, end)
        pieces += [text[end:start], block, *additions.get(number, ())]
        end = start + len(block)
    return "".join([*pieces, text[end:]])
