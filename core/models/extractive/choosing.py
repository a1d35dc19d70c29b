"""Chooses what to quote: weighs the units of documents for one part of a request, and fills its length.

Every weight is a share of the request: 1 is a unit that holds all its words. What each mechanism gains stands in
`docs/decisions/quoting.md`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import NamedTuple

from ...evidence.language import IN_QUESTION, IN_TEXT, Threshold, language_by_words
from ...evidence.standing import asks_for_draft
from ...evidence.text.similarity import mentions, rarity, subject_of
from ...evidence.text.stems import QuestionWords, bare, sought_words
from ...evidence.text.words import GENERIC_WORDS, dates_in, names, stem, sure_month_names, tokens
from ..request import Document
from .parts import Part, content_words
from .units import Unit, points_back, units_of

FEWEST_LETTERS, ALIKE = 5, 0.8
"""Letters and likeness from which on a word that stands nowhere is taken for another spelling of one that does."""
CONTEXT = {True: 0.25, False: 0.4}
"""Weight of a word that only says what a question (true) or a topic (false) is about."""
ABOVE = 0.85
"""Weight of a word that stands above a unit: in its heading or lead, or in its document's title or path."""
UNSEEN = 0.5
"""Weight of a word that no unit holds: the documents may put it otherwise."""
RANK, RANKS = 0.4, 8
"""Bonus of the document that the search showed first, and the rank from which on there is none."""
FIGURE = 0.1
"""Bonus of a unit with a figure."""
OLDER = 0.5
"""Cost of a document that is not in force, or of which another edition is meant."""
LONG = 0.002
"""Cost of each word of a unit."""
FADING = 0.4
"""Share of its weight that a word keeps each time the same document repeats it; in a chain, any document."""
LEADING_UNITS = 2
"""Units that stand first, whatever their document."""
CHAIN = 4
"""Units that are chosen as a chain, for what each adds and how names lead from one to the next."""
TITLE, SHARED, UNRELATED = 0.25, 0.2, -0.2
"""Bonus of a unit if it or its document names the other one's, or if both hold a rare name; the cost if neither."""
NEAR, LEAST = 0.4, 0.1
"""Share of the best unit's worth below which nothing more is quoted for a question, and for a topic."""
OF_BEST = 0.5
"""Share of the best unit's words that one of a further document must hold to belong to the same answer."""
LEADING, OF_LEADING = 8, 3
"""Documents that the search showed first which may add to a chain, and units of each."""
LITTLE, ABSENT = 0.34, 0.45
"""A question is not answered if no chosen unit holds more of its words, and no unit at all holds so many of them."""
_APART = re.compile(r"[/_\-.]+")


class Sentence(NamedTuple):
    """A unit of a document."""

    number: int
    """Number of the document."""
    place: int
    """Its place among the units of the document."""
    unit: Unit

    @property
    def text(self) -> str:
        """Its text."""
        return self.unit.text


