"""Writes the finding of a researcher from its notes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from langchain_core.messages import AIMessage
from typing_extensions import override

from ...core.concurrency import Failed
from ...core.dialogue.transcripts import Calls, Finish
from ...core.errors import ModelFailed, RunFailed
from ...core.events.blocks import ResearcherPackets, TablePackets
from ...core.events.call import SilentEvents
from ...core.events.log import Emitter
from ...core.events.packets import (
    Packet,
    Placement,
)
from ...core.evidence.checking.units import report_units
from ...core.evidence.checking.verification import ShownSources
from ...core.evidence.citations.citing import cited_numbers
from ...core.evidence.citations.rendering import clean_prose
from ...core.evidence.text.sentences import LINE_MARK
from ...core.models.ask import Reply, Withheld, ask_model
from ...core.models.request import Request
from ...core.models.resolve import RoleModels
from ...core.records import tool_names
from ...core.records.research import Ending, Finding
from ...core.records.table import HandedIn, RowResults, ScoutResult, TableTask
from ...core.store.pages import Pages
from ...core.writing.write import ContinuedEvents, ask_for_prose, ask_to_cite, write_silently
from ...prompts import render_prompt
from ...state import BranchUpdate, ResearcherState
from ...tools.results import known_in, results_in
from ..turn import NodeRuntime, ResearcherTurn
from ._next_action import CUT_OFF

_MOST_OTHERS = 3
"""Maximum number of quotations of uncited sources to add to a small model's text."""
_NOTHING_CONSULTED = "it consulted no source"
_UNCITED = "its model cited no source, so quotations replace its text"
_EXCERPT_CHARACTERS = 600
"""Maximum characters of an excerpt."""
_HARMLESS = str.maketrans("[]【】［］`~<>", "()()()'-‹›")
"""Replaces characters that could form citations, code or tags in an excerpt."""


class FindingEvents(ContinuedEvents):
    """Emits the finding as it is written, with the placement of the researcher's tab."""

    def __init__(self, emitter: Emitter, placement: Placement) -> None:
        """`placement` is that of the researcher's next step."""
        super().__init__(emitter, placement)
        self._packets = ResearcherPackets(placement.model_copy(update={"sub_turn_index": None}))

    @override
    def start(self) -> Packet:
        return self._packets.finding_start()

    @override
    def show(self, words: str) -> None:
        self.emit(self._packets.finding_piece(words))


async def write_finding(state: ResearcherState, runtime: NodeRuntime) -> BranchUpdate:
    """Ask the researcher's model for the finding, unless it stands beside its last decision.

    If that fails, use excerpts of its sources instead.
    """
    turn = ResearcherTurn(state, runtime, FindingEvents)
    left = turn.context.limits.researcher_seconds_hard - state.seconds
    finding = await turn.attempt(_finding(state, turn), left)
    if isinstance(finding, Failed):
        finding = await keep_excerpts(state, turn.pages, turn.emitter, finding.reason, turn.seconds)
    return {"findings": {finding.id: finding}, "spending": turn.spending}


async def keep_excerpts(
    state: ResearcherState, pages: Pages, emitter: Emitter, reason: str, seconds: float
) -> Finding:
    """Emit and return a finding of excerpts from the notes; `reason`: why none was written;
    `seconds`: time spent."""
    results = results_in(await pages.fill_in(state.ordered_notes))
    excerpts: dict[int, str] = {}
    for result in results:
        excerpts.setdefault(result["document"], result["text"][:_EXCERPT_CHARACTERS])
    numbers = sorted(excerpts)
    lines: list[str] = []
    for number in numbers:
        line = " ".join(excerpts[number].translate(_HARMLESS).split())
        lines.append(f"{line} [{number}]")
    ended: Ending = "partial" if lines else "failed"
    withheld = Withheld.of(state.notes)
    finding = state.task.failed(ended, reason).model_copy(
        update={
            "text": "\n".join(lines),
            "sources": tuple(state.numbered),
            "actions": tuple(state.actions),
            "calculations": tuple(state.calculations.values()),
            "failures": (*state.failures, reason),
            "withheld": withheld.results,
            "left_out": withheld.titles,
            "seconds": seconds,
        }
    )
    keys = [state.numbered[number - 1] for number in numbers]
    cited = [state.sources[key] for key in keys]
    packets = ResearcherPackets(Placement.of(state.task))
    failure = packets.failure(finding.reason, is_final=True)
    emitter.emit(failure, *packets.finding(finding.text, cited))
    return finding


