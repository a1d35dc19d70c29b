"""Keeps the secrets of this process out of logs and models' output; logs the errors that a run survives."""

from __future__ import annotations

import json
import logging
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

from .errors import DeepResearchError

MASK, _SHORTEST = "***", 12
"""Replacement of a secret, and the minimum length of a secret: shorter values may be ordinary words."""
_NAME = re.compile(r"KEY(?!WORD|BOARD)|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH(?!OR(?!I))|HEADERS")
"""Parts of variable names whose values are secrets."""
_PASSWORD = re.compile(r"://[^/\s@:]*:([^/\s@]+)@")
_WORD = re.compile(r"[^\s\"'{}\[\],;:=]++(?![\"']?\s*[:=]\s*[\"']?\w)")
"""A word of a value such as `NAME:TOKEN` or `Authorization: Bearer TOKEN`, unless it names the next word."""
_WITHHELD = "its text is logged at the level DEBUG"
_CHARACTERS, _SHORTEST_LOGGED = 500, 8
"""Maximum length of an error's text in the log, and minimum length of a secret there."""
_PATTERN = re.compile(
    r"(?i)(?<=://)[^/\s@]+(?=@)|(?<=bearer )\S+|(?<=key[=:])\s*[^\s&,;]+|(?<=(?:token|sword|ecret)[=:])\s*[^\s&,;]+"
    r"|\b(?:sk|lsv2|tvly|ghp|xox[abp])[-_][\w*-]{8,}"
)
"""Passwords in addresses, bearer tokens, values named as secrets, and keys with well-known prefixes."""


def log_failure(name: str, error: BaseException, message: str, *arguments: object, keeps_text: bool = False) -> None:
    """Log an error as a warning, with its traceback and with keys masked; `name`: the logger's, i.e. the module's.

    The text of a third-party error may quote prompts and documents, so it is logged only at `DEBUG`, unless it is known
    to come from the app's own code (`keeps_text`).
    """
    logger = logging.getLogger(name)
    logger.warning(message, *arguments, exc_info=_shown(error, keeps_text), stacklevel=2)
    logger.debug("The text of this %s: %s", type(error).__name__, masked(str(error)), stacklevel=2)


def masked(text: str) -> str:
    """Mask everything that looks like a key or password, and the environment's secrets."""
    return _PATTERN.sub(MASK, Secrets({}, _SHORTEST_LOGGED).masked(text))


def _shown(error: BaseException, keeps_text: bool) -> BaseException:
    """Return a copy of the error, with its traceback and causes, whose text may be logged."""
    kind, is_own = type(error), isinstance(error, DeepResearchError)
    text = " ".join(masked(str(error)).split())[:_CHARACTERS] if keeps_text or is_own else _WITHHELD
    shown: BaseException = type(kind.__name__, (Exception,), {"__module__": kind.__module__})(text)
    shown.__cause__ = error.__cause__ and _shown(error.__cause__, keeps_text)
    shown.__context__ = error.__context__ and _shown(error.__context__, keeps_text)
    shown.__suppress_context__ = error.__suppress_context__
    return shown.with_traceback(error.__traceback__)


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
