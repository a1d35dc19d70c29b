"""The passages of all indexes of a run, ranked together: what fits best, and what is in force, first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple, Protocol

from ..evidence.editions import LARGEST, Edition, calls_itself_draft, series_of, superseded
from ..evidence.text.sentences import split_passages
from ..evidence.text.similarity import distinct, interleave, jaccard, without_repeated
from ..evidence.text.stems import title_key, tokens_of
from ..evidence.text.words import dates_in, stems
from ..records.sources import Source
from .candidates import Candidate, mentions
from .folder import originals_first
from .index_file import base_of
from .index_search import IndexReader
from .near_words import MOST_MEANT

SATURATION = 1.2
LENGTH_SHARE = 0.5
USUAL_CHARACTERS = 700
COLUMN_WEIGHTS = {"title": 2.5, "heading": 1.5, "text": 1.0}
MENTION_WEIGHT = 1.5


class Passage(NamedTuple):
    """A passage of a document that answers a query."""

    source: Source
    start: int
    """Offset of the passage in the document's text."""
    heading: str
    """The headings above it."""
    language: str
    """By whose rules its words are stemmed (ISO 639-1); empty if by those of English."""
    text: str


def scores(candidates: Sequence[Passage], weights: Mapping[str, float], mentioned: Mapping[str, float]) -> list[float]:
    """Return each candidate's score: BM25 over title, headings and text, plus a bonus if its title is mentioned."""
    counts: dict[tuple[int, str], float] = defaultdict(float)
    # Passages of one document have its title, and often their headings, in common.
    hits = cache(lambda text, language: Counter(filter(weights.__contains__, tokens_of(text, language))))
    for row, one in enumerate(candidates):
        for column, text in zip(COLUMN_WEIGHTS, (one.source.title, one.heading, one.text), strict=True):
            for stem, times in hits(text, one.language).items():
                counts[row, stem] += COLUMN_WEIGHTS[column] * times
    totals = [0.0] * len(candidates)
    for (row, stem), count in sorted(counts.items()):
        length = 1 - LENGTH_SHARE + LENGTH_SHARE * len(candidates[row].text) / USUAL_CHARACTERS
        totals[row] += weights[stem] * count * (SATURATION + 1) / (count + SATURATION * length)
    _add_mentions(totals, candidates, mentioned)
    return totals


def _add_mentions(totals: list[float], candidates: Sequence[Passage], mentioned: Mapping[str, float]) -> None:
    # Only the best passage of a document gains by its title; else one long document would fill the list.
    best: dict[str, int] = {}
    for row, one in enumerate(candidates):
        holder = best.setdefault(one.source.key, row)
        if (totals[row], -one.start) > (totals[holder], -candidates[holder].start):
            best[one.source.key] = row
    for row in best.values():
        totals[row] += MENTION_WEIGHT * mentioned.get(title_key(candidates[row].source.title), 0.0)


class Shelf(Protocol):
    """Passages that can be searched by words and by names as they are written; the same passage is one object."""

    @property
    def size(self) -> int:
        """How many passages there are."""

    def counted(self, words: Sequence[str]) -> int:
        """Return in how many passages each of these words stands, added up: no fewer than hold any of them."""

    def search(self, words: Sequence[str], limit: int) -> Sequence[Candidate]:
        """Return the passages that match these words best, best first."""

    def titled(self, text: str) -> Sequence[Candidate]:
        """Return the first passages of documents whose titles stand in this text."""

    def holders(self, name: str) -> int:
        """Return how many passages hold the words of this name in a row; beyond a bound, the bound."""

    def holding(self, name: str, words: Sequence[str], limit: int) -> Sequence[Candidate]:
        """Return passages that hold the words of this name in a row, those first that hold these words, too."""


MOST_HOLDERS = 500
"""Holders of a name up to which they are counted: one with more hardly tells passages apart, and leads nowhere."""
MOST_TITLED = 5


class OpenIndex(NamedTuple):
    """An index that is being read."""

    reader: IndexReader
    passage: Callable[[int], Passage]
    """The passage of this number, with its source."""


