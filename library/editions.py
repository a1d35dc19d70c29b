"""Puts what was found into the order of its editions: what is in force, or what the question means, comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..evidence.editions import Edition, calls_itself_draft, series_of, superseded
from ..evidence.text.dates import dates_in
from ..evidence.text.passages import split_passages
from ..evidence.text.ranking import distinct
from ..evidence.text.reprints import without_repeated
from ..evidence.text.similarity import jaccard
from ..evidence.text.words import stems
from ..records.sources import Source
from .shelf import IndexShelf, Passage

AKIN = 0.2
"""Likeness of their words from which on two passages of a series may be of the same thing."""


class _Series(NamedTuple):
    """One document in several editions."""

    keys: tuple[str, ...]
    """The newest last."""
    meant: frozenset[str]
    """Those that the question means; without a word about it the one in force."""


def in_force_first(question: str, found: Sequence[Passage], shelf: IndexShelf, today: str) -> list[Passage]:
    """Return the passages with their standing, each text once: of a series, those of the edition that is meant first.

    Editions that were superseded come last. The one that is meant is added where only others were found. `today` is an
    ISO date: what is dated later is not in force.
    """
    sources = {source.key: source for source in _documents(found, shelf, today)}
    editions = [_edition(source) for source in sources.values()]
    newer, series = superseded(editions), _series(question, editions)
    judged = _all_judged(sources, newer, series)
    every = [one for passage in found for one in _with_counterparts(passage, found, series, judged, shelf)]
    placed = distinct(_newest_first(every, series), lambda one: (one.source.key, one.start))
    behind = [one for one in placed if one.source.key in newer and one.source.key not in series[one.source.key].meant]
    first = [one for one in placed if one not in behind]
    return without_repeated([*first, *behind], lambda one: one.text)


def with_standing(documents: Iterable[tuple[Source, str]], today: str) -> list[Source]:
    """Return documents, given with their texts, with their standing among each other; `today` is an ISO date."""
    sources = {source.key: _standing(source, text, today) for source, text in documents}
    editions = [_edition(source) for source in sources.values()]
    return list(_all_judged(sources, superseded(editions), _series("", editions)).values())


def _all_judged(
    sources: Mapping[str, Source], newer: Mapping[str, str], series: Mapping[str, _Series]
) -> dict[str, Source]:
    return {key: _judged(one, newer.get(key, ""), len(series[key].keys) > 1) for key, one in sources.items()}


def _documents(found: Sequence[Passage], shelf: IndexShelf, today: str) -> Iterator[Source]:
    """The documents that were found and those with the same names, with what they say of themselves."""
    for title in dict.fromkeys(passage.source.title for passage in found):
        for first in map(shelf.passages.__getitem__, shelf.akin(title)):
            yield _standing(first.source, first.text, today)
    for source in dict.fromkeys(passage.source for passage in found):
        yield _standing(source, shelf.text(source), today)


def _standing(source: Source, text: str, today: str) -> Source:
    is_draft = calls_itself_draft(source.title, source.address, text)
    is_to_come = source.date > today[: len(source.date)]
    return source.model_copy(update={"is_draft": is_draft, "in_force_from": source.date if is_to_come else ""})


def _judged(source: Source, superseded_by: str, has_others: bool) -> Source:
    # A strategy for 2030 holds today; a tariff for 2030, of which there is another one, does not.
    from_when = source.in_force_from if has_others or len(source.in_force_from) > len("2030") else ""
    told = {"superseded_by": superseded_by, "in_force_from": from_when, "judged_at": source.read_at}
    return source.model_copy(update=told)


def _edition(source: Source) -> Edition:
    is_pending = source.is_draft or bool(source.in_force_from)
    return Edition(source.key, source.title, source.address, source.date, is_pending)


def _series(question: str, editions: Sequence[Edition]) -> dict[str, _Series]:
    """The series of each document, by its key."""
    times, version = [date.iso for date in dates_in(question)], Edition("", question, "").version
    found: dict[str, _Series] = {}
    for group in series_of(editions):
        named = [one for one in group if version and one.version == version]
        named += [one for time in times for one in _of_time(time, group)]
        meant = frozenset(one.key for one in named or group[-1:])
        found |= dict.fromkeys((one.key for one in group), _Series(tuple(one.key for one in group), meant))
    return found


def _of_time(time: str, group: Sequence[Edition]) -> Sequence[Edition]:
    """The editions of this time, else the one that was in force then."""
    dated = [one for one in group if one.date]
    own = [one for one in dated if one.date.startswith(time) or time.startswith(one.date)]
    return own or [one for one in dated if one.date < time and not one.is_draft][-1:]


def _newest_first(passages: Sequence[Passage], series: Mapping[str, _Series]) -> list[Passage]:
    """The passages, those of each series in the places that it has, what is meant before what is not."""
    places: dict[_Series, list[Passage]] = {}
    for passage in passages:
        places.setdefault(series[passage.source.key], []).append(passage)
    ordered = {own: iter(sorted(ones, key=lambda one: one.source.key not in own.meant)) for own, ones in places.items()}
    return [next(ordered[series[passage.source.key]]) for passage in passages]


def _with_counterparts(
    passage: Passage,
    found: Sequence[Passage],
    series: Mapping[str, _Series],
    judged: Mapping[str, Source],
    shelf: IndexShelf,
) -> Iterator[Passage]:
    """The passage, and what editions that are meant, but were not found, say in its place."""
    own = judged[passage.source.key]
    yield passage._replace(source=own)
    for key in sorted(series[own.key].meant - {one.source.key for one in found}):
        other = _counterpart(passage, judged[key], shelf.text(judged[key]))
        if own.superseded_by or jaccard(_words(passage.text), _words(other.text)) >= AKIN:
            yield other


def _counterpart(passage: Passage, source: Source, text: str) -> Passage:
    """The passage of another edition that is most like this one."""
    wanted = _words(passage.text)
    spans = split_passages(text)
    best = max(spans, key=lambda span: (jaccard(wanted, _words(text[span.start : span.end])), -span.start))
    return passage._replace(source=source, start=best.start, heading=best.heading, text=text[best.start : best.end])


def _words(text: str) -> frozenset[str]:
    return frozenset(stems(text))
