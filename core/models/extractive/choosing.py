"""Chooses the quotes for one part of a request: scores the documents' units and fills a word budget.

A score is a share of the request's words (weighted by rarity): a unit with all of them scores 1.
`docs/decisions/quoting.md` shows the effect of each mechanism.
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

_FEWEST_LETTERS, _ALIKE = 5, 0.88
"""Minimum letters and similarity for treating a word missing from all documents as a variant spelling."""
_CONTEXT = {True: 0.25, False: 0.4}
"""Weight of context words for a question (`True`) and a topic (`False`)."""
_ABOVE, _UNSEEN = 0.85, 0.5
"""Weight of a word that occurs only above a unit (heading, lead, title, path), and of one that occurs nowhere."""
_RANK, _RANKS = 0.4, 8
"""Score bonus of the first search result, and the rank at which the bonus reaches 0."""
_FIGURE, _LONG, _OLDER = 0.1, 0.002, 0.5
"""Bonus for a figure; penalty per word; penalty if the document is not in force or a superseded edition."""
_FADING = 0.4
"""Factor on a word's weight for each repetition in the same document (in a chain: in any document)."""
_CHAIN = 4
"""Maximum units in a chain, whose units are chosen for new words and for names that link them."""
_LEADING_DOCUMENTS, _OF_LEADING = 8, 2
"""Number of top search results that may extend a chain, and the maximum units from each."""
_TITLE, _SHARED, _UNRELATED = 0.25, 0.2, -0.2
"""Bonus if a unit names another unit's document; bonus for a shared rare name; penalty if nothing links them."""
_NEAR, _LEAST = 0.4, 0.1
"""Minimum score of a quote as a share of the best unit's: for a question, and for a topic."""
_BEARING, _GOING_ON = 0.5, 0.1
"""Minimum share of the best unit's words in a relevant unit, and in a further unit from an already quoted document."""
_LITTLE, _ABSENT = 0.34, 0.45
"""A question is unanswered if each chosen unit has at most the first share of its words, and at least the second share
occurs nowhere."""
_NOTHING = Counter[tuple[int, str]]()
_APART = re.compile(r"[/_\-.]+")


