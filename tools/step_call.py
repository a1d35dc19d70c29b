"""The calls of models that one node of a step makes: told quietly, in the step's time, and paid by it."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from langgraph.runtime import Runtime

from ..channels import Value
from ..run.clock import Watch
from ..run.context import Context
from ..run.ledger import booked
from ..run.pages import pages_of
from ..run.step_branch import StepState
from ..run.telling import QuietTeller
from ..run.tries import Failed, tried
from ..state import Spent
from .fill_in import Filler


class StepCall:
    """Makes them, at the place that the step has come to."""

    def __init__(self, state: StepState, context: Context, runtime: Runtime[Context]) -> None:
        task = state.task
        self.place = task.place.model_copy(update={"sub_turn_index": state.turn})
        self.pages = pages_of(runtime.store, task.question_id)
        self._task, self._teller = task, QuietTeller(runtime.stream_writer, self.place)
        self._watch = Watch(context.clock, state.seconds)
        self.filler = Filler(context, task, self._teller, task.place)

    @property
    def seconds(self) -> float:
        """Seconds of the step, those of the node included: calls side by side take as long as the longest."""
        return self._watch.seconds

    @property
    def costs(self) -> dict[str, Spent]:
        """What they have cost."""
        return self._teller.bill.costs

    async def tried(self, work: Coroutine[Any, Any, Value]) -> Value | Failed:
        """What the work brings in the time that is left to the step; raises what stops the whole run."""
        task = self._task
        booking = booked(self.pages, task.question_id, self._teller.bill, researcher=task.id)
        brought = await tried(work, task.seconds - self.seconds, booking)
        if isinstance(brought, Failed) and not brought.is_late:
            # A store that cannot write down what the calls have cost, say.
            self.filler.fail(brought.reason)
        return brought
