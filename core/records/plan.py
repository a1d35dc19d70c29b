"""What a typed plan is made of, and what its steps bring: learnings, observations, verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from .sources import Record, short_hash

StepStatus = Literal["pending", "in_progress", "completed", "failed", "skipped"]
StepKind = Literal["independent", "hybrid", "dependent"]
ObservationKind = Literal["insight", "gap", "contradiction"]


FINAL_CHECK = "final-validation"
"""Stands for a step in what the last look at all that was learned has noticed."""


class PlanStep(Record):
    """One step of a typed plan."""

    id: str
    """Its number, from 1; that of a follow-up step is its parent's with a number behind it: `2.1`."""
    title: str
    """A few words."""
    description: str = ""
    """What the step is for."""
    task: str
    """What is to be found out, as it can be understood alone."""
    requires_search: bool
    """Whether it searches; otherwise it thinks over what was found."""
    depends_on: tuple[str, ...] = ()
    """Ids of the steps whose results it builds on."""
    parent: str = ""
    """Id of the step that it follows up; empty for a step of the plan itself."""
    depth: int = 0
    """Follow-ups between it and a step of the plan itself."""
    status: StepStatus = "pending"
    """Where it stands."""
    turn: int = 0
    """Turn index of its packets, once it was begun."""
    position: int = 0
    """Tab index of its packets."""
    reason: str = ""
    """Why it failed, was skipped, or ended early."""

    @property
    def kind(self) -> StepKind:
        """`independent`: a search by itself; `hybrid`: one that builds on others; `dependent`: thought alone."""
        if not self.requires_search:
            return "dependent"
        return "hybrid" if self.depends_on else "independent"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be done for it."""
        return self.status in ("completed", "failed", "skipped")


class Learning(Record):
    """One fact that a step has learned."""

    text: str
    """The fact, in words that can be understood alone."""
    source: str = ""
    """Key of the source that says so; empty: a thought, which is no source."""
    step: str
    """Id of the step, or of the task."""
    question_id: str
    """The question that it serves."""

    @property
    def id(self) -> str:
        """Hash of what it says, who says so and what for (16 hex digits), then the beginning of the question's id.

        The same learning of a repeated run has the same hash, so that what goes by ids has the same order.
        """
        return f"{short_hash(self.step, self.source, self.text)}-{self.question_id[:8]}"


class Fact(NamedTuple):
    """Learnings in the same words."""

    learnings: tuple[Learning, ...]
    """The learnings, in order."""

    @property
    def text(self) -> str:
        """What they say."""
        return self.learnings[0].text

    @property
    def sources(self) -> tuple[str, ...]:
        """Keys of the sources that say so; none for a thought."""
        return tuple(dict.fromkeys(one.source for one in self.learnings if one.source))


class Observation(Record):
    """Something that was noticed about what was learned; it is never changed or taken back, only followed by others."""

    kind: ObservationKind
    """What was noticed."""
    text: str
    """The insight; what is not known; or the first of two claims that cannot both hold."""
    other: str = ""
    """The second claim of a contradiction."""
    question_id: str
    """The question that it serves."""
    round: int = 0
    """Round of research in which it was noticed, from 0."""
    step: str = ""
    """Step that noticed it."""
    iteration: int = 0
    """Iteration of the step, from 1."""
    is_open: bool = True
    """Of a gap: whether it is open from here on, or answered."""
    score: float = 0.0
    """Confidence of an insight, relevance of a gap, from 0 to 1."""
    learnings: tuple[str, ...] = ()
    """Ids of the learnings that it rests on; of a contradiction, one for each claim."""

    @property
    def key(self) -> str:
        """Hash of all that it says (16 hex digits), then the beginning of the question's id; see `Learning.id`."""
        said = self.model_dump_json(exclude={"question_id", "learnings"})
        return f"{short_hash(said, *(key.split('-')[0] for key in self.learnings))}-{self.question_id[:8]}"


class Element(Record):
    """A piece of what is known, as it is given to a step."""

    content: str
    """The words."""
    relevance: float
    """How much it bears on the step's task, from 0 to 1."""
    source: str
    """Id of the step that it comes from."""
    kind: Literal["insight", "contradiction", "reasoning"]
    """What it is."""


class Verdict(Record):
    """Whether what a query brought completes its step."""

    query: str
    """The query whose results were looked at."""
    is_complete: bool
    """Whether nothing is missing any more."""
    reasoning: str = ""
    """Why."""
    key_elements: tuple[str, ...] = ()
    """What the decision hangs on."""


class Iteration(Record):
    """One round of queries of a search step, or the one thought of an analysis."""

    number: int
    """From 1."""
    queries: tuple[str, ...] = ()
    """What was searched for."""
    learnings: tuple[str, ...] = ()
    """Ids of what was learned."""
    confidence: float = 0.0
    """How sure the step's results are by now, from 0 to 1; see `evidence.confidence`."""
    at: str = ""
    """When that was known (ISO 8601)."""
    verdicts: tuple[Verdict, ...] = ()
    """What was thought of it, a verdict for each query that brought something, up to the first that says complete."""


class Suggestion(Record):
    """A further step that an evaluation suggests."""

    title: str
    """A few words; may be missing."""
    task: str
    """What should be found out; may be missing."""
    requires_search: bool
    """Whether it should search."""


class StepOutcome(Record):
    """What a step came to, beside what it has learned."""

    step: str
    """Id of the step."""
    iterations: tuple[Iteration, ...] = ()
    """What it did, in order."""
    completeness: float | None = None
    """How much of what the step was to find is there, from 0 to 1; none: not evaluated."""
    quality: float | None = None
    """How good that is, from 0 to 1."""
    follow_up: Suggestion | None = None
    """The further step that has to be made."""

    @property
    def verdict(self) -> Verdict | None:
        """The last one; none if none was given."""
        return last_verdict(self.iterations)

    @property
    def is_complete(self) -> bool:
        """Whether it says that nothing is missing."""
        return self.verdict is not None and self.verdict.is_complete

    @property
    def confidence(self) -> float:
        """That of the last iteration; 0 if there was none."""
        return self.iterations[-1].confidence if self.iterations else 0.0


def last_verdict(iterations: Iterable[Iteration]) -> Verdict | None:
    """Return the latest verdict of some iterations; none if none was given."""
    verdicts = [verdict for iteration in iterations for verdict in iteration.verdicts]
    return verdicts[-1] if verdicts else None
