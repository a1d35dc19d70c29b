"""What a draft lacks of its checklist: which items are open, and how passages are added while the rest stays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ...prompts import fenced_knowledge
from ...state import ResearchState
from ..evidence.citations.markers import code_lines
from ..evidence.memory.observations import missing_of
from ..evidence.text.sentences import cited_sentences
from ..records.report import Draft, Grade
from ..run.transcripts import CHARACTERS_PER_TOKEN
from .forms import RequirementGrade

_LINE = re.compile(r"\s*(?:[-*+•|]|\d{1,3}[.)]\s)")
"""How an item of a list, or a row of a table, begins."""


def merge_grades(requirements: Sequence[str], known: Iterable[Grade], given: Sequence[RequirementGrade]) -> list[Grade]:
    """Return a grade for each requirement: the one that was given, else the one that is known, else "answered".

    The numbers of the given ones count, from 1, the requirements that were to be graded: all of them, or those that
    are known to be open. What a model does not grade does not send anybody out.
    """
    before = {grade.requirement: grade for grade in known}
    asked = to_grade(requirements, before.values())
    now = {
        asked[one.number - 1]: Grade(
            requirement=asked[one.number - 1],
            verdict=one.verdict,
            missing="" if one.verdict == "answered" else " ".join(one.missing.split()),
            task="" if one.verdict == "answered" else " ".join(one.task.split()),
            is_found=one.is_found and one.verdict != "answered",
        )
        for one in given
        if 0 < one.number <= len(asked)
    }
    return [
        now.get(one) or before.get(one) or Grade(requirement=one, verdict="answered")
        for one in dict.fromkeys(requirements)
    ]


def to_grade(requirements: Sequence[str], known: Iterable[Grade]) -> list[str]:
    """Return the requirements that are to be graded: all the first time, then those that are open."""
    answered = {grade.requirement for grade in known if grade.verdict == "answered"}
    return [one for one in dict.fromkeys(requirements) if one not in answered]


def open_tasks(draft: Draft) -> list[tuple[str, str]]:
    """Return the requirement and the task for each item that the draft leaves open, each task once."""
    tasks = {
        grade.task: grade.requirement for grade in reversed(draft.open_grades) if grade.task and not grade.is_found
    }
    return [(requirement, task) for task, requirement in reversed(tasks.items())]


def known_findings(state: ResearchState, tokens: int) -> str:
    """Return the findings of the question and what its researchers have not found, fenced, in so many tokens."""
    own = [one for one in state.findings.values() if one.question_id == state.run.id and one.text]
    room = tokens * CHARACTERS_PER_TOKEN // max(1, len(own))
    texts = [one.numbered or one.text for one in own if not one.is_withheld]
    shown = [text if len(text) <= room else cited_sentences(text, room / len(text)) for text in texts]
    # What the orchestrator names at the end may be less exact than what its researchers looked for.
    not_found = [*missing_of(state.run, own, state.memory.values()), *(gap for one in own for gap in one.missing)]
    return fenced_knowledge(findings=shown, not_found=list(dict.fromkeys(not_found)))


def blocks_of(text: str) -> list[str]:
    """Return the paragraphs, headings, lists and tables of a text: what empty lines outside of code divide."""
    lines = text.split("\n")
    blocks, begun = list[str](), list[str]()
    for line, is_code in zip([*lines, ""], [*code_lines(lines), False], strict=True):
        if line.strip() or is_code:
            begun.append(line)
        elif begun:
            blocks.append("\n".join(begun))
            begun = []
    return blocks


def passage_after(block: str, text: str, *, is_continued: bool) -> str:
    """Return a passage with what sets it apart from the block before it: a space or a line break if it continues it."""
    first, text = block.lstrip()[:1], text.strip()
    if not is_continued or first in ("#", "`", "~") or text.startswith("#"):
        return f"\n\n{text}"
    is_line = _LINE.match(text) is not None
    if is_line != (_LINE.match(block) is not None):
        return f"\n\n{text}"
    return f"\n{text}" if is_line else f" {text}"


def insert_blocks(text: str, additions: Mapping[int, Sequence[str]]) -> str:
    """Return a text with passages inserted behind those of its blocks with these numbers, from 1; 0: before all.

    A passage begins with what sets it apart from the block; see `passage_after`. Nothing else changes: without the
    passages the text is what it was.
    """
    pieces, end = [f"{one.lstrip()}\n\n" for one in additions.get(0, ())], 0
    for number, block in enumerate(blocks_of(text), 1):
        start = text.index(block, end)
        pieces += [text[end:start], block, *additions.get(number, ())]
        end = start + len(block)
    return "".join([*pieces, text[end:]])
