"""Keeps words found only in the user's documents out of queries to search engines.

The thread records what the user said and which results were shown. Once documents are involved, a
query may use words of the user, of public pages and of everyday language, and a few words from none
of these, such as a name that the model knows, up to a total number of letters. All other words are
dropped. SECURITY.md says what can still reach a search engine.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from heapq import nlargest
from typing import Any, NamedTuple

from ..core.evidence.text.words import (
    POSSESSIVE,
    STOP_WORDS,
    UNSPACED,
    is_unspaced,
    sought_words,
    unaccented,
    without_accents,
)
from ..core.library.library import Library, word_forms
from ..core.reading.documents.decode import clean_text
from ..core.records.research import Run
from ..core.records.sources import DOCUMENT_SCHEME
from ..core.settings.context import Context
from ..core.store.pages import Pages
from .engine import RETRIEVED
from .results import read_results
from .tool import Outcome

_EVERYDAY = 6000
"""Number of most common words that `everyday_words` returns."""
_PRIVATE = (DOCUMENT_SCHEME, RETRIEVED)
"""Address prefixes of private content."""
_SAID = "what the user says"
"""Name of the note with the user's words."""
SHOWN_RESULTS = "results that were shown"
"""Name of the note with the results that models were shown."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_PIECE = re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|[^\s{UNSPACED}]+")
_AROUND = "\"'“”„«»().,:;!?"
"""Characters around a word that do not belong to it."""


async def note_shown(pages: Pages, outcome: Outcome, reference: str) -> dict[str, dict[str, Any]]:
    """Return the thread's note of all results shown to models so far, with those of this call;
    empty if nothing is new.

    `reference`: hash of the text in which the results are shown.
    """
    before = await pages.read_note(SHOWN_RESULTS) or {"references": [], "has_documents": False}
    if not outcome.hits or reference in before["references"]:
        return {}
    shows_documents = any(hit.source.address.startswith(_PRIVATE) for hit in outcome.hits)
    note = {
        "references": [*before["references"], reference],
        "has_documents": before["has_documents"] or shows_documents,
    }
    return {SHOWN_RESULTS: note}


async def note_said(pages: Pages, texts: Sequence[str], run: Run) -> None:
    """Allow the user's words in queries: those of `texts`, the user's messages.

    The words of the list of documents that models are shown are recorded as private.
    """
    async with pages.lock(_SAID):
        before = await pages.read_note(_SAID) or {}
        said = dict.fromkeys([*before.get("said", []), *texts, run.date])
        documents = dict.fromkeys([*before.get("documents", []), run.scope.documents])
        note = {
            "said": list(said),
            "documents": [text for text in documents if text],
            "language": run.language_code or before.get("language", ""),
        }
        if note != before:
            await pages.note({_SAID: note})


class Redacted(NamedTuple):
    """A query as it may be sent."""

    query: str
    """Empty if no words are left."""
    private: tuple[str, ...] = ()
    """Words dropped because they occur only in documents."""
    unseen: tuple[str, ...] = ()
    """Words dropped because the limit for letters of unseen words was reached
    (`max_unseen_characters`)."""


async def redact(
    queries: Sequence[str], pages: Pages, question_id: str, context: Context, receiver: str = ""
) -> dict[str, Redacted]:
    """Return each query as it may be sent; unchanged if no documents are involved.

    `receiver`: plain name of the retriever if it is the only recipient; its own results then count
    as public.
    """
    said = await pages.read_note(_SAID) or {}
    noted = await pages.read_note(SHOWN_RESULTS) or {}
    has_documents = context.docs or said.get("documents") or noted.get("has_documents")
    if not (has_documents or context.retrievers):
        return {query: Redacted(query) for query in queries}
    shown = [text for text in await pages.texts(noted.get("references", [])) if text]
    name = f"unseen words sent {question_id}"

    def redacted() -> dict[str, Redacted]:
        language = said.get("language", "")
        public = set[str]()
        secret = set[str]()
        for text in shown:
            public_forms, secret_forms = _forms_in_results(text, language, receiver)
            public |= public_forms
            secret |= secret_forms
        for text in said.get("said", []):
            public |= _forms_in(text, language)
        for text in said.get("documents", []):
            secret |= _forms_in(text, language)
        texts = {query: clean_text(unicodedata.normalize("NFKC", query)) for query in queries}
        unknown = _uncommon_words(texts.values(), language)
        unknown = {word for word in unknown if public.isdisjoint(word_forms(word, language))}
        in_documents = frozenset[str]()
        if context.docs:
            in_documents = Library(context).known(unknown)
        private = set[str]()
        if not context.mix_private:
            for word in unknown:
                if word in in_documents or not secret.isdisjoint(word_forms(word, language)):
                    private.add(word)
        unseen = unknown - private
        limit = context.limits.max_unseen_characters
        return {query: _redact(text, private, unseen, sent, limit) for query, text in texts.items()}

    # Parallel researchers share one count of letters.
    async with pages.lock(name):
        sent: dict[str, int] = dict(await pages.read_note(name) or {})
        before = len(sent)
        # Reading many texts must not block the event loop.
        answer = await asyncio.to_thread(redacted)
        if len(sent) > before:
            await pages.note({name: sent})
    return answer


def _uncommon_words(texts: Iterable[str], language: str) -> set[str]:
    """Return the words in queries that are neither everyday words, in English or this language, nor
    years."""
    words = set[str]()
    for text in texts:
        for piece in _pieces(text):
            words.update(piece.words)
    for everyday in (STOP_WORDS, everyday_words("en"), everyday_words(language)):
        words = words - everyday
    return {word for word in words if not _YEAR.fullmatch(word)}


def _redact(
    text: str, private: set[str], unseen: set[str], sent: dict[str, int], limit: int
) -> Redacted:
    """Return a query without private words, and without unseen words that would exceed the limit.

    `sent`: letters of the unseen words sent so far, by word; those of this query are added.
    """
    # All three are indices of characters. Pieces may overlap, and a piece of known words keeps its
    # characters even if an overlapping one is dropped.
    kept = set[int]()
    dropped_private = set[int]()
    dropped_unseen = set[int]()
    for start, end, words in _pieces(text):
        characters = range(start, end)
        letters: dict[str, int] = {}
        for word in words:
            if word in unseen and word not in sent:
                # Two Chinese characters carry about as much information as three letters.
                letters[word] = 3 if is_unspaced(word) else len(word)
        if not private.isdisjoint(words):
            dropped_private.update(characters)
        elif sum(letters.values()) + sum(sent.values()) > limit:
            dropped_unseen.update(characters)
        else:
            sent |= letters
            if unseen.isdisjoint(words):
                kept.update(characters)
    dropped = (dropped_private | dropped_unseen) - kept
    left = _words_at(text, set(range(len(text))) - dropped)
    left = [chunk for chunk in left if sought_words(chunk)]
    if dropped_private or dropped_unseen:
        # Function words or quotation marks alone would find nothing.
        left = [chunk for chunk in left if not STOP_WORDS.issuperset(sought_words(chunk))]
        left = [chunk.replace('"', "") for chunk in left]
    return Redacted(
        " ".join(left),
        private=_bare(_words_at(text, dropped_private - kept)),
        unseen=_bare(_words_at(text, dropped_unseen - kept)),
    )


def _words_at(text: str, indices: set[int]) -> list[str]:
    """Return the words of a text that are left of the characters at these indices."""
    characters = [" "] * len(text)
    for index in indices:
        characters[index] = text[index]
    return "".join(characters).split()


def _bare(words: Iterable[str]) -> tuple[str, ...]:
    """Return words without the punctuation around them."""
    return tuple(word.strip(_AROUND) for word in words)


class _Piece(NamedTuple):
    """A part of a query that is sent or dropped as a whole; `start` and `end` are offsets."""

    start: int
    end: int
    words: tuple[str, ...]


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield each piece between spaces, or each character pair in scripts without spaces."""
    for match in _PIECE.finditer(text):
        words = [unaccented(word) for word in sought_words(POSSESSIVE.sub("", match[0]))]
        if not match["unspaced"]:
            yield _Piece(match.start(), match.end(), tuple(words))
            continue
        earliest = match.start()
        for pair in words:
            start = text.index(pair, earliest)
            yield _Piece(start, start + len(pair), (pair,))
            earliest = start + 1


