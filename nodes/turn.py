"""One execution of a node (its turn): settings, stored texts, packets, and costs of calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import urlsplit

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from langgraph.errors import GraphBubbleUp
from langgraph.graph.message import push_message
from langgraph.runtime import Runtime

from ..core.accounts.ledger import Ledger, UnsettledCosts
from ..core.concurrency import Failed
from ..core.dialogue.conversation import Conversation, progress_chunk
from ..core.dialogue.transcripts import Calls
from ..core.errors import failure_of, log_failure
from ..core.events.blocks import ActivityKind, activity
from ..core.events.call import CallEvents, SilentEvents
from ..core.events.log import Emitter
from ..core.events.packets import Activity, MessageRead, Packet, Placement
from ..core.evidence.checking.calculator import Calculator
from ..core.evidence.citations.rendering import plain_line
from ..core.evidence.exclusion import ExcludedSources
from ..core.evidence.memory.learned import facts_of
from ..core.models.request import Facts, Request
from ..core.models.resolve import RoleModels, profile_of, settings_of
from ..core.reading.policy import Policy
from ..core.records import tool_names
from ..core.records.plan import Learning, PlanStep, StepTask
from ..core.records.research import Action, Progress, Run, Spent, Task
from ..core.records.sources import Dispute, Source
from ..core.records.table import HandedIn, ScoutResult, TableTask
from ..core.settings.context import Context, Role, Watch
from ..core.store.pages import Inbox, Pages, Sent
from ..core.writing.basis import ReportBasis
from ..core.writing.calculating import CALCULATE_SCHEMA
from ..core.writing.forms import Filler
from ..core.writing.report import Delivery
from ..prompts import render_prompt
from ..state import ResearcherState, ResearchState, StateUpdate
from ..tools.offer import (
    DOCUMENTS_CALL,
    ToolOffer,
    note_user,
)
from ..tools.results import Result, shortener, shrunk
from ..tools.tool import Meter, Outcome, ToolContext
from ..tools.use import TimeLimit, action_of, shown_use, use_tool
from ._budget import Budget
from ._control import CALCULATED_FINDING_SCHEMA, GENERATE_FINDING_SCHEMA, THINK_TOOL_SCHEMA
from ._disputes import declared_disputes
from ._facts import facts_of_researcher, facts_of_run
from ._knowledge import as_learned, as_sources
from ._table_forms import (
    end_of_table_task,
    part_characters,
    quoted_cells,
    with_table_form,
    with_unread_parts,
)

Value = TypeVar("Value")
_LINES = {"activity": "text", "research_agent_start": "research_task", "step_started": "title"}
"""Types of packets that chat clients see as a line of text, with the field that contains the
line."""
_TIME_OVER = "its time was over (researcher_seconds_hard)"
"""Reason of a researcher that was stopped, worded for the reader."""
DECISION_TOKENS = 1024
"""Maximum output tokens of one decision of the orchestrator or a researcher."""
OPENING = "Read the user's documents."
_WHILE_AT_WORK = """\
While you worked, the user wrote:

{text}

Follow it as far as it bears on your task."""
"""How a researcher or a step is shown a message of the user."""
FINISHING = "the report was asked for before the research was complete"
"""Reason of research that the user has ended, worded for the reader."""
Events = TypeVar("Events", bound=CallEvents)
MakeEvents = Callable[[Emitter, Placement], Events]
"""Creates the observer of a node's model calls, such as the class `CallEvents`."""
NodeRuntime = Runtime[Context]
"""What LangGraph passes to a node: settings, store and stream of the run."""


