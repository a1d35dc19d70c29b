"""Takes out of a report what only code may put there: links and images."""

from __future__ import annotations

import re

from deep_research.evidence.protected import fence_after

_CODE = re.compile(r"(`+[^`\n]*`+)")
_LINK = re.compile(r"(?P<image>!?)\[(?P<label>[^\[\]\n]*)\]\((?P<target>[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)")
_NUMBERS = re.compile(r"\^?\d+(?:, ?\d+)*")


def without_links(text: str) -> tuple[str, int]:
    """The text with links and images reduced to their words, and the number of invented citations among them.

    A link whose words are a number claims to be a citation of a place that nobody read; it goes as a whole. Code is
    left alone. `(2023)` and other remarks in parentheses behind a bracket are no links.
    """
    fence, invented, lines = "", 0, list[str]()
    for line in text.split("\n"):
        after = fence_after(fence, line)
        if not fence and not after:
            line, count = _plain(line)
            invented += count
        fence = after
        lines.append(line)
    return "\n".join(lines), invented


def _plain(line: str) -> tuple[str, int]:
    invented = 0

    def reduce(match: re.Match[str]) -> str:
        nonlocal invented
        if not match["image"] and not re.search(r"[/:.#]", match["target"]):
            return match[0]
        if not match["image"] and _NUMBERS.fullmatch(match["label"]):
            invented += 1
            return ""
        return match["label"]

    parts = [part if part.startswith("`") else _LINK.sub(reduce, part) for part in _CODE.split(line)]
    return "".join(parts), invented
