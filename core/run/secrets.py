"""The secrets among this process's settings, which leave it neither in logs nor in what a model writes."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

MASK, SHORTEST = "***", 12
"""What stands for a secret, and characters that one has at least: a shorter value may be a word."""
_NAME = re.compile(r"KEY(?!WORD|BOARD)|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH(?!OR(?!I))|HEADERS")
"""What names of variables hold whose values are secrets."""
_PASSWORD = re.compile(r"://[^/\s@:]*:([^/\s@]+)@")
_WORD = re.compile(r"[^\s\"'{}\[\],;:=]++(?![\"']?\s*[:=]\s*[\"']?\w)")
"""A word of a value such as `NAME:TOKEN` or `Authorization: Bearer TOKEN` that is not the name of the next."""


class Secrets:
    """Recognises keys, tokens and passwords, also in JSON, percent-encoding or Base64."""

    def __init__(self, mcp: Mapping[str, Mapping[str, Any]], shortest: int = SHORTEST) -> None:
        """Take those of the environment, and what MCP servers are sent beside the calls."""
        known = {one for value in _values(mcp) for one in (value, *_WORD.findall(value))}
        long = (one for one in known if len(one) >= shortest and not one.isdigit())
        self._forms = sorted({form.lower() for one in long for form in _forms(one)}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._forms)) or "(?!)", re.IGNORECASE)

    def masked(self, text: str) -> str:
        """Return the text with a mask for each secret."""
        return self._pattern.sub(MASK, text) if self._stand_in(text) else text

    def are_in(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the arguments of a call hold a secret."""
        text = json.dumps(arguments, ensure_ascii=False, default=str)
        return self._stand_in(text) or self._stand_in(unquote(text))

    def settled(self, text: str) -> int:
        """Return where the end of a text begins that the next words may make a secret."""
        first = max(0, len(text) - max(map(len, self._forms), default=0))
        tails = ((place, text[place:].lower()) for place in range(first, len(text)))
        return next((place for place, tail in tails if any(form.startswith(tail) for form in self._forms)), len(text))

    def _stand_in(self, text: str) -> bool:
        lowered = text.lower()
        return any(form in lowered for form in self._forms)


def _values(mcp: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, value in os.environ.items():
        yield from (value,) if _NAME.search(name.upper()) else map(unquote, _PASSWORD.findall(value))
    for server in mcp.values():
        yield from (str(value) for part in ("headers", "env") for value in (server.get(part) or {}).values())


def _forms(secret: str) -> set[str]:
    data = secret.encode(errors="replace")
    coded = {encode(data).decode().rstrip("=") for encode in (b64encode, urlsafe_b64encode)}
    return {secret, json.dumps(secret, ensure_ascii=False)[1:-1], quote(data, safe=""), *coded}
