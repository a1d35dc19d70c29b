"""Which units answer a part of a request: for a question few that lead to one another, for a topic what tells most.

What each constant gains is told in `docs/decisions/quoting.md`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from ...evidence.language import IN_QUESTION, language_by_words
from ...evidence.standing import asks_for_draft
from ...evidence.text.stems import sought_words
from ...evidence.text.words import dates_in, names, stem, tokens
from .pool import Pool, Sentence, counted_in
from .units import points_back

FEWEST = 2
"""Words of a question, beside the names in it, from which on it can be told that they are not there."""
LITTLE = 0.34
"""Share of them up to which a unit has nothing to do with the question."""
ABSENT = 0.45
"""Share of them that no unit holds at all, from which on they are missing and not only put otherwise."""
SHORT, MOST_OF_NAME = 2, 0.6
"""Words of a name up to which all of them must stand together, and the share of those of a longer one."""
LEAST_TOGETHER = 0.25
"""Share of a question that all that was chosen must hold together."""
CAPITALS = frozenset({"de"})
"""Languages in which capitals do not tell names."""
WIDTH, LENGTH = 12, 4
"""Chains that are kept at each length, and units of the longest."""
ABOVE = 0.7
"""What a word counts that only stands above a unit: in its heading, lead or header, or in its document's title."""
REPEATED = 0.2
"""What a word counts that an earlier unit holds."""
COST = 0.1
"""Share of the request that a further unit must add to be worth reading."""
LINKED = 0.25
"""What it counts that one of two units names the document of the other."""
SHARED_NAME = 0.2
"""The same where both hold a name that few documents do."""
LOOSE = 0.05
"""Worth of such a link up to which two units have nothing to do with each other."""
NAMED = 0.1
"""What it counts, without such a link, that the request names the unit's document."""
UNRELATED = -0.15
"""What it costs that nothing connects a unit with those before it."""
RIGHT = 0.25
"""What it counts that the last unit of a chain holds the kind of thing asked for: as much as a link."""
POINTS_BACK = 0.05
"""What it costs that a unit begins with a pronoun, so that another one has to be read first."""
LONG = 0.001
"""What each of its words costs."""
PLACE = 0.004
"""What each unit before it in its document costs, up to `PLACES` of them."""
PLACES = 10
RANK, RANKS = 0.3, 8
"""What it counts that the search showed its document first, and the place from which on it counts nothing."""
TITLED = 0.1
"""What it counts that the request holds all words of its document's title."""
HEADED = 0.15
"""The same for the words of the heading that it stands below."""
OLDER = -0.2
"""What it costs that a document is of another time than is asked for, or says that it is not in force."""
RECENT = 0.06
"""What the newest of all documents gains over those without a date, where a topic names no time."""
EQUAL = 0.9
"""Share of what the best unit is worth from which on the one of the newest document stands first."""
NEAR = 0.75
"""Share of what the best unit is worth from which on another one answers as well."""
OF_CHAIN = 1.5
"""How many times as many words as the answer a chain may have: one that lacks a link leads nowhere."""
LEADING, OF_LEADING = 5, 2
"""Documents that the search showed first, which may say what a chain leaves out; and units of each of them."""
KEEP = 0.6
"""Share of what the best unit is worth from which on one of a chain needs no link to another document."""
LEAST_FURTHER = 0.3
"""Worth from which on it is said."""
SAME_STATEMENT = 0.4
"""Likeness of two units, figures left out, from which on they say the same of different times."""
FEWEST_SAME, SAME = 3, 0.75
"""The same for the words that they share: at least so many, and this share of the shorter one's."""
MOST_TIMES = 2
"""Documents that are quoted beside a statement because they say the same with other figures."""
FADING = 0.5
"""What a word of a topic counts each further time."""
OF_NAME, OF_CONTEXT = 0.56, 0.24
"""What it counts that a document's title and path hold the words of a topic, and those of what it is about."""
OF_FIGURE = 0.6
"""How much of what such a document's unit tells hangs on figures; the rest hangs on names."""
SUBJECT = 0.6
"""Share of the words of a title from which on a request that asks for one thing asks for that document."""
ENTITLED = 0.3
"""Share of such a request that the title and path must hold in turn."""
ABOUT = 0.6
"""Share of the request that a document must hold, compared with the best one, to tell of what it asks for alone."""
OF_SHARE = 1.25
"""How many times its share of the words a unit may have where each document is quoted once."""
LEAST_SHARE, LEAST = 0.1, 0.05
"""Worth of a unit, compared with the first one and by itself, below which a topic has been told."""


