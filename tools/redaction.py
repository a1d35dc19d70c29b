"""Keeps what only the user's documents say out of queries to search engines.

A query may use the words of the user and of public pages. Words that stand in nothing but documents are dropped, also
where they are written backwards or encoded; but for a few everyday words, where they do not come one behind the other
as in the documents, or beside others that are dropped. These, and what nobody has shown, such as a name that a model
knows, are rationed: they could be a code that is not recognised.
"""

from __future__ import annotations

import asyncio
import base64
import codecs
import contextlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from string import ascii_lowercase
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage

from ..core.evidence.text.stems import bare, index_term
from ..core.evidence.text.words import STOP_WORDS, UNSPACED, everyday_words
from ..core.library.library import Library
from ..core.records.research import Run
from ..core.records.sources import DOCUMENT_SCHEME
from ..core.run.context import Context
from ..core.run.conversation import words_of_user
from ..core.run.store.pages import Pages
from .engine import RETRIEVED
from .results import Result, read_results
from .tool import Outcome

LEAST_ENCODED = 8
"""Characters of an encoded text that can be told from a word."""
_SIGNS = re.compile(rf"[A-Za-z0-9+/_\-]{{{LEAST_ENCODED},}}=*")


def encoded(text: str) -> list[tuple[int, int]]:
    """Return where a text holds another one, or a part of one, in base 64, base 32 or hexadecimal digits."""
    return [found.span() for found in _SIGNS.finditer(text) if any(map(_is_readable, _decoded(found[0].rstrip("="))))]


def _decoded(text: str) -> Iterator[bytes]:
    # A word is written in one case, or begins with a capital.
    is_mixed = not (text.islower() or text.isupper() or text.istitle())
    plain = text.replace("-", "+").replace("_", "/")
    codes: list[tuple[Callable[[str], bytes], int]] = [(bytes.fromhex, 2), (base64.b32decode, 8)]
    for decode, group in [*codes, (base64.b64decode, 4)] if is_mixed else codes:
        for start in range(group):
            part = plain[start : len(plain) - (len(plain) - start) % group]
            with contextlib.suppress(ValueError):
                if len(part) >= LEAST_ENCODED:
                    yield decode(part)


def _is_readable(data: bytes) -> bool:
    # What is cut out of a longer text may begin and end within a character.
    whole = data.lstrip(bytes(range(0x80, 0xC0)))
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(whole)
    except UnicodeDecodeError:
        return False
    return 2 * len(text.encode()) > len(data) and text.isprintable()


def _rotated(by: int) -> Callable[[str], str]:
    table = str.maketrans(ascii_lowercase, ascii_lowercase[by:] + ascii_lowercase[:by])
    return lambda word: word.translate(table)


_MIRRORED = str.maketrans(ascii_lowercase, ascii_lowercase[::-1])
DISGUISES: tuple[Callable[[str], str], ...] = (
    lambda word: word[::-1],
    lambda word: word.translate(_MIRRORED),
    *map(_rotated, range(1, 26)),
)
"""Ways to disguise a word that are their own undoing, or of which another one is."""


PRIVATE = (DOCUMENT_SCHEME, RETRIEVED)
"""How the addresses begin of what may be nobody else's business."""
SAID = "what the user says"
SHOWN = "results that were shown"
LONGEST_WORD = 24
"""Letters of a word that nobody has shown; what is longer is rather a text without its spaces, or encoded."""
LEAST_HIDDEN = 6
"""Letters of documents' words that are not found in a query by chance: backwards, by another alphabet, or in a word."""
LEAST_PIECED = 4
"""The same of a word that the query's words make up one behind the other."""
MOST_PIECES = 8
"""Words of a query that may make up one."""
LONGEST_HIDDEN = 20
MOST_BORROWED = 2
"""Everyday words of documents in one query, function words apart."""
ROW = 3
"""Words one behind the other that are a quotation if documents have them so."""
UNSPACED_WEIGHT = 3
"""Letters that a character counts as in scripts without spaces, which say as much in a third of the characters."""