class IndexShelf:
    """One state of the indexes, for one search by one thread."""

    def __init__(self, indexes: Sequence[OpenIndex]) -> None:
        self._indexes = indexes
        self._read: dict[tuple[int, int], Candidate] = {}
        self._by_text: dict[tuple[str, int], Candidate] = {}
        self._holders: dict[str, int] = {}
        self._lists: dict[object, list[Candidate]] = {}
        self.passages: dict[Candidate, Passage] = {}
        """What was read so far."""

    @cached_property
    def size(self) -> int:
        """How many passages there are."""
        return sum(one.reader.size for one in self._indexes)

    def counted(self, words: Sequence[str]) -> int:
        """Return in how many passages these words stand, as a sum over them."""
        return sum(one.reader.counted(words) for one in self._indexes)

    def held(self, words: Sequence[str]) -> frozenset[str]:
        """Return those of these words that stand in any passage."""
        return frozenset().union(*(one.reader.held(words) for one in self._indexes))

    def near(self, word: str) -> list[str]:
        """Return the words that may be meant by one that stands nowhere: those spelt most like it, else parts of it."""
        alike = [near for one in self._indexes for near in one.reader.misspelt(word)]
        best = max((likeness for likeness, _ in alike), default=0.0)
        spelt = [name for likeness, name in alike if likeness == best]
        parts = (part for one in self._indexes for part in one.reader.parts(word)) if not spelt else ()
        return [*dict.fromkeys((*spelt, *parts))][:MOST_MEANT]

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return the passages that match these words best."""
        sought = tuple(dict.fromkeys(words))
        return self._once((sought, limit), lambda reader: reader.best(sought, limit))

    def titled(self, text: str) -> list[Candidate]:
        """Return the first passages of documents whose titles stand in this text."""
        titles = mentions(text)
        return self._once(text, lambda reader: reader.titled(titles, MOST_TITLED))

    def akin(self, title: str) -> list[Candidate]:
        """Return the first passages of the documents with this title but another edition; none if they are too many."""
        found = self._once(("akin", base_of(title)), lambda reader: reader.akin(title, LARGEST + 1))
        return found if len(found) <= LARGEST else []

    def holders(self, name: str) -> int:
        """Return how many passages hold the words of this name in a row, up to 500 for each index."""
        if name not in self._holders:
            self._holders[name] = sum(one.reader.holders(name, MOST_HOLDERS) for one in self._indexes)
        return self._holders[name]

    def holding(self, name: str, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return passages that hold this name; if they are many, those with these words or the name in the title."""
        if self.holders(name) >= MOST_HOLDERS:
            return []
        if self.holders(name) <= limit:
            return self._once((name, limit), lambda reader: reader.holding(name, limit))
        titled = self._once((name, "title", limit), lambda reader: reader.holding(name, limit, in_title=True))
        if not words:
            return titled
        sought = tuple(dict.fromkeys(words))
        found = self._once((name, sought, limit), lambda reader: reader.holding(name, limit, sought))
        return list(dict.fromkeys([*found, *titled]))

    def text(self, source: Source) -> str:
        """Return the whole text of a document."""
        return next(filter(None, (one.reader.text(source.content_hash) for one in self._indexes)), "")

    def _once(self, asked: object, look_up: Callable[[IndexReader], Iterable[int]]) -> list[Candidate]:
        if asked not in self._lists:
            found = [look_up(one.reader) for one in self._indexes]
            mixed = interleave([self._candidate(place, row) for row in rows] for place, rows in enumerate(found))
            self._lists[asked] = list(dict.fromkeys(mixed))
        return self._lists[asked]

    def _candidate(self, place: int, number: int) -> Candidate:
        if (place, number) not in self._read:
            passage = self._indexes[place].passage(number)
            # Folders may lie in each other, and copies in several.
            text = (passage.source.content_hash, passage.start)
            self._read[place, number] = self._by_text.get(text) or self._added(text, passage)
        return self._read[place, number]

    def _added(self, text: tuple[str, int], passage: Passage) -> Candidate:
        source = passage.source
        key = originals_first(source), passage.start
        candidate = Candidate(key, source.key, source.title, passage.text, passage.language)
        self._by_text[text] = candidate
        self.passages[candidate] = passage
        return candidate


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
    """Return the documents found and those with the same names, with what they say about their editions."""
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
    """Return the series of each document, by its key."""
    times, version = [date.iso for date in dates_in(question)], Edition("", question, "").version
    found: dict[str, _Series] = {}
    for group in series_of(editions):
        named = [one for one in group if version and one.version == version]
        named += [one for time in times for one in _of_time(time, group)]
        meant = frozenset(one.key for one in named or group[-1:])
        found |= dict.fromkeys((one.key for one in group), _Series(tuple(one.key for one in group), meant))
    return found


def _of_time(time: str, group: Sequence[Edition]) -> Sequence[Edition]:
    """Return the editions of this time, else the one that was in force then."""
    dated = [one for one in group if one.date]
    own = [one for one in dated if one.date.startswith(time) or time.startswith(one.date)]
    return own or [one for one in dated if one.date < time and not one.is_draft][-1:]


def _newest_first(passages: Sequence[Passage], series: Mapping[str, _Series]) -> list[Passage]:
    """Return the passages with those of each series put in order: what is meant before what is not."""
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
    """Yield the passage, and what editions that are meant but were not found say in its place."""
    own = judged[passage.source.key]
    yield passage._replace(source=own)
    for key in sorted(series[own.key].meant - {one.source.key for one in found}):
        other = _counterpart(passage, judged[key], shelf.text(judged[key]))
        if own.superseded_by or jaccard(_words(passage.text), _words(other.text)) >= AKIN:
            yield other


def _counterpart(passage: Passage, source: Source, text: str) -> Passage:
    """Return the passage of another edition that is most like this one."""
    wanted = _words(passage.text)
    spans = split_passages(text)
    best = max(spans, key=lambda span: (jaccard(wanted, _words(text[span.start : span.end])), -span.start))
    return passage._replace(source=source, start=best.start, heading=best.heading, text=text[best.start : best.end])


def _words(text: str) -> frozenset[str]:
    return frozenset(stems(text))
