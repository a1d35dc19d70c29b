"""Measures several server processes on one PostgreSQL, one of them killed: `python -m
deep_research_bench team`.

It needs what the container file in `extras/deploy` installs, and the programs of PostgreSQL and
Redis. Users ask through a round-robin proxy; models and web are fake. The results are checked: each
run ends once, and users do not see the runs of others.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import httpx

from deep_research_bench.postgres import programs, started_cluster
from deep_research_bench.redis import redis_program, started_redis
from deep_research_bench.wire.__main__ import Case, free_port, servers, wait_for

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
GRAPH = "deep_research"
ENDED = ("success", "error", "interrupted")
PAUSE = 2.0
"""Polling interval in seconds."""
CALLS_BEFORE = 6
"""Model calls per run, of about twelve, after which a process is killed."""
RETRY_SECONDS, START_SECONDS = 120.0, 60.0


class Process:
    """A server process."""

    def __init__(self, folder: Path, environment: dict[str, str], number: int) -> None:
        self.port = free_port()
        self.log = folder / f"server-{number}.txt"
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "aegra_api.main:app",
            "--port",
            str(self.port),
            "--host",
            "127.0.0.1",
        ]
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(  # noqa: S603 - our own
                command, cwd=DEPLOY, env=environment, stdout=out, stderr=out, start_new_session=True
            )
        try:
            wait_for(self.port, START_SECONDS)
        except click.ClickException:
            raise click.ClickException(self.log.read_text("utf-8", "replace")[-4000:]) from None
        self.is_killed = False
        self.memory, self.seconds = 0.0, 0.0

    def look(self) -> None:
        """Record peak memory (MB) and CPU seconds so far."""
        with suppress(OSError, ValueError, IndexError):
            proc = Path(f"/proc/{self._process.pid}")
            status = dict(
                line.split(":", 1)
                for line in (proc / "status").read_text().splitlines()
                if ":" in line
            )
            self.memory = int(status["VmHWM"].split()[0]) / 1024
            fields = (proc / "stat").read_text().rpartition(")")[2].split()
            self.seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """Kill it with all its children, like kill -9."""
        self.look()
        self.is_killed = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Proxy:
    """Forwards each connection to the next process that answers."""

    def __init__(self, processes: list[Process]) -> None:
        self._processes, self._turn = processes, 0

    async def start(self) -> int:
        """Listen; return the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1000)
        return int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in self._processes:
            self._turn += 1
            process = self._processes[self._turn % len(self._processes)]
            # At the end of the measurement the loop cancels what clients have left open.
            with suppress(OSError, asyncio.CancelledError):
                there = await asyncio.open_connection("127.0.0.1", process.port)
                await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))
                return
        writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.close()


class Outcome(NamedTuple):
    """The outcome of a user's question."""

    user: str
    thread: str
    runs: int
    """Runs of the thread: 1, unless something was lost or duplicated."""
    status: str
    is_answered: bool
    seconds: float


