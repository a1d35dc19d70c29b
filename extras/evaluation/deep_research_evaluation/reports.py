"""The folder of an evaluation: a report for each question, and their settings."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Literal

import click
from pydantic import BaseModel, ConfigDict, ValidationError, computed_field

from deep_research_evaluation.wording import abstains

_PLAIN_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}")
_LONGEST_STEM = 60


class Cited(BaseModel):
    """A source that a report cites."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    n: int
    """Its number."""
    path: str
    """Its path, relative to the corpus."""
    title: str


class Report(BaseModel):
    """A report to measure."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    """Id of the question."""
    question: str
    """Text of the question."""
    seconds: float
    """Seconds from the question to the report."""
    text: str
    """Its body with markers `[n]`."""
    sources: tuple[Cited, ...]
    """The sources that it cites."""

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property; pydantic's docs say so
    @property
    def answered(self) -> bool:
        """Whether it answers, instead of saying that there is no answer."""
        return not abstains(self.text)


class Settings(BaseModel):
    """The settings of a run's reports."""

    model_config = ConfigDict(frozen=True)

    corpus: Path
    model: str
    strategy: Literal["orchestrated", "planned"]


class ReportFolder:
    """A folder of reports: `<id>.md` to read, `<id>.json` to measure."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, question_id: str, question: str) -> Report | None:
        """Return the report of a question, if there is one for exactly this text."""
        try:
            report = Report.model_validate_json(self._file(question_id, "json").read_bytes())
        except (OSError, ValidationError):
            return None
        return report if (report.id, report.question) == (question_id, question) else None

    def write(self, report: Report, markdown: str) -> None:
        """Write a report; the JSON file comes last and marks it as complete."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_text(self._file(report.id, "md"), markdown)
        write_text(self._file(report.id, "json"), report.model_dump_json(indent=2) + "\n")

    def _file(self, question_id: str, kind: str) -> Path:
        return self._folder / f"{file_name(question_id)}.{kind}"


def file_name(question_id: str) -> str:
    """Return the name of a question's files: its id, or a derived name if the id is not a plain
    file name.

    Only derived names contain a `~`, so that two ids never share a name.
    """
    if _PLAIN_ID.fullmatch(question_id):
        return question_id
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", question_id)[:_LONGEST_STEM].strip("-")
    return f"{stem}~{hashlib.sha256(question_id.encode()).hexdigest()[:16]}"


def open_reports(out: Path, settings: Settings) -> ReportFolder:
    """Return the folder of reports below `out`; raises `UsageError` if it has reports of other
    settings."""
    file, folder = out / "settings.json", out / "reports"
    try:
        kept = Settings.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        kept = settings
    if kept != settings and any(folder.glob("*.json")):
        names = [
            name for name in Settings.model_fields if getattr(kept, name) != getattr(settings, name)
        ]
        different = ", ".join(f"{name} {str(getattr(kept, name))!r}" for name in names)
        raise click.UsageError(
            f"--out {out}: it holds a run with another setting: {different}. Name another folder."
        )
    out.mkdir(parents=True, exist_ok=True)
    write_text(file, settings.model_dump_json(indent=2) + "\n")
    return ReportFolder(folder)


def write_text(file: Path, text: str) -> None:
    """Replace a file atomically."""
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
