"""Work on one step of a typed plan: what its prompts say is known, its forms, its finding.

The docstrings of the forms and the strings below their fields are part of the prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.tool import tool_call
from langgraph.runtime import Runtime
from pydantic import Field

from ..core.concurrency import Failed
from ..core.errors import DeepResearchError, failure_of
from ..core.events.blocks import StepPackets
from ..core.events.call import SilentEvents
from ..core.events.log import Emitter
from ..core.events.packets import Placement
from ..core.evidence.checking.calculator import Calculator, answer_on
from ..core.evidence.checking.proof import Known
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.checking.verification import ShownSources
from ..core.evidence.citations.citing import cited_numbers
from ..core.evidence.citations.markers import with_calculations, without_markers
from ..core.evidence.memory.learned import facts_of, fitting_learnings, is_confident
from ..core.evidence.memory.observations import ResearchMemory
from ..core.evidence.text.sentences import LINE_MARK
from ..core.models.request import Request
from ..core.models.resolve import RoleModels
from ..core.records import tool_names
from ..core.records.plan import (
    PLAN_TIME_OVER,
    Fact,
    Judgement,
    Learning,
    Observation,
    PlanStep,
    StepOutcome,
    StepTask,
    Suggestion,
)
from ..core.records.research import Calculation, Finding
from ..core.records.sources import Source, short_hash
from ..core.settings.context import Context
from ..core.store.pages import Sent
from ..core.writing.basis import source_texts
from ..core.writing.calculating import CALCULATION_LINES
from ..core.writing.forms import Filler, Form
from ..core.writing.write import write_silently
from ..prompts import fence, fenced_knowledge, render_prompt
from ..state import BranchUpdate, StepState
from ..tools.results import Result, known_in, results_in, shortener
from ..tools.tool import as_lines
from ._disputes import StatedDisputes, read_disputes
from ._facts import facts_of_step
from ._knowledge import as_elements, as_gaps, as_learned, as_sources
from .turn import AnyTurn, BranchTurn, documents_first, log_early_end

Value = TypeVar("Value")
_INSIGHT_CONFIDENCE = 0.8
"""Score of every recorded insight; insights are recorded only if the step's results are
confident."""
_MOST_OTHERS = 3
"""Maximum number of facts from other results to add to those that a small model listed."""
_NOTHING = "Nothing that bears on this was found."


class LearnedFact(Form):
    """One fact."""

    text: str
    """The fact, in one sentence that is understandable on its own."""
    document: int
    """The `document` number of the result that says so."""
    also: list[int] = Field(default_factory=list)
    """Numbers of other results that say the same."""


class FoundGap(Form):
    """Something that is not known."""

    question: str
    """What is not known, as a question."""
    relevance: float = Field(ge=0, le=1)
    """How much it matters to the task, from 0 to 1."""


class NextStep(Form):
    """A further step."""

    title: str = ""
    """A few words."""
    rationale: str = ""
    """What it should find out; understandable on its own."""
    requires_search: bool = True
    """Whether it searches or only thinks."""


class Judged(Form):
    """A judgement of what a step has found."""

    insights: list[str] = Field(default_factory=list)
    """What the learnings show when taken together, one sentence each, the most important first."""
    gaps: list[FoundGap] = Field(default_factory=list)
    """What the task asks for and is still unknown, unless it is already listed as an open question."""  # noqa: E501
    completeness: float = Field(default=0.0, ge=0, le=1)
    """How much of what the task asks for is known by now, from 0 to 1."""
    quality: float = Field(default=0.0, ge=0, le=1)
    """How reliable and precise the results are, from 0 to 1."""
    next_steps: list[NextStep] = Field(default_factory=list)
    """Further research steps that would help in addition to this one, best first."""

    @property
    def judgement(self) -> Judgement:
        """Completeness, quality and suggested further steps."""
        suggestions = list[Suggestion]()
        for step in self.next_steps:
            suggestion = Suggestion(
                title=step.title.strip(),
                task=step.rationale.strip(),
                requires_search=step.requires_search,
            )
            suggestions.append(suggestion)
        return Judgement(
            completeness=self.completeness,
            quality=self.quality,
            suggestions=tuple(suggestions),
        )


class RecordRound(Judged):
    """Hand in what the last results say, whether the task is done, and what to search for next."""

    learnings: list[LearnedFact] = Field(default_factory=list)
    """The facts in the last results that are relevant to the task and not known yet."""
    contradictions: StatedDisputes = Field(default_factory=list)
    """Where results contradict each other, or good sources advise or judge differently; empty if they do not."""  # noqa: E501
    calculations: list[str] = Field(default_factory=list, description=CALCULATION_LINES)
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the open questions that the last results answer."""
    is_complete: bool = False
    """True if everything that sources can be expected to say on the task has been found."""
    reasoning: str = ""
    """What is known and what is missing, in one or two sentences."""
    key_elements: list[str] = Field(default_factory=list)
    """What the next search should focus on, a few words each."""
    open_next: list[str] = Field(default_factory=list)
    """Addresses among the results that are worth reading, copied exactly."""
    next_queries: list[str] = Field(default_factory=list)
    """The next searches: short queries of a few specific words, each about one thing."""

    def as_call(self, call_id: str) -> AIMessage:
        """Return a message in which the model calls the form's tool.

        The next search results answer that call.
        """
        args = self.model_dump(exclude_defaults=True)
        call = tool_call(name=tool_names.RECORD_ROUND, args=args, id=call_id)
        return AIMessage("", tool_calls=[call])


