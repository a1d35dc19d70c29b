"""The user's documents: all folders and files of `docs`, searched, read, outlined, and listed for
prompts.

Every method blocks on files and SQLite; async callers wrap it in `asyncio.to_thread`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property, partial
from itertools import chain, islice
from math import log
from pathlib import Path, PurePath
from typing import NamedTuple, TypeVar

from ...prompts import fence
from ..errors import DocumentsUnreadable
from ..evidence.text.language import detect_language
from ..evidence.text.similarity import distinct, grouped, rarity, without_repeated
from ..evidence.text.words import DRAFT_WORDS, GENERIC_WORDS, STOP_WORDS, sought_words, stem, tokens
from ..reading.documents.records import Unreadable, kind_of_file
from ..records.sources import DOCUMENT_SCHEME, Source
from ..settings.context import Context
from ._candidates import LibraryPassage, terms_of
from ._folder import PICTURE, PICTURES, FoundFile, LeftOut, read_file, scan_folder
from ._index import Root, open_roots, unreadable
from ._index_file import IndexedFile
from ._index_search import PER_DOCUMENT, WORD, IndexReader, spread
from ._shelf import IndexShelf
from ._terms import index_term
from ._trails import find_trails, passages_of
from ._upkeep import Upkeep

_FILES_NAMED = 3
"""Maximum number of files named in the error if none can be read."""
_FEWEST_WORDS = 5
"""Minimum words of a question to search for trails; for shorter queries, only the best matches are
returned."""
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
"""Maximum unknown words to replace; a query with more is pasted text, or not in the documents'
language."""
_MOST_LISTED = 150
"""Maximum documents to list individually."""
_READ_AT_ONCE = 20
"""Number of documents to read from an index together, since opening it takes a millisecond."""
_MOST_FOLDERS = 60
"""Maximum folders to list instead, those with the most documents first."""
_LANGUAGES_FROM = 20
"""Number of documents per folder whose language is detected."""
_LIST_CHARACTERS = 8000
"""Maximum length of the list of documents in characters; above that, folders are listed instead."""
_TITLE_CHARACTERS = 120
"""Maximum characters of a title."""
_OUTLINE_FILES, _OUTLINED, _OUTLINE_BYTES = 200, 12, 200_000
"""Limits of an outline in each folder: files considered, documents outlined, and bytes of a file
that is read."""
_HEADING = re.compile(r"^#{1,3} +(.{4,60}?)[ #]*$", re.MULTILINE)
_FIGURES = re.compile(r"^[^#|\n\d][^\n\d]*\d[^\n]*$", re.MULTILINE)
"""A line of prose with a figure."""
_FIGURES_LINES, _FIGURES_LINE = 2, 160
"""Number of such lines in the outline of a document, and characters of each."""
_MARKDOWN = (".md", ".markdown")

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


class DocumentOutline(NamedTuple):
    """A document's title and headings."""

    title: str
    headings: tuple[str, ...]
    figures: tuple[str, ...] = ()
    """Its first lines with figures, shortened."""


class RootOutline(NamedTuple):
    """What a folder or file of `docs` contains."""

    files: int
    """Number of files that can be searched."""
    documents: tuple[DocumentOutline, ...]
    """Outlines of some of them, Markdown first."""


