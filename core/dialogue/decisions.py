"""The next action after a message of the orchestrator (`decide`) or of a researcher
(`choose_action`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..accounts.spending import total
from ..records import tool_names
from ..records.branches import ResearcherState, ToolRequest
from ..records.research import Decision, Progress, Spent, Task
from .transcripts import ACKNOWLEDGED, MERGED, NOT_RUN, Calls, missing_in

_ACT = "act"
"""Reminder (see `Progress.nudges`) after a message that called no tool."""
_RESEARCH_FIRST = "research_first"
"""Reminder after a call for the report before anything was researched."""
_NOT_NEEDED = f"{NOT_RUN} the report is written now."
_THINK_ALONE = f"{NOT_RUN} a thought stands alone. Call again after it."
_ACT_NOW = f"{NOT_RUN} no more thinking in a row. Act now: research or report."
_ANALYZE_LATER = f"{NOT_RUN} research comes first. Call again when its results are there."
_RESEARCH_ALONE = f"{NOT_RUN} call research_agent alone."
_SAME_TASK = f"{NOT_RUN} another call of this message has the same task; the result stands there."
_NOTHING_RESEARCHED = f"{NOT_RUN} nothing has been researched yet. Research the plan first."
DECISION_TOKENS = 1024
"""Maximum output tokens of one decision of the orchestrator or a researcher."""
MOST_ANALYSES = 2
"""Analyses that the orchestrator may request, which compare or challenge findings without a
search."""
_MOST_THINKS = 2
"""Consecutive thoughts before a model is asked to act."""
_MOST_MISTAKES = 2
"""Consecutive invalid messages tolerated from the orchestrator; at the next one the report is
written or, if nothing was found, the plan's steps are researched."""
_MOST_REPEATS = 2
"""Identical tool calls allowed to a researcher; at the next one it must write its finding."""
PENDING = ""
"""Answer to a research call: its finding is filled in later (`with_findings`)."""
_ONE_KIND = f"{NOT_RUN} one kind of tool a message. Call it again alone."
_ONE_POSITION = f"{NOT_RUN} one place to read on from a message. Call it again alone."
_ONE_CALL = f"{NOT_RUN} one call of this tool a message. Call it again alone."
_CALL_ANOTHER_TOOL = f"{NOT_RUN} no more thinking in a row. Call another tool now."
_REPEATED = f"{NOT_RUN} this very call was made {{made}} times before. Write down what was found."


class Order(NamedTuple):
    """What a message of the orchestrator's model leads to, and an answer to each of its calls."""

    decision: Decision
    progress: Progress
    """The progress after this decision."""
    answers: dict[str, str]
    """Tool results by call id; `PENDING` for a research call."""
    tasks: tuple[tuple[str, str], ...] = ()
    """Call id and text of each task."""
    uses_plan: bool = False
    """Whether the plan's steps become the tasks, because the model requested nothing that can be
    run."""
    missing: tuple[str, ...] | None = None
    """Questions that the model declares unanswered; None if it declares nothing."""