class NewKnowledge(NamedTuple):
    """Learnings and observations from one round of results."""

    learnings: dict[str, Learning]
    """Learnings by id."""
    memory: dict[str, Observation]
    """Closed gaps, and disputes, by key."""
    corrected: int
    """How many learnings named another source than the one that states them."""


class StepWork:
    """A step, and what models know and fill in on it, in a turn of a node."""

    def __init__(self, state: StepState, turn: AnyTurn, filler: Filler) -> None:
        """`filler` has models fill in the forms and records those that fail."""
        self.state = state
        self._turn = turn
        self._filler = filler

    @property
    def open_questions(self) -> list[Observation]:
        """The step's open questions: those from its task and those noticed, unless answered."""
        return self._memory.open_gaps()

    @property
    def _memory(self) -> ResearchMemory:
        """What is noted about the step: the gaps of its task, and its own observations."""
        return ResearchMemory([*self.state.task.gaps, *self.state.memory.values()])

    @property
    def knowledge(self) -> str:
        """What the step knows, for a prompt, as fenced JSON.

        It is the step, its learnings, sources, related observations and open questions.
        """
        task = self.state.task
        step = task.step
        limits = self._turn.context.limits
        groups = [list(self.state.learnings.values()), task.known]
        learnings = fitting_learnings(groups, step.task, limits.memory_tokens)
        gaps = [gap.text for gap in self.open_questions]
        return fenced_knowledge(
            title=step.title,
            task=step.task,
            learnings=as_learned(facts_of(learnings), self.state.numbers),
            sources=as_sources(task.rests_on, self.state.numbers),
            elements=as_elements(task.elements),
            gaps=gaps[: limits.max_elements],
            calculations=[answer_on(known) for known in self._calculations],
        )

    @property
    def _calculations(self) -> list[Calculation]:
        """The thread's calculations and the step's own."""
        return [*self.state.task.calculations, *self.state.calculations.values()]

    async def calculator(self) -> Calculator:
        """Return a calculator that knows the sources of the step by its own numbers."""
        state = self.state
        sources = {source.key: source for source in (*state.task.rests_on, *state.sources.values())}
        texts = await source_texts(sources, state.keys, self._turn.pages)
        known = dict[int, tuple[str, Known]]()
        for number, key in enumerate(state.keys, 1):
            about = sources[key].about
            known[number] = key, Known(texts[key], about)
        task = state.task
        return Calculator(known, task.question, self._calculations, task.step.task)

    @property
    def outcome(self) -> StepOutcome:
        """The step's outcome with its iterations, not yet evaluated."""
        return _outcome_of(self.state)

    async def ask_for_queries(self, heard: Sequence[AnyMessage]) -> RecordRound | None:
        """Have the model fill in `RecordRound` when all results have been studied, or before the
        first search: it gives only the next queries. None if that fails.

        `heard`: new messages of the user.
        """
        state = replace(self.state, has_results=False)
        return await StepWork(state, self._turn, self._filler).ask_round(heard)

    async def ask_round(self, heard: Sequence[AnyMessage] = ()) -> RecordRound | None:
        """Have the model fill in `RecordRound` on the step's latest results; None if that fails.

        Without results, the model fills in only the queries. `heard`: new messages of the user.
        """
        state = self.state
        task = state.task
        turn = self._turn
        filler = self._filler
        context = turn.context
        limits = context.limits
        notes = await turn.pages.fill_in(state.notes)
        said = [*documents_first(_opening(task), notes), *heard]
        listed = list[LearnedFact]()
        results = list[Result]()
        if state.has_results:
            # The extractive model reads only the results of this round.
            results = results_in(notes[-1:])
        if RoleModels(context).is_small("researcher"):
            if state.has_results:
                listed = await self._list_facts(said, notes)
            # The extractive model chooses the queries and adds facts from other sources.
            filler = filler.without_model("researcher")
        iteration = state.iteration
        if not state.has_results:
            iteration += 1
        gaps = self.open_questions[: limits.max_elements]
        filler = filler.with_facts(facts_of_step(state, results), task.shared_prefix)
        form = await filler.ask_if_possible(
            RecordRound,
            "researcher",
            "study",
            said,
            offered=turn.branch_tools,
            own_sources=context.own_sources,
            has_read_all=task.scope.reads_all,
            max_queries=limits.max_queries,
            documents="" if task.scope.reads_all else task.scope.documents,
            iteration=iteration,
            max_iterations=limits.max_step_iterations,
            has_results=state.has_results,
            gaps=fenced_knowledge(gaps=as_gaps(gaps)),
            doubtful=self._doubtful if state.has_results else "",
            calculated=fence("\n".join(state.calculated)) if state.calculated else "",
        )
        if not form or not listed:
            return form
        cited = {fact.document for fact in listed}
        others = [fact for fact in form.learnings if fact.document not in cited]
        return form.model_copy(update={"learnings": [*listed, *others[:_MOST_OTHERS]]})

    async def _list_facts(
        self, said: Sequence[AnyMessage], notes: Sequence[AnyMessage]
    ) -> list[LearnedFact]:
        """Have a small model list the facts in the results, one per line.

        Returns those whose source is known.
        """
        task = self.state.task
        context = self._turn.context
        system = render_prompt("_list_facts", "system", date=task.date)
        reminder = render_prompt(
            "write_finding",
            "reminder",
            task=task.step.task,
            language=task.language,
            is_small=True,
            again=False,
        )
        request = Request(
            "researcher",
            task.question_id,
            [SystemMessage(system), *said, HumanMessage(reminder)],
            shortener(task.step.task),
            max_tokens=context.limits.finding_tokens,
            is_long=True,
        )
        try:
            text = (await write_silently(request, context, self._turn.events)).text
        except DeepResearchError as error:
            self._filler.fail(failure_of(error))
            return []
        shown = known_in(notes)
        text = await asyncio.to_thread(ShownSources(shown).with_found_citations, text)
        facts = list[LearnedFact]()
        for line in text.split("\n"):
            cited = cited_numbers(line, shown)
            if cited:
                facts.append(LearnedFact(text=LINE_MARK.sub("", line), document=cited[0]))
        return facts

    def new_queries(self, form: RecordRound) -> tuple[str, ...]:
        """Return the first queries of a form that the step has not sent yet, ignoring case."""
        sent = set(map(str.casefold, self.state.queries))
        for iteration in self.state.iterations:
            sent.update(map(str.casefold, iteration.queries))
        given = dict.fromkeys(as_lines(form.next_queries))
        new = [query for query in given if query.casefold() not in sent]
        return tuple(new[: self._turn.context.limits.max_queries])

    def learned(self, form: RecordRound, shown: Mapping[int, Known]) -> NewKnowledge:
        """Return a form's new learnings, disputes and closed gaps.

        `shown` are the documents that the model was shown, by number; facts from others are
        dropped. Each fact is compared with its documents: if only another one states it, that one
        is its source.
        """
        state = self.state
        task = state.task
        keys = {number: state.keys[number - 1] for number in shown}
        facts = [fact for fact in form.learnings if fact.document in keys]
        sources_shown = ShownSources(_with_known(shown, state))
        learned = list[Learning]()
        corrected = 0
        for fact in facts:
            of_fact, wrong = _learned(fact, state, keys, sources_shown)
            learned += of_fact
            corrected += wrong
        memory = dict[str, Observation]()
        sources = dict[str, Source]()
        for source in (*task.rests_on, *state.sources.values()):
            sources[source.key] = source
        for dispute in read_disputes(form.contradictions, keys, sources):
            one_side, other_side = dispute.sides
            first = _learning(one_side.text, one_side.source, state)
            second = _learning(other_side.text, other_side.source, state)
            learned += (first, second)
            observed = Observation.of_dispute(
                dispute, (first, second), task.cycle, task.step.id, state.iteration
            )
            memory[observed.key] = observed
        # Close gaps only if something was learned.
        if facts:
            for gap in self._closed_gaps(form.answered_gaps):
                memory[gap.key] = gap
        return NewKnowledge(self._new_learnings(learned), memory, corrected)

    @property
    def _doubtful(self) -> str:
        """The learnings of the last iteration with results that are not proved, as fenced JSON;
        empty if there are none."""
        facts = [Fact((learning,)) for learning in self.state.doubtful]
        return fenced_knowledge(doubtful=as_learned(facts, self.state.numbers))

    def _closed_gaps(self, numbers: Iterable[int]) -> list[Observation]:
        """Return the open questions with these numbers, which count from 1, as closed gaps."""
        state = self.state
        task = state.task
        open_now = self.open_questions
        memory = self._memory
        closed = list[Observation]()
        for number in numbers:
            if 0 < number <= len(open_now):
                gap = open_now[number - 1]
                closed += memory.closing(gap, task.cycle, task.step.id, state.iteration)
        return closed

    def _new_learnings(self, learned: Iterable[Learning]) -> dict[str, Learning]:
        """Return the learnings that the step does not know yet, each once, by id."""
        state = self.state
        known = set[tuple[str, str]]()
        for learning in state.learnings.values():
            known.add((learning.source, _plain(learning.text)))
        for learning in state.task.known:
            # Learnings from earlier questions may be recorded again for this question.
            if learning.question_id == state.task.question_id:
                known.add((learning.source, _plain(learning.text)))
        new = dict[str, Learning]()
        for learning in learned:
            statement = (learning.source, _plain(learning.text))
            if learning.text and statement not in known:
                known.add(statement)
                new[learning.id] = learning
        return new

    def observed(
        self, form: Judged, rests_on: Iterable[str], confidence: float
    ) -> dict[str, Observation]:
        """Return a form's gaps and insights by key.

        Insights are left out unless there are learnings (ids `rests_on`) with enough confidence.
        """
        state = self.state
        observations = list[Observation]()
        learnings = tuple(sorted(rests_on))
        if learnings and is_confident(confidence):
            for rank, text in enumerate(as_lines([*form.insights])):
                # Its calculations have no numbers in the thread yet.
                plain, _ = with_calculations(text, {})
                observations.append(
                    state.observation("insight", plain, _INSIGHT_CONFIDENCE, learnings, rank)
                )
        for rank, gap in enumerate(form.gaps):
            for text in as_lines([gap.question]):
                observations.append(state.observation("gap", text, gap.relevance, rank=rank))
        return {observation.key: observation for observation in observations}