class Library:
    """The user's documents, as set for a run; may be used from several threads."""

    def __init__(self, context: Context) -> None:
        """Opens nothing, so it does not block."""
        self._context = context
        self._upkeep = Upkeep(context.limits, context.clock)

    @cached_property
    def _roots(self) -> tuple[Root, ...]:
        return tuple(open_roots(self._context))

    def check_documents(self) -> None:
        """Raise `DocumentsUnreadable` if a folder or file of `docs` is missing or unsupported."""
        list(open_roots(self._context))

    def outlines(self) -> Iterator[RootOutline]:
        """Yield the outline of each folder and file of `docs`, read from the files without an
        index.

        Raises `DocumentsUnreadable`, and `OSError` if a folder cannot be listed.
        """
        for root in open_roots(self._context):
            found = scan_folder(root.path, self._context.limits.max_document_bytes).files
            yield RootOutline(len(found), tuple(_outlines(root, found)))

    def refresh(self, on_progress: Callable[[int, int], None] | None = None) -> LibraryStatus:
        """Index new and changed files.

        `on_progress` is called with the numbers of files done and to read in all. Raises
        `DocumentsUnreadable`.
        """
        documents = 0
        left_out = list[LeftOut]()
        shortened = list[str]()
        notes = list[str]()
        changes_of_roots = self._upkeep.refresh(self._roots, on_progress)
        for root, changes in zip(self._roots, changes_of_roots, strict=True):
            read = list[IndexedFile]()
            unread = list(changes.left_out)
            stamps = changes.known
            if changes.files or changes.gone:
                stamps = root.store.stamps()
            for entry in sorted(stamps.values()):
                if entry.reason:
                    unread.append(LeftOut(entry.path, entry.reason, entry.code))
                else:
                    read.append(entry)
            if not root.is_attached:
                unread = _with_pictures_counted(unread)
                if not read:
                    raise _nothing_read(root, unread)
            documents += len(read)
            for file in sorted(unread):
                left_out.append(file._replace(path=_shown_path(root, file.path)))
            for entry in read:
                path = _shown_path(root, entry.path)
                if entry.note:
                    notes.append(f"{path}: {entry.note}")
                elif entry.is_cut:
                    shortened.append(path)
        return LibraryStatus(documents, tuple(left_out), tuple(shortened), tuple(notes))

    def search(self, query: str, limit: int) -> list[LibraryPassage]:
        """Return at most `limit` passages that match a query, best first.

        A few per document, then the others. A word that occurs nowhere is replaced with words of
        similar spelling, or with the parts of a compound.
        """
        return self._ask(lambda shelf: shelf.best(_with_near_words(query, shelf), limit))

    def unmatched(self, queries: Iterable[str]) -> list[str]:
        """Return the distinct words of these queries that occur in no document."""
        words = list(dict.fromkeys(chain.from_iterable(map(terms_of, queries))))
        known = self._ask(lambda shelf: shelf.known(words))
        return [word for word in words if word not in known]

    def known(self, words: Iterable[str]) -> frozenset[str]:
        """Return the words that occur in documents.

        In unspaced scripts, the words whose parts all occur.
        """
        parts_of = {word: sought_words(word) for word in words}
        every_part = list(set(chain.from_iterable(parts_of.values())))
        known_parts = self._ask(lambda shelf: shelf.known(every_part))
        known = set[str]()
        for word, parts in parts_of.items():
            if parts and known_parts.issuperset(parts):
                known.add(word)
        return frozenset(known)

    def follow(self, question: str, limit: int) -> list[LibraryPassage]:
        """Return at most `limit` passages that answer a question: those of the best trails, then
        the best matches.

        For a query shorter than a question, only the best matches; for a very long text, one
        passage of each document on its topic. Documents not in force come last.
        """
        return self._ask(partial(_follow, question, limit))

    def _ask(self, ask: Callable[[IndexShelf], Result]) -> Result:
        """Call `ask` with a snapshot of all indexes and return its result."""
        if not all(root.store.file.exists() for root in self._roots):
            # The run was started with another data folder.
            self.refresh()

        def asked() -> Result:
            with ExitStack() as stack:
                readers = list[IndexReader]()
                for root in self._roots:
                    index = root.store.reading(partial(self._source, root))
                    readers.append(stack.enter_context(index))
                return ask(IndexShelf(readers))

        return self._upkeep.run(self._roots, asked)

    def documents(self) -> Iterator[LibraryDocument]:
        """Yield all distinct readable documents, folder by folder, sorted by path."""
        keys: set[str] = set()
        for root in self._roots:
            paths = sorted(self._upkeep.run((root,), root.store.stamps))
            for start in range(0, len(paths), _READ_AT_ONCE):
                together = paths[start : start + _READ_AT_ONCE]
                for entry in self._upkeep.run((root,), partial(root.store.documents, together)):
                    source = self._source(root, entry)
                    if source.key not in keys:
                        keys.add(source.key)
                        yield LibraryDocument(source, entry.text)

    def languages(self) -> list[str]:
        """Return the ISO 639-1 codes of the languages of some documents, the most frequent first.

        Documents whose language is uncertain are left out.
        """
        beginnings = self._ask(lambda shelf: shelf.beginnings(_LANGUAGES_FROM))
        counts = Counter(map(detect_language, beginnings))
        return [code for code, _ in counts.most_common() if code]

    def addresses(self) -> Iterator[str]:
        """Yield the addresses of all readable documents."""
        for root in self._roots:
            stamps = self._upkeep.run((root,), root.store.stamps)
            for path, entry in stamps.items():
                if not entry.reason:
                    yield root.address(path)

    def catalogue(self, documents: int) -> str:
        """Return a fenced list of the documents for a prompt, or of their folders if it would be
        too long.

        Empty if there are no documents. `documents`: number of documents.
        """
        if not documents:
            return ""
        lines = list[str]()
        if self.is_short(documents):
            lines += map(_line, self.documents())
        if not lines or sum(map(len, lines)) > _LIST_CHARACTERS:
            lines = _folder_lines(self)
        return fence("\n".join(lines), tag="documents") if lines else ""

    @staticmethod
    def is_short(documents: int) -> bool:
        """Whether this number of documents is small enough to list each of them."""
        return documents <= _MOST_LISTED

    def read(self, address: str) -> LibraryDocument | None:
        """Return the document with this address, as indexed; None if there is no such document."""
        for root in self._roots:
            path = root.path_of(address)
            if not path:
                continue
            entry = self._upkeep.run((root,), partial(root.store.document, path))
            if entry:
                return LibraryDocument(self._source(root, entry), entry.text)
        return None

    def content(self, address: str) -> bytes:
        """Return the file with this address, as it is now.

        Files that are never indexed (hidden, linked, unsupported or too large) are not read, and
        nothing outside `docs` is. Raises `Unreadable` and `DocumentsUnreadable`.
        """
        for root in self._roots:
            path = root.path_of(address)
            parts = PurePath(path).parts
            if not path or kind_of_file(path) is None:
                continue
            if PurePath(path).is_absolute() or any(part.startswith(".") for part in parts):
                continue
            most = self._context.limits.max_document_bytes
            return read_file(root.path, FoundFile(path, 0, 0), most)
        raise Unreadable("unreadable", "it is in none of the folders that are searched")

    def texts(self, addresses: Iterable[str]) -> dict[str, str]:
        """Return the texts of the documents with these addresses, as indexed; without those that do
        not exist."""
        left = list(dict.fromkeys(addresses))
        texts = dict[str, str]()
        for root in self._roots:
            paths = {address: path for address in left if (path := root.path_of(address))}
            if not paths:
                continue
            found = self._upkeep.run((root,), partial(root.store.documents, paths.values()))
            text_of = {entry.path: entry.text for entry in found}
            for address, path in paths.items():
                if path in text_of:
                    texts[address] = text_of[path]
            left = [address for address in left if address not in texts]
        return texts

    def _source(self, root: Root, found: IndexedFile) -> Source:
        """Return the source for a document of the index."""
        uri = root.uri(found.path)
        read_at = self._context.clock.now().isoformat(timespec="seconds")
        # Dates may be as short as a year; the same number of characters of today is compared.
        is_to_come = found.valid_from > read_at[: len(found.valid_from)]
        fields = {
            name: value for name, value in found._asdict().items() if name in Source.model_fields
        }
        return Source(
            **fields,
            key=uri,
            location=uri,
            address=root.address(found.path),
            kind="document",
            in_force_from=found.valid_from if is_to_come else "",
            read_at=read_at,
        )


