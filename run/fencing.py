"""Marks text from outside as data, in tags that the text itself cannot close."""

from __future__ import annotations

import re
import secrets

_LOOKALIKE = re.compile(
    r"<(?=/?(?:data-|reminder|plan\b|tool|function|system|user\b|assistant|think|s>|bos>|eos>|<|start_of_turn|end_of_turn|[|｜]))"
    r"|[|｜](?=>)|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|THINK)\])",
    re.IGNORECASE,
)
_HARMLESS = {"<": "‹", "|": "¦", "｜": "¦", "[": "("}


def fence(data: str, tag: str = "") -> str:
    """The text between tags of its own; what looks like a tag of ours, or like a mark of a model's dialect, is broken.

    `tag` names the fence where the same text has to look the same in each prompt; else it is random.
    """
    name = f"data-{tag or secrets.token_hex(4)}"
    return f"<{name}>\n{_LOOKALIKE.sub(lambda found: _HARMLESS[found.group()], data)}\n</{name}>"