async def _finding(state: ResearcherState, turn: ResearcherTurn[FindingEvents]) -> Finding:
    """Return the finding.

    If the model cites nothing, citations are added, or quotations replace its text.
    """
    if state.ended == "failed" or not state.actions:
        # Without a source, the model would write from memory.
        raise RunFailed(state.reason or _NOTHING_CONSULTED)
    if isinstance(state.task, TableTask):
        return await _table_finding(state, state.task, turn)
    context = turn.context
    request, reply = await _ask_twice(state, turn)
    known = range(1, len(state.numbered) + 1)
    sources = {number: state.sources[state.numbered[number - 1]] for number in known}
    text = clean_prose(reply.message.text.strip(), sources)
    was_cut = Finish.of(reply.message).was_cut_off
    fault = CUT_OFF if was_cut else ""
    is_by_small_model = turn.is_by_small_model
    if known and not was_cut and not cited_numbers(text, known):
        read = ShownSources(known_in(await turn.notes()))
        text = await asyncio.to_thread(read.with_found_citations, text)
        # Small models that cite nothing do not cite on a second request either.
        if not is_by_small_model and not cited_numbers(text, known):
            text = await ask_to_cite(request, text, known, context, turn.events)
        # An uncited text with figures is useless, unless the researcher declared what it asks for
        # missing.
        is_useless = is_by_small_model or await asyncio.to_thread(_states_figures, text)
        if is_useless and not state.missing and not cited_numbers(text, known):
            text = await _quoted(request, turn)
            fault = _UNCITED
            if not cited_numbers(text, known):
                raise ModelFailed(_UNCITED)
    if is_by_small_model and not fault and cited_numbers(text, known):
        text = _with_other_sources(text, await _quoted(request, turn), known)
    text, corrected = await _with_right_citations(text, state, turn)
    cited = [state.numbered[number - 1] for number in cited_numbers(text, known)]
    shown = [state.sources[key] for key in cited]
    turn.emit(*ResearcherPackets(turn.tab).finding_end(shown))
    withheld = Withheld.of([*state.notes, *reply.reduced])
    return Finding(
        **state.task.assignment,
        text=text,
        sources=tuple(state.numbered),
        ended="partial" if fault else state.ended or "done",
        reason=state.reason or fault,
        missing=state.missing,
        contradictions=state.contradictions,
        failures=tuple(state.failures),
        withheld=withheld.results + len(reply.refused),
        left_out=withheld.titles,
        seconds=turn.seconds,
        actions=tuple(state.actions),
        corrected_markers=corrected,
        calculations=tuple(state.calculations.values()),
    )


async def _table_finding(
    state: ResearcherState, task: TableTask, turn: ResearcherTurn[FindingEvents]
) -> Finding:
    """Return the finding of a scout or a researcher of rows; without a form beside its last
    decision, its model is asked to hand in one now, twice if need be."""
    text = state.written
    content = state.handed_in
    fault = ""
    if not content:
        if RoleModels(turn.context).is_extractive("researcher"):
            table = await _quoted_cells(state, task, turn)
        else:
            table = await _table_form(state, turn)
        text = table.text
        content = await turn.pages.keep(table.content)
        fault = state.reason
    if task.is_scout:
        found = ScoutResult.model_validate_json(await turn.pages.text(content) or "{}")
        shown = results_in(await turn.notes())
        found = turn.with_unread_parts(found, shown)
        content = await turn.pages.keep(found.model_dump_json())
    else:
        results = RowResults.model_validate_json(await turn.pages.text(content) or "{}")
        names = {row.id: row.name for row in task.rows}
        turn.emit(*TablePackets(turn.tab).filled(names, results.rows))
    turn.events.on_text(text)
    known = range(1, len(state.numbered) + 1)
    cited = [state.sources[state.numbered[number - 1]] for number in cited_numbers(text, known)]
    turn.emit(*ResearcherPackets(turn.tab).finding_end(cited))
    return Finding(
        **task.assignment,
        text=text,
        handed_in=content,
        sources=tuple(state.numbered),
        ended="partial" if fault else "done",
        reason=fault,
        contradictions=state.contradictions,
        failures=tuple(state.failures),
        withheld=Withheld.of(state.notes).results,
        left_out=Withheld.of(state.notes).titles,
        seconds=turn.seconds,
        actions=tuple(state.actions),
    )