def _outlines(root: Root, files: Sequence[FoundFile]) -> Iterator[DocumentOutline]:
    """Yield the outlines of some files, Markdown first; other files have no headings, and their
    name as the title."""
    first = sorted(
        files[:_OUTLINE_FILES], key=lambda file: not file.path.lower().endswith(_MARKDOWN)
    )
    for file in first[:_OUTLINED]:
        headings = list[str]()
        figures = list[str]()
        if file.path.lower().endswith(_MARKDOWN) and file.size <= _OUTLINE_BYTES:
            with suppress(Unreadable):
                text = read_file(root.path, file, _OUTLINE_BYTES).decode("utf-8", "replace")
                headings = [heading.strip("*_` ") for heading in _HEADING.findall(text)]
                for line in islice(_FIGURES.finditer(text), _FIGURES_LINES):
                    figures.append(line[0].strip()[:_FIGURES_LINE])
        if not headings:
            name = Path(file.path or root.name).stem
            headings = [re.sub(r"[_-]+", " ", name).strip()]
        yield DocumentOutline(headings[0], tuple(headings[1:]), tuple(figures))


def _with_pictures_counted(unread: Iterable[LeftOut]) -> list[LeftOut]:
    """Return the entries with a single one for all pictures without text.

    Attachments are listed individually instead, by file name.
    """
    others = list[LeftOut]()
    pictures = 0
    for entry in unread:
        if entry.code == PICTURE:
            pictures += 1
        else:
            others.append(entry)
    if pictures:
        others.append(LeftOut(PICTURES, f"{pictures} without text", PICTURE, pictures))
    return others