class NodeTurn(Generic[Events]):
    """What every node needs: settings limited to the question's scope, stored texts, and an emitter
    of packets.
    """

    def __init__(
        self,
        work: Run | Task,
        placement: Placement,
        runtime: NodeRuntime,
        make_events: MakeEvents[Events],
    ) -> None:
        question_id = work.question_id if isinstance(work, Task) else work.id
        self.scope = work.scope
        """What the question may search."""
        self.context = settings_of(runtime).within(self.scope)
        if isinstance(work, TableTask):
            limits = self.context.limits.for_table()
            self.context = self.context.model_copy(update={"limits": limits})
        self.pages = Pages.of_node(runtime.store, question_id)
        self.emitter = Emitter.of_node(question_id, self.context.clock.seconds)
        self.placement = placement
        """Placement (turn and tab indexes) of its first packets."""
        self.events = make_events(self.emitter, placement)
        """Observes the node's model calls and keeps their bill."""

    @property
    def branch_tools(self) -> list[str]:
        """Names of the built-in tools for researchers and steps, which do not search documents that
        they read whole.
        """
        return list(ToolOffer(self.context).built_in(has_read_all=self.scope.reads_all))

    def note_read(
        self, messages: Iterable[BaseMessage], reader: Role, placement: Placement
    ) -> None:
        """Emit that the role's model reads these messages of the user; the extractive model reads
        none."""
        if RoleModels(self.context).is_extractive(reader):
            return
        for message in messages:
            read = MessageRead(placement=placement, message_id=str(message.id), reader=reader)
            self.emit(read)

    def emit(self, *packets: Packet) -> None:
        """Emit packets.

        On the server, also stream lines that clients show until new state arrives.
        """
        self.emitter.emit(*packets)
        # Only the server has users.
        if not self.pages.user:
            return
        for packet in packets:
            if packet.type not in _LINES:
                continue
            line = getattr(packet, _LINES[packet.type])
            push_message(progress_chunk(f"*{plain_line(line)}*\n\n"), state_key=None)


