"""Measures whole runs on fake servers: `python -m deep_research_bench wire [CASE ...]`."""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click

from deep_research_bench.wire.figures import figures
from deep_research_bench.wire.policy import Load

QUESTION = "Compare three ways to store surplus solar energy for a small town, with costs."
TIMEOUT = 1800
_SLOW = "first_token_ms=50,token_ms=2"
CASES = (
    *(
        "orchestrated,3,2,2",
        "orchestrated,3,4,4",
        "orchestrated,3,8,8",
        "planned,3,2,2",
        "planned,3,4,4",
    ),
    *(
        f"{load},{_SLOW}"
        for load in ("orchestrated,3,2,2", "orchestrated,3,4,4", "planned,3,2,2", "planned,3,4,4")
    ),
    *(f"orchestrated,{load},{_SLOW},fetches=0" for load in ("3,2,2", "3,4,4")),
    *(f"table,{rows},1,1,fetches=1,{_SLOW}" for rows in (10, 40, 100)),
    "orchestrated,5,5,4,page_characters=200000",
)
"""The last one reads 500 long pages."""

Row = dict[str, Any]
COLUMNS: dict[str, Callable[[Row], str]] = {
    "calls": lambda row: f"{row['calls']:.0f}",
    "wall / ideal": lambda row: f"{row['wall_s'] / row['ideal_s']:.2f}" if row["ideal_s"] else "–",
    "wall s": lambda row: f"{row['wall_s']:.1f}",
    "ms a call": lambda row: f"{1000 * row['processor_s'] / row['calls']:.0f}",
    "ms a page": lambda row: (
        f"{1000 * row['children_s'] / row['pages']:.0f}" if row["pages"] else "–"
    ),
    "billable": lambda row: f"{row['billable_tokens']:,.0f}",
    "database MB": lambda row: f"{row['database_bytes'] / 1e6:.1f}",
    "memory MB": lambda row: f"{row['memory_mb']:.0f}",
    "stalls": lambda row: f"{row['stalls']:.0f}",
    "first event s": lambda row: f"{row['first_event_s']:.2f}",
}


class Case(NamedTuple):
    """A measured case."""

    strategy: str
    researchers: int
    rounds: int
    searches: int
    fetches: int = 5
    first_token_ms: float = 0
    """Milliseconds of the model for its first token,"""
    token_ms: float = 0
    """and for each."""
    page_characters: int = 20_000

    @property
    def load(self) -> Load:
        """The amount of work that the policy makes."""
        return Load(self.researchers, self.rounds, self.searches, self.fetches)

    @property
    def name(self) -> str:
        """The case in words."""
        delays = (
            f", {self.first_token_ms:g} + {self.token_ms:g} ms a token" if self.token_ms else ""
        )
        pages = (
            f"{self.fetches} pages of {self.page_characters:,} characters"
            if self.fetches
            else "no pages"
        )
        return (
            f"{self.strategy} ({self.researchers}, {self.rounds}, {self.searches}){delays}, {pages}"
        )


@click.command()
@click.argument("cases", nargs=-1)
@click.option(
    "--runs", default=1, type=click.IntRange(1), help="Runs of each case; the median counts."
)
@click.option(
    "--json",
    "results",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write all rows to this file.",
)
def main(cases: tuple[str, ...], runs: int, results: Path | None) -> None:
    """Measure whole runs on fake servers: time, CPU, memory, tokens and database.

    A case is STRATEGY,RESEARCHERS,ROUNDS,SEARCHES[,NAME=VALUE ...], with the names fetches,
    first_token_ms, token_ms and page_characters. Of a table, RESEARCHERS are the rows.
    """
    wanted = [_case(text) for text in cases or CASES]
    rows = list[Row]()
    lines = [["case", *COLUMNS], ["---"] * (len(COLUMNS) + 1)]
    for case in wanted:
        own = list[Row]()
        for number in range(1, runs + 1):
            click.echo(f"{case.name}, run {number} of {runs}", err=True)
            own.append(_measured(case))
        rows += own
        lines.append([case.name, *_cells(own)])
    machine = _machine()
    if results:
        results.write_text(
            json.dumps({"machine": machine, "rows": rows}, indent=1), encoding="utf-8"
        )
    click.echo(f"{', '.join(f'{name} {value}' for name, value in machine.items())}\n")
    for line in lines:
        click.echo(f"| {' | '.join(line)} |")