def _nothing_read(root: Root, unread: Sequence[LeftOut]) -> DocumentsUnreadable:
    """Return the error for a folder without any readable document."""
    reasons = ["there is no document in it that can be read"]
    for entry in unread[:_FILES_NAMED]:
        reasons.append(f"{entry.path}: {entry.reason}")
    if len(unread) > _FILES_NAMED:
        reasons.append(f"and {len(unread) - _FILES_NAMED} more")
    return unreadable(root.path, "; ".join(reasons))


def _with_near_words(query: str, shelf: IndexShelf) -> str:
    """Return the query, with words that occur in no document replaced by similar words that do."""
    sought = frozenset(terms_of(query)) - GENERIC_WORDS
    words = list[str]()
    for word in dict.fromkeys(WORD.findall(query)):
        if word.casefold() in sought:
            words.append(word)
    known = shelf.known(list(map(str.casefold, words)))
    unknown = [word for word in words if word.casefold() not in known]
    if not 0 < len(unknown) <= _MOST_UNKNOWN:
        return query
    near = dict[str, str]()
    for word in unknown:
        near[word] = " ".join(shelf.replacements(word.casefold()))
    return WORD.sub(lambda found: near.get(found[0]) or str(found[0]), query)


def near_topic(text: str, documents: Mapping[str, str]) -> list[str]:
    """Return the keys of `documents`, those closest to a text's topic first (latent semantic
    analysis).

    A document that shares few words with the text is close if it shares many with documents that
    are close.
    """
    # The import takes a tenth of a second.
    import numpy

    counts = list(map(_stem_counts, documents.values()))
    holders = Counter(chain.from_iterable(counts))
    columns = {word: column for column, word in enumerate(holders)}
    weights = {word: rarity(len(counts), held) for word, held in holders.items()}
    matrix = numpy.zeros((len(counts) + 1, len(columns)))
    for row, words in zip(matrix, [*counts, _stem_counts(text)], strict=True):
        for word in words.keys() & columns.keys():
            row[columns[word]] = (1 + log(words[word])) * weights[word]
    matrix /= numpy.linalg.norm(matrix, axis=1, keepdims=True) + _TINY
    compared = matrix[:-1]
    asked = matrix[-1]
    # The eigenvectors of the document similarity matrix are the left singular vectors of the term
    # matrix.
    squares, axes = numpy.linalg.eigh(compared @ compared.T)
    squares = squares[-_DIMENSIONS:]
    axes = axes[:, -_DIMENSIONS:]
    lengths = numpy.sqrt(squares.clip(_TINY))
    topics = axes * lengths
    nearness = (
        topics @ (asked @ compared.T @ axes / lengths) / (numpy.linalg.norm(topics, axis=1) + _TINY)
    )
    return [key for _, key in sorted(zip(-nearness, documents, strict=True))]