class Chooser:
    """Scores the documents' units for one part of a request, and chooses the quotes."""

    def __init__(self, documents: Sequence[ShownDocument], part: Part) -> None:
        """`documents` are in the order of the search results."""
        self._part, self._documents = part, {document.number: document for document in documents}
        # A short topic may be a single generic word, such as "research".
        own = content_words(part.text, GENERIC_WORDS if part.is_question else frozenset())
        self._words = {**content_words(part.context), **own} or {stem(word): word for word in tokens(part.text)}
        self._own = frozenset(own or self._words)
        self._language = language_by_words(sought_words(part.text), IN_QUESTION)
        self._languages = {
            document.number: language_by_words(sought_words(" ".join(document.texts)[:4000]), IN_TEXT)
            for document in documents
        }
        self._inflections = QuestionWords(self._words.values())
        # Stems in the documents, mapped to words of the request that occur only in another spelling.
        whole = [text for document in self._documents.values() for text in (self._name_of(document), *document.texts)]
        written = sorted({word for text in whole for word in tokens(text) if word.isalpha()})
        known = {stem(word) for word in written}
        self._spelt = {
            stem(other): own
            for own, word in self._words.items()
            if own not in known and len(word) >= _FEWEST_LETTERS and word.isalpha()
            for other in difflib.get_close_matches(unaccented(word), written, n=1, cutoff=_ALIKE)
        }
        self._subjects = {document.number: bare_title(document.title) for document in documents}
        self._units = list[QuotableUnit]()
        for document in documents:
            title, found = (
                document.title.strip(" ."),
                (unit for text in document.texts for unit in quotable_units(text)),
            )
            units = dict.fromkeys(unit for unit in found if unit.text.strip(" .") != title)
            self._units += [unit._replace(number=document.number, position=index) for index, unit in enumerate(units)]
        titled = {document.number: self._held(self._name_of(document), document.number) for document in documents}
        inside = {unit: self._held(" ".join((unit.text, *unit.header)), unit.number) for unit in self._units}
        self._all = {
            unit: self._held(" ".join((unit.text, *unit.header, unit.heading, unit.lead, unit.meant)), unit.number)
            | titled[unit.number]
            for unit in self._units
        }
        self._counts = Counter(word for words in self._all.values() for word in words)
        # Rare words weigh more; all weights add up to 1.
        weights = {word: rarity(len(self._units) + 1, self._counts[word]) for word in self._words}
        weights |= {word: weights[word] * _CONTEXT[part.is_question] for word in weights.keys() - self._own}
        weights |= {word: weights[word] * _UNSEEN for word in weights.keys() - self._counts.keys()}
        self._weights = {word: value / (sum(weights.values()) or 1.0) for word, value in weights.items()}
        self._values = {
            unit: {word: self._weights[word] * (1 if word in inside[unit] else _ABOVE) for word in sorted(words)}
            for unit, words in self._all.items()
        }
        # If there are several topics, all of them have the same context words.
        is_one_of_many = bool(part.context) and not part.is_question
        self._most = 0.0 if is_one_of_many else max(map(self._share, self._units), default=0.0)
        self._bearing = {unit for unit in self._units if self._share(unit) >= _BEARING * self._most}
        # If any document is about this topic, units with only the context words belong to another topic.
        if is_one_of_many and (about := {unit.number for unit in self._units if self._all[unit] & self._own}):
            self._bearing = {unit for unit in self._bearing if unit.number in about}
        self._older = older_editions(documents, f"{part.text} {part.context}")
        self._standing = {
            document.number: _RANK * max(0.0, 1 - rank / _RANKS) - _OLDER * (document.number in self._older)
            for rank, document in enumerate(documents)
        }

    def choose(self, budget: int, further: int) -> tuple[list[QuotableUnit], list[QuotableUnit]]:
        """Return the answer (at most `budget` words) and other units of its chain (at most `further` more words)."""
        if len(self._part.text.split()) > PASTED:
            # The best unit of each document, preferably a short one, in the order of the search results.
            most = 1.25 * budget / max(1, len(self._documents))
            best: dict[int, QuotableUnit] = {}
            for unit in sorted(self._all, key=lambda unit: (unit.words > most, -self._worth(unit))):
                best.setdefault(unit.number, unit)
            return [best[number] for number in self._documents if number in best], []
        kept: list[QuotableUnit] = []
        if self._part.is_question:
            self._fill(kept, budget, _NEAR, most=_CHAIN)
        is_chain = len({unit.number for unit in kept}) > 1
        self._fill(kept, budget, _NEAR if self._part.is_question else _LEAST)
        answer, whole = [*kept], sum(unit.words for unit in kept) + further
        for number in [*self._documents][: _LEADING_DOCUMENTS * is_chain]:
            own = sum(unit.number == number for unit in kept)
            self._fill(kept, whole, -math.inf, most=len(kept) + _OF_LEADING - own, only=number)
        return self._in_order(answer), kept[len(answer) :]

    def missing(self, chosen: Sequence[QuotableUnit]) -> list[str]:
        """Return the names that occur in no document, or the part's text if nothing answers it; else an empty list."""
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
        """Return the part's words that are missing from a unit."""
        return [word for own, word in self._words.items() if own in self._own - self._all[unit]]

    @cached_property
    def names(self) -> dict[QuotableUnit, frozenset[str]]:
        """The names in each unit, and its document's subject, in lower case, except those of the request."""
        known = {*tokens(self._part.text)}
        found = {unit: map(tokens, (*names(unit.text), self._subjects[unit.number])) for unit in self._units}
        return {
            unit: frozenset(" ".join(words) for words in named if not known.issuperset(words))
            for unit, named in found.items()
        }

    def _fill(self, kept: list[QuotableUnit], budget: int, least: float, most: int = 0, only: int = 0) -> None:
        """Add the next best units to `kept`, up to `budget` words in total; scores are at least `least` of the best.

        `most` limits the number of units, which then form a chain; `only` is the only document to take units from.
        """
        room = budget - sum(unit.words for unit in kept)
        first = max(map(self._worth, kept), default=0.0)
        left = [unit for unit in self._units if unit not in kept and (unit.number == only if only else self._all[unit])]
        while left and (not most or len(kept) < most):
            used = Counter((0 if most else unit.number, word) for unit in kept for word in self._all[unit])
            links = {unit: self._link(unit, kept) if self._part.is_question else 0.0 for unit in left}
            worths = {unit: self._worth(unit, used) + link for unit, link in links.items()}
            best = max(left, key=worths.__getitem__)
            first = first or worths[best]
            if worths[best] < least * first:
                return
            left.remove(best)
            is_of_same_text = any(unit.number == best.number for unit in kept)
            is_in_text = is_of_same_text and self._part.is_question and not best.cells
            goes_on = is_in_text and self._share(best) >= _GOING_ON * self._most
            if (most and links[best] > 0) or (is_of_same_text if only else best in self._bearing or goes_on):
                # If the next sentence continues the best unit, quote it too.
                following = [] if kept else self._units[self._units.index(best) + 1 :][:1]
                for unit in (best, *(unit for unit in following if unit.before and unit.heading == best.heading)):
                    # Quote texts that differ only in case, spaces and punctuation once.
                    if unit.words <= room and tokens(unit.text) not in (tokens(other.text) for other in kept):
                        room -= unit.words
                        kept.append(unit)

    def _worth(self, unit: QuotableUnit, used: Counter[tuple[int, str]] = _NOTHING) -> float:
        """Return a unit's score; `used` counts the words of units that are already kept."""
        worth = self._share(unit, used) + self._standing[unit.number] - _LONG * unit.words
        return worth + _FIGURE * any(map(str.isdigit, unit.text))

    def _share(self, unit: QuotableUnit, used: Counter[tuple[int, str]] = _NOTHING) -> float:
        """Return the share of the request's words in a unit; words counted in `used` weigh less."""
        return math.fsum(
            value * _FADING ** (used[0, word] + used[unit.number, word]) for word, value in self._values[unit].items()
        )

    def _held(self, text: str, number: int) -> frozenset[str]:
        """Return the request's words (stems) that occur in a text of this document."""
        found = self._inflections.stems(text, self._languages[number])
        return frozenset(self._spelt.get(word, word) for word in found) & self._words.keys()

    def _name_of(self, document: ShownDocument) -> str:
        """Return a document's title and path as words, and its whole text if it is in another language.

        Only names and numbers match across languages, so any unit of a document with them may be the answer.
        """
        # The words in a URL say little.
        path = document.address.partition(":")[2].rpartition(".")[0] if "://" not in document.address else ""
        texts = document.texts if self._is_in_other_language(document.number) else ()
        return " ".join((document.title, _APART.sub(" ", path), *texts))

    def _is_in_other_language(self, number: int) -> bool:
        """Whether a document is in another language than the request, so that missing words mean nothing."""
        return bool(self._language) and self._languages[number] not in ("", self._language)

    def _in_order(self, units: Sequence[QuotableUnit]) -> list[QuotableUnit]:
        """Sort units: first rows of the best unit's table in the order of the request, then the others by document.

        Outdated documents come last, newest first.
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

    def _link(self, unit: QuotableUnit, before: Sequence[QuotableUnit]) -> float:
        """Return the bonus or penalty for names that link this unit to earlier units of other documents."""
        if not before or any(other.number == unit.number for other in before):
            return 0.0
        subject = self._subjects[unit.number]
        if any(mentions(other.text, subject) or mentions(unit.text, self._subjects[other.number]) for other in before):
            return _TITLE
        shared = {name for other in before for name in self.names[unit] & self.names[other]}
        size = len(self._documents)
        shares = (math.log(size / self._holders[name]) / math.log(max(2, size / 2)) for name in shared)
        return max([_UNRELATED, *(_SHARED * min(1.0, value) for value in shares if value > _SHARED)])

    @cached_property
    def _holders(self) -> Counter[str]:
        """Number of documents with each name."""
        pairs = {(name, unit.number) for unit, found in self.names.items() for name in found}
        return Counter(name for name, _ in pairs)


def older_editions(documents: Sequence[ShownDocument], request: str) -> frozenset[int]:
    """Return the numbers of documents that are not in force, or of which another edition is wanted.

    Documents with similar names are editions. The wanted one is that of a time named in the request, else the newest.
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
        words_of = [tokens(_APART.sub(" ", text)) for text in (file, document.title)]
        names[document.number] = [{word for word in words if word.isalpha()} - sure_month_names() for words in words_of]
    for document, other in product(dated, dated):
        length = min(len(document.date), len(other.date))
        is_passed_over = other.number in meant or document.date[:length] < other.date[:length]
        pairs = zip(names[document.number], names[other.number], strict=True)
        is_edition = any(2 * len(first & second) >= len(first | second) > 0 for first, second in pairs)
        if is_edition and is_passed_over and document.number not in meant:
            found.add(document.number)
    return frozenset(found)
