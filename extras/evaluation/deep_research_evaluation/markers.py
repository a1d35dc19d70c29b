"""The command `markers`: counts how many citations of reports from elsewhere are understood."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from deep_research import Context, errors
from deep_research.app.check_file import ReportFile

_CODE = re.compile(r"^\s*(`{3,}|~{3,}).*?^\s*\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"(?<!\\)\[(\d+(?:, ?\d+)*)\]")


class Counted(NamedTuple):
    """The citations of a report."""

    name: str
    resolved: int
    """Numbers in its markers outside code whose source has an address or the name of a file;
    neighbouring repetitions count once."""
    without_address: int
    """Numbers whose source has neither."""
    not_understood: Sequence[str]
    """What is named as not understood, each once."""


async def count_markers(paths: Sequence[Path]) -> list[Counted]:
    """Return the counts of all reports: files (Markdown, HTML, Word), folders of these, and JSON
    lines with `id` and `report`."""
    counted = list[Counted]()
    for name, data in _reports(paths):
        try:
            report = await ReportFile.read(data, name, Context(models="extractive"))
        except errors.ReportUnreadable as error:
            raise click.UsageError(str(error)) from error
        unknown = {marker.number for marker in report.not_understood}
        resolved = 0
        without_address = 0
        last = ""
        end = 0
        text = _CODE.sub("", report.text)
        for marker in _MARKER.finditer(text):
            is_repeated = marker[1] == last and not text[end : marker.start()].strip()
            last = marker[1]
            end = marker.end()
            if is_repeated:
                continue
            for number in map(int, marker[1].split(",")):
                if number not in report.targets or number in unknown:
                    continue
                if report.targets[number].address:
                    resolved += 1
                else:
                    without_address += 1
        words = [marker.words for marker in report.not_understood]
        counted.append(Counted(name, resolved, without_address, words))
    return counted


def _reports(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield the reports with a name for each, whose suffix is that of its format."""
    for path in paths:
        if path.is_dir():
            yield from _reports(sorted(path.glob("*.*")))
        elif path.suffix == ".jsonl":
            for line in path.read_text("utf-8").splitlines():
                report = json.loads(line)
                yield f"{report['id']}.md", str(report["report"]).encode()
        elif path.suffix in (".md", ".html", ".docx"):
            yield path.name, path.read_bytes()