class Turn(NodeTurn[CallEvents]):
    """A turn of a node that works for the whole run; create it with `begin_turn`.

    It holds the state, and says what nodes want to know of it.
    """

    sent = Sent()
    """What the user has sent to the run at work."""

    def __init__(self, state: ResearchState, runtime: NodeRuntime, lost: UnsettledCosts) -> None:
        """`lost`: costs of turns that failed or were stopped, not included in the state yet."""
        run = lost.settled(state.run)
        placement = Placement(turn_index=state.progress.turn)
        super().__init__(run, placement, runtime, SilentEvents)
        rules = Conversation(state.messages).house_rules[: self.context.limits.question_characters]
        if rules:
            instructions = "\n".join(filter(None, (self.context.instructions, rules)))
            self.context = self.context.model_copy(update={"instructions": instructions})
        self._lost = lost.new(state.spending)
        self._watch = Watch(self.context.clock, run.active_seconds)
        self.state = replace(state, run=run, spending={**state.spending, **self._lost})
        """The state, including the lost costs, without what rests on excluded sources; see
        `apply`."""
        self.all_sources = state.sources
        """The thread's sources by key, including excluded ones, whose numbers stay taken."""
        self.filler = Filler(self.context, run, self.events, placement, self._facts)

    def apply(self, **changes: Any) -> None:
        """Change fields of the turn's state, as the node's update will."""
        self.state = replace(self.state, **changes)

    @property
    def basis(self) -> ReportBasis:
        """What the thread has found, as models read it."""
        return ReportBasis(self.state)

    @property
    def delivery(self) -> Delivery:
        """Delivers the draft or report of the state."""
        return Delivery(self.state, self.context, self.pages)

    async def calculator(self) -> Calculator:
        """Return the calculator for models that know the thread's sources by their numbers."""
        return await self.basis.calculator(self.pages)

    @property
    def conversation(self) -> list[AnyMessage]:
        """The conversation as models read it."""
        return Conversation(self.state.messages).latest_for_models()

    @property
    def offered(self) -> list[str]:
        """Names of the built-in tools that the settings offer, whether or not documents are read
        whole.
        """
        return list(ToolOffer(self.context).built_in())

    @property
    def budget(self) -> Budget:
        """What the run may still spend, after the calls of this turn so far."""
        return Budget(self.context.limits, {**self.state.spending, **self.spending})

    def hear(self) -> list[HumanMessage]:
        """Add to the conversation what the user has sent since the last turn that did so; return
        these messages, which belong into the update of the node."""
        new = self.sent.new(self.state.messages)
        self.apply(messages=[*self.state.messages, *new])
        return new

    @property
    def limit(self) -> str:
        """The limit of the run that is reached, or that the user has ended the research, in words;
        empty if there is none."""
        if self.sent.is_finishing:
            return FINISHING
        return self.budget.limit_reached(self.state.run.active_seconds)

    @property
    def is_on_reserve(self) -> bool:
        """Whether of the money or the tokens only the share is left that is reserved for
        writing."""
        return bool(self.budget.used_up(self.context.limits.writing_share))

    @property
    def plan_seconds_left(self) -> float:
        """The seconds left for the steps of a typed plan."""
        used = self.state.run.active_seconds - self.state.brief.began
        return self.context.limits.max_seconds_planned - used

    def is_capable(self, role: Role) -> bool:
        """Whether the role's model is able to judge: neither small nor extractive."""
        return RoleModels(self.context).is_capable(role)

    async def note_user(self) -> None:
        """Allow the user's words in queries, and the addresses among them to be opened."""
        await note_user(self.pages, self.state.messages, self.state.run)

    async def orientation(self) -> str | None:
        """Return the results of the first search; empty if there was none."""
        reference = self.state.brief.orientation
        return await self.pages.text(reference) if reference else ""

    def sources_for_prompt(self, learnings: Iterable[Learning]) -> list[dict[str, Any]]:
        """Return the sources of learnings for a prompt, with their numbers in the thread."""
        sources = dict[str, Source]()
        for learning in learnings:
            if learning.source:
                sources[learning.source] = self.state.sources[learning.source]
        return as_sources(sources.values(), self.state.numbers)

    def learnings_for_prompt(self, learnings: Iterable[Learning]) -> list[dict[str, Any]]:
        """Return learnings for a prompt, each fact once, with the sources' numbers in the
        thread.
        """
        return as_learned(facts_of(learnings), self.state.numbers)

    def single_task(self, step: PlanStep, cycle: int) -> StepTask:
        """Return the task of a step outside the plan; its budget is what the run has left."""
        run = self.state.run
        limits = self.context.limits
        fields = Budget(limits, self.state.spending).shared_task_fields(run, 1)
        fields["seconds"] = limits.max_seconds_planned
        return StepTask(
            id=f"{run.id[:8]}-{step.id}",
            question=run.question,
            text=step.title,
            cycle=cycle,
            position=0,
            turn=self.state.progress.turn,
            step=step,
            **fields,
        )

    def _facts(self) -> Facts:
        return facts_of_run(self.state, self.context)

    def request(self, role: Role, messages: Sequence[AnyMessage], **fields: Any) -> Request:
        """Return a request to a role's model, with the facts of the run.

        `fields`: further fields of the request.
        """
        return Request(role, self.state.run.id, messages, facts=self._facts(), **fields)

    @property
    def spending(self) -> dict[str, Spent]:
        """Costs of this turn and of the lost ones."""
        return {**self._lost, **self.events.bill.costs}

    def announce(self, kind: ActivityKind) -> None:
        """Emit a line on what the node is about to do; call it before the turn's other packets."""
        self.emit(activity(kind, self.state.run.question, self.placement))

    def announce_progress(self, line: str) -> None:
        """Emit how far the check is, which was announced before."""
        progress = Activity(placement=self.placement, text=line, icon="brain", is_progress=True)
        self.emit(progress)

    def paid(self, events: CallEvents | None = None) -> AbstractAsyncContextManager[None]:
        """Return a context manager that records the costs of calls within it, even if it fails or
        is stopped.

        Pass `events` to show the calls; by default, they are silent.
        """
        self.events = events or self.events
        return Ledger(self.pages, self.state.run.id).recorded(self.events.bill)

    def costs(self, **changes: Any) -> StateUpdate:
        """Return the update of the spending, and of the run with these fields and its active time
        changed.
        """
        stop = changes.get("stop_reason") or self.state.run.stop_reason
        if stop != self.state.run.stop_reason:
            log_early_end(f"The research of {self.state.run.id}", stop)
        run = self.state.run.model_copy(update={"active_seconds": self._watch.seconds, **changes})
        return StateUpdate(run=run, spending=self.spending)

    @property
    def worked(self) -> float:
        """Seconds for which runs have worked on the question, as the log has them: also those of
        rounds that were stopped."""
        return max(self._watch.seconds, self.emitter.worked)

    def update(self, **changes: Any) -> StateUpdate:
        """Like `costs`, but also advance the turn number; for turns that emitted packets."""
        return {**self.costs(**changes), "progress": self.advanced()}

    async def use(
        self, name: str, inputs: list[str], action_id: str, tab: int = 1
    ) -> tuple[Outcome, Action]:
        """Use a search tool or open pages, with packets in a tab of the turn.

        `inputs` are queries or addresses.
        """
        limits = self.context.limits
        run = self.state.run
        placement = self.placement.model_copy(update={"tab_index": tab})
        meter = Meter.of_run(limits, {**self.state.spending, **self.spending})
        time = TimeLimit(limits.tool_seconds, "tool_seconds")
        context = ToolContext(self.pages, run.id, meter, excluded=run.scope.excluded)
        argument = "urls" if name == tool_names.OPEN_URL else "queries"
        with shown_use(self.events, placement, name, inputs, run.scope, [meter]) as outcomes:
            outcome = await use_tool(name, {argument: inputs}, self.context, context, time)
            outcomes.append(outcome)
        return outcomes[0], action_of(action_id, name, inputs, outcomes)

    def advanced(self, **changes: Any) -> Progress:
        """Return the progress with these fields changed and with the turn number for the next
        packets.
        """
        return self.state.progress.model_copy(
            update={"turn": self.events.placement.turn_index + 1, **changes}
        )


