"""Which units answer a part of a request: for a question few that lead to one another, for a topic what tells most."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ...evidence.dates import dates_in
from ...evidence.editions import Edition, series_of
from ...evidence.words import names, stem, tokens
from ..facts import Document
from .pool import AROUND, Pool, Sentence

WIDTH = 12
"""Chains kept at each length."""
LENGTH = 4
"""Units of a chain."""
REPEATED = 0.2
"""What a word counts that an earlier unit holds."""
COST = 0.1
"""Share of the request that a further unit must add to be worth reading."""
LINKED = 0.25
"""What it counts that one of two units names the document of the other."""
SHARED_NAME = 0.2
"""The same where both hold a name that few documents do."""
NAMED = 0.12
"""What it counts that the request names the unit's document."""
UNRELATED = -0.12
"""What it costs that nothing connects a unit with those before it."""
RIGHT = 0.25
"""What it counts that the last unit holds the kind of thing asked for: as much as a link."""
PLACE = 0.004
"""What each unit before it in its document costs."""
LONG = 0.001
"""What each of its words costs."""
FIGURE = 0.05
"""What it counts that a unit holds a figure."""
OF_DOCUMENT = 0.2
"""What it costs at most that other documents hold more of the request."""
RANK, RANKS = 0.2, 8
"""What it counts that the search showed the document first, and the place from which on it counts nothing."""
FURNITURE = -0.15
"""What it costs that several documents hold the same words."""
OLDER, OTHER_TIME, PENDING = -0.2, -0.25, -0.3
"""What it costs that a newer edition is at hand; that one of the time asked for is; that it is not in force."""
RECENT = 0.06
"""What the newest of all documents gains over those without a date."""
NEAR = 0.75
"""Share of what the best unit is worth from which on another answers as well."""
MOST_NEAR = 6
LEADING = 5
"""Documents that the search showed first, which may say what a chain over several of them leaves out."""
OF_LEADING = 2
"""Units of each of them."""
FIRMEST_LOOSE = 0.05
"""Worth of a link up to which two units have nothing to do with each other."""
SAME_STATEMENT = 0.4
"""Likeness of two units, figures left out, from which on they say the same of different times."""
MOST_EDITIONS = 2
"""Other editions that are quoted beside the newest."""
FADING = 0.5
"""What a word of a topic counts each further time."""
FADING_ABOVE = 0.3
"""How far it is told by a unit that only stands below it."""
SUBJECT = 0.6
ABOUT_LEAST = 0.6
ABOUT_PART = 0.0
ABOUT = 1.0
TITLED = 0.5
FRESH = 0.85
"""The same of a document that the topic names."""
OF_NAME = 0.7
CONTEXT_OF_NAME = 0.3
"""What it counts that the title or path of a document holds the words of a topic, and of what it is about."""
NAMED_TOPIC = 0.8
TELLING = 0.5
"""How much of a unit's worth for a topic hangs on its figures and names."""
OF_FIGURE = 0.6
LEAST_SHARE, LEAST = 0.1, 0.05
"""Worth of a unit, compared with the first one and at all, below which a topic has been told."""


def editions_shift(
    documents: Sequence[Document], asked: str, *, is_topic: bool
) -> tuple[dict[int, float], dict[int, int]]:
    """What each document gains or loses by its date and status, and the series that each belongs to."""
    editions = [
        Edition(str(one.number), one.title, one.address, one.date, one.is_draft or bool(one.in_force_from))
        for one in documents
    ]
    times = [date.iso for date in dates_in(asked)]
    shifts: dict[int, float] = {}
    series: dict[int, int] = {}
    for place, group in enumerate(series_of(editions)):
        meant = [one for one in group if any(_agree(one.date, time) for time in times)]
        if is_topic and times:
            meant += [one for one in group if one.date[:4] >= min(times)[:4]]
        for one in group:
            number = int(one.key)
            series[number] = place
            shifts[number] = PENDING if one.is_draft else 0.0
            if meant:
                shifts[number] += 0 if one in meant else OTHER_TIME
            elif one is not group[-1]:
                shifts[number] += OLDER
    dates = sorted({one.date for one in editions if one.date})
    if not times:
        for one in editions:
            shifts[int(one.key)] += RECENT * (dates.index(one.date) / len(dates) if one.date else 0)
    return shifts, series


def _agree(date: str, time: str) -> bool:
    return bool(date) and (date.startswith(time) or time.startswith(date))


