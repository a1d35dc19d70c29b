"""Measures a run in a separate process: `python -m deep_research_bench.wire.run SETTINGS`.

The settings are JSON: `question`, `strategy`, `load` and `folder`, for the database and
`result.json`. The addresses of the servers are in OPENAI_BASE_URL and TAVILY_BASE_URL.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from deep_research import Context, build_graph
from deep_research.core.store.database import open_database
from deep_research.core.store.location import RunsLocation
from deep_research_bench.wire.figures import SLOTS
from deep_research_bench.wire.policy import ROWS_A_SCOUT, Load

MODEL = "openai:gpt-4.1"
SECONDS = 1800
TICK = 0.01
"""Interval of the timer that probes the event loop, in seconds."""
LONG, VERY_LONG = 0.05, 0.1
"""CPU seconds from which the event loop counts as blocked."""


class Watch:
    """Counts how often the event loop's own work delayed a timer, independent of the load of the
    machine."""

    def __init__(self) -> None:
        self.long = self.very_long = 0

    async def watch(self) -> None:
        """Watch until cancelled."""
        while True:
            begun = time.thread_time()
            await asyncio.sleep(TICK)
            busy = time.thread_time() - begun
            self.long += busy > LONG
            self.very_long += busy > VERY_LONG


async def measure(settings: dict[str, Any]) -> dict[str, Any]:
    """Run the graph once with a stream, like a user interface, and return the resources used."""
    file, error, values, first = Path(settings["folder"], "runs.sqlite"), "", dict[str, Any](), 0.0
    # Open the saver on the watched loop: a graph with a path would start its own loop.
    async with open_database(RunsLocation(file)) as database:
        graph = build_graph(settings["strategy"], checkpointer=database.saver, store=database.store)
        watch = Watch()
        watching = asyncio.create_task(watch.watch())
        wall, processor = time.perf_counter(), _processor()
        try:
            async for namespace, mode, data in graph.astream(
                {"messages": [{"role": "user", "content": settings["question"]}]},
                {"configurable": {"thread_id": "bench"}, "recursion_limit": 1000},
                context=_context(settings["strategy"], Load(*settings["load"])),
                stream_mode=["updates", "values"],
                subgraphs=True,
            ):
                if mode == "values":
                    values = values if namespace else cast(dict[str, Any], data)
                else:
                    first = first or time.perf_counter() - wall
        except Exception as failure:  # noqa: BLE001 - the row shows it
            error = f"{type(failure).__name__}: {failure}"
        took = {"wall_s": time.perf_counter() - wall, "processor_s": _processor() - processor}
        watching.cancel()
    return {
        **{name: round(seconds, 3) for name, seconds in took.items()},
        "children_s": round(_children(), 3),
        "first_event_s": round(first, 3),
        "stalls": watch.long,
        "long_stalls": watch.very_long,
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "report_characters": len(values["messages"][-1].text) if values.get("report") else 0,
        "database_bytes": _size(file),
        "error": error,
    }


def _context(strategy: str, load: Load) -> Context:
    """Return the default settings with limits that are wide enough for the load."""
    parallel = max(SLOTS, load.researchers)
    results = max(load.fetches, 5)
    if strategy == "table":
        parallel = SLOTS
        results = ROWS_A_SCOUT
    allowed = [urlsplit(os.environ["TAVILY_BASE_URL"]).netloc]
    pages = max(60, 2 * load.researchers * load.rounds * load.searches * max(load.fetches, 5))
    limits = {
        "max_cycles": load.rounds + 2,
        "max_parallel_researchers": parallel,
        "max_rows": load.researchers,
        "max_iterations": 2 * load.searches + 3,
        "max_results": results,
        "max_pages": pages,
        "max_host_pages": pages,
        "max_plan_steps": max(6, load.researchers * load.rounds),
        "max_step_iterations": max(2, load.searches),
        "max_seconds": SECONDS,
        "max_seconds_planned": SECONDS,
    }
    return Context(
        models=MODEL,
        engines=("tavily",),
        data_dir=Path.cwd() / "data",
        allow_private=allowed,
        limits=limits,
    )


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _children() -> float:
    """Return the CPU seconds of child processes, on Linux including running ones."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            ticks += int(fields[11]) + int(fields[12])
    return ended.ru_utime + ended.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def _size(file: Path) -> int:
    with sqlite3.connect(file) as rows:
        rows.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file.stat().st_size


def main(settings: dict[str, Any]) -> None:
    """Measure, and write the result."""
    # Import what the first model call and the first search would.
    import langchain_openai  # noqa: F401
    import tavily  # noqa: F401

    result = asyncio.run(measure(settings))
    Path(settings["folder"], "result.json").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
