"""Decides whether the user has to be asked before research starts; does not wait for the answer."""

from __future__ import annotations

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from deep_research.models.ask import Request, ask_model
from deep_research.prompts import render
from deep_research.run.context import Context, context_of
from deep_research.run.conversation import latest, marked
from deep_research.run.packets import MessageDelta, MessageStart, Placement, emit
from deep_research.state import ResearchState, Run, Spent
from deep_research.tools.control import GENERATE_PLAN
from deep_research.tools.offer import offered_tools


class ClarifyUpdate(TypedDict, total=False):
    """What `clarify` writes."""

    messages: list[AnyMessage]
    run: Run
    spending: dict[str, Spent]


async def clarify(state: ResearchState, runtime: Runtime[Context]) -> ClarifyUpdate:
    """Ask the model whether to ask; the question becomes a message, or an assumption where nobody can answer."""
    context, run = context_of(runtime), state.run
    assert run is not None
    if context.clarify == "off":
        return {}
    offered = list(offered_tools(context, {}))
    system = render("clarify", "system", date=run.date, language=run.language, offered=offered)
    conversation = latest(state.messages, context.limits.context_messages)
    request = Request("clarifier", [SystemMessage(system), *conversation], [GENERATE_PLAN], tool_choice="auto")
    reply = await ask_model(request, context)
    active = run.active_seconds + reply.seconds
    question = "" if _called_a_tool(reply.message) else reply.message.text.strip()
    if question and (context.clarify == "assume" or not run.is_resumable):
        run = run.model_copy(update={"active_seconds": active, "assumptions": (question,)})
        return ClarifyUpdate(run=run, spending=reply.spent)
    if not question:
        return ClarifyUpdate(run=run.model_copy(update={"active_seconds": active}), spending=reply.spent)
    placement = Placement(turn_index=0)
    emit(runtime.stream_writer, MessageStart(placement=placement), MessageDelta(placement=placement, content=question))
    run = run.model_copy(update={"active_seconds": active, "status": "waiting"})
    return ClarifyUpdate(messages=[marked(question, "clarification")], run=run, spending=reply.spent)


def _called_a_tool(message: AnyMessage) -> bool:
    return bool(getattr(message, "tool_calls", None) or getattr(message, "invalid_tool_calls", None))