class User:
    """A client with a token, which retries when a connection breaks."""

    def __init__(self, address: str, name: str, token: str) -> None:
        self.name, self.threads = name, list[str]()
        # A connection per request, so that each goes to the next process.
        headers = {"X-Api-Key": token, "Connection": "close"}
        self._http = httpx.AsyncClient(
            base_url=address, headers=headers, timeout=60, trust_env=False
        )

    async def request(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Return the answer of any process."""
        until = time.monotonic() + RETRY_SECONDS
        while True:
            with suppress(httpx.TransportError):
                answer = await self._http.request(method, path, json=body)
                if answer.status_code < 500:
                    return answer
            if time.monotonic() > until:
                raise click.ClickException(f"{method} {path}: nobody answers.")
            await asyncio.sleep(PAUSE)

    async def ask(self, number: int) -> Outcome:
        """Ask a question and wait for its report."""
        began, thread = time.monotonic(), str(uuid.uuid4())
        self.threads.append(thread)
        await self.request("POST", "/threads", {"thread_id": thread, "if_exists": "do_nothing"})
        question = f"Question {number} of {self.name}: how can a town store surplus solar energy?"
        body = {
            "assistant_id": GRAPH,
            "input": {"messages": [{"role": "user", "content": question}]},
        }
        made = await self.request("POST", f"/threads/{thread}/runs", body)
        # If a process created the run and died before answering, the retry is refused.
        if made.status_code not in (200, 409):
            raise click.ClickException(f"{self.name}: {made.status_code} {made.text[:300]}")
        while True:
            runs = (await self.request("GET", f"/threads/{thread}/runs")).json()
            if runs and runs[0]["status"] in ENDED:
                break
            await asyncio.sleep(PAUSE)
        values = (await self.request("GET", f"/threads/{thread}/state")).json()["values"]
        texts = [message["content"] for message in values.get("messages", ())]
        is_answered = texts[:1] == [question] and len(texts) == 2 and bool(values.get("report"))
        return Outcome(
            self.name, thread, len(runs), runs[0]["status"], is_answered, time.monotonic() - began
        )

    async def strangers(self, others: list[str]) -> int:
        """Return how many threads of others are visible, in the list or by id."""
        found = (await self.request("POST", "/threads/search", {"limit": 100})).json()
        foreign = {thread["thread_id"] for thread in found} - {*self.threads}
        body = {
            "assistant_id": GRAPH,
            "input": {"messages": [{"role": "user", "content": "And what is this?"}]},
        }
        for thread in others:
            seen = await self.request("GET", f"/threads/{thread}/state")
            run = await self.request("POST", f"/threads/{thread}/runs/wait", body)
            foreign |= {thread} if (seen.status_code, run.status_code) != (404, 404) else set()
        return len(foreign)


class Measured(NamedTuple):
    """The outcome of all questions."""

    outcomes: list[Outcome]
    seconds: float
    strangers: int
    """Threads of other users that a user could see."""
    connections: int
    """Peak number of database connections."""
    killed: float
    """Time when a process was killed; 0 if none was."""
    taken_over: int
    """Runs that another process continued."""


@contextmanager
def _services() -> Iterator[dict[str, str]]:
    """Start PostgreSQL and Redis; yields the environment variables for the servers."""
    binaries, program = programs(), redis_program()
    if binaries is None or program is None:
        raise click.ClickException(
            "PostgreSQL's programs and Redis are needed (Debian, Ubuntu: apt install postgresql redis-server)."
        )
    with started_cluster(binaries, uuid.uuid4().hex) as cluster, started_redis(program) as redis:
        address = cluster.address()
        yield {"DATABASE_URL": address, "DEEP_RESEARCH_DATABASE": address, "REDIS_URL": redis}


async def _measured(
    runs: int, calls: Path, processes: list[Process], tokens: dict[str, str], address: str
) -> Measured:
    import psycopg

    users = len(tokens)
    proxy = f"http://127.0.0.1:{await Proxy(processes).start()}"
    people = [User(proxy, name, token) for name, token in tokens.items()]
    asked = [asyncio.create_task(people[number % users].ask(number)) for number in range(runs)]
    most, killed, began = 0, 0.0, time.monotonic()
    while not all(task.done() for task in asked):
        await asyncio.sleep(1)
        done = sum(task.done() for task in asked)
        connection = await psycopg.AsyncConnection.connect(address)
        async with connection:
            query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            row = await (await connection.execute(query)).fetchone()
            most = max(most, (row[0] if row else 0) - 1)
        for process in processes:
            process.look()
        click.echo(
            f"{time.monotonic() - began:.0f} s: {done} of {runs} ended, {most} connections at most",
            err=True,
        )
        if _lines_of(calls) > CALLS_BEFORE * runs and len(processes) > 1 and not killed:
            processes[0].kill()
            killed = time.time()
            click.echo(f"one of {len(processes)} processes is killed", err=True)
    outcomes = await asyncio.gather(*asked)
    seconds = time.monotonic() - began
    others = [people[(index + 1) % users].threads[:2] for index in range(users)]
    strangers = sum(
        [await person.strangers(foreign) for person, foreign in zip(people, others, strict=True)]
    )
    async with await psycopg.AsyncConnection.connect(address) as connection:
        query = "SELECT count(*) FROM runs WHERE execution_params ? '_retry_count'"
        row = await (await connection.execute(query)).fetchone()
    return Measured(outcomes, seconds, strangers, most, killed, row[0] if row else 0)


def _lines_of(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


@click.command()
@click.option("--runs", default=100, show_default=True, help="Questions that are put.")
@click.option("--users", default=20, show_default=True, help="Users who put them in turn.")
@click.option("--processes", "number", default=2, show_default=True, help="Server processes.")
@click.option(
    "--first-token-ms",
    default=50.0,
    show_default=True,
    help="Time that the model takes for its first token,",
)
@click.option("--token-ms", default=2.0, show_default=True, help="and for each.")
def main(runs: int, users: int, number: int, first_token_ms: float, token_ms: float) -> None:
    """Ask several processes, kill one of them meanwhile, and print the outcome."""
    case = Case(
        "orchestrated", 1, 1, 2, fetches=0, first_token_ms=first_token_ms, token_ms=token_ms
    )
    tokens = {f"user{index:03d}": uuid.uuid4().hex for index in range(users)}
    with (
        TemporaryDirectory(prefix="team-") as name,
        servers(
            case.load, case.page_characters, name, case.first_token_ms, case.token_ms
        ) as models,
        _services() as services,
    ):
        folder = Path(name)
        environment = {
            **models,
            **services,
            **_settings(),
            "PYTHONPATH": str(DEPLOY),
            "AEGRA_CONFIG": str(DEPLOY / "aegra.json"),
            "DEEP_RESEARCH_SERVER_TOKENS": " ".join(
                f"{user}:{token}" for user, token in tokens.items()
            ),
            "DEEP_RESEARCH_DATA_DIR": str(folder / "data"),
            "DEEP_RESEARCH_MODELS": "openai:gpt-4.1",
            "DEEP_RESEARCH_ENGINES": "tavily",
            "DEEP_RESEARCH_CLARIFY": "off",
        }
        processes = [Process(folder, environment, index) for index in range(number)]
        try:
            calls, address = folder / "model.jsonl", services["DATABASE_URL"]
            measured = asyncio.run(_measured(runs, calls, processes, tokens, address))
        finally:
            for process in processes:
                was_killed = process.is_killed
                process.kill()
                process.is_killed = was_killed
                if not was_killed:
                    shutil.copy(process.log, f"team-{process.log.name}")
        logged = [json.loads(line) for line in calls.read_text("utf-8").splitlines()]
    for line in _lines(runs, processes, measured, logged):
        click.echo(line)


def _settings() -> dict[str, str]:
    """Return the settings of the container file, without its paths."""
    lines = [
        line
        for line in (DEPLOY / "Containerfile").read_text("utf-8").splitlines()
        if line.startswith("ENV ")
    ]
    pairs = dict(pair.split("=", 1) for line in lines for pair in line.split()[1:])
    return {name: value for name, value in pairs.items() if not value.startswith("/")}


def _lines(
    runs: int, processes: list[Process], measured: Measured, calls: list[dict[str, Any]]
) -> Iterator[str]:
    outcomes, seconds, strangers, connections, killed, taken_over = measured
    kinds = Counter(
        outcome.status if outcome.is_answered or outcome.status != "success" else "unanswered"
        for outcome in outcomes
    )
    repeated = sum(count - 1 for count in Counter(call["request"] for call in calls).values())
    after = sum(call["arrived"] > killed for call in calls) if killed else 0
    many = sum(outcome.runs != 1 for outcome in outcomes)
    yield f"runs: {runs}, ended as {dict(kinds)}; threads with more or less than one run: {many}"
    yield f"taken over: {taken_over}; threads of others that a user saw: {strangers}"
    yield f"seconds: {seconds:.0f}; of a run {median(outcome.seconds for outcome in outcomes):.0f} (median)"
    yield f"model calls: {len(calls)}, of which {after} after the kill; paid twice: {repeated}"
    for process in processes:
        what = "killed" if process.is_killed else "stayed"
        yield f"process ({what}): {process.memory:.0f} MB at most, {process.seconds:.0f} s of a processor"
    yield f"connections to the database at most: {connections}"
    yield f"processor seconds a run: {sum(process.seconds for process in processes) / runs:.2f}"


if __name__ == "__main__":
    main()