def log_early_end(work: str, reason: str) -> None:
    """Log that a run, a researcher or a step ends early: a warning, unless the user wanted it."""
    level = logging.INFO if reason == FINISHING else logging.WARNING
    logging.getLogger(__name__).log(level, "%s ends early: %s", work, reason)


async def begin_turn(state: ResearchState, runtime: NodeRuntime) -> Turn:
    """Return the turn of a node; settles the costs of turns that failed or were stopped.

    The turn's state is what the node works with: it lacks what rests on excluded sources alone.
    """
    lost = await Ledger(Pages.of_node(runtime.store, state.run.id), state.run.id).unsettled()
    turn = Turn(state, runtime, lost)
    turn.sent = await Inbox(turn.pages, state.run.id).read()
    excluded = _excluded_keys(state, turn)
    if excluded:
        turn.state = await asyncio.to_thread(
            ExcludedSources(excluded).taken_out_of_state, turn.state
        )
    return turn


def _excluded_keys(state: ResearchState, turn: Turn) -> set[str]:
    """Return the keys of the thread's sources that the user has excluded, or whose domain the
    question may not read."""
    keys = {*turn.scope.excluded}
    policy = Policy(turn.context)
    if policy.denied:
        for source in state.sources.values():
            host = urlsplit(source.location).hostname if source.kind == "web" else None
            if host and policy.denies(host):
                keys.add(source.key)
    return keys


