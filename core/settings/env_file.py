"""Loads `.env` from the working directory into the environment."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

_ENV_FILE = Path(".env")
"""Read only from the working directory, never from its parents or from document folders."""


def load_env_file() -> str:
    """Add the variables in `.env` to the environment, except those that are set already.

    Returns why nothing was added, in one line for the user, if the file is invalid; empty if it is
    valid or missing.
    """
    text = ""
    try:
        if _ENV_FILE.is_file():
            text = _ENV_FILE.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "") or "it is not UTF-8"
        return f"{_ENV_FILE.absolute()} cannot be read: {reason}."
    if not text:
        return ""
    # Imported late: most users have no such file.
    from dotenv import load_dotenv
    from dotenv.parser import parse_stream

    for binding in parse_stream(StringIO(text)):
        if binding.error or (binding.key and binding.value is None):
            lines = binding.original.string
            # A binding begins with the empty lines above it.
            space = lines[: len(lines) - len(lines.lstrip())]
            number = binding.original.line + space.count("\n")
            return (
                f"{_ENV_FILE.absolute()}, line {number}: it is not NAME=VALUE, or a quotation mark "
                "is not closed."
            )
    load_dotenv(stream=StringIO(text))
    return ""
