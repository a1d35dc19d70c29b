"""The questions of a set, with what is known of their answers."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError

GROUPINGS = ("source", "hops", "kind")
"""Fields of a question by which the summary tells groups apart."""


class Question(BaseModel):
    """One question; what is known of its answer may be missing, and other fields of the line are ignored."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, coerce_numbers_to_str=True)

    id: str = Field(min_length=1)
    """Its name in the results."""
    question: str = Field(min_length=1)
    """Its words."""
    answers: tuple[str, ...] = ()
    """Accepted answers; any of them counts."""
    gold_docs: tuple[str, ...] = ()
    """Documents that are needed for the answer, as paths relative to the corpus."""
    answer_docs: tuple[str, ...] = ()
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


def first_fault(error: ValidationError) -> str:
    """Return the first field that is wrong, and what is wrong with it."""
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


def read_questions(file: Path, unanswerable: Path | None) -> list[Question]:
    """Return the questions of both files in their order; those of the second are not answered by the documents.

    Raises `UsageError` with the option and the line.
    """
    lines = _read_lines(file, "--questions")
    if unanswerable:
        second = _read_lines(unanswerable, "--unanswerable")
        lines += [(place, question.model_copy(update={"answerable": False})) for place, question in second]
    places: dict[str, str] = {}
    for place, question in lines:
        if question.id in places:
            raise click.UsageError(f"{place}: the id {question.id!r} stands in {places[question.id]} already.")
        places[question.id] = place
    return [question for _, question in lines]


def _read_lines(file: Path, option: str) -> list[tuple[str, Question]]:
    """Return the questions of a file, each with its place for messages."""
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{option} {file}: the file is not UTF-8 text.") from error
    # JSON allows characters inside a text that `splitlines` takes for the end of a line.
    lines = [(f"{option} {file}, line {number}", line) for number, line in enumerate(text.split("\n"), 1)]
    found = [(place, _read_question(place, line)) for place, line in lines if line.strip()]
    if not found:
        raise click.UsageError(f'{option} {file}: there is no question in it, as {{"id": "1", "question": "…"}}.')
    return found


def _read_question(place: str, line: str) -> Question:
    try:
        return Question.model_validate(json.loads(line))
    except ValidationError as error:
        raise click.UsageError(f"{place}: {first_fault(error)}.") from error
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{place}: this is not JSON ({error}).") from error


def sample(questions: Sequence[Question], share: float, seed: int) -> list[Question]:
    """Return a random share of the questions in their order, one at least; the same for the same seed."""
    count = max(1, round(len(questions) * share))
    # S311: this hides nothing, it has to be repeatable.
    chosen = sorted(random.Random(seed).sample(range(len(questions)), count))  # noqa: S311
    return [questions[place] for place in chosen]


def missing_documents(questions: Sequence[Question], corpus: Path) -> dict[str, str]:
    """Return the documents that questions name and the corpus lacks, each with the id of a question that names it."""
    named = {path: one.id for one in questions for path in (*one.gold_docs, *one.answer_docs)}
    return {path: key for path, key in named.items() if not (corpus / path).is_file()}


def without_documents(question: Question, missing: set[str]) -> Question:
    """Return the question without its gold documents if one of them is missing: no report can cite that."""
    if missing.isdisjoint((*question.gold_docs, *question.answer_docs)):
        return question
    # Whether it is answerable follows from what is named, which goes.
    known = {"answerable": question.is_answerable, "gold_docs": (), "answer_docs": ()}
    return question.model_copy(update=known)
