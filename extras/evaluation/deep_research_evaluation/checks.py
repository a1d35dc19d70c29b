"""The command `checks`: runs the final check on finished reports.

A set is a folder with `reports/NAME.md` and the documents that they cite in `corpora/NAME/`; the
list of sources at the end of a report names them. `requests.jsonl`, if it exists, has the requests
that the reports answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, NamedTuple

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deep_research import Context, SourceDocument, check_report
from deep_research_evaluation.questions import first_fault

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


class ReportRequest(BaseModel):
    """What a report of a set was asked for; other fields of the line are ignored."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    report: str
    """Name of the report's file."""
    request: str
    """The user's words."""
    day: date | None = Field(default=None, alias="date")
    """Day of the report, which the verifier is told as today; by default, the real one."""


class ClockOfDay:
    """A run's clock that always shows noon of one day; it measures time as the clock of the
    settings does."""

    def __init__(self, day: date, context: Context) -> None:
        self._day = day
        self._clock = context.clock

    def now(self) -> datetime:
        """Return the local time, with its time zone."""
        return datetime.combine(self._day, time(12)).astimezone()

    def seconds(self) -> float:
        """Return the seconds since an arbitrary start."""
        return self._clock.seconds()

    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds."""
        await self._clock.sleep(seconds)


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


def read_requests(folder: Path) -> dict[str, ReportRequest]:
    """Return the requests of a set by the names of the reports' files; raises `UsageError`."""
    path = folder / "requests.jsonl"
    requests = dict[str, ReportRequest]()
    if not path.exists():
        return requests
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            request = ReportRequest.model_validate_json(line)
        except ValidationError as error:
            raise click.UsageError(f"{path}, line {number}: {first_fault(error)}.") from error
        requests[request.report] = request
    return requests


async def check_reports(folder: Path, context: Context) -> list[Checked]:
    """Check the reports of a set with these settings."""
    requests = read_requests(folder)
    checked = list[Checked]()
    for path in sorted(folder.glob("reports/*.md")):
        corpus = folder / "corpora" / path.stem
        checked.append(await _check(path, corpus, context, requests))
    return checked


async def _check(
    path: Path, corpus: Path, context: Context, requests: Mapping[str, ReportRequest]
) -> Checked:
    body, entries = split_report(path)
    sources = {
        number: SourceDocument(title, (corpus / file).read_text("utf-8"))
        for number, (title, file) in entries.items()
    }
    request = requests.get(path.name)
    words = ""
    if request:
        words = request.request
        if request.day:
            context = context.model_copy(update={"clock": ClockOfDay(request.day, context)})
    report = await check_report(body, sources, context, words)
    listed = [f"- [{number}] {', '.join(entries[number])}" for number in report.keys]
    return Checked(path.name, "\n".join([report.text, "", "## Sources", "", *listed, ""]), report)