class StepTurn(BranchTurn[SilentEvents]):
    """A turn of a node within a step."""

    def __init__(self, state: StepState, runtime: Runtime[Context]) -> None:
        super().__init__(state.task, state.seconds, state.turn, runtime, SilentEvents)
        self.filler = Filler(
            self.context, state.task, self.events, self.tab, lambda: facts_of_step(state)
        )
        self.work = StepWork(state, self, self.filler)
        """The step, and what models know and fill in on it."""

    def hear(self, sent: Sent) -> list[AnyMessage]:
        """Return what the user has sent since the model of the step was last asked, as it reads
        it; these messages belong into the update of the node."""
        return self._heard(sent, self.work.state.notes)

    async def in_time(self, work: Coroutine[Any, Any, Value]) -> Value | Failed:
        """Await the work within the step's remaining time.

        Return its result or failure (see `attempt`).
        """
        result = await self.attempt(work, self._task.seconds - self.seconds)
        if not isinstance(result, Failed):
            return result
        if result.is_late:
            return result._replace(reason=PLAN_TIME_OVER)
        # For example, a store that cannot record the costs of the calls.
        self.filler.fail(result.reason)
        return result


def _opening(task: StepTask) -> list[AnyMessage]:
    """Return the first messages of a step: its task, and its initial knowledge if there is any."""
    keys = dict.fromkeys(learning.source for learning in task.known if learning.source)
    numbers = {key: number for number, key in enumerate(keys, 1)}
    knowledge = fenced_knowledge(
        fence_name=short_hash(task.question_id, task.id)[:8],
        learnings=as_learned(facts_of(task.known), numbers),
        elements=as_elements(task.elements),
    )
    return [HumanMessage(text) for text in (task.step.task, knowledge) if text]


