"""Grades the draft against the request's checklist, and prepares research on open items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import Field

from ..core.events.blocks import ReportPackets
from ..core.evidence.memory.observations import ResearchMemory, ThreadDisputes
from ..core.records.plan import Observation
from ..core.records.report import Draft, Grade
from ..core.records.sources import Dispute
from ..core.writing.forms import Form
from ..core.writing.outline import section_lengths
from ..prompts import fence, fenced_knowledge
from ..state import ResearchState, StateUpdate
from ._further_research import may_research, tasks_waiting
from ._knowledge import as_gaps
from .turn import NodeRuntime, Turn, begin_turn

_NOT_GRADED = (
    "The report was not compared with the checklist of the request: the verifier's model gave no "
    "grades."
)


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


class GradeReport(Form):
    """Hand in the grades."""

    grades: list[RequirementGrade]
    """One for each requirement, by its number."""
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the `gaps` that the draft answers, that the request does not ask for, or that a grade names as missing."""  # noqa: E501
    named_disputes: list[int] = Field(default_factory=list)
    """Numbers of the `disputes` of which the draft gives both sides."""


async def grade_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Have the verifier's model grade the draft.

    If limits allow, prepare research on requirements that are open.
    """
    turn = await begin_turn(state, runtime)
    state = turn.state
    limits = turn.context.limits
    draft = state.draft
    assert draft is not None
    requirements = state.plan.requirements if state.plan else ()
    if not requirements or draft.is_graded or not limits.checklist_rounds:
        return {}
    if not turn.is_capable("verifier"):
        return {}
    turn.announce("grade")
    memory = ResearchMemory(state.own_observations)
    declared = memory.declared_gaps()
    disputes = ThreadDisputes(state).citing(draft.sources)
    lines = list[str]()
    for number, text in enumerate(_to_grade(requirements, draft.grades), 1):
        lines.append(f"{number}. {text}")
    async with turn.paid():
        form = await turn.filler.ask_if_possible(
            GradeReport,
            "verifier",
            "grade_report",
            [],
            request=turn.state.run.question,
            report=fence(draft.text),
            words=draft.words,
            characters=len(draft.text),
            sections=_lengths(turn, draft),
            knowledge=turn.basis.known_findings(limits.memory_tokens),
            requirements=fence("\n".join(lines)),
            gaps=fenced_knowledge(gaps=as_gaps(declared)),
            disputes=fenced_knowledge(disputes=_as_entries(disputes, state)),
        )
    if form is None:
        return turn.update(notices=(*state.run.notices, _NOT_GRADED))
    grades = _merged(requirements, draft.grades, form.grades)
    named = [*draft.named_disputes]
    for number, dispute in enumerate(disputes, 1):
        if number in form.named_disputes:
            named.append(dispute.claims)
    changes = {"grades": tuple(grades), "is_graded": True, "named_disputes": tuple(named)}
    graded = draft.model_copy(update=changes)
    is_researched = False
    is_lacking = False
    if graded.rounds < limits.checklist_rounds:
        is_researched = bool(_open_tasks(graded)) and may_research(turn)
        is_lacking = is_researched or any(grade.is_found for grade in graded.open_grades)
    packets = ReportPackets(turn.placement)
    turn.emit(packets.grades(graded.grades, is_researched=is_researched))
    update = turn.update()
    rounds = graded.rounds
    if is_lacking:
        rounds += 1
    graded = graded.model_copy(update={"rounds": rounds, "is_lacking": is_lacking})
    if is_researched:
        update |= tasks_waiting(turn, update["progress"], _open_tasks(graded), graded.rounds)
    closed = dict[str, Observation]()
    for number in form.answered_gaps:
        if 0 < number <= len(declared):
            for gap in memory.closing(declared[number - 1], state.progress.cycle, "", 0):
                closed[gap.key] = gap
    return {**update, "draft": graded, "memory": closed}


def _as_entries(disputes: Iterable[Dispute], state: ResearchState) -> list[dict[str, Any]]:
    """Return disputes as JSON entries, numbered from 1, with the numbers of their sources."""
    entries = list[dict[str, Any]]()
    for number, dispute in enumerate(disputes, 1):
        sources = [state.numbers.get(key) for key in dispute.sources]
        entries.append({"number": number, "claims": dispute.claims, "sources": sources})
    return entries


def _lengths(turn: Turn, draft: Draft) -> str:
    """Return the number of words of each section as fenced text; empty without an outline."""
    lengths = section_lengths(draft.text) if turn.outline else []
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
