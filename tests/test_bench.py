"""The measurements run, and say what they measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from deep_research.bench.documents import write
from deep_research.bench.queries import KINDS, queries, questions


def test_a_small_measurement_tells_times_memory_and_sizes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deep_research.bench.index", "--documents", "20", "--queries", "10"]
    command += ["--folder", str(tmp_path / "kept")]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
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
    assert len(list(tmp_path.rglob("*.sqlite"))) == 1
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "name a new one" in again.stderr


def test_the_same_seed_gives_the_same_documents_and_questions(tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        write(tmp_path / name, 12, seed)
    texts = {name: [file.read_bytes() for file in sorted((tmp_path / name).rglob("*.*"))] for name in "abc"}
    assert texts["a"] == texts["b"] != texts["c"]
    assert list(queries(10, 7)) == list(queries(10, 7)) != list(queries(10, 8))
    assert list(questions(3, 7)) == list(questions(3, 7)) != list(questions(3, 8))
