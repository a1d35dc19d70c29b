"""The typed plan (a list of `PlanStep`), the task of a step, and the results of steps: learnings,
observations, verdicts."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

from pydantic_core import to_json
from typing_extensions import override

from .research import Calculation, Task
from .sources import Dispute, Record, Source, short_hash

StepStatus = Literal["pending", "in_progress", "completed", "failed", "skipped"]
StepKind = Literal["independent", "hybrid", "dependent"]
ObservationKind = Literal["insight", "gap", "contradiction"]

FINAL_CHECK = "final-validation"
"""Used instead of a step's id in observations of `cross_check`, which compares all learnings after
the last step."""


NOTHING_TO_THINK_OVER = "nothing was learned that it could think over"
"""Reason for skipping an analysis, worded for the reader."""
PLAN_TIME_OVER = "the time of the plan was over (max_seconds_planned)"
"""Reason for ending a step early, worded for the reader."""


class PlanStep(Record):
    """One step of a typed plan."""

    id: str
    """Its number, from 1; a follow-up appends a number to its parent's: `2.1`."""
    title: str
    """Title in a few words."""
    description: str = ""
    """Purpose of the step."""
    task: str
    """What to find out, self-contained."""
    requires_search: bool
    """Whether it searches; otherwise it only reasons over earlier results."""
    depends_on: tuple[str, ...] = ()
    """Ids of the steps whose results it builds on."""
    parent: str = ""
    """Id of the step that it follows up; empty for a step of the original plan."""
    depth: int = 0
    """0 for a step of the original plan, 1 for its follow-up, 2 for a follow-up of that one, and so
    on."""
    status: StepStatus = "pending"
    turn: int = 0
    """`turn_index` of its packets; 0 until it starts."""
    position: int = 0
    """`tab_index` of its packets."""
    reason: str = ""
    """Why it failed, was skipped, or stopped early."""

    @property
    def kind(self) -> StepKind:
        """`independent`: a search; `hybrid`: a search that builds on other steps; `dependent`:
        reasoning only."""
        if not self.requires_search:
            return "dependent"
        return "hybrid" if self.depends_on else "independent"

    @property
    def is_over(self) -> bool:
        """Whether it has finished, failed or been skipped."""
        return self.status in ("completed", "failed", "skipped")


class Learning(Record):
    """One fact learned in a step."""

    text: str
    """The fact, self-contained."""
    source: str = ""
    """Key of the source that states it; empty if an analysis step concluded it."""
    step: str
    """Id of the step or task that learned it."""
    question_id: str
    unproved: tuple[str, ...] = ()
    """Figures and names in it that the source lacks, as far as it was shown."""

    @property
    def id(self) -> str:
        """`HASH-QUESTION`: 16 hex digits for text, source and step, and the first 8 characters of
        `question_id`.

        If a run is repeated, its learnings get the same hashes, and sort in the same order.
        """
        return f"{short_hash(self.step, self.source, self.text)}-{self.question_id[:8]}"


class Fact(NamedTuple):
    """Learnings that state the same fact."""

    learnings: tuple[Learning, ...]

    @property
    def text(self) -> str:
        """The text of the first learning."""
        return self.learnings[0].text

    @property
    def sources(self) -> tuple[str, ...]:
        """Distinct keys of the sources that state it, or else of those that are named for it; empty
        if an analysis step concluded it."""
        named = [learning for learning in self.learnings if learning.source]
        proved = [learning for learning in named if not learning.unproved]
        return tuple(dict.fromkeys(learning.source for learning in proved or named))

    @property
    def unproved(self) -> tuple[str, ...]:
        """Figures and names in it that its sources lack; empty if one of them has all."""
        unproved = dict[str, None]()
        for learning in self.learnings:
            if not learning.unproved:
                return ()
            unproved |= dict.fromkeys(learning.unproved)
        return tuple(unproved)

    @property
    def remark(self) -> str:
        """What its sources lack, to be put behind their numbers; empty if one of them has all."""
        if not self.unproved:
            return ""
        return f" (worked out or misread: its source lacks {', '.join(self.unproved)})"


