"""What a message of a researcher's model leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage

from ...core.dialogue.transcripts import ACKNOWLEDGED, MERGED, NOT_RUN, Calls
from ...core.evidence.citations.citing import cited_numbers
from ...core.evidence.citations.rendering import clean_prose
from ...core.records import tool_names
from ...core.records.research import ToolRequest
from ...core.records.sources import Source
from ...state import ResearcherState

_MOST_THINKS = 2
"""Consecutive thoughts before the model is asked to act."""
_MOST_REPEATS = 2
"""Identical tool calls allowed to a researcher; at the next one it must write its finding."""
_ONE_KIND = f"{NOT_RUN} one kind of tool a message. Call it again alone."
_ONE_POSITION = f"{NOT_RUN} one place to read on from a message. Call it again alone."
_ONE_CALL = f"{NOT_RUN} one call of this tool a message. Call it again alone."
_CALL_ANOTHER_TOOL = f"{NOT_RUN} no more thinking in a row. Call another tool now."
CUT_OFF = "it was cut off at the output limit (finding_tokens)"
"""Reason of a finding that is not whole."""
_REPEATED = f"{NOT_RUN} this very call was made {{made}} times before. Write down what was found."


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


def finding_beside(message: AIMessage, sources: Mapping[int, Source], *, must_cite: bool) -> str:
    """Return the text of a message if it is the researcher's finding; else an empty text.

    It stands alone, or beside the call that ends the research; what any other call returns would be
    missing in it. `sources`, by number, are those that it can cite; `must_cite`: otherwise it is a
    remark on the way.
    """
    called = {call["name"] for call in (*message.tool_calls, *message.invalid_tool_calls)}
    is_last = not called or tool_names.GENERATE_REPORT in called
    has_others = not called <= {tool_names.GENERATE_REPORT, tool_names.THINK_TOOL}
    if has_others or not is_last or not sources:
        return ""
    text = clean_prose(message.text.strip(), sources)
    return text if cited_numbers(text, sources) or not must_cite else ""


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
