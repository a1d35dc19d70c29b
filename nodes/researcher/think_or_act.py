"""Asks a researcher for one decision: think, call a tool, or write the finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.messages.tool import tool_call
from typing_extensions import override

from ...core.concurrency import Failed
from ...core.dialogue.transcripts import Calls, Finish, estimated_tokens, missing_in
from ...core.events.blocks import ResearcherPackets
from ...core.events.call import CallEvents
from ...core.evidence.checking.calculator import Calculator
from ...core.evidence.checking.proof import Known
from ...core.models.ask import Reply, ask_model
from ...core.models.resolve import RoleModels
from ...core.records import tool_names
from ...core.records.research import Action, Ending, ToolRequest, total
from ...core.records.sources import Source
from ...core.records.table import TableTask
from ...core.settings.context import Context
from ...core.writing.calculating import Calculations
from ...prompts import render_prompt
from ...state import BranchUpdate, ResearcherState
from ...tools.offer import DOCUMENTS_CALL, ToolOffer
from ...tools.results import known_in, shrunk
from ..turn import FINISHING, NodeRuntime, ResearcherTurn, log_early_end
from ._next_action import CUT_OFF, choose_action, finding_beside

_OPENED_FIRST = "open-first"
"""Id of the call that opens the pages that name the rows of a task."""
_MOST_SHRINKS = 2
"""How often older results may be shortened: each time invalidates the provider's prompt cache."""


class DecisionEvents(CallEvents):
    """Emits the model's thoughts, and keeps back a text that is the finding."""

    sources: Mapping[int, Source] = MappingProxyType({})
    """The sources that the finding may cite, by number."""
    may_search = True
    """Whether anything is left to search; if not, any text is the finding."""

    def finding_in(self, answer: AIMessage) -> str:
        """Return the text of an answer if it is the finding; else an empty text."""
        return finding_beside(answer, self.sources, must_cite=self.may_search)

    @override
    def keeps_text(self, answer: AIMessage) -> bool:
        return bool(self.finding_in(answer))


async def think_or_act(state: ResearcherState, runtime: NodeRuntime) -> BranchUpdate:
    """Ask the researcher's model for its next action; end the research if a limit is reached."""
    task = state.task
    turn = ResearcherTurn(state, runtime, DecisionEvents)
    context = turn.context
    await ToolOffer(context).load()
    if not (state.step or state.notes or state.was_nudged):
        packets = ResearcherPackets(turn.tab)
        turn.emit(packets.start(task.text), packets.title(task.title))
    reason = state.reason or _limit(state, context)
    sent = await turn.read_inbox()
    if sent.is_finishing:
        reason = reason or FINISHING
    if reason:
        log_early_end(f"The researcher of {task.id}", reason)
        has_failed = bool(state.reason and not state.numbered)
        ended: Ending = "failed" if has_failed else "partial"
        return {"ended": ended, "reason": reason, "request": None}
    offered = turn.tools
    turn.events.sources = _citable(state, turn)
    turn.events.may_search = bool(offered)
    if task.scope.reads_all and not state.notes:
        # All documents are read before the first call of the model.
        whole = {"documents": [*task.scope.whole]}
        return _own_call(tool_names.READ_DOCUMENTS, whole, DOCUMENTS_CALL)
    if isinstance(task, TableTask) and task.open_first and not state.notes:
        # The pages that name its rows, too.
        arguments: dict[str, Any] = {"urls": [*task.open_first]}
        if task.open_from:
            arguments["start"] = task.open_from
        return _own_call(tool_names.OPEN_URL, arguments, _OPENED_FIRST)
    is_quoting = isinstance(task, TableTask) and RoleModels(context).is_extractive("researcher")
    if is_quoting or (not offered and not RoleModels(context).is_capable("researcher")):
        # All documents have been read, and there is nothing to decide.
        return {"ended": "done", "request": None}
    heard = turn.hear(sent)
    shortenings, notes = await _in_view(state, turn)
    left = context.limits.researcher_seconds_left(state.seconds)
    reply = await turn.attempt(_ask(state, notes, turn), left)
    step = state.step
    if turn.events.thoughts:
        step += 1
    # A call that failed or was too late also costs.
    spent = BranchUpdate(step=step, seconds=turn.seconds, spending=turn.spending)
    if isinstance(reply, Failed):
        failures = list[str]()
        if not reply.is_late:
            turn.emit(ResearcherPackets(turn.tab).failure(reply.reason))
            failures.append(reply.reason)
        return {
            **spent,
            "notes": [heard],
            "ended": "partial",
            "reason": reply.reason,
            "request": None,
            "failures": failures,
        }
    tools = {*offered, tool_names.GENERATE_REPORT, tool_names.THINK_TOOL, tool_names.CALCULATE}
    calls = Calls.read(reply.message, tools, state.notes)
    calls, table = turn.with_table_form(calls)
    results = dict[str, str]()
    actions = list[Action]()
    calculations = Calculations(partial(_calculator, state, turn))
    for call_id, lines in (await calculations.results(calls)).items():
        results[call_id] = "\n".join(lines)
        actions.append(Action(id=call_id, tool=tool_names.CALCULATE, inputs=tuple(lines)))
    action = choose_action(calls, state, results)
    written = turn.events.finding_in(reply.message)
    # If its call was cut off, the text before it is whole.
    is_text_last = bool(written) and not calls.message.tool_calls
    was_cut = is_text_last and Finish.of(reply.message).was_cut_off
    is_finished = action.is_finished or was_cut or not offered
    if is_finished:
        # Perhaps it was written in a message without a call that could be read.
        written = written or state.written
    if action.report and written and not offered:
        # It could call no tool before.
        written = await calculations.beside(action.report.arguments, written)
    new = [*heard, *reply.withheld]
    new += calls.answered(action.answers)
    if table and is_finished:
        written = table.text
    update = BranchUpdate(
        **spent,
        notes=[new],
        request=action.request,
        iteration=state.iteration + action.iterations,
        thinks=action.thinks,
        was_nudged=action.was_nudged,
        written=written,
        shrunk=shortenings,
        actions=actions,
        calculations=calculations.changed,
    )
    if is_finished:
        declared = action.report.arguments if action.report else {}
        update |= {
            "ended": "done",
            "missing": missing_in(declared) or (),
            "contradictions": turn.disputes_in(declared),
        }
    if table and is_finished:
        update["handed_in"] = await turn.pages.keep(table.content)
    if was_cut:
        update |= {"ended": "partial", "reason": CUT_OFF}
    return update


