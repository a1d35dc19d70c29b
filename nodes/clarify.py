"""Decides before research whether to ask the user a question, and whether one search is enough."""

from __future__ import annotations

import re

from langchain_core.messages import SystemMessage

from ..core.models.ask import ask_model
from ..core.models.resolve import is_extractive, is_small
from ..core.run import tool_names
from ..core.run.conversation import latest_messages, marked
from ..core.run.events.call import stop_packet
from ..core.run.events.packets import Activity, MessageDelta, MessageStart
from ..core.writing.basis import recalled_passages
from ..core.writing.turn import NodeRuntime, Turn, begin_turn
from ..prompts import fence, render_prompt
from ..state import ResearchState, StateUpdate
from ..tools.control import ANSWER_FROM_READ_SCHEMA, GENERATE_PLAN_SCHEMA, LOOK_UP_SCHEMA
from ..tools.offer import offered_tools
from ..tools.tool import as_lines

_ASKS = re.compile("[?？؟\u037e]")
_RECALLED_CHARACTERS = 12_000
"""Maximum characters of earlier passages shown to the clarifier."""
_RECALLED = (
    "Answered from what was read for earlier questions; nothing was searched. Ask for new research if you want it."
)
_NOT_SMALL = "More than a small question: researched step by step."


async def clarify(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the clarifier's model; its question becomes a message, or an assumption if the user cannot be asked."""
    run, turn = state.run, await begin_turn(state, runtime)
    context, placement = turn.context, turn.placement
    offered = list(offered_tools(context))
    may_look_up = run.is_quick or (run.depth == "auto" and bool(offered))
    recalled = await _recalled(turn, state)
    if context.clarify == "off" and not may_look_up and not recalled:
        return {}
    # Depth `quick` allows two calls: if this one fails, none is left to choose the queries.
    may_ask = context.clarify == "ask" and run.is_resumable if run.is_quick else context.clarify != "off"
    orientation = await turn.pages.text(state.brief.orientation) if state.brief.orientation else ""
    system = render_prompt(
        "clarify",
        "system",
        date=run.date,
        language=run.language,
        offered=offered,
        own_sources=context.own_sources,
        orientation=orientation,
        documents=run.scope.documents,
        is_quick=run.is_quick,
        may_look_up=may_look_up,
        may_ask=may_ask,
        max_queries=context.limits.max_queries,
        passages=recalled,
    )
    messages = [SystemMessage(system), *latest_messages(state.messages)]
    tools = [
        *([] if run.is_quick else [GENERATE_PLAN_SCHEMA]),
        *([LOOK_UP_SCHEMA] if may_look_up else []),
        *([ANSWER_FROM_READ_SCHEMA] if recalled else []),
    ]
    choice = "auto" if may_ask else "any"
    request = turn.request("clarifier", messages, tools=tools, tool_choice=choice, text_key="question_to_user")
    # Text next to a call for the plan is dropped: the plan's packets have the same placement.
    async with turn.paid():
        reply = await ask_model(request, context, turn.events)
    text = reply.message.text.strip()
    has_called = reply.message.tool_calls or reply.message.invalid_tool_calls
    # Text without a question mark is an answer: a small model may answer the request from memory.
    question = text if may_ask and not has_called and _ASKS.search(text) else ""
    if question and context.clarify != "assume" and run.is_resumable:
        if run.strategy == "planned":
            turn.announce("clarify")
        update = turn.costs(status="waiting")
        turn.emit(MessageStart(placement=placement), MessageDelta(placement=placement, content=question))
        turn.emit(stop_packet(update["run"], placement.turn_index))
        return {**update, "messages": [marked(question, "clarification")]}
    called = {call["name"]: call["args"] for call in reply.message.tool_calls}
    is_recalled = bool(recalled) and called.keys() == {tool_names.ANSWER_FROM_READ}
    looks_up = may_look_up and tool_names.LOOK_UP in called and tool_names.GENERATE_PLAN not in called
    lines = as_lines(called[tool_names.LOOK_UP].get("queries")) if looks_up else []
    queries = tuple(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else ()
    is_quick = run.is_quick or bool(queries) or is_recalled
    notices = (*run.notices, _RECALLED) if is_recalled else run.notices
    if run.depth == "auto" and not is_quick:
        turn.emit(Activity(placement=placement, text=_NOT_SMALL, icon="lightbulb"))
    assumptions = (question,) if question else run.assumptions
    update = turn.costs(assumptions=assumptions, is_quick=is_quick, is_recalled=is_recalled, notices=notices)
    return {**update, "brief": state.brief.model_copy(update={"queries": queries})}


async def _recalled(turn: Turn, state: ResearchState) -> str:
    """Return the thread's passages relevant to a follow-up, fenced; empty if there are none."""
    context = turn.context
    if state.run.entry != "follow_up" or is_small("clarifier", context) or is_extractive("clarifier", context):
        return ""
    found = await recalled_passages(state, turn.pages, _RECALLED_CHARACTERS)
    shown = [f"[{state.sources[key].number}] {state.sources[key].title}: {text}" for key, text in found]
    return fence("\n\n".join(shown)) if shown else ""
