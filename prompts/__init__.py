"""Renders prompts: one file a node, with a block for the system prompt and one for the reminder that comes last."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined


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