POINT = "."
"""Stands between the digits of a number, whatever stood there."""

_SPELLED = re.compile(r"(?<!\w)(?:[^\W\d_](?:[\s.,·/|_\-]+[^\W\d_](?!\w)){2,}|\d(?:\s+\d(?!\w)){2,})")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DIGITS_APART = re.compile(r"(?<=\d)[.,'’](?=\d)")
_POSSESSIVE = re.compile(r"['’]s$")
_HAN = re.compile(r"[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_DENSE = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")
_DROPPED = "\0"


class Redacted(NamedTuple):
    """A query as it may be sent."""

    query: str
    """Empty if nothing is left of it."""
    private: tuple[str, ...] = ()
    """Words that were dropped because they stand in documents only."""
    unseen: tuple[str, ...] = ()
    """Words that were dropped because too many were sent already that nobody has shown (`max_unseen_characters`)."""


class Piece(NamedTuple):
    """A word of a text, or some neighbouring characters of a script without spaces."""

    start: int
    end: int
    word: str
    """In small letters, without accents."""
    is_unspaced: bool

    @property
    def weight(self) -> int:
        """Letters that it counts as."""
        return UNSPACED_WEIGHT if self.is_unspaced else len(self.word)


class Words(NamedTuple):
    """The words of some texts."""

    words: frozenset[str] = frozenset()
    stems: frozenset[str] = frozenset()

    def holds(self, word: str, language: str) -> bool:
        """Return whether they use the word in any form."""
        written = (word, word.replace(POINT, ""))
        return not self.words.isdisjoint(written) or not self.stems.isdisjoint(_stems(word, language))


class Seen(NamedTuple):
    """What a thread's models may know words from."""

    known: Words
    """What the user said and public pages."""
    private: Words
    """What documents have shown."""
    language: str
    held: frozenset[str] = frozenset()
    """Words that stand somewhere in the user's folders, of those that were looked up."""
    rows: frozenset[str] | None = None
    """The same of words one behind the other; none if they cannot be looked up."""

    def is_known(self, word: str) -> bool:
        """Return whether the user or a public page uses it."""
        return self.known.holds(word, self.language)

    def is_private(self, word: str) -> bool:
        """Return whether documents use it, and nobody else."""
        return (word in self.held or self.private.holds(word, self.language)) and not self.is_known(word)


async def note_shown(pages: Pages, outcome: Outcome, reference: str) -> dict[str, dict[str, Any]]:
    """Return the note that adds what a call has shown to what was seen; `reference` is the hash of its text."""
    before = await pages.read_note(SHOWN) or {"references": [], "has_documents": False}
    if not outcome.hits or reference in before["references"]:
        return {}
    has_documents = any(hit.source.address.startswith(PRIVATE) for hit in outcome.hits)
    references = [*before["references"], reference]
    return {SHOWN: {"references": references, "has_documents": before["has_documents"] or has_documents}}


async def note_user(pages: Pages, messages: Sequence[AnyMessage], run: Run) -> None:
    """Note what the user has said on the thread until now, and which documents the models are told of."""
    async with pages.alone(SAID):
        before = await pages.read_note(SAID) or {}
        documents = dict.fromkeys([*before.get("documents", []), run.scope.documents])
        said = dict.fromkeys([*before.get("said", []), *words_of_user(messages), run.date])
        now = {
            "said": [*said],
            "documents": [text for text in documents if text],
            "language": run.language_code or before.get("language", ""),
        }
        if now != before:
            await pages.note({SAID: now})


