"""Which of the documents that were shown serve a question best."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

from ...evidence.inflection.common_words import IN_QUESTION, IN_TEXT, evident
from ...evidence.inflection.wording import sought_words
from ...evidence.mixing import in_turn
from ...evidence.months import sure_month_names
from ...evidence.passages import split_passages
from ...evidence.sources import DOCUMENT_SCHEME
from ...evidence.trails.candidate import Candidate
from ...evidence.trails.memory_shelf import MemoryShelf
from ...evidence.trails.trails import find_trails, passages_of
from ...evidence.vocabulary import GENERIC_WORDS, MONTHS
from ...evidence.words import names, stems, tokens
from .asking import QUESTION_TOKENS, QUESTION_WORDS_OF
from .reading import Document

MOST_SOURCES = 5
"""Documents that an answer quotes."""
_OPENINGS = GENERIC_WORDS | QUESTION_TOKENS
_PLACED = re.compile(r"\s+(?:in|at|im|y)\s+")
LEAST_IN_DOCUMENT = 0.8
"""Share of a name's words that one document must hold for the name to count as found."""


def leading(documents: Sequence[Document], question: str) -> list[Document]:
    """The best documents, best first.

    The index of the user's documents knows how rare each word is, so its order stands; pages of the web are put in
    order by the trails through them; of both kinds the best ones come in turn.
    """
    own = [document for document in documents if document.address.startswith(DOCUMENT_SCHEME)]
    pages = _by_trails([document for document in documents if document not in own], question)
    return in_turn([own, pages])[:MOST_SOURCES]


def sure_names(question: str) -> list[str]:
    """Where capitals tell names: in no script without them, in German only in a row, since all nouns have them.

    Nor does the capital of the first word tell anything. What joins a thing to its place or time, or to another thing,
    joins two names; a month with its year is none.
    """
    opening = question.lstrip(' \n¿¡"“„«(')
    parts = [part for name in names(_without_opening(question)) for part in _PLACED.split(name)]
    is_german = _is_german(question)
    return [
        name
        for name in dict.fromkeys(parts)
        if not _is_date(name) and name != name.lower() and (" " in name or not (is_german or opening.startswith(name)))
    ]


def absent_names(documents: Sequence[Document], question: str) -> list[str]:
    """The names in the question that no document holds, be it in parts of its text or in its title."""
    held = [frozenset(stems(" ".join((document.title, *document.texts)))) for document in documents]
    return [name for name in sure_names(question) if not _is_held(name, held)]


def _is_german(question: str) -> bool:
    language = evident(sought_words(question), IN_QUESTION)
    asks_so = not QUESTION_WORDS_OF["de"].isdisjoint(tokens(question))
    return language == "de" or (asks_so and not language)


def _without_opening(question: str) -> str:
    """The question without the capitalised word that gives the order or asks, as in "Compare Oslo and Bergen"."""
    first, _, rest = question.partition(" ")
    return rest if _OPENINGS.issuperset(tokens(first)) else question


def _is_date(name: str) -> bool:
    """Whether it is a month; one of any language only with its year, since "Mars" and "Jan" are names, too."""
    words = [word for word in tokens(name) if not word.isdigit()]
    has_year = len(words) < len(tokens(name))
    return (sure_month_names() if has_year else MONTHS).issuperset(words)


def _is_held(name: str, held: Sequence[frozenset[str]]) -> bool:
    parts = frozenset(stems(name))
    return any(len(parts & own) >= LEAST_IN_DOCUMENT * len(parts) for own in held)


def _by_trails(pages: Sequence[Document], question: str) -> list[Document]:
    candidates = {one: page for page in pages for one in _candidates(page)}
    found = passages_of(find_trails(question, MemoryShelf(list(candidates))), len(candidates))
    return list(dict.fromkeys([*(candidates[one] for one in found), *pages]))


def _candidates(page: Document) -> Iterator[Candidate]:
    """The page's passages: a whole page holds so much that everything would lead to it."""
    places = count()
    for text in page.texts:
        language = _language_of(text)
        for span in split_passages(text):
            key = (f"{page.number:09}", next(places))
            yield Candidate(key, str(page.number), page.title, text[span.start : span.end], language)


def _language_of(text: str) -> str:
    return evident(sought_words(text), IN_TEXT)
