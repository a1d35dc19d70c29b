"""The log of the server: expected failures take one line, without a traceback."""

from __future__ import annotations

import logging
from typing import Any

from ...core.errors import DeepResearchError
from ...core.models import ask

_PACKAGE = DeepResearchError.__module__.partition(".")[0]
_ENDED = "CancelledError"
"""End of the traceback of a run that the server's stop has interrupted."""


def shorten_log() -> None:
    """Leave out the tracebacks of expected failures, and what would quote questions or keys."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(_without_traceback)
    logging.getLogger(_PACKAGE).setLevel(logging.WARNING)
    # It warns of each rule of the style sheet that is not for paper, and names its steps.
    for name in ("weasyprint", "weasyprint.progress"):
        logging.getLogger(name).addFilter(_as_detail)
    # httpx logs URLs, which contain queries and OpenAlex's key.
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _as_detail(record: logging.LogRecord) -> bool:
    """Make a record one of the level DEBUG; returns whether these are logged."""
    record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return logging.getLogger().isEnabledFor(logging.DEBUG)


def _without_traceback(record: logging.LogRecord) -> bool:
    """Remove the traceback of an expected failure from a record; every record is logged."""
    logged: Any = record.msg
    if isinstance(logged, dict):
        # A record of LangGraph, whose traceback is already a text.
        is_ours = f"<class '{_PACKAGE}." in str(logged.get("event"))
        if is_ours or str(logged.get("exception")).endswith(_ENDED):
            logged.pop("exception", None)
    elif record.exc_info and record.exc_info[0]:
        kind, error, _ = record.exc_info
        if kind.__module__.partition(".")[0] == _PACKAGE:
            record.msg, record.args, record.exc_info = f"{record.getMessage()}: {error}", (), None
        elif record.name == ask.__name__:
            # The message already says what the model's provider answered.
            record.exc_info = None
    return True
