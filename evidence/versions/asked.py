"""Which version of a document a question means: the one in force, unless it asks for another one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .dates import NEAR, agree, dates_in
from .names import folded, marks_in, names_draft, read_path, read_title
from .vocabulary import KINDS_OF_DOCUMENTS

_KIND = (
    rf"(?:{KINDS_OF_DOCUMENTS}|rule|price|fee|charge|rate|values?|figures?|limits?|\w*preis|\w*gebuhr(?:en)?|\w*entgelte?|"
    r"\w*wert|prix|precios?)"
)
_PAST = re.compile(
    r"\b(?:previously|formerly|used to|fruher|damals|ehemals|auparavant|autrefois|precedemment|anteriormente|"
    r"antiguamente)\b|以前|过去|原来|かつて"
    rf"|\b(?:previous|former|older?|earlier|prior|superseded|outdated|obsolete|vorherige|fruhere|alte|bisherige|vorige|"
    rf"veraltete|ancien|ancienne|precedente?|antigu[oa]|anterior)[nrsm]?s? (?:\w+ ){{0,2}}{_KIND}\b"
    rf"|\b{_KIND} (?:precedente?s?|anterior(?:es)?|antigu[oa]s?|obsoleta?s?)\b|旧版|上一版"
)
_PRESENT = re.compile(
    r"\b(?:currently|now(?:adays)?|today|at present|at the moment|latest|aktuell\w*|derzeit|zurzeit|momentan|heute|"
    r"heutzutage|jetzt|actuellement|aujourd'hui|actualmente|hoy|ahora)\b|目前|现在|如今|現在"
)
_FUTURE = re.compile(
    r"\b(?:(?:next|coming) (?:year|month|week|season)|upcoming|in (?:the )?future|future (?:\w+ ){0,2}?" + _KIND + r"|"
    r"(?:nachste[nrs]?|kommende[nrs]?) (?:jahr\w*|monat\w*|woche|saison)|(?:zu)?kunftig\w*|"
    r"(?:annee|mois|semaine|saison) prochaine?|prochaine? (?:annee|mois|semaine|saison)|a l'avenir|"
    r"proxim[oa] (?:ano|mes|semana|temporada)|(?:ano|mes|semana|temporada) (?:proxim[oa]|que viene)|en el futuro)\b"
    r"|明年|来年|下个月|将来|今後"
)
_SPAN = re.compile(
    r"\b(?:since|between|after|from|before|until|seit|zwischen|nach|vor|bis|depuis|entre|apres|avant|jusqu|desde|despues|"
    r"antes|hasta)\b|以来|之间|之后|之前"
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
    is_draft: bool = False
    in_force_from: str = ""
    """The beginning of an ISO date that is still to come; may be empty."""


class Version(NamedTuple):
    """Which version a document is, as its title, its path and itself tell."""

    key: str
    date: str
    number: tuple[int, ...]
    is_draft: bool
    is_to_come: bool


def unwanted(question: str, documents: Sequence[Dated], newer: Mapping[str, str]) -> set[str]:
    """The keys of the documents that the question does not mean, of each group of versions and of each series.

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
    asked = folded(question)
    versions_of_one = newer.keys() | set(newer.values())
    found = _of_other_times(asked, [one for one in documents if one.key not in versions_of_one])
    for current, outdated in groups.items():
        versions = [version_of(one) for one in outdated]
        present = [version_of(by_key[current])] if current in by_key else []
        meant = _meant(asked, versions, present)
        found |= {one.key for one in (*versions, *present)} - meant
    return found


def version_of(one: Dated) -> Version:
    """The version that this document is."""
    title, path = read_title(one.title), read_path(one.path)
    is_draft = one.is_draft or (title.status or path.status) == "draft"
    date = one.in_force_from or title.date or path.date or one.date[:10]
    is_to_come = bool(one.in_force_from) and not is_draft
    return Version(one.key, date, title.number or path.number, is_draft, is_to_come)


def _of_other_times(question: str, documents: Sequence[Dated]) -> set[str]:
    """Of each series, as of yearly reports, the parts that are not of the time that the question names."""
    times = [asked.iso for asked in dates_in(question)]
    is_of_present = not times and _PRESENT.search(question) is not None
    if _SPAN.search(question) or not (times or is_of_present):
        return set()
    found: set[str] = set()
    for series in _series(documents):
        last = max(series.values())
        meant = {key for key, date in series.items() if (date == last if is_of_present else agree([date], times))}
        found |= series.keys() - meant if meant else set()
    return found


def _series(documents: Sequence[Dated]) -> list[dict[str, str]]:
    """The dates of documents whose titles, or paths, are alike but for the date, by their keys."""
    series: dict[tuple[str, ...], dict[str, str]] = {}
    for one in documents:
        for kind, name in (("title", read_title(one.title)), ("path", read_path(one.path))):
            if name.base and name.date:
                series.setdefault((kind, *name.base), {})[one.key] = name.date
    return [dates for dates in series.values() if len(dates) > 1]


def _meant(question: str, old: Sequence[Version], present: Sequence[Version]) -> set[str]:
    every = [*old, *present]
    named = _by_number(question, every) | _by_date(question, every, present)
    if not named and _PAST.search(question):
        named = _keys(_newest([one for one in old if not (one.is_draft or one.is_to_come)]))
    if not named and _FUTURE.search(question):
        named = _keys(one for one in every if one.is_to_come)
    return named or _keys(present)


def _by_number(question: str, versions: Sequence[Version]) -> set[str]:
    numbers = marks_in(question).numbers
    found = {one.key for one in versions if one.number in numbers}
    if names_draft(question):
        found |= {one.key for one in versions if one.is_draft}
    return found


def _by_date(question: str, versions: Sequence[Version], present: Sequence[Version]) -> set[str]:
    """The versions that were in force at the times that the question names, and the present one if that is not sure.

    A draft is meant beside what was decided, if it is of that time.
    """
    found: set[str] = set()
    dated = [one for one in versions if one.date]
    for asked in dates_in(question):
        is_before = _BEFORE.search(question[max(0, asked.start - NEAR) : asked.start].rstrip()) is not None
        earlier = [one for one in dated if _is_by(one.date, asked.iso, is_before=is_before)]
        if earlier:
            decided = [one for one in earlier if not one.is_draft]
            drafts = [one for one in earlier if one.is_draft and one.date.startswith(asked.iso) and not is_before]
            found |= _keys(_newest(decided)) | _keys(drafts)
            is_exact = is_before or any(one.date.startswith(asked.iso) for one in decided)
            found |= set() if is_exact else _keys(present or _newest(decided))
    return found


def _is_by(date: str, asked: str, *, is_before: bool) -> bool:
    length = min(len(date), len(asked))
    return date[:length] < asked[:length] or (not is_before and date[:length] == asked[:length])


def _newest(versions: Sequence[Version]) -> list[Version]:
    last = max(((one.date, one.number) for one in versions), default=("", ()))
    return [one for one in versions if (one.date, one.number) == last]


def _keys(versions: Iterable[Version]) -> set[str]:
    return {one.key for one in versions}
