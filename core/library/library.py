"""The user's documents: all folders and files of `docs`, kept indexed, searched and read.

Every method blocks on files and SQLite; async callers wrap it in `asyncio.to_thread`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple, TypeVar

from ...prompts import fence
from ..evidence.text.similarity import distinct, grouped, spread
from ..evidence.text.stems import sought_words
from ..evidence.text.words import GENERIC_WORDS
from ..records.sources import DOCUMENT_SCHEME, Source
from ..run.context import Context
from .candidates import terms_of
from .folder import PICTURE, PICTURES, LeftOut
from .index import Entry, IndexSummary, Root, open_roots, unreadable
from .index_search import OF_TEXT, IndexedPassage, IndexReader
from .near_words import WORD
from .shelf import IndexShelf, LibraryPassage, OpenIndex, in_force_first
from .topic import near_topic
from .trails import find_trails, passages_of
from .upkeep import Outdated, Upkeep

FIRST = 3
"""Files that are named where none can be read."""
FEWEST_WORDS = 5
"""Words from which on a query counts as a question."""
LONG = 60
"""Words from which on it is no question but a topic."""
OF_TOPIC = 500
"""Passages whose topics are compared with that of such a text."""
OF_LONG = 20
"""Documents that such a text finds."""
TRAILED = 10
"""Passages that are taken from the trails through the documents; the others are those that hold the words best."""

Result = TypeVar("Result")


MOST_UNKNOWN = 3
"""Unknown words of a question: more of them are of another language than the documents, or a pasted text."""
LISTED = 150
"""Documents that are listed one by one."""
FOLDERS = 60
"""Folders that are listed where the documents are more, those that hold most first."""
CHARACTERS = 8000
"""Characters of the list; a longer one is that of the folders."""
TITLE = 120
"""Characters of a title."""


class LibraryStatus(NamedTuple):
    """What can be searched."""

    documents: int
    left_out: tuple[LeftOut, ...]
    """What cannot, and why."""
    shortened: tuple[str, ...]
    """Documents of which only the beginning can."""
    notes: tuple[str, ...] = ()
    """Documents with pages that cannot, or only with mistakes, each with the pages and the reason."""

    @property
    def unread(self) -> int:
        """Number of files that would be documents if they could be read."""
        return sum(one.files for one in self.left_out if one.is_document)


class LibraryDocument(NamedTuple):
    """One document with its text."""

    source: Source
    text: str


class Library:
    """The documents of a run; may be used from several threads."""

    def __init__(self, context: Context) -> None:
        """Take note of the settings; nothing is opened yet, so this may be called anywhere."""
        self._context = context
        self._upkeep = Upkeep(context.limits, context.clock)

    @cached_property
    def _roots(self) -> tuple[Root, ...]:
        return tuple(open_roots(self._context))

    def refresh(self, on_progress: Callable[[int, int], None] | None = None) -> LibraryStatus:
        """Index what is new or changed; tells how many of how many documents are done.

        Raises `DocumentsUnreadable`.
        """
        outdated = self._upkeep.refresh(self._roots, on_progress)
        return _status(
            [_root_status(*pair, pair[0].store.summary()) for pair in zip(self._roots, outdated, strict=True)]
        )

    def search(self, query: str, limit: int) -> list[LibraryPassage]:
        """Return the passages of all folders that match a query, best first; a few of each document, then the rest.

        A word that stands in no passage is replaced by one that is spelt alike, or by the parts of a compound.
        """
        return self._ask(lambda shelf: shelf.best(_with_near_words(query, shelf), limit))

    def unmatched(self, queries: Iterable[str]) -> list[str]:
        """Return the words of these queries that stand in no document, each once."""
        words = distinct((word for query in queries for word in terms_of(query)), str)
        known = self._ask(lambda shelf: shelf.held(words))
        return [word for word in words if word not in known]

    def held(self, words: Iterable[str]) -> frozenset[str]:
        """Return those of these words that stand in documents; in scripts without spaces, those whose neighbours do."""
        wanted = {word: tuple(sought_words(word)) for word in words}
        known = self._ask(lambda shelf: shelf.held([*{*chain(*wanted.values())}]))
        return frozenset(word for word, parts in wanted.items() if parts and known.issuperset(parts))

    def follow(self, question: str, limit: int) -> list[LibraryPassage]:
        """Return passages that answer a question together: those of the best trail first, then others that may help.

        A few words are no question: they get what matches them. What says that it is not in force comes last.
        """
        return self._ask(partial(_follow, question, limit))

    def _ask(self, ask: Callable[[IndexShelf], Result]) -> Result:
        """Ask all indexes, those of one moment."""
        if not all(root.store.file.exists() for root in self._roots):
            # The run began with another data folder.
            self.refresh()
        return self._upkeep.asked(self._roots, partial(self._asked, ask))

    def _asked(self, ask: Callable[[IndexShelf], Result]) -> Result:
        with ExitStack() as stack:
            readers = [(root, stack.enter_context(root.store.reading())) for root in self._roots]
            indexes = [OpenIndex(reader, partial(self._passage, root, reader)) for root, reader in readers]
            return ask(IndexShelf(indexes))

    def _passage(self, root: Root, reader: IndexReader, number: int) -> LibraryPassage:
        found = reader.passage(number)
        return LibraryPassage(self._source(root, found), found.start, found.heading, found.language, found.text)

    def documents(self) -> Iterator[LibraryDocument]:
        """Return all documents that can be read, each once, folder by folder, in the order of their paths."""
        keys: set[str] = set()
        for root in self._roots:
            for path in sorted(self._mended(root, root.store.stamps)):
                document = self.read(root.address(path))
                if document and document.source.key not in keys:
                    keys.add(document.source.key)
                    yield document

    def addresses(self) -> Iterator[str]:
        """Return the addresses of all documents that can be read."""
        for root in self._roots:
            stamps = self._mended(root, root.store.stamps)
            yield from (root.address(path) for path, entry in stamps.items() if not entry.reason)

    def read(self, address: str) -> LibraryDocument | None:
        """Return the document with this address, as it was indexed; none if there is no such document."""
        for root in self._roots:
            path = root.path_of(address)
            entry = self._mended(root, partial(root.store.document, path)) if path else None
            if entry:
                return LibraryDocument(self._source(root, entry), entry.text)
        return None

    def _mended(self, root: Root, ask: Callable[[], Result]) -> Result:
        """Ask an index; if it turns out to be damaged, build it anew first."""
        return self._upkeep.asked((root,), ask)

    def _source(self, root: Root, found: Entry | IndexedPassage) -> Source:
        uri, read_at = root.uri(found.path), self._context.clock.now().isoformat(timespec="seconds")
        return Source(
            key=uri,
            title=found.title,
            location=uri,
            address=root.address(found.path),
            kind="document",
            date=found.date,
            date_kind=found.date_kind,
            period=found.period,
            publisher=found.publisher,
            is_draft=bool(found.is_draft),
            superseded_by=found.superseded_by,
            in_force_from=found.valid_from if found.valid_from > read_at[: len(found.valid_from)] else "",
            is_cut=bool(found.is_cut),
            content_hash=found.content_hash,
            read_at=read_at,
        )


def _with_near_words(query: str, shelf: IndexShelf) -> str:
    """Return the query with near words of the documents in place of those that stand in none."""
    sought = frozenset(terms_of(query)) - GENERIC_WORDS
    words = [word for word in dict.fromkeys(WORD.findall(query)) if word.casefold() in sought]
    known = shelf.held([word.casefold() for word in words])
    unknown = [word for word in words if word.casefold() not in known]
    if not 0 < len(unknown) <= MOST_UNKNOWN:
        return query
    near = {word: " ".join(shelf.near(word.casefold())) for word in unknown}
    return WORD.sub(lambda found: near.get(found[0]) or str(found[0]), query)


def _on_topic(text: str, shelf: IndexShelf) -> list[LibraryPassage]:
    """Return one passage of each document that is on the topic of a long text."""
    found = grouped(shelf.search(terms_of(text), OF_TOPIC), lambda one: one.document)
    documents = {key: " ".join((own[0].title, *(one.text for one in own))) for key, own in found.items()}
    return [shelf.passages[found[key][0]] for key in near_topic(text, documents)]


def _follow(question: str, limit: int, shelf: IndexShelf) -> list[LibraryPassage]:
    words = len(sought_words(question))
    if words >= LONG:
        return _on_topic(question, shelf)[: min(limit, OF_LONG)]
    sought = _with_near_words(question, shelf)
    trails = find_trails(sought, shelf) if words >= FEWEST_WORDS else []
    trailed = [shelf.passages[one] for one in passages_of(trails, TRAILED)]
    every = distinct([*trailed, *shelf.best(sought, limit)], lambda one: (one.source.key, one.start))
    return in_force_first(question, spread(every, lambda one: one.source.key, OF_TEXT)[:limit])


def _root_status(root: Root, outdated: Outdated, summary: IndexSummary) -> LibraryStatus:
    # Of what was attached, each file is named, by its name alone.
    unread = summary.unread if root.is_attached else _with_pictures_as_one(summary.unread)
    left_out = [*outdated.left_out, *unread]
    if not (summary.readable or root.is_attached):
        first = "".join(f"; {one.path}: {one.reason}" for one in left_out[:FIRST])
        more = f"; and {len(left_out) - FIRST} more" if len(left_out) > FIRST else ""
        raise unreadable(root.path, f"there is no document in it that can be read{first}{more}")
    cut = tuple(_named(root, path) for path in summary.cut)
    notes = tuple(f"{_named(root, path)}: {note}" for path, note in summary.notes)
    return LibraryStatus(summary.readable, tuple(_shown(root, left_out)), cut, notes)


def _shown(root: Root, left_out: list[LeftOut]) -> Iterator[LeftOut]:
    for one in sorted(left_out):
        yield one._replace(path=_named(root, one.path))


def _with_pictures_as_one(unread: Sequence[LeftOut]) -> list[LeftOut]:
    """Return files that are not read, with one line for all pictures without text."""
    rest = [one for one in unread if one.code != PICTURE]
    count = len(unread) - len(rest)
    return [*rest, LeftOut(PICTURES, f"{count} without text", PICTURE, count)] if count else rest


def _named(root: Root, path: str) -> str:
    return path if root.is_attached else root.address(path).removeprefix(DOCUMENT_SCHEME)


def _status(parts: list[LibraryStatus]) -> LibraryStatus:
    return LibraryStatus(
        sum(part.documents for part in parts),
        tuple(one for part in parts for one in part.left_out),
        tuple(one for part in parts for one in part.shortened),
        tuple(one for part in parts for one in part.notes),
    )


def catalogue(library: Library, documents: int) -> str:
    """Return a list of the documents for a prompt: one by one, or else their folders; empty if there are none.

    `documents`: how many there are.
    """
    lines = list(map(_line, library.documents())) if documents <= LISTED else []
    if documents and (not lines or sum(map(len, lines)) > CHARACTERS):
        lines = list(_folders(library.addresses()))
    return fence("\n".join(lines), tag="documents") if lines else ""


def _line(document: LibraryDocument) -> str:
    source = document.source
    to_come = f"in force from {source.in_force_from}" if source.in_force_from else ""
    standing = "draft" if source.is_draft else "superseded" if source.superseded_by else to_come
    facts = filter(None, (source.address, source.date, source.period, standing, f"{len(document.text):,} characters"))
    return f"- {source.title[:TITLE]} ({', '.join(facts)})"


def _folders(addresses: Iterable[str]) -> Iterator[str]:
    counts = Counter(address.rpartition("/")[0] for address in addresses)
    for folder, count in counts.most_common(FOLDERS):
        yield f"- {folder}: {count:,} documents"
    if len(counts) > FOLDERS:
        yield f"- {len(counts) - FOLDERS} more folders"
