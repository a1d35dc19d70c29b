"""The questions of a set, with what is known of their answers, and the documents that they name."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

import click
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError


class Mistake(click.ClickException):
    """An option, or what it names, has to change; its text is one line that names the option."""

    exit_code = 2


def first_fault(error: ValidationError) -> str:
    """The first field that is wrong, and what is wrong with it."""
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


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


class Named(NamedTuple):
    """A document as a question names it."""

    path: str
    question: str
    """Id of a question that names it."""


class Gold(NamedTuple):
    """What was found."""

    questions: Sequence[Question]
    """The questions with the paths of their documents; without them where one is not there."""
    named: int
    """Documents that are named."""
    found_below: Mapping[str, str]
    """Where those are that were named without their folder."""
    missing: Sequence[Named]
    """Those that are not in the corpus, so that no report can cite them."""
    unmeasured: int
    """Questions that name one of these."""


def find_gold(questions: Sequence[Question], corpus: Path) -> Gold:
    """Look for the documents that are named: by their paths, else by the end of the path if only one file has it."""
    named = {path: one.id for one in questions for path in _named(one)}
    elsewhere = [path for path in named if not (corpus / path).is_file()]
    found = _found_below(elsewhere, corpus) if elsewhere else {}
    missing = [Named(path, named[path]) for path in elsewhere if path not in found]
    lost = {one.path for one in missing}
    settled = [_settled(one, found, lost) for one in questions]
    unmeasured = sum(not lost.isdisjoint(_named(one)) for one in questions)
    return Gold(settled, len(named), found, missing, unmeasured)


def _named(question: Question) -> tuple[str, ...]:
    return (*question.gold_docs, *question.answer_docs)


def _found_below(paths: Sequence[str], corpus: Path) -> dict[str, str]:
    below = defaultdict[str, list[str]](list)
    for file in corpus.rglob("*"):
        parts = file.relative_to(corpus).parts
        # What is hidden is not searched.
        if not any(part.startswith(".") for part in parts) and file.is_file():
            below[file.name].append("/".join(parts))
    ending = {path: [one for one in below[path.rpartition("/")[2]] if one.endswith(f"/{path}")] for path in paths}
    return {path: found[0] for path, found in ending.items() if len(found) == 1}


def _settled(question: Question, found: Mapping[str, str], lost: set[str]) -> Question:
    is_lost = not lost.isdisjoint(_named(question))
    known = {
        # Whether it is answerable follows from what is named, which may go.
        "answerable": question.is_answerable,
        "gold_docs": () if is_lost else tuple(found.get(path, path) for path in question.gold_docs),
        "answer_docs": () if is_lost else tuple(found.get(path, path) for path in question.answer_docs),
    }
    return question.model_copy(update=known)
