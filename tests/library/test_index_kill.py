"""Indexing that is killed or stopped, with the real command: stored batches stay, and the next run continues."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest
from kit.commands import SECONDS, Desk

from deep_research.core.library.index import Index
from deep_research.core.library.library import Library
from deep_research.core.library.upkeep import BATCH_FILES
from deep_research.core.run.context import Context

FILES = 900
QUESTION = "How many gannets were counted on day 7?"
ASK = ("ask", QUESTION, "--model", "extractive", "--yes", "--json", "--docs")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    for number in range(FILES):
        file = desk.docs / f"{number % 7}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"# Gannets {number}\n\n" + f"On day {number} the gannets of rock {number * 7} were counted. " * 40
        )
    return desk


def rows_in(data: Path) -> int:
    """Documents in the index so far."""
    for file in (data / "indexes").glob("*.sqlite"):
        connection = sqlite3.connect(file, timeout=60)
        try:
            return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])
        except sqlite3.OperationalError:
            return 0
        finally:
            connection.close()
    return 0


def wait_for_rows(process: subprocess.Popen[str], data: Path, before: int) -> None:
    """Wait until more documents are in the index."""
    while rows_in(data) <= before:
        try:
            process.wait(0.01)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"it ended before it stored anything: {process.communicate()}")


def indexed(out: str) -> list[tuple[int, int]]:
    """Progress of indexing in the packets of a run."""
    packets = [json.loads(line) for line in out.splitlines()]
    found = [packet for packet in packets if packet.get("type") == "documents_indexed"]
    return [(packet["done"], packet["total"]) for packet in found]


@pytest.mark.slow
@pytest.mark.fault(36)
def test_indexing_that_is_killed_and_stopped_continues_after_the_last_batch(desk: Desk) -> None:
    kept = 0
    for sign in (signal.SIGKILL, signal.SIGINT):
        before = kept
        with desk.started(*ASK, str(desk.docs)) as process:
            wait_for_rows(process, desk.data, before)
            os.killpg(process.pid, sign)
            process.communicate(timeout=SECONDS)
        kept = rows_in(desk.data)
        assert kept % BATCH_FILES == 0
        assert before < kept < FILES
    again = desk.call(*ASK, str(desk.docs))
    assert again.code == 0, again.err
    assert indexed(again.out)[-1] == (FILES - kept, FILES - kept)
    _is_as_if_built_afresh(desk)


def _is_as_if_built_afresh(desk: Desk) -> None:
    (kept,) = (desk.data / "indexes").glob("*.sqlite")
    fresh = Library(Context(docs=(desk.docs,), data_dir=desk.folder / "fresh"))
    fresh.refresh()
    (other,) = (desk.folder / "fresh" / "indexes").glob("*.sqlite")
    assert _state_of(Index(kept)) == _state_of(Index(other))


def _state_of(index: Index) -> list[object]:
    terms = ["gannets", "7", "rock", "700"]
    with index.reading() as reader:
        found = [*reader.best(terms, 150), *reader.titled(["gannets 7"], 150)]
        passages = [reader.passage(number) for number in found]
        documents = [index.document(f"{number % 7}/note {number}.md") for number in range(0, FILES, 99)]
        return [index.stamps(), documents, reader.size, reader.counts(terms), passages]
