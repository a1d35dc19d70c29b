"""One run in a process of its own, and what it took: `python -m deep_research_bench.wire.run SETTINGS`.

The settings are JSON: `question`, `strategy`, `load` and `folder`, into which go the database and `result.json`. The
addresses of the servers stand in OPENAI_BASE_URL and TAVILY_BASE_URL.
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
from typing import Any
from urllib.parse import urlsplit

from deep_research import Context, build_graph
from deep_research.core.run.store.database import open_database
from deep_research_bench.wire.policy import Load

MODEL = "openai:gpt-4.1"
SECONDS = 1800
TICK = 0.01
"""Seconds after which the event loop is asked again whether it is at work."""
LONG, VERY_LONG = 0.05, 0.1
"""Seconds of its own work from which on the loop counts as held up."""


class Watch:
    """How often the event loop's own work kept it from a timer; what the machine did meanwhile does not count."""

    def __init__(self) -> None:
        self.long = self.very_long = 0

    async def watch(self) -> None:
        """Watch until it is cancelled."""
        while True:
            begun = time.thread_time()
            await asyncio.sleep(TICK)
            busy = time.thread_time() - begun
            self.long += busy > LONG
            self.very_long += busy > VERY_LONG


async def measure(settings: dict[str, Any]) -> dict[str, Any]:
    """Run the graph once, listened to as by a user interface, and return what that took."""
    file, error, values, first = Path(settings["folder"], "runs.sqlite"), "", dict[str, Any](), 0.0
    # On the loop that is watched: a graph that is given a path has a loop of its own.
    async with open_database(file) as database:
        graph = build_graph(settings["strategy"], checkpointer=database.saver, store=database.store)
        watch = Watch()
        watching = asyncio.create_task(watch.watch())
        wall, processor = time.perf_counter(), _processor()
        try:
            async for place, mode, data in graph.astream(
                {"messages": [{"role": "user", "content": settings["question"]}]},
                {"configurable": {"thread_id": "bench"}, "recursion_limit": 1000},
                context=_context(Load(*settings["load"])),
                stream_mode=["updates", "values"],
                subgraphs=True,
            ):
                if mode == "values":
                    values = values if place else data
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


def _context(load: Load) -> Context:
    """Return the settings as they are shipped, with limits wide enough for the load."""
    allowed = [urlsplit(os.environ["TAVILY_BASE_URL"]).netloc]
    pages = max(60, 2 * load.researchers * load.rounds * load.searches * max(load.fetches, 5))
    limits = {
        "max_cycles": load.rounds + 2,
        "max_parallel_researchers": max(3, load.researchers),
        "max_iterations": 2 * load.searches + 3,
        "max_web_results": max(load.fetches, 5),
        "max_pages": pages,
        "max_host_pages": pages,
        "max_plan_steps": max(6, load.researchers * load.rounds),
        "max_step_iterations": max(2, load.searches),
        "max_seconds": SECONDS,
        "max_seconds_planned": SECONDS,
    }
    return Context(
        models=MODEL, engines=("tavily",), data_dir=Path.cwd() / "data", allow_private=allowed, limits=limits
    )


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _children() -> float:
    """Return processor seconds of processes that this one has started, on Linux those at work still included."""
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
    # What the first model call and the first search would import.
    import langchain_openai  # noqa: F401
    import tavily  # noqa: F401

    result = asyncio.run(measure(settings))
    Path(settings["folder"], "result.json").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
