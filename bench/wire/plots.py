"""Draws results with matplotlib: `python -m deep_research.bench.wire.plots RESULTS.json FOLDER`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click

Row = dict[str, Any]


@click.command()
@click.argument("results", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def main(results: Path, folder: Path) -> None:
    """Draw three SVG files into a folder: time, processor and database of each case."""
    rows = [row for row in json.loads(results.read_text(encoding="utf-8"))["rows"] if not row["error"]]
    delayed = [row for row in rows if row["case"]["token_ms"]]
    quick = [row for row in rows if not row["case"]["token_ms"]]
    folder.mkdir(parents=True, exist_ok=True)
    _draw(
        folder / "time.svg",
        "Time of a run, in times of the ideal",
        delayed,
        {"run": lambda row: row["wall_s"] / row["ideal_s"]},
    )
    each: dict[str, Callable[[Row], float]] = {
        "run": lambda row: 1000 * row["processor_s"] / row["calls"],
        "bare client, streamed": lambda row: row["bare_ms"]["stream"],
        "bare client": lambda row: row["bare_ms"]["invoke"],
    }
    _draw(folder / "processor.svg", "Milliseconds of the processor for a model call", quick, each)
    _draw(
        folder / "database.svg",
        "Kilobytes of the database for a model call",
        quick,
        {"run": lambda row: row["database_bytes"] / row["calls"] / 1000},
    )


def _draw(path: Path, title: str, rows: Sequence[Row], values: dict[str, Callable[[Row], float]]) -> None:
    """Bars, a group a case and a bar a value."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise click.ClickException("The plots need matplotlib: .venv/bin/pip install matplotlib.") from error
    cases = list(dict.fromkeys(_label(row) for row in rows))
    figure = Figure(figsize=(8, 1 + 0.45 * len(cases)), layout="constrained")
    axes = figure.add_subplot(title=title)
    height = 0.8 / len(values)
    for number, (name, value) in enumerate(values.items()):
        widths = [median(value(row) for row in rows if _label(row) == case) for case in cases]
        bars = axes.barh([place + number * height for place in range(len(cases))], widths, height, label=name)
        axes.bar_label(bars, fmt="%.3g", padding=3)
    axes.set_yticks([place + 0.4 - height / 2 for place in range(len(cases))], cases)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    if len(values) > 1:
        axes.legend()
    figure.savefig(path, metadata={"Date": None})


def _label(row: Row) -> str:
    case = row["case"]
    pages = "" if case["fetches"] else ", no pages"
    pages += ", long pages" if case["page_characters"] > 100_000 else ""
    return f"{case['strategy']} ({case['researchers']}, {case['rounds']}, {case['searches']}){pages}"


if __name__ == "__main__":
    main()
