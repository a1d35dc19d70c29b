"""What a model of the planned strategy is shown of what is known: JSON inside a data fence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..knowledge import Element, Fact, Observation, PlanStep, Source
from .fencing import fence


def known(*, fence_name: str = "", **parts: Any) -> str:
    """The parts that hold something, under their names; what stands in them comes from models and sources.

    `fence_name` names the fence where the same text is shown again in later prompts; see `fence`.
    """
    kept = {name: part for name, part in parts.items() if part}
    return fence(json.dumps({"knowledge": kept}, ensure_ascii=False), fence_name) if kept else ""


def as_learned(facts: Iterable[Fact], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """What was learned, counted from 1, with the number of its source; several are a list, a thought has none."""
    told: list[dict[str, Any]] = []
    for number, fact in enumerate(facts, 1):
        documents = [numbers.get(source) for source in fact.sources] or [None]
        document = documents if len(documents) > 1 else documents[0]
        told.append({"number": number, "text": fact.text, "document": document, "step": fact.learnings[0].step})
    return told


def as_sources(sources: Iterable[Source], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Sources with what tells what they are worth; what is not known is left out."""
    told = (
        {
            "document": numbers.get(source.key),
            "title": source.title,
            "date": source.date,
            "is_draft": source.is_draft,
            "is_superseded": bool(source.superseded_by),
            "in_force_from": source.in_force_from,
        }
        for source in sources
    )
    return [{name: value for name, value in one.items() if value} for one in told]


def as_gaps(gaps: Iterable[Observation]) -> list[dict[str, Any]]:
    """Open questions with the numbers by which they are answered, from 1."""
    return [{"number": number, "question": gap.text} for number, gap in enumerate(gaps, 1)]


def as_elements(elements: Iterable[Element]) -> list[dict[str, Any]]:
    """Pieces of context with their kind, their step and their relevance."""
    kept = {"kind", "content", "relevance"}
    return [
        {**element.model_dump(include=kept), "relevance": round(element.relevance, 2), "step": element.source}
        for element in elements
    ]


def as_plan(steps: Sequence[PlanStep]) -> list[dict[str, Any]]:
    """The steps and where they stand."""
    return [
        step.model_dump(include={"id", "title", "description", "task", "status", "requires_search"}) for step in steps
    ]