class Chooser:
    """Chooses units of a pool."""

    def __init__(self, pool: Pool, *, is_topic: bool = False) -> None:
        self.pool = pool
        documents = [*pool.documents.values()]
        self.times = [date.iso for date in dates_in(f"{pool.asked} {pool.context}")]
        self.shifts, self.series = editions_shift(documents, f"{pool.asked} {pool.context}", is_topic=is_topic)
        self.ranks = {one.number: RANK * max(0.0, 1 - place / RANKS) for place, one in enumerate(documents)}

    # --- a question

    def answer(self, budget: int, near: int = 6) -> list[Sentence]:
        """The units that answer a question, the best first, in at most so many words."""
        chain = self.chain()
        if not chain:
            return []
        worth = {one: self._worth(one) for one in self.pool.sentences if one.held}
        best = max(worth.values())
        close = sorted((one for one in worth if worth[one] >= NEAR * best and one.held), key=lambda one: -worth[one])
        kept = _Kept(budget)
        kept.add(sorted(chain, key=lambda one: -worth[one]))
        kept.add(close[:near])
        for one in kept.units[:3]:
            kept.add(self._other_editions(one, kept.units))
        return kept.units

    def further(self, chosen: Sequence[Sentence], budget: int) -> list[Sentence]:
        """What documents that the search showed first add, if they have to do with a chain over several documents."""
        kept = _Kept(budget, chosen)
        for number in [*self.pool.documents][:LEADING]:
            others = [one for one in chosen if one.number != number]
            for _ in range(OF_LEADING - sum(one.number == number for one in kept.units)):
                known = frozenset[int]().union(*(one.held for one in kept.units))
                found = []
                for one in self.pool.sentences:
                    if one.number != number or one in kept.units:
                        continue
                    relation = self._relation(one, others) if others else 0.0
                    if relation <= FIRMEST_LOOSE and not any(c.number == number for c in chosen):
                        continue
                    found.append(
                        (self._worth(one) + relation + 0.15 * self.pool.weight(one.held - known), -one.place, one)
                    )
                if found and max(found)[0] > 0:
                    kept.add([max(found)[2]])
        return kept.units[len(chosen) :]

    def chain(self) -> list[Sentence]:
        """The few units that together serve a question best, each for what it adds to those before it."""
        candidates = [one for one in self.pool.sentences if one.held]
        best: tuple[float, tuple[Sentence, ...]] = (0.0, ())
        beam: list[tuple[float, tuple[Sentence, ...]]] = [(0.0, ())]
        for _ in range(LENGTH):
            longer = []
            for worth, chain in beam:
                known = frozenset[int]().union(*(one.held for one in chain))
                numbers = {one.number for one in chain}
                for one in candidates:
                    if one in chain:
                        continue
                    relation = self._relation(one, chain)
                    if (
                        not one.own
                        and not (one.around - self.pool.titled(one.number))
                        and not (one.is_right and relation > 0)
                    ):
                        continue
                    if (
                        chain
                        and relation <= 0
                        and one.number not in numbers
                        and len(one.held - self.pool.titled(one.number)) < 2
                    ):
                        continue
                    more = worth + self._fit(one, known) + relation + self._standing(one)
                    if not chain:
                        more += OF_DOCUMENT * (self.pool.shares[one.number] - 1)
                    longer.append((more, (*chain, one)))
            longer.sort(key=lambda pair: -(pair[0] + RIGHT * pair[1][-1].is_right))
            beam = longer[:WIDTH]
            if beam:
                worth = beam[0][0] + RIGHT * beam[0][1][-1].is_right
                if worth > best[0]:
                    best = worth, beam[0][1]
        return [*best[1]]

    def _fit(self, one: Sentence, known: frozenset[int]) -> float:
        pool = self.pool
        worth = pool.weight(one.own - known) + AROUND * pool.weight(one.around - known)
        worth += REPEATED * pool.weight(one.held & known)
        return worth - COST - PLACE * min(one.place, 10) - LONG * len(one.text.split())

    def _standing(self, one: Sentence) -> float:
        return self.shifts[one.number] + self.ranks[one.number] + FURNITURE * (one.text in self.pool.furniture)

    def _worth(self, one: Sentence) -> float:
        """What a unit is worth by itself."""
        worth = self._fit(one, frozenset()) + self._standing(one) + 0.6 * RIGHT * one.is_right
        worth += FIGURE * bool(re.search(r"\d", one.text)) + 0.5 * NAMED * (one.number in self.pool.named)
        return worth + OF_DOCUMENT * (self.pool.shares[one.number] - 1)

    def _relation(self, one: Sentence, before: Sequence[Sentence]) -> float:
        pool = self.pool
        if any(earlier.number == one.number for earlier in before):
            return 0.0
        for earlier in before:
            if one.number in pool.mentioned(earlier) or earlier.number in pool.mentioned(one):
                return LINKED
        if before:
            shared = {name for earlier in before for name in pool.names_in(earlier) & pool.names_in(one)}
            firmest = max((self._tells(name) for name in shared), default=0.0) * SHARED_NAME
            if firmest > 0.03:
                return firmest
        return NAMED if one.number in pool.named else UNRELATED * bool(before)

    def _tells(self, name: str) -> float:
        size = len(self.pool.documents)
        return min(1.0, math.log(size / self.pool.name_counts[name]) / math.log(max(2, size / 2)))

    def _other_editions(self, one: Sentence, chosen: Sequence[Sentence]) -> list[Sentence]:
        """What other editions of its document say in its place, the newest first."""
        found = []
        mine = _shape(one.text)
        numbers = [n for n, series in self.series.items() if series == self.series[one.number] and n != one.number]
        for number in sorted(numbers, key=lambda n: self.pool.documents[n].date, reverse=True):
            if any(other.number == number for other in chosen):
                continue
            likes = [
                (_likeness(mine, _shape(other.text)), -other.place, other)
                for other in self.pool.sentences
                if other.number == number
            ]
            if likes and max(likes)[0] >= SAME_STATEMENT and _figures(max(likes)[2].text) != _figures(one.text):
                found.append(max(likes)[2])
        return found[:MOST_EDITIONS]

    # --- a topic

    def topic(self, budget: int, told: Iterable[Sentence] = (), *, is_alone: bool = True) -> list[Sentence]:
        """The units that tell most of a topic, each for what it adds, in at most so many words; by documents."""
        pool, per = self.pool, Counter[int]()
        counts: dict[int, float] = defaultdict(float)
        whole = {n: pool.shares[n] * (1 - TITLED + TITLED * pool.subjects[n]) for n in pool.documents}
        most = max(whole.values(), default=1.0) or 1.0
        about = {number: share / most for number, share in whole.items()}
        subject = max(pool.subjects.values(), default=0.0)
        if is_alone and subject >= SUBJECT:
            meant = {self.series[n] for n, share in pool.subjects.items() if share == subject}
            near = {n for n in pool.documents if self.series[n] in meant}
        else:
            near = {n for n, share in about.items() if share >= (ABOUT_LEAST if is_alone else ABOUT_PART)}
        left = [
            one
            for one in pool.sentences
            if one.number in near and (one.held or self._names_topic(one.number) > CONTEXT_OF_NAME)
        ]
        telling = {one: _telling(one) for one in left}
        kept = _Kept(budget, told)
        before = len(kept.units)
        first = None
        while left:

            def worth(one: Sentence) -> float:
                own = sum(pool.weights[place] * FADING ** counts[place] for place in one.own)
                around = sum(
                    pool.weights[place] * FADING ** counts[place] for place in one.around - pool.titled(one.number)
                )
                found = (
                    (own + 0.6 * around)
                    * (1 - TELLING + TELLING * telling[one])
                    * (1 - ABOUT + ABOUT * about[one.number])
                )
                found += NAMED_TOPIC * self._names_topic(one.number) * telling[one] * FRESH ** per[one.number]
                found *= 0.4 if one.text in pool.furniture else 1
                return found + 0.5 * self.shifts[one.number] - PLACE * min(one.place, 20)

            best = max(left, key=worth)
            value = worth(best)
            first = value if first is None else first
            if value <= LEAST or value < LEAST_SHARE * first:
                break
            left.remove(best)
            if kept.add([best]):
                if self.times:
                    kept.add(self._other_editions(best, ()))
                per[best.number] += 1
                for place in best.tells:
                    counts[place] += 1
                for place in best.around - pool.titled(best.number):
                    counts[place] += FADING_ABOVE
            elif kept.words > 0.8 * budget:
                break
        return _by_document(kept.units[before:])

    def _names_topic(self, number: int) -> float:
        titled = self.pool.titled(number)
        own = {place for place in titled if place < self.pool.own_count}
        weights = self.pool.weights
        of_own = sum(weights[: self.pool.own_count]) or 1.0
        of_context = sum(weights[self.pool.own_count :]) or 1.0
        found = OF_NAME * sum(weights[place] for place in own) / of_own
        return found + CONTEXT_OF_NAME * sum(weights[place] for place in titled - own) / of_context


