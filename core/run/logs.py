"""Logging of errors that a run survives: masks secrets and withholds the text of third-party errors."""

from __future__ import annotations

import logging
import re

from .errors import DeepResearchError
from .secrets import MASK, Secrets

_WITHHELD = "its text is logged at the level DEBUG"
_CHARACTERS, _SHORTEST = 500, 8
"""Maximum length of an error's text in the log, and minimum length of a secret."""
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
    return _PATTERN.sub(MASK, Secrets({}, _SHORTEST).masked(text))


def _shown(error: BaseException, keeps_text: bool) -> BaseException:
    """Return a copy of the error, with its traceback and causes, whose text may be logged."""
    kind, is_own = type(error), isinstance(error, DeepResearchError)
    text = " ".join(masked(str(error)).split())[:_CHARACTERS] if keeps_text or is_own else _WITHHELD
    shown: BaseException = type(kind.__name__, (Exception,), {"__module__": kind.__module__})(text)
    shown.__cause__ = error.__cause__ and _shown(error.__cause__, keeps_text)
    shown.__context__ = error.__context__ and _shown(error.__context__, keeps_text)
    shown.__suppress_context__ = error.__suppress_context__
    return shown.with_traceback(error.__traceback__)
