"""Checklist of a draft: which requirements are open, and how passages are added without changing the rest."""

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
"""Matches the start of a list item or table row."""


def merge_grades(requirements: Sequence[str], known: Iterable[Grade], given: Sequence[RequirementGrade]) -> list[Grade]:
    """Return a grade for each requirement: from the model's form (`given`), else from `known`, else "answered".

    Numbers in `given` count from 1 in the order of `to_grade`. The default prevents research on ungraded requirements.
    """
    grades = {grade.requirement: grade for grade in known}
    asked = to_grade(requirements, grades.values())
    for grade in given:
        if 0 < grade.number <= len(asked):
            requirement, is_open = asked[grade.number - 1], grade.verdict != "answered"
            grades[requirement] = Grade(
                requirement=requirement,
                verdict=grade.verdict,
                missing=" ".join(grade.missing.split()) if is_open else "",
                task=" ".join(grade.task.split()) if is_open else "",
                is_found=grade.is_found and is_open,
            )
    return [grades.get(text) or Grade(requirement=text, verdict="answered") for text in dict.fromkeys(requirements)]


def to_grade(requirements: Sequence[str], known: Iterable[Grade]) -> list[str]:
    """Return the requirements to grade: all of them the first time, later only open ones."""
    answered = {grade.requirement for grade in known if grade.verdict == "answered"}
    return [requirement for requirement in dict.fromkeys(requirements) if requirement not in answered]


def open_tasks(draft: Draft) -> list[tuple[str, str]]:
    """Return (requirement, task) pairs for open requirements that need research, with each task once."""
    tasks = {
        grade.task: grade.requirement for grade in reversed(draft.open_grades) if grade.task and not grade.is_found
    }
    return [(requirement, task) for task, requirement in reversed(tasks.items())]


def known_findings(state: ResearchState, tokens: int) -> str:
    """Return the question's findings, shortened to `tokens` in all, and what was not found, as fenced JSON."""
    own = [finding for finding in state.findings.values() if finding.question_id == state.run.id and finding.text]
    room = tokens * CHARACTERS_PER_TOKEN // max(1, len(own))
    texts = [finding.numbered or finding.text for finding in own if not finding.is_withheld]
    shown = [text if len(text) <= room else cited_sentences(text, room / len(text)) for text in texts]
    # The orchestrator's list of gaps may be less precise than those of the researchers.
    not_found = [
        *missing_of(state.run, own, state.memory.values()),
        *(gap for finding in own for gap in finding.missing),
    ]
    return fenced_knowledge(findings=shown, not_found=list(dict.fromkeys(not_found)))


def text_blocks(text: str) -> list[str]:
    """Split a text into blocks (paragraphs, headings, lists, tables) at empty lines outside code."""
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
    """Return a passage with its separator: a space or line break if it continues `block`, else an empty line."""
    first, text = block.lstrip()[:1], text.strip()
    if not is_continued or first in ("#", "`", "~") or text.startswith("#"):
        return f"\n\n{text}"
    is_line = _LINE.match(text) is not None
    if is_line != (_LINE.match(block) is not None):
        return f"\n\n{text}"
    return f"\n{text}" if is_line else f" {text}"


def insert_blocks(text: str, additions: Mapping[int, Sequence[str]]) -> str:
    """Insert passages into a text after the blocks with these numbers (from 1; 0: at the start).

    Each passage starts with its separator (see `passage_after`). The rest of the text does not change.
    """
    pieces, end = [f"{passage.lstrip()}\n\n" for passage in additions.get(0, ())], 0
    for number, block in enumerate(text_blocks(text), 1):
        start = text.index(block, end)
        pieces += [text[end:start], block, *additions.get(number, ())]
        end = start + len(block)
    return "".join([*pieces, text[end:]])