class _Kept:
    """Units that are taken as long as there is room, none twice."""

    def __init__(self, budget: int, already: Iterable[Sentence] = ()) -> None:
        self.units = [*already]
        self.words = 0
        self._budget = budget

    def add(self, units: Iterable[Sentence]) -> bool:
        """Take those that fit and are new; returns whether any was taken."""
        before = len(self.units)
        for one in units:
            if self.words + one.unit.words <= self._budget and not any(
                _says_the_same(one, other) for other in self.units
            ):
                self.units.append(one)
                self.words += one.unit.words
        return len(self.units) > before


def _says_the_same(one: Sentence, other: Sentence) -> bool:
    if one.text == other.text:
        return True
    first, second = set(tokens(one.text)), set(tokens(other.text))
    alike = len(first & second) > 0.85 * min(len(first), len(second)) and abs(len(first) - len(second)) <= 3
    return alike and _figures(one.text) == _figures(other.text)


def _telling(one: Sentence) -> float:
    """How much a unit tells: figures, and names that do not only begin it."""
    has_name = any(" " in name or not one.text.startswith(name) for name in names(one.text))
    return OF_FIGURE * bool(re.search(r"\d", one.text)) + (1 - OF_FIGURE) * has_name


def _figures(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\d[\d.,:]*", text))


def _shape(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in tokens(text) if not word.isdigit())


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _by_document(units: Sequence[Sentence]) -> list[Sentence]:
    order = list(dict.fromkeys(one.number for one in units))
    return sorted(units, key=lambda one: (order.index(one.number), one.place))
