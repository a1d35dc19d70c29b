"""One run of one compiled LangGraph graph in a process of its own, and what it took: `python measure.py SETTINGS`.

The settings are JSON: `target` (path of a file), `question`, `load`, `strategy`, `modes`, `database`, `result` and
`context`. The file is a plug-in: it may build any graph. This module is started by its path in the Python that has the
graph's packages, so it needs nothing but these. The target defines

- `build(saver, strategy)`: the compiled graph;
- `make_input(question)`: the graph's input;
- `report(values)`: the text of the report in the final state, empty if there is none;

and, if it likes, `warm()` (imports what would else be imported in the run), `open_saver(path)` (an asynchronous
context manager; else LangGraph's `AsyncSqliteSaver`), `context(load, settings)` and `config(load)`. The addresses of
the servers stand in OPENAI_BASE_URL and TAVILY_BASE_URL.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TICK = 0.01
"""Seconds after which the event loop is asked again whether it is at work."""
LONG, VERY_LONG = 0.05, 0.1
"""Seconds of its own work from which on the loop counts as held up."""


class Watch:
    """How long the event loop's own work kept it from a timer; what the machine did meanwhile does not count."""

    def __init__(self) -> None:
        self.long = self.very_long = 0
        self.worst = 0.0

    async def watch(self) -> None:
        """Until it is cancelled."""
        while True:
            begun = time.thread_time()
            await asyncio.sleep(TICK)
            busy = time.thread_time() - begun
            self.long += busy > LONG
            self.very_long += busy > VERY_LONG
            self.worst = max(self.worst, busy)


async def measure(target: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Run the graph once, listened to as by a user interface, and return what that took."""
    async with _saver(target, settings["database"]) as saver:
        graph = target.build(saver, settings["strategy"])
        given = {"context": target.context(settings["load"], settings["context"])} if hasattr(target, "context") else {}
        own = target.config(settings["load"]) if hasattr(target, "config") else {}
        config = {"configurable": {"thread_id": "bench", **own}, "recursion_limit": 1000}
        watch, first, values, error = Watch(), 0.0, {}, ""
        watching = asyncio.create_task(watch.watch())
        wall, processor, loop = time.perf_counter(), _processor(), time.thread_time()
        try:
            async for place, mode, data in graph.astream(
                target.make_input(settings["question"]), config, stream_mode=settings["modes"], subgraphs=True, **given
            ):
                if mode != "values":
                    first = first or time.perf_counter() - wall
                elif not place:
                    values = data
        except Exception as failure:  # noqa: BLE001 - the row tells it
            error = f"{type(failure).__name__}: {failure}"
        took = {
            "wall_s": time.perf_counter() - wall,
            "processor_s": _processor() - processor,
            "loop_s": time.thread_time() - loop,
            "children_s": _children(),
        }
        watching.cancel()
    return {
        **{name: round(seconds, 3) for name, seconds in took.items()},
        "first_event_s": round(first, 3),
        "stalls": watch.long,
        "long_stalls": watch.very_long,
        "worst_stall_ms": round(watch.worst * 1000),
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "report_characters": len(target.report(values)) if values else 0,
        "error": error,
        **_sizes(Path(settings["database"])),
    }


def _saver(target: Any, path: str) -> Any:
    if hasattr(target, "open_saver"):
        return target.open_saver(path)
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    return AsyncSqliteSaver.from_conn_string(path)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _children() -> float:
    """Processor seconds of processes that this one has started, those at work still as far as the system tells."""
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


def _sizes(path: Path) -> dict[str, int]:
    """Bytes of the database, and of what it holds."""
    with sqlite3.connect(path) as rows:
        rows.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        tables = {name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        columns = {"checkpoints": "checkpoint", "writes": "value", "store": "value"}
        sizes = {
            f"{table}_bytes": rows.execute(f"SELECT coalesce(sum(length({column})), 0) FROM {table}").fetchone()[0]  # noqa: S608 - constants
            for table, column in columns.items()
            if table in tables
        }
    return {"database_bytes": path.stat().st_size, **sizes}


def main(settings: Mapping[str, Any]) -> None:
    """Measure, and write the result."""
    spec = importlib.util.spec_from_file_location("bench_target", settings["target"])
    assert spec is not None and spec.loader is not None, "the target is a Python file"
    target = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(target)
    if hasattr(target, "warm"):
        target.warm()
    result = asyncio.run(measure(target, settings))
    Path(settings["result"]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