def _case(text: str) -> Case:
    strategy, *rest = text.split(",")
    numbers = [argument for argument in rest if "=" not in argument]
    named = dict(argument.split("=", 1) for argument in rest if "=" in argument)
    try:
        return Case(
            strategy, *map(int, numbers), **{name: int(value) for name, value in named.items()}
        )
    except (TypeError, ValueError) as error:
        form = "STRATEGY,RESEARCHERS,ROUNDS,SEARCHES[,NAME=VALUE ...]"
        raise click.UsageError(f"{text!r} is no case: write {form}.") from error


def _measured(case: Case) -> Row:
    """Return the figures of one run."""
    with (
        TemporaryDirectory(prefix="bench-") as folder,
        servers(
            case.load, case.page_characters, folder, case.first_token_ms, case.token_ms
        ) as environment,
    ):
        given = {
            "question": QUESTION,
            "load": case.load,
            "strategy": case.strategy,
            "folder": folder,
        }
        result = run(given, environment)
        return {"case": case._asdict(), **figures(Path(folder)), **result}


def run(given: Row, environment: dict[str, str]) -> Row:
    """Run once in a separate process and return the result."""
    folder = given["folder"]
    command = [sys.executable, "-m", "deep_research_bench.wire.run", json.dumps(given)]
    ended = subprocess.run(command, cwd=folder, env=environment, timeout=TIMEOUT, check=False)  # noqa: S603 - our own
    if ended.returncode:
        return {"error": f"the run ended with code {ended.returncode}"}
    result: Row = json.loads(Path(folder, "result.json").read_text(encoding="utf-8"))
    return result


@contextmanager
def servers(
    load: Load, page_characters: int, folder: str, first_token_ms: float = 0, token_ms: float = 0
) -> Iterator[dict[str, str]]:
    """Start both servers; yields the complete environment of the measured process."""
    model, search = free_port(), free_port()
    settings = {"load": load, "first_token_ms": first_token_ms, "token_ms": token_ms}
    commands = (
        ("model_server", str(model), folder, json.dumps(settings)),
        ("search_server", str(search), folder, str(page_characters)),
    )
    started = [
        subprocess.Popen([sys.executable, "-m", f"deep_research_bench.wire.{name}", *arguments])  # noqa: S603 - our own
        for name, *arguments in commands
    ]
    try:
        for port in (model, search):
            wait_for(port)
        yield {
            **{
                name: value
                for name, value in os.environ.items()
                if name in ("PATH", "HOME", "LANG", "TMPDIR")
            },
            **{"OPENAI_BASE_URL": f"http://127.0.0.1:{model}/v1", "OPENAI_API_KEY": "none"},
            **{"TAVILY_BASE_URL": f"http://127.0.0.1:{search}", "TAVILY_API_KEY": "tvly-none"},
            "LANGSMITH_TRACING": "false",
        }
    finally:
        for server in started:
            server.kill()
            server.wait()


def free_port() -> int:
    """Return a free local port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(port: int, seconds: float = 30) -> None:
    """Wait until a port accepts connections."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise click.ClickException(f"Nobody listens at port {port}.")


def _machine() -> dict[str, str]:
    packages = {name: version(name) for name in ("langgraph", "langchain-openai")}
    load = f"{os.cpu_count()} ({platform.machine()}), of which {os.getloadavg()[0]:.1f} at work"
    return {
        "date": f"{date.today()}",
        "cores": load,
        "Python": platform.python_version(),
        **packages,
    }


def _cells(rows: Sequence[Row]) -> list[str]:
    """Return the cells of a case: medians of its runs, or the error."""
    good = [row for row in rows if not row["error"]]
    if not good:
        return [rows[0]["error"], *[""] * (len(COLUMNS) - 1)]
    middle = {
        name: median(row[name] for row in good)
        for name, value in good[0].items()
        if not isinstance(value, str | dict)
    }
    return [show(middle) for show in COLUMNS.values()]


if __name__ == "__main__":
    main()