@lru_cache(maxsize=128)
def _forms_in(text: str, language: str) -> frozenset[str]:
    """Return the forms of all words in a text."""
    forms = set[str]()
    for word in sought_words(text):
        forms |= word_forms(unaccented(word), language)
    return frozenset(forms)


@lru_cache(maxsize=128)
def _forms_in_results(
    text: str, language: str, receiver: str
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the forms of all words in the public results of a tool call, and in its private
    ones."""
    public = list[str]()
    private = list[str]()
    for result in read_results(text):
        address = result.get("address", "")
        parts = [result["title"], address, result.get("date", ""), result["text"]]
        for link in result.get("links", []):
            parts.append(f"{link.get('words', '')} {link['address']}")
        words = "\n".join(parts)
        is_of_receiver = receiver and address.endswith(f"/{receiver}")
        if address.startswith(_PRIVATE) and not is_of_receiver:
            private.append(words)
        else:
            public.append(words)
    return _forms_in("\n".join(public), language), _forms_in("\n".join(private), language)


@cache
def everyday_words(language: str) -> frozenset[str]:
    """Return a language's most common words, unaccented; empty if it has no list.

    The first call takes a second.
    """
    if not language:
        return frozenset()
    # Loading the lists is too slow for an import.
    from spellchecker import SpellChecker

    try:
        counts = SpellChecker(language=language).word_frequency.dictionary
    except ValueError:
        return frozenset()
    return frozenset(map(without_accents, nlargest(_EVERYDAY, counts, key=counts.__getitem__)))
