"""Input and output of the command line, safe for terminals and closed pipes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TextIO

import click

from ..core.dialogue.conversation import safe_text
from ..core.errors import DeepResearchError, UserMistake
from .words import Format

_LIST_ITEM = re.compile(r"\d+[.)]\s")
_PAGE_WIDTH = 100
"""Maximum width of a report on a terminal, in columns."""
_LINE_BYTES = 4096
"""Maximum size of a typed line; terminals do not deliver longer ones."""


class Unprintable(DeepResearchError):
    """Standard output cannot be written, for example because the disk is full."""


class ReaderGone(DeepResearchError):
    """The program that reads the packets from a pipe has closed it."""


def print_output(text: str) -> bool:
    """Print to standard output; returns False if its reader has closed the pipe, raises
    `Unprintable` if it fails."""
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
    """Print to standard error; a failure to print is ignored so that the run continues."""
    try:
        click.echo(safe_text(words), err=True)
    except OSError:
        _abandon(sys.stderr)


def print_error(words: object) -> None:
    """Print an error to standard error, as one line."""
    say(f"Error: {' '.join(str(words).split())}")


def ask_at_terminal(words: str, *, is_plan: bool) -> str:
    """Print a question and return the answer that the user types; empty at the end of the input
    (Ctrl-D).

    An answer is one line, but an edited plan (`is_plan`), a numbered list, goes on until an empty
    line.
    """
    if is_plan:
        words += " End a list with an empty line."
    say(f"\n{words}\n")
    lines = list[str]()
    while True:
        try:
            click.echo("" if lines else "Your answer: ", nl=False, err=True)
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            say("")
            raise
        if not line:
            say("")
            return "\n".join(lines)
        typed = safe_text(line).strip()
        if typed:
            lines.append(typed)
        if lines and not (typed and is_plan and _LIST_ITEM.match(lines[0])):
            return "\n".join(lines)


@contextmanager
def typed_lines() -> Iterator[list[str]]:
    """Yield a list that collects the lines that the user types while the event loop runs."""
    lines = list[str]()
    loop = asyncio.get_running_loop()
    if not can_ask():
        yield lines
        return
    terminal = sys.stdin.fileno()

    def take() -> None:
        typed = os.read(terminal, _LINE_BYTES)
        if not typed:
            loop.remove_reader(terminal)
        line = safe_text(typed.decode(errors="replace")).strip()
        if line:
            lines.append(line)

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


def supports_styles(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal that can show colours and links, and redraw lines."""
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def _abandon(stream: TextIO) -> None:
    """Discard what is still printed to a stream; otherwise Python would report an error when it
    flushes it at exit."""
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
    """Raise `OutputUnusable` if the file cannot be written; called before anything is spent."""
    if path is None:
        return
    if path.is_dir():
        raise OutputUnusable(f"--out {str(path)!r}: this is a folder; name a file.")
    if not path.parent.is_dir():
        raise OutputUnusable(
            f"--out {str(path)!r}: the folder {str(path.parent)!r} does not exist."
        )
    is_new = not path.exists()
    try:
        # Checking permissions is not enough.
        if is_new or path.is_file():
            path.open("ab").close()
    except OSError as error:
        raise OutputUnusable(
            f"--out {str(path)!r}: the file cannot be written ({error.strerror})."
        ) from None
    if is_new:
        path.unlink()


def print_report(text: str) -> None:
    """Print a report given as Markdown: with styles and links on a terminal, else unchanged."""
    if not supports_styles(sys.stdout):
        print_output(text)
        return
    # Slow to import.
    from markdown_it import MarkdownIt
    from rich.console import Console
    from rich.markdown import Markdown

    rendered = Markdown("")
    parser = MarkdownIt().enable("table")
    # Links of reports are safe, but the parser would reject `file:` links.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    rendered.parsed = parser.parse(safe_text(text))
    for token in rendered.parsed:
        for opening, words in pairwise(token.children or ()):
            if opening.type == "link_open" and words.content.isdigit():
                words.content = f"[{words.content}]"
    console = Console()
    console.print(rendered, width=min(console.width, _PAGE_WIDTH))


def deliver(report: str | bytes, path: Path | None) -> bool:
    """Write a report to a file, or print it if `path` is None; returns False if the file could not
    be written.

    Text that could not be written is printed instead; bytes are not.
    """
    if path is None:
        print_output(str(report))
        return True
    try:
        path.write_bytes(report if isinstance(report, bytes) else f"{report}\n".encode())
    except OSError as error:
        failure = f"--out {str(path)!r}: {error.strerror}."
        if isinstance(report, str):
            print_error(f"{failure} The report is printed instead.")
            print_output(report)
        else:
            print_error(failure)
        return False
    say(f"Report written to {path}")
    return True
