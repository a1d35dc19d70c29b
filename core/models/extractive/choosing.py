"""Chooses what to quote: weighs the units of documents for one part of a request, and fills its length.

Every weight is a share of the request: 1 is a unit that holds all its words. What each mechanism gains stands in
`docs/decisions/quoting.md`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import product

from ...evidence.language import IN_QUESTION, IN_TEXT, language_by_words
from ...evidence.standing import asks_for_draft
from ...evidence.text.similarity import mentions, rarity, subject_of
from ...evidence.text.stems import QuestionWords, bare, sought_words
from ...evidence.text.words import GENERIC_WORDS, dates_in, names, stem, sure_month_names, tokens
from ..request import ShownDocument
from .parts import PASTED, Part, content_words
from .units import QuotableUnit, units_of

FEWEST_LETTERS, ALIKE = 5, 0.88
"""Letters and likeness from which on a word that stands nowhere is taken for another spelling of one that does."""
CONTEXT = {True: 0.25, False: 0.4}
"""Weight of a word that only says what a question (true) or a topic (false) is about."""
ABOVE, UNSEEN = 0.85, 0.5
"""Weight of a word that stands above a unit (in its heading or lead, or its document's title or path), and in none."""
RANK, RANKS = 0.4, 8
"""Bonus of the document that the search showed first, and the rank from which on there is none."""
FIGURE, LONG, OLDER = 0.1, 0.002, 0.5
"""Bonus for a figure; cost of each word; cost of a document not in force, or of which another edition is meant."""
FADING = 0.4
"""Share of its weight that a word keeps each time the same document repeats it; in a chain, any document."""
CHAIN = 4
"""Units that are chosen as a chain, for what each adds and how names lead from one to the next."""
LEADING_DOCUMENTS, OF_LEADING = 8, 2
"""Documents that the search showed first which may add to a chain, and units of each."""
TITLE, SHARED, UNRELATED = 0.25, 0.2, -0.2
"""Bonus of a unit if it or its document names the other one's, or if both hold a rare name; the cost if neither."""
NEAR, LEAST = 0.4, 0.1
"""Share of the best unit's worth below which nothing more is quoted for a question, and for a topic."""
BEARING, GOING_ON = 0.5, 0.1
"""Share of the best unit's words that a unit must hold to bear on the part, and to go on in an answer's document."""
LITTLE, ABSENT = 0.34, 0.45
"""A question is not answered if no chosen unit holds more of its words, and no unit at all holds so many of them."""
NOTHING = Counter[tuple[int, str]]()
_APART = re.compile(r"[/_\-.]+")


class Chooser:
    """Weighs the units of documents for one part of a request, and chooses among them."""

    def __init__(self, documents: Sequence[ShownDocument], part: Part) -> None:
        """Take the documents in the order in which the search showed them."""
        self._part, self._documents = part, {one.number: one for one in documents}
        # A short topic may be a single word that other requests are made of, as "research".
        own = content_words(part.text, GENERIC_WORDS if part.is_question else frozenset())
        self._words = {**content_words(part.context), **own} or {stem(one): one for one in tokens(part.text)}
        self._own = frozenset(own or self._words)
        self._language = language_by_words(sought_words(part.text), IN_QUESTION)
        self._languages = {
            one.number: language_by_words(sought_words(" ".join(one.texts)[:4000]), IN_TEXT) for one in documents
        }
        self._inflections = QuestionWords(self._words.values())
        self._spelt = self._other_spellings()
        self._subjects = {one.number: subject_of(one.title) for one in documents}
        self._units = [one for document in documents for one in _units_of(document)]
        titled = {one.number: self._held(self._name_of(one), one.number) for one in documents}
        shown = {one: " ".join((one.text, *one.header, one.heading, one.lead, one.meant)) for one in self._units}
        inside = {one: self._held(" ".join((one.text, *one.header)), one.number) for one in self._units}
        self._all = {one: self._held(text, one.number) | titled[one.number] for one, text in shown.items()}
        self._counts = Counter(word for words in self._all.values() for word in words)
        # A word weighs by how rare it is; together they weigh 1.
        weights = {word: rarity(len(self._units) + 1, self._counts[word]) for word in self._words}
        weights |= {word: weights[word] * CONTEXT[part.is_question] for word in weights.keys() - self._own}
        weights |= {word: weights[word] * UNSEEN for word in weights.keys() - self._counts.keys()}
        self._weights = {word: value / (sum(weights.values()) or 1.0) for word, value in weights.items()}
        self._values = {
            one: {word: self._weights[word] * (1 if word in inside[one] else ABOVE) for word in sorted(words)}
            for one, words in self._all.items()
        }
        # One of several topics rests on what they are all about.
        is_one_of_many = bool(part.context) and not part.is_question
        self._most = 0.0 if is_one_of_many else max(map(self._share, self._units), default=0.0)
        self._bearing = {one for one in self._units if self._share(one) >= BEARING * self._most}
        # What only bears on the rest of the request belongs to another topic, if any document knows this one.
        if is_one_of_many and (about := {one.number for one in self._units if self._all[one] & self._own}):
            self._bearing = {one for one in self._bearing if one.number in about}
        self._older = older_editions(documents, f"{part.text} {part.context}")
        self._standing = {
            one.number: RANK * max(0.0, 1 - rank / RANKS) - OLDER * (one.number in self._older)
            for rank, one in enumerate(documents)
        }

    def choose(self, budget: int, further: int) -> tuple[list[QuotableUnit], list[QuotableUnit]]:
        """Return what answers in at most `budget` words, and what leads through the chain, in `further` more."""
        if len(self._part.text.split()) > PASTED:
            return self._one_of_each(budget), []
        kept: list[QuotableUnit] = []
        if self._part.is_question:
            self._fill(kept, budget, NEAR, most=CHAIN)
        is_chain = len({one.number for one in kept}) > 1
        self._fill(kept, budget, NEAR if self._part.is_question else LEAST)
        answer, whole = [*kept], sum(one.words for one in kept) + further
        for number in [*self._documents][: LEADING_DOCUMENTS * is_chain]:
            own = sum(one.number == number for one in kept)
            self._fill(kept, whole, -math.inf, most=len(kept) + OF_LEADING - own, only=number)
        return self._in_order(answer), kept[len(answer) :]

    def _one_of_each(self, budget: int) -> list[QuotableUnit]:
        """Return the best short unit of each document, in the order in which the search showed them."""
        most = 1.25 * budget / max(1, len(self._documents))
        best: dict[int, QuotableUnit] = {}
        for one in sorted(self._all, key=lambda one: (one.words > most, -self._worth(one))):
            best.setdefault(one.number, one)
        return [best[number] for number in self._documents if number in best]

    def missing(self, chosen: Sequence[QuotableUnit]) -> list[str]:
        """Return the names that stand in no document, or the part if nothing answers it; empty if it may be."""
        text = self._part.text
        if not chosen:
            return [text]
        if all(self._speaks_otherwise(one.number) for one in chosen):
            # Words of one language are not missed in another.
            return []
        named = [name for name in names(text) if self._is_sure(name)]
        if absent := [name for name in named if self._is_absent(name)]:
            return absent
        in_names = {stem(word) for name in named for word in tokens(name) if self._counts[stem(word)]}
        plain = self._own - in_names
        # What is said of somebody else is no answer.
        said = [len(self._all[one] & plain) for one in chosen if self._all[one] >= in_names]
        unseen = sum(not self._counts[word] for word in plain)
        # The documents use these words, but nowhere of those who are named.
        is_elsewhere = said and plain and not unseen and not any(self._all[one] & plain for one in chosen)
        is_missing = len(plain) > 1 and max(said, default=0) <= LITTLE * len(plain) and unseen >= ABSENT * len(plain)
        # What one of several questions lacks in words, the others may have named.
        return [text] if (is_missing or is_elsewhere) and not self._part.context else []

    def open_words(self, one: QuotableUnit) -> list[str]:
        """Return the words of the part that a unit does not hold."""
        return [word for own, word in self._words.items() if own in self._own - self._all[one]]

    @cached_property
    def names(self) -> dict[QuotableUnit, frozenset[str]]:
        """The names in each unit and the subject of its document, in plain words, without those of the request."""
        known = {*tokens(self._part.text)}
        found = {one: map(tokens, (*names(one.text), self._subjects[one.number])) for one in self._units}
        return {one: frozenset(" ".join(words) for words in found[one] if not known.issuperset(words)) for one in found}

    def _fill(self, kept: list[QuotableUnit], budget: int, least: float, most: int = 0, only: int = 0) -> None:
        """Add the units that are worth most beside those that are kept, up to a chain of `most`; of a document only."""
        room = budget - sum(one.words for one in kept)
        first = max(map(self._worth, kept), default=0.0)
        left = [one for one in self._units if one not in kept and (one.number == only if only else self._all[one])]
        while left and (not most or len(kept) < most):
            used = Counter((0 if most else one.number, word) for one in kept for word in self._all[one])
            links = {one: self._link(one, kept) if self._part.is_question else 0.0 for one in left}
            worths = {one: self._worth(one, used) + link for one, link in links.items()}
            best = max(left, key=worths.__getitem__)
            first = first or worths[best]
            if worths[best] < least * first:
                return
            left.remove(best)
            is_of_same_text = any(one.number == best.number for one in kept)
            is_in_text = is_of_same_text and self._part.is_question and not best.cells
            goes_on = is_in_text and self._share(best) >= GOING_ON * self._most
            if (most and links[best] > 0) or (is_of_same_text if only else best in self._bearing or goes_on):
                # The sentence that continues the best unit is quoted with it.
                following = [] if kept else self._units[self._units.index(best) + 1 :][:1]
                for one in (best, *(one for one in following if one.before and one.heading == best.heading)):
                    # Only what differs by more than case, spaces and punctuation is quoted twice.
                    if one.words <= room and tokens(one.text) not in (tokens(other.text) for other in kept):
                        room -= one.words
                        kept.append(one)

    def _worth(self, one: QuotableUnit, used: Counter[tuple[int, str]] = NOTHING) -> float:
        """Return what a unit adds to the units that are kept already."""
        worth = self._share(one, used) + self._standing[one.number] - LONG * one.words
        return worth + FIGURE * any(map(str.isdigit, one.text))

    def _share(self, one: QuotableUnit, used: Counter[tuple[int, str]] = NOTHING) -> float:
        """Return the share of the request that a unit holds; words that kept units use already count less."""
        return math.fsum(
            value * FADING ** (used[0, word] + used[one.number, word]) for word, value in self._values[one].items()
        )

    def _held(self, text: str, number: int) -> frozenset[str]:
        """Return the words of the request that a text of this document holds."""
        found = self._inflections.stems(text, self._languages[number])
        return frozenset(self._spelt.get(word, word) for word in found) & self._words.keys()

    def _name_of(self, document: ShownDocument) -> str:
        """Return the title and the path of a document, in words; of one in another language, all that it says.

        Only names and numbers meet across languages: a document that holds them may answer in any unit.
        """
        # A web address says little in words.
        path = document.address.partition(":")[2].rpartition(".")[0] if "://" not in document.address else ""
        texts = document.texts if self._speaks_otherwise(document.number) else ()
        return " ".join((document.title, _APART.sub(" ", path), *texts))

    def _speaks_otherwise(self, number: int) -> bool:
        """Whether a document is in another language than the request."""
        return bool(self._language) and self._languages[number] not in ("", self._language)

    def _other_spellings(self) -> dict[str, str]:
        """Return the words of the documents that stand for a word of the request that they do not hold as it is."""
        texts = [text for one in self._documents.values() for text in (self._name_of(one), *one.texts)]
        written = sorted({word for text in texts for word in tokens(text) if word.isalpha()})
        known = {stem(word) for word in written}
        found: dict[str, str] = {}
        for own, word in self._words.items():
            if own not in known and len(word) >= FEWEST_LETTERS and word.isalpha():
                alike = difflib.get_close_matches(bare(word), written, n=1, cutoff=ALIKE)
                found.update((stem(other), own) for other in alike)
        return found

    def _in_order(self, units: Sequence[QuotableUnit]) -> list[QuotableUnit]:
        """Return the rows of the best unit's table first, in the order asked, then the others document by document.

        What is outdated comes last, the newest of it first.
        """
        dates = {one.number: self._documents[one.number].date if one.number in self._older else "" for one in units}
        order = sorted(dates, key=dates.__getitem__, reverse=True)
        rows = Counter((one.number, one.header) for one in units)
        first = (units[0].number, units[0].header) if units else (0, ())
        places = {word: place for place, word in enumerate(self._words)}

        def key(one: QuotableUnit) -> tuple[bool, bool, int, list[int], int]:
            is_table = bool(one.header) and (one.number, one.header) == first and rows[first] > 1
            asked = sorted(places[word] for word in self._all[one]) if is_table else []
            place = units.index(one) if self._part.is_question else one.place
            return one.number in self._older, not is_table, order.index(one.number), asked, place

        return sorted(units, key=key)

    def _link(self, one: QuotableUnit, before: Sequence[QuotableUnit]) -> float:
        """Return how names lead from units of other documents to this one."""
        if not before or any(other.number == one.number for other in before):
            return 0.0
        subject = self._subjects[one.number]
        if any(mentions(other.text, subject) or mentions(one.text, self._subjects[other.number]) for other in before):
            return TITLE
        size, shared = len(self._documents), {name for other in before for name in self.names[one] & self.names[other]}
        shares = (math.log(size / self._holders[name]) / math.log(max(2, size / 2)) for name in shared)
        return max([UNRELATED, *(SHARED * min(1.0, value) for value in shares if value > SHARED)])

    @cached_property
    def _holders(self) -> Counter[str]:
        """In how many documents each name stands."""
        return Counter(name for name, _ in {(name, one.number) for one, found in self.names.items() for name in found})

    def _is_sure(self, name: str) -> bool:
        """Whether capitals tell a name: not at the beginning of the part, nor in German, which writes all nouns so."""
        is_plain = " " not in name and name.replace("-", "").isalpha()
        return not (is_plain and (self._language == "de" or self._part.text.lstrip("\"'“„(¿¡").startswith(name)))

    def _is_absent(self, name: str) -> bool:
        """Whether no unit, with what stands above it, holds two thirds of the words of a name."""
        stems = {stem(word) for part in name.split() if not part.islower() for word in tokens(part)}
        stems &= self._words.keys()
        most = max((len(stems & words) for words in self._all.values()), default=0)
        return 3 * most < 2 * len(stems)


def older_editions(documents: Sequence[ShownDocument], request: str) -> frozenset[int]:
    """Return the documents that are not in force, and the editions that are not meant.

    Editions have like names. The one of the time that is named is meant, or the newest.
    """
    times = [date.iso for date in dates_in(request)]
    dated = [one for one in documents if one.date]
    meant = {one.number for one in dated for time in times if one.date.startswith(time) or time.startswith(one.date)}
    found = {one.number for one in documents if not (one.is_in_force or asks_for_draft(request))}
    names = {one.number: _words_of_names(one) for one in dated}
    for one, other in product(dated, dated):
        length = min(len(one.date), len(other.date))
        is_passed_over = other.number in meant or one.date[:length] < other.date[:length]
        pairs = zip(names[one.number], names[other.number], strict=True)
        is_edition = any(2 * len(first & second) >= len(first | second) > 0 for first, second in pairs)
        if is_edition and is_passed_over and one.number not in meant:
            found.add(one.number)
    return frozenset(found)


def _words_of_names(document: ShownDocument) -> list[set[str]]:
    """Return the words of a document's file name and of its title, without numbers and months."""
    file = document.address.rpartition("/")[2].rpartition(".")[0]
    found = [tokens(_APART.sub(" ", text)) for text in (file, document.title)]
    return [{word for word in words if word.isalpha()} - sure_month_names() for words in found]


def _units_of(document: ShownDocument) -> list[QuotableUnit]:
    title = document.title.strip(" .")
    units = dict.fromkeys(unit for text in document.texts for unit in units_of(text) if unit.text.strip(" .") != title)
    return [one._replace(number=document.number, place=place) for place, one in enumerate(units)]
