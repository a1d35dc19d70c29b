"""Has the draft edited: graded against the request's checklist, and read for faults of reasoning,
repetition and length. Prepares research on what is open."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import Field

from ..core.events.blocks import ReportPackets
from ..core.evidence.memory.observations import ResearchMemory, ThreadDisputes
from ..core.records.plan import Observation
from ..core.records.report import Draft, Grade, Remark
from ..core.records.sources import Dispute
from ..core.writing.blocks import ReportBlock, report_blocks
from ..core.writing.forms import Form
from ..prompts import fence, fenced_knowledge
from ..state import ResearchState, StateUpdate
from ._checking import judged_ahead
from ._further_research import may_research, tasks_waiting
from ._knowledge import as_gaps
from .turn import NodeRuntime, Turn, begin_turn

_NOT_GRADED = (
    "The report was not compared with the checklist of the request: the verifier's model gave no "
    "grades."
)


_LITTLE_ROOM = 0.2
"""Share of the length asked for that is soon filled by additions."""
_MOST_REMARKS = 5
"""Maximum number of remarks that the writer is given."""


class RequirementGrade(Form):
    """Whether the report meets a requirement."""

    number: int
    """Number of the requirement."""
    verdict: Literal["answered", "partly", "not answered"]
    missing: str = ""
    """Unless it is answered: what the draft lacks, in a few words for its reader."""
    is_found: bool = False
    """Unless it is answered: whether the findings contain what the draft lacks."""
    task: str = ""
    """What to find out, in a sentence understandable on its own; empty if there is nothing to find out."""  # noqa: E501


class EditorRemark(Form):
    """What is wrong with the draft."""

    blocks: list[int]
    """Numbers of the blocks that have to change."""
    problem: str
    """What is wrong and how to mend it, in a sentence."""


class GradeReport(Form):
    """Hand in the grades."""

    grades: list[RequirementGrade]
    """One for each requirement, by its number."""
    remarks: list[EditorRemark] = Field(default_factory=list)
    """Faults of the draft; empty if it has none."""
    most_words: int = 0
    """The most words that the request allows, or about how many it wants; 0 if it names no length."""  # noqa: E501
    fewest_words: int = 0
    """The fewest words that the request wants, or about how many; 0 if it names no length."""
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the `gaps` that the draft answers, that the request does not ask for, or that a grade names as missing."""  # noqa: E501
    named_disputes: list[int] = Field(default_factory=list)
    """Numbers of the `disputes` of which the draft gives both sides."""


async def grade_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Have the verifier's model grade the draft and, the first time, remark on it.

    If limits allow, prepare research on requirements that are open. Remarks go to the writer, who
    changes the blocks that they name, once.
    """
    turn = await begin_turn(state, runtime)
    state = turn.state
    limits = turn.context.limits
    draft = state.draft
    assert draft is not None
    requirements = state.plan.requirements if state.plan else ()
    if draft.is_graded or not limits.checklist_rounds:
        return {}
    to_grade = _to_grade(requirements, draft.grades)
    if not to_grade:
        return {}
    if not turn.is_capable("verifier"):
        return {}
    turn.announce("grade")
    memory = ResearchMemory(state.own_observations)
    declared = memory.declared_gaps()
    disputes = ThreadDisputes(state).citing(draft.sources)
    blocks = report_blocks(draft.text)
    async with turn.paid():
        judging = asyncio.create_task(judged_ahead(turn, draft))
        try:
            form = await _ask(turn, draft, blocks, to_grade, declared, disputes)
            draft = await judging
        finally:
            judging.cancel()
    if form is None:
        update = turn.update(notices=(*state.run.notices, _NOT_GRADED))
        return {**update, "draft": draft}
    grades = _merged(requirements, draft.grades, form.grades)
    named = [*draft.named_disputes]
    for number, dispute in enumerate(disputes, 1):
        if number in form.named_disputes:
            named.append(dispute.claims)
    changes = {"grades": tuple(grades), "is_graded": True, "named_disputes": tuple(named)}
    graded = draft.model_copy(update=changes)
    is_first = not draft.grades
    if is_first:
        asked = {"fewest_words": form.fewest_words, "most_words": form.most_words}
        graded = graded.model_copy(update=asked)
    is_researched = False
    is_lacking = False
    remarks = tuple[Remark, ...]()
    if graded.rounds < limits.checklist_rounds:
        if is_first:
            remarks = _remarks(form, len(blocks))
        is_researched = bool(_open_tasks(graded)) and may_research(turn)
        is_found = any(grade.is_found for grade in graded.open_grades)
        is_lacking = is_researched or is_found or bool(remarks)
        if is_first:
            remarks += _length_remark(graded, changes_anyway=is_lacking)
            is_lacking |= bool(remarks)
    packets = ReportPackets(turn.placement)
    turn.emit(packets.grades(graded.grades, is_researched=is_researched))
    update = turn.update()
    rounds = graded.rounds
    if is_lacking:
        rounds += 1
    graded = graded.model_copy(
        update={"rounds": rounds, "is_lacking": is_lacking, "remarks": remarks}
    )
    if is_researched:
        update |= tasks_waiting(turn, update["progress"], _open_tasks(graded), graded.rounds)
    closed = dict[str, Observation]()
    for number in form.answered_gaps:
        if 0 < number <= len(declared):
            for gap in memory.closing(declared[number - 1], state.progress.cycle, "", 0):
                closed[gap.key] = gap
    return {**update, "draft": graded, "memory": closed}


async def _ask(
    turn: Turn,
    draft: Draft,
    blocks: Iterable[ReportBlock],
    to_grade: Iterable[str],
    declared: Sequence[Observation],
    disputes: Sequence[Dispute],
) -> GradeReport | None:
    """Have the model grade these requirements, say which declared gaps the draft answers and which
    disputes it names, and remark on a draft that has no grades yet.

    Returns None if it cannot.
    """
    requirements = list[str]()
    for number, text in enumerate(to_grade, 1):
        requirements.append(f"{number}. {text}")
    return await turn.filler.ask_if_possible(
        GradeReport,
        "verifier",
        "grade_report",
        [],
        request=turn.state.run.question,
        report=fence("\n\n".join(map(_numbered, blocks))),
        words=draft.words,
        characters=len(draft.text),
        most_remarks=0 if draft.grades else _MOST_REMARKS,
        sections=_lengths(turn, draft),
        knowledge=turn.basis.known_findings(turn.context.limits.memory_tokens),
        requirements=fence("\n".join(requirements)),
        gaps=fenced_knowledge(gaps=as_gaps(declared)),
        disputes=fenced_knowledge(disputes=_as_entries(disputes, turn.state)),
    )


def _numbered(block: ReportBlock) -> str:
    """Return a block as the model is shown it, which names blocks by their numbers."""
    return f"Block {block.number}:\n{block.text}"


def _remarks(form: GradeReport, blocks: int) -> tuple[Remark, ...]:
    """Return the form's remarks on a draft with this many blocks."""
    remarks = list[Remark]()
    for remark in form.remarks[:_MOST_REMARKS]:
        named = sorted({number for number in remark.blocks if 0 < number <= blocks})
        problem = " ".join(remark.problem.split())
        if named and problem:
            remarks.append(Remark(blocks=tuple(named), text=problem))
    return tuple(remarks)


