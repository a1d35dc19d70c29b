"""Standard output, standard error and files: what is printed, asked and written, without harm to terminal or pipe."""

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

from ..core.run.conversation import clean
from ..core.run.errors import DeepResearchError, UserMistake
from .words import Format

PAGE_WIDTH = 100
"""Columns of a report on a terminal, at most."""


LINE_BYTES = 4096
"""Of a line that is typed, at most; terminals hand over no more."""


class Unprintable(DeepResearchError):
    """Standard output takes nothing more."""


class ReaderGone(DeepResearchError):
    """Nobody reads the packets any more."""


def put_out(text: str) -> bool:
    """Print to standard output; returns whether anybody reads it, for hanging up is no error. Raises `Unprintable`."""
    try:
        click.echo(clean(text))
        return True
    except BrokenPipeError:
        _abandon(sys.stdout)
        return False
    except OSError as error:
        _abandon(sys.stdout)
        raise Unprintable(f"The output could not be printed: {error.strerror}.") from error


def say(words: str) -> None:
    """Print for the person who watches; whether anybody does makes no difference to the run."""
    try:
        click.echo(clean(words), err=True)
    except OSError:
        _abandon(sys.stderr)


def complain(words: object) -> None:
    """Say what is wrong, in one line."""
    say(f"Error: {' '.join(str(words).split())}")


def ask(words: str) -> str:
    """Ask until there is an answer; empty if the user ends the input instead."""
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
        if answer := clean(line).strip():
            return answer


@contextmanager
def typed_lines() -> Iterator[list[str]]:
    """Collect the lines that are typed while the running event loop is at work."""
    lines, loop = list[str](), asyncio.get_running_loop()
    if not can_ask():
        yield lines
        return
    terminal = sys.stdin.fileno()

    def take() -> None:
        typed = os.read(terminal, LINE_BYTES)
        if not typed:
            loop.remove_reader(terminal)
        lines.extend(filter(None, [clean(typed.decode(errors="replace")).strip()]))

    # Windows' loop cannot wait for a terminal.
    with suppress(NotImplementedError):
        loop.add_reader(terminal, take)
    try:
        yield lines
    finally:
        with suppress(NotImplementedError):
            loop.remove_reader(terminal)


def can_ask() -> bool:
    """Whether somebody sits there who can read a question and answer it."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is there and is a terminal."""
    return stream is not None and stream.isatty()


def _abandon(stream: TextIO) -> None:
    # The interpreter flushes both streams at its end and would complain about what is left in them.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class OutputUnusable(UserMistake):
    """The report could not be written where, or in the form in which, it is wanted."""


class Output(NamedTuple):
    """Where the report goes."""

    path: Path | None
    """The file; none: standard output."""
    format: Format | None
    """What is asked for; none: what the name of the file says."""


def check_output(path: Path | None) -> None:
    """Raise `OutputUnusable` if it can be seen before the run that the report could not be written."""
    if path is None:
        return
    if path.is_dir():
        raise OutputUnusable(f"--out {str(path)!r}: this is a folder; name a file.")
    if not path.parent.is_dir():
        raise OutputUnusable(f"--out {str(path)!r}: there is no folder {str(path.parent)!r}.")
    is_new = not path.exists()
    try:
        # A folder can refuse what its permissions allow.
        if is_new or path.is_file():
            path.open("ab").close()
    except OSError as error:
        raise OutputUnusable(f"--out {str(path)!r}: it cannot be written here ({error.strerror}).") from None
    if is_new:
        path.unlink()


def put_out_report(text: str) -> None:
    """Print a report: rendered on a terminal, with links that can be opened; else as Markdown."""
    if not is_terminal(sys.stdout) or os.environ.get("TERM") == "dumb":
        put_out(text)
        return
    # They take long to import, and help does without them.
    from markdown_it import MarkdownIt
    from rich.console import Console
    from rich.markdown import Markdown

    rendered, parser = Markdown(""), MarkdownIt().enable("table")
    # The links of a report are known to be harmless; the parser itself opens none to files.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005 - its own way
    rendered.parsed = parser.parse(clean(text))
    for token in rendered.parsed:
        for opening, words in pairwise(token.children or ()):
            if opening.type == "link_open" and words.content.isdigit():
                words.content = f"[{words.content}]"
    console = Console()
    console.print(rendered, width=min(console.width, PAGE_WIDTH))


def deliver(report: str | bytes, path: Path | None) -> bool:
    """Write the report, or print it where it cannot be written; returns whether it went where it was wanted.

    Bytes are never printed.
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