class Chooser:
    """Weighs the units of documents for one part of a request, and chooses among them."""

    def __init__(self, documents: Sequence[Document], part: Part) -> None:
        """Take the documents in the order in which the search showed them."""
        self._part, self._documents = part, {one.number: one for one in documents}
        # A short topic may be a single word that other requests are made of, as "research".
        own = content_words(part.text, GENERIC_WORDS if part.is_question else frozenset())
        self._words = {**content_words(part.context), **own} or {stem(one): one for one in tokens(part.text)}
        self._own = frozenset(own or self._words)
        self._languages = {one.number: _language(" ".join(one.texts)[:4000], IN_TEXT) for one in documents}
        self._language = _language(part.text, IN_QUESTION)
        self._inflections = QuestionWords(self._words.values())
        self._spelt = self._other_spellings()
        self.sentences = [one for document in documents for one in _sentences(document)]
        self._titled = {one.number: self._held(_name_of(one), one.number) for one in documents}
        self._in = {one: self._held(" ".join((one.text, *one.unit.header)), one.number) for one in self.sentences}
        self._above = {one: self._held_above(one) - self._in[one] for one in self.sentences}
        self._counts = Counter(word for one in self.sentences for word in self._in[one] | self._above[one])
        self._weights = self._weighed()
        self._names: dict[Sentence, frozenset[str]] = {}
        self._older = older_editions(documents, f"{part.text} {part.context}")
        self._chain: tuple[Sentence, ...] = ()
        self._named = {one.number for one in documents if mentions(part.text, subject_of(one.title))}
        self._standing = {
            one.number: RANK * max(0.0, 1 - rank / RANKS) - OLDER * (one.number in self._older)
            for rank, one in enumerate(documents)
        }

    def answer(self, budget: int) -> list[Sentence]:
        """Return units that answer a question in at most `budget` words: a chain, then what answers it as well."""
        kept = _Kept(budget)
        self._fill(kept, NEAR, most=CHAIN)
        self._chain = tuple(kept.units)
        self._fill(kept, NEAR)
        return self._in_order(kept.units)

    def topic(self, budget: int) -> list[Sentence]:
        """Return the units that tell most about a topic in at most `budget` words."""
        kept = _Kept(budget)
        self._fill(kept, LEAST)
        return self._in_order(kept.units)

    def one_of_each(self, budget: int) -> list[Sentence]:
        """Return the best short unit of each document, in the order in which the search showed them."""
        most = 1.25 * budget / max(1, len(self._documents))
        best: dict[int, Sentence] = {}
        for one in sorted(self.sentences, key=lambda one: (one.unit.words > most, -self._worth(one, Counter()))):
            best.setdefault(one.number, one)
        return [best[number] for number in self._documents if number in best]

    def further(self, chosen: Sequence[Sentence], budget: int) -> list[Sentence]:
        """Return what the documents that the search showed first add, if names lead through the chain."""
        if len({one.number for one in self._chain}) < 2:
            return []
        kept = _Kept(budget, chosen)
        for number, _ in product([*self._documents][:LEADING], range(OF_LEADING)):
            told = self._told(kept.units)
            others = [one for one in chosen if one.number != number]
            own = [one for one in self.sentences if one.number == number and one not in kept.units]
            if sum(one.number == number for one in kept.units) < OF_LEADING and own:
                best = max(own, key=lambda one: self._worth(one, told) + self._link(one, others))
                if len(others) < len(chosen) or self._link(best, others) > 0:
                    kept.add(best)
        return kept.units[len(chosen) :]

    def missing(self, chosen: Sequence[Sentence]) -> list[str]:
        """Return the names that stand in no document, or the part if nothing answers it; empty if it may be."""
        text = self._part.text
        if not chosen:
            return [text]
        spoken = {self._languages[one.number] for one in chosen} - {""}
        if self._language and spoken and self._language not in spoken:
            # Words of one language are not missed in another.
            return []
        named = [name for name in names(text) if self._is_sure(name)]
        if absent := [name for name in named if self._is_absent(name)]:
            return absent
        if self._part.context:
            # What one of several questions lacks in words, the others may have named.
            return []
        in_names = {stem(word) for name in named for word in tokens(name) if self._counts[stem(word)]}
        plain = self._own - in_names
        held = [self._in[one] | self._above[one] for one in chosen]
        # What is said of somebody else is no answer.
        best = max((len(words & plain) for words in held if words >= in_names), default=0)
        unseen = sum(not self._counts[word] for word in plain)
        is_missing = len(plain) > 1 and best <= LITTLE * len(plain) and unseen >= ABSENT * len(plain)
        return [text] if is_missing else []

    def open_words(self, one: Sentence) -> list[str]:
        """Return the words of the part that a unit does not hold."""
        held = self._in[one] | self._above[one]
        return [word for own, word in self._words.items() if own in self._own - held]

    def names_in(self, one: Sentence) -> frozenset[str]:
        """Return the names in a unit and the subject of its document, in plain words, without those of the request."""
        if one not in self._names:
            told = map(tokens, (*names(one.text), subject_of(self._documents[one.number].title)))
            known = {*tokens(self._part.text)}
            self._names[one] = frozenset(" ".join(words) for words in told if not known.issuperset(words))
        return self._names[one]

    def _fill(self, kept: _Kept, least: float, most: int = 0) -> None:
        """Add the units that are worth most beside those that are kept; a chain of `most`, or as many as fit."""
        about = {one.number for one in self.sentences if (self._in[one] | self._above[one]) & self._own}
        left = [one for one in self.sentences if self._in[one] | self._above[one] and one not in kept.units]
        if not self._part.is_question:
            # What only bears on the rest of the request belongs to another topic, if any document knows this one.
            left = [one for one in left if one.number in about or not about]
        # A topic among others rests on what they are all about.
        is_one_of_many = bool(self._part.context) and not self._part.is_question
        fewest = OF_BEST * max(map(self._share, self.sentences), default=0.0)
        first = max((self._worth(one, Counter()) for one in kept.units), default=0.0)
        while left and (not most or len(kept.units) < most):
            told = self._told(kept.units, anywhere=most > 0)
            worth = {one: self._worth(one, told) for one in left}
            if self._part.is_question:
                worth = {one: value + self._link(one, kept.units) for one, value in worth.items()}
            best = max(left, key=worth.__getitem__)
            first = first or worth[best]
            if worth[best] < least * first:
                return
            left.remove(best)
            is_of_same_text = not best.unit.cells and any(one.number == best.number for one in kept.units)
            has_to_do = is_of_same_text or best.number in self._named or self._share(best) >= fewest
            if has_to_do or is_one_of_many or (most and self._link(best, kept.units) > 0):
                kept.add(best, *([] if kept.units else self._neighbours(best)))

    def _told(self, units: Sequence[Sentence], *, anywhere: bool = False) -> Counter[tuple[int, str]]:
        """Count the words that units hold, by document, or with 0 in its place."""
        return Counter(
            (0 if anywhere else one.number, word) for one in units for word in self._in[one] | self._above[one]
        )

    def _worth(self, one: Sentence, told: Counter[tuple[int, str]]) -> float:
        """Return what a unit is worth beside what has been told."""
        fading = {word: FADING ** (told[0, word] + told[one.number, word]) for word in self._in[one] | self._above[one]}
        worth = sum(self._weights[word] * fading[word] * (1 if word in self._in[one] else ABOVE) for word in fading)
        worth += self._standing[one.number] - LONG * one.unit.words
        return worth + FIGURE * any(map(str.isdigit, one.text))

    def _share(self, one: Sentence) -> float:
        """Return the share of the request that a unit holds by its words."""
        weights = self._weights
        return sum(weights[word] for word in self._in[one]) + ABOVE * sum(weights[word] for word in self._above[one])

    def _weighed(self) -> dict[str, float]:
        """Return the weight of each word of the request, by how rare it is among the units; together they are 1."""
        found = {word: rarity(len(self.sentences) + 1, self._counts[word]) for word in self._words}
        scale = {word: 1 if word in self._own else CONTEXT[self._part.is_question] for word in found}
        found = {word: value * scale[word] * (1 if self._counts[word] else UNSEEN) for word, value in found.items()}
        whole = sum(found.values()) or 1.0
        return {word: value / whole for word, value in found.items()}

    def _held(self, text: str, number: int) -> frozenset[str]:
        """Return the words of the request that a text of this document holds."""
        found = self._inflections.stems(text, self._languages[number])
        return frozenset(self._spelt.get(word, word) for word in found) & self._words.keys()

    def _held_above(self, one: Sentence) -> frozenset[str]:
        meant = one.unit.before if points_back(one.text) else ""
        language = self._languages[one.number]
        if self._language and language and language != self._language:
            # Only names and numbers meet across languages: a document that holds them may answer in any unit.
            meant = " ".join(self._documents[one.number].texts)
        return self._held(f"{one.unit.heading} {one.unit.lead} {meant}", one.number) | self._titled[one.number]

    def _other_spellings(self) -> dict[str, str]:
        """Return the words of the documents that stand for a word of the request that they do not hold as it is."""
        texts = [text for one in self._documents.values() for text in (_name_of(one), *one.texts)]
        written = sorted({word for text in texts for word in tokens(text) if word.isalpha()})
        known = {stem(word) for word in written}
        found: dict[str, str] = {}
        for own, word in self._words.items():
            if own not in known and len(word) >= FEWEST_LETTERS and word.isalpha():
                alike = difflib.get_close_matches(bare(word), written, n=1, cutoff=ALIKE)
                found.update((stem(other), own) for other in alike)
        return found

    def _neighbours(self, one: Sentence) -> list[Sentence]:
        """Return the section of a unit if the request names its heading; else the sentence that goes on from it."""
        own = [other for other in self.sentences if other.number == one.number and not other.unit.cells]
        section = [other for other in own if other.unit.heading == one.unit.heading]
        if self._is_headed(one):
            return section
        return [other for other in section if other.place == one.place + 1 and other.unit.before]

    def _is_headed(self, one: Sentence) -> bool:
        heading = one.unit.heading.rpartition(" › ")[2]
        words = content_words(heading) if heading != self._documents[one.number].title else {}
        return bool(words) and not one.unit.cells and self._words.keys() >= words.keys()

    def _in_order(self, units: Sequence[Sentence]) -> list[Sentence]:
        """Return the best units or the section of the best one, then the others document by document.

        What is outdated comes last, the newest of it first.
        """
        numbers = dict.fromkeys(one.number for one in units)
        dates = {number: self._documents[number].date for number in numbers}
        order = sorted(numbers, key=lambda number: dates[number] if number in self._older else "", reverse=True)
        lead = [*units[:LEADING_UNITS]]
        if lead and self._is_headed(lead[0]):
            section = [one for one in units if one.unit.heading == lead[0].unit.heading]
            lead = sorted(section, key=lambda one: (one.number, one.place))
        places = {one: place for place, one in enumerate(lead)}
        return sorted(
            units,
            key=lambda one: (
                one.number in self._older,
                places.get(one, len(lead)),
                order.index(one.number),
                one.place,
            ),
        )

    def _link(self, one: Sentence, before: Sequence[Sentence]) -> float:
        """Return how names lead from units of other documents to this one."""
        if not before or any(other.number == one.number for other in before):
            return 0.0
        return max(self._tie(one, other) for other in before)

    def _tie(self, one: Sentence, other: Sentence) -> float:
        titles = ((one.text, other.number), (other.text, one.number))
        if any(mentions(text, subject_of(self._documents[number].title)) for text, number in titles):
            return TITLE
        size, shared = len(self._documents), self.names_in(one) & self.names_in(other)
        telling = (math.log(size / self._holders[name]) / math.log(max(2, size / 2)) for name in shared)
        return max([UNRELATED, *(SHARED * min(1.0, value) for value in telling if value > SHARED)])

    @cached_property
    def _holders(self) -> Counter[str]:
        """In how many documents each name stands."""
        return Counter(
            name for name, _ in {(name, one.number) for one in self.sentences for name in self.names_in(one)}
        )

    def _is_sure(self, name: str) -> bool:
        """Whether capitals tell a name: not at the beginning of the part, nor in German, which writes all nouns so."""
        is_plain = " " not in name and name.replace("-", "").isalpha()
        return not (is_plain and (self._language == "de" or self._part.text.lstrip("\"'“„(¿¡").startswith(name)))

    def _is_absent(self, name: str) -> bool:
        """Whether no unit holds the words of a name together with what stands above it; of a long one, two thirds."""
        telling = {stem(word) for part in name.split() if not part.islower() for word in tokens(part)}
        telling &= self._words.keys()
        most = max((len(telling & (self._in[one] | self._above[one])) for one in self.sentences), default=0)
        return most < len(telling) if len(telling) < 3 else 3 * most < 2 * len(telling)


