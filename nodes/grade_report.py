"""Grades the draft against the checklist of the request, and prepares research on open requirements."""

from __future__ import annotations

from ..core.models.resolve import is_extractive, is_small
from ..core.records.report import Draft
from ..core.run.decisions import PENDING
from ..core.run.events.packets import ReportGraded
from ..core.run.schedule import revise_steps
from ..core.run.spending import limit_reached
from ..core.run.transcripts import research_message, results_for
from ..core.writing.additions import known_findings, merge_grades, open_tasks, to_grade
from ..core.writing.forms import GradeReport
from ..core.writing.turn import NodeRuntime, begin_turn
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
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(to_grade(requirements, draft.grades), 1))
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
        update={"grades": tuple(merge_grades(requirements, draft.grades, form.grades)), "is_graded": True}
    )
    run, spending = turn.state.run, turn.state.spending | turn.spending
    may_add = graded.rounds < context.limits.checklist_rounds
    is_over = run.stop_reason or limit_reached(context.limits, spending, run.active_seconds)
    is_researched = may_add and bool(open_tasks(graded)) and not is_over and bool(offered_tools(context))
    is_lacking = may_add and (is_researched or any(grade.is_found for grade in graded.open_grades))
    turn.emit(ReportGraded(placement=turn.placement, grades=[*graded.grades], is_researched=is_researched))
    update = turn.update()
    graded = graded.model_copy(update={"rounds": graded.rounds + is_lacking, "is_lacking": is_lacking})
    if is_researched and state.has_typed_plan:
        added = [(requirement[:80], task, True) for requirement, task in open_tasks(graded)]
        update["steps"] = revise_steps(state.steps, {}, {}, added, context.limits.max_plan_steps)
    elif is_researched:
        update |= _as_tasks(update, state, graded)
    return {**update, "draft": graded}


def _as_tasks(update: StateUpdate, state: ResearchState, draft: Draft) -> StateUpdate:
    """Return the update with the open tasks waiting, as if the orchestrator's model had called for them."""
    prefix = f"open-{state.run.id[:8]}-{draft.rounds}"
    waiting = tuple((f"{prefix}-{number}", task) for number, (_, task) in enumerate(open_tasks(draft), 1))
    message = research_message(waiting)
    results = results_for(message, {call_id: PENDING for call_id, _ in waiting})
    progress = update["progress"].model_copy(update={"waiting": waiting, "decision": "research"})
    return {"progress": progress, "transcript": [[message, *results]]}
