"""Chooses the quotes for one part of a request: scores the units of the documents, and takes the best up to a budget.

A unit (`units.py`) is a sentence, list item, table row or record line. Its score is the share of the request's words in
it, weighted by rarity (1 if it has all of them), plus bonuses. `docs/decisions/quoting.md` shows what each of these
rules contributes.
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
from ...evidence.text.similarity import bare_title, mentions, rarity
from ...evidence.text.stems import QuestionWords, sought_words, unaccented
from ...evidence.text.words import GENERIC_WORDS, dates_in, names, stem, sure_month_names, tokens
from ..request import ShownDocument
from .parts import PASTED, Part, content_words
from .units import QuotableUnit, quotable_units

_FEWEST_LETTERS, _LEAST_SIMILARITY = 5, 0.88
"""Minimum letters and similarity for taking a word in a document for another spelling of a word of the request."""
_CONTEXT_WEIGHT = {True: 0.25, False: 0.4}
"""Factor on the weight of a word that only the part's context has, by `Part.is_question`."""
_WEIGHT_ABOVE, _UNSEEN_WEIGHT = 0.85, 0.5
"""Factors on the weight of a word that is not in the unit but above it (heading, lead, title, path), or in no unit."""
_RANK_BONUS, _LAST_RANK = 0.4, 8
"""Bonus for the first search result, and the rank from which on there is none."""
_FIGURE_BONUS, _WORD_PENALTY, _OLDER_PENALTY = 0.1, 0.002, 0.5
"""Bonus for a figure, penalty for each word, penalty for a document that is not in force or an old edition."""
_FADING = 0.4
"""Factor on a word's weight for each chosen unit of the same document that has it (in a chain: of any document)."""
_CHAIN = 4
"""Maximum units in a chain: units of several documents that a question needs together, linked by names."""
_LEADING_DOCUMENTS, _OF_LEADING = 8, 2
"""Number of top search results that may extend a chain, and the maximum units from each."""
_TITLE_BONUS, _NAME_BONUS, _UNLINKED_PENALTY = 0.25, 0.2, 0.2
"""Bonuses in a chain if a unit names another one's document or shares a rare name; penalty if nothing links it."""
_LEAST_FOR_QUESTION, _LEAST_FOR_TOPIC = 0.4, 0.1
"""Minimum score of a quote as a share of the best unit's score."""
_RELEVANT, _RELEVANT_IN_QUOTED = 0.5, 0.1
"""Minimum share of the request's words in a relevant unit, relative to the best unit: in general, and in a document
that is already quoted."""
_LITTLE, _ABSENT = 0.34, 0.45
"""A question is unanswered if each chosen unit has at most the first share of its words, and at least the second share
occurs in no document."""
_NONE_USED = Counter[tuple[int, str]]()
_SEPARATORS = re.compile(r"[/_\-.]+")


