"""How a model reads what a tool brought: JSON inside a data fence, one number a source."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypedDict

from deep_research.prompts import fence
from deep_research.tools.outcome import Outcome


class Result(TypedDict):
    """One result as a model reads it."""

    document: int
    title: str
    address: str
    date: str
    text: str


def write_results(outcome: Outcome, numbers: Mapping[str, int]) -> str:
    """The results of a tool call for the model; `numbers` by source key."""
    results = [
        Result(
            document=numbers[hit.source.key],
            title=hit.source.title,
            address=hit.source.address,
            date=hit.date,
            text=hit.excerpt,
        )
        for hit in outcome.hits
    ]
    return _write(results, list(outcome.problems))


def read_results(text: str) -> list[Result]:
    """The results in a tool result's text; none if it holds no results."""
    return _read(text)[0]


def shorten_results(text: str, characters: int) -> str:
    """The same results with at most so many characters of each."""
    results, problems = _read(text)
    if not results:
        return text
    return _write([Result(**{**result, "text": result["text"][:characters]}) for result in results], problems)


def _write(results: list[Result], problems: list[str]) -> str:
    return fence(json.dumps({"results": results, "problems": problems}, ensure_ascii=False))


def _read(text: str) -> tuple[list[Result], list[str]]:
    start, end = text.find("{"), text.rfind("}")
    try:
        data = json.loads(text[start : end + 1]) if start >= 0 else {}
    except ValueError:
        return [], []
    return data.get("results", []), data.get("problems", [])


SHORTENERS: tuple[Callable[[str], str], ...] = (
    partial(shorten_results, characters=1500),
    partial(shorten_results, characters=300),
)
"""How older results shrink when a researcher's prompt does not fit, the mildest first."""
