"""This project's graphs as a target of `measure`, as they are shipped, with limits wide enough for the load."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from deep_research import Context, ResearchGraph, build_graph
from deep_research.run.store.database import Database, open_database

MODEL = "openai:gpt-4.1"
SECONDS = 1800


def warm() -> None:
    """Import what the first model call and the first search would import."""
    import langchain_openai  # noqa: F401
    import tavily  # noqa: F401


def open_saver(path: str) -> AbstractAsyncContextManager[Database]:
    """Checkpoints and page texts in one file, on the loop that is watched: a graph that is given a path has its own."""
    return open_database(Path(path))


def build(saver: Database, strategy: Literal["orchestrated", "planned"]) -> ResearchGraph:
    """The graph of a strategy."""
    return build_graph(strategy, checkpointer=saver.saver, store=saver.store)


def make_input(question: str) -> dict[str, Any]:
    """A first message."""
    return {"messages": [{"role": "user", "content": question}]}


def context(load: Mapping[str, int], settings: Mapping[str, Any]) -> Context:
    """Settings of the run; `settings` are put over them."""
    researchers, rounds, searches = load["researchers"], load["rounds"], load["searches"]
    pages = max(60, 2 * researchers * rounds * searches * max(load["fetches"], 5))
    limits = {
        "max_cycles": rounds + 2,
        "max_parallel_researchers": max(3, researchers),
        "max_iterations": 2 * searches + 3,
        "max_web_results": max(load["fetches"], 5),
        "max_pages": pages,
        "max_host_pages": pages,
        "max_plan_steps": max(6, researchers * rounds),
        "max_step_iterations": max(2, searches),
        "max_seconds": SECONDS,
        "max_seconds_planned": SECONDS,
    }
    given = {"models": MODEL, "engines": ["tavily"], "data_dir": Path.cwd() / "data", **settings}
    allowed = [urlsplit(os.environ["TAVILY_BASE_URL"]).netloc]
    return Context(**{**given, "allow_private": allowed, "limits": {**limits, **settings.get("limits", {})}})


def report(values: Mapping[str, Any]) -> str:
    """The report; empty if the run has none."""
    return str(values["messages"][-1].text) if values.get("report") else ""
