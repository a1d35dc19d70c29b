"""Grades the draft against the checklist of the request, and prepares research on open requirements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..core.models.resolve import is_extractive, is_small
from ..core.records.report import Draft, Grade
from ..core.run.decisions import PENDING
from ..core.run.events.packets import ReportGraded
from ..core.run.schedule import revise_steps
from ..core.run.spending import limit_reached
from ..core.run.transcripts import research_message, results_for
from ..core.writing.forms import GradeReport, RequirementGrade
from ..core.writing.turn import NodeRuntime, begin_turn
from ..core.writing.write import known_findings
from ..prompts import fence
from ..state import ResearchState, StateUpdate
from ..tools.offer import offered_tools

_NOT_GRADED = "The report was not compared with the checklist of the request: the verifier's model gave no grades."


async def grade_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Have the verifier's model grade the draft; if limits allow, prepare research on requirements that are open."""
    turn, draft = await begin_turn(state, runtime), state.draft
    assert draft is not None
    requirements = state.plan.requirements if state.plan else ()
    context = turn.context
    if not requirements or draft.is_graded or not context.limits.checklist_rounds:
        return {}
    if is_extractive("verifier", context) or is_small("verifier", context):
        return {}
    turn.announce("grade")
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(_to_grade(requirements, draft.grades), 1))
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
            knowledge=known_findings(turn.state, context.limits.memory_tokens),
            requirements=fence(listed),
        )
    if form is None:
        return turn.update(notices=(*state.run.notices, _NOT_GRADED))
    graded = draft.model_copy(
        update={"grades": tuple(_merged(requirements, draft.grades, form.grades)), "is_graded": True}
    )
    run, spending = turn.state.run, turn.state.spending | turn.spending
    may_add = graded.rounds < context.limits.checklist_rounds
    is_over = run.stop_reason or limit_reached(context.limits, spending, run.active_seconds)
    is_researched = may_add and bool(_open_tasks(graded)) and not is_over and bool(offered_tools(context))
    is_lacking = may_add and (is_researched or any(grade.is_found for grade in graded.open_grades))
    turn.emit(ReportGraded(placement=turn.placement, grades=[*graded.grades], is_researched=is_researched))
    update = turn.update()
    graded = graded.model_copy(update={"rounds": graded.rounds + is_lacking, "is_lacking": is_lacking})
    if is_researched and state.run.strategy == "planned":
        added = [(requirement[:80], task, True) for requirement, task in _open_tasks(graded)]
        update["steps"] = revise_steps(state.steps, {}, {}, added, context.limits.max_plan_steps)
    elif is_researched:
        update |= _as_tasks(update, state, graded)
    return {**update, "draft": graded}


def _merged(requirements: Sequence[str], known: Iterable[Grade], given: Sequence[RequirementGrade]) -> list[Grade]:
    """Return a grade for each requirement: from the model's form (`given`), else from `known`, else "answered".

    Numbers in `given` count from 1 in the order of `_to_grade`. The default prevents research on ungraded requirements.
    """
    grades = {grade.requirement: grade for grade in known}
    asked = _to_grade(requirements, grades.values())
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


def _to_grade(requirements: Sequence[str], known: Iterable[Grade]) -> list[str]:
    """Return the requirements to grade: all of them the first time, later only open ones."""
    answered = {grade.requirement for grade in known if grade.verdict == "answered"}
    return [requirement for requirement in dict.fromkeys(requirements) if requirement not in answered]


def _open_tasks(draft: Draft) -> list[tuple[str, str]]:
    """Return (requirement, task) pairs for open requirements that need research, with each task once."""
    tasks = {
        grade.task: grade.requirement for grade in reversed(draft.open_grades) if grade.task and not grade.is_found
    }
    return [(requirement, task) for task, requirement in reversed(tasks.items())]


def _as_tasks(update: StateUpdate, state: ResearchState, draft: Draft) -> StateUpdate:
    """Return the update with the open tasks waiting, as if the orchestrator's model had called for them."""
    prefix = f"open-{state.run.id[:8]}-{draft.rounds}"
    waiting = tuple((f"{prefix}-{number}", task) for number, (_, task) in enumerate(_open_tasks(draft), 1))
    message = research_message(waiting)
    results = results_for(message, {call_id: PENDING for call_id, _ in waiting})
    progress = update["progress"].model_copy(update={"waiting": waiting, "decision": "research"})
    return {"progress": progress, "transcript": [[message, *results]]}