def decide(calls: Calls, progress: Progress, *, has_findings: bool, has_assigned: bool) -> Order:
    """Return what a message of the orchestrator's model leads to.

    Of calls to several tools, the report takes precedence over a thought, and a thought over
    research and analysis. If the model has to be given up without ever having assigned a task (not
    `has_assigned`), the plan's steps are researched instead: it probably cannot call tools.
    """
    is_done = has_findings and has_assigned
    by_tool = {call.tool: call for call in reversed(calls.accepted)}
    if not calls.message.tool_calls:
        if progress.cycle or _ACT in progress.nudges:
            return _give_up(progress, {}, is_done)
        return Order("again", _nudged(progress, _ACT), {})
    report = by_tool.get(tool_names.GENERATE_REPORT)
    if report:
        if has_findings or _RESEARCH_FIRST in progress.nudges:
            answers = _answer_all(calls, _NOT_NEEDED, {report.tool: ACKNOWLEDGED})
            return Order("report", progress, answers, missing=missing_in(report.arguments))
        answers = _answer_all(calls, _RESEARCH_ALONE, {report.tool: _NOTHING_RESEARCHED})
        return Order("again", _nudged(progress, _RESEARCH_FIRST), answers)
    if tool_names.THINK_TOOL in by_tool:
        if progress.thinks >= _MOST_THINKS:
            answers = _answer_all(calls, _THINK_ALONE, {tool_names.THINK_TOOL: _ACT_NOW})
            return _mistaken(progress, answers, is_done)
        progress = progress.model_copy(update={"thinks": progress.thinks + 1})
        answers = _answer_all(calls, _THINK_ALONE, {tool_names.THINK_TOOL: ACKNOWLEDGED})
        return Order("again", progress, answers)
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
    kind of call."""
    answers = dict(calls.refused)
    tasks: dict[str, str] = {}
    is_analysis = all(call.tool == tool_names.ANALYZE_FINDINGS for call in calls.accepted)
    may_analyze = is_analysis and has_findings
    for index, call in enumerate(calls.accepted):
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
            answers[call.id] = PENDING
        elif not may_analyze or not is_first:
            answers[call.id] = _ANALYZE_LATER
        elif len(progress.analyses) >= MOST_ANALYSES:
            answers[call.id] = f"{NOT_RUN} all {MOST_ANALYSES} analyses were made."
        else:
            tasks[call.id] = task
            answers[call.id] = PENDING
    if not tasks:
        return _mistaken(progress, answers, is_done)
    progress = progress.model_copy(update={"thinks": 0, "mistakes": 0})
    decision: Decision = "analyze" if is_analysis else "research"
    return Order(decision, progress, answers, tuple(tasks.items()))


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


class NextAction(NamedTuple):
    """What a message of a researcher's model leads to, and an answer to each of its calls but the
    one to run."""

    answers: dict[str, str]
    """Tool results by call id; the result of `request` follows later."""
    request: ToolRequest | None = None
    """The tool call to run; None: ask the model again, or write the finding if `is_finished`."""
    iterations: int = 0
    """Iterations used up by the message itself; a tool call counts once it has run."""
    thinks: int = 0
    """Number of consecutive thoughts, with this one."""
    was_nudged: bool = False
    """Whether the message had no call, so that the model is reminded to call a tool."""
    is_finished: bool = False
    """Whether the finding is written next."""
    report: ToolRequest | None = None
    """The call that ends the research, with what it declares missing and disputed; None if there is
    none."""


def choose_action(
    calls: Calls, state: ResearcherState, calculated: Mapping[str, str]
) -> NextAction:
    """Return what a message of a researcher's model leads to.

    The first call that is neither a thought nor a calculation is run, together with other calls to
    the same tool; the rest are refused. `calculated`: results of the calculations by call id.
    """
    answers = dict(calls.refused)
    if not calls.accepted:
        # The first message without a call is answered with a nudge; each further one costs an
        # iteration.
        is_silent = not calls.message.tool_calls
        is_free = is_silent and not state.was_nudged
        return NextAction(answers, iterations=0 if is_free else 1, was_nudged=is_silent)
    thoughts: list[ToolRequest] = []
    acting: list[ToolRequest] = []
    for call in calls.accepted:
        if call.tool == tool_names.THINK_TOOL:
            thoughts.append(call)
        elif call.tool != tool_names.CALCULATE:
            acting.append(call)
    if not acting:
        return _only_thoughts(calls, state, calculated)
    first = acting[0]
    merged = _calls_like_first(acting)
    for call in acting:
        if call in merged:
            continue
        if call.tool != first.tool:
            answers[call.id] = _ONE_KIND
        elif first.tool in tool_names.OURS:
            answers[call.id] = _ONE_POSITION
        else:
            answers[call.id] = _ONE_CALL
    for call in thoughts:
        answers[call.id] = ACKNOWLEDGED
    answers |= calculated
    if first.tool == tool_names.GENERATE_REPORT:
        for call in merged:
            answers[call.id] = ACKNOWLEDGED
        return NextAction(answers, is_finished=True, report=first)
    for call in merged[1:]:
        answers[call.id] = MERGED
    request = first.model_copy(update={"arguments": _merged_arguments(merged)})
    made = 0
    for action in state.actions:
        if (action.tool, action.inputs) == (request.tool, request.inputs):
            made += 1
    if made >= _MOST_REPEATS and not request.arguments.get("start"):
        answers[first.id] = _REPEATED.format(made=made)
        return NextAction(answers, is_finished=True)
    return NextAction(answers, request)


def _only_thoughts(
    calls: Calls, state: ResearcherState, calculated: Mapping[str, str]
) -> NextAction:
    """Return what a message leads to that has only thoughts and calculations."""
    answers = dict(calls.refused)
    may_think = state.thinks < _MOST_THINKS
    for call in calls.accepted:
        answers[call.id] = ACKNOWLEDGED if may_think else _CALL_ANOTHER_TOOL
    answers |= calculated
    if may_think:
        return NextAction(answers, thinks=state.thinks + 1)
    return NextAction(answers, iterations=1, thinks=state.thinks)


def _calls_like_first(acting: Sequence[ToolRequest]) -> list[ToolRequest]:
    """Return the first call, and those that can be run together with it."""
    first, *others = acting
    # Only our own tools accept lists for certain.
    if first.tool not in tool_names.OURS:
        return [first]
    fixed = _unmergeable(first)
    same = [call for call in others if call.tool == first.tool and _unmergeable(call) == fixed]
    return [first, *same]


def _merged_arguments(calls: Sequence[ToolRequest]) -> dict[str, Any]:
    """Return the arguments of the first call, with the texts and lists of the others added."""
    first, *others = calls
    merged = dict(first.arguments)
    for call in others:
        for name, value in call.arguments.items():
            if isinstance(value, str | list | tuple):
                merged[name] = [*_as_list(merged.get(name)), *_as_list(value)]
    return merged


def _unmergeable(call: ToolRequest) -> dict[str, Any]:
    """Return the arguments that cannot be merged with another call's: neither text nor list, such
    as an offset."""
    fixed: dict[str, Any] = {}
    for name, value in call.arguments.items():
        if value and not isinstance(value, str | list | tuple):
            fixed[name] = value
    return fixed


def _as_list(value: Any) -> list[Any]:
    """Return a list argument as a list, and any other as a list of one; empty for None."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return list(value)
    return [value]


def allowance_used_up(task: Task, spending: Mapping[str, Spent]) -> str:
    """Return which share of the run's budget the task has used up, worded for the reader; empty if
    none."""
    if task.tokens is not None and total(spending).tokens >= task.tokens:
        return "its share of the token limit was used up (max_tokens)"
    if task.usd is not None and total(spending).usd >= task.usd:
        return "its share of the money limit was used up (max_usd)"
    return ""
