"""The questions of a set with their known answers."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError

GROUPINGS = ("source", "hops", "kind")
"""Fields of a question by which the summary is grouped."""


class Question(BaseModel):
    """A question; fields about its answer are optional, other fields of the line are ignored."""

    model_config = ConfigDict(
        frozen=True, use_attribute_docstrings=True, coerce_numbers_to_str=True
    )

    id: str = Field(min_length=1)
    """Name in the results."""
    question: str = Field(min_length=1)
    """Text of the question."""
    answers: tuple[str, ...] = ()
    """Accepted answers; any of them counts."""
    gold_docs: tuple[str, ...] = ()
    """Documents needed for the answer, as paths relative to the corpus."""
    answer_docs: tuple[str, ...] = ()
    """Those of them that state the answer; all of them if empty."""
    answerable: bool | None = None
    """Whether the documents answer it; none to infer it from the other fields."""
    source: str = ""
    hops: str = ""
    kind: str = ""

    @property
    def is_answerable(self) -> bool | None:
        """Whether the documents answer it; none if unknown."""
        if self.answerable is None and (self.answers or self.gold_docs):
            return True
        return self.answerable

    @property
    def groups(self) -> dict[str, str]:
        """Its groups by field."""
        return {name: value for name in GROUPINGS if (value := getattr(self, name))}


def first_fault(error: ValidationError) -> str:
    """Return the first invalid field with its error."""
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


def read_questions(file: Path, unanswerable: Path | None) -> list[Question]:
    """Return the questions of both files; the documents do not answer those of the second.

    Raises `UsageError` with the option and the line.
    """
    lines = _read_lines(file, "--questions")
    if unanswerable:
        second = _read_lines(unanswerable, "--unanswerable")
        lines += [
            (location, question.model_copy(update={"answerable": False}))
            for location, question in second
        ]
    locations: dict[str, str] = {}
    for location, question in lines:
        if question.id in locations:
            raise click.UsageError(
                f"{location}: the id {question.id!r} is already used in {locations[question.id]}."
            )
        locations[question.id] = location
    return [question for _, question in lines]


def _read_lines(file: Path, option: str) -> list[tuple[str, Question]]:
    """Return the questions of a file, each with its location for messages."""
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{option} {file}: the file is not UTF-8 text.") from error
    # `splitlines` would also split at characters that JSON allows inside strings.
    lines = [
        (f"{option} {file}, line {number}", line) for number, line in enumerate(text.split("\n"), 1)
    ]
    found = [(location, _read_question(location, line)) for location, line in lines if line.strip()]
    if not found:
        raise click.UsageError(
            f'{option} {file}: there is no question in it, as {{"id": "1", "question": "…"}}.'
        )
    return found


def _read_question(location: str, line: str) -> Question:
    try:
        return Question.model_validate(json.loads(line))
    except ValidationError as error:
        raise click.UsageError(f"{location}: {first_fault(error)}.") from error
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{location}: this is not JSON ({error}).") from error


def sample(questions: Sequence[Question], share: float, seed: int) -> list[Question]:
    """Return a random share of the questions, at least one, in order; the seed determines it."""
    count = max(1, round(len(questions) * share))
    # S311: not for secrecy; it has to be repeatable.
    chosen = sorted(random.Random(seed).sample(range(len(questions)), count))  # noqa: S311
    return [questions[location] for location in chosen]


def missing_documents(questions: Sequence[Question], corpus: Path) -> dict[str, str]:
    """Return the documents that are missing in the corpus, each with the id of a question that
    needs it."""
    named = {
        path: question.id
        for question in questions
        for path in (*question.gold_docs, *question.answer_docs)
    }
    return {path: key for path, key in named.items() if not (corpus / path).is_file()}


def without_documents(question: Question, missing: set[str]) -> Question:
    """Return the question without gold documents if one of them is missing, as no report can cite
    it."""
    if missing.isdisjoint((*question.gold_docs, *question.answer_docs)):
        return question
    # `is_answerable` was inferred from the gold documents, which are removed.
    known = {"answerable": question.is_answerable, "gold_docs": (), "answer_docs": ()}
    return question.model_copy(update=known)
