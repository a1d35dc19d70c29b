"""Which version of a document a question means: the one in force, unless it asks for another one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from deep_research.evidence.versions.dates import dates_in
from deep_research.evidence.versions.names import folded, marks_in, read_path, read_title
from deep_research.evidence.versions.vocabulary import DRAFT, DRAFT_SIGNS
from deep_research.evidence.words import tokens

_KIND = (
    r"(?:edition|version|issue|draft|release|revision|policy|rules?|regulations?|guide|handbook|manual|statutes?|plan|"
    r"timetable|schedule|tariffs?|prices?|fees?|charges?|rates?|hours|values?|figures?|limits?|\w*fassung|ausgabe|auflage|"
    r"\w*ordnung|\w*satzung|\w*tarif\w*|\w*preise?|\w*gebuhr(?:en)?|\w*entgelte?|\w*zeiten|\w*plan|\w*wert|reglement|"
    r"tarifs?|prix|horaires?|version|reglamento|tarifas?|precios?|horarios?|edicion|norma)"
)
_PAST = re.compile(
    r"\b(?:previously|formerly|used to|fruher|damals|ehemals|auparavant|autrefois|precedemment|anteriormente|"
    r"antiguamente)\b|以前|过去|原来|かつて"
    rf"|\b(?:previous|former|older?|earlier|prior|superseded|outdated|obsolete|vorherige|fruhere|alte|bisherige|vorige|"
    rf"veraltete|ancien|ancienne|precedente?|antigu[oa]|anterior)[nrsm]?s? (?:\w+ ){{0,2}}{_KIND}\b"
    rf"|\b{_KIND} (?:precedente?s?|anterior(?:es)?|antigu[oa]s?|obsoleta?s?)\b|旧版|上一版"
)
_BEFORE = re.compile(
    r"\b(?:before|prior to|until|vor|bis|avant|jusqu'en|antes de|hasta)(?: (?:the|dem|der|den|le|el|la))?$"
)


class Dated(NamedTuple):
    """A version, as far as it matters to a question."""

    key: str
    title: str
    path: str
    date: str
    """Its date as it states it; may be empty."""


class _Version(NamedTuple):
    key: str
    date: str
    number: tuple[int, ...]
    is_draft: bool


def unwanted(question: str, documents: Sequence[Dated], newer: Mapping[str, str]) -> set[str]:
    """The keys of the documents that the question does not mean, of each group of versions.

    Args:
        question: The question.
        documents: The documents, those without versions too.
        newer: The key of the version in force by the key of each that is not, as `superseded` tells it.
    """
    by_key = {one.key: one for one in documents}
    groups: dict[str, list[Dated]] = {}
    for old, current in newer.items():
        if old in by_key:
            groups.setdefault(current, []).append(by_key[old])
    found: set[str] = set()
    for current, outdated in groups.items():
        versions = [_version(one) for one in outdated]
        present = [_version(by_key[current])] if current in by_key else []
        meant = _meant(folded(question), versions, present)
        found |= {one.key for one in (*versions, *present)} - meant
    return found


def _version(one: Dated) -> _Version:
    title, path = read_title(one.title), read_path(one.path)
    status = title.status or path.status
    date = title.date or path.date or one.date[:10]
    return _Version(one.key, date, title.number or path.number, status == "draft")


def _meant(question: str, old: Sequence[_Version], present: Sequence[_Version]) -> set[str]:
    every = [*old, *present]
    named = _by_number(question, every) | _by_date(question, every)
    if not named and _PAST.search(question):
        named = _keys(_newest(old))
    return named or _keys(present)


def _by_number(question: str, versions: Sequence[_Version]) -> set[str]:
    numbers = marks_in(question).numbers
    found = {one.key for one in versions if one.number in numbers}
    if not DRAFT.isdisjoint(tokens(question)) or any(sign in question for sign in DRAFT_SIGNS):
        found |= {one.key for one in versions if one.is_draft}
    return found


def _by_date(question: str, versions: Sequence[_Version]) -> set[str]:
    """The versions that were in force at the times that the question names, and the present one if that is not sure."""
    found: set[str] = set()
    dated = [one for one in versions if one.date]
    for asked in dates_in(question):
        is_before = _BEFORE.search(question[: asked.start].rstrip()) is not None
        earlier = [one for one in dated if _is_by(one.date, asked.iso, is_before=is_before)]
        if earlier:
            found |= _keys(_newest(earlier))
            is_exact = is_before or any(one.date.startswith(asked.iso) for one in earlier)
            found |= set() if is_exact else _keys(_newest(dated))
    return found


def _is_by(date: str, asked: str, *, is_before: bool) -> bool:
    length = min(len(date), len(asked))
    return date[:length] < asked[:length] or (not is_before and date[:length] == asked[:length])


def _newest(versions: Sequence[_Version]) -> list[_Version]:
    last = max(((one.date, one.number) for one in versions), default=("", ()))
    return [one for one in versions if (one.date, one.number) == last]


def _keys(versions: Iterable[_Version]) -> set[str]:
    return {one.key for one in versions}
