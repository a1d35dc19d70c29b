"""Logs, one tree under the logger `deep_research`: what may stand there of an error that a run survives."""

from __future__ import annotations

import logging
import re

from .errors import DeepResearchError
from .secrets import MASK, Secrets

WITHHELD = "its text is logged at the level DEBUG"
CHARACTERS, SHORTEST = 500, 8
"""Characters of an error's text that are logged, and that a secret has at least."""
_PATTERN = re.compile(
    r"(?i)(?<=://)[^/\s@]+(?=@)|(?<=bearer )\S+|(?<=key[=:])\s*[^\s&,;]+|(?<=(?:token|sword|ecret)[=:])\s*[^\s&,;]+"
    r"|\b(?:sk|lsv2|tvly|ghp|xox[abp])[-_][\w*-]{8,}"
)
"""Passwords in addresses, tokens, values that are named as secrets, keys by their beginning."""


def log_failure(name: str, error: BaseException, message: str, *arguments: object, keeps_text: bool = False) -> None:
    """Log an error that a run survives, or of which its user is shown a part: a warning with the traceback.

    Texts of other packages' errors may quote prompts and documents, so they are logged at `DEBUG` alone, unless the
    error is one of the app's own code (`keeps_text`). Keys are masked. `name` is that of the module.
    """
    logger = logging.getLogger(name)
    logger.warning(message, *arguments, exc_info=_shown(error, keeps_text), stacklevel=2)
    logger.debug("The text of this %s: %s", type(error).__name__, masked(str(error)), stacklevel=2)


def masked(text: str) -> str:
    """Return a text without what looks like a key or a password, and without the secrets of the environment."""
    return _PATTERN.sub(MASK, Secrets({}, SHORTEST).masked(text))


def _shown(error: BaseException, keeps_text: bool) -> BaseException:
    """Return an error of the same kind, with the same traceback and causes, whose text may be logged."""
    kind, is_own = type(error), isinstance(error, DeepResearchError)
    words = " ".join(masked(str(error)).split())[:CHARACTERS] if keeps_text or is_own else WITHHELD
    shown: BaseException = type(kind.__name__, (Exception,), {"__module__": kind.__module__})(words)
    shown.__cause__ = error.__cause__ and _shown(error.__cause__, keeps_text)
    shown.__context__ = error.__context__ and _shown(error.__context__, keeps_text)
    shown.__suppress_context__ = error.__suppress_context__
    return shown.with_traceback(error.__traceback__)
