"""How fast documents are indexed and searched: `python -m deep_research.bench.index --documents 100000`."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

import click

EACH_QUESTION = 5
"""One whole question is asked for so many queries."""
EACH_CHANGED = 99
"""Of so many documents, one is changed."""


@click.command()
@click.option("--documents", default=100_000, show_default=True, type=click.IntRange(1), help="Documents to index.")
@click.option("--queries", default=200, show_default=True, type=click.IntRange(5), help="Queries to ask.")
@click.option("--seed", default=1, show_default=True, help="Other numbers make other documents and questions.")
@click.option("--folder", type=click.Path(path_type=Path), help="Leave documents and index in this new folder.")
def main(documents: int, queries: int, seed: int, folder: Path | None) -> None:
    """Write made-up documents, index and search them, and tell how long that takes."""
    click.echo(_machine())
    with _place(folder) as place:
        _row("", "seconds", "of a processor", "MB of memory", "and of a child")
        docs, data = place / "documents", place / "index"
        _run("documents", docs, documents, seed)
        _refresh("build", docs, data)
        _refresh("nothing changed", docs, data)
        _run("documents", docs, documents, seed + 1, EACH_CHANGED)
        _refresh("1 % changed", docs, data)
        _tell_sizes(docs, data)
        _search(docs, data, queries, seed)


def _machine() -> str:
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    cores = f"{os.cpu_count()} cores ({platform.machine()}), of which {os.getloadavg()[0]:.1f} at work already"
    return f"{date.today():%Y-%m-%d}, {platform.system()}, {cores}, {versions}\n"


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    if folder:
        if folder.exists():
            raise click.UsageError(f"--folder {folder} is there already: name a new one.")
        yield folder
        return
    with TemporaryDirectory() as made:
        yield Path(made)


def _run(module: str, *arguments: object) -> str:
    # Each step runs in a process of its own, so that it is measured without the memory of the others.
    command = [sys.executable, "-m", f"deep_research.bench.{module}", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603 - our own


def _refresh(name: str, docs: Path, data: Path) -> None:
    seen: dict[str, Any] = json.loads(_run("measure", "refresh", docs, data))
    seconds = [f"{seen[key]:.1f}" for key in ("seconds", "processor")]
    _row(name, *seconds, *(f"{seen[key]:.0f}" for key in ("own_megabytes", "child_megabytes")))


def _tell_sizes(docs: Path, data: Path) -> None:
    for name, folder in (("documents", docs), ("index", data)):
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        click.echo(f"{name} on disk: {size / 1e6:.0f} MB")


def _search(docs: Path, data: Path, count: int, seed: int) -> None:
    seen: dict[str, Any] = json.loads(_run("measure", "search", docs, data, count, seed))
    click.echo(f"{seen['found']} of {count} queries find something; {seen['own_megabytes']:.0f} MB of memory\n")
    _row("search", "median ms", "95th percentile", "of a processor", "95th percentile")
    for name in (*dict.fromkeys(seen["kinds"]), "all"):
        places = [place for place, kind in enumerate(seen["kinds"]) if name in (kind, "all")]
        _times(name, {key: [seen[key][place] for place in places] for key in ("times", "worked")})
    # A whole question makes many searches.
    _times("a whole question", json.loads(_run("measure", "follow", docs, data, max(1, count // EACH_QUESTION), seed)))


def _times(name: str, seen: dict[str, Any]) -> None:
    _row(name, *(cell for key in ("times", "worked") for cell in _spread(seen[key])))


def _spread(times: Sequence[float]) -> tuple[str, str]:
    highest = quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
    return f"{median(times):.1f}", f"{highest:.1f}"


def _row(*cells: str) -> None:
    click.echo("".join(f"{cell:<18}" for cell in cells).rstrip())


if __name__ == "__main__":
    main()
