"""Measures how streams of other users slow down a user of the server: `python -m
deep_research_bench streams`.

The streams belong to runs that never begin. A run is measured alone, beside open streams, and while
all the streams are being opened at its start.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
import httpx

from deep_research_bench.wire.__main__ import free_port, wait_for

CONFIG = Path(__file__).resolve().parents[3] / "langgraph.json"
GRAPH = "deep_research"
ATTEMPTS, USERS = (20, 100, 300), (1, 15)
START_SECONDS, RUN_SECONDS, PAUSE = 60.0, 300.0, 0.5
PARTS = ("light", "harbour", "bridge", "mill")
TOKENS = {f"user{number}": uuid.uuid4().hex for number in range(16)}
MEASURED, *OTHERS = TOKENS


class Seconds(NamedTuple):
    """Durations of the measured user's run."""

    alone: float
    beside: float
    meanwhile: float
    """While the streams were opened."""
    held: int
    """Streams that were not refused."""


@click.command()
@click.option(
    "--runs",
    default=5,
    type=click.IntRange(1),
    help="Measurements of each case; the median counts.",
)
def main(runs: int) -> None:
    """Measure a user's run beside streams of others on runs that never begin."""
    with TemporaryDirectory(prefix="bench-") as folder, _server(Path(folder)) as port:
        for line in asyncio.run(_measured(port, runs)):
            click.echo(f"| {' | '.join(line)} |")


@contextmanager
def _server(folder: Path) -> Iterator[int]:
    """Start a server for a folder of documents; yields its port."""
    docs, port = folder / "docs", free_port()
    docs.mkdir()
    for year, part in enumerate(PARTS, 1840):
        (docs / f"{part}.md").write_text(
            f"# The {part}\n\nThe {part} of Port Anlow was built in {year}.\n", "utf-8"
        )
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if name in ("PATH", "HOME", "LANG", "TMPDIR")
        },
        **{
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGGRAPH_NO_VERSION_CHECK": "1",
            "LANGSMITH_TRACING": "false",
        },
        "DEEP_RESEARCH_DATA_DIR": str(folder / "data"),
        "DEEP_RESEARCH_DOCS": str(docs),
        "DEEP_RESEARCH_SERVER_TOKENS": " ".join(
            f"{user}:{token}" for user, token in TOKENS.items()
        ),
        "LOG_LEVEL": "WARNING",
    }
    langgraph = str(Path(sys.executable).with_name("langgraph"))
    options = ["--no-browser", "--no-reload", "--n-jobs-per-worker", "50", "--config", str(CONFIG)]
    command = [langgraph, "dev", "--port", str(port), *options]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)  # noqa: S603 - our own
    try:
        wait_for(port, START_SECONDS)
        yield port
    finally:
        process.terminate()
        process.wait()


async def _measured(port: int, runs: int) -> list[list[str]]:
    lines = [
        [
            "streams",
            "users",
            "held",
            "alone s",
            "beside s",
            "ratio",
            "while they are opened s",
            "ratio",
        ],
        ["---"] * 8,
    ]
    headers = {"X-Api-Key": TOKENS[MEASURED]}
    address = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(
        base_url=address, headers=headers, timeout=RUN_SECONDS, trust_env=False
    ) as web:
        # The first runs of a process load modules.
        for _ in range(3):
            await _run(web)
        for attempts in ATTEMPTS:
            for users in USERS:
                rows = [await _row(web, port, attempts, OTHERS[:users]) for _ in range(runs)]
                seconds = Seconds(*map(median, zip(*rows, strict=True)))
                beside, meanwhile = (
                    seconds.beside / seconds.alone,
                    seconds.meanwhile / seconds.alone,
                )
                figures = (
                    f"{seconds.held:.0f}",
                    *(f"{figure:.2f}" for figure in (*seconds[:2], beside)),
                )
                lines.append(
                    [
                        f"{attempts}",
                        f"{users}",
                        *figures,
                        f"{seconds.meanwhile:.2f}",
                        f"{meanwhile:.2f}",
                    ]
                )
    return lines


async def _row(web: httpx.AsyncClient, port: int, attempts: int, users: Sequence[str]) -> Seconds:
    alone = await _run(web)
    async with _streams(port, attempts, users) as opened:
        held = sum(await asyncio.gather(*opened))
        beside = await _run(web)
    async with _streams(port, attempts, users) as opened:
        meanwhile = await _run(web)
        await asyncio.gather(*opened)
    return Seconds(alone, beside, meanwhile, held)


async def _run(web: httpx.AsyncClient) -> float:
    """Return the seconds from a question to its report."""
    thread, question = (
        str(uuid.uuid4()),
        "When was each of these built?\n"
        + "\n".join(f"{number}. The {part}" for number, part in enumerate(PARTS, 1)),
    )
    await web.post("/threads", json={"thread_id": thread})
    began = time.monotonic()
    run = {"assistant_id": GRAPH, "input": {"messages": [{"role": "user", "content": question}]}}
    ended = await web.post(f"/threads/{thread}/runs/wait", json=run)
    if not ended.json().get("report"):
        raise click.ClickException(f"The run has no report: {ended.text[:300]}")
    return time.monotonic() - began


@asynccontextmanager
async def _streams(
    port: int, attempts: int, users: Sequence[str]
) -> AsyncIterator[list[asyncio.Task[bool]]]:
    """Open streams all at once with lightweight clients, and close them."""
    writers = list[asyncio.StreamWriter]()

    async def opened(number: int) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
        token = TOKENS[users[number % len(users)]]
        head = f"GET /research/runs/no-such-{number}/packets HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        writer.write(f"{head}X-Api-Key: {token}\r\n\r\n".encode())
        return b" 200 " in await reader.readline()

    try:
        yield [asyncio.create_task(opened(number)) for number in range(attempts)]
    finally:
        for writer in writers:
            writer.close()
        # The server takes a moment to notice that they are closed.
        await asyncio.sleep(PAUSE)
