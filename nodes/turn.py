"""One execution of a node (its turn): settings, stored texts, packets, and costs of calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Generic, TypeVar

from langchain_core.messages import AnyMessage
from langgraph.graph.message import push_message
from langgraph.runtime import Runtime

from ..core.accounts.ledger import Ledger, UnsettledCosts
from ..core.concurrency import Failed, attempt
from ..core.dialogue.conversation import (
    Conversation,
    progress_chunk,
)
from ..core.events.blocks import ActivityKind, activity
from ..core.events.call import CallEvents, SilentEvents
from ..core.events.log import Emitter
from ..core.events.packets import Packet, Placement
from ..core.evidence.citations.rendering import plain_line
from ..core.models.request import Facts, Request
from ..core.models.resolve import settings_of
from ..core.records import tool_names
from ..core.records.research import Action, Progress, Run, Spent, Task
from ..core.settings.context import Context, Role, Watch, within_scope
from ..core.store.pages import pages_of
from ..core.writing.facts import facts_of_researcher, facts_of_run
from ..core.writing.fill_in import Filler
from ..state import ResearcherState, ResearchState, StateUpdate
from ..tools.offer import researcher_request
from ..tools.tool import Outcome, ToolContext
from ..tools.use import TimeLimit, action_of, meter_for_run, shown_use, use_tool

Value = TypeVar("Value")
_LINES = {"activity": "text", "research_agent_start": "research_task", "step_started": "title"}
"""Types of packets that chat clients see as a line of text, with the field that contains the
line."""
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
        self.context = within_scope(settings_of(runtime), work.scope)
        self.pages = pages_of(runtime.store, question_id)
        self.emitter = Emitter.of_node(question_id)
        self.placement = placement
        """Placement (turn and tab indexes) of its first packets."""
        self.events = make_events(self.emitter, placement)
        """Observes the node's model calls and keeps their bill."""

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
    """A turn of a node that works for the whole run; create it with `begin_turn`."""

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
        """The state, including the lost costs."""
        self.filler = Filler(self.context, run, self.events, placement, self._facts)

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
            logging.getLogger(__name__).warning(
                "The research of %s ends early: %s", self.state.run.id, stop
            )
        run = self.state.run.model_copy(update={"active_seconds": self._watch.seconds, **changes})
        return StateUpdate(run=run, spending=self.spending)

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
        meter = meter_for_run(limits, {**self.state.spending, **self.spending})
        time = TimeLimit(limits.tool_seconds, "tool_seconds")
        context = ToolContext(self.pages, run.id, meter)
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


async def begin_turn(state: ResearchState, runtime: NodeRuntime) -> Turn:
    """Return the turn of a node; settles the costs of turns that failed or were stopped."""
    lost = await Ledger(pages_of(runtime.store, state.run.id), state.run.id).unsettled()
    return Turn(state, runtime, lost)


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
        """Await the work for at most `seconds`.

        Return its result or `Failed`, raise errors that stop the whole run.
        """
        return await attempt(work, seconds, self.paid())


class ResearcherTurn(BranchTurn[Events]):
    """A turn of a node within a researcher."""

    def __init__(
        self, state: ResearcherState, runtime: NodeRuntime, make_events: MakeEvents[Events]
    ) -> None:
        super().__init__(state.task, state.seconds, state.step, runtime, make_events)
        self._state = state

    def request(self, notes: Sequence[AnyMessage], reminder: str, **fields: Any) -> Request:
        """Return a request to the researcher's model, with the facts of its notes.

        `notes`: its messages so far, with the texts of results filled in; `fields`: further fields
        of the request.
        """
        request = researcher_request(self._task, self.context, notes, reminder)
        return request._replace(facts=facts_of_researcher(self._state, notes), **fields)


AnyTurn = Turn | BranchTurn[SilentEvents]
