"""The file `.env` of the working directory, whose variables are added to the environment."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

ENV_FILE = Path(".env")
"""Looked up in the working directory alone: not above it, and not where documents are."""


def load_env_file() -> str:
    """Add the variables of `.env` to the environment, which keeps those that it has.

    Returns what is wrong with the file, in one line, and then adds nothing; empty if nothing is wrong.
    """
    try:
        text = ENV_FILE.read_text("utf-8-sig") if ENV_FILE.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        return f"{ENV_FILE.absolute()} cannot be read: {getattr(error, 'strerror', '') or 'it is not UTF-8'}."
    if not text:
        return ""
    # Whoever has no such file need not wait for the library.
    from dotenv import load_dotenv
    from dotenv.parser import parse_stream

    for binding in parse_stream(StringIO(text)):
        if binding.error or (binding.key and binding.value is None):
            lines = binding.original.string
            number = binding.original.line + lines[: len(lines) - len(lines.lstrip())].count("\n")
            return f"{ENV_FILE.absolute()}, line {number}: it is not NAME=VALUE, or a quotation mark is not closed."
    load_dotenv(stream=StringIO(text))
    return ""