def _learned(
    fact: LearnedFact, state: StepState, keys: Mapping[int, str], shown: ShownSources
) -> tuple[list[Learning], int]:
    """Return the fact as learnings: first for its document, then for each other that states it; and
    how many of these documents do not state it while a single other one does.

    `keys`: source keys by the numbers of the documents that the model was shown.
    """
    text = without_markers(fact.text)
    named = [number for number in dict.fromkeys([fact.document, *fact.also]) if number in keys]
    by_source = dict[str, Learning]()
    corrected = 0
    for number in named:
        found = shown.attribution(text, number)
        right = next((other for other in named if other in found.stated_by), found.right)
        unproved = found.lacking
        if right is not None:
            corrected += 1
            number = right
            unproved = ()
        learning = _learning(text, keys[number], state)
        by_source[learning.source] = learning.model_copy(update={"unproved": unproved})
    return list(by_source.values()), corrected


def _with_known(shown: Mapping[int, Known], state: StepState) -> dict[int, Known]:
    """Return the documents that a model was shown, with the learnings that it was given of them."""
    with_known = dict(shown)
    numbers = state.numbers
    for learning in state.task.known:
        number = numbers.get(learning.source, 0)
        if number in shown:
            known = with_known[number]
            texts = (*known.texts, SourceText("", learning.text))
            with_known[number] = known._replace(texts=texts)
    return with_known


