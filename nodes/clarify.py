"""Decides before research whether to ask the user a question, and whether one search is enough."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, SystemMessage
from pydantic import BaseModel, Field

from ..core.dialogue.conversation import attached_to, marked, marked_for_table
from ..core.errors import ContentRefused, UserMistake
from ..core.events.blocks import MessagePackets
from ..core.events.packets import Activity, OverallStop
from ..core.evidence.citations.labels import labels
from ..core.evidence.exclusion import ExcludedSources, named_sources
from ..core.models.ask import ask_model
from ..core.models.request import Request
from ..core.records import tool_names
from ..core.records.sources import Exclusion
from ..core.writing.language import Language
from ..core.writing.notes import WITHHELD_REASON
from ..core.writing.report import draft_of
from ..prompts import fence, render_prompt
from ..state import ResearchState, StateUpdate
from ..tools.tool import Lines, as_lines, tool_schema
from ._further_research import may_research, tasks_waiting
from .turn import NodeRuntime, Turn, begin_turn

_ASKS = re.compile("[?？؟\u037e]")
_RECALLED_CHARACTERS = 12_000
"""Maximum characters of earlier passages shown to the clarifier."""
_RECALLED = (
    "Answered from what was read for earlier questions; nothing was searched. Ask for new research "
    "if you want it."
)
_NOT_RECALLED = (
    f"What was read for earlier questions was left out of the first call: {WITHHELD_REASON}."
)
_NOT_SMALL = "More than a small question: researched step by step."


class GeneratePlan(BaseModel):
    """The request is clear: nothing has to be asked, planning can start."""


class GeneratePlanOrTable(GeneratePlan):
    """The request is clear: nothing has to be asked about it, planning can start."""

    as_table: str = Field(
        default="",
        description="Only if the request asks for a list: whether the user wants a table with a "
        "row for each, as a question to the user that names its rows and columns. Else empty.",
    )


class LookUp(BaseModel):
    """Have the request answered from one search."""

    queries: Lines = Field(description="What to search for: short queries, each about one thing.")


class AnswerFromRead(BaseModel):
    """Have the request answered from the passages that are shown: they hold all that it asks for."""  # noqa: E501


class ChangeReport(BaseModel):
    """Have the report changed: all that is not to change stays as it is."""

    instruction: str = Field(description="What is to change, in the user's own words.")
    missing: list[str] = Field(
        default_factory=list,
        description="Facts that the change needs and that no source read so far has, each as what "
        "to find out, in a sentence understood alone; empty if it needs none.",
    )


class ExcludeSources(BaseModel):
    """Have the report, and all that follows, do without sources that the user does not want."""

    sources: Lines = Field(
        description="Their numbers in the report, domains (all their pages), addresses or file "
        "names."
    )
    because: str = Field(default="", description="The user's reason, if one is given.")
    replace: bool = Field(
        default=False,
        description="Whether the user wants other sources in their place to be searched for.",
    )


EXCLUDE_SOURCES_SCHEMA = tool_schema(tool_names.EXCLUDE_SOURCES, ExcludeSources)
GENERATE_PLAN_SCHEMA = tool_schema(tool_names.GENERATE_PLAN, GeneratePlan)
PLAN_OR_TABLE_SCHEMA = tool_schema(tool_names.GENERATE_PLAN, GeneratePlanOrTable)
LOOK_UP_SCHEMA = tool_schema(tool_names.LOOK_UP, LookUp)
EDIT_REPORT_SCHEMA = tool_schema(tool_names.EDIT_REPORT, ChangeReport)
ANSWER_FROM_READ_SCHEMA = tool_schema(tool_names.ANSWER_FROM_READ, AnswerFromRead)


async def clarify(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the clarifier's model whether to ask the user, and whether one search is enough.

    Its question becomes a message, or an assumption if the user cannot be asked.
    """
    turn = await begin_turn(state, runtime)
    state = turn.state
    run = turn.state.run
    context = turn.context
    outline = turn.basis.outline(context)
    # A quick answer has no sections.
    may_be_quick = run.depth == "auto" and bool(turn.offered) and not outline
    may_look_up = run.is_quick or may_be_quick
    if context.clarify == "off" and not may_look_up:
        return {}
    recalled = await _recalled(turn)
    may_edit = _may_edit(turn)
    may_ask = context.clarify != "off"
    if run.is_quick:
        # Two calls are allowed: if this one fails, none is left to choose the queries.
        may_ask = context.clarify == "ask" and run.is_resumable
    may_offer_table = _may_offer_table(turn)
    orientation = await turn.orientation()

    def request(passages: str) -> Request:
        system = render_prompt(
            "clarify",
            "system",
            date=run.date,
            language=run.language,
            offered=turn.offered,
            own_sources=context.own_sources,
            orientation=orientation,
            documents=run.scope.documents,
            outline=outline.whole_text if outline else "",
            is_quick=run.is_quick,
            may_look_up=may_look_up,
            may_ask=may_ask,
            max_queries=context.limits.max_queries,
            passages=passages,
            may_edit=may_edit,
            may_offer_table=may_offer_table,
            is_table=run.strategy == "table",
        )
        tools = list[dict[str, Any]]()
        if not run.is_quick:
            tools.append(PLAN_OR_TABLE_SCHEMA if may_offer_table else GENERATE_PLAN_SCHEMA)
        if may_look_up:
            tools.append(LOOK_UP_SCHEMA)
        if passages:
            tools.append(ANSWER_FROM_READ_SCHEMA)
        if may_edit:
            tools += [EDIT_REPORT_SCHEMA, EXCLUDE_SOURCES_SCHEMA]
        return turn.request(
            "clarifier",
            [SystemMessage(system), *turn.conversation],
            tools=tools,
            tool_choice="auto" if may_ask else "any",
            asks_user=True,
        )

    notices = run.notices
    async with turn.paid():
        try:
            reply = await ask_model(request(recalled), context, turn.events)
        except ContentRefused:
            if not recalled:
                raise
            recalled = ""
            notices = (*notices, _NOT_RECALLED)
            reply = await ask_model(request(""), context, turn.events)
    # Text next to a call for the plan is dropped: the plan's packets have the same placement.
    has_called = reply.message.tool_calls or reply.message.invalid_tool_calls
    question = reply.message.text.strip()
    # Text without a question mark is an answer: a small model may answer the request from memory.
    if not may_ask or has_called or not _ASKS.search(question):
        question = ""
    if question and context.clarify != "assume" and run.is_resumable:
        if run.strategy == "planned":
            turn.announce("clarify")
        return _asked(turn, marked(question, "clarification"), notices)
    called = {call["name"]: call["args"] for call in reply.message.tool_calls}
    offer = str(called.get(tool_names.GENERATE_PLAN, {}).get("as_table") or "").strip()
    if may_offer_table and offer:
        return _asked(turn, marked_for_table(offer, "clarification"), notices)
    if may_edit and tool_names.EXCLUDE_SOURCES in called:
        return await _exclude(turn, called[tool_names.EXCLUDE_SOURCES], notices)
    if may_edit and tool_names.EDIT_REPORT in called and tool_names.GENERATE_PLAN not in called:
        return await _begin_edit(turn, called[tool_names.EDIT_REPORT], notices)
    queries = tuple[str, ...]()
    if may_look_up:
        queries = _queries_in(called)
    is_recalled = bool(recalled) and called.keys() == {tool_names.ANSWER_FROM_READ}
    is_quick = run.is_quick or bool(queries) or is_recalled
    if run.depth == "auto" and not is_quick:
        turn.emit(Activity(placement=turn.placement, text=_NOT_SMALL, icon="lightbulb"))
    if is_recalled:
        notices = (*notices, _RECALLED)
    update = turn.costs(
        assumptions=(question,) if question else run.assumptions,
        is_quick=is_quick,
        is_recalled=is_recalled,
        notices=notices,
    )
    return {**update, "brief": state.brief.model_copy(update={"queries": queries})}


