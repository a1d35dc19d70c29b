"""An index after changes in any order, or after a kill, equals a new one, and only changed files
are read."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.commands import SECONDS, Desk
from kit.files import Papers, source_of

from deep_research.core.errors import DocumentsUnreadable
from deep_research.core.library._candidates import possible_titles, terms_of
from deep_research.core.library._index import Index
from deep_research.core.library._upkeep import BATCH_FILES, MOST_TRIES, compare, update
from deep_research.core.library.library import LibraryStatus
from deep_research.core.reading.documents.pool import Parser
from deep_research.core.reading.documents.records import Extract, Unreadable
from deep_research.core.settings.limits import Limits

PATHS = ("a.md", "b.txt", "sub/a.md", "sub/c.txt")
TEXTS = (
    b"# Harbour\n\nThe harbour was deepened for the salt ships.\n",
    b"The salt ships of the harbour\n\nThey came in 1893, and ships came again.\n",
    "# Häuser\n\nDie Häuser am Hafen wurden von den Kaufleuten gebaut, der Hafen ist nicht gewachsen.".encode(),
    "港\n\n港の船は塩を運んだ。".encode(),
    b"# Harbour\n\n" + b"One ship after the other came into the harbour. " * 60,
    b"---\ntitle: Salt\n---\nThe name of the file says nothing of the ships\nthat came for salt.",
    b"Without a title, a text is called by the name of its file\nin the harbour.",
    bytes(500),
    b"",
)
QUERIES = (
    "harbour",
    "salt ships 1893",
    "Haus Hafen",
    "港 船",
    "one ship after the other",
    "a",
    "b",
    "Häuser",
)

CHANGES = st.sampled_from(["write", "write", "delete", "move", "move", "copy", "link"])
PATH = st.sampled_from(PATHS)
STEPS = st.lists(
    st.tuples(CHANGES, PATH, PATH, st.sampled_from(TEXTS), st.booleans()), min_size=1, max_size=20
)
"""Each changes a file; the last of its values says whether the index is updated after it."""


def change(kind: str, path: Path, other: Path, data: bytes) -> None:
    """Write or delete a file, or move, copy or link one to another."""
    if kind == "move" and path.exists():
        path.replace(other)
    elif kind == "copy" and path.exists() and path != other:
        copied = path.read_bytes()
        other.unlink(missing_ok=True)
        other.write_bytes(copied)
    elif kind == "link" and path != other:
        path.unlink(missing_ok=True)
        path.symlink_to(other)
    elif kind in ("write", "delete"):
        path.unlink(missing_ok=True)
        if kind == "write":
            path.write_bytes(data)


class Reader(NamedTuple):
    """Parser and threads to update an index; started once for all examples."""

    parser: Parser
    threads: ThreadPoolExecutor

    def read(self, docs: Path, index: Index) -> Index:
        update(compare(docs, index, Limits()), self.parser, self.threads, lambda: None)
        return index


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with ThreadPoolExecutor(2) as threads, Parser(seconds=60, max_bytes=1_000_000) as parser:
        yield Reader(parser, threads)


def state_of(index: Index, queries: Sequence[str] = QUERIES, most: int = 25) -> dict[str, Any]:
    """What can be read from an index."""
    stamps = index.stamps()
    return {
        "stamps": stamps,
        "documents": {path: index.document(path) for path in sorted(stamps)[:100]},
        "answers": [answers(index, query, most) for query in queries],
    }


def answers(index: Index, query: str, most: int) -> list[object]:
    """Results of an index for a query."""
    terms = terms_of(query)
    with index.reading(source_of) as reader:
        found = [*reader.best(terms, most), *reader.titled(possible_titles(query), most)]
        return [reader.size, reader.counts(terms), *(reader.passage(number) for number in found)]


@pytest.mark.slow
@pytest.mark.fault(52)
@settings(max_examples=40)
@given(steps=STEPS)
def test_any_changes_in_any_order_give_the_same_index_as_a_new_one(
    reader: Reader, steps: Sequence[tuple[str, str, str, bytes, bool]]
) -> None:
    with TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        (docs / "sub").mkdir(parents=True)
        index = Index(Path(folder) / "kept" / "indexes" / "a.sqlite")
        for tick, (kind, name, other, data, is_read) in enumerate(steps):
            change(kind, docs / name, docs / other, data)
            for changed in (docs / name, docs / other):
                if changed.is_file() and not changed.is_symlink() and kind != "delete":
                    # The clock of the file system may tick too slowly to tell two steps apart.
                    os.utime(changed, ns=(tick, tick))
            if is_read:
                reader.read(docs, index)
        fresh = reader.read(docs, Index(Path(folder) / "fresh" / "indexes" / "a.sqlite"))
        assert state_of(reader.read(docs, index)) == state_of(fresh)


class Watched(Parser):
    """A parser that records the names of its files, and perhaps always times out."""

    def __init__(self, *, is_late: bool = False) -> None:
        super().__init__(seconds=60, max_bytes=1_000_000)
        self.seen: list[str] = []
        self.is_late = is_late

    def parse_all(
        self, files: Sequence[tuple[bytes, str]], today: str = ""
    ) -> list[Extract | Unreadable]:
        self.seen += [name for _, name in files]
        if self.is_late:
            return [Unreadable("timed out", "reading it takes too long") for _ in files]
        return super().parse_all(files, today)


def test_only_new_files_are_parsed_not_moved_or_touched_ones(
    papers: Papers, tmp_path: Path
) -> None:
    index = Index(tmp_path / "data" / "indexes" / "a.sqlite")
    with ThreadPoolExecutor(2) as threads, Watched() as parser:
        reader = Reader(parser, threads)
        reader.read(papers.docs, index)
        assert sorted(parser.seen) == ["Velm bridge.txt", "harbour.md", "salt.txt"]
        parser.seen.clear()
        (papers.docs / "harbour.md").rename(papers.docs / "old" / "harbour.md")
        (papers.docs / "old" / "Velm bridge.txt").touch()
        (papers.docs / "new.md").write_text("# New")
        reader.read(papers.docs, index)
        assert parser.seen == ["new.md"]
        moved = index.document("old/harbour.md")
        assert moved and moved.title == "Porto Alto harbour"
        assert index.document("harbour.md") is None


def test_a_file_that_took_too_long_is_read_again_a_few_times_and_not_for_ever(
    papers: Papers, tmp_path: Path
) -> None:
    index = Index(tmp_path / "data" / "indexes" / "a.sqlite")
    with ThreadPoolExecutor(2) as threads, Watched(is_late=True) as late:
        for _ in range(MOST_TRIES + 2):
            Reader(late, threads).read(papers.docs, index)
            (papers.docs / "harbour.md").touch()
        assert Counter(late.seen) == dict.fromkeys(
            ["Velm bridge.txt", "harbour.md", "salt.txt"], MOST_TRIES
        )
        assert {entry.code for entry in index.stamps().values()} == {"timed out"}


@pytest.mark.parametrize("tries", [1, MOST_TRIES])
def test_a_file_that_took_too_long_is_read_once_there_is_more_time(
    papers: Papers, tmp_path: Path, tries: int
) -> None:
    # Each try of each file kills a process.
    for name in ("old/Velm bridge.txt", "salt.txt"):
        (papers.docs / name).unlink()
    for _ in range(tries):
        with pytest.raises(DocumentsUnreadable, match="longer than 0"):
            papers.library(parse_seconds=0.001).refresh()
    assert papers.library(parse_seconds=60).refresh() == LibraryStatus(1, (), ())
    fresh = Papers(papers.docs, tmp_path / "fresh")
    fresh.indexed()
    assert Index(papers.index_file()).stamps() == Index(fresh.index_file()).stamps()


@pytest.mark.fault(52)
def test_a_file_that_is_replaced_by_one_of_the_same_size_a_moment_later_is_read_again(
    papers: Papers,
) -> None:
    file = papers.docs / "harbour.md"
    file.write_text("The harbour holds salt.")
    os.utime(file, ns=(1_900_000_000_000_000_000,) * 2)
    library = papers.indexed()
    before = papers.index_file().read_bytes()
    library.refresh()
    assert papers.index_file().read_bytes() == before, (
        "nothing is written where nothing has changed"
    )
    file.write_text("The harbour holds coal.")
    os.utime(file, ns=(1_900_000_000_000_000_001,) * 2)
    library.refresh()
    assert [passage.text for passage in library.search("harbour holds", 1)] == [
        "The harbour holds coal."
    ]


FILES = 900
ASK = (
    "ask",
    "How many gannets were counted on day 7?",
    "--model",
    "extractive",
    "--yes",
    "--json",
    "--docs",
)


def rows_in(data: Path) -> int:
    """Documents in the index so far."""
    for file in (data / "indexes").glob("*.sqlite"):
        with (
            closing(sqlite3.connect(file, timeout=60)) as connection,
            suppress(sqlite3.OperationalError),
        ):
            return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])
    return 0


def wait_for_rows(process: subprocess.Popen[str], data: Path, before: int) -> None:
    """Wait until more documents are in the index."""
    while rows_in(data) <= before:
        try:
            process.wait(0.01)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"it ended before it stored anything: {process.communicate()}")


@pytest.mark.slow
@pytest.mark.fault(36)
def test_indexing_that_is_killed_and_stopped_continues_after_the_last_batch(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for number in range(FILES):
        file = desk.docs / f"{number % 7}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"# Gannets {number}\n\n"
            + f"On day {number} the gannets of rock {number} were counted. " * 40
        )
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
    packets = [json.loads(line) for line in again.out.splitlines()]
    last = [packet for packet in packets if packet.get("type") == "documents_indexed"][-1]
    assert (last["done"], last["total"]) == (FILES - kept, FILES - kept)
    fresh = Papers(desk.docs, tmp_path / "fresh")
    fresh.indexed()
    files = (papers.index_file() for papers in (Papers(desk.docs, desk.data), fresh))
    continued, new = (state_of(Index(file), ("gannets 7", "rock 700"), 150) for file in files)
    assert continued == new
