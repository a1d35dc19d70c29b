"""Changes of files in any order: the updated index equals a new one, and only changed files are read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.files import Papers

from deep_research.core.library.candidates import mentions, terms_of
from deep_research.core.library.index import Index
from deep_research.core.library.library import LibraryStatus
from deep_research.core.library.upkeep import MOST_TRIES, compare, update
from deep_research.core.reading.documents.pool import Parser
from deep_research.core.reading.records import Extract, Unreadable
from deep_research.core.run.errors import DocumentsUnreadable
from deep_research.core.run.limits import Limits

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
QUERIES = ("harbour", "salt ships 1893", "Haus Hafen", "港 船", "one ship after the other", "a", "b", "Häuser")

Act = Callable[[Path, Path, int], None]


def write(path: Path, _other: Path, number: int) -> None:
    if path.is_symlink():
        # It may lead to one that leads back to it.
        path.unlink()
    path.write_bytes(TEXTS[number % len(TEXTS)])


def delete(path: Path, _other: Path, _number: int) -> None:
    path.unlink(missing_ok=True)


def move(path: Path, other: Path, _number: int) -> None:
    if path.exists():
        path.replace(other)


def copy(path: Path, other: Path, _number: int) -> None:
    if path.exists() and path != other:
        data = path.read_bytes()
        if other.is_symlink():
            other.unlink()
        other.write_bytes(data)


def swap_for_a_link(path: Path, other: Path, _number: int) -> None:
    if path != other:
        path.unlink(missing_ok=True)
        path.symlink_to(other)


class Step(NamedTuple):
    act: Act
    path: str
    other: str
    number: int
    is_read: bool
    """Whether the index is updated after it."""


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from([write, write, delete, move, move, copy, swap_for_a_link]),
        st.sampled_from(PATHS),
        st.sampled_from(PATHS),
        st.integers(0, len(TEXTS) - 1),
        st.booleans(),
    ),
    min_size=1,
    max_size=20,
)


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


def state_of(index: Index) -> dict[str, Any]:
    """Everything that can be read from an index."""
    stamps = index.stamps()
    return {
        "stamps": stamps,
        "documents": {path: index.document(path) for path in stamps},
        "summary": index.summary(),
        "answers": [answers(index, query) for query in QUERIES],
    }


def answers(index: Index, query: str) -> list[object]:
    """Results of an index for a query."""
    terms = terms_of(query)
    with index.reading() as reader:
        found = [*reader.best(terms, 25), *reader.titled(mentions(query), 25)]
        return [reader.size, reader.counts(terms), *(reader.passage(number) for number in found)]


def do(docs: Path, step: Step, tick: int) -> None:
    path, other = docs / step.path, docs / step.other
    step.act(path, other, step.number)
    for changed in (path, other):
        if changed.is_file() and not changed.is_symlink() and step.act is not delete:
            # The clock of the file system may tick too slowly to tell two steps apart.
            os.utime(changed, ns=(tick, tick))


@pytest.mark.slow
@pytest.mark.fault(52)
@settings(max_examples=80)
@given(steps=STEPS)
def test_any_changes_in_any_order_give_the_same_index_as_a_new_one(reader: Reader, steps: Sequence[Step]) -> None:
    with TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        (docs / "sub").mkdir(parents=True)
        index = Index(Path(folder) / "kept" / "indexes" / "a.sqlite")
        for tick, step in enumerate(steps):
            do(docs, step, tick)
            if step.is_read:
                reader.read(docs, index)
        fresh = reader.read(docs, Index(Path(folder) / "fresh" / "indexes" / "a.sqlite"))
        assert state_of(reader.read(docs, index)) == state_of(fresh)


class Watched(Parser):
    """A parser that records the names of its files."""

    def __init__(self) -> None:
        super().__init__(seconds=60, max_bytes=1_000_000)
        self.seen: list[str] = []

    def parse_all(self, files: Sequence[tuple[bytes, str]]) -> list[Extract | Unreadable]:
        self.seen += [name for _, name in files]
        return super().parse_all(files)


def test_only_new_files_are_parsed_not_moved_or_touched_ones(papers: Papers, tmp_path: Path) -> None:
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


class Late(Watched):
    """A parser that always times out."""

    def parse_all(self, files: Sequence[tuple[bytes, str]]) -> list[Extract | Unreadable]:
        self.seen += [name for _, name in files]
        return [Unreadable("timed out", "reading it takes too long") for _ in files]


def test_a_file_that_took_too_long_is_read_again_a_few_times_and_not_for_ever(papers: Papers, tmp_path: Path) -> None:
    index = Index(tmp_path / "data" / "indexes" / "a.sqlite")
    with ThreadPoolExecutor(2) as threads, Late() as late:
        for _ in range(MOST_TRIES + 2):
            Reader(late, threads).read(papers.docs, index)
            (papers.docs / "harbour.md").touch()
        assert Counter(late.seen) == dict.fromkeys(["Velm bridge.txt", "harbour.md", "salt.txt"], MOST_TRIES)
        assert {entry.code for entry in index.summary().unread} == {"timed out"}


@pytest.mark.parametrize("tries", [1, MOST_TRIES])
def test_a_file_that_took_too_long_is_read_once_there_is_more_time(papers: Papers, tmp_path: Path, tries: int) -> None:
    for _ in range(tries):
        with pytest.raises(DocumentsUnreadable, match="longer than 0"):
            papers.library(parse_seconds=0.001).refresh()
    assert papers.library(parse_seconds=60).refresh() == LibraryStatus(3, (), ())
    fresh = Papers(papers.docs, tmp_path / "fresh")
    fresh.indexed()
    assert Index(papers.index_file()).stamps() == Index(fresh.index_file()).stamps()


@pytest.mark.fault(52)
def test_a_file_that_is_replaced_by_one_of_the_same_size_a_moment_later_is_read_again(papers: Papers) -> None:
    file = papers.docs / "harbour.md"
    file.write_text("The harbour holds salt.")
    os.utime(file, ns=(1_900_000_000_000_000_000,) * 2)
    library = papers.indexed()
    file.write_text("The harbour holds coal.")
    os.utime(file, ns=(1_900_000_000_000_000_001,) * 2)
    library.refresh()
    assert [passage.text for passage in library.search("harbour holds", 1)] == ["The harbour holds coal."]


def test_nothing_is_written_where_nothing_has_changed(papers: Papers) -> None:
    library = papers.indexed()
    before = papers.index_file().read_bytes()
    library.refresh()
    assert papers.index_file().read_bytes() == before
