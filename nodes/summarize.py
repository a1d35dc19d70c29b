"""Sums up the conversation, and meanwhile reads the pages that the user named: they are the first that is learned."""

from __future__ import annotations

from dataclasses import dataclass, field

from langgraph.runtime import Runtime

from ..core.evidence.citations.citing import number_findings
from ..core.records.plan import Learning, PlanStep
from ..core.records.research import Finding
from ..core.records.sources import Source, short_hash
from ..core.run import tool_names
from ..core.run.branches import StepState, StepTask
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context
from ..core.run.conversation import latest_messages, question_of
from ..core.run.events.packets import Summary
from ..core.run.spending import terms
from ..core.run.store.pages import reference_to
from ..core.writing.facts import facts_of_run
from ..core.writing.fill_in import Filler
from ..core.writing.forms import RecordRound, RecordSummary
from ..core.writing.steps import ask_round, asked, finding_of, learned_in
from ..core.writing.turn import Turn, begin_turn
from ..state import ResearchState, StateUpdate
from ..tools.addresses import Addresses, addresses_in
from ..tools.tool import Outcome, ToolContext
from ..tools.use import Time, action_of, found_in, keep, meter_for_run, shown_use, use_tool

NAMED_PAGES = "0"
"""Id of the step that stands for the pages that the user named."""


@dataclass
class Read:
    """What the pages have brought; nothing if none was named."""

    findings: list[Finding] = field(default_factory=list)
    learnings: dict[str, Learning] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)


class NamedPages:
    """The pages that one question names."""

    def __init__(self, state: ResearchState, turn: Turn) -> None:
        """They are opened in the first tab beside the turn, which pays for it."""
        self._turn, self._run = turn, state.run
        self._filler = Filler(turn.context, state.run, turn.events, turn.place)
        self._spending, self._asked = turn.state.spending, question_of(state.messages)
        self._place = turn.place.model_copy(update={"tab_index": 1})

    async def read(self) -> Read:
        """Open them, and learn what bears on the question; what cannot be read becomes a problem of the finding."""
        addresses = addresses_in(self._asked)[: self._turn.context.limits.max_open]
        if not addresses:
            return Read()
        # An answer to a question back has not passed the entry.
        await Addresses(self._turn.pages, self._run.id).allow(addresses)
        outcome = await self._open(addresses)
        sources = found_in(outcome)
        numbers = {key: number for number, key in enumerate(sources, 1)}
        reference = await keep(outcome, numbers, self._turn.pages, self._run.id)
        state = self._state(addresses, outcome, list(sources), reference)
        form = await ask_round(state, self._turn, self._filler) if sources else None
        learned = learned_in(form, state, numbers.values()).learnings if form else {}
        state.learnings = learned
        if outcome.problems:
            state.ended, state.reason = "partial", " ".join(outcome.problems).rstrip(".")
        finding = finding_of(state, self._filler.failures, 0.0)
        return Read([finding], learned, sources)

    async def _open(self, addresses: list[str]) -> Outcome:
        turn, tool = self._turn, tool_names.OPEN_URL
        meter = meter_for_run(turn.context.limits, self._spending)
        time = Time(turn.context.limits.tool_seconds, "tool_seconds")
        tool_context = ToolContext(turn.pages, self._run.id, meter)
        bill, scope = turn.events.bill, self._run.scope
        with shown_use(turn.emitter, bill, self._place, tool, addresses, scope, [meter]) as outcomes:
            outcomes.append(await use_tool(tool, {"urls": addresses}, turn.context, tool_context, time))
        return outcomes[0]

    def _state(self, addresses: list[str], outcome: Outcome, keys: list[str], reference: str) -> StepState:
        """Return the pages as a step that has opened them."""
        run, limits = self._run, self._turn.context.limits
        step = PlanStep(
            id=NAMED_PAGES, title="The pages named in the question", task=run.question, requires_search=True
        )
        task = StepTask(
            id=f"{run.id[:8]}-{NAMED_PAGES}",
            question=run.question,
            cycle=-1,
            position=0,
            text=step.title,
            step=step,
            turn=self._place.turn_index,
            **{**terms(run, limits, self._spending, 1), "seconds": limits.max_seconds_planned},
        )
        action = action_of(short_hash(task.id), tool_names.OPEN_URL, addresses, [outcome])
        state = StepState([task], iteration=1, has_results=True, numbered=keys, actions=[action])
        state.notes = [asked(RecordRound(open_next=addresses), state.call_id), reference_to(state.call_id, reference)]
        return state


async def summarize(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Have the summary written; a conversation of one message is its own summary."""
    turn = await begin_turn(state, runtime)
    turn.announce("summarize")
    named = NamedPages(state, turn)
    async with turn.paid():
        summary, read = await gather_or_cancel([_summary(state, turn), named.read()])
    assert isinstance(summary, str) and isinstance(read, Read)
    turn.emit(Summary(placement=turn.place, summary=summary))
    findings, cited = number_findings(read.findings, {**state.sources, **read.sources})
    return {
        **turn.update(),
        "brief": state.brief.model_copy(update={"summary": summary, "began": turn.state.run.active_seconds}),
        "findings": findings,
        "learnings": read.learnings,
        "sources": {**read.sources, **cited},
    }


async def _summary(state: ResearchState, turn: Turn) -> str:
    """Return the summary; the question itself if there is nothing to sum up or the model gives no answer."""
    said, asked = latest_messages(state.messages, turn.context.limits.context_messages), question_of(state.messages)
    if len(said) == 1:
        return asked
    form = await turn.filler.ask_if_possible(
        RecordSummary, "planner", "summarize", said, facts=facts_of_run(state, turn.context)
    )
    return (form.summary.strip() if form else "") or asked