def missing_in(pool: Pool, chosen: Sequence[Sentence]) -> list[str]:
    """Return the names in a question of which the documents hold nothing; or else the question, if nothing answers it.

    An empty list means that what was chosen may well be the answer.
    """
    if not chosen:
        return [pool.asked]
    language = language_by_words(sought_words(pool.asked), IN_QUESTION)
    if language and language not in {pool.language_of(one.number) for one in chosen}:
        # Words of one language are not missed in another.
        return []
    if pool.weight(frozenset[int]().union(*(one.held for one in chosen))) < LEAST_TOGETHER:
        return [pool.asked]
    named = [*_names(pool, language)]
    absent = [name for name in named if _is_absent(pool, name)]
    if absent:
        return absent
    in_names = {word for name in named for word in tokens(name)}
    told = [place for place, word in enumerate(pool.words[: pool.own_count]) if not in_names.issuperset(tokens(word))]
    if told and pool.context and pool.kind == "number" and not any(one.held & {*told} for one in chosen):
        # Something may be told in other words, but an amount without a word for it is one of something else.
        return [pool.asked]
    if len(told) < FEWEST:
        return []
    best = max(len(one.held & {*told}) for one in chosen) / len(told)
    is_about = any(" " in name and any(_holds(pool, one, name) for one in chosen) for name in named)
    if best and is_about:
        # What is said of the name itself may be worded otherwise.
        return []
    unseen = [place for place in told if not pool.counts[place]]
    is_uncounted = any(pool.words[place] == counted_in(pool.asked) for place in unseen)
    is_missing = best <= LITTLE and len(unseen) >= ABSENT * len(told)
    return [pool.asked] if is_missing or is_uncounted else []


def _names(pool: Pool, language: str) -> Iterator[str]:
    """Return the names in a question, but no single word that begins it, nor any where all nouns have capitals."""
    begins = re.sub(r"^\W+", "", pool.asked)
    for name in pool.names:
        is_plain = " " not in name and name.replace("-", "").isalpha()
        if not (is_plain and (language in CAPITALS or begins.startswith(name))):
            yield name


def _places(pool: Pool, name: str) -> list[int]:
    """Return the places of the words that set it apart from others: those with capitals or figures."""
    telling = {word for part in name.split() if not part.islower() for word in tokens(part)}
    return [place for place, word in enumerate(pool.words) if not telling.isdisjoint(tokens(word))]


def _is_absent(pool: Pool, name: str) -> bool:
    """Whether no unit holds its words together, with what stands above it: most of them, if it has more than two."""
    places = frozenset(_places(pool, name))
    least = len(places) if len(places) <= SHORT else MOST_OF_NAME * len(places)
    return bool(places) and not any(len(places & one.held) >= least for one in pool.sentences)


def _holds(pool: Pool, one: Sentence, name: str) -> bool:
    return one.held.issuperset(_places(pool, name))