class Redactor:
    """Redacts the queries of one question."""

    def __init__(self, pages: Pages, question_id: str, context: Context, told_to: str = "") -> None:
        """`told_to`: the retriever that alone is asked, in plain words; what it has given may be told to it."""
        self._pages, self._context, self._told_to = pages, context, told_to
        self._name = f"unseen words sent {question_id}"

    async def redact(self, queries: Iterable[str]) -> dict[str, Redacted]:
        """Return each query as it may be sent; where no documents were shown, as it is."""
        said = await self._pages.read_note(SAID) or {}
        noted = await self._pages.read_note(SHOWN) or {}
        if not (self._context.docs or said.get("documents") or noted.get("has_documents")):
            return {query: Redacted(query) for query in queries}
        shown = [text for text in await self._pages.texts(noted.get("references", [])) if text]
        # Of several researchers that search at the same time, each counts what the others have sent.
        async with self._pages.alone(self._name):
            sent: dict[str, int] = dict(await self._pages.read_note(self._name) or {})
            before = sum(sent.values())
            # Much may have been shown, and nobody else should wait for it to be read.
            redacted = await asyncio.to_thread(self._redacted, [*queries], said, shown, sent)
            if sum(sent.values()) > before:
                await self._pages.note({self._name: sent})
        return redacted

    def _redacted(
        self, queries: list[str], said: Mapping[str, Any], shown: Sequence[str], sent: dict[str, int]
    ) -> dict[str, Redacted]:
        seen, limits, is_mixed = _seen(said, shown, self._told_to), self._context.limits, self._context.mix_private
        texts = {query: _sendable(query) for query in queries}
        if self._context.docs and not is_mixed:
            library, pieces = Library(self._context), [[*_pieces(text)] for text in texts.values()]
            words = {word for of_text in pieces for word in _suspect(of_text, seen)}
            rows = {row for of_text in pieces for row, _ in _in_a_row(of_text)}
            seen = seen._replace(held=library.held(words), rows=library.in_a_row(rows))
        return {
            query: _redact(text, seen, sent, limits.max_unseen_characters, is_mixed=is_mixed)
            for query, text in texts.items()
        }


def _seen(said: Mapping[str, Any], shown: Sequence[str], told_to: str) -> Seen:
    language = said.get("language", "")
    own = [_words_in(text, language) for text in said.get("said", [])]
    documents = [_words_in(text, language) for text in said.get("documents", [])]
    results = [_words_of_results(text, language, told_to) for text in shown]
    known, private = ([result[side] for result in results] for side in (0, 1))
    return Seen(_all([*own, *known]), _all([*documents, *private]), language)


def _all(parts: Iterable[Words]) -> Words:
    words, stems = set[str](), set[str]()
    for part in parts:
        words |= part.words
        stems |= part.stems
    return Words(frozenset(words), frozenset(stems))


@lru_cache(maxsize=128)
def _words_of_results(text: str, language: str, told_to: str) -> tuple[Words, Words]:
    """Return the words of a tool's results that are public, and of those that are documents."""
    results = read_results(text)
    texts: tuple[list[str], list[str]] = ([], [])
    for one in results:
        address = one.get("address", "")
        is_theirs = bool(told_to) and address.endswith(f"/{told_to}")
        texts[address.startswith(PRIVATE) and not is_theirs].append(_told(one))
    return _words_in("\n".join(texts[False]), language), _words_in("\n".join(texts[True]), language)


def _told(result: Result) -> str:
    links = (f"{link.get('words', '')} {link['address']}" for link in result.get("links", []))
    return "\n".join([result["title"], result.get("address", ""), result.get("date", ""), result["text"], *links])


def _words_in(text: str, language: str) -> Words:
    written = {piece.word for piece in _pieces(_visible(text))}
    words = frozenset(written | {word.replace(POINT, "") for word in written})
    return Words(words, frozenset(stem for word in words for stem in _stems(word, language)))


def _stems(word: str, language: str) -> tuple[str, ...]:
    return (index_term(word, ""), index_term(word, language)) if language else (index_term(word, ""),)


