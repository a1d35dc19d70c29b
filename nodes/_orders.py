"""What a message of the orchestrator's model leads to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..core.dialogue.transcripts import ACKNOWLEDGED, NOT_RUN, Calls, missing_in
from ..core.records import tool_names
from ..core.records.research import Decision, Progress, ToolRequest

_ACT = "act"
"""Reminder (see `Progress.nudges`) after a message that called no tool."""
_RESEARCH_FIRST = "research_first"
"""Reminder after a call for the report before anything was researched."""
_NOT_NEEDED = f"{NOT_RUN} the report is written now."
_ACT_NOW = f"{NOT_RUN} no more thinking in a row. Act now: research or report."
_ANALYZE_LATER = f"{NOT_RUN} research comes first. Call again when its results are there."
_RESEARCH_ALONE = f"{NOT_RUN} call research_agent alone."
_SAME_TASK = f"{NOT_RUN} another call of this message has the same task; the result stands there."
_WRITTEN_NEXT = "The report is written when the results are there."
_NOTHING_RESEARCHED = f"{NOT_RUN} nothing has been researched yet. Research the plan first."
MOST_ANALYSES = 2
"""Analyses that the orchestrator may request, which compare or challenge findings without a
search."""
_MOST_THINKS = 2
"""Consecutive thoughts before the model is asked to act."""
_MOST_MISTAKES = 2
"""Consecutive invalid messages tolerated from the orchestrator; at the next one the report is
written or, if nothing was found, the plan's steps are researched."""
_PENDING = ""
"""Answer to a research call: its finding is filled in later (`Transcript`)."""


class Order(NamedTuple):
    """What a message of the orchestrator's model leads to, and an answer to each of its calls."""

    decision: Decision
    progress: Progress
    """The progress after this decision."""
    answers: dict[str, str]
    """Tool results by call id; empty for a research call, whose finding is filled in later."""
    tasks: tuple[tuple[str, str], ...] = ()
    """Call id and text of each task."""
    uses_plan: bool = False
    """Whether the plan's steps become the tasks, because the model requested nothing that can be
    run."""
    missing: tuple[str, ...] | None = None
    """Questions that the model declares unanswered; None if it declares nothing."""
    is_disputed: bool = False
    """Whether the model sees contradictions that nobody has declared."""
    writes_next: bool = False
    """Whether the model has called for the report beside its tasks."""


def decide(
    calls: Calls,
    progress: Progress,
    *,
    has_findings: bool,
    has_assigned: bool,
    may_write_next: bool = False,
) -> Order:
    """Return what a message of the orchestrator's model leads to.

    Of calls to several tools, the report takes precedence over research and analysis; but before a
    round that finds all there is (`may_write_next`), it follows the research. A thought stands
    beside any of them; alone, it leads to a further decision. If the model has to be given
    up without ever having assigned a task (not `has_assigned`), the plan's steps are researched
    instead: it probably cannot call tools.
    """
    is_done = has_findings and has_assigned
    by_tool = {call.tool: call for call in reversed(calls.accepted)}
    if not calls.message.tool_calls:
        if progress.cycle or _ACT in progress.nudges:
            return _give_up(progress, {}, is_done)
        return Order("again", _nudged(progress, _ACT), {})
    report = by_tool.get(tool_names.GENERATE_REPORT)
    if report and not (may_write_next and tool_names.RESEARCH_AGENT in by_tool):
        if has_findings or _RESEARCH_FIRST in progress.nudges:
            noted = {report.tool: ACKNOWLEDGED, tool_names.THINK_TOOL: ACKNOWLEDGED}
            answers = _answer_all(calls, _NOT_NEEDED, noted)
            missing = missing_in(report.arguments)
            is_disputed = report.arguments.get("is_disputed") is True
            return Order("report", progress, answers, missing=missing, is_disputed=is_disputed)
        by_name = {report.tool: _NOTHING_RESEARCHED, tool_names.THINK_TOOL: ACKNOWLEDGED}
        answers = _answer_all(calls, _RESEARCH_ALONE, by_name)
        return Order("again", _nudged(progress, _RESEARCH_FIRST), answers)
    if by_tool.keys() == {tool_names.THINK_TOOL}:
        if progress.thinks >= _MOST_THINKS:
            return _mistaken(progress, _answer_all(calls, _ACT_NOW, {}), is_done)
        progress = progress.model_copy(update={"thinks": progress.thinks + 1})
        return Order("again", progress, _answer_all(calls, ACKNOWLEDGED, {}))
    return _research(calls, progress, is_done, has_findings)


def _give_up(progress: Progress, answers: dict[str, str], is_done: bool) -> Order:
    """Stop asking the model: write the report if the research is done, else research the plan's
    steps."""
    progress = progress.model_copy(update={"mistakes": 0, "thinks": 0})
    if is_done:
        return Order("report", progress, answers)
    return Order("research", progress, answers, uses_plan=True)


def _research(calls: Calls, progress: Progress, is_done: bool, has_findings: bool) -> Order:
    """Return what calls for research or for an analysis lead to; an analysis has to be the only
    kind of call, beside a thought. A call for the report beside research takes effect after it."""
    answers = dict(calls.refused)
    tasks: dict[str, str] = {}
    acting = list[ToolRequest]()
    writes_next = False
    for call in calls.accepted:
        if call.tool == tool_names.THINK_TOOL:
            answers[call.id] = ACKNOWLEDGED
        elif call.tool == tool_names.GENERATE_REPORT:
            answers[call.id] = _WRITTEN_NEXT
            writes_next = True
        else:
            acting.append(call)
    is_analysis = all(call.tool == tool_names.ANALYZE_FINDINGS for call in acting)
    may_analyze = is_analysis and has_findings
    for index, call in enumerate(acting):
        given = call.arguments.get("task")
        task = ""
        if isinstance(given, str):
            task = " ".join(given.split())
        is_first = index == 0
        if not task:
            answers[call.id] = f"{NOT_RUN} `task` has to be a text of one or two sentences."
        elif task in tasks.values():
            answers[call.id] = _SAME_TASK
        elif call.tool != tool_names.ANALYZE_FINDINGS:
            tasks[call.id] = task
            answers[call.id] = _PENDING
        elif not may_analyze or not is_first:
            answers[call.id] = _ANALYZE_LATER
        elif len(progress.analyses) >= MOST_ANALYSES:
            answers[call.id] = f"{NOT_RUN} all {MOST_ANALYSES} analyses were made."
        else:
            tasks[call.id] = task
            answers[call.id] = _PENDING
    if not tasks:
        return _mistaken(progress, answers, is_done)
    progress = progress.model_copy(update={"thinks": 0, "mistakes": 0})
    decision: Decision = "analyze" if is_analysis else "research"
    return Order(decision, progress, answers, tuple(tasks.items()), writes_next=writes_next)


def _mistaken(progress: Progress, answers: dict[str, str], is_done: bool) -> Order:
    """Ask the model again if no call of its message can be carried out; give up after too many such
    messages."""
    if progress.mistakes >= _MOST_MISTAKES:
        return _give_up(progress, answers, is_done)
    return Order("again", progress.model_copy(update={"mistakes": progress.mistakes + 1}), answers)


def _nudged(progress: Progress, nudge: str) -> Progress:
    return progress.model_copy(update={"nudges": (*progress.nudges, nudge)})


def _answer_all(calls: Calls, others: str, by_name: Mapping[str, str]) -> dict[str, str]:
    """Return an answer to each call: by the name of its tool, `others` for all other tools, or why
    it is refused."""
    answers = {call.id: by_name.get(call.tool, others) for call in calls.accepted}
    return answers | calls.refused