def _length_remark(draft: Draft, *, changes_anyway: bool) -> tuple[Remark, ...]:
    """Return the remark on the length of a draft, if that is not as the request wants it.

    `changes_anyway`: the draft is changed for other reasons, which must not make it too long.
    """
    most = draft.most_words
    surplus = draft.words - most
    is_nearly_full = surplus > -most * _LITTLE_ROOM
    fault = draft.length_fault
    has = (
        f"It has {draft.words} words, tables and headings included, and the request asks for {most}"
    )
    text = ""
    if fault:
        text = f"{fault} Add what the findings have on the request, if they have more; do not pad."
    if most and surplus > 0 and (fault or changes_anyway):
        text = (
            f"{has}: shorten it by {surplus} words and by as many as you add, the least important "
            "first."
        )
    elif most and changes_anyway and is_nearly_full:
        text = f"{has}: what you add beyond {-surplus} words has to go elsewhere."
    if not text:
        return ()
    return (Remark(blocks=(), text=text),)


def _as_entries(disputes: Iterable[Dispute], state: ResearchState) -> list[dict[str, Any]]:
    """Return disputes as JSON entries, numbered from 1, with the numbers of their sources."""
    entries = list[dict[str, Any]]()
    for number, dispute in enumerate(disputes, 1):
        sources = [state.numbers.get(key) for key in dispute.sources]
        entries.append({"number": number, "claims": dispute.claims, "sources": sources})
    return entries


def _lengths(turn: Turn, draft: Draft) -> str:
    """Return the number of words of each section as fenced text; empty without an outline."""
    outline = turn.basis.outline(turn.context)
    lengths = outline.section_lengths(draft.text) if outline else []
    return fence("\n".join(lengths)) if lengths else ""


def _merged(
    requirements: Sequence[str], known: Iterable[Grade], given: Sequence[RequirementGrade]
) -> list[Grade]:
    """Return a grade for each requirement: from the model's form (`given`), else from `known`.

    Otherwise it is "answered", which prevents research on ungraded requirements. Numbers in `given`
    count from 1 in the order of `_to_grade`.
    """
    grades = {grade.requirement: grade for grade in known}
    asked = _to_grade(requirements, grades.values())
    for grade in given:
        if not 0 < grade.number <= len(asked):
            continue
        requirement = asked[grade.number - 1]
        if grade.verdict == "answered":
            grades[requirement] = Grade(requirement=requirement, verdict="answered")
        else:
            grades[requirement] = Grade(
                requirement=requirement,
                verdict=grade.verdict,
                missing=" ".join(grade.missing.split()),
                task=" ".join(grade.task.split()),
                is_found=grade.is_found,
            )
    merged = list[Grade]()
    for text in dict.fromkeys(requirements):
        merged.append(grades.get(text) or Grade(requirement=text, verdict="answered"))
    return merged


def _to_grade(requirements: Sequence[str], known: Iterable[Grade]) -> list[str]:
    """Return the requirements to grade: all of them the first time, later only open ones."""
    answered = {grade.requirement for grade in known if grade.verdict == "answered"}
    return [
        requirement for requirement in dict.fromkeys(requirements) if requirement not in answered
    ]


def _open_tasks(draft: Draft) -> list[tuple[str, str]]:
    """Return (requirement, task) pairs for open requirements that need research.

    A task of several requirements is paired with the first.
    """
    requirements = dict[str, str]()
    for grade in reversed(draft.open_grades):
        if grade.task and not grade.is_found:
            requirements[grade.task] = grade.requirement
    tasks = list[tuple[str, str]]()
    for task, requirement in reversed(requirements.items()):
        tasks.append((requirement, task))
    return tasks