def _asked(turn: Turn, question: AIMessage, notices: tuple[str, ...]) -> StateUpdate:
    """Return the update with which the run waits for the answer to a question; emits it."""
    update = turn.costs(status="waiting", notices=notices)
    turn.emit(
        *MessagePackets(turn.placement).question(question.text),
        OverallStop.of(update["run"], turn.placement.turn_index),
    )
    return {**update, "messages": [question]}


def _may_offer_table(turn: Turn) -> bool:
    """Whether the user may be offered a table in place of a report.

    It is made in a thread of its own, to which nothing but the request is taken along.
    """
    run = turn.state.run
    if run.strategy == "table" or run.entry != "question" or run.is_quick or run.outline:
        return False
    if any(map(attached_to, turn.state.messages)):
        return False
    return turn.context.clarify == "ask" and run.is_resumable


def _queries_in(called: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the queries with which the model looks up a small question; empty if it plans."""
    if tool_names.LOOK_UP not in called or tool_names.GENERATE_PLAN in called:
        return ()
    return _lines_in(called[tool_names.LOOK_UP].get("queries"))


def _lines_in(given: Any) -> tuple[str, ...]:
    """Return the texts in an argument of a call that should be a list of them."""
    lines = as_lines(given)
    if not isinstance(lines, list):
        return ()
    return tuple(line for line in lines if isinstance(line, str) and line.strip())


def _may_edit(turn: Turn) -> bool:
    """Whether the thread has a report that a follow-up may ask to change."""
    state = turn.state
    if state.run.entry != "follow_up" or state.base is None:
        return False
    return turn.is_capable("clarifier") and turn.is_capable("writer")


async def _begin_edit(
    turn: Turn, arguments: Mapping[str, Any], notices: tuple[str, ...]
) -> StateUpdate:
    """Return the update with which the run edits the thread's report.

    `arguments` are those of the call; the facts that are missing wait for research.
    """
    state = turn.state
    base = state.base
    assert base is not None
    language = await Language.of_report(base.text, state.run)
    update = turn.costs(
        entry="edit",
        outline="",
        is_quick=False,
        language=language.name,
        language_code=language.code,
        notices=notices,
    )
    tasks = [(task, task) for task in _lines_in(arguments.get("missing"))]
    if tasks and may_research(turn):
        update |= tasks_waiting(turn, state.progress, tasks, 0)
    instruction = str(arguments.get("instruction", "")).strip()
    brief = state.brief.model_copy(update={"instruction": instruction})
    draft = draft_of(base, labels(language.code), state.findings)
    return {**update, "brief": brief, "draft": draft}


async def _exclude(
    turn: Turn, arguments: Mapping[str, Any], notices: tuple[str, ...]
) -> StateUpdate:
    """Return the update that excludes sources, and has the report edited if it cites them.

    `arguments` are those of the call. If one of the sources is unknown, the user is asked which is
    meant, or told.
    """
    state = turn.state
    base = state.base
    assert base is not None
    try:
        names = _lines_in(arguments.get("sources"))
        sources = named_sources(state.sources.values(), names)
    except UserMistake as error:
        sources = []
        question = f"{error} Which source do you mean?"
        if turn.context.clarify == "ask" and state.run.is_resumable:
            return _asked(turn, marked(question, "clarification"), notices)
        notices = (*notices, str(error))
    because = str(arguments.get("because", "")).strip()
    exclusion = Exclusion(date=turn.context.clock.now().date().isoformat(), because=because)
    is_replacing = arguments.get("replace") is True
    excluded = dict(state.excluded)
    for source in sources:
        known = excluded.get(source.key, exclusion)
        excluded[source.key] = known.model_copy(update={"needs_replacement": is_replacing})
    update = await _begin_edit(turn, {}, notices)
    scope = ExcludedSources(excluded).taken_out_of_scope(update["run"].scope, state.sources)
    update["run"] = update["run"].model_copy(update={"scope": scope})
    return {**update, "excluded": excluded}


async def _recalled(turn: Turn) -> str:
    """Return the thread's passages relevant to a follow-up, fenced; empty if there are none."""
    if turn.state.run.entry != "follow_up" or not turn.is_capable("clarifier"):
        return ""
    shown = list[str]()
    for key, text in await turn.basis.recalled_passages(turn.pages, _RECALLED_CHARACTERS):
        source = turn.state.sources[key]
        shown.append(f"[{source.number}] {source.title}: {text}")
    if not shown:
        return ""
    return fence("\n\n".join(shown))
