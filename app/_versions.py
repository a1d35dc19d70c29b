"""The commands for versions of a report: `revert`, and `show` with `--version` or `--diff`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from ..core.dialogue.conversation import safe_text
from ..core.writing.versions import Differences, ThreadVersions
from ._endings import reports_errors, run_interruptibly
from ._settings import RunName
from ._stored import keep_overview, open_stored_run
from ._terminal import print_output, say, supports_styles
from .output import run_json, version_line
from .words import DONE, Format, counted

_STYLES: dict[str, dict[str, Any]] = {
    "removed": {"fg": "red", "strikethrough": True},
    "added": {"fg": "green", "underline": True},
}
"""How changed words look on a terminal."""
_SIGNS: dict[str, str] = {"removed": "[-{}-]", "added": "{{+{}+}}"}
"""How they look elsewhere, as in the output of `wdiff`."""


@reports_errors
def show_version(
    thread: str, number: int, output_format: Format, data_dir: Path | None, *, is_answer: bool
) -> int:
    """Print a version of a run's report, or an answer about it."""
    name = RunName(safe_text(thread), data_dir)

    async def read() -> str:
        async with open_stored_run(name) as (book, stored):
            version = ThreadVersions(stored.state).find(number, is_answer=is_answer)
            shown = await book.with_version(stored, version)
            if output_format == "json":
                return run_json(shown)
            return f"{version_line(version)}\n\n{shown.report}"

    print_output(run_interruptibly(read()))
    return DONE


@reports_errors
def show_difference(
    thread: str, numbers: tuple[int, int], output_format: Format, data_dir: Path | None
) -> int:
    """Print what differs between two versions of a run's report: by block and word."""
    name = RunName(safe_text(thread), data_dir)

    async def read() -> Differences:
        async with open_stored_run(name) as (book, stored):
            return await book.differences(stored, *numbers)

    differences = run_interruptibly(read())
    if output_format == "json":
        print_output(json.dumps(differences.data, ensure_ascii=False, indent=2))
    elif supports_styles(sys.stdout):
        # Not `print_output`, which would remove the styles; the words are clean already.
        click.echo(difference_text(differences, is_styled=True))
    else:
        print_output(difference_text(differences, is_styled=False))
    return DONE


@reports_errors
def revert_run(thread: str, number: int, data_dir: Path | None) -> int:
    """Make a new version of a run's report with the text of an earlier one."""
    name = RunName(safe_text(thread), data_dir)

    async def revert() -> int:
        async with open_stored_run(name) as (book, stored):
            new = await book.revert(stored, number)
            await keep_overview(book, await book.read(stored.thread))
            return new.number

    new_number = run_interruptibly(revert())
    say(f"Version {new_number} has the text of version {number}: {name.command('show')}")
    return DONE


def difference_text(differences: Differences, *, is_styled: bool) -> str:
    """Return the changed blocks as text, each below its heading; unchanged ones are counted."""
    if not any(block.is_changed for block in differences.blocks):
        return "The texts are the same."
    parts = list[str]()
    skipped = list[str]()
    for block in differences.blocks:
        pieces = [_piece_text(*piece, is_styled=is_styled) for piece in block.pieces]
        if block.is_changed:
            headings = [text for text in skipped if text.startswith("#")]
            parts.append(_unchanged_line(len(skipped) - len(headings[-1:]), is_styled=is_styled))
            parts += [*headings[-1:], "".join(pieces)]
            skipped = []
        else:
            skipped += pieces
    parts.append(_unchanged_line(len(skipped), is_styled=is_styled))
    return "\n\n".join(filter(None, parts))


def _unchanged_line(count: int, *, is_styled: bool) -> str:
    """Return the line that stands for unchanged blocks; empty if there are none."""
    if not count:
        return ""
    line = f"({counted(count, 'block')} unchanged)"
    return click.style(line, dim=True) if is_styled else line


def _piece_text(change: str, text: str, *, is_styled: bool) -> str:
    """Return a piece of a block, marked if it was removed or added."""
    if change == "same":
        return text
    if is_styled:
        return click.style(text, **_STYLES[change])
    return _SIGNS[change].format(text)
