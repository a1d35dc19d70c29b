"""Records as models read them: entries of the JSON in prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..core.records.plan import Element, Fact, Observation
from ..core.records.sources import Source


def as_learned(facts: Iterable[Fact], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return facts as JSON entries, with the numbers of their sources, if any."""
    entries: list[dict[str, Any]] = []
    for fact in facts:
        documents = list(map(numbers.get, fact.sources))
        document: int | list[int | None] | None = documents
        if not documents:
            document = None
        elif len(documents) == 1:
            document = documents[0]
        step = fact.learnings[0].step
        entry: dict[str, Any] = {"text": fact.text, "document": document, "step": step}
        if fact.unproved:
            entry["not_in_document"] = list(fact.unproved)
        entries.append(entry)
    return entries


def as_sources(sources: Iterable[Source], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return sources as JSON entries with date and status, omitting unknown fields."""
    entries: list[dict[str, Any]] = []
    for source in sources:
        entry = {
            "document": numbers.get(source.key),
            "title": source.title,
            "publisher": source.shown_publisher,
            "date": source.date,
            "period": source.period,
            "is_draft": source.is_draft,
            "is_superseded": bool(source.superseded_by),
            "in_force_from": source.in_force_from,
            "is_retracted": source.is_retracted,
            "has_concern": source.has_concern,
        }
        entries.append({name: value for name, value in entry.items() if value})
    return entries


def as_gaps(gaps: Iterable[Observation]) -> list[dict[str, Any]]:
    """Return open questions as JSON entries, numbered from 1."""
    return [{"number": number, "question": gap.text} for number, gap in enumerate(gaps, 1)]


def as_elements(elements: Iterable[Element]) -> list[dict[str, Any]]:
    """Return context elements as JSON entries with kind and step."""
    entries: list[dict[str, Any]] = []
    for element in elements:
        entry = element.model_dump(include={"kind", "content"})
        entry["step"] = element.source
        entries.append(entry)
    return entries
