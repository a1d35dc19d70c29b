"""What a researcher's message leads to: a thought, a tool call, or the end of its research."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..state import Spent, Task
from . import tool_names
from .branch import ResearcherState, ToolRequest
from .calls import ACKNOWLEDGED, MERGED, NOT_RUN, Call, Calls, missing_in
from .limits import Limits
from .spending import total

ONE_KIND = f"{NOT_RUN} one kind of tool a message. Call it again alone."
ONE_PLACE = f"{NOT_RUN} one place to read on from a message. Call it again alone."
ACT_NOW = f"{NOT_RUN} no more thinking in a row. Call another tool now."
REPEATED = f"{NOT_RUN} this very call was made {{made}} times before. Write down what was found."


class Step(NamedTuple):
    """What comes next in one researcher."""

    answers: dict[str, str]
    """Tool results by call id; the call in `request` gets its own later."""
    request: ToolRequest | None = None
    iterations: int = 0
    """Iterations that the message has used up; a tool call is counted when it has run."""
    thinks: int = 0
    was_nudged: bool = False
    is_finished: bool = False
    missing: tuple[str, ...] = ()
    """What it says that it has not found."""


def choose(calls: Calls, state: ResearcherState, limits: Limits) -> Step:
    """Decide by the first call of the message that is no thought: only calls of the same tool are considered."""
    answers = {refusal.id: refusal.reason for refusal in calls.refused}
    acting = [call for call in calls.accepted if call.name != tool_names.THINK_TOOL]
    if not calls.accepted:
        # The first message without any call costs a nudge, each further one an iteration.
        silent = not calls.message.tool_calls
        return Step(answers, iterations=0 if silent and not state.was_nudged else 1, was_nudged=silent)
    if not acting:
        return _think(list(calls.accepted), answers, state, limits)
    first = acting[0]
    same = [call for call in acting if call.name == first.name and _single(call) == _single(first)]
    answers |= {call.id: ONE_PLACE if call.name == first.name else ONE_KIND for call in acting if call not in same}
    answers |= {call.id: ACKNOWLEDGED for call in calls.accepted if call.name == tool_names.THINK_TOOL}
    if first.name == tool_names.GENERATE_REPORT:
        answers |= {call.id: ACKNOWLEDGED for call in same}
        return Step(answers, is_finished=True, missing=missing_in(first.arguments) or ())
    answers |= {call.id: MERGED for call in same[1:]}
    request = ToolRequest(id=first.id, tool=first.name, arguments=_merged(same))
    made = sum(1 for action in state.actions if (action.tool, action.inputs) == (request.tool, request.inputs))
    if made >= limits.max_repeats and not request.arguments.get("start"):
        return Step(answers | {first.id: REPEATED.format(made=made)}, is_finished=True)
    return Step(answers, request)


def _think(same: list[Call], answers: dict[str, str], state: ResearcherState, limits: Limits) -> Step:
    if state.thinks >= limits.max_thinks:
        return Step(answers | {call.id: ACT_NOW for call in same}, iterations=1, thinks=state.thinks)
    return Step(answers | {call.id: ACKNOWLEDGED for call in same}, thinks=state.thinks + 1)


def _single(call: Call) -> dict[str, Any]:
    """The arguments that are no texts and no lists, such as the place from which to read on."""
    return {
        name: value for name, value in call.arguments.items() if value and not isinstance(value, str | list | tuple)
    }


def _merged(calls: list[Call]) -> dict[str, Any]:
    """The arguments of the first call, with the list arguments of all put together; a bare text counts as a list."""
    merged = dict(calls[0].arguments)
    for call in calls[1:]:
        for name, value in call.arguments.items():
            if isinstance(value, str | list | tuple):
                merged[name] = [*_as_list(merged.get(name)), *_as_list(value)]
    return merged


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def share_used_up(task: Task, spending: Mapping[str, Spent]) -> str:
    """Which part of its allowance who has this task has used up by these costs, in words; empty if none."""
    if task.tokens is not None and total(spending).tokens >= task.tokens:
        return "its share of the token limit was used up (max_tokens)"
    if task.usd is not None and total(spending).usd >= task.usd:
        return "its share of the money was used up (max_usd)"
    return ""