def _learning(text: str, source: str, state: StepState) -> Learning:
    task = state.task
    return Learning(text=text, source=source, step=task.step.id, question_id=task.question_id)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def finding_of(state: StepState, failures: Sequence[str], seconds: float) -> Finding:
    """Return the step's finding, one fact per line.

    It has failed if nothing was learned and there are `failures`.
    """
    numbers = state.numbers
    lines = list[str]()
    for fact in facts_of(state.learnings.values()):
        markers = [f"[{numbers[key]}]" for key in fact.sources]
        lines.append(" ".join([fact.text, *markers]) + fact.remark)
    ended = state.ended
    reason = state.reason
    if not lines and (failures or ended == "partial"):
        ended = "failed"
        reason = reason or failures[-1]
    if ended != "done":
        log_early_end(f"Step {state.task.step.id} of the plan", reason or ended)
    return Finding(
        **state.task.assignment,
        text="\n".join(lines) or _NOTHING,
        sources=tuple(state.keys),
        ended=ended,
        reason=reason,
        failures=tuple(failures),
        seconds=seconds,
        actions=tuple(state.actions),
        corrected_markers=state.corrected,
        calculations=tuple(state.calculations.values()),
    )


def _outcome_of(state: StepState) -> StepOutcome:
    """Return the step's outcome with its iterations, not yet evaluated."""
    return StepOutcome(step=state.task.step.id, iterations=tuple(state.iterations))


def gap_left_by(state: StepState, finding: Finding) -> dict[str, Observation]:
    """Return the task of an incomplete step as a gap, by key.

    Empty if the step failed, or its model named an open gap. A step that found only known facts is
    complete. `cross_check` closes the gap if other steps have answered it.
    """
    if finding.ended == "failed":
        return {}
    verdict = _outcome_of(state).verdict
    is_complete = bool(state.learnings)
    if verdict is not None:
        is_complete = verdict.is_complete
    if is_complete and (state.learnings or state.task.known):
        return {}
    if any(noted.kind == "gap" and noted.is_open for noted in state.memory.values()):
        return {}
    gap = state.observation("gap", state.task.step.task, 1.0)
    return {gap.key: gap}


def close_step(
    state: StepState,
    failures: Sequence[str],
    seconds: float,
    emitter: Emitter,
    outcome: StepOutcome | None = None,
) -> BranchUpdate:
    """End the step: emit its last packets, and return its finding, its outcome, and the gap that it
    leaves.

    `seconds`: active time of the step. `outcome`: as evaluated, if it was.
    """
    finding = finding_of(state, failures, seconds)
    emit_end(emitter, finding, state.task)
    outcome = outcome or _outcome_of(state)
    return BranchUpdate(
        findings={finding.id: finding},
        outcomes={outcome.step: outcome},
        memory=gap_left_by(state, finding),
    )


def ended_step(step: PlanStep, finding: Finding) -> PlanStep:
    """Return the step with its final status."""
    status = "failed" if finding.ended == "failed" else "completed"
    return step.model_copy(update={"status": status, "reason": finding.reason})


def emit_end(emitter: Emitter, finding: Finding, task: StepTask) -> None:
    """Emit the packets that end the step."""
    packets = StepPackets(Placement.of(task))
    emitter.emit(*packets.end(ended_step(task.step, finding)))
