"""The user's documents: all folders and files of `docs`, indexed, searched, read and listed for prompts.

Every method blocks on files and SQLite; async callers wrap it in `asyncio.to_thread`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from itertools import chain
from math import log
from typing import NamedTuple, TypeVar

from ...prompts import fence
from ..evidence.standing import asks_for_draft
from ..evidence.text.similarity import distinct, grouped, rarity, spread, without_repeated
from ..evidence.text.stems import sought_words
from ..evidence.text.words import GENERIC_WORDS, STOP_WORDS, stem, tokens
from ..records.sources import DOCUMENT_SCHEME, Source
from ..run.context import Context
from .candidates import LibraryPassage, terms_of
from .folder import PICTURE, PICTURES, LeftOut
from .index import Root, open_roots, unreadable
from .index_file import IndexedFile
from .index_search import PER_DOCUMENT, WORD
from .shelf import IndexShelf
from .trails import find_trails, passages_of
from .upkeep import Upkeep

_FILES_NAMED = 3
"""Maximum number of files named in the error if none can be read."""
_FEWEST_WORDS = 5
"""Minimum words of a question to search for trails; for shorter queries, only the best matches are returned."""
TOPIC_WORDS = 60
"""Minimum words of a text to search by topic."""
_TOPIC_PASSAGES = 500
"""Number of best matching passages whose documents are compared with such a text by topic."""
TOPIC_DOCUMENTS = 20
"""Number of documents returned for such a text."""
_DIMENSIONS = 50
"""Number of topics to distinguish, a tenth of the compared passages."""
_TINY = 1e-9
"""Avoids divisions by zero."""
_MOST_TRAILED = 10
"""Maximum passages of trails in a result; the others are the best matches."""
_MOST_UNKNOWN = 3
"""Maximum unknown words to replace; a query with more is pasted text, or not in the documents' language."""
MOST_LISTED = 150
"""Maximum documents to list individually."""
_MOST_FOLDERS = 60
"""Maximum folders to list instead, those with the most documents first."""
_LIST_CHARACTERS = 8000
"""Maximum length of the list of documents in characters; above that, folders are listed instead."""
_TITLE_CHARACTERS = 120
"""Maximum characters of a title."""

Result = TypeVar("Result")


class LibraryStatus(NamedTuple):
    """What can be searched after a refresh, and what cannot."""

    documents: int
    """Number of documents that can be searched."""
    left_out: tuple[LeftOut, ...]
    """Files that cannot be searched."""
    shortened: tuple[str, ...]
    """Documents of which only the beginning can be searched."""
    notes: tuple[str, ...] = ()
    """Documents with pages that were not read or are uncertain, each with its note."""

    @property
    def unread(self) -> int:
        """Number of files that count as documents but could not be read."""
        return sum(entry.files for entry in self.left_out if entry.is_document)


class LibraryDocument(NamedTuple):
    """A document with its text."""

    source: Source
    text: str


