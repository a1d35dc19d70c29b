"""Keeps what only the user's documents say out of queries to search engines.

Once documents are in play, a query may use words of the user, of public pages and of everyday language, and a limited
number of letters of words that nobody has shown, such as a name that a model knows. Everything else is dropped. What a
model can still tell a search engine is said in SECURITY.md.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..core.evidence.text.stems import bare, index_term, is_unspaced, sought_words
from ..core.evidence.text.words import POSSESSIVE, STOP_WORDS, UNSPACED, everyday_words
from ..core.library.library import Library
from ..core.reading.documents.decode import clean
from ..core.run.context import Context
from ..core.run.store.pages import Pages
from .results import read_results
from .shown import PRIVATE, SAID, SHOWN

_YEAR, _PIECE = re.compile(r"(?:19|20)\d\d"), re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|[^\s{UNSPACED}]+")
_AROUND = "\"'“”„«»().,:;!?"


class Redacted(NamedTuple):
    """A query as it may be sent."""

    query: str
    """Empty if nothing is left of it."""
    private: tuple[str, ...] = ()
    """Words that were dropped because they stand in documents only."""
    unseen: tuple[str, ...] = ()
    """Words that were dropped because too many letters of such words were sent already (`max_unseen_characters`)."""


class Redactor:
    """Redacts the queries of one question."""

    def __init__(self, pages: Pages, question_id: str, context: Context, receiver: str = "") -> None:
        """`receiver`: plain name of the retriever that alone is asked; its own results count as public."""
        self._pages, self._context, self._receiver = pages, context, receiver
        self._name = f"unseen words sent {question_id}"

    async def redact(self, queries: Iterable[str]) -> dict[str, Redacted]:
        """Return each query as it may be sent; where no documents are in play, as it is."""
        said = await self._pages.read_note(SAID) or {}
        noted = await self._pages.read_note(SHOWN) or {}
        if not (self._context.docs or self._context.retrievers or said.get("documents") or noted.get("has_documents")):
            return {query: Redacted(query) for query in queries}
        shown = [text for text in await self._pages.texts(noted.get("references", [])) if text]
        # Researchers that search at the same time share one count of letters.
        async with self._pages.alone(self._name):
            sent: dict[str, int] = dict(await self._pages.read_note(self._name) or {})
            before = len(sent)
            # Many texts may have been shown; reading them must not block the event loop.
            redacted = await asyncio.to_thread(self._redacted, [*queries], said, shown, sent)
            if len(sent) > before:
                await self._pages.note({self._name: sent})
        return redacted

    def _redacted(
        self, queries: list[str], said: Mapping[str, Any], shown: Sequence[str], sent: dict[str, int]
    ) -> dict[str, Redacted]:
        language, limit = said.get("language", ""), self._context.limits.max_unseen_characters
        results = [_forms_in_results(text, language, self._receiver) for text in shown]
        known = [_forms_in(text, language) for text in said.get("said", [])] + [public for public, _ in results]
        secrets = [_forms_in(text, language) for text in said.get("documents", [])] + [secret for _, secret in results]
        public, secret = _union(known), _union(secrets)
        texts = {query: clean(unicodedata.normalize("NFKC", query)) for query in queries}
        words = {word for text in texts.values() for _, _, of_piece in _pieces(text) for word in of_piece}
        unknown = {one for one in words if not _is_everyday(one, language) and public.isdisjoint(_forms(one, language))}
        held = Library(self._context).held(unknown) if self._context.docs else frozenset()
        private = {one for one in unknown if one in held or not secret.isdisjoint(_forms(one, language))}
        private = set() if self._context.mix_private else private
        return {query: _redact(text, private, unknown - private, sent, limit) for query, text in texts.items()}


def _redact(text: str, private: set[str], unseen: set[str], sent: dict[str, int], limit: int) -> Redacted:
    """Drop what is private, and unseen words whose letters exceed the limit together with those that were `sent`."""
    kept = set[int]()
    dropped: dict[str, set[int]] = {"private": set(), "unseen": set()}
    for start, end, words in _pieces(text):
        # Two Chinese characters say as much as three letters.
        new = {one: 3 if is_unspaced(one) else len(one) for one in words if one in unseen and one not in sent}
        if not private.isdisjoint(words):
            dropped["private"].update(range(start, end))
        elif sum(new.values()) + sum(sent.values()) > limit:
            dropped["unseen"].update(range(start, end))
        else:
            sent |= new
            kept.update(range(start, end) if unseen.isdisjoint(words) else ())
    left = [chunk for chunk in _words_outside(text, set().union(*dropped.values()) - kept) if sought_words(chunk)]
    if any(dropped.values()):
        # Without their neighbours, function words and quotation marks find nothing.
        left = [chunk.replace('"', "") for chunk in left if not STOP_WORDS.issuperset(sought_words(chunk))]
    named = {why: _words_outside(text, {*range(len(text))} - places | kept) for why, places in dropped.items()}
    return Redacted(
        " ".join(left), **{why: tuple(word.strip(_AROUND) for word in words) for why, words in named.items()}
    )


def _words_outside(text: str, places: set[int]) -> list[str]:
    return "".join(" " if place in places else sign for place, sign in enumerate(text)).split()


def _is_everyday(word: str, language: str) -> bool:
    is_common = any(word in words for words in (STOP_WORDS, everyday_words("en"), everyday_words(language)))
    return is_common or _YEAR.fullmatch(word) is not None


def _pieces(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield start, end and words of what stands between spaces; in scripts without, of each pair of neighbours."""
    for found in _PIECE.finditer(text):
        words, start = tuple(map(bare, sought_words(POSSESSIVE.sub("", found[0])))), found.start()
        if not found["unspaced"]:
            yield start, found.end(), words
            continue
        for pair in words:
            start = text.index(pair, start) + 1
            yield start - 1, start - 1 + len(pair), (pair,)


def _forms(word: str, language: str) -> frozenset[str]:
    return frozenset({word, index_term(word, ""), index_term(word, language)})


@lru_cache(maxsize=128)
def _forms_in(text: str, language: str) -> frozenset[str]:
    return _union(_forms(bare(word), language) for word in sought_words(text))


@lru_cache(maxsize=128)
def _forms_in_results(text: str, language: str, receiver: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a tool's results: those of public ones, and those of documents."""
    sides: tuple[list[str], list[str]] = ([], [])
    for result in read_results(text):
        address = result.get("address", "")
        links = (f"{link.get('words', '')} {link['address']}" for link in result.get("links", []))
        is_private = address.startswith(PRIVATE) and not (receiver and address.endswith(f"/{receiver}"))
        sides[is_private].append("\n".join([result["title"], address, result.get("date", ""), result["text"], *links]))
    return _forms_in("\n".join(sides[False]), language), _forms_in("\n".join(sides[True]), language)


def _union(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*parts)