async def _quoted_cells(
    state: ResearcherState, task: TableTask, turn: ResearcherTurn[FindingEvents]
) -> HandedIn:
    """Return the cells of a row as quotations of its document, one for each column that it says
    something of."""
    notes = await turn.notes()
    known = range(1, len(state.numbered) + 1)
    quotes = dict[str, tuple[str, int]]()
    for column in task.columns:
        if column.is_key:
            continue
        request = turn.request(notes, "", tools=[], tool_choice="none")
        about = f"{column.name} {column.meaning}".strip()
        request = request._replace(facts=request.facts._replace(task=about))
        quoted = await write_silently(request, turn.context, turn.events)
        first = next((line for line in quoted.text.split("\n") if cited_numbers(line, known)), "")
        if first:
            quotes[column.name] = (LINE_MARK.sub("", first), cited_numbers(first, known)[0])
    return turn.quoted_cells(quotes)


async def _table_form(state: ResearcherState, turn: ResearcherTurn[FindingEvents]) -> HandedIn:
    """Have the model hand in its form; raises `ModelFailed` if it does not, even when asked
    again."""
    notes = turn.in_view(await turn.notes())
    fault = ""
    for _ in range(2):
        reminder = render_prompt("_hand_in", "reminder", reason=state.reason, again=bool(fault))
        request = turn.request(
            notes,
            reminder,
            tools=[turn.table_schema],
            max_tokens=turn.context.limits.finding_tokens,
        )
        silent = SilentEvents(turn.emitter, turn.events.placement)
        silent.bill = turn.events.bill
        reply = await ask_model(request, turn.context, silent)
        calls = Calls.read(reply.message, {tool_names.GENERATE_REPORT}, notes)
        calls, table = turn.with_table_form(calls)
        if table:
            return table
        fault = calls.fault
    raise ModelFailed(f"its model handed in nothing that could be read: {fault}")


async def _with_right_citations(
    text: str, state: ResearcherState, turn: ResearcherTurn[FindingEvents]
) -> tuple[str, int]:
    """Return the text with the right citations of statements that another source of the notes
    states instead, and how many there were."""
    calculations = list[str]()
    for action in state.actions:
        if action.tool == tool_names.CALCULATE:
            calculations += action.inputs
    read = ShownSources(known_in(await turn.notes()), calculations)
    return await asyncio.to_thread(read.with_right_citations, text)


def _with_other_sources(text: str, quoted: str, known: Collection[int]) -> str:
    """Append quotations from sources that a list of facts does not cite.

    Small models overlook a second source. `quoted` is the same text as written by the extractive
    model, one quotation per line; `known` are source numbers.
    """
    cited_in_text = {*cited_numbers(text, known)}
    others = list[str]()
    for line in quoted.split("\n"):
        cited = cited_numbers(line, known)
        if cited and cited_in_text.isdisjoint(cited) and not line.startswith("|"):
            others.append(line)
    return "\n".join([text, *others[:_MOST_OTHERS]])


def _states_figures(text: str) -> bool:
    """Whether a statement of the text has figures."""
    return any(unit.states_figures for unit in report_units(text, {}))


async def _quoted(request: Request, turn: ResearcherTurn[FindingEvents]) -> str:
    """Return the finding as the extractive model writes it: quotations of the results."""
    context = RoleModels(turn.context).without_model("researcher")
    return (await write_silently(request, context, turn.events)).text


async def _ask_twice(
    state: ResearcherState, turn: ResearcherTurn[FindingEvents]
) -> tuple[Request, Reply]:
    """Return the request for the finding, and the reply.

    A finding that was written beside the last decision is the reply. An empty one is requested once
    more.
    """
    task = state.task
    context = turn.context
    if not state.written:
        turn.hear(await turn.read_inbox())
    notes = turn.in_view(await turn.notes())
    for again in (False, True):
        reminder = render_prompt(
            "write_finding",
            "reminder",
            task=task.text,
            language=task.language,
            reason=state.reason,
            again=again,
            is_small=turn.is_by_small_model,
        )
        request = turn.request(
            notes,
            reminder,
            tool_choice="none",
            max_tokens=context.limits.finding_tokens,
            is_long=True,
            hides_tools=again,
        )
        if state.written:
            turn.events.on_text(state.written)
            return request, Reply(AIMessage(state.written))
        reply = await ask_for_prose(request, context, turn.events)
        if reply.message.text.strip():
            return request, reply
    raise ModelFailed("its model wrote nothing")
