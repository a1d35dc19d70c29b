"""The user's documents: all folders and files of `docs`, kept indexed, searched and read.

Every method blocks on files and SQLite; async callers wrap it in `asyncio.to_thread`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

from deep_research.evidence.mixing import distinct
from deep_research.evidence.trails.trails import find_trails, passages_of
from deep_research.knowledge import Source
from deep_research.reading.extract import WORKERS, Parser
from deep_research.reading.folder import LeftOut
from deep_research.run.context import Context
from deep_research.tools.editions import in_force_first
from deep_research.tools.index import Entry, is_corrupt
from deep_research.tools.index_reader import FoundPassage, IndexReader
from deep_research.tools.index_shelf import IndexShelf, OpenIndex
from deep_research.tools.ranking import Passage, match_any, rarity, scores, stems_of
from deep_research.tools.refresh import Outdated, compare, update
from deep_research.tools.roots import SCHEME, Root, open_roots, unreadable
from deep_research.tools.wording import mentions, terms_of, title_key

CANDIDATES = 150
TRAILED = 10
"""Passages that are taken from the trails through the documents; the others are those that hold the words best."""

Result = TypeVar("Result")


class LibraryStatus(NamedTuple):
    """What can be searched."""

    documents: int
    left_out: tuple[LeftOut, ...]
    """What cannot, and why."""
    shortened: tuple[str, ...]
    """Documents of which only the beginning can."""


class Document(NamedTuple):
    """One document with its text."""

    source: Source
    text: str


class Library:
    """The documents of a run; may be used from several threads."""

    def __init__(self, context: Context) -> None:
        """Take note of the settings; nothing is opened yet, so this may be called anywhere."""
        self._context = context
        self._limits = context.limits

    @cached_property
    def _roots(self) -> tuple[Root, ...]:
        return tuple(open_roots(self._context))

    def refresh(self, on_progress: Callable[[int, int], None] | None = None) -> LibraryStatus:
        """Index what is new or changed; tells how many of how many files are done. Raises `DocumentsUnreadable`."""
        outdated = [self._compare(root) for root in self._roots]
        total = sum(len(one.files) for one in outdated)
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            if on_progress:
                on_progress(done, total)

        with self._parser() as parser, ThreadPoolExecutor(WORKERS) as threads:
            for root, one in zip(self._roots, outdated, strict=True):
                self._mended(root, partial(update, one, parser, threads, count))
        return _status([_root_status(root, one) for root, one in zip(self._roots, outdated, strict=True)])

    def search(self, query: str, limit: int) -> list[Passage]:
        """The passages of all folders that answer a query best, best first."""
        terms = terms_of(query)
        if not terms:
            return []
        if not all(root.store.file.exists() for root in self._roots):
            # The run began with another data folder.
            self.refresh()
        titles = mentions(query)
        candidates = {
            (passage.source.key, passage.start): passage
            for root in self._roots
            for passage in self._candidates(root, match_any(terms), titles)
        }
        passages = [candidates[key] for key in sorted(candidates)]
        weights = self._weights(stems_of(terms))
        ranked = zip(scores(passages, weights, self._mentioned(passages, titles)), passages, strict=True)
        best = sorted(ranked, key=lambda pair: (-pair[0], pair[1].source.key, pair[1].start))
        return [passage for _, passage in best[:limit]]

    def follow(self, question: str, limit: int) -> list[Passage]:
        """The passages that answer a question together, those of the best trail first, and others that may help.

        Outdated versions come last, and tell which document is in force; that one is among the passages.
        """
        with ExitStack() as stack:
            indexes = [self._opened(root, stack.enter_context(root.store.reading())) for root in self._roots]
            shelf = IndexShelf(indexes)
            trailed = [shelf.passages[one] for one in passages_of(find_trails(question, shelf), TRAILED)]
            found = distinct([*trailed, *self.search(question, limit)], lambda one: (one.source.key, one.start))
            return in_force_first(question, found[:limit], shelf, self._text)[:limit]

    def _text(self, source: Source) -> str:
        document = self.read(source.address)
        return document.text if document else ""

    def _opened(self, root: Root, reader: IndexReader) -> OpenIndex:
        def passage(number: int) -> Passage:
            found = reader.passage(number)
            return Passage(self._source(root, found), found.start, found.heading, found.text)

        return OpenIndex(reader, passage)

    def read(self, address: str) -> Document | None:
        """The document of this address, as it was indexed; none if there is no such document."""
        for root in self._roots:
            path = root.path_of(address)
            entry = self._mended(root, partial(root.store.document, path)) if path else None
            if entry:
                return Document(self._source(root, entry), entry.text)
        return None

    def documents(self) -> Iterator[Document]:
        """All documents that can be read, folder by folder, in the order of their paths."""
        for root in self._roots:
            for path in sorted(self._mended(root, root.store.stamps)):
                document = self.read(root.address(path))
                if document:
                    yield document

    def _parser(self) -> Parser:
        return Parser(self._limits.parse_seconds, self._limits.max_document_bytes)

    def _compare(self, root: Root) -> Outdated:
        try:
            return compare(root.path, root.store, self._limits)
        except sqlite3.DatabaseError as error:
            if not is_corrupt(error):
                raise
            root.store.discard()
            return self._compare(root)
        except OSError as error:
            raise unreadable(root.path, f"cannot be opened ({error.strerror or error})") from error

    def _mended(self, root: Root, ask: Callable[[], Result]) -> Result:
        """Ask an index; if it turns out to be damaged, build it anew first."""
        try:
            return ask()
        except sqlite3.DatabaseError as error:
            if not is_corrupt(error):
                raise
        root.store.discard()
        with self._parser() as parser, ThreadPoolExecutor(WORKERS) as threads:
            update(self._compare(root), parser, threads, lambda: None)
        return ask()

    def _candidates(self, root: Root, match: str, titles: list[str]) -> Iterator[Passage]:
        for found in self._mended(root, partial(root.store.candidates, match, titles, CANDIDATES)):
            yield Passage(self._source(root, found), found.start, found.heading, found.text)

    def _weights(self, stems: list[str]) -> dict[str, float]:
        counted = [self._mended(root, partial(root.store.frequencies, stems)) for root in self._roots]
        total = sum(one for one, _ in counted)
        return {stem: rarity(total, sum(counts.get(stem, 0) for _, counts in counted)) for stem in stems}

    def _mentioned(self, passages: list[Passage], titles: list[str]) -> dict[str, float]:
        found = {title_key(passage.source.title) for passage in passages}.intersection(titles)
        return {title: sum(self._weights(stems_of([title])).values()) for title in sorted(found)}

    def _source(self, root: Root, found: Entry | FoundPassage) -> Source:
        uri = root.uri(found.path)
        return Source(
            key=uri,
            title=found.title,
            location=uri,
            address=root.address(found.path),
            kind="document",
            date=found.date,
            content_hash=found.content_hash,
            read_at=self._context.clock.now().isoformat(timespec="seconds"),
        )


def _root_status(root: Root, outdated: Outdated) -> LibraryStatus:
    entries = sorted(root.store.stamps().values())
    read = [entry for entry in entries if not entry.reason]
    left_out = [
        *outdated.left_out,
        *(LeftOut(entry.path, entry.reason, entry.code) for entry in entries if entry.reason),
    ]
    if not read:
        first = f"; {left_out[0].path}: {left_out[0].reason}" if left_out else ""
        raise unreadable(root.path, f"there is no document in it that can be read{first}")
    return LibraryStatus(len(read), tuple(_shown(root, left_out)), tuple(_shortened(root, read)))


def _shown(root: Root, left_out: list[LeftOut]) -> Iterator[LeftOut]:
    for one in sorted(left_out):
        yield LeftOut(root.address(one.path).removeprefix(SCHEME), one.reason, one.code)


def _shortened(root: Root, entries: list[Entry]) -> Iterator[str]:
    return (root.address(entry.path).removeprefix(SCHEME) for entry in entries if entry.is_cut)


def _status(parts: list[LibraryStatus]) -> LibraryStatus:
    return LibraryStatus(
        sum(part.documents for part in parts),
        tuple(one for part in parts for one in part.left_out),
        tuple(one for part in parts for one in part.shortened),
    )
