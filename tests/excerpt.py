"""Writes the report of the demo into the page to get started: `python tests/excerpt.py`."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from deep_research import research
from deep_research.app.commands import DOCUMENTS, QUESTION

PAGE = Path(__file__).parents[1] / "docs" / "get-started.md"
QUOTED = re.compile(r"(?<=\n\n)(?:>.*\n)+")


def excerpt() -> str:
    """The report of the demo as a quotation in Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        report = research(QUESTION, docs=[DOCUMENTS], models="extractive", data_dir=Path(folder)).report
    assert report is not None
    return "".join(f"> {line}".rstrip() + "\n" for line in report.text.strip().splitlines())


if __name__ == "__main__":
    PAGE.write_text(QUOTED.sub(excerpt().replace("\\", r"\\"), PAGE.read_text("utf-8"), count=1), "utf-8")