def _own_call(tool: str, arguments: dict[str, Any], call_id: str) -> BranchUpdate:
    """Return the update for a call that code makes before the model is first asked."""
    shown = {} if tool == tool_names.READ_DOCUMENTS else arguments
    asked = tool_call(name=tool, args=shown, id=call_id)
    request = ToolRequest(id=call_id, tool=tool, arguments=arguments)
    return {"notes": [[AIMessage("", tool_calls=[asked])]], "request": request}


def _citable(state: ResearcherState, turn: ResearcherTurn[DecisionEvents]) -> dict[int, Source]:
    """Return the sources that a finding beside a decision may cite, by number.

    There are none for a small model, which is asked for a list of facts in any case, and none for a
    table, whose rows and cells are handed in by a form.
    """
    if turn.is_by_small_model or isinstance(state.task, TableTask):
        return {}
    return {number: state.sources[key] for number, key in enumerate(state.numbered, 1)}


async def _calculator(state: ResearcherState, turn: ResearcherTurn[DecisionEvents]) -> Calculator:
    """Return the calculator of a researcher, which knows all results that it was shown."""
    sources = dict[int, tuple[str, Known]]()
    for number, known in known_in(await turn.notes()).items():
        sources[number] = state.numbered[number - 1], known
    return Calculator(sources, state.task.text, state.calculations.values())


def _limit(state: ResearcherState, context: Context) -> str:
    """Return the limit that ends this researcher, in words; empty if none is reached."""
    task = state.task
    if state.seconds > task.seconds:
        return f"its time of {context.limits.researcher_seconds:g} s was over (researcher_seconds)"
    reason = total(state.spending).share_used_up(task)
    if reason:
        return reason
    if state.iteration >= context.limits.max_iterations:
        return f"its {state.iteration} rounds of tool use were used up (max_iterations)"
    return ""


async def _in_view(
    state: ResearcherState, turn: ResearcherTurn[DecisionEvents]
) -> tuple[tuple[int, ...], list[AnyMessage]]:
    """Return the new value of `state.shrunk`, and the notes as the model sees them.

    Older results may be shortened.
    """
    notes = await turn.notes()
    shrunk_before = max(state.shrunk, default=0)
    seen = turn.in_view(notes)
    # The newest search or page is never shortened.
    newest = _newest_search(notes)
    may_shrink = newest > shrunk_before and len(state.shrunk) < _MOST_SHRINKS
    if not may_shrink or estimated_tokens(seen) <= turn.context.limits.results_tokens:
        return state.shrunk, seen
    return (*state.shrunk, newest), shrunk(notes, newest, state.task.text)


def _newest_search(notes: Sequence[AnyMessage]) -> int:
    """Return the index of the last message that searches or opens pages; 0 if there is none."""
    newest = 0
    for index, note in enumerate(notes):
        if not isinstance(note, AIMessage):
            continue
        for call in note.tool_calls:
            if call["name"] not in (tool_names.THINK_TOOL, tool_names.CALCULATE):
                newest = index
    return newest


async def _ask(
    state: ResearcherState, notes: list[AnyMessage], turn: ResearcherTurn[DecisionEvents]
) -> Reply:
    has_unread_results = False
    if state.actions and not state.thinks:
        last = state.actions[-1]
        has_unread_results = last.tool == tool_names.WEB_SEARCH and bool(last.found)
    may_search = turn.events.may_search
    may_write = bool(turn.events.sources)
    reminder = render_prompt(
        "think_or_act",
        "reminder",
        iteration=state.iteration,
        max_iterations=turn.context.limits.max_iterations,
        has_unread_results=has_unread_results,
        was_nudged=state.was_nudged,
        may_write=may_write,
        has_written=bool(state.written),
        may_search=may_search,
        hands_in=isinstance(state.task, TableTask),
    )
    if state.written and state.was_nudged:
        # Messages without a call are not among the notes.
        notes = [*notes, AIMessage(state.written)]
    request = turn.request(notes, reminder)
    if isinstance(state.task, TableTask):
        return await ask_model(
            request._replace(max_tokens=turn.context.limits.finding_tokens),
            turn.context,
            turn.events,
        )
    if may_write:
        request = request._replace(max_tokens=turn.context.limits.finding_tokens)
        if not state.was_nudged:
            # A model that is forced to call a tool writes no text beside the call.
            request = request._replace(tool_choice="auto")
    return await ask_model(request, turn.context, turn.events)