class _Kept:
    """Units that are taken as long as there is room, none twice."""

    def __init__(self, budget: int, already: Sequence[Sentence] = ()) -> None:
        self.units = [*already]
        self._left = budget
        self._said = {_words_in(one) for one in already}

    def add(self, *units: Sentence) -> None:
        """Take the units that fit and that differ from the others by more than case, spaces and punctuation."""
        for one in units:
            if one.unit.words <= self._left and _words_in(one) not in self._said:
                self._left -= one.unit.words
                self._said.add(_words_in(one))
                self.units.append(one)


def _words_in(one: Sentence) -> str:
    return " ".join(tokens(one.text))


def older_editions(documents: Sequence[Document], request: str) -> frozenset[int]:
    """Return the documents that are not in force, and the editions that are not meant.

    Editions have like names, or the same lines but for figures. The one of the time that is named is meant, or the
    newest.
    """
    times = [date.iso for date in dates_in(request)]
    dated = [one for one in documents if one.date]
    meant = {
        one.number for one in dated if any(one.date.startswith(time) or time.startswith(one.date) for time in times)
    }
    found = {one.number for one in documents if not (one.is_in_force or asks_for_draft(request))}
    looks = {one.number: (_name_words(one), _lines_with_figures(one)) for one in dated}
    for one, other in product(dated, dated):
        length = min(len(one.date), len(other.date))
        is_passed_over = other.number in meant or one.date[:length] < other.date[:length]
        if is_passed_over and one.number not in meant:
            (named, lines), (other_named, other_lines) = looks[one.number], looks[other.number]
            same = len(lines & other_lines)
            is_alike = any(_are_alike(*pair) for pair in zip(named, other_named, strict=True))
            if is_alike or same > max(2, 0.4 * min(len(lines), len(other_lines))):
                found.add(one.number)
    return frozenset(found)


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return one == other != frozenset() or 1 < len(one & other) >= 0.5 * len(one | other)


