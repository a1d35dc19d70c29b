"""Finds in the corpus the documents that a set of questions names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from deep_research.evaluation.questions import Question


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