class Library:
    """The user's documents, as set for a run; may be used from several threads."""

    def __init__(self, context: Context) -> None:
        """Opens nothing, so it does not block."""
        self._context = context
        self._upkeep = Upkeep(context.limits, context.clock)

    @cached_property
    def _roots(self) -> tuple[Root, ...]:
        return tuple(open_roots(self._context))

    def refresh(self, on_progress: Callable[[int, int], None] | None = None) -> LibraryStatus:
        """Index new and changed files; `on_progress` is called with the numbers of files done and to read in all.

        Raises `DocumentsUnreadable`.
        """
        documents, left_out = 0, list[LeftOut]()
        shortened, notes = list[str](), list[str]()
        for root, changes in zip(self._roots, self._upkeep.refresh(self._roots, on_progress), strict=True):
            entries = sorted(root.store.stamps().values())
            read = [entry for entry in entries if not entry.reason]
            failed = [entry for entry in entries if entry.reason]
            unread = [*changes.left_out, *(LeftOut(entry.path, entry.reason, entry.code) for entry in failed)]
            # Pictures without text are only counted; attachments are listed individually, by file name.
            if not root.is_attached and (pictures := sum(entry.code == PICTURE for entry in unread)):
                unread = [entry for entry in unread if entry.code != PICTURE]
                unread.append(LeftOut(PICTURES, f"{pictures} without text", PICTURE, pictures))
            if not (read or root.is_attached):
                first = "".join(f"; {entry.path}: {entry.reason}" for entry in unread[:_FILES_NAMED])
                more = f"; and {len(unread) - _FILES_NAMED} more" if len(unread) > _FILES_NAMED else ""
                raise unreadable(root.path, f"there is no document in it that can be read{first}{more}")
            documents += len(read)
            left_out += [entry._replace(path=_shown_path(root, entry.path)) for entry in sorted(unread)]
            shortened += [_shown_path(root, entry.path) for entry in read if entry.is_cut and not entry.note]
            notes += [f"{_shown_path(root, entry.path)}: {entry.note}" for entry in read if entry.note]
        return LibraryStatus(documents, tuple(left_out), tuple(shortened), tuple(notes))

    def search(self, query: str, limit: int) -> list[LibraryPassage]:
        """Return at most `limit` passages that match a query, best first; a few per document, then the others.

        A word that occurs nowhere is replaced with words of similar spelling, or with the parts of a compound.
        """
        return self._ask(lambda shelf: shelf.best(_with_near_words(query, shelf), limit))

    def unmatched(self, queries: Iterable[str]) -> list[str]:
        """Return the distinct words of these queries that occur in no document."""
        words = distinct((word for query in queries for word in terms_of(query)), str)
        known = self._ask(lambda shelf: shelf.known(words))
        return [word for word in words if word not in known]

    def known(self, words: Iterable[str]) -> frozenset[str]:
        """Return the words that occur in documents; in unspaced scripts, the words whose parts all occur."""
        wanted = {word: tuple(sought_words(word)) for word in words}
        known = self._ask(lambda shelf: shelf.known([*{*chain(*wanted.values())}]))
        return frozenset(word for word, parts in wanted.items() if parts and known.issuperset(parts))

    def follow(self, question: str, limit: int) -> list[LibraryPassage]:
        """Return at most `limit` passages that answer a question: those of the best trails, then the best matches.

        For a query shorter than a question, only the best matches; for a very long text, one passage of each document
        on its topic. Documents not in force come last.
        """
        return self._ask(partial(_follow, question, limit))

    def _ask(self, ask: Callable[[IndexShelf], Result]) -> Result:
        """Call `ask` with a snapshot of all indexes and return its result."""
        if not all(root.store.file.exists() for root in self._roots):
            # The run was started with another data folder.
            self.refresh()

        def asked() -> Result:
            with ExitStack() as stack:
                opened = (root.store.reading(partial(self._source, root)) for root in self._roots)
                return ask(IndexShelf([stack.enter_context(index) for index in opened]))

        return self._upkeep.run(self._roots, asked)

    def documents(self) -> Iterator[LibraryDocument]:
        """Yield all distinct readable documents, folder by folder, sorted by path."""
        keys: set[str] = set()
        for root in self._roots:
            for path in sorted(self._upkeep.run((root,), root.store.stamps)):
                document = self.read(root.address(path))
                if document and document.source.key not in keys:
                    keys.add(document.source.key)
                    yield document

    def addresses(self) -> Iterator[str]:
        """Yield the addresses of all readable documents."""
        for root in self._roots:
            stamps = self._upkeep.run((root,), root.store.stamps)
            yield from (root.address(path) for path, entry in stamps.items() if not entry.reason)

    def read(self, address: str) -> LibraryDocument | None:
        """Return the document with this address, as indexed; None if there is no such document."""
        for root in self._roots:
            path = root.path_of(address)
            entry = self._upkeep.run((root,), partial(root.store.document, path)) if path else None
            if entry:
                return LibraryDocument(self._source(root, entry), entry.text)
        return None

    def _source(self, root: Root, found: IndexedFile) -> Source:
        """Return the source for a document of the index."""
        uri, read_at = root.uri(found.path), self._context.clock.now().isoformat(timespec="seconds")
        to_come = found.valid_from if found.valid_from > read_at[: len(found.valid_from)] else ""
        shared = {name: value for name, value in found._asdict().items() if name in Source.model_fields}
        address = root.address(found.path)
        return Source(
            **shared, key=uri, location=uri, address=address, kind="document", in_force_from=to_come, read_at=read_at
        )


def _with_near_words(query: str, shelf: IndexShelf) -> str:
    """Return the query, with words that occur in no document replaced by similar words that do."""
    sought = frozenset(terms_of(query)) - GENERIC_WORDS
    words = [word for word in dict.fromkeys(WORD.findall(query)) if word.casefold() in sought]
    known = shelf.known([word.casefold() for word in words])
    unknown = [word for word in words if word.casefold() not in known]
    if not 0 < len(unknown) <= _MOST_UNKNOWN:
        return query
    near = {word: " ".join(shelf.replacements(word.casefold())) for word in unknown}
    return WORD.sub(lambda found: near.get(found[0]) or str(found[0]), query)


