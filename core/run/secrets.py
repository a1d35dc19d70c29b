"""Recognises the secrets in this process's settings, so that they never reach logs or a model's output."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

MASK, _SHORTEST = "***", 12
"""Replacement of a secret, and the minimum length of a secret: shorter values may be ordinary words."""
_NAME = re.compile(r"KEY(?!WORD|BOARD)|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH(?!OR(?!I))|HEADERS")
"""Parts of variable names whose values are secrets."""
_PASSWORD = re.compile(r"://[^/\s@:]*:([^/\s@]+)@")
_WORD = re.compile(r"[^\s\"'{}\[\],;:=]++(?![\"']?\s*[:=]\s*[\"']?\w)")
"""A word of a value such as `NAME:TOKEN` or `Authorization: Bearer TOKEN`, unless it names the next word."""


class Secrets:
    """Recognises keys, tokens and passwords, also in JSON, percent-encoding or Base64."""

    def __init__(self, mcp: Mapping[str, Mapping[str, Any]], shortest: int = _SHORTEST) -> None:
        """Collect secrets from the environment and from the headers and variables of MCP servers."""
        words = {word for value in _values(mcp) for word in (value, *_WORD.findall(value))}
        secrets = [word for word in words if len(word) >= shortest and not word.isdigit()]
        self._forms = sorted({form.lower() for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._forms)) or "(?!)", re.IGNORECASE)

    def masked(self, text: str) -> str:
        """Replace each secret in the text with a mask."""
        return self._pattern.sub(MASK, text) if self._occur_in(text) else text

    def are_in(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the arguments of a call contain a secret."""
        text = json.dumps(arguments, ensure_ascii=False, default=str)
        return self._occur_in(text) or self._occur_in(unquote(text))

    def settled(self, text: str) -> int:
        """Return the offset of the last part of the text that could still become a secret as more text arrives."""
        first = max(0, len(text) - max(map(len, self._forms), default=0))
        tails = ((start, text[start:].lower()) for start in range(first, len(text)))
        return next((start for start, tail in tails if any(form.startswith(tail) for form in self._forms)), len(text))

    def _occur_in(self, text: str) -> bool:
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
