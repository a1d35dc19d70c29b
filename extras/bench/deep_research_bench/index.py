"""Measures how fast documents are indexed and searched: `python -m deep_research_bench index
--documents 100000`."""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from random import Random
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, NamedTuple, TypeVar

import click

from deep_research import Context, Library
from deep_research_bench.documents import LANGUAGES, Words, draw_languages, write_documents

EACH_QUESTION = 5
"""Number of queries per whole question."""
EACH_CHANGED = 99
"""One of this many documents is changed."""
RESULTS = 25
COMMON, RARE = range(40, 400), range(20_000, 60_000)
KINDS = {
    "one word": (range(50, 5_000),),
    "rare words": (RARE,) * 3,
    "common words": (COMMON,) * 4,
    "common and rare": (*((COMMON,) * 4), RARE),
    "a long sentence": (),
}
"""Ranks of the words in each kind of query."""
NAMES = range(2_000, 40_000)
"""Ranks of the names in whole questions."""
LONG = 25
"""Number of words in a long sentence, drawn like those of documents."""
Result = TypeVar("Result")


class Times(NamedTuple):
    """Durations of searches in milliseconds."""

    clock: list[float]
    processor: list[float]
    found: int
    """Number of searches with results."""


class Used(NamedTuple):
    """Resources that a process used."""

    seconds: float
    """CPU seconds, its children included."""
    own_megabytes: float
    """Peak memory,"""
    child_megabytes: float
    """and that of its largest child."""


def queries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield this many queries with the names of their kinds, in turn."""
    random = Random(seed)  # noqa: S311 - no secret
    codes = draw_languages(random, count)
    words = {code: Words(code) for code in dict.fromkeys(codes)}
    for number, code in enumerate(codes):
        kind, ranked = list(KINDS)[number % len(KINDS)], words[code].ranked
        chosen = [ranked[random.choice(ranks) % len(ranked)] for ranks in KINDS[kind]]
        yield kind, LANGUAGES[code].gap.join(chosen or words[code].draw(LONG))


def questions(count: int, seed: int) -> Iterator[str]:
    """Yield this many questions in English, each with a two-word name and with common and rare
    words."""
    random = Random(seed)  # noqa: S311 - no secret
    ranked = Words("en").ranked
    for _ in range(count):
        first, second, rare = (ranked[random.choice(NAMES)].capitalize() for _ in range(3))
        yield f"Which {ranked[random.choice(COMMON)]} did {first} {second} bring to the {rare.lower()}?"


def refresh(docs: Path, data: Path) -> float:
    """Bring the index up to date; returns the seconds that it took."""
    library, begun = _library(docs, data), perf_counter()
    library.refresh()
    return perf_counter() - begun


def search(docs: Path, data: Path, asked: Sequence[str]) -> Times:
    """Search for each query."""
    library = _library(docs, data)
    return _times(asked, lambda query: library.search(query, RESULTS))


def follow(docs: Path, data: Path, asked: Sequence[str]) -> Times:
    """Follow the names in each whole question."""
    library = _library(docs, data)
    return _times(asked, lambda question: library.follow(question, RESULTS))


def _library(docs: Path, data: Path) -> Library:
    return Library(Context(docs=(docs,), data_dir=data))


def _times(asked: Iterable[str], find: Callable[[str], object]) -> Times:
    clock, processor, found = list[float](), list[float](), 0
    for query in asked:
        begun, worked = perf_counter(), process_time()
        found += bool(find(query))
        processor.append((process_time() - worked) * 1000)
        clock.append((perf_counter() - begun) * 1000)
    return Times(clock, processor, found)


def _isolated(work: Callable[..., Result], *arguments: Any) -> tuple[Result, Used]:
    """Run the work in a separate process, so that its memory is measured alone."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_with_usage, work, *arguments).result()


def _with_usage(work: Callable[..., Result], *arguments: Any) -> tuple[Result, Used]:
    result = work(*arguments)
    unit = 1e6 if sys.platform == "darwin" else 1e3
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in (own, children))
    return result, Used(seconds, own.ru_maxrss / unit, children.ru_maxrss / unit)


@click.command()
@click.option(
    "--documents",
    default=100_000,
    show_default=True,
    type=click.IntRange(1),
    help="Documents to index.",
)
@click.option(
    "--queries",
    "count",
    default=200,
    show_default=True,
    type=click.IntRange(5),
    help="Queries to ask.",
)
@click.option(
    "--seed", default=1, show_default=True, help="Other numbers make other documents and questions."
)
def main(documents: int, count: int, seed: int) -> None:
    """Generate documents, index and search them, and print the durations."""
    cores = f"{os.cpu_count()} cores ({platform.machine()}), of which {os.getloadavg()[0]:.1f} at work already"
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    click.echo(f"{date.today():%Y-%m-%d}, {platform.system()}, {cores}, {versions}\n")
    with TemporaryDirectory() as made:
        docs, data = Path(made, "documents"), Path(made, "index")
        _row("", "seconds", "of a processor", "MB of memory", "and of a child")
        write_documents(docs, documents, seed)
        _refresh("build", docs, data)
        _refresh("nothing changed", docs, data)
        write_documents(docs, documents, seed + 1, EACH_CHANGED)
        _refresh("1 % changed", docs, data)
        for name, folder in (("documents", docs), ("index", data)):
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            click.echo(f"{name} on disk: {size / 1e6:.0f} MB")
        _search(docs, data, count, seed)


def _refresh(name: str, docs: Path, data: Path) -> None:
    seconds, used = _isolated(refresh, docs, data)
    _row(
        name,
        f"{seconds:.1f}",
        f"{used.seconds:.1f}",
        f"{used.own_megabytes:.0f}",
        f"{used.child_megabytes:.0f}",
    )


def _search(docs: Path, data: Path, count: int, seed: int) -> None:
    kinds, asked = zip(*queries(count, seed), strict=True)
    times, used = _isolated(search, docs, data, asked)
    click.echo(
        f"{times.found} of {count} queries find something; {used.own_megabytes:.0f} MB of memory\n"
    )
    _row("search", "median ms", "95th percentile", "of a processor", "95th percentile")
    for name in (*KINDS, "all"):
        indices = [index for index, kind in enumerate(kinds) if name in (kind, "all")]
        _row(
            name,
            *(
                cell
                for values in times[:2]
                for cell in _spread([values[index] for index in indices])
            ),
        )
    # A whole question makes many searches.
    times, _ = _isolated(follow, docs, data, [*questions(max(1, count // EACH_QUESTION), seed)])
    _row("a whole question", *(cell for values in times[:2] for cell in _spread(values)))


def _spread(times: Sequence[float]) -> tuple[str, str]:
    highest = quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
    return f"{median(times):.1f}", f"{highest:.1f}"


def _row(*cells: str) -> None:
    click.echo("".join(f"{cell:<18}" for cell in cells).rstrip())


if __name__ == "__main__":
    main()
