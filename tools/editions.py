"""Puts what was found into the order of its versions: what is in force, or what the question means, comes first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..evidence.likeness import likeness
from ..evidence.mixing import distinct, in_turn
from ..evidence.passages import split_passages
from ..evidence.repeated import without_repeated
from ..evidence.versions.asked import Dated, unwanted, version_of
from ..evidence.versions.dates import dates_in
from ..evidence.versions.names import folded
from ..evidence.versions.standing import Standing
from ..evidence.versions.statements import replaces_another
from ..evidence.versions.versions import Edition, standings, superseded
from ..evidence.versions.vocabulary import REPLACING
from ..evidence.words import stems
from ..knowledge import Source
from .index_shelf import IndexShelf
from .index_texts import base_of
from .ranking import Passage

MOST_NAMING = 10
"""Passages that hold the title of a document and may say that it is replaced."""
MOST_OF_ONE_NAME = 10
"""Documents of one name whose texts are read: the newest ones tell what is in force."""
MOST_COMPARED = 50
"""Documents that are compared with those that were found."""


class _Versions(NamedTuple):
    """The documents that were found and those akin to them, by key."""

    sources: dict[str, Source]
    """With what supersedes them, and whether they are in force yet."""
    texts: dict[str, str]
    groups: dict[str, list[str]]
    """All versions of a document, the one in force first, by the key of each of them."""
    left_out: set[str]
    """Those that the question does not mean."""


def in_force_first(question: str, found: Sequence[Passage], shelf: IndexShelf, today: str) -> list[Passage]:
    """The passages with their versions, each text once; those of versions that the question does not mean come last.

    The version in force is added where only an outdated one was found, and the one that the question asks for where
    only another one was. `today` is an ISO date: what is to hold from a later day is not in force.
    """
    versions = _versions(question, found, shelf, today)
    known = {passage.source.key for passage in found}
    every = [one for passage in found for one in _with_counterparts(passage, versions, known)]
    first = [one for one in every if one.source.key not in versions.left_out]
    behind = [one for one in every if one.source.key in versions.left_out]
    return without_repeated(distinct([*first, *behind], lambda one: (one.source.key, one.start)), lambda one: one.text)


def _versions(question: str, found: Sequence[Passage], shelf: IndexShelf, today: str) -> _Versions:
    sources = {passage.source.key: passage.source for passage in found}
    times = [*(asked.iso for asked in dates_in(folded(question))), today]
    groups = {base_of(source.title): _akin(shelf, source) for source in sources.values()}
    # Of which some were not looked at, none may be told to be the newest.
    untold = {key for key, source in sources.items() if groups[base_of(source.title)] is None}
    lists = [
        *(_worth_reading(akin or (), times) for akin in groups.values()),
        *(_naming(shelf, one) for one in sources.values()),
    ]
    akin = distinct(in_turn(lists), lambda source: source.key)
    near = {source.key: source for source in (*akin[:MOST_COMPARED], *sources.values())}
    texts = {key: shelf.text(source) for key, source in near.items()}
    told = [source for key, source in near.items() if key not in untold]
    editions = [_edition(source, texts[source.key]) for source in told]
    newer = superseded(editions, today)
    pending = standings(editions, newer, today)
    marked = {key: _marked(one, newer.get(key, ""), pending.get(key, Standing())) for key, one in near.items()}
    left_out = unwanted(question, [_dated(marked[source.key]) for source in told], newer)
    return _Versions(marked, texts, _groups(newer), left_out)


def _with_counterparts(passage: Passage, versions: _Versions, known: Collection[str]) -> Iterator[Passage]:
    """The passage, and what versions that were not found say in its place: the one in force, and those meant."""
    yield passage._replace(source=versions.sources[passage.source.key])
    for place, key in enumerate(versions.groups.get(passage.source.key, ())):
        if key not in known and (place == 0 or key not in versions.left_out):
            yield _counterpart(passage, versions.sources[key], versions.texts[key])


def _akin(shelf: IndexShelf, source: Source) -> list[Source] | None:
    """The documents with the title of this one, but for the version; none if they are too many."""
    found = shelf.akin(source.title)
    return None if found is None else [shelf.passages[one].source for one in found]


def _naming(shelf: IndexShelf, source: Source) -> list[Source]:
    """The documents that name this one, and may say that they replace it."""
    found = shelf.holding(source.title, sorted(REPLACING), MOST_NAMING)
    return [shelf.passages[one].source for one in found if replaces_another(one.text)]


def _worth_reading(akin: Iterable[Source], times: Sequence[str]) -> list[Source]:
    """The newest of the documents of one name, and the newest ones at each of these times."""
    read = [(version_of(_dated(source)), source) for source in akin]
    read.sort(key=lambda pair: (not pair[0].is_draft, pair[0].date, pair[0].number, pair[0].key), reverse=True)
    by_time = ([source for one, source in read if one.date and one.date[: len(time)] <= time] for time in times)
    newest = in_turn([[source for _, source in read], *by_time])
    return distinct(newest, lambda source: source.key)[:MOST_OF_ONE_NAME]


def _marked(source: Source, superseded_by: str, standing: Standing) -> Source:
    told = {"superseded_by": superseded_by, "judged_at": source.read_at, **standing._asdict()}
    return source.model_copy(update=told)


def _edition(source: Source, text: str) -> Edition:
    return Edition(source.key, source.title, source.address, source.date, text)


def _dated(source: Source) -> Dated:
    return Dated(source.key, source.title, source.address, source.date, source.is_draft, source.in_force_from)


def _groups(newer: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for old, current in newer.items():
        groups.setdefault(current, [current]).append(old)
    return {key: group for group in groups.values() for key in group}


def _counterpart(passage: Passage, source: Source, text: str) -> Passage:
    """The passage of another version that is most like this one."""
    wanted = frozenset(stems(passage.text))
    spans = split_passages(text)
    best = max(spans, key=lambda span: (likeness(wanted, frozenset(stems(text[span.start : span.end]))), -span.start))
    return passage._replace(source=source, start=best.start, heading=best.heading, text=text[best.start : best.end])
