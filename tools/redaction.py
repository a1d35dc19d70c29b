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
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage

from ..core.evidence.text.stems import index_term, is_unspaced, sought_words, unaccented
from ..core.evidence.text.words import POSSESSIVE, STOP_WORDS, UNSPACED, everyday_words
from ..core.library.library import Library
from ..core.reading.documents.decode import clean_text
from ..core.records.research import Run
from ..core.records.sources import DOCUMENT_SCHEME
from ..core.run.context import Context
from ..core.run.conversation import words_of_user
from ..core.run.store.pages import Pages
from .addresses import Addresses, addresses_in
from .engine import RETRIEVED
from .results import read_results
from .tool import Outcome

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
    has_documents = any(hit.source.address.startswith(_PRIVATE) for hit in outcome.hits)
    references = [*before["references"], reference]
    return {
        SHOWN_RESULTS: {
            "references": references,
            "has_documents": before["has_documents"] or has_documents,
        }
    }


async def note_user(pages: Pages, messages: Sequence[AnyMessage], run: Run) -> None:
    """Allow the user's words in queries, and the addresses among them to be opened.

    The words of the list of documents that models are shown are recorded as private.
    """
    words = words_of_user(messages)
    await Addresses(pages, run.id).allow(
        address for text in words for address in addresses_in(text)
    )
    async with pages.lock(_SAID):
        before = await pages.read_note(_SAID) or {}
        documents = dict.fromkeys([*before.get("documents", []), run.scope.documents])
        said = dict.fromkeys([*before.get("said", []), *words, run.date])
        language = run.language_code or before.get("language", "")
        now = {
            "said": [*said],
            "documents": [text for text in documents if text],
            "language": language,
        }
        if now != before:
            await pages.note({_SAID: now})


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
    said, noted = await pages.read_note(_SAID) or {}, await pages.read_note(SHOWN_RESULTS) or {}
    if not (
        context.docs or context.retrievers or said.get("documents") or noted.get("has_documents")
    ):
        return {query: Redacted(query) for query in queries}
    shown = [text for text in await pages.texts(noted.get("references", [])) if text]
    name = f"unseen words sent {question_id}"

    def redacted() -> dict[str, Redacted]:
        language = said.get("language", "")
        results = [_forms_in_results(text, language, receiver) for text in shown]
        known = [_forms_in(text, language) for text in said.get("said", [])] + [
            public for public, _ in results
        ]
        secrets = [_forms_in(text, language) for text in said.get("documents", [])] + [
            secret for _, secret in results
        ]
        public, secret = frozenset[str]().union(*known), frozenset[str]().union(*secrets)
        texts = {query: clean_text(unicodedata.normalize("NFKC", query)) for query in queries}
        words = {
            word for text in texts.values() for _, _, of_piece in _pieces(text) for word in of_piece
        }
        everyday = (STOP_WORDS, everyday_words("en"), everyday_words(language))
        uncommon = {
            word
            for word in words
            if not (any(word in common for common in everyday) or _YEAR.fullmatch(word))
        }
        unknown = {word for word in uncommon if public.isdisjoint(_forms(word, language))}
        in_documents = Library(context).known(unknown) if context.docs else frozenset()
        private = {
            word
            for word in unknown
            if word in in_documents or not secret.isdisjoint(_forms(word, language))
        }
        private = set() if context.mix_private else private
        most = context.limits.max_unseen_characters
        return {
            query: _redact(text, private, unknown - private, sent, most)
            for query, text in texts.items()
        }

    # Parallel researchers share one count of letters.
    async with pages.lock(name):
        sent: dict[str, int] = dict(await pages.read_note(name) or {})
        before = len(sent)
        # Reading many texts must not block the event loop.
        answer = await asyncio.to_thread(redacted)
        if len(sent) > before:
            await pages.note({name: sent})
    return answer


def _redact(
    text: str, private: set[str], unseen: set[str], sent: dict[str, int], limit: int
) -> Redacted:
    """Return a query without private words, and without unseen words that would exceed the limit.

    `sent`: letters of the unseen words sent so far, by word; those of this query are added.
    """
    kept = set[int]()
    dropped: dict[str, set[int]] = {"private": set(), "unseen": set()}
    for start, end, words in _pieces(text):
        # Two Chinese characters carry about as much information as three letters.
        new = {
            word: 3 if is_unspaced(word) else len(word)
            for word in words
            if word in unseen and word not in sent
        }
        if not private.isdisjoint(words):
            dropped["private"].update(range(start, end))
        elif sum(new.values()) + sum(sent.values()) > limit:
            dropped["unseen"].update(range(start, end))
        else:
            sent |= new
            kept.update(range(start, end) if unseen.isdisjoint(words) else ())
    left = [
        chunk
        for chunk in _words_outside(text, set().union(*dropped.values()) - kept)
        if sought_words(chunk)
    ]
    if any(dropped.values()):
        # Function words or quotation marks alone would find nothing.
        left = [
            chunk.replace('"', "")
            for chunk in left
            if not STOP_WORDS.issuperset(sought_words(chunk))
        ]
    named = {
        why: _words_outside(text, {*range(len(text))} - indices | kept)
        for why, indices in dropped.items()
    }
    return Redacted(
        " ".join(left),
        **{why: tuple(word.strip(_AROUND) for word in words) for why, words in named.items()},
    )


def _words_outside(text: str, indices: set[int]) -> list[str]:
    """Return the words that are left of a text without the characters at these indices."""
    return "".join(" " if index in indices else sign for index, sign in enumerate(text)).split()


def _pieces(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield start, end and words of each piece between spaces, or of each character pair in scripts
    without spaces."""
    for found in _PIECE.finditer(text):
        words, start = (
            tuple(map(unaccented, sought_words(POSSESSIVE.sub("", found[0])))),
            found.start(),
        )
        if not found["unspaced"]:
            yield start, found.end(), words
            continue
        for pair in words:
            start = text.index(pair, start) + 1
            yield start - 1, start - 1 + len(pair), (pair,)


def _forms(word: str, language: str) -> frozenset[str]:
    """Return a word and its index terms in English and in this language; words that share one count
    as the same."""
    return frozenset({word, index_term(word, ""), index_term(word, language)})


@lru_cache(maxsize=128)
def _forms_in(text: str, language: str) -> frozenset[str]:
    """Return the forms of all words in a text."""
    return frozenset[str]().union(
        *(_forms(unaccented(word), language) for word in sought_words(text))
    )


@lru_cache(maxsize=128)
def _forms_in_results(
    text: str, language: str, receiver: str
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the forms of all words in the public results of a tool call, and in its private
    ones."""
    public, private = list[str](), list[str]()
    for result in read_results(text):
        address = result.get("address", "")
        links = (f"{link.get('words', '')} {link['address']}" for link in result.get("links", []))
        is_private = address.startswith(_PRIVATE) and not (
            receiver and address.endswith(f"/{receiver}")
        )
        parts = [result["title"], address, result.get("date", ""), result["text"], *links]
        (private if is_private else public).append("\n".join(parts))
    return _forms_in("\n".join(public), language), _forms_in("\n".join(private), language)