class Chooser:
    """Scores the documents' units for one part of a request, and chooses the quotes."""

    def __init__(self, documents: Sequence[ShownDocument], part: Part) -> None:
        """`documents` are in the order of the search results."""
        self._part = part
        self._documents = {document.number: document for document in documents}
        # A short topic may be a single generic word, such as "research".
        own = content_words(part.text, GENERIC_WORDS if part.is_question else frozenset())
        self._words = {**content_words(part.context), **own} or {stem(word): word for word in tokens(part.text)}
        """The words of the part and of its context, by their stems."""
        self._own = frozenset(own or self._words)
        """The stems of the part's own words."""
        self._language = language_by_words(sought_words(part.text), IN_QUESTION)
        self._languages = {
            document.number: language_by_words(sought_words(" ".join(document.texts)[:4000]), IN_TEXT)
            for document in documents
        }
        self._inflections = QuestionWords(self._words.values())
        self._spellings = self._other_spellings()
        """Stems in the documents, mapped to the stem of the request of which they are another spelling."""
        self._subjects = {document.number: bare_title(document.title) for document in documents}
        """What each document is about, by its number."""
        self._units = [unit for document in documents for unit in _units_of(document)]
        titled = {document.number: self._words_in(self._name_of(document), document.number) for document in documents}
        inside = {unit: self._words_in(" ".join((unit.text, *unit.header)), unit.number) for unit in self._units}
        self._all = {
            unit: self._words_in(" ".join((unit.text, *unit.header, unit.heading, unit.lead, unit.meant)), unit.number)
            | titled[unit.number]
            for unit in self._units
        }
        """The stems of the request's words in each unit and above it (heading, lead, title, path)."""
        self._counts = Counter(word for words in self._all.values() for word in words)
        """Number of units with each of these stems."""
        weights = self._weights()
        self._values = {
            unit: {word: weights[word] * (1 if word in inside[unit] else _WEIGHT_ABOVE) for word in sorted(words)}
            for unit, words in self._all.items()
        }
        """The weights of the words in each unit."""
        # If there are several topics, all of them have the same context words.
        is_one_of_many = bool(part.context) and not part.is_question
        self._most = 0.0 if is_one_of_many else max(map(self._share, self._units), default=0.0)
        self._relevant = {unit for unit in self._units if self._share(unit) >= _RELEVANT * self._most}
        # If any document is about this topic, units with only the context words belong to another topic.
        if is_one_of_many and (about := {unit.number for unit in self._units if self._all[unit] & self._own}):
            self._relevant = {unit for unit in self._relevant if unit.number in about}
        self._older = older_editions(documents, f"{part.text} {part.context}")
        self._bonuses = {
            document.number: _RANK_BONUS * max(0.0, 1 - rank / _LAST_RANK)
            - _OLDER_PENALTY * (document.number in self._older)
            for rank, document in enumerate(documents)
        }
        """What each document adds to the scores of its units, by its number."""

    def _other_spellings(self) -> dict[str, str]:
        """Return the stems in the documents that are similar to words of the request which no document has."""
        whole = [text for document in self._documents.values() for text in (self._name_of(document), *document.texts)]
        written = sorted({word for text in whole for word in tokens(text) if word.isalpha()})
        known = {stem(word) for word in written}
        return {
            stem(other): own
            for own, word in self._words.items()
            if own not in known and len(word) >= _FEWEST_LETTERS and word.isalpha()
            for other in difflib.get_close_matches(unaccented(word), written, n=1, cutoff=_LEAST_SIMILARITY)
        }

    def _weights(self) -> dict[str, float]:
        """Return the weights of the request's words, by their stems: rare ones weigh more, and all add up to 1."""
        weights = {word: rarity(len(self._units) + 1, self._counts[word]) for word in self._words}
        for word in weights.keys() - self._own:
            weights[word] *= _CONTEXT_WEIGHT[self._part.is_question]
        for word in weights.keys() - self._counts.keys():
            weights[word] *= _UNSEEN_WEIGHT
        total = sum(weights.values()) or 1.0
        return {word: weight / total for word, weight in weights.items()}

    def choose(self, budget: int, further: int) -> tuple[list[QuotableUnit], list[QuotableUnit]]:
        """Return the units to quote (at most `budget` words); for a chain, also related ones (`further` words)."""
        if len(self._part.text.split()) > PASTED:
            # The best unit of each document, preferably a short one, in the order of the search results.
            most = 1.25 * budget / max(1, len(self._documents))
            best: dict[int, QuotableUnit] = {}
            for unit in sorted(self._all, key=lambda unit: (unit.words > most, -self._score(unit))):
                best.setdefault(unit.number, unit)
            return [best[number] for number in self._documents if number in best], []
        kept: list[QuotableUnit] = []
        if self._part.is_question:
            self._fill(kept, budget, _LEAST_FOR_QUESTION, most=_CHAIN)
        is_chain = len({unit.number for unit in kept}) > 1
        self._fill(kept, budget, _LEAST_FOR_QUESTION if self._part.is_question else _LEAST_FOR_TOPIC)
        answer, whole = [*kept], sum(unit.words for unit in kept) + further
        for number in [*self._documents][: _LEADING_DOCUMENTS * is_chain]:
            own = sum(unit.number == number for unit in kept)
            self._fill(kept, whole, -math.inf, most=len(kept) + _OF_LEADING - own, only=number)
        return self._in_order(answer), kept[len(answer) :]

    def missing(self, chosen: Sequence[QuotableUnit]) -> list[str]:
        """Return what the documents do not answer, given the units to quote (`chosen`).

        These are names that occur in no document, or the text of the part; an empty list if it is answered.
        """
        text = self._part.text
        if not chosen:
            return [text]
        if all(self._is_in_other_language(unit.number) for unit in chosen):
            return []
        # A capital letter does not mark a name at the start, nor in German, which capitalizes all nouns.
        beginning, is_german = text.lstrip("\"'“„(¿¡"), self._language == "de"
        named = [
            name
            for name in names(text)
            if " " in name or not name.replace("-", "").isalpha() or not (is_german or beginning.startswith(name))
        ]
        absent = list[str]()
        for name in named:
            # A unit, its heading and title included, has to contain at least two thirds of the words.
            stems = {stem(word) for part in name.split() if not part.islower() for word in tokens(part)}
            stems &= self._words.keys()
            if 3 * max((len(stems & words) for words in self._all.values()), default=0) < 2 * len(stems):
                absent.append(name)
        if absent:
            return absent
        in_names = {stem(word) for name in named for word in tokens(name) if self._counts[stem(word)]}
        plain = self._own - in_names
        # Count only units that contain all the names.
        said = [len(self._all[unit] & plain) for unit in chosen if self._all[unit] >= in_names]
        unseen = sum(not self._counts[word] for word in plain)
        # The documents contain the other words, but not together with the names.
        is_elsewhere = said and plain and not unseen and not any(self._all[unit] & plain for unit in chosen)
        is_missing = len(plain) > 1 and max(said, default=0) <= _LITTLE * len(plain) and unseen >= _ABSENT * len(plain)
        # One of several questions may rely on words of the others.
        return [text] if (is_missing or is_elsewhere) and not self._part.context else []

    def open_words(self, unit: QuotableUnit) -> list[str]:
        """Return the words of the part that are neither in a unit nor above it."""
        return [word for own, word in self._words.items() if own in self._own - self._all[unit]]

    @cached_property
    def names(self) -> dict[QuotableUnit, frozenset[str]]:
        """The names in each unit and the subject of its document, in lower case, except those in the request."""
        known = {*tokens(self._part.text)}
        found = {unit: map(tokens, (*names(unit.text), self._subjects[unit.number])) for unit in self._units}
        return {
            unit: frozenset(" ".join(words) for words in named if not known.issuperset(words))
            for unit, named in found.items()
        }

    def _fill(self, kept: list[QuotableUnit], budget: int, least: float, most: int = 0, only: int = 0) -> None:
        """Add the best units to `kept` while it has at most `budget` words.

        `least`: minimum score of a unit, as a share (0 to 1) of the best one's. `most`: maximum number of units of a
        chain (0: no chain, no maximum). `only`: take units from the document with this number only (0: from any).
        For a question, links to the units in `kept` count in the score of a unit.
        """
        room = budget - sum(unit.words for unit in kept)
        first = max(map(self._score, kept), default=0.0)
        left = [unit for unit in self._units if unit not in kept and (unit.number == only if only else self._all[unit])]
        while left and (not most or len(kept) < most):
            used = Counter((0 if most else unit.number, word) for unit in kept for word in self._all[unit])
            links = {unit: self._link_bonus(unit, kept) if self._part.is_question else 0.0 for unit in left}
            scores = {unit: self._score(unit, used) + link for unit, link in links.items()}
            best = max(left, key=scores.__getitem__)
            first = first or scores[best]
            if scores[best] < least * first:
                return
            left.remove(best)
            is_of_same_text = any(unit.number == best.number for unit in kept)
            is_in_text = is_of_same_text and self._part.is_question and not best.cells
            goes_on = is_in_text and self._share(best) >= _RELEVANT_IN_QUOTED * self._most
            if (most and links[best] > 0) or (is_of_same_text if only else best in self._relevant or goes_on):
                # If the next sentence continues the best unit, quote it too.
                following = [] if kept else self._units[self._units.index(best) + 1 :][:1]
                for unit in (best, *(unit for unit in following if unit.before and unit.heading == best.heading)):
                    # Quote texts that differ only in case, spaces and punctuation once.
                    if unit.words <= room and tokens(unit.text) not in (tokens(other.text) for other in kept):
                        room -= unit.words
                        kept.append(unit)

    def _score(self, unit: QuotableUnit, used: Counter[tuple[int, str]] = _NONE_USED) -> float:
        """Return a unit's score; for `used`, see `_share`."""
        score = self._share(unit, used) + self._bonuses[unit.number] - _WORD_PENALTY * unit.words
        return score + _FIGURE_BONUS * any(map(str.isdigit, unit.text))

    def _share(self, unit: QuotableUnit, used: Counter[tuple[int, str]] = _NONE_USED) -> float:
        """Return the share of the request's words in a unit.

        Words of chosen units weigh less: `used` counts them by document number (in a chain: 0) and stem.
        """
        return math.fsum(
            value * _FADING ** (used[0, word] + used[unit.number, word]) for word, value in self._values[unit].items()
        )

    def _words_in(self, text: str, number: int) -> frozenset[str]:
        """Return the stems of the request's words that occur in a text; `number` is that of its document."""
        found = self._inflections.stems(text, self._languages[number])
        return frozenset(self._spellings.get(word, word) for word in found) & self._words.keys()

    def _name_of(self, document: ShownDocument) -> str:
        """Return a document's title and path as words, and its whole text if it is in another language.

        Only names and numbers match across languages, so any unit of a document with them may be the answer.
        """
        # The words in a URL say little.
        path = document.address.partition(":")[2].rpartition(".")[0] if "://" not in document.address else ""
        texts = document.texts if self._is_in_other_language(document.number) else ()
        return " ".join((document.title, _SEPARATORS.sub(" ", path), *texts))

    def _is_in_other_language(self, number: int) -> bool:
        """Whether a document is in another language than the request, so that words missing from it mean nothing."""
        return bool(self._language) and self._languages[number] not in ("", self._language)

    def _in_order(self, units: Sequence[QuotableUnit]) -> list[QuotableUnit]:
        """Return the units in the order in which they are shown.

        Rows of the best unit's table come first, in the order in which the request names them; then the others by
        document; at last those of old editions, newest first.
        """
        dates = {unit.number: self._documents[unit.number].date if unit.number in self._older else "" for unit in units}
        order = sorted(dates, key=dates.__getitem__, reverse=True)
        rows = Counter((unit.number, unit.header) for unit in units)
        first = (units[0].number, units[0].header) if units else (0, ())
        asked_order = {word: position for position, word in enumerate(self._words)}

        def key(unit: QuotableUnit) -> tuple[bool, bool, int, list[int], int]:
            is_table = bool(unit.header) and (unit.number, unit.header) == first and rows[first] > 1
            asked = sorted(asked_order[word] for word in self._all[unit]) if is_table else []
            position = units.index(unit) if self._part.is_question else unit.position
            return unit.number in self._older, not is_table, order.index(unit.number), asked, position

        return sorted(units, key=key)

    def _link_bonus(self, unit: QuotableUnit, before: Sequence[QuotableUnit]) -> float:
        """Return the bonus for names that link a unit to `before`, units of other documents; negative if none does."""
        if not before or any(other.number == unit.number for other in before):
            return 0.0
        subject = self._subjects[unit.number]
        if any(mentions(other.text, subject) or mentions(unit.text, self._subjects[other.number]) for other in before):
            return _TITLE_BONUS
        shared = {name for other in before for name in self.names[unit] & self.names[other]}
        size = len(self._documents)
        shares = (math.log(size / self._documents_with[name]) / math.log(max(2, size / 2)) for name in shared)
        return max([-_UNLINKED_PENALTY, *(_NAME_BONUS * min(1.0, value) for value in shares if value > _NAME_BONUS)])

    @cached_property
    def _documents_with(self) -> Counter[str]:
        """Number of documents with each name."""
        pairs = {(name, unit.number) for unit, found in self.names.items() for name in found}
        return Counter(name for name, _ in pairs)