def near_topic(text: str, documents: Mapping[str, str]) -> list[str]:
    """Return the keys of `documents`, those closest to a text's topic first (latent semantic analysis).

    A document that shares few words with the text is close if it shares many with documents that are close.
    """
    # The import takes a tenth of a second.
    import numpy

    counts = [_stem_counts(document) for document in documents.values()]
    holders = Counter(chain.from_iterable(counts))
    columns = {word: column for column, word in enumerate(holders)}
    weights = {word: rarity(len(counts), held) for word, held in holders.items()}
    matrix = numpy.zeros((len(counts) + 1, len(columns)))
    for row, words in zip(matrix, [*counts, _stem_counts(text)], strict=True):
        for word in words.keys() & columns.keys():
            row[columns[word]] = (1 + log(words[word])) * weights[word]
    matrix /= numpy.linalg.norm(matrix, axis=1, keepdims=True) + _TINY
    own, asked = matrix[:-1], matrix[-1]
    # The eigenvectors of the document similarity matrix are the left singular vectors of the term matrix.
    squares, axes = (part[..., -_DIMENSIONS:] for part in numpy.linalg.eigh(own @ own.T))
    lengths = numpy.sqrt(squares.clip(_TINY))
    topics = axes * lengths
    nearness = topics @ (asked @ own.T @ axes / lengths) / (numpy.linalg.norm(topics, axis=1) + _TINY)
    return [key for _, key in sorted(zip(-nearness, documents, strict=True))]


def _stem_counts(text: str) -> Counter[str]:
    return Counter(stem(word) for word in tokens(text) if word not in STOP_WORDS)


def _follow(question: str, limit: int, shelf: IndexShelf) -> list[LibraryPassage]:
    words = len(sought_words(question))
    if words >= TOPIC_WORDS:
        # One passage from each document on the topic of the text.
        by_document = grouped(shelf.search(terms_of(question), _TOPIC_PASSAGES), lambda candidate: candidate.document)
        texts = {key: " ".join((own[0].title, *(each.text for each in own))) for key, own in by_document.items()}
        return [by_document[key][0].passage for key in near_topic(question, texts)][: min(limit, TOPIC_DOCUMENTS)]
    sought = _with_near_words(question, shelf)
    trails = find_trails(sought, shelf) if words >= _FEWEST_WORDS else []
    trailed = [candidate.passage for candidate in passages_of(trails, _MOST_TRAILED)]
    found = distinct([*trailed, *shelf.best(sought, limit)], lambda passage: (passage.source.key, passage.start))
    best = spread(found, lambda passage: passage.source.key, PER_DOCUMENT)[:limit]
    # Documents not in force come last, unless the question is about a draft.
    if not asks_for_draft(question):
        best.sort(key=lambda passage: not passage.source.is_in_force)
    return without_repeated(best, lambda passage: passage.text)


def _shown_path(root: Root, path: str) -> str:
    """Return the path of a file as shown to users: for attachments only the name, else with the folder's name."""
    return path if root.is_attached else root.address(path).removeprefix(DOCUMENT_SCHEME)


def catalogue(library: Library, documents: int) -> str:
    """Return a fenced list of the library's documents for a prompt, or of their folders if it would be too long.

    Empty if there are no documents. `documents`: number of documents.
    """
    lines = list(map(_line, library.documents())) if documents <= MOST_LISTED else []
    if documents and (not lines or sum(map(len, lines)) > _LIST_CHARACTERS):
        counts = Counter(address.rpartition("/")[0] for address in library.addresses())
        lines = [f"- {folder}: {count:,} documents" for folder, count in counts.most_common(_MOST_FOLDERS)]
        if len(counts) > _MOST_FOLDERS:
            lines.append(f"- {len(counts) - _MOST_FOLDERS} more folders")
    return fence("\n".join(lines), tag="documents") if lines else ""


def _line(document: LibraryDocument) -> str:
    source = document.source
    to_come = f"in force from {source.in_force_from}" if source.in_force_from else ""
    standing = "draft" if source.is_draft else "superseded" if source.superseded_by else to_come
    facts = filter(None, (source.address, source.date, source.period, standing, f"{len(document.text):,} characters"))
    return f"- {source.title[:_TITLE_CHARACTERS]} ({', '.join(facts)})"
