"""Masks keys and passwords in logs and in what models write."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

MASK = "***"
"""Replacement of a secret."""
_SHORTEST = 12
"""Minimum length of a secret in what models write: shorter values may be ordinary words."""
_SHORTEST_LOGGED = 8
"""Minimum length of a secret in the log."""
_NAME = re.compile(r"KEY(?!WORD|BOARD)|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH(?!OR(?!I))|HEADERS")
"""Parts of the names of environment variables whose values are secrets."""
_PASSWORD = re.compile(r"://[^/\s@:]*:([^/\s@]+)@")
"""The password in an address."""
_WORD = re.compile(r"[^\s\"'{}\[\],;:=]++(?![\"']?\s*[:=]\s*[\"']?\w)")
"""A word of a value such as `NAME:TOKEN` or `Authorization: Bearer TOKEN`, unless it names the next
word."""
_EXAMPLE = "USER:PASSWORD"
"""What messages to the user show in place of a login."""
_UNQUOTED = re.compile(r"[^\s'\"]+")
"""A word, such as an address."""
_PATTERN = re.compile(
    r"(?i)(?<=://)[^/\s@]+(?=@)|(?<=bearer )\S+|(?<=key[=:])\s*[^\s&,;]+"
    r"|(?<=(?:token|sword|ecret)[=:])\s*[^\s&,;]+"
    r"|\b(?:sk|lsv2|tvly|ghp|xox[abp])[-_][\w*-]{8,}"
)
"""Passwords in addresses, bearer tokens, values named as secrets, and keys with well-known
prefixes."""


def masked(text: str) -> str:
    """Return the text with the environment's secrets, and all that looks like a key or password,
    replaced by `MASK`."""
    return _PATTERN.sub(MASK, Secrets({}, _SHORTEST_LOGGED).masked(text))


def without_passwords(text: str) -> str:
    """Return the text without what precedes the host in addresses with a password, also in
    mistyped ones."""
    return _UNQUOTED.sub(_without_password, text)


def _without_password(match: re.Match[str]) -> str:
    before, sign, host = match[0].rpartition("@")
    scheme, slashes, login = before.rpartition("://")
    if ":" not in login or login == _EXAMPLE:
        return match[0]
    return f"{scheme}{slashes}{MASK}{sign}{host}"


class Secrets:
    """The secrets of this process: recognises them in texts, also in JSON, percent-encoding or
    Base64."""

    def __init__(self, mcp: Mapping[str, Mapping[str, Any]], shortest: int = _SHORTEST) -> None:
        """Collect secrets from the environment, and from the headers and variables in the setting
        `mcp`.

        `shortest`: minimum length of a secret, in characters.
        """
        words = set[str]()
        for value in _values(mcp):
            words.add(value)
            words.update(_WORD.findall(value))
        forms = set[str]()
        for word in words:
            if len(word) >= shortest and not word.isdigit():
                forms.update(map(str.lower, _forms(word)))
        self._forms = sorted(forms, key=len, reverse=True)
        # Without secrets, a pattern that matches nothing.
        pattern = "|".join(map(re.escape, self._forms)) or "(?!)"
        self._pattern = re.compile(pattern, re.IGNORECASE)

    def masked(self, text: str) -> str:
        """Return the text with each secret replaced by `MASK`."""
        if not self._occur_in(text):
            return text
        return self._pattern.sub(MASK, text)

    def are_in(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the arguments of a call contain a secret."""
        text = json.dumps(arguments, ensure_ascii=False, default=str)
        return self._occur_in(text) or self._occur_in(unquote(text))

    def settled(self, text: str) -> int:
        """Return the offset from which the end of a streamed text may be the beginning of a secret;
        its length if none.

        What precedes the offset can be shown before more text arrives.
        """
        longest = max(map(len, self._forms), default=0)
        for start in range(max(0, len(text) - longest), len(text)):
            tail = text[start:].lower()
            if any(form.startswith(tail) for form in self._forms):
                return start
        return len(text)

    def _occur_in(self, text: str) -> bool:
        lowered = text.lower()
        return any(form in lowered for form in self._forms)


def _values(mcp: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the values that contain secrets: of the environment's variables, of its addresses, and
    of MCP servers."""
    for name, value in os.environ.items():
        if _NAME.search(name.upper()):
            yield value
        else:
            yield from map(unquote, _PASSWORD.findall(value))
    for server in mcp.values():
        for part in ("headers", "env"):
            entries = server.get(part) or {}
            yield from map(str, entries.values())


def _forms(secret: str) -> set[str]:
    """Return the secret as it appears in plain text, JSON, a URL and Base64."""
    data = secret.encode(errors="replace")
    return {
        secret,
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(data, safe=""),
        b64encode(data).decode().rstrip("="),
        urlsafe_b64encode(data).decode().rstrip("="),
    }
