"""The results of a run, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from deep_research.evaluation.measures import Figures
from deep_research.evaluation.mistakes import Mistake
from deep_research.evaluation.reports import write_text

FILE_NAME = "rows.jsonl"


class Row(BaseModel):
    """What came of one question."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    """Id of the question."""
    is_answerable: bool | None
    """Whether the documents answer it; none if nobody says so."""
    groups: dict[str, str]
    """The groups that it belongs to, by the field that says so."""
    report: str
    """Name of its files in `reports`, without ending."""
    error: str
    """Why there is no report; empty if there is one."""
    run: Figures
    """Figures of the report."""
    baseline: Figures | None
    """Figures of plain BM25; none if it was not asked."""


def write_rows(out: Path, rows: Sequence[Row]) -> None:
    """Keep the results, a line a question."""
    write_text(out / FILE_NAME, "".join(f"{row.model_dump_json()}\n" for row in rows))


def read_rows(out: Path) -> dict[str, Row]:
    """The results of a run by question; raises `Mistake` if there are none."""
    file = out / FILE_NAME
    try:
        lines = file.read_bytes().split(b"\n")
        rows = [Row.model_validate_json(line) for line in lines if line.strip()]
    except OSError as error:
        raise Mistake(f"{out}: this is no finished run: {FILE_NAME} cannot be read ({error.strerror}).") from error
    except ValidationError as error:
        raise Mistake(f"{file}: a line of it was not written by this command.") from error
    return {row.id: row for row in rows}
