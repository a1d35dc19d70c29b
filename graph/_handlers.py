"""Error handlers of nodes: what a run or a branch goes on with after a failure.

A branch continues with its results so far, and the run without a failed branch.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langgraph.config import get_store
from langgraph.errors import NodeError
from langgraph.graph import END
from langgraph.runtime import get_runtime
from langgraph.types import Command

from ..core.dialogue.transcripts import NOT_RUN
from ..core.errors import failure_of, log_failure
from ..core.events.blocks import ResearcherPackets, StepPackets
from ..core.events.log import Emitter
from ..core.events.packets import Placement
from ..core.evidence.citations.labels import labels
from ..core.models.resolve import settings_of
from ..core.records.plan import StepTask
from ..core.records.report import Version
from ..core.records.research import Action, Task
from ..core.settings.context import Context
from ..core.store.pages import Pages
from ..core.writing.report import Delivery, unchecked, with_house_words
from ..core.writing.versions import ThreadVersions
from ..nodes.researcher.write_finding import keep_excerpts
from ..nodes.step_turn import close_step, emit_end
from ..state import BranchUpdate, ResearcherState, ResearchState, StateUpdate, StepState


async def write_partial_finding(
    state: ResearcherState, error: NodeError
) -> Command[Literal["write_finding"]]:
    """If a node of a researcher fails, have the finding written from the notes so far."""
    reason, request = _reason(error), state.request
    Emitter.of_node(state.task.question_id).emit(
        ResearcherPackets(Placement.of(state.task)).failure(reason)
    )
    update = BranchUpdate(ended="partial", reason=reason, request=None, failures=[reason])
    if request:
        # The failed tool call still needs a result, and its packets have used the current step
        # index.
        update["notes"] = [[ToolMessage(f"{NOT_RUN} {reason}.", tool_call_id=request.id)]]
        update["step"] = state.step + 1
        update["actions"] = [
            Action(id=request.id, tool=request.tool, inputs=request.inputs, problems=(reason,))
        ]
    return Command(update=update, goto="write_finding")


async def keep_excerpts_only(state: ResearcherState, error: NodeError) -> Command[Any]:
    """If the finding cannot be written, use excerpts of the researcher's sources instead."""
    pages = Pages.of_node(get_store(), state.task.question_id)
    finding = await keep_excerpts(
        state, pages, Emitter.of_node(state.task.question_id), _reason(error), state.seconds
    )
    return Command(update={"findings": {finding.id: finding}}, goto=END)


async def record_failure(state: dict[str, Task], error: NodeError) -> Command[Literal["collect"]]:
    """Record a failed finding for a researcher or step that failed as a whole.

    The others continue.
    """
    task = state["task"]
    finding = task.failed("failed", _reason(error))
    emitter = Emitter.of_node(task.question_id)
    if isinstance(task, StepTask):
        emitter.emit(StepPackets(Placement.of(task)).failure(finding.reason))
        emit_end(emitter, finding, task)
    else:
        packets = ResearcherPackets(Placement.of(task))
        failure = packets.failure(finding.reason, is_final=True)
        emitter.emit(failure, *packets.finding(finding.text, []))
    return Command(update={"findings": {finding.id: finding}}, goto="collect")


async def evaluate_partial_step(state: StepState, error: NodeError) -> Command[Literal["evaluate"]]:
    """If a node of a step fails, evaluate what the step has found so far."""
    reason = _reason(error)
    Emitter.of_node(state.task.question_id).emit(
        StepPackets(Placement.of(state.task)).failure(reason)
    )
    # Turn 0 is used up: the step emitted its first packets there before it failed.
    update = BranchUpdate(
        is_over=True, ended="partial", reason=reason, failures=[reason], turn=max(1, state.turn)
    )
    return Command(update=update, goto="evaluate")


async def end_step(state: StepState, error: NodeError) -> Command[Any]:
    """If the evaluation of a step fails, end the step with its results so far."""
    reason = _reason(error)
    emitter = Emitter.of_node(state.task.question_id)
    emitter.emit(StepPackets(Placement.of(state.task)).failure(reason))
    failures = [*state.failures, reason]
    update = close_step(state, failures, state.seconds, emitter)
    return Command(update=update, goto=END)


async def deliver_unchecked(state: ResearchState, error: NodeError) -> Command[Any]:
    """If the check of a report fails, deliver it unchecked, with a notice."""
    run, draft = state.run, state.draft
    assert draft is not None
    notice = (
        f"The sentences of this report were not checked against their sources: {_reason(error)}."
    )
    run = run.model_copy(
        update={"notices": (*run.notices, notice), "status": "completed_with_gaps"}
    )
    report = await asyncio.to_thread(unchecked, draft)
    report = with_house_words(report, draft, labels(run.language_code))
    if state.base:
        # The next check starts with the verdicts of the last one that did not fail.
        report = report.model_copy(update={"kept": state.base.kept})
    state = replace(state, run=run, report=report)
    context = settings_of(get_runtime(Context))
    pages = Pages.of_node(get_store(), run.id)
    delivery = Delivery(state, context, pages)
    Emitter.of_node(run.id).emit(*delivery.end_packets(was_checked=True))
    progress = state.progress.model_copy(update={"turn": state.progress.turn + 1})
    messages = await asyncio.to_thread(delivery.report_messages)
    versions = dict[str, Version]()
    try:
        versions = await ThreadVersions(state).keep(pages, context.clock.now())
    except Exception as failed:  # noqa: BLE001 - the store may be why the check failed
        log_failure(__name__, failed, "The report was not stored as a version")
    update = StateUpdate(
        messages=messages, run=run, report=report, progress=progress, versions=versions
    )
    return Command(update=update, goto=END)


def _reason(error: NodeError) -> str:
    """Log a node's error; return the reason of the failure for the reader."""
    if isinstance(error.error, str):
        # After a kill between the failure and this handler, the error was loaded as the saver's
        # text.
        return error.error
    if isinstance(error.error, BaseException):
        log_failure(
            __name__,
            error.error,
            "The node %s failed; the run goes on with what there is",
            error.node,
        )
    return failure_of(error.error)
