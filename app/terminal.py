"""Input and output of the command line, safe for terminals and closed pipes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TextIO

import click

from ..core.run.conversation import safe_text
from ..core.run.errors import DeepResearchError, UserMistake
from .words import Format

_PAGE_WIDTH = 100
"""Maximum width of a report on a terminal, in columns."""
_LINE_BYTES = 4096
"""Maximum size of a typed line; terminals do not deliver longer ones."""


class Unprintable(DeepResearchError):
    """Standard output can no longer be written."""


class ReaderGone(DeepResearchError):
    """The reader of the packets has closed standard output."""


def put_out(text: str) -> bool:
    """Print to standard output; returns False if its reader has closed it. Raises `Unprintable` for other errors."""
    try:
        click.echo(safe_text(text))
        return True
    except BrokenPipeError:
        _abandon(sys.stdout)
        return False
    except OSError as error:
        _abandon(sys.stdout)
        raise Unprintable(f"The output could not be printed: {error.strerror}.") from error


def say(words: str) -> None:
    """Print to standard error; errors are ignored so that the run continues."""
    try:
        click.echo(safe_text(words), err=True)
    except OSError:
        _abandon(sys.stderr)


def complain(words: object) -> None:
    """Print an error as one line."""
    say(f"Error: {' '.join(str(words).split())}")


def prompt_user(words: str) -> str:
    """Ask until the user answers; returns an empty string at the end of the input (Ctrl-D)."""
    say(f"\n{words}\n")
    while True:
        try:
            click.echo("Your answer: ", nl=False, err=True)
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            say("")
            raise
        if not line:
            say("")
            return ""
        if answer := safe_text(line).strip():
            return answer


@contextmanager
def typed_lines() -> Iterator[list[str]]:
    """Collect the lines that the user types while the event loop runs."""
    lines, loop = list[str](), asyncio.get_running_loop()
    if not can_ask():
        yield lines
        return
    terminal = sys.stdin.fileno()

    def take() -> None:
        typed = os.read(terminal, _LINE_BYTES)
        if not typed:
            loop.remove_reader(terminal)
        lines.extend(filter(None, [safe_text(typed.decode(errors="replace")).strip()]))

    # Not supported by the event loop on Windows.
    with suppress(NotImplementedError):
        loop.add_reader(terminal, take)
    try:
        yield lines
    finally:
        with suppress(NotImplementedError):
            loop.remove_reader(terminal)


def can_ask() -> bool:
    """Whether a user at a terminal can read and answer a question."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream exists and is a terminal."""
    return stream is not None and stream.isatty()


def _abandon(stream: TextIO) -> None:
    # Otherwise the interpreter would report an error when it flushes the stream at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class OutputUnusable(UserMistake):
    """The report cannot be written to the given file or in the given format."""


class Output(NamedTuple):
    """File and format of the report."""

    path: Path | None
    """None for standard output."""
    format: Format | None
    """None: chosen from the suffix of the file."""


def check_output(path: Path | None) -> None:
    """Raise `OutputUnusable` if this file cannot be written; called before the run costs anything."""
    if path is None:
        return
    if path.is_dir():
        raise OutputUnusable(f"--out {str(path)!r}: this is a folder; name a file.")
    if not path.parent.is_dir():
        raise OutputUnusable(f"--out {str(path)!r}: the folder {str(path.parent)!r} does not exist.")
    is_new = not path.exists()
    try:
        # Checking permissions is not enough.
        if is_new or path.is_file():
            path.open("ab").close()
    except OSError as error:
        raise OutputUnusable(f"--out {str(path)!r}: the file cannot be written ({error.strerror}).") from None
    if is_new:
        path.unlink()


def put_out_report(text: str) -> None:
    """Print a report: rendered with links on a terminal, else as Markdown."""
    if not is_terminal(sys.stdout) or os.environ.get("TERM") == "dumb":
        put_out(text)
        return
    # Slow to import.
    from markdown_it import MarkdownIt
    from rich.console import Console
    from rich.markdown import Markdown

    rendered, parser = Markdown(""), MarkdownIt().enable("table")
    # Links of reports are safe, but the parser would reject `file:` links.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005 - its own way
    rendered.parsed = parser.parse(safe_text(text))
    for token in rendered.parsed:
        for opening, words in pairwise(token.children or ()):
            if opening.type == "link_open" and words.content.isdigit():
                words.content = f"[{words.content}]"
    console = Console()
    console.print(rendered, width=min(console.width, _PAGE_WIDTH))


def deliver(report: str | bytes, path: Path | None) -> bool:
    """Write the report to a file, or print it without a path; returns False if the file could not be written.

    In that case, text is printed instead; bytes are not.
    """
    if path is None:
        put_out(str(report))
        return True
    try:
        path.write_bytes(report if isinstance(report, bytes) else f"{report}\n".encode())
    except OSError as error:
        is_printed = isinstance(report, str)
        complain(f"--out {str(path)!r}: {error.strerror}.{' The report is printed instead.' if is_printed else ''}")
        if is_printed:
            put_out(str(report))
        return False
    say(f"Report written to {path}")
    return True
