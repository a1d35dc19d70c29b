"""Editions of one document: when each is of, what it says of itself, and which of them is in force.

Nothing here knows the subject of a document. It goes by names that differ only in dates, numbers and a few words for
editions; by the date that a document bears in its title, its path or its first lines; and by its calling itself a draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from .dates import dates_in
from .months import all_month_names
from .vocabulary import FUNCTION_WORDS
from .words import stem, tokens

HEAD = 500
"""Characters at the beginning of a text in which it tells its date."""
FEWEST_SHARED = 2
"""Words that two names must share to be alike though they are not the same."""
SHARED = 0.5
"""Share of the words of both names that these must be."""
LARGEST = 12
"""Documents of one name up to which they are taken for editions: more of them are entries of a kind."""
DRAFT_WORDS = 12
"""Words at the beginning of a text among which it says that it is a draft."""
DRAFT = frozenset(
    [
        "draft",
        "drafts",
        "entwurf",
        "brouillon",
        "borrador",
        "bozza",
        "rascunho",
        "utkast",
        "udkast",
        "черновик",
        "草案",
        "草稿",
    ]
)
"""Words by which a document calls itself a draft."""
_EDITION = frozenset(
    [
        "version",
        "v",
        "edition",
        "ed",
        "rev",
        "revision",
        "fassung",
        "ausgabe",
        "stand",
        "old",
        "alt",
        "new",
        "neu",
        "archive",
        "archiv",
        "current",
        "aktuell",
        "final",
        "q1",
        "q2",
        "q3",
        "q4",
        "first",
        "second",
        "third",
        "fourth",
        "quarter",
        "half",
    ]
)
_VERSION = re.compile(r"(?:\bv|version|fassung|edition|rev)[ .]*(\d+(?:\.\d+)*)", re.IGNORECASE)
_APART = re.compile(r"[/_\-]+")
_BRACKETS = re.compile(r"\([^)]*\)")
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

    @property
    def version(self) -> tuple[int, ...]:
        """The number of its version, as its path or its title tells it; empty if neither does."""
        found = _VERSION.search(_words_of(self.path)) or _VERSION.search(self.title)
        return tuple(map(int, found[1].split("."))) if found else ()

    @property
    def _order(self) -> tuple[object, ...]:
        # What bears neither a date nor a number is what the others have led to.
        is_plain = not (self.date or self.version)
        return not self.is_draft, is_plain, self.date, not self.version, self.version, self.key


def date_of(title: str, path: str, text: str, today: str) -> str:
    """Return when a document is of: the beginning of an ISO date, empty if it tells none.

    That is the date in its title or its file's name, made exact by its first lines; else the first date there; else
    the latest one in all of it that is not to come.
    """
    named = [date.iso for line in (title, _words_of(_name(path))) for date in dates_in(line)]
    head = [date.iso for date in dates_in(text[:HEAD])]
    if named:
        latest = max(named)
        return next((iso for iso in head if iso.startswith(latest)), latest)
    past = [iso for iso in head if iso <= today]
    if past or head:
        return (past or head)[0]
    return max((date.iso for date in dates_in(text) if date.iso <= today), default="")


def calls_itself_draft(title: str, path: str, text: str) -> bool:
    """Return whether a document says in its title, its path or its first words that it is a draft."""
    said = (*tokens(title), *tokens(_words_of(path)), *tokens(text[:HEAD])[:DRAFT_WORDS])
    return not DRAFT.isdisjoint(said)


@lru_cache(maxsize=5000)
def base_of(words: str) -> frozenset[str]:
    """Return what all editions of a document have in common in a name: no dates, numbers, brackets, words for editions."""
    left_out = _EDITION | DRAFT | FUNCTION_WORDS["en"] | frozenset(all_month_names())
    found = tokens(_words_of(_BRACKETS.sub(" ", words)))
    return frozenset(stem(word) for word in found if len(word) > 1 and not _DIGIT.search(word) and word not in left_out)


def is_alike(one: Edition, other: Edition) -> bool:
    """Return whether two documents are named as editions of one are, by their titles or by their files' names."""
    pairs = ((one.title, other.title), (_name(one.path), _name(other.path)))
    return any(_are_alike(base_of(first), base_of(second)) for first, second in pairs)


def series_of(editions: Sequence[Edition]) -> list[list[Edition]]:
    """Return the documents in groups, each of which is one document in several editions, the newest last."""
    groups: list[list[Edition]] = []
    for edition in editions:
        found = next((group for group in groups if is_alike(group[0], edition)), None)
        if found is None:
            groups.append([edition])
        else:
            found.append(edition)
    return [sorted(part, key=lambda one: one._order) for group in groups for part in _split(group)]


def superseded(editions: Iterable[Edition]) -> dict[str, str]:
    """Return the key of the edition in force by the key of each that is not.

    A draft gives way to what was decided, a version to a later one, and a document to a newer one with the same title.
    What bears its date in its title, as a yearly report does, is never taken back.
    """
    found: dict[str, str] = {}
    for group in series_of([*editions]):
        for old, new in permutations(group, 2):
            if old._order < new._order and _gives_way(old, new):
                # The newest comes last.
                found[old.key] = new.key
    return found


def _gives_way(old: Edition, new: Edition) -> bool:
    if old.is_draft != new.is_draft or (old.version and new.version):
        return True
    is_dated = any(True for edition in (old, new) for _ in dates_in(edition.title))
    return not is_dated and base_of(old.title) == base_of(new.title) and bool((old.date and new.date) or old.version)


def _split(group: list[Edition]) -> list[list[Edition]]:
    return [group] if len(group) <= LARGEST else [[edition] for edition in group]


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return bool(one) and (one == other or FEWEST_SHARED <= shared >= SHARED * len(one | other))


def _name(path: str) -> str:
    """The name of a file without its ending; empty for a page of the web."""
    return "" if "://" in path and not path.startswith("file:") else path.rpartition("/")[2].rpartition(".")[0]


def _words_of(path: str) -> str:
    return _APART.sub(" ", path.partition(":")[2] or path)
