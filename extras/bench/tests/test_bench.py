"""The measurements run and print their results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kit.forked import run_forked

from deep_research_bench.documents import write_documents
from deep_research_bench.index import KINDS, queries, questions
from deep_research_bench.wire.figures import Entry, ideal, table_chain
from deep_research_bench.wire.model_server import Cache

STREAMS: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
WIRE = [sys.executable, "-m", "deep_research_bench", "wire"]
INDEX = """
import multiprocessing
from deep_research_bench.index import main
forks = multiprocessing.get_context("fork")
multiprocessing.get_context = lambda _: forks
main()
"""
"""A script that measures in forks, which have the imports of a process that has no threads yet."""


@pytest.mark.slow
def test_a_small_measurement_tells_times_memory_and_sizes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INDEX, "--documents", "8", "--queries", "5"]
    result = run_forked(command, cwd=tmp_path, **STREAMS)
    assert result.returncode == 0, result.stderr
    for name in (
        "build",
        "nothing changed",
        "1 % changed",
        "documents on disk",
        "index on disk",
        *KINDS,
        "all",
        "a whole question",
    ):
        assert name in result.stdout


@pytest.mark.slow
def test_the_same_seed_gives_the_same_documents_and_questions(tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        write_documents(tmp_path / name, 6, seed)
    texts = {
        name: [file.read_bytes() for file in sorted((tmp_path / name).rglob("*.*"))]
        for name in "abc"
    }
    assert texts["a"] == texts["b"] != texts["c"]
    assert list(queries(10, 7)) == list(queries(10, 7)) != list(queries(10, 8))
    assert list(questions(3, 7)) == list(questions(3, 7)) != list(questions(3, 8))


@pytest.mark.slow
def test_a_whole_run_is_measured_over_the_wire(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    command = [*WIRE, "orchestrated,1,1,1,fetches=1", "--json", str(results)]
    ended = run_forked(command, cwd=tmp_path, **STREAMS)
    assert ended.returncode == 0, ended.stderr
    [row] = json.loads(results.read_text())["rows"]
    assert (row["error"], row["pages"], row["searches"], row["calls_broken"]) == ("", 1, 1, 0)
    assert row["calls"] > 5
    assert row["report_characters"] > 1000
    assert "orchestrated (1, 1, 1), 1 pages of 20,000 characters" in ended.stdout
    broken = run_forked([*WIRE, "orchestrated,1"], cwd=tmp_path, **STREAMS)
    assert (broken.returncode, "RESEARCHERS" in broken.stderr) == (2, True)


def test_the_ideal_is_the_longest_chain_of_calls_that_need_each_other() -> None:
    def entry(call: int, arrived: float, nominal: float, *depends_on: str) -> Entry:
        when = {"arrived": arrived, "finished": arrived + nominal, "nominal": nominal}
        return {
            "kind": "note",
            "is_complete": True,
            "makes": [f"mk-c00000{call}"],
            "depends_on": depends_on,
            **when,
        }

    entries = [
        entry(1, 0, 2),
        entry(2, 3, 1, "mk-c000001"),
        entry(3, 5, 2.5),
        entry(4, 9, 1, "mk-c000002"),
    ]
    assert ideal(entries) == 4
    assert ideal([*entries, entry(5, 10, 3, "mk-c000003", "mk-c000009")]) == 5.5
    assert ideal([]) == 0


def test_the_chain_of_a_table_has_three_researchers_side_by_side() -> None:
    plan = {"kind": "design_table row", "nominal": 2.0}
    rows = [{"kind": "generate_report cells", "nominal": 1.0} for _ in range(9)]
    judged = [{"kind": "judge_units verdicts", "nominal": seconds} for seconds in (1.0, 4.0)]
    assert table_chain([plan, *rows, *judged]) == 2 + 3 + 4


def test_a_prefix_that_was_sent_before_counts_as_cached() -> None:
    server = Cache()
    long = [{"role": "system", "content": "x" * 8000}, {"role": "user", "content": "y" * 400}]
    assert server.cached([], long) == 0
    assert server.cached([], long) == 2100
    assert server.cached([], [*long, {"role": "user", "content": "more"}]) == 2100
    assert server.cached([{"name": "a tool"}], long) == 0
    assert [server.cached([], [{"role": "user", "content": "short"}]) for _ in range(2)] == [0, 0]