def _stem_counts(text: str) -> Counter[str]:
    return Counter(stem(word) for word in tokens(text) if word not in STOP_WORDS)


def _follow(question: str, limit: int, shelf: IndexShelf) -> list[LibraryPassage]:
    words = len(sought_words(question))
    if words >= TOPIC_WORDS:
        return _on_topic(question, min(limit, TOPIC_DOCUMENTS), shelf)
    query = _with_near_words(question, shelf)
    passages = list[LibraryPassage]()
    if words >= _FEWEST_WORDS:
        trailed = passages_of(find_trails(query, shelf), _MOST_TRAILED)
        passages += [candidate.passage for candidate in trailed]
    passages += shelf.best(query, limit)
    found = distinct(passages, lambda passage: (passage.source.key, passage.start))
    best = spread(found, lambda passage: passage.source.key, PER_DOCUMENT)[:limit]
    # Documents not in force come last, unless the question is about a draft.
    if DRAFT_WORDS.isdisjoint(tokens(question)):
        best.sort(key=lambda passage: not passage.source.is_in_force)
    return without_repeated(best, lambda passage: passage.text)


def _on_topic(text: str, limit: int, shelf: IndexShelf) -> list[LibraryPassage]:
    """Return one passage from each document on the topic of a long text."""
    passages = shelf.search(terms_of(text), _TOPIC_PASSAGES)
    by_document = grouped(passages, lambda candidate: candidate.document)
    texts = dict[str, str]()
    for document, candidates in by_document.items():
        parts = [candidate.text for candidate in candidates]
        texts[document] = " ".join([candidates[0].title, *parts])
    nearest = near_topic(text, texts)[:limit]
    return [by_document[document][0].passage for document in nearest]


def _shown_path(root: Root, path: str) -> str:
    """Return a file's path as shown to users: only the name if attached, else with its folder."""
    return path if root.is_attached else root.address(path).removeprefix(DOCUMENT_SCHEME)


def _folder_lines(library: Library) -> list[str]:
    """Return a line for each folder, those with the most documents first."""
    folders = Counter(address.rpartition("/")[0] for address in library.addresses())
    lines = list[str]()
    for folder, documents in folders.most_common(_MOST_FOLDERS):
        lines.append(f"- {folder}: {documents:,} documents")
    if len(folders) > _MOST_FOLDERS:
        lines.append(f"- {len(folders) - _MOST_FOLDERS} more folders")
    return lines


def _line(document: LibraryDocument) -> str:
    """Return a document's line in the list: title, address and what else is known about it."""
    source = document.source
    standing = ""
    if source.is_draft:
        standing = "draft"
    elif source.superseded_by:
        standing = "superseded"
    elif source.in_force_from:
        standing = f"in force from {source.in_force_from}"
    length = f"{len(document.text):,} characters"
    facts = filter(None, (source.address, source.date, source.period, standing, length))
    return f"- {source.title[:_TITLE_CHARACTERS]} ({', '.join(facts)})"


def word_forms(word: str, language: str) -> frozenset[str]:
    """Return a word and its index terms in English and in this language; words that share one count
    as the same."""
    return frozenset({word, index_term(word, ""), index_term(word, language)})
