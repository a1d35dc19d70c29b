"""What a model of the planned strategy is shown of what is known: JSON inside a data fence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..knowledge import Element, Learning, PlanStep
from .fencing import fence


def known(*, fence_name: str = "", **parts: Any) -> str:
    """The parts that hold something, under their names; what stands in them comes from models and sources.

    `fence_name` names the fence where the same text is shown again in later prompts; see `fence`.
    """
    kept = {name: part for name, part in parts.items() if part}
    return fence(json.dumps({"knowledge": kept}, ensure_ascii=False), fence_name) if kept else ""


def as_learned(learnings: Iterable[Learning], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Learnings, counted from 1, with the numbers of their sources by key; a thought has none."""
    return [
        {"number": number, "text": learning.text, "document": numbers.get(learning.source), "step": learning.step}
        for number, learning in enumerate(learnings, 1)
    ]


def as_elements(elements: Iterable[Element]) -> list[dict[str, Any]]:
    """Pieces of context with their kind, their step and their relevance."""
    kept = {"kind", "content", "relevance"}
    return [{**element.model_dump(include=kept), "step": element.source} for element in elements]


def as_plan(steps: Sequence[PlanStep]) -> list[dict[str, Any]]:
    """The steps and where they stand."""
    return [
        step.model_dump(include={"id", "title", "description", "task", "status", "requires_search"}) for step in steps
    ]
