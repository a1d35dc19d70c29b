"""Measures whole runs on fake servers: `python -m deep_research.bench.wire [CASE ...]`.

A case is `STRATEGY,RESEARCHERS,ROUNDS,SEARCHES[,NAME=VALUE ...]` with the names of `Case`, for example
`orchestrated,3,4,4,first_token_ms=50,token_ms=2`.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import click

from deep_research.bench.wire.figures import figures
from deep_research.bench.wire.policy import Load

HERE = Path(__file__).parent
QUESTION = "Compare three ways to store surplus solar energy for a small town, with costs."
TIMEOUT = 1800
CASES = (
    *("orchestrated,3,2,2", "orchestrated,3,4,4", "orchestrated,3,8,8", "planned,3,2,2", "planned,3,4,4"),
    *(f"{load},first_token_ms=50,token_ms=2" for load in ("orchestrated,3,2,2", "orchestrated,3,4,4")),
    *(f"{load},first_token_ms=50,token_ms=2" for load in ("planned,3,2,2", "planned,3,4,4")),
    "orchestrated,3,2,2,first_token_ms=50,token_ms=2,fetches=0",
    "orchestrated,3,4,4,first_token_ms=50,token_ms=2,fetches=0",
    "orchestrated,5,5,4,page_characters=200000",
)
"""The last one reads 500 long pages."""
MODES = {"updates": ["updates", "values"], "all": ["updates", "messages", "custom", "values"]}
HEAD = (
    *("case", "calls", "wall / ideal", "wall s", "ms a call", "× whole", "× streamed", "ms a page", "billable"),
    *("database MB", "memory MB", "stalls", "first event s"),
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What is measured."""

    strategy: str
    researchers: int
    rounds: int
    searches: int
    fetches: int = 5
    first_token_ms: float = 0
    """Time that the model takes for its first token,"""
    token_ms: float = 0
    """and for each."""
    page_characters: int = 20_000
    modes: str = "updates"
    """What is listened to: `updates`, or `all` modes, as by a user interface that shows each word."""

    @property
    def load(self) -> Load:
        """The work that the policy makes."""
        return Load(self.researchers, self.rounds, self.searches, self.fetches)


@click.command()
@click.argument("cases", nargs=-1)
@click.option(
    "--runs", default=1, show_default=True, type=click.IntRange(1), help="Runs of each case; the median counts."
)
@click.option("--json", "results", type=click.Path(path_type=Path, dir_okay=False), help="Write all rows to this file.")
@click.option("--target", default=HERE / "ours.py", type=click.Path(path_type=Path, exists=True), help="Another graph.")
@click.option("--python", default=sys.executable, help="The Python that has that graph's packages.")
@click.option("--context", default="{}", help="Settings over those of the target, as JSON.")
def main(cases: tuple[str, ...], runs: int, results: Path | None, target: Path, python: str, context: str) -> None:
    """Measure whole runs on fake servers: time, processor, memory, tokens and database, beside a bare client.

    A case is STRATEGY,RESEARCHERS,ROUNDS,SEARCHES[,NAME=VALUE ...].
    """
    wanted = [_case(text) for text in cases or CASES]
    settings = {"target": str(target.resolve()), "context": json.loads(context)}
    rows = list[Row]()
    for case in wanted:
        for number in range(1, runs + 1):
            click.echo(f"{_name(case)}, run {number} of {runs}", err=True)
            rows.append(_measured(case, settings, python))
            if rows[-1]["error"]:
                click.echo(rows[-1]["error"], err=True)
    machine = _machine()
    if results:
        results.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1), encoding="utf-8")
    click.echo(f"{', '.join(f'{name} {value}' for name, value in machine.items())}\n")
    for line in (
        HEAD,
        ["---"] * len(HEAD),
        *(_line([row for row in rows if row["case"] == asdict(one)]) for one in wanted),
    ):
        click.echo(f"| {' | '.join(line)} |")


def _case(text: str) -> Case:
    strategy, *rest = text.split(",")
    numbers = [int(one) for one in rest if "=" not in one]
    named = dict(one.split("=", 1) for one in rest if "=" in one)
    kinds = {"fetches": int, "first_token_ms": float, "token_ms": float, "page_characters": int, "modes": str}
    if len(numbers) != 3 or named.keys() - kinds.keys() or named.get("modes", "all") not in MODES:
        raise click.UsageError(f"{text!r} is no case: write STRATEGY,RESEARCHERS,ROUNDS,SEARCHES[,NAME=VALUE ...].")
    return Case(strategy, *numbers, **{name: kinds[name](value) for name, value in named.items()})  # type: ignore[arg-type]  # by name


