"""The planner: the question, then its parts, as a numbered list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage

from ...evidence.words import names, stems
from .answers import is_broad
from .asking import QUESTION_WORDS
from .reading import question_in

MAX_STEPS = 6
LEAST_STEMS = 2
MOST_SHARED = 0.75
"""Share of the words of a part from which on it repeats an earlier step."""
LIST_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+", re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-ZÀ-Þ\"“(])|(?<=[。？！])|\n+")
CLAUSE = re.compile(
    r"[;；，]\s*|,\s+(?:and\s+|or\s+)?|"
    r"\s+(?:and|or|und|oder|et|ou|y|o|versus|vs\.?|compared (?:to|with)|as well as)\s+",
    re.IGNORECASE,
)
NEXT_QUESTION = re.compile(
    r"[;；]\s*|,?\s+(?:and|or|but|und|oder|et|ou|y|o)\s+"
    rf"(?=(?:is|are|was|were|does|did|{'|'.join(QUESTION_WORDS)})\b)",
    re.IGNORECASE,
)
"""What stands between two questions in one sentence."""


def plan(messages: Sequence[BaseMessage]) -> str:
    """The numbered steps."""
    steps = steps_for(question_in(messages))
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))


def steps_for(question: str) -> list[str]:
    """The question in one line, and its parts."""
    parts = [*_parts(question, CLAUSE), *names(question)] if is_broad(question) else _parts(question, NEXT_QUESTION)
    return steps_of(" ".join(LIST_ITEM.sub("", question).split()), parts)


def steps_of(whole: str, parts: Iterable[str]) -> list[str]:
    """The whole, and those parts that are neither trifles nor repeat a step."""
    steps = [whole]
    for part in parts:
        found = set(stems(part))
        repeats = any(_overlap(found, set(stems(step))) > MOST_SHARED for step in steps[1:])
        if not repeats and _is_a_part(part, found, set(stems(whole))):
            steps.append(part)
    return steps[:MAX_STEPS]


def _parts(question: str, joint: re.Pattern[str]) -> list[str]:
    sentences = [LIST_ITEM.sub("", piece) for piece in SENTENCE_END.split(question)]
    clauses = [clause for sentence in sentences for clause in joint.split(sentence)]
    return [" ".join(piece.split()).strip(" ,.?!:;，；。？！") for piece in [*sentences, *clauses]]


def _is_a_part(part: str, found: set[str], whole: set[str]) -> bool:
    return (len(found) >= LEAST_STEMS or bool(names(part))) and len(found) <= MOST_SHARED * len(whole)


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))
