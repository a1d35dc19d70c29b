"""Renders prompts, one file a node with a block for the system prompt and one for the reminder; fences foreign text."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..core.records.plan import Element, Fact, Observation, PlanStep
from ..core.records.sources import Source

_ANGLES = "<＜﹤‹⟨〈˂❮❬"
_CLOSING = ">＞﹥›⟩〉˃❯❭"
_BARS = "|｜│∣❘ǀ"
"""Signs that models read as one another, as in the marks of DeepSeek's dialect."""
_LOOKALIKE = re.compile(
    rf"[{_ANGLES}](?=/?(?:data-|reminder|plan\b|tool|function|system|user\b|assistant|think|s>|bos>|eos>|<|start_of_turn|end_of_turn|[{_BARS}]))"
    rf"|[{_BARS}](?=[{_CLOSING}])|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|THINK)\])",
    re.IGNORECASE,
)
_NAME = re.compile(r"\bdata-[0-9a-f]{8}\b")
_HARMLESS = {**dict.fromkeys([*_ANGLES, "["], "("), **dict.fromkeys(_BARS, "¦")}


def fence(data: str, tag: str = "") -> str:
    """Return the text between tags of its own; what looks like such a tag or a control token is broken.

    `tag` names the fence where the same text has to look the same in each prompt; else it is random.
    """
    name = f"data-{tag or secrets.token_hex(4)}"
    return f"<{name}>\n{_LOOKALIKE.sub(lambda found: _HARMLESS[found.group()], data)}\n</{name}>"


def with_equal_fences(text: str) -> str:
    """Return the text with all fences named alike, as texts are that say the same."""
    return _NAME.sub("data", text)


def fenced_knowledge(*, fence_name: str = "", **parts: Any) -> str:
    """Return the parts that are not empty as fenced JSON: they come from models and sources.

    `fence_name` names the fence where the same text is shown again in later prompts; see `fence`.
    """
    kept = {name: part for name, part in parts.items() if part}
    return fence(json.dumps({"knowledge": kept}, ensure_ascii=False), fence_name) if kept else ""


def as_learned(facts: Iterable[Fact], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return facts as JSON entries, numbered from 1, with the numbers of their sources; an analysis has none."""
    entries: list[dict[str, Any]] = []
    for number, fact in enumerate(facts, 1):
        documents = [numbers.get(source) for source in fact.sources] or [None]
        document = documents if len(documents) > 1 else documents[0]
        entries.append({"number": number, "text": fact.text, "document": document, "step": fact.learnings[0].step})
    return entries


def as_sources(sources: Iterable[Source], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return sources as JSON entries with date and standing; unknown fields are left out."""
    entries = (
        {
            "document": numbers.get(source.key),
            "title": source.title,
            "date": source.date,
            "period": source.period,
            "is_draft": source.is_draft,
            "is_superseded": bool(source.superseded_by),
            "in_force_from": source.in_force_from,
        }
        for source in sources
    )
    return [{name: value for name, value in one.items() if value} for one in entries]


def as_gaps(gaps: Iterable[Observation]) -> list[dict[str, Any]]:
    """Return open questions as JSON entries, numbered from 1."""
    return [{"number": number, "question": gap.text} for number, gap in enumerate(gaps, 1)]


def as_elements(elements: Iterable[Element]) -> list[dict[str, Any]]:
    """Return pieces of context as JSON entries with kind, step and relevance."""
    kept = {"kind", "content", "relevance"}
    return [
        {**element.model_dump(include=kept), "relevance": round(element.relevance, 2), "step": element.source}
        for element in elements
    ]


def as_plan(steps: Sequence[PlanStep]) -> list[dict[str, Any]]:
    """Return the steps as JSON entries with their status."""
    return [
        step.model_dump(include={"id", "title", "description", "task", "status", "requires_search"}) for step in steps
    ]


def render(name: str, block: Literal["system", "reminder"], **values: Any) -> str:
    """Render a block of the prompt `name`; a value that is missing is an error.

    A reminder is wrapped in tags, because it travels as a user's message.
    """
    template = _environment().get_template(f"{name}.md")
    text = "".join(template.blocks[block](template.new_context(values))).strip()
    text = re.sub(r"\n{3,}", "\n\n", text)
    return f"<reminder>\n{text}\n</reminder>" if block == "reminder" else text


@cache
def _environment() -> Environment:
    # The prompts are plain text for a model, not HTML.
    return Environment(
        loader=PackageLoader("deep_research", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Prompts do not change while a program runs: no look at the disk for each of them.
        auto_reload=False,
        autoescape=False,  # noqa: S701
    )
