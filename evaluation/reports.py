"""What an evaluation keeps: a report for each question, and what the run was."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, computed_field

from deep_research.evaluation.questions import Mistake
from deep_research.evaluation.wording import abstains

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
    """A report as it is measured."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    """Id of the question."""
    question: str
    """The question as it was put."""
    seconds: float
    """Seconds from the question to the report."""
    text: str
    """Its body with markers `[n]`."""
    sources: tuple[Cited, ...]
    """The sources that it cites."""

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property; pydantic's docs say so
    @property
    def answered(self) -> bool:
        """Whether it gives an answer, in place of saying that there is none."""
        return not abstains(self.text)


class Settings(BaseModel):
    """By what a run's reports were made."""

    model_config = ConfigDict(frozen=True)

    corpus: Path
    model: str
    strategy: Literal["orchestrated", "planned"]


class Shelf:
    """A folder of reports: `<id>.md` to read, `<id>.json` to measure."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, question_id: str, question: str) -> Report | None:
        """The report of a question, if there is one that was written for these very words."""
        try:
            report = Report.model_validate_json(self._file(question_id, "json").read_bytes())
        except (OSError, ValidationError):
            return None
        return report if (report.id, report.question) == (question_id, question) else None

    def write(self, report: Report, markdown: str) -> None:
        """Keep a report; the file to measure comes last, so that one that is there is whole."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self._file(report.id, "md"), markdown)
        write_text(self._file(report.id, "json"), report.model_dump_json(indent=2) + "\n")

    def has_reports(self) -> bool:
        """Whether there is any."""
        return any(self.folder.glob("*.json"))

    def clear(self) -> None:
        """Remove all reports."""
        for kind in ("json", "md"):
            for file in self.folder.glob(f"*.{kind}"):
                file.unlink()

    def _file(self, question_id: str, kind: str) -> Path:
        return self.folder / f"{file_name(question_id)}.{kind}"


def file_name(question_id: str) -> str:
    """The name under which a question's files stand: its id, or where that is no plain name, one made from it.

    Names that are made hold a `~`, which no plain one does, so that two ids never share a name.
    """
    if _PLAIN_ID.fullmatch(question_id):
        return question_id
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", question_id)[:_LONGEST_STEM].strip("-")
    return f"{stem}~{hashlib.sha256(question_id.encode()).hexdigest()[:16]}"


def claim_folder(out: Path, settings: Settings, is_fresh: bool) -> Shelf:
    """The reports below `out`, which are of these settings from now on; raises `Mistake` if they are of others."""
    shelf, file = Shelf(out / "reports"), out / "settings.json"
    if is_fresh and file.exists():
        shelf.clear()
    elif shelf.has_reports() and (kept := _settings_in(file)) and kept != settings:
        names = [name for name in Settings.model_fields if getattr(kept, name) != getattr(settings, name)]
        different = ", ".join(f"{name} {str(getattr(kept, name))!r}" for name in names)
        raise Mistake(
            f"--out {out}: it holds a run with another setting: {different}. Name another folder, or --fresh."
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_text(file, settings.model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise Mistake(f"--out {out}: it cannot be written to: {error.strerror}.") from error
    return shelf


def _settings_in(file: Path) -> Settings | None:
    try:
        return Settings.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None


def write_text(file: Path, text: str) -> None:
    """Put a text in the place of a file in one step: whoever reads it sees the old one or the new one."""
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