class Chooser:
    """Chooses units of a pool."""

    def __init__(self, pool: Pool, *, is_topic: bool = False) -> None:
        """Take the units; for a topic that names a time, all that has happened since is meant."""
        self.pool = pool
        asked = f"{pool.asked} {pool.context}"
        self._times = [date.iso for date in dates_in(asked)]
        self._shifts = self._weighed_standing(asked, is_topic=is_topic)
        self._ranks = {number: RANK * max(0.0, 1 - place / RANKS) for place, number in enumerate(pool.documents)}

    def answer(self, budget: int, near: int = 6) -> list[Sentence]:
        """Return the units that answer a question, in at most `budget` words: a chain, and others that say as much."""
        worth = self._worths
        if not worth:
            return []
        least = NEAR * max(worth.values())
        close = sorted((one for one in worth if worth[one] >= least), key=lambda one: -worth[one])
        kept = _Kept(int(OF_CHAIN * budget))
        kept.add(sorted(self._firm_chain, key=lambda one: -worth[one]))
        kept.limit(budget)
        kept.add(close[:near])
        first = self._newest([one for one in kept.units if worth[one] >= EQUAL * worth[kept.units[0]]])
        kept.units.sort(key=lambda one: one is not first)
        section = self._section_of(first)
        kept.add(section)
        chosen = sorted(_by_document(kept.units), key=lambda one: one not in (first, *section))
        for one in kept.units[:3]:
            kept.add(self._of_other_times(one, kept.units))
        return [*chosen, *(one for one in kept.units if one not in chosen)]

    def further(self, chosen: Sequence[Sentence], budget: int) -> list[Sentence]:
        """Return what documents that the search showed first add, if the chain leads over several documents."""
        kept = _Kept(budget, chosen)
        if len({one.number for one in self._firm_chain}) < 2:
            return []
        for number in [*self.pool.documents][:LEADING]:
            for _ in range(OF_LEADING - sum(one.number == number for one in kept.units)):
                kept.add(self._best_addition(number, chosen, kept.units))
        return kept.units[len(chosen) :]

    @cached_property
    def chain(self) -> list[Sentence]:
        """The few units that together serve a question best, each for what it adds to those before it."""
        best: tuple[float, tuple[Sentence, ...]] = (0.0, ())
        beam = [best]
        for _ in range(LENGTH):
            longer = [
                (worth + value, (*chain, one)) for worth, chain in beam for one, value in self._continuations(chain)
            ]
            beam = sorted(longer, key=lambda pair: -_ended(pair))[:WIDTH]
            best = max([best, *((_ended(pair), pair[1]) for pair in beam[:1])], key=lambda pair: pair[0])
        return [*best[1]]

    def topic(self, budget: int, *, is_alone: bool) -> list[Sentence]:
        """Return the units that say most about a topic, each for what it adds, in at most `budget` words; by documents.

        If it `is_alone`, nothing else is asked for, so that it may ask for a document by its title.
        """
        told = Counter[int]()
        kept, first = _Kept(budget), 0.0
        left = self._speaking(is_alone=is_alone)
        while left:
            best = max(left, key=lambda one: self._worth_of_topic(one, told))
            worth = self._worth_of_topic(best, told)
            first = first or worth
            if worth <= max(LEAST, LEAST_SHARE * first) or kept.is_full:
                break
            left.remove(best)
            if kept.add([best]):
                told.update((*best.tells, *self._above(best)))
                if self._times:
                    kept.add(self._of_other_times(best, ()))
        return _by_document(kept.units)

    def one_of_each(self, budget: int) -> list[Sentence]:
        """Return the best unit of each document, in the order in which the search showed them."""
        kept = _Kept(budget)
        most = OF_SHARE * budget / max(1, len(self.pool.documents))
        for number in self.pool.documents:
            own = [one for one in self.pool.sentences if one.number == number and one.held]
            kept.add(sorted(own, key=lambda one: (one.unit.words > most, -self._fit(one, frozenset())))[:1])
        return kept.units

    @cached_property
    def _worths(self) -> dict[Sentence, float]:
        """Return the worth of each unit by itself that holds a word of the request, or is in the chain."""
        return {one: self._worth(one) for one in self.pool.sentences if one.held or one in self.chain}

    @cached_property
    def _firm_chain(self) -> list[Sentence]:
        """The chain without what is worth little and has nothing to do with the other documents in it."""
        least = KEEP * max(self._worths.values(), default=0.0)
        return [one for one in self.chain if self._worths[one] >= least or self._is_linked(one, self.chain)]

    def _newest(self, units: Sequence[Sentence]) -> Sentence:
        """Return the first unit; if no time is asked for and every document has a date, the newest document's."""
        dates = [self.pool.documents[one.number].date for one in units]
        return units[0] if self._times or "" in dates else units[dates.index(max(dates))]

    def _section_of(self, first: Sentence) -> list[Sentence]:
        """Return what stands with a unit below the heading that is asked for."""
        if not self.pool.is_headed(first):
            return []
        own = (one for one in self.pool.sentences if one.number == first.number and not one.unit.cells)
        return [one for one in own if one.unit.heading == first.unit.heading]

    def _weighed_standing(self, asked: str, *, is_topic: bool) -> dict[int, float]:
        """Return what each document gains or loses by its date and by what it says of its standing."""
        documents, asks_draft = self.pool.documents.values(), asks_for_draft(asked)
        dates = sorted({one.date for one in documents if one.date})
        found: dict[int, float] = {}
        for one in documents:
            is_meant = any(_agree(one.date, time) for time in self._times)
            if is_topic and self._times:
                is_meant = is_meant or one.date[:4] >= min(self._times)[:4]
            is_of_other_time = bool(self._times and one.date) and not is_meant
            found[one.number] = OLDER * (is_of_other_time + (not one.is_in_force and not asks_draft))
            if is_topic and not self._times and one.date:
                found[one.number] += RECENT * dates.index(one.date) / len(dates)
        return found

    def _shift(self, one: Sentence) -> float:
        return self._shifts[one.number] + OLDER * (one in self._outdated)

    @cached_property
    def _outdated(self) -> frozenset[Sentence]:
        """The units of which a newer document says the same with other figures; none if the request names a time."""
        dates = {number: one.date for number, one in self.pool.documents.items() if one.is_in_force}
        telling = [one for one in self.pool.sentences if dates.get(one.number) and one.held and _figures(one.text)]
        return frozenset(
            one
            for one in telling
            for other in telling
            if not self._times and dates[other.number] > dates[one.number] and _is_same_statement(one.text, other.text)
        )

    def _continuations(self, chain: Sequence[Sentence]) -> Iterator[tuple[Sentence, float]]:
        """Yield the units that may go on a chain, with what each adds to its worth."""
        known = frozenset[int]().union(*(one.held for one in chain))
        numbers = {one.number for one in chain}
        for one in self.pool.sentences:
            relation = self._relation(one, chain)
            told = one.held - self.pool.titled(one.number)
            is_of_subject = not chain and one.own and self.pool.subjects[one.number] >= SUBJECT
            has_to_do = told or (one.is_right and relation > 0) or is_of_subject
            is_stray = chain and relation <= 0 and one.number not in numbers and len(told) < 2
            if has_to_do and not is_stray and one not in chain:
                worth = self._fit(one, known) + relation + self._standing(one)
                yield one, worth + (0.0 if chain else TITLED * self.pool.subjects[one.number])

    def _fit(self, one: Sentence, known: frozenset[int]) -> float:
        weight = self.pool.weight
        above = one.held - one.tells
        worth = weight(one.tells - known) + ABOVE * weight(above - known) + REPEATED * weight(one.held & known)
        worth -= LONG * one.unit.words
        return worth - COST - PLACE * min(one.place, PLACES) - POINTS_BACK * points_back(one.text)

    def _standing(self, one: Sentence) -> float:
        return self._shift(one) + self._ranks[one.number] + HEADED * self.pool.is_headed(one)

    def _worth(self, one: Sentence) -> float:
        """Return what a unit is worth by itself."""
        worth = self._fit(one, frozenset()) + self._standing(one) + RIGHT * one.is_right / 2
        return worth + TITLED * self.pool.subjects[one.number]

    def _relation(self, one: Sentence, before: Sequence[Sentence]) -> float:
        pool = self.pool
        if any(earlier.number == one.number for earlier in before):
            return 0.0
        if any(one.number in pool.mentioned(other) or other.number in pool.mentioned(one) for other in before):
            return LINKED
        shared = {name for earlier in before for name in pool.names_in(earlier) & pool.names_in(one)}
        firmest = SHARED_NAME * max(map(self._tells, shared), default=0.0)
        if firmest > LOOSE:
            return firmest
        return NAMED if one.number in pool.named else UNRELATED * bool(before)

    def _is_linked(self, one: Sentence, chain: Sequence[Sentence]) -> bool:
        return self._relation(one, [other for other in chain if other.number != one.number]) > 0

    def _tells(self, name: str) -> float:
        """Return how distinctive a name is, from 0 if all documents hold it to 1."""
        size = len(self.pool.documents)
        return min(1.0, math.log(size / self.pool.name_counts[name]) / math.log(max(2, size / 2)))

    def _best_addition(self, number: int, chain: Sequence[Sentence], kept: Sequence[Sentence]) -> list[Sentence]:
        known = frozenset[int]().union(*(one.held for one in kept))
        others = [one for one in chain if one.number != number]
        is_in_chain = len(others) < len(chain)
        found = []
        for one in self.pool.sentences:
            if one.number == number and one not in kept:
                relation = self._relation(one, others)
                if is_in_chain or relation > LOOSE:
                    found.append((self._worth(one) + relation + self.pool.weight(one.held - known) / 6, one))
        best = max(found, key=lambda pair: pair[0], default=(0.0, None))
        return [best[1]] if best[1] and best[0] > LEAST_FURTHER else []

    def _of_other_times(self, one: Sentence, chosen: Sequence[Sentence]) -> list[Sentence]:
        """Return where other documents say the same with other figures, the newest first."""
        taken = {one.number, *(other.number for other in chosen)}
        found: dict[int, Sentence] = {}
        for other in self.pool.sentences:
            if other.number not in taken and _is_same_statement(one.text, other.text):
                best = found.setdefault(other.number, other)
                found[other.number] = max(best, other, key=lambda like: _likeness(one.text, like.text))
        ordered = sorted(found, key=lambda number: self.pool.documents[number].date, reverse=True)
        return [found[number] for number in ordered[:MOST_TIMES]]

    def _speaking(self, *, is_alone: bool) -> list[Sentence]:
        """Return the units of the documents that are about the topic."""
        pool = self.pool
        numbers = set(pool.documents)
        titled = {n: one for n, one in pool.subjects.items() if pool.weight(pool.titled(n)) >= ENTITLED}
        subject = max(titled.values(), default=0.0)
        if is_alone and subject >= SUBJECT:
            numbers = {number for number, share in titled.items() if share == subject}
        elif is_alone:
            numbers = {number for number, share in pool.shares.items() if share >= ABOUT}
        named = {number for number in numbers if self._named(number) > OF_CONTEXT}
        return [one for one in pool.sentences if one.number in numbers and (one.held or one.number in named)]

    def _worth_of_topic(self, one: Sentence, told: Counter[int]) -> float:
        weights = self.pool.weights
        own = sum(weights[place] * FADING ** told[place] for place in one.own)
        above = sum(weights[place] * FADING ** told[place] for place in self._above(one))
        worth = (own + ABOVE * above) * self.pool.shares[one.number] + self._named(one.number) * _telling(one.text)
        return worth + self._shift(one) / 2 - PLACE * min(one.place, 2 * PLACES)

    def _above(self, one: Sentence) -> frozenset[int]:
        return one.around - self.pool.titled(one.number)

    def _named(self, number: int) -> float:
        """Return how far the title and the path of a document hold a topic, and what it is about."""
        titled, count, weights = self.pool.titled(number), self.pool.own_count, self.pool.weights
        own, context = sum(weights[:count]) or 1.0, sum(weights[count:]) or 1.0
        found = OF_NAME * sum(weights[place] for place in titled if place < count) / own
        return found + OF_CONTEXT * sum(weights[place] for place in titled if place >= count) / context


