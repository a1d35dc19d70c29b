"""Decides whether the user has to be asked before research starts; does not wait for the answer."""

from __future__ import annotations

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..models.ask import ask_model
from ..models.request import Request
from ..models.resolve import settings_of
from ..prompts import render
from ..records.research import Run, Spent
from ..run.context import Context, within_scope
from ..run.conversation import latest_messages, marked
from ..run.events.activities import activity
from ..run.events.call import SilentEvents, stop_packet
from ..run.events.log import emitter
from ..run.events.packets import MessageDelta, MessageStart, Placement
from ..run.spending import recorded
from ..run.store.pages import pages_of
from ..state import ResearchState
from ..tools.control import GENERATE_PLAN
from ..tools.offer import offered_tools
from ..writing.facts import facts_of_run


class ClarifyUpdate(TypedDict, total=False):
    """What `clarify` writes."""

    messages: list[AnyMessage]
    run: Run
    spending: dict[str, Spent]


async def clarify(state: ResearchState, runtime: Runtime[Context]) -> ClarifyUpdate:
    """Ask the model whether to ask; the question becomes a message, or an assumption where nobody can answer."""
    context, run = settings_of(runtime), state.run
    assert run is not None
    if context.clarify == "off":
        return {}
    offered = list(offered_tools(within_scope(context, run.scope)))
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
    )
    conversation = latest_messages(state.messages, context.limits.context_messages)
    messages = [SystemMessage(system), *conversation]
    facts = facts_of_run(state, context, "clarifier")
    request = Request("clarifier", run.id, messages, tools=[GENERATE_PLAN], tool_choice="auto", facts=facts)
    # Beside a call for the plan, words are dropped, and the plan has the same place.
    events = SilentEvents(emitter(run.id), Placement(turn_index=state.progress.turn))
    async with recorded(pages, run.id, events.bill):
        reply = await ask_model(request, context, events)
    active = run.active_seconds + events.bill.seconds
    question = "" if _called_a_tool(reply.message) else reply.message.text.strip()
    update = ClarifyUpdate(spending=events.bill.costs)
    if not question or context.clarify == "assume" or not run.is_resumable:
        assumptions = (question,) if question else run.assumptions
        return {**update, "run": run.model_copy(update={"active_seconds": active, "assumptions": assumptions})}
    place = events.placement
    if state.progress.turn:
        # Only the planned strategy tells what it is about in such words.
        emitter(run.id).emit(activity("clarify", run.question, place))
    run = run.model_copy(update={"active_seconds": active, "status": "waiting"})
    asked = (MessageStart(placement=place), MessageDelta(placement=place, content=question))
    emitter(run.id).emit(*asked, stop_packet(run, place.turn_index))
    return {**update, "run": run, "messages": [marked(question, "clarification")]}


def _called_a_tool(message: AnyMessage) -> bool:
    return bool(getattr(message, "tool_calls", None) or getattr(message, "invalid_tool_calls", None))
