"""Stopped runs in databases of each layout (`golden/layout-N.db`), and queries to the SQLite file of runs.

`python -m kit.stored_runs` in `tests/` writes the database of the present layout.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from deep_research.app.embed import build_graph
from deep_research.app.words import STRATEGIES
from deep_research.core.records.research import Strategy
from deep_research.core.run.errors import RateLimited
from deep_research.core.run.store.database import FILE_NAME, LAYOUT, Database, open_database
from kit.planned import Rule, first_sentences, plan, planned_lab, step
from kit.runs import QUESTION, REPORT, Lab, lab, research, search

GOLDEN = Path(__file__).parents[1] / "golden"
FOLDER = Path("/tmp/deep-research-golden")
"""Folder of the documents; fixed, because their addresses are stored."""
BUSY = RateLimited("Come back later.")


def queried(path: Path, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Execute a statement over a connection of its own, commit, and return its rows."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, parameters).fetchall()


def golden_lab(folder: Path, strategy: Strategy, database: Database, *, is_stopped: bool) -> Lab:
    """The run of a strategy: its first part (`is_stopped`), which ends during the research, or the rest."""
    graph = build_graph(strategy, checkpointer=database.saver, store=database.store)
    run: Lab
    if strategy == "planned":
        rules: dict[str, Rule] = {"make_plan": plan(step("Skerry Light"), step("Ada Moran", previous=True))}
        busy: dict[str, Rule] = {
            "record_learnings": lambda asked: BUSY if "Ada" in asked.task else first_sentences(asked)
        }
        run = planned_lab(folder, rules | (busy if is_stopped else {}), graph=graph)
    else:
        decisions = [research("When was it lit?")] if is_stopped else [REPORT]
        steps = [search("Skerry Light"), BUSY] if is_stopped else [REPORT, "It was lit in 1844. [1]"]
        run = lab(folder, graph=graph, orchestrator=decisions, researcher=steps)
    run.thread = strategy
    return run


async def stop(folder: Path) -> Path:
    """Start a run of each strategy and stop it; returns the path of their database."""
    path = folder / FILE_NAME
    async with open_database(path) as database:
        for strategy in STRATEGIES:
            with pytest.raises(RateLimited):
                await golden_lab(FOLDER / "run", strategy, database, is_stopped=True).ask(QUESTION)
    return path


def main() -> None:
    """Write the database of the present layout."""
    target = GOLDEN / f"layout-{LAYOUT}.db"
    target.unlink(missing_ok=True)
    with TemporaryDirectory() as folder, closing(sqlite3.connect(asyncio.run(stop(Path(folder))))) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))


if __name__ == "__main__":
    main()
