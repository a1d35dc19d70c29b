"""Decides whether the user has to be asked, or one search is enough, before research starts; waits for no answer."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..core.models.ask import ask_model
from ..core.models.request import Request
from ..core.models.resolve import settings_of
from ..core.records.report import Brief
from ..core.records.research import Run, Spent
from ..core.run import tool_names
from ..core.run.context import Context, within_scope
from ..core.run.conversation import latest_messages, marked
from ..core.run.events.activities import activity
from ..core.run.events.call import SilentEvents, stop_packet
from ..core.run.events.log import emitter
from ..core.run.events.packets import Activity, MessageDelta, MessageStart, Placement
from ..core.run.spending import recorded
from ..core.run.store.pages import pages_of
from ..core.writing.facts import facts_of_run
from ..prompts import render
from ..state import ResearchState
from ..tools.control import GENERATE_PLAN, LOOK_UP
from ..tools.offer import offered_tools
from ..tools.tool import as_lines

NOT_SMALL = "More than a small question: researched step by step."


class ClarifyUpdate(TypedDict, total=False):
    """What `clarify` writes."""

    messages: list[AnyMessage]
    run: Run
    brief: Brief
    spending: dict[str, Spent]


async def clarify(state: ResearchState, runtime: Runtime[Context]) -> ClarifyUpdate:
    """Ask the model whether to ask; the question becomes a message, or an assumption where nobody can answer."""
    context, run = settings_of(runtime), state.run
    assert run is not None
    offered = list(offered_tools(within_scope(context, run.scope)))
    may_look_up = run.is_quick or (run.depth == "auto" and bool(offered))
    if context.clarify == "off" and not may_look_up:
        return {}
    # Of two calls none is left to choose queries by an answer that nobody gives.
    may_ask = context.clarify == "ask" and run.is_resumable if run.is_quick else context.clarify != "off"
    pages = pages_of(runtime.store, run.id)
    orientation = await pages.text(state.brief.orientation) if state.brief.orientation else ""
    system = render(
        "clarify",
        "system",
        date=run.date,
        language=run.language,
        offered=offered,
        orientation=orientation,
        documents=run.scope.documents,
        is_quick=run.is_quick,
        may_look_up=may_look_up,
        may_ask=may_ask,
        max_queries=context.limits.max_queries,
    )
    conversation = latest_messages(state.messages, context.limits.context_messages)
    messages = [SystemMessage(system), *conversation]
    facts = facts_of_run(state, context, "clarifier")
    tools = [*([] if run.is_quick else [GENERATE_PLAN]), *([LOOK_UP] if may_look_up else [])]
    choice = "auto" if may_ask else "any"
    request = Request("clarifier", run.id, messages, tools=tools, tool_choice=choice, facts=facts)
    # Beside a call for the plan, words are dropped, and the plan has the same place.
    events = SilentEvents(emitter(run.id), Placement(turn_index=state.progress.turn))
    async with recorded(pages, run.id, events.bill):
        reply = await ask_model(request, context, events)
    active = run.active_seconds + events.bill.seconds
    question = "" if _called_a_tool(reply.message) or not may_ask else reply.message.text.strip()
    update, place = ClarifyUpdate(spending=events.bill.costs), events.placement
    if not question or context.clarify == "assume" or not run.is_resumable:
        queries = _queries(reply.message) if may_look_up else ()
        is_quick = run.is_quick or bool(queries)
        if run.depth == "auto" and not is_quick:
            emitter(run.id).emit(Activity(placement=place, text=NOT_SMALL, icon="lightbulb"))
        known = {"active_seconds": active, "assumptions": (question,) if question else run.assumptions}
        update["brief"] = state.brief.model_copy(update={"queries": queries})
        return {**update, "run": run.model_copy(update={**known, "is_quick": is_quick})}
    if state.progress.turn:
        # Only the planned strategy tells what it is about in such words.
        emitter(run.id).emit(activity("clarify", run.question, place))
    run = run.model_copy(update={"active_seconds": active, "status": "waiting"})
    asked = (MessageStart(placement=place), MessageDelta(placement=place, content=question))
    emitter(run.id).emit(*asked, stop_packet(run, place.turn_index))
    return {**update, "run": run, "messages": [marked(question, "clarification")]}


def _queries(message: AIMessage) -> tuple[str, ...]:
    """Return what is to be looked up; nothing where the message calls for research as well."""
    called = {call["name"]: call["args"] for call in message.tool_calls}
    if tool_names.GENERATE_PLAN in called or tool_names.LOOK_UP not in called:
        return ()
    lines = as_lines(called[tool_names.LOOK_UP].get("queries"))
    return tuple(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else ()


def _called_a_tool(message: AnyMessage) -> bool:
    return bool(getattr(message, "tool_calls", None) or getattr(message, "invalid_tool_calls", None))