def _visible(text: str) -> str:
    """Return the text without invisible signs and variants of letters, with its spelled words put together."""
    plain = "".join(one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
    return _SPELLED.sub(lambda found: "".join(re.findall(r"[^\W_]", found[0])), plain)


@cache
def _marks() -> str:
    """Return the vowel signs and accents that are characters in Unicode, and no letters in Python's patterns."""
    return "".join(sign for sign in map(chr, range(0x300, 0x10000)) if unicodedata.category(sign) in ("Mn", "Mc"))


@cache
def _piece() -> re.Pattern[str]:
    """Return a run of a script without spaces, or a word; a number is one word with its points, as is a possessive."""
    letter = rf"(?:[^\W_{UNSPACED}]|[{_marks()}])"
    return re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|{letter}+(?:(?<=\d)[.,'’](?=\d){letter}+)*(?:['’]s\b)?")


@cache
def _signs() -> re.Pattern[str]:
    """Signs that no query needs, and rows of those that it needs one by one: they could be a code as well."""
    return re.compile(rf"[^\w\s{UNSPACED}{_marks()}'\"’“”„«»().,:;/&+\-–—%#@€£$§°!?]|(?<=[.\-–—'’])[.\-–—'’]+")


def _pieces(text: str) -> Iterator[Piece]:
    for found in _piece().finditer(text):
        start, end = found.span()
        if not found["unspaced"]:
            word = _DIGITS_APART.sub(POINT, _POSSESSIVE.sub("", found[0])).casefold()
            yield Piece(start, end, bare(word), is_unspaced=False)
            continue
        for place in range(start, end):
            stop = place + _size(text[place])
            if stop <= end or place == start:
                yield Piece(place, min(stop, end), text[place : min(stop, end)], is_unspaced=True)


def _size(character: str) -> int:
    """Characters that say about as much as a word."""
    return 2 if _HAN.match(character) else 3 if _DENSE.match(character) else 5


def _sendable(query: str) -> str:
    """Return the query without what could be a code: signs, and what has no letters or digits."""
    chunks = _signs().sub(" ", _visible(query)).split()
    return " ".join(chunk for chunk in chunks if chunk in "&+" or _piece().search(chunk))


def _redact(text: str, seen: Seen, sent: dict[str, int], most: int, *, is_mixed: bool) -> Redacted:
    pieces = [*_pieces(text)]
    known = {piece for piece in pieces if seen.is_known(piece.word)}
    private = set[Piece]() if is_mixed else _private(text, pieces, known, seen)
    unknown = set[Piece]()
    for piece in pieces:
        if piece in known or piece in private:
            continue
        # There are so few syllables that any text can be put together from those that were sent.
        again = 0 if piece.weight < LEAST_PIECED else sent.get(piece.word, 0)
        if not again and sum(sent.values()) + piece.weight > most:
            unknown.add(piece)
        elif not again:
            sent[piece.word] = sent.get(piece.word, 0) + piece.weight
    if not private and not unknown:
        return Redacted(text)
    left, dropped = _without(text, pieces, known, private | unknown)
    private_words = tuple(word for word, places in dropped if any(piece.start in places for piece in private))
    return Redacted(left, private_words, tuple(word for word, _ in dropped if word not in private_words))


def _private(text: str, pieces: Sequence[Piece], known: set[Piece], seen: Seen) -> set[Piece]:
    """Return the pieces that only documents can have given, as they are or disguised."""
    private = {piece for piece in pieces if piece not in known and seen.is_private(piece.word)}
    rest = [piece for piece in pieces if piece not in known and piece not in private]
    codes = encoded(text)
    disguised = {
        piece
        for piece in rest
        if len(piece.word) > LONGEST_WORD or any(start <= piece.start < end for start, end in codes)
    }
    for change in DISGUISES:
        hidden = [piece for piece in rest if seen.is_private(change(piece.word))]
        if sum(piece.weight for piece in hidden) >= LEAST_HIDDEN:
            disguised.update(hidden)
    disguised |= {piece for row in _rows(pieces, known) if seen.is_private(_joined(row)) for piece in row}
    disguised |= _pieced(pieces, known, seen)
    return disguised | private if disguised - private or not _is_harmless(pieces, private, seen) else set()


def _is_everyday(word: str, language: str) -> bool:
    return any(word in words for words in (STOP_WORDS, everyday_words("en"), everyday_words(language))) or bool(
        _YEAR.fullmatch(word)
    )


def _is_harmless(pieces: Sequence[Piece], borrowed: set[Piece], seen: Seen) -> bool:
    """Return whether these words of documents say nothing of them: they are everyday, few, and quote nothing."""
    if seen.rows is None or not all(_is_everyday(piece.word, seen.language) for piece in borrowed):
        return False
    if sum(piece.word not in STOP_WORDS for piece in borrowed) > MOST_BORROWED:
        return False
    return not any(row in seen.rows and not borrowed.isdisjoint(of_row) for row, of_row in _in_a_row(pieces))


def _in_a_row(pieces: Sequence[Piece]) -> Iterator[tuple[str, Sequence[Piece]]]:
    """Return the rows of words in a query that may quote, read from both ends."""
    for start in range(len(pieces) - ROW + 1):
        row = pieces[start : start + ROW]
        yield " ".join(piece.word for piece in row), row
        yield " ".join(piece.word for piece in reversed(row)), row


def _suspect(pieces: Sequence[Piece], seen: Seen) -> set[str]:
    """Return what a query says if it is not what the user or a public page says, as it is and disguised."""
    known = {piece for piece in pieces if seen.is_known(piece.word)}
    words = {piece.word for piece in pieces if piece not in known}
    return words | {change(word) for word in words for change in DISGUISES} | set(map(_joined, _rows(pieces, known)))


def _rows(pieces: Sequence[Piece], known: set[Piece]) -> Iterator[Sequence[Piece]]:
    """Neighbouring words that may be the pieces of one."""
    words = [piece for piece in pieces if not piece.is_unspaced]
    for start in range(len(words)):
        for end in range(start + 2, min(start + MOST_PIECES, len(words)) + 1):
            row = words[start:end]
            if len(_joined(row)) >= LEAST_PIECED and not known.issuperset(row):
                yield row


def _joined(row: Iterable[Piece]) -> str:
    return "".join(piece.word for piece in row)


def _pieced(pieces: Sequence[Piece], known: set[Piece], seen: Seen) -> set[Piece]:
    """Return the pieces that hold a word that was shown, or make up one together, while they are none themselves."""
    words = [piece for piece in pieces if not piece.is_unspaced]
    letters = "".join(piece.word for piece in words)
    owners = [piece for piece in words for _ in piece.word]
    found = set[Piece]()
    for start in range(len(letters)):
        for end in range(start + LEAST_PIECED, min(start + LONGEST_HIDDEN, len(letters)) + 1):
            word = letters[start:end]
            if word not in seen.private.words or seen.is_known(word):
                continue
            holders = set(owners[start:end])
            if not known.issuperset(holders) and (len(holders) > 1 or len(word) >= LEAST_HIDDEN):
                found |= holders
    return found


def _without(
    text: str, pieces: Sequence[Piece], known: set[Piece], dropped: set[Piece]
) -> tuple[str, list[tuple[str, range]]]:
    """Return the text without these pieces, empty if it says nothing more; and those words with their places."""
    kept = {place for piece in pieces if piece in known for place in range(piece.start, piece.end)}
    gone = {place for piece in dropped for place in range(piece.start, piece.end)} - kept
    marked = "".join(_DROPPED if place in gone else sign for place, sign in enumerate(text))
    runs = [range(*found.span()) for found in re.finditer(f"{_DROPPED}+", marked)]
    chunks = (chunk.strip("-+–—,;:/&'’") for chunk in re.sub(f"{_DROPPED}+", " ", marked).split())
    # Without their neighbours, function words find nothing.
    left = " ".join(one for one in chunks if _piece().search(one) and bare(one.casefold()) not in STOP_WORDS)
    if left.count('"') % 2:
        left = left.replace('"', "")
    return left, [(text[run.start : run.stop], run) for run in runs]