class Observation(Record):
    """An insight, gap or contradiction in the learnings; never changed or deleted, only superseded
    by later ones."""

    kind: ObservationKind
    text: str = ""
    """The insight or the open question; empty for a contradiction."""
    dispute: Dispute | None = None
    """The contradiction; None for an insight or a gap."""
    question_id: str
    round: int = 0
    """Research round in which it was noticed, from 0."""
    step: str = ""
    """Id of the step or task that noticed it, or `FINAL_CHECK`; empty for what the orchestrator
    declared."""
    iteration: int = 0
    """Iteration of the step, from 1."""
    is_open: bool = True
    """Whether this observation opens a gap or finds a contradiction (True), or closes or dismisses
    it."""
    score: float = 0.0
    """Confidence of an insight, relevance of a gap as its model judged it, from 0 to 1."""
    rank: int = 0
    """Position among the insights or gaps that the model named with it, the most important first,
    from 0."""
    learnings: tuple[str, ...] = ()
    """Ids of the learnings that it is based on; for a contradiction, one per claim."""

    @classmethod
    def of_dispute(
        cls,
        dispute: Dispute,
        learnings: tuple[Learning, Learning],
        round: int,
        step: str,
        iteration: int = 0,
    ) -> Self:
        """Return the observation of a dispute; `learnings` state its claims, in the same order."""
        first, second = learnings
        return cls(
            kind="contradiction",
            dispute=dispute,
            question_id=first.question_id,
            round=round,
            step=step,
            iteration=iteration,
            learnings=(first.id, second.id),
        )

    @classmethod
    def of_gap(cls, text: str, question_id: str, round: int, step: str, rank: int = 0) -> Self:
        """Return the observation that opens a gap; `rank` is its position among those named with
        it."""
        return cls(
            kind="gap",
            text=text,
            question_id=question_id,
            round=round,
            step=step,
            score=1.0,
            rank=rank,
        )

    @property
    def claims(self) -> tuple[str, str]:
        """The two claims of a contradiction; for an insight or a gap, its text and an empty
        text."""
        return self.dispute.claims if self.dispute else (self.text, "")

    @property
    def key(self) -> str:
        """`HASH-QUESTION`, like `Learning.id`; the 16 hex digits are for what was noticed, when,
        and from what.

        What is known of the sources of a dispute does not count: it may change between two runs of
        a node.
        """
        text, other = self.claims
        stamp = self.model_dump(include={"round", "step", "iteration", "is_open", "score"})
        # Stored runs have these keys, so the hashed names stay as they are.
        noticed = to_json({"kind": self.kind, "text": text, "other": other, **stamp}).decode()
        learnings = [key.split("-")[0] for key in self.learnings]
        return f"{short_hash(noticed, *learnings)}-{self.question_id[:8]}"

    @property
    def order(self) -> tuple[int, int, tuple[tuple[int, str], ...], str]:
        """Key by which observations are sorted: by round; within a round, what each step or task
        named first comes first."""
        return self.round, self.rank, self.step_order, self.key

    @property
    def step_order(self) -> tuple[tuple[int, str], ...]:
        """Key by which steps are sorted: 2.10 comes after 2.9."""
        return tuple((len(part), part) for part in self.step.split("."))


class Element(Record):
    """A result of earlier steps, other than a learning, that is given to a step as input."""

    content: str
    """Its text."""
    source: str
    """Id of the earlier step."""
    kind: Literal["insight", "contradiction", "reasoning"]
    """An observation's kind, or `reasoning`: text of a verdict on the earlier step."""


class Verdict(Record):
    """A model's verdict on whether the results of a round of queries complete the step."""

    query: str
    """The queries of the round, separated by commas."""
    is_complete: bool
    """Whether the step's task is answered, so that no further query is needed."""
    reasoning: str = ""
    """The model's reason."""
    key_elements: tuple[str, ...] = ()
    """What the next search should look for."""


class Iteration(Record):
    """One round of queries in a search step, or the single thought of an analysis step."""

    number: int
    """Iteration number, from 1."""
    queries: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    """Ids of the learnings gained in this round."""
    confidence: float = 0.0
    """Confidence in the step's results so far, from 0 to 1; see
    `evidence.memory.learned.confidence`."""
    at: str = ""
    """When the confidence was computed (ISO 8601)."""
    verdicts: tuple[Verdict, ...] = ()
    """The verdict on the results of the round; empty if there were none, and in an analysis
    step."""


class Suggestion(Record):
    """A follow-up step that an evaluation suggests."""

    title: str
    """Title in a few words; may be empty."""
    task: str
    """What to find out; may be empty."""
    requires_search: bool
    """Whether it should search."""


class StepOutcome(Record):
    """The outcome of a step, without its learnings."""

    step: str
    """Id of the step."""
    iterations: tuple[Iteration, ...] = ()
    completeness: float | None = None
    """Share of the task that was answered, from 0 to 1; None if not evaluated."""
    quality: float | None = None
    """Quality of the results, from 0 to 1; None if not evaluated."""
    follow_up: Suggestion | None = None
    """The follow-up step that it needs; None if it needs none."""
    missing: tuple[str, ...] = ()
    """As in `Judgement`."""

    @property
    def verdict(self) -> Verdict | None:
        """The last verdict; None if there is none."""
        last = None
        for iteration in self.iterations:
            for verdict in iteration.verdicts:
                last = verdict
        return last

    @property
    def is_complete(self) -> bool:
        """Whether the last verdict says that nothing is missing."""
        return self.verdict is not None and self.verdict.is_complete

    @property
    def confidence(self) -> float:
        """Confidence of the last iteration; 0 if there is none."""
        return self.iterations[-1].confidence if self.iterations else 0.0


class StepTask(Task):
    """The complete input of a step: its task, and what was known when it was dispatched."""

    question: str
    """The user's question; with the placement, it determines the texts of status messages
    (`activity`)."""
    step: PlanStep
    known: tuple[Learning, ...] = ()
    """Learnings of the steps that this one depends on, and relevant ones of others."""
    elements: tuple[Element, ...] = ()
    """Other relevant results of earlier steps."""
    rests_on: tuple[Source, ...] = ()
    """Sources of the learnings in `known`."""
    gaps: tuple[Observation, ...] = ()
    """Open gaps that are relevant to the task."""
    calculations: tuple[Calculation, ...] = ()
    """What was calculated for the thread."""
    slots: int = 1
    """Number of steps dispatched with it that may run at the same time."""

    @property
    @override
    def assignment(self) -> dict[str, Any]:
        return {**super().assignment, "step": self.step.id}


class Judgement(Record):
    """A model's evaluation of a step."""

    completeness: float
    """Share of the task that is answered, 0 to 1."""
    quality: float
    """Quality of the results, 0 to 1."""
    suggestions: tuple[Suggestion, ...] = ()
    """Further steps that would help."""
    missing: tuple[str, ...] = ()
    """Facts that an analysis needs and nobody has found yet, a sentence each."""