class BranchTurn(NodeTurn[Events]):
    """A turn of a node within a branch: a researcher, or a step of a plan."""

    def __init__(
        self,
        task: Task,
        seconds: float,
        step: int,
        runtime: NodeRuntime,
        make_events: MakeEvents[Events],
    ) -> None:
        """`seconds`: active time of the branch so far.

        `step`: `sub_turn_index` of the turn's packets.
        """
        self.tab = Placement.of(task)
        """Placement of the branch as a whole."""
        placement = self.tab.model_copy(update={"sub_turn_index": step})
        super().__init__(task, placement, runtime, make_events)
        self._task = task
        self.watch = Watch(self.context.clock, seconds)

    async def read_inbox(self) -> Sent:
        """Return what the user has sent to the run at work."""
        return await Inbox(self.pages, self._task.question_id).read()

    def _heard(self, sent: Sent, notes: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return what of the messages is not among the notes of the branch yet, as its model reads
        it."""
        new = sent.new(notes)
        self.note_read(new, "researcher", self.tab)
        return [
            HumanMessage(_WHILE_AT_WORK.format(text=message.text), id=message.id) for message in new
        ]

    @property
    def seconds(self) -> float:
        """Active seconds of the branch including this turn; parallel calls count once."""
        return self.watch.seconds

    @property
    def spending(self) -> dict[str, Spent]:
        """Costs of this turn."""
        return self.events.bill.costs

    def paid(self) -> AbstractAsyncContextManager[None]:
        """Return a context manager that records the costs of calls within it, even if it fails or
        is stopped.
        """
        ledger = Ledger(self.pages, self._task.question_id)
        return ledger.recorded(self.events.bill, researcher=self._task.id)

    async def attempt(self, work: Coroutine[Any, Any, Value], seconds: float) -> Value | Failed:
        """Return the result of the work; `Failed` if it raises or takes more than `seconds`.

        Its costs are recorded. Errors that stop the whole run (`GraphBubbleUp`) are raised.
        """
        if seconds <= 0:
            # An expired asyncio timeout takes effect only at the next await.
            work.close()
            return Failed(_TIME_OVER, is_late=True)
        clock = asyncio.timeout(seconds)
        try:
            async with self.paid(), clock:
                return await work
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - an error of a model ends only this researcher
            reason = failure_of(error)
            if clock.expired():
                reason = _TIME_OVER
            log_failure(__name__, error, "A researcher goes on with what it has: %s", reason)
            return Failed(reason, is_late=clock.expired())


class ResearcherTurn(BranchTurn[Events]):
    """A turn of a node within a researcher."""

    def __init__(
        self, state: ResearcherState, runtime: NodeRuntime, make_events: MakeEvents[Events]
    ) -> None:
        super().__init__(state.task, state.seconds, state.step, runtime, make_events)
        self._state = state

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """Schemas of the researcher's tools by name: the built-in ones and those of the
        settings.
        """
        return ToolOffer(self.context).schemas(has_read_all=self.scope.reads_all)

    @property
    def is_by_small_model(self) -> bool:
        """Whether the researcher's model is small: it lists facts instead of writing prose."""
        return RoleModels(self.context).is_small("researcher")

    def hear(self, sent: Sent) -> list[AnyMessage]:
        """Add to the notes of this turn what the user has sent since the last turn; return these
        messages, which belong into the update of the node."""
        state = self._state
        heard = self._heard(sent, state.notes)
        self._state = replace(state, notes=[*state.notes, *heard])
        return heard

    async def notes(self) -> list[AnyMessage]:
        """Return the researcher's messages so far, with the texts of results filled in."""
        return await self.pages.fill_in(self._state.ordered_notes)

    def in_view(self, notes: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return notes as the model sees them, with the older results shortened."""
        return shrunk(notes, max(self._state.shrunk, default=0), self._task.text)

    def request(self, notes: Sequence[AnyMessage], reminder: str, **fields: Any) -> Request:
        """Return a request to the researcher's model, with the facts of its notes.

        All requests begin with the same prompt, tools and task, so that providers cache them.
        `notes`: its messages so far, with the texts of results filled in; `fields`: further fields
        of the request.
        """
        task = self._task
        context = self.context
        schemas = self.tools
        reasons = profile_of("researcher", context).reasons
        offered = list(schemas)
        listed = " and ".join(offered[-2:])
        if len(offered) > 2:
            listed = ", ".join([*offered[:-2], listed])
        system = render_prompt(
            "think_or_act",
            "system",
            date=task.date,
            language=task.language,
            tools=listed,
            offered=offered,
            own_sources=context.own_sources,
            reasons=reasons,
            is_small=self.is_by_small_model,
            max_iterations=context.limits.max_iterations,
            max_queries=context.limits.max_queries,
            documents="" if task.scope.reads_all else task.scope.documents,
            has_read_all=task.scope.reads_all,
            hands_in=_handed_in_by(task),
        )
        conversation = documents_first([HumanMessage(task.text)], notes)
        messages = [SystemMessage(system), *conversation, HumanMessage(reminder)]
        if isinstance(task, TableTask):
            tools = [*schemas.values(), self.table_schema]
            # What a row's researcher would think stands in the cells that it hands in.
            if task.is_scout and schemas and not reasons:
                tools.append(THINK_TOOL_SCHEMA)
        elif schemas:
            tools = [*schemas.values(), CALCULATE_SCHEMA, GENERATE_FINDING_SCHEMA]
            if not reasons:
                tools.append(THINK_TOOL_SCHEMA)
        elif self.is_by_small_model:
            tools = [GENERATE_FINDING_SCHEMA]
        else:
            tools = [CALCULATED_FINDING_SCHEMA]
        request = Request(
            "researcher",
            task.question_id,
            messages,
            shortener(task.text),
            tools,
            max_tokens=DECISION_TOKENS,
            facts=facts_of_researcher(self._state, notes),
            shared_prefix=task.shared_prefix,
        )
        return request._replace(**fields)

    @property
    def table_schema(self) -> dict[str, Any]:
        """Schema of the tool by which the researcher hands in rows or cells of a table."""
        assert isinstance(self._task, TableTask)
        return end_of_table_task(self._task)

    def with_table_form(self, calls: Calls) -> tuple[Calls, HandedIn | None]:
        """Return the calls of a message, of which those that hand in rows or cells with faults are
        refused; and what the first other one hands in, None if the task is not for a table."""
        if not isinstance(self._task, TableTask):
            return calls, None
        return with_table_form(calls, self._task, self._state)

    @property
    def part_characters(self) -> int:
        """How many characters of a page are shown in order; 0 if passages on the topic are."""
        if isinstance(self._task, TableTask) and self._task.is_scout:
            return part_characters(self.context.limits)
        return 0

    def with_unread_parts(self, found: ScoutResult, results: Iterable[Result]) -> ScoutResult:
        """Return what a scout hands in, with the parts of pages that these results do not show."""
        numbered = self._state.numbered
        return with_unread_parts(found, results, numbered, self.part_characters)

    def quoted_cells(self, quotes: Mapping[str, tuple[str, int]]) -> HandedIn:
        """Return what quotations hand in for a row; `quotes` have their source numbers, by
        column."""
        assert isinstance(self._task, TableTask)
        return quoted_cells(quotes, self._task, self._state)

    def disputes_in(self, arguments: Mapping[str, Any]) -> tuple[Dispute, ...]:
        """Return the disputes that the model declares in the argument `contradictions` of a
        call.
        """
        return declared_disputes(arguments, self._state)


def _handed_in_by(task: Task) -> Literal["", "rows", "cells"]:
    """Return what a researcher hands in instead of a finding."""
    if not isinstance(task, TableTask):
        return ""
    return "rows" if task.is_scout else "cells"


def documents_first(task: Sequence[AnyMessage], notes: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a conversation: the task, then the notes; but if these begin with all documents, the
    documents come first.

    Conversations that read the same documents then share a prefix, which the provider caches.
    """
    first = notes[0] if notes else None
    if isinstance(first, AIMessage) and any(
        call["id"] == DOCUMENTS_CALL for call in first.tool_calls
    ):
        return [HumanMessage(OPENING), *notes[:2], *task, *notes[2:]]
    return [*task, *notes]


AnyTurn = Turn | BranchTurn[SilentEvents]
