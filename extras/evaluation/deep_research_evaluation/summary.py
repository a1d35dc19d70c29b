"""The results of a run: a row for each question, their summary, and the page that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, ConfigDict, ValidationError

from deep_research_evaluation.baseline import BASELINE
from deep_research_evaluation.intervals import Estimate, estimate, quantile
from deep_research_evaluation.measures import BY_KEY, MEASURES, Figures, Measure
from deep_research_evaluation.questions import GROUPINGS
from deep_research_evaluation.reports import write_text

FILE_NAME = "rows.jsonl"
_IN_GROUPS = (
    "answer",
    "answer_in_lead",
    "answer_grounded",
    "all_gold",
    "precision",
    "abstained_rightly",
)
_NOTHING = "–"


class Row(BaseModel):
    """The outcome of a question."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    """Id of the question."""
    is_answerable: bool | None
    """Whether the documents answer it; none if unknown."""
    groups: dict[str, str]
    """Its groups by field."""
    report: str
    """Name of its files in `reports`, without extension."""
    error: str
    """Why there is no report; empty if there is one."""
    run: Figures
    """Figures of the report."""
    baseline: Figures
    """Figures of plain BM25."""


def write_rows(out: Path, rows: Sequence[Row]) -> None:
    """Write the results, a line per question."""
    write_text(out / FILE_NAME, "".join(f"{row.model_dump_json()}\n" for row in rows))


def read_rows(out: Path) -> dict[str, Row]:
    """Return the results of a run by question; raises `UsageError` if there are none."""
    file = out / FILE_NAME
    try:
        rows = [
            Row.model_validate_json(line) for line in file.read_bytes().split(b"\n") if line.strip()
        ]
    except OSError as error:
        raise click.UsageError(
            f"{out}: this is no finished run: {FILE_NAME} cannot be read ({error.strerror})."
        ) from error
    except ValidationError as error:
        raise click.UsageError(f"{file}: a line of it was not written by this command.") from error
    return {row.id: row for row in rows}


class Block(BaseModel):
    """Means over some questions, by the key of the measure."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    questions: int
    run: dict[str, Estimate]
    baseline: dict[str, Estimate]


class Summary(Block):
    """The figures of a run."""

    settings: dict[str, Any]
    """Settings of the run."""
    answerable: int
    unanswerable: int
    failed: dict[str, str]
    """Errors of questions without a report, by id."""
    seconds: dict[str, float]
    """Seconds per report: `median` and `ninth_decile`; empty without reports."""
    groups: dict[str, dict[str, Block]]
    """The same for groups of questions, by field and value."""


def summarize(rows: Sequence[Row], settings: dict[str, Any]) -> Summary:
    """Summarise the results of a run."""
    seconds = [row.run["seconds"] for row in rows if "seconds" in row.run]
    return Summary(
        **_means(rows),
        settings=settings,
        answerable=sum(row.is_answerable is True for row in rows),
        unanswerable=sum(row.is_answerable is False for row in rows),
        failed={row.id: row.error for row in rows if row.error},
        seconds={"median": quantile(seconds, 0.5), "ninth_decile": quantile(seconds, 0.9)}
        if seconds
        else {},
        groups={field: blocks for field in GROUPINGS if (blocks := _blocks(rows, field))},
    )


def _blocks(rows: Sequence[Row], field: str) -> dict[str, Block]:
    values = sorted({row.groups[field] for row in rows if field in row.groups})
    return {
        value: Block(**_means([row for row in rows if row.groups.get(field) == value]))
        for value in values
    }


def _means(rows: Sequence[Row]) -> dict[str, Any]:
    sides = {"run": [row.run for row in rows], "baseline": [row.baseline for row in rows]}
    return {"questions": len(rows)} | {
        side: {
            measure.key: estimate(values)
            for measure in MEASURES
            if (values := [row[measure.key] for row in figures if measure.key in row])
        }
        for side, figures in sides.items()
    }


def render_summary(summary: Summary) -> str:
    """Return the summary of a run as a Markdown page."""
    questions = (
        f"{summary.questions} questions: {summary.answerable} that the documents answer, {summary.unanswerable} "
        f"that they do not; {len(summary.failed)} failed."
    )
    settings = ", ".join(f"{name} {cell(str(value))}" for name, value in summary.settings.items())
    parts = ["# Questions over a closed corpus", questions, f"By {settings}.", _main_table(summary)]
    if summary.seconds:
        median, most = summary.seconds["median"], summary.seconds["ninth_decile"]
        parts.append(f"Seconds a report: median {median:.1f}, nine of ten below {most:.1f}.")
    parts.append(
        "In brackets: the 95 % interval. What each measure means: docs/guides/evaluation.md."
    )
    for field, blocks in summary.groups.items():
        parts += [f"## By {field}", _group_table(field, blocks)]
    if summary.failed:
        parts += [
            "## Failed",
            "\n".join(f"- `{cell(key)}`: {cell(why)}" for key, why in summary.failed.items()),
        ]
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *lines])


def cell(text: str) -> str:
    """Return untrusted text in one line, safe for table cells and terminals."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line.replace("|", "\\|").replace("`", "'")


def in_unit(measure: Measure, value: float) -> str:
    """Return a figure in its unit."""
    return f"{100 * value:.1f} %" if measure.is_share else f"{value:.1f}"


def _main_table(summary: Summary) -> str:
    lines = [
        [
            measure.title,
            str(summary.run[measure.key].questions),
            _with_interval(measure, summary.run[measure.key]),
            _with_interval(measure, summary.baseline.get(measure.key)),
        ]
        for measure in MEASURES
        if measure.key in summary.run
    ]
    return table(["", "questions", "this run", BASELINE], lines)


def _with_interval(measure: Measure, interval: Estimate | None) -> str:
    if interval is None:
        return _NOTHING
    low, high = (
        f"{100 * end:.0f}" if measure.is_share else f"{end:.1f}"
        for end in (interval.low, interval.high)
    )
    return f"{in_unit(measure, interval.value)} ({low}–{high})"


def _group_table(field: str, blocks: dict[str, Block]) -> str:
    keys = [key for key in _IN_GROUPS if any(key in block.run for block in blocks.values())]
    lines = [
        [cell(value), str(block.questions), *(_pair(block, key) for key in keys)]
        for value, block in blocks.items()
    ]
    return table([field, "questions", *(f"{BY_KEY[key].title} / BM25" for key in keys)], lines)


def _pair(block: Block, key: str) -> str:
    sides = (block.run.get(key), block.baseline.get(key))
    return " / ".join(in_unit(BY_KEY[key], side.value) if side else _NOTHING for side in sides)
