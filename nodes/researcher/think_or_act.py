"""One decision of a researcher: a thought, a tool call, or to write down what was found."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.messages.tool import tool_call
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ...core.models.ask import Reply, ask_model, withheld_result
from ...core.models.request import Request
from ...core.models.resolve import settings_of
from ...core.records.research import Ending, Spent, Task
from ...core.run import tool_names
from ...core.run.branches import ResearcherState, ToolRequest
from ...core.run.concurrency import Failed, attempt
from ...core.run.context import Context, Watch, within_scope
from ...core.run.decisions import NextAction, allowance_used_up, choose_action
from ...core.run.events.call import CallEvents, researcher_failed
from ...core.run.events.log import emitter
from ...core.run.events.packets import Placement, ResearchAgentStart
from ...core.run.limits import Limits
from ...core.run.spending import recorded, seconds_left
from ...core.run.store.pages import Pages, pages_of
from ...core.run.transcripts import call_ids, read_calls, results_for, results_in_order, tokens_of
from ...core.writing.facts import facts_of_researcher
from ...prompts import render
from ...tools.internal_search import CALL_ID
from ...tools.offer import researcher_conversation, researcher_schemas, researcher_tools
from ...tools.passed import load_servers
from ...tools.results import shortener, shrunk

MOST_SHRINKS = 2
"""Times that older results shrink: each time the provider has to read anew what it has kept."""


class ThinkOrActUpdate(TypedDict, total=False):
    """What `think_or_act` writes."""

    notes: list[list[AnyMessage]]
    request: ToolRequest | None
    shrunk: tuple[int, ...]
    iteration: int
    thinks: int
    was_nudged: bool
    step: int
    seconds: float
    ended: Ending
    reason: str
    missing: tuple[str, ...]
    failures: list[str]
    spending: dict[str, Spent]


async def think_or_act(state: ResearcherState, runtime: Runtime[Context]) -> ThinkOrActUpdate:
    """Ask the researcher's model for its next step, unless a limit ends the research."""
    task = state.task
    context = within_scope(settings_of(runtime), task.scope)
    await load_servers(context)
    watch = Watch(context.clock, state.seconds)
    placement = Placement(turn_index=task.turn, tab_index=task.position)
    if not (state.step or state.notes or state.was_nudged):
        emitter(task.question_id).emit(ResearchAgentStart(placement=placement, research_task=task.text))
    reason = state.reason or _limit(state, context)
    if reason:
        is_worthless = bool(state.reason and not state.numbered)
        return {"ended": "failed" if is_worthless else "partial", "reason": reason, "request": None}
    offered = researcher_tools(context, has_read_all=task.scope.reads_all)
    if task.scope.reads_all and not state.notes:
        return _reading(task)
    if not offered:
        # All there is has been read.
        return {"ended": "done", "request": None}
    left, pages = seconds_left(context.limits, state.seconds), pages_of(runtime.store, task.question_id)
    events = CallEvents(emitter(task.question_id), placement.model_copy(update={"sub_turn_index": state.step}))
    booking = recorded(pages, task.question_id, events.bill, researcher=task.id)
    far, notes = await _in_view(state, context.limits, pages)
    reply = await attempt(_ask(state, notes, context, events), left, booking)
    if isinstance(reply, Failed):
        if not reply.is_late:
            emitter(task.question_id).emit(researcher_failed(placement, reply.reason))
        failures = [] if reply.is_late else [reply.reason]
        over = ThinkOrActUpdate(ended="partial", reason=reply.reason, request=None, failures=failures)
        return {**_spent(state, events, watch), **over}
    tools = {*offered, tool_names.GENERATE_REPORT, tool_names.THINK_TOOL}
    calls = read_calls(reply.message, tools, call_ids(state.notes))
    step = choose_action(calls, state, context.limits)
    # A message without calls had no effect and is not shown again.
    has_effect = bool(step.answers or step.request)
    new: list[AnyMessage] = [withheld_result(call_id) for call_id in reply.refused]
    new += [calls.message, *results_for(calls.message, step.answers)] if has_effect else []
    return {**_update(state, step, new), **_spent(state, events, watch), "shrunk": far}


def _reading(task: Task) -> ThinkOrActUpdate:
    """Read all documents before the first call of the model."""
    asked = tool_call(name=tool_names.READ_DOCUMENTS, args={}, id=CALL_ID)
    request = ToolRequest(id=CALL_ID, tool=asked["name"], arguments={"documents": [*task.scope.whole]})
    return {"notes": [[AIMessage("", tool_calls=[asked])]], "request": request}


def _spent(state: ResearcherState, events: CallEvents, watch: Watch) -> ThinkOrActUpdate:
    """Return the update for what the call has cost, also if it was cut off."""
    return ThinkOrActUpdate(
        step=state.step + events.has_thought,
        seconds=watch.seconds,
        spending=events.bill.costs,
    )


def _update(state: ResearcherState, step: NextAction, notes: list[AnyMessage]) -> ThinkOrActUpdate:
    update = ThinkOrActUpdate(
        notes=[notes],
        request=step.request,
        iteration=state.iteration + step.iterations,
        thinks=step.thinks,
        was_nudged=step.was_nudged,
    )
    if step.is_finished:
        update["ended"], update["missing"] = "done", step.missing
    return update


def _limit(state: ResearcherState, context: Context) -> str:
    task = state.task
    if state.seconds > task.seconds:
        return f"its time of {context.limits.researcher_seconds:g} s was over (researcher_seconds)"
    if reason := allowance_used_up(task, state.spending):
        return reason
    if state.iteration >= context.limits.max_iterations:
        return f"its {state.iteration} rounds of tool use were over (max_iterations)"
    return ""


async def _in_view(state: ResearcherState, limits: Limits, pages: Pages) -> tuple[tuple[int, ...], list[AnyMessage]]:
    """Return how far older results have been shortened, and the notes as the model sees them."""
    notes, topic = await pages.fill_in(results_in_order(state.notes)), state.task.text
    seen = shrunk(notes, max(state.shrunk, default=0), topic)
    newest = max((place for place, note in enumerate(notes) if _is_research(note)), default=0)
    may_shrink = newest > max(state.shrunk, default=0) and len(state.shrunk) < MOST_SHRINKS
    if not may_shrink or tokens_of(seen) <= limits.results_tokens:
        return state.shrunk, seen
    return (*state.shrunk, newest), shrunk(notes, newest, topic)


def _is_research(note: AnyMessage) -> bool:
    return isinstance(note, AIMessage) and any(call["name"] != tool_names.THINK_TOOL for call in note.tool_calls)


async def _ask(state: ResearcherState, notes: list[AnyMessage], context: Context, events: CallEvents) -> Reply:
    task, limits = state.task, context.limits
    last = state.actions[-1] if state.actions else None
    reminder = render(
        "think_or_act",
        "reminder",
        iteration=state.iteration,
        max_iterations=limits.max_iterations,
        has_unread_results=bool(last and last.tool == tool_names.WEB_SEARCH and last.found and not state.thinks),
        was_nudged=state.was_nudged,
    )
    messages = [*researcher_conversation(task, context, notes), HumanMessage(reminder)]
    request = Request(
        "researcher",
        task.question_id,
        messages,
        shortener(task.text),
        researcher_schemas(task, context),
        max_tokens=limits.decision_tokens,
        facts=facts_of_researcher(state, notes),
    )
    return await ask_model(request, context, events)
