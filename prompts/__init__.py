"""The prompts to models: a Markdown template for each node, with a `system` and a `reminder` block.

This module is the only one: `render_prompt` fills in a template; `fence` and `fenced_knowledge`
mark text from models, documents and the web as data.
"""

from __future__ import annotations

import json
import re
import secrets
from functools import cache
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined

_ANGLES = "<＜﹤‹⟨〈˂❮❬"
_CLOSING = ">＞﹥›⟩〉˃❯❭"
_BARS = "|｜│∣❘ǀ"
"""Characters that look alike to models, as in DeepSeek's control tokens."""
_LOOKALIKE = re.compile(
    rf"[{_ANGLES}](?=/?(?:data-|reminder|plan\b|tool|function|system|user\b|assistant|think|s>"
    rf"|bos>|eos>|<|start_of_turn|end_of_turn|[{_BARS}]))"
    rf"|[{_BARS}](?=[{_CLOSING}])"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|THINK)\])",
    re.IGNORECASE,
)
_NAME = re.compile(r"data-[0-9a-f]{8}\b")
_HARMLESS = {**dict.fromkeys([*_ANGLES, "["], "("), **dict.fromkeys(_BARS, "¦")}


def fence(data: str, tag: str = "") -> str:
    """Return the text between unique tags, with anything that looks like a tag made harmless.

    Control tokens are made harmless too. `tag` names the fence if the result must be the same in
    every prompt; by default, the name is random.
    """
    name = f"data-{tag or secrets.token_hex(4)}"
    harmless = _LOOKALIKE.sub(lambda match: _HARMLESS[match.group()], data)
    return f"<{name}>\n{harmless}\n</{name}>"


def with_equal_fences(text: str) -> str:
    """Return the text with all fence names made equal, so that texts can be compared."""
    return _NAME.sub("data", text)


def fenced_knowledge(*, fence_name: str = "", **parts: Any) -> str:
    """Return the non-empty parts (text from models and sources) as fenced JSON.

    For `fence_name`, see `fence`.
    """
    knowledge = {name: part for name, part in parts.items() if part}
    if not knowledge:
        return ""
    return fence(json.dumps({"knowledge": knowledge}, ensure_ascii=False), fence_name)


def render_prompt(name: str, block: Literal["system", "reminder"], **values: Any) -> str:
    """Render a block of the prompt `name`; raise an error if a value is missing.

    Reminders are wrapped in tags because they are sent as user messages.
    """
    template = _environment().get_template(f"{name}.md")
    text = "".join(template.blocks[block](template.new_context(values))).strip()
    text = re.sub(r"\n{3,}", "\n\n", text)
    if block == "reminder":
        return f"<reminder>\n{text}\n</reminder>"
    return text


@cache
def _environment() -> Environment:
    # The prompts are plain text for a model, not HTML.
    return Environment(
        loader=PackageLoader("deep_research", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Prompts do not change while the program runs.
        auto_reload=False,
        autoescape=False,  # noqa: S701
    )
