"""The command `checks`: puts finished reports through the check that ends a run.

A set is a folder with `reports/NAME.md` and the documents that they cite in `corpora/NAME/`; the list of sources at the
end of a report names them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from deep_research import Context, SourceDocument, check_report

_LIST = re.compile(r"^## (?:Sources|Quellen|Références)\s*$", re.MULTILINE)
_ENTRY = re.compile(r"^- \[(\d+)\] (.+), (\S+)$", re.MULTILINE)


class Checked(NamedTuple):
    """A report that went through the check."""

    name: str
    """Name of its file."""
    text: str
    """What became of it, with its list of sources."""
    report: Any
    """The same as `check_report` returns it, with its claims and its audit."""

    @property
    def verdicts(self) -> str:
        """What the check made of each unit of the draft, as JSON lines."""
        lines = (
            {
                "text": one.text,
                "shown": one.shown,
                "proof": {"words": one.words, "source": one.source, "operation": one.operation},
            }
            for one in self.report.verdicts
        )
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


async def check_reports(folder: Path, context: Context) -> list[Checked]:
    """Check the reports of a set, one after the other, with these settings."""
    return [await _check(path, folder / "corpora" / path.stem, context) for path in sorted(folder.glob("reports/*.md"))]


async def _check(path: Path, corpus: Path, context: Context) -> Checked:
    text = path.read_text("utf-8")
    entries = {int(number): (title, file) for number, title, file in _ENTRY.findall(text)}
    sources = {
        number: SourceDocument(title, (corpus / file).read_text("utf-8")) for number, (title, file) in entries.items()
    }
    report = await check_report(_LIST.split(text)[0].strip(), sources, context)
    listed = [f"- [{number}] {', '.join(entries[number])}" for number in report.keys]
    return Checked(path.name, "\n".join([report.text, "", "## Sources", "", *listed, ""]), report)
