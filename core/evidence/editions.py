"""Recognises editions of one document, dates them, and finds the one in force.

Evidence are names that differ only in dates, numbers and a few words for editions; the date in the title, path or text;
and the word draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from .text.words import FUNCTION_WORDS, all_month_names, dates_in, stem, tokens

DOCUMENT_SCHEME = "docs:"
"""How the addresses of the user's own documents begin."""
HEAD = 500
"""Characters at the beginning of a text that may state its date."""
EARLIEST = "1995"
"""Earlier dates are those of something a text is about, not of the text itself."""
_BEGINNING = "from effective ab partir desde vanaf dal"
BEGINNING = frozenset(_BEGINNING.split())
"""Words before the day from which a document is valid."""
BEFORE_BEGINNING = 5
"""Words before that day in its line at most: "Valid from", not a sentence about something else."""
FEWEST_SHARED = 2
"""Words that two names must share to be alike if they differ, or lie in different folders."""
SHARED = 0.5
"""Share of the words of both names that these must be."""
LARGEST = 12
"""Documents of one name that count as editions at most; more are entries of a collection."""
DRAFT_WORDS = 12
"""Words at the beginning of a text among which it may call itself a draft."""
_DRAFT = "draft drafts entwurf brouillon borrador bozza rascunho utkast udkast черновик 草案 草稿"
DRAFT = frozenset(_DRAFT.split())
"""Words by which a document calls itself a draft."""
_SHELVED = "old archive archived alt archiv ancien obsolete obsoleto superseded veraltet"
SHELVED = frozenset(_SHELVED.split())
"""Words at the end of the name of an outdated file or its folder."""
_OF_EDITIONS = """
version v edition ed rev revision fassung ausgabe stand new neu current aktuell final q1 q2 q3 q4 first second third
fourth quarter half
"""
_EDITION = frozenset(_OF_EDITIONS.split())
_VERSION = re.compile(r"(?:\bv|version|fassung|edition|rev)[ .]*(\d+(?:\.\d+)*)", re.IGNORECASE)
_APART = re.compile(r"[/_\-]+")
_BRACKETS = re.compile(r"\([^)]*\)")
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")


class Edition(NamedTuple):
    """A document among others."""

    key: str
    title: str
    path: str
    """Its path or address, with the folder that it lies in."""
    date: str = ""
    """The beginning of an ISO date; may be empty."""
    is_draft: bool = False
    """Whether it is not in force, or not yet."""

    @property
    def version(self) -> tuple[int, ...]:
        """The number of its version in its path or title; empty if there is none."""
        found = _VERSION.search(_words_of(_below(self.path))) or _VERSION.search(self.title)
        return tuple(map(int, found[1].split("."))) if found else ()

    @property
    def is_shelved(self) -> bool:
        """Whether the name of its file or folder ends with a word for outdated; "Old Town" does not."""
        # A file named just "old" is not the old edition of whatever lies beside it.
        *folders, name = _below(self.path).split("/")
        parts = (*(_LETTERS.findall(folder) for folder in folders), _LETTERS.findall(name.rpartition(".")[0])[1:])
        return any(words and words[-1].casefold() in SHELVED for words in parts)

    @property
    def order(self) -> tuple[object, ...]:
        """The sort key of an edition among those of its document, the newest last."""
        # Without date and number, it is what the others led to.
        is_plain = not (self.date or self.version)
        is_in_force = not (self.is_draft or self.is_shelved)
        return is_in_force, not self.is_draft, is_plain, self.date, not self.version, self.version, self.key

    def precedes(self, other: Edition) -> bool:
        """Whether it is older than another edition of its document, by their dates and numbers."""
        if self.is_shelved != other.is_shelved:
            return self.is_shelved
        if self.date and other.date and self.date != other.date:
            return self.date < other.date
        if self.version and other.version:
            return self.version < other.version
        is_marked, is_plain = bool(self.date or self.version), not (other.date or other.version)
        return is_marked and is_plain and _have_one_name(self, other)


def date_of(title: str, path: str, text: str, today: str = "") -> str:
    """Return the date of a document as an ISO date or the beginning of one; empty if it has none.

    That is the date in its title or file name, made exact by its first lines; else the day from which it is valid; else
    the first day or month in its first lines; else the latest one in all of it. Days in the future do not count:
    contracts end on such. Without `today`, all days are past.
    """
    last = today or "9999"
    named = max((date.iso for line in (title, _dashed(_name(path))) for date in dates_in(line)), default="")
    head = [date.iso for date in dates_in(text[:HEAD])]
    if named:
        return next((iso for iso in head if iso.startswith(named) and (iso <= last or named > last)), named)
    if beginning := _beginning_in(text[:HEAD]):
        return beginning
    found = (date.iso for date in dates_in(text))
    past = [iso for iso in found if len(iso) > len("2024") and EARLIEST <= iso <= last]
    return past[0] if past and past[0] in head else max(past, default="")