def _units_of(document: ShownDocument) -> list[QuotableUnit]:
    """Return the distinct units of a document, except its title."""
    title = document.title.strip(" .")
    found = (unit for text in document.texts for unit in quotable_units(text))
    units = dict.fromkeys(unit for unit in found if unit.text.strip(" .") != title)
    return [unit._replace(number=document.number, position=index) for index, unit in enumerate(units)]


def older_editions(documents: Sequence[ShownDocument], request: str) -> frozenset[int]:
    """Return the numbers of the documents that are not in force, or of which another edition is wanted.

    Dated documents with similar titles or file names are editions of the same document. The wanted one is that of a
    time named in the request, else the newest.
    """
    times = [date.iso for date in dates_in(request)]
    dated = [document for document in documents if document.date]
    meant = {
        document.number
        for document in dated
        for time in times
        if document.date.startswith(time) or time.startswith(document.date)
    }
    found = {document.number for document in documents if not (document.is_in_force or asks_for_draft(request))}
    names = dict[int, list[set[str]]]()
    for document in dated:
        # Words of the file name and of the title, without numbers and months.
        file = document.address.rpartition("/")[2].rpartition(".")[0]
        words_of = [tokens(_SEPARATORS.sub(" ", text)) for text in (file, document.title)]
        names[document.number] = [{word for word in words if word.isalpha()} - sure_month_names() for words in words_of]
    for document, other in product(dated, repeat=2):
        length = min(len(document.date), len(other.date))
        is_passed_over = other.number in meant or document.date[:length] < other.date[:length]
        pairs = zip(names[document.number], names[other.number], strict=True)
        is_edition = any(2 * len(first & second) >= len(first | second) > 0 for first, second in pairs)
        if is_edition and is_passed_over and document.number not in meant:
            found.add(document.number)
    return frozenset(found)