class _Kept:
    """Units that are taken as long as there is room, none twice."""

    def __init__(self, budget: int, already: Iterable[Sentence] = ()) -> None:
        self.units = [*already]
        self._words, self._budget = 0, budget

    @property
    def is_full(self) -> bool:
        """Whether hardly a unit more would fit."""
        return self._words > 0.9 * self._budget

    def limit(self, budget: int) -> None:
        """Allow at most `budget` words from here on."""
        self._budget = budget

    def add(self, units: Iterable[Sentence]) -> bool:
        """Take those that fit and are new; returns whether any was taken."""
        before = len(self.units)
        for one in units:
            has_room = self._words + one.unit.words <= self._budget
            if has_room and not any(_says_the_same(one.text, other.text) for other in self.units):
                self.units.append(one)
                self._words += one.unit.words
        return len(self.units) > before


def _ended(chain: tuple[float, tuple[Sentence, ...]]) -> float:
    """Return what a chain is worth if nothing follows."""
    return chain[0] + RIGHT * chain[1][-1].is_right


def _agree(date: str, time: str) -> bool:
    return bool(date) and (date.startswith(time) or time.startswith(date))


def _says_the_same(one: str, other: str) -> bool:
    first, second = set(tokens(one)), set(tokens(other))
    is_alike = len(first & second) > 0.85 * min(len(first), len(second)) and abs(len(first) - len(second)) <= 3
    return one == other or (is_alike and _figures(one) == _figures(other))


def _telling(text: str) -> float:
    """Return how informative a unit is, from 0 to 1: by figures, and by names other than at its beginning."""
    has_name = any(" " in name or not text.startswith(name) for name in names(text))
    return OF_FIGURE * bool(_figures(text)) + (1 - OF_FIGURE) * has_name


def _figures(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\d[\d.,:]*", text))


def _likeness(one: str, other: str) -> float:
    first, second = _shape(one), _shape(other)
    return len(first & second) / max(1, len(first | second))


def _is_same_statement(one: str, other: str) -> bool:
    """Return whether two units say the same with other figures."""
    first, second = _shape(one), _shape(other)
    shared, fewest = len(first & second), min(len(first), len(second))
    is_alike = shared >= max(FEWEST_SAME, SAME * fewest) or _likeness(one, other) >= SAME_STATEMENT
    return is_alike and _figures(one) != _figures(other)


@lru_cache(maxsize=20_000)
def _shape(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in tokens(text) if not word.isdigit())


def _by_document(units: Sequence[Sentence]) -> list[Sentence]:
    order = list(dict.fromkeys(one.number for one in units))
    return sorted(units, key=lambda one: (order.index(one.number), one.place))
