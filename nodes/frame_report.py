"""Settles what the report has to say and in which form, before it is written."""

from __future__ import annotations

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..evidence.memory.learned import in_view
from ..evidence.memory.observations import insights
from ..models.settings import settings_of
from ..run.activities import activity, told
from ..run.context import Context
from ..run.conversation import latest
from ..run.knowing import known
from ..run.ledger import booked
from ..run.packet import Placement, emit
from ..run.pages import pages_of
from ..run.step_telling import framing_told
from ..run.telling import QuietTeller
from ..state import Framing, Progress, ResearchState, Run, Spent
from ..tools.fill_in import Filler
from ..tools.forms import FrameReport
from ..tools.request_facts import facts_of_run
from ..tools.run_context import own_learnings, own_observations, with_numbers


class FrameReportUpdate(TypedDict):
    """What `frame_report` writes."""

    run: Run
    progress: Progress
    framing: Framing
    spending: dict[str, Spent]


async def frame_report(state: ResearchState, runtime: Runtime[Context]) -> FrameReportUpdate:
    """Ask for intent, form and message at once; what cannot be had is left to the writer."""
    context, run = settings_of(runtime), state.run
    assert run is not None
    place, start = Placement(turn_index=state.progress.turn), context.clock.seconds()
    teller = QuietTeller(runtime.stream_writer, place)
    emit(runtime.stream_writer, activity("frame", run.question, place))
    filler = Filler(context, run, teller, place)
    framer = Framer(state, run, context, filler)
    async with booked(pages_of(runtime.store, run.id), run.id, teller.bill):
        framing = await framer.frame()
    emit(runtime.stream_writer, *framing_told(framing, state.sources, place))
    seconds = run.active_seconds + context.clock.seconds() - start
    return FrameReportUpdate(
        run=run.model_copy(update={"active_seconds": seconds}),
        progress=state.progress.model_copy(update=told(state.progress, place, "frame", filler.failures)),
        framing=framing,
        spending=teller.bill.costs,
    )


class Framer:
    """Asks the writer's model how the report is meant."""

    def __init__(self, state: ResearchState, run: Run, context: Context, filler: Filler) -> None:
        self._state, self._run, self._context, self._filler = state, run, context, filler

    async def frame(self) -> Framing:
        """What it says of it, with a default where it says nothing."""
        limits, state = self._context.limits, self._state
        form = await self._filler.ask_if_possible(
            FrameReport,
            "writer",
            "frame_report",
            latest(state.messages, limits.context_messages),
            facts=facts_of_run(state, self._context, "writer"),
            instructions=self._context.instructions,
            knowledge=known(
                learnings=with_numbers(
                    state, in_view([own_learnings(state)], state.brief.summary, limits.memory_tokens)
                ),
                insights=[one.text for one in insights(own_observations(state))][: limits.max_elements],
            ),
        )
        said = form or FrameReport()
        return Framing(
            intent=said.intent.strip() or f"An answer to the question: {self._run.question}",
            formatting=said.formatting.strip(),
            main_message=said.main_message.strip(),
            reasoning=said.reasoning.strip(),
        )