def _beginning_in(head: str) -> str:
    for line in head.splitlines():
        for date in dates_in(line):
            before = tokens(line[: date.start])
            if len(before) <= BEFORE_BEGINNING and not BEGINNING.isdisjoint(before):
                return date.iso
    return ""


def calls_itself_draft(title: str, path: str, text: str) -> bool:
    """Whether a document calls itself a draft in its title, path or first words."""
    said = (*tokens(title), *tokens(_words_of(_below(path))), *tokens(text[:HEAD])[:DRAFT_WORDS])
    return not DRAFT.isdisjoint(said)


@lru_cache(maxsize=5000)
def base_of(words: str) -> frozenset[str]:
    """Return the words of a name that all editions share: no dates, numbers, brackets or status."""
    left_out = _EDITION | DRAFT | SHELVED | FUNCTION_WORDS["en"] | frozenset(all_month_names())
    found = tokens(_words_of(_BRACKETS.sub(" ", words)))
    return frozenset(stem(word) for word in found if len(word) > 1 and not _DIGIT.search(word) and word not in left_out)


def is_alike(one: Edition, other: Edition) -> bool:
    """Whether the titles or file names of two documents are those of editions of one document."""
    is_beside = base_of(_folder(one.path)) == base_of(_folder(other.path))
    pairs = ((one.title, other.title), (_name(one.path), _name(other.path)))
    return any(_are_alike(base_of(first), base_of(second), is_beside) for first, second in pairs)


def series_of(editions: Iterable[Edition]) -> list[list[Edition]]:
    """Group the documents into series of editions, the newest last."""
    groups: list[list[Edition]] = []
    for edition in sorted(set(editions)):
        found = next((group for group in groups if is_alike(group[0], edition)), None)
        if found is None:
            groups.append([edition])
        else:
            found.append(edition)
    return [sorted(part, key=lambda one: one.order) for group in groups for part in _split(group)]


def superseded(editions: Iterable[Edition]) -> dict[str, str]:
    """Return the key of the edition in force by the key of each that is not.

    A final edition supersedes a draft, a later version an earlier one, and a document an older or shelved one with the
    same title. A document with its date in its title, such as a yearly report, is never superseded.
    """
    found: dict[str, str] = {}
    for group in series_of(editions):
        for old, new in combinations(group, 2):
            if _gives_way(old, new):
                # The newest comes last.
                found[old.key] = new.key
    return found


def _gives_way(old: Edition, new: Edition) -> bool:
    if old.is_draft != new.is_draft:
        return not new.is_shelved
    if old.version and new.version and old.version != new.version:
        # Dates are not compared: a later number on an earlier day proves nothing.
        return old.version < new.version
    if old.is_shelved != new.is_shelved and _have_one_name(old, new):
        return True
    is_dated = any(True for edition in (old, new) for _ in dates_in(edition.title))
    return not is_dated and base_of(old.title) == base_of(new.title) and bool((old.date and new.date) or old.version)


def _have_one_name(one: Edition, other: Edition) -> bool:
    pairs = ((one.title, other.title), (_name(one.path), _name(other.path)))
    return is_alike(one, other) and any(base_of(first) == base_of(second) != frozenset() for first, second in pairs)


def _split(group: list[Edition]) -> list[list[Edition]]:
    return [group] if len(group) <= LARGEST else [[edition] for edition in group]


def _are_alike(one: frozenset[str], other: frozenset[str], is_beside: bool) -> bool:
    shared = len(one & other)
    if one == other:
        return shared >= (1 if is_beside else FEWEST_SHARED)
    return FEWEST_SHARED <= shared >= SHARED * len(one | other)


def _name(path: str) -> str:
    """Return the name of a file without its extension; empty for a web page."""
    return _below(path).rpartition("/")[2].rpartition(".")[0]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _below(path: str) -> str:
    """Return the path of a file below the given folder; empty for a web page."""
    if "://" in path and not path.startswith("file:"):
        return ""
    if not path.startswith(DOCUMENT_SCHEME):
        return path
    given, slash, below = path.removeprefix(DOCUMENT_SCHEME).partition("/")
    return below if slash else given


def _dashed(name: str) -> str:
    # An underscore would count as a letter.
    return name.replace("_", "-")


def _words_of(path: str) -> str:
    return _APART.sub(" ", path)
