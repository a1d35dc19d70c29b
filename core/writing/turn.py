"""One turn of a node: what it is given, where its packets stand, and what its calls cost."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Generic, TypeVar

from langchain_core.messages import AIMessageChunk
from langgraph.graph.message import push_message
from langgraph.runtime import Runtime

from ...state import ResearchState, StateUpdate
from ..evidence.citations.rendering import plain_line
from ..models.resolve import settings_of
from ..records.research import Progress, Scope, Spent, Task, Value
from ..run.branches import place_of
from ..run.concurrency import Failed, attempt
from ..run.context import Context, Watch, within_scope
from ..run.conversation import MARK, PROGRESS, house_rules
from ..run.events.activities import ActivityKind, activity
from ..run.events.call import CallEvents, SilentEvents
from ..run.events.log import Emitter, emitter
from ..run.events.packets import Packet, Placement
from ..run.spending import UnsettledCosts, recorded, unsettled_costs
from ..run.store.pages import pages_of
from .fill_in import Filler

LINES = {"activity": "text", "research_agent_start": "research_task", "step_started": "title"}
"""Types of packets of which chat clients are shown a line, and the field that holds it."""
Events = TypeVar("Events", bound=CallEvents)


class NodeTurn(Generic[Events]):
    """What each node is given: settings, which search no more than the question may, texts, and a place."""

    def __init__(
        self,
        question_id: str,
        scope: Scope,
        place: Placement,
        runtime: Runtime[Context],
        listen: Callable[[Emitter, Placement], Events],
    ) -> None:
        self.context = within_scope(settings_of(runtime), scope)
        self.pages, self.emitter = pages_of(runtime.store, question_id), emitter(question_id)
        self.place = place
        """Where its packets begin."""
        self.events = listen(self.emitter, place)
        """Follow its calls of models, and hold their bill."""

    def emit(self, *packets: Packet) -> None:
        """Emit packets; chat clients of the server are shown a line of some, until they are sent the next values."""
        self.emitter.emit(*packets)
        shown = [getattr(packet, LINES[packet.type]) for packet in packets if self.pages.user and packet.type in LINES]
        for line in shown:
            words = f"*{plain_line(line)}*\n\n"
            chunk = AIMessageChunk(content=words, id=str(uuid.uuid4()), additional_kwargs={MARK: PROGRESS})
            push_message(chunk, state_key=None)


class Turn(NodeTurn[CallEvents]):
    """A turn of a node that works for the whole run; `begin_turn` makes it."""

    def __init__(self, state: ResearchState, runtime: Runtime[Context], lost: UnsettledCosts) -> None:
        """`lost` is what turns that failed or were stopped have cost."""
        run, place = lost.settled(state.run), Placement(turn_index=state.progress.turn)
        super().__init__(run.id, run.scope, place, runtime, SilentEvents)
        if rules := house_rules(state.messages)[: self.context.limits.question_characters]:
            both = "\n".join(filter(None, (self.context.instructions, rules)))
            self.context = self.context.model_copy(update={"instructions": both})
        self._lost = lost.new(state.spending)
        self._watch = Watch(self.context.clock, run.active_seconds)
        self.state = replace(state, run=run, spending={**state.spending, **self._lost})
        """The state with what is lost."""
        self.filler = Filler(self.context, run, self.events, place)

    @property
    def spending(self) -> dict[str, Spent]:
        """What this turn and those that were lost have cost."""
        return {**self._lost, **self.events.bill.costs}

    def announce(self, kind: ActivityKind) -> None:
        """Emit what the node is about to do; the packets of a place begin with this."""
        self.emit(activity(kind, self.state.run.question, self.place))

    def paid(self, events: CallEvents | None = None) -> AbstractAsyncContextManager[None]:
        """Record what the calls within the block cost, also if it fails or is stopped.

        `events` follow these calls; else nothing of them is shown.
        """
        self.events = events or self.events
        return recorded(self.pages, self.state.run.id, self.events.bill)

    def costs(self, **changes: Any) -> StateUpdate:
        """Return the update of the run, with these fields changed and the time until now, and of what was spent."""
        stop = changes.get("stop_reason") or self.state.run.stop_reason
        if stop != self.state.run.stop_reason:
            logging.getLogger(__name__).warning("The research of %s ends early: %s", self.state.run.id, stop)
        run = self.state.run.model_copy(update={"active_seconds": self._watch.seconds, **changes})
        return StateUpdate(run=run, spending=self.spending)

    def update(self, **changes: Any) -> StateUpdate:
        """Do as `costs`, and advance the place of the next packets: this turn has emitted some."""
        return {**self.costs(**changes), "progress": self.advanced()}

    def advanced(self, **changes: Any) -> Progress:
        """Return the progress, with these fields changed, at the place after the packets of this turn."""
        return self.state.progress.model_copy(update={"turn": self.events.placement.turn_index + 1, **changes})


async def begin_turn(state: ResearchState, runtime: Runtime[Context]) -> Turn:
    """Begin a turn of a node."""
    lost = await unsettled_costs(pages_of(runtime.store, state.run.id), state.run.id)
    return Turn(state, runtime, lost)


class BranchTurn(NodeTurn[Events]):
    """A turn of a node of one researcher, or of one step of a plan."""

    def __init__(
        self,
        task: Task,
        seconds: float,
        step: int,
        runtime: Runtime[Context],
        listen: Callable[[Emitter, Placement], Events],
    ) -> None:
        """Begin after so many seconds of the branch, with its packets at this `step`; `listen` makes its events."""
        self.tab = place_of(task)
        """The place of the branch."""
        place = self.tab.model_copy(update={"sub_turn_index": step})
        super().__init__(task.question_id, task.scope, place, runtime, listen)
        self._task = task
        self.watch = Watch(self.context.clock, seconds)
        self.filler = Filler(self.context, task, self.events, self.tab)

    @property
    def seconds(self) -> float:
        """Seconds of the branch, those of this turn included: calls side by side take as long as the longest."""
        return self.watch.seconds

    @property
    def spending(self) -> dict[str, Spent]:
        """What this turn has cost."""
        return self.events.bill.costs

    def paid(self) -> AbstractAsyncContextManager[None]:
        """Record what the calls within the block cost, in any case."""
        return recorded(self.pages, self._task.question_id, self.events.bill, researcher=self._task.id)

    async def attempt(self, work: Coroutine[Any, Any, Value], seconds: float) -> Value | Failed:
        """Return what the work brings in so many seconds; raises what stops the whole run."""
        return await attempt(work, seconds, self.paid())


AnyTurn = Turn | BranchTurn[SilentEvents]
