"""The questions of a set, with what is known of their answers: one JSON object a line."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from deep_research.evaluation.mistakes import Mistake, first_fault

GROUPINGS = ("source", "hops", "kind")
"""Fields of a line by which the summary tells groups apart."""


def _relative(path: str) -> str:
    return PurePosixPath(path.replace("\\", "/")).as_posix()


DocumentPath = Annotated[str, AfterValidator(_relative)]


class Question(BaseModel):
    """One question; what is known of its answer may be missing, and other fields of the line are ignored."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, coerce_numbers_to_str=True)

    id: str = Field(min_length=1)
    """Its name in the results."""
    question: str = Field(min_length=1)
    """Its words."""
    answers: tuple[str, ...] = ()
    """Accepted answers; any of them counts."""
    gold_docs: tuple[DocumentPath, ...] = ()
    """Documents that are needed for the answer, relative to the corpus."""
    answer_docs: tuple[DocumentPath, ...] = ()
    """Those of them that state the answer; all of them if empty."""
    answerable: bool | None = None
    """Whether the documents answer it; none: that follows from what else is known."""
    source: str = ""
    hops: str = ""
    kind: str = ""

    @property
    def is_answerable(self) -> bool | None:
        """Whether the documents answer it; none if nobody says so."""
        if self.answerable is None and (self.answers or self.gold_docs):
            return True
        return self.answerable

    @property
    def groups(self) -> dict[str, str]:
        """The groups that it belongs to, by the field that says so."""
        return {name: value for name in GROUPINGS if (value := getattr(self, name))}


def read_questions(file: Path, unanswerable: Path | None) -> list[Question]:
    """The questions of both files in their order; those of the second are not answered by the documents.

    Raises `Mistake` with the option and the line.
    """
    lines = _lines(file, "--questions", {})
    if unanswerable:
        lines += _lines(unanswerable, "--unanswerable", {"answerable": False})
    places: dict[str, str] = {}
    for place, question in lines:
        if question.id in places:
            raise Mistake(f"{place}: the id {question.id!r} stands in {places[question.id]} already; ids differ.")
        places[question.id] = place
    return [question for _, question in lines]


class Sample(NamedTuple):
    """Which of the questions are asked."""

    share: float = 1.0
    """A random share of them, more than 0;"""
    seed: int = 0
    """the same for the same seed;"""
    is_rest: bool = False
    """or those which that leaves out;"""
    limit: int | None = None
    """and of these the first ones."""


def choose(questions: Sequence[Question], sample: Sample) -> list[Question]:
    """The questions of a sample, in their order; one at least.

    Raises `Mistake` where the share is all of them and its rest is wanted.
    """
    count = max(1, round(len(questions) * sample.share))
    # S311: this hides nothing, it has to be repeatable.
    chosen = set(random.Random(sample.seed).sample(range(len(questions)), count))  # noqa: S311
    found = [one for place, one in enumerate(questions) if (place in chosen) is not sample.is_rest][: sample.limit]
    if not found:
        raise Mistake("--rest leaves no question: give --sample a smaller share.")
    return found


def _lines(file: Path, option: str, given: dict[str, Any]) -> list[tuple[str, Question]]:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        words = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise Mistake(f"{option} {file}: the file cannot be read: {words}.") from error
    # JSON allows characters inside a text that `splitlines` takes for the end of a line.
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not numbered:
        raise Mistake(f'{option} {file}: there is no question in it; a line is {{"id": "1", "question": "…"}}.')
    places = [(f"{option} {file}, line {number}", line) for number, line in numbered]
    return [(place, _question(place, line, given)) for place, line in places]


def _question(place: str, line: str, given: dict[str, Any]) -> Question:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Mistake(f"{place}: this is no JSON ({error}).") from error
    if not isinstance(data, dict):
        raise Mistake(f"{place}: this is no JSON object with `id` and `question`.")
    try:
        return Question.model_validate(data | given)
    except ValidationError as error:
        raise Mistake(f"{place}: {first_fault(error)}.") from error
