"""The command `checks`: runs the final check on finished reports.

A set is a folder with `reports/NAME.md` and the documents that they cite in `corpora/NAME/`; the
list of sources at the end of a report names them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import click

from deep_research import Context, SourceDocument, check_report

_LIST = re.compile(r"^## (?:Sources|Quellen|Références)\s*$", re.MULTILINE)
_ENTRY = re.compile(r"^- \[(\d+)\] (.+), (\S+)$", re.MULTILINE)


class Checked(NamedTuple):
    """A checked report."""

    name: str
    """Name of its file."""
    text: str
    """The checked text with its list of sources."""
    report: Any
    """Result of `check_report`, with claims and audit."""

    @property
    def verdicts(self) -> str:
        """Verdicts on the units of the draft, as JSON lines."""
        lines = (
            {
                "text": verdict.text,
                "shown": verdict.shown,
                "proof": {
                    "words": verdict.words,
                    "source": verdict.source,
                    "decided_by": verdict.decided_by,
                    "calculations": [line.model_dump() for line in verdict.calculations],
                },
            }
            for verdict in self.report.verdicts
        )
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def split_report(path: Path) -> tuple[str, dict[int, tuple[str, str]]]:
    """Return a report without its list of sources, and the sources' titles and files by number.

    Raises `UsageError` if it lists no source.
    """
    body, *listed = _LIST.split(path.read_text("utf-8"))
    entries = {
        int(number): (title, file)
        for text in listed
        for number, title, file in _ENTRY.findall(text)
    }
    if not entries:
        raise click.UsageError(
            f'{path}: there is no heading "Sources" with lines such as "- [1] Title, file.md".'
        )
    return body.strip(), entries


async def check_reports(folder: Path, context: Context) -> list[Checked]:
    """Check the reports of a set with these settings."""
    return [
        await _check(path, folder / "corpora" / path.stem, context)
        for path in sorted(folder.glob("reports/*.md"))
    ]


async def _check(path: Path, corpus: Path, context: Context) -> Checked:
    body, entries = split_report(path)
    sources = {
        number: SourceDocument(title, (corpus / file).read_text("utf-8"))
        for number, (title, file) in entries.items()
    }
    report = await check_report(body, sources, context)
    listed = [f"- [{number}] {', '.join(entries[number])}" for number in report.keys]
    return Checked(path.name, "\n".join([report.text, "", "## Sources", "", *listed, ""]), report)