def _name_words(document: Document) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a document's file name and title, without numbers and months."""
    file = document.address.rpartition("/")[2].rpartition(".")[0]
    first, second = (
        frozenset(word for word in tokens(_APART.sub(" ", text)) if word.isalpha() and word not in sure_month_names())
        for text in (file, document.title)
    )
    return first, second


def _lines_with_figures(document: Document) -> frozenset[str]:
    lines = (line.strip().lower() for text in document.texts for line in re.split(r"[\n;|]|\. ", text))
    return frozenset(re.sub(r"\d+", "0", line) for line in lines if len(line) > 12 and re.search(r"\d", line))


def _sentences(document: Document) -> Iterator[Sentence]:
    title = document.title.strip(" .")
    units = dict.fromkeys(unit for text in document.texts for unit in units_of(text))
    found = enumerate(units)
    return (Sentence(document.number, place, unit) for place, unit in found if unit.text.strip(" .") != title)


def _name_of(document: Document) -> str:
    """Return the title and the path of a document, in words; a web address says little in words."""
    path = document.address.partition(":")[2].rpartition(".")[0] if "://" not in document.address else ""
    return f"{document.title} {_APART.sub(' ', path)}"


def _language(text: str, lead: Threshold) -> str:
    return language_by_words(sought_words(text), lead)