def _measured(case: Case, settings: Row, python: str) -> Row:
    """One run, its figures, and what the same requests cost a bare client right after it."""
    with TemporaryDirectory(prefix="bench-") as made:
        folder = Path(made)
        with _servers(case, folder) as environment:
            given = {
                **settings,
                **{
                    "question": QUESTION,
                    "load": asdict(case.load),
                    "strategy": case.strategy,
                    "modes": MODES[case.modes],
                },
                **{"database": str(folder / "runs.sqlite"), "result": str(folder / "result.json")},
            }
            command = [python, str(HERE / "measure.py"), json.dumps(given)]
            ended = subprocess.run(command, cwd=folder, env=environment, timeout=TIMEOUT, check=False)  # noqa: S603 - the user names it
            row = {"case": asdict(case), **figures(folder)}
        if ended.returncode:
            return {**row, "error": f"the run ended with code {ended.returncode}"}
        row |= json.loads((folder / "result.json").read_text(encoding="utf-8"))
        bare = {how: _bare(case, folder, how) for how in ("invoke", "stream")} if row["calls"] else {}
        return {**row, "bare_ms": bare}


def _bare(case: Case, folder: Path, how: str) -> float:
    requests = folder / "requests.jsonl"
    with TemporaryDirectory(prefix="bench-") as made, _servers(case, Path(made)) as environment:
        command = [sys.executable, "-m", "deep_research.bench.wire.floor", str(requests), how]
        return float(subprocess.check_output(command, env=environment, timeout=TIMEOUT))  # noqa: S603 - our own


@contextmanager
def _servers(case: Case, folder: Path) -> Iterator[dict[str, str]]:
    """Both servers at work; the environment in which the measured run finds them, and nothing else."""
    model, search = _free_port(), _free_port()
    settings = {"load": asdict(case.load), "first_token_ms": case.first_token_ms, "token_ms": case.token_ms}
    commands = (
        ("model_server", str(model), str(folder), json.dumps(settings)),
        ("search_server", str(search), str(folder), str(case.page_characters)),
    )
    started = [
        subprocess.Popen([sys.executable, "-m", f"deep_research.bench.wire.{name}", *arguments])  # noqa: S603 - our own
        for name, *arguments in commands
    ]
    try:
        for port in (model, search):
            _wait_for(port)
        yield {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")},
            **{"OPENAI_BASE_URL": f"http://127.0.0.1:{model}/v1", "OPENAI_API_KEY": "none"},
            **{"TAVILY_BASE_URL": f"http://127.0.0.1:{search}", "TAVILY_API_KEY": "tvly-none"},
            "LANGSMITH_TRACING": "false",
        }
    finally:
        for server in started:
            server.send_signal(signal.SIGKILL)
            server.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise click.ClickException("The fake servers did not start.")


def _machine() -> dict[str, str]:
    packages = {name: version(name) for name in ("langgraph", "langchain-openai")}
    load = f"{os.cpu_count()} ({platform.machine()}), of which {os.getloadavg()[0]:.1f} at work"
    return {"date": f"{date.today()}", "cores": load, "Python": platform.python_version(), **packages}


def _name(case: Case) -> str:
    delays = f", {case.first_token_ms:g} + {case.token_ms:g} ms a token" if case.token_ms else ""
    pages = ", no pages" if not case.fetches else f", {case.fetches} pages of {case.page_characters:,} characters"
    listened = "" if case.modes == "updates" else ", each word shown"
    return f"{case.strategy} ({case.researchers}, {case.rounds}, {case.searches}){delays}{pages}{listened}"


def _line(rows: Sequence[Row]) -> list[str]:
    """A line of the table: the medians of the runs of a case."""
    good = [row for row in rows if not row["error"]]
    case = Case(**rows[0]["case"])
    if not good:
        return [_name(case), rows[0]["error"], *[""] * (len(HEAD) - 2)]
    rows = good

    def middle(value: Any) -> float:
        return float(median(value(row) for row in rows))

    a_call = middle(lambda row: 1000 * row["processor_s"] / row["calls"])
    long, very_long = (max(row[name] for row in rows) for name in ("stalls", "long_stalls"))
    return [
        _name(case),
        f"{middle(lambda row: row['calls']):.0f}",
        f"{middle(lambda row: row['wall_s'] / row['ideal_s']):.2f}" if case.token_ms else "–",
        f"{middle(lambda row: row['wall_s']):.1f}",
        f"{a_call:.0f}",
        f"{a_call / middle(lambda row: row['bare_ms']['invoke']):.1f}",
        f"{a_call / middle(lambda row: row['bare_ms']['stream']):.1f}",
        f"{middle(lambda row: 1000 * row['children_s'] / row['pages']):.0f}" if rows[0]["pages"] else "–",
        f"{middle(lambda row: row['billable_tokens']):,.0f}",
        f"{middle(lambda row: row['database_bytes']) / 1e6:.1f}",
        f"{middle(lambda row: row['memory_mb']):.0f}",
        f"{long} ({very_long} over 100 ms)" if long else "0",
        f"{middle(lambda row: row['first_event_s']):.2f}",
    ]


if __name__ == "__main__":
    main()
