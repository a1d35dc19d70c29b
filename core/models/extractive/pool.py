"""The units of some documents, weighed by the words of what is asked."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from typing import Literal, NamedTuple

from ...evidence.language import IN_QUESTION, IN_TEXT, common_words, language_by_words
from ...evidence.text.similarity import mentions, subject_of, title_match
from ...evidence.text.stems import bare, index_term, sought_words
from ...evidence.text.words import FUNCTION_WORDS, GENERIC_WORDS, names, stem, stem_run, sure_month_names, tokens
from ..request import Document
from .units import Unit, points_back, units_of

Kind = Literal["number", "date", "person", "place", "any"]
_ASKED: dict[Kind, str] = {
    "number": "how many|how much|how (?:long|old|high|large|big|far|tall|often|fast|deep|wide|heavy|loud)|"
    "wie ?viele?|wie (?:lange?|hoch|groß|oft|teuer|schnell|weit|alt)|combien|cu[aá]nt[oa]s?|quant[oaie]|hoeveel|"
    "сколько",
    "date": "when|(?:what|which) (?:year|date|day|month)|wann|quand|cu[aá]ndo|quando|wanneer|когда",
    "person": "who|whom|whose|wer|wem|wen|wessen|qui|qui[eé]n(?:es)?|chi|quem|кто|кого",
    "place": "where|woher|wohin|wo|où|d[oó]nde|dove|onde|waar|где|куда",
}
# Left out is what is a common word of another language: "was", "que", "come".
_OTHER = (
    "what|which|why|how|welche[mnrs]?|warum|weshalb|wieso|wie|quel(?:le)?s?|pourquoi|comment|qué|cu[aá]l(?:es)?|cómo|"
    "quale|quali|perch[eé]|quais|wat|welke?|waarom|hoe|что|какой|почему|как"
)
_KINDS = [(kind, re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)) for kind, words in _ASKED.items()]
QUESTION_WORDS = "|".join([*_ASKED.values(), _OTHER])
"""A pattern for the words with which some languages ask."""
_QUESTION_WORD = re.compile(rf"(?<!\w)(?:{QUESTION_WORDS})(?!\w)", re.IGNORECASE)
QUANTITIES = frozenset({"many", "much", "long", "often", "viele", "viel", "lange"})
"""Words that only say that an amount is wanted."""
EARLY = 30
"""Characters at the beginning of a request among which the word stands that makes it a question."""
_COUNTED = re.compile(r"\b(?:how many|wie ?viele|combien de|cu[aá]nt[oa]s|quant[ei]|hoeveel)\s+(\w+)", re.IGNORECASE)
_UNSPACED = re.compile("什么|什麼|哪|谁|誰|为何|为什么|几|多少|何|なぜ|どこ|いつ|いくつ")
_DATED = re.compile(r"\b(?:1\d|20)\d\d\b|\b\d{1,2}[./]\d{1,2}\b|\d年|\b\d{1,2}[:.h]\d\d\b")
_QUANTITY = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|dozen|hundred|thousand|once|twice)\b",
    re.IGNORECASE,
)
FLAT = 0.75
"""How far all words of a request weigh the same; the rest of a word's weight is its rarity."""
CONTEXT = 0.25
"""What a word counts that only tells what the request is about."""
UNSEEN = 0.5
"""What a word counts that no unit holds, and that is no name: the documents may word it otherwise."""
ALIKE = 0.8
"""Likeness from which on a word is taken for a misspelt one."""
FEWEST_LETTERS = 5
"""Letters of a word that may be misspelt."""
_GROUPED = re.compile(r"(?<=\d)[.,'’\u00a0\u202f ](?=\d{3}(?!\d))")
_APART = re.compile(r"[/_\-.]+")


def asks(text: str) -> bool:
    """Return whether a sentence is worded as a question."""
    is_marked = text.rstrip("\"'”’») ").endswith(("?", "？"))
    return bool(_QUESTION_WORD.search(text if is_marked else text[:EARLY]) or _UNSPACED.search(text))


def kind_of(question: str) -> Kind:
    """Return the kind of thing that a question wants; the word that stands first decides."""
    found = [(match.start(), kind) for kind, cue in _KINDS if (match := cue.search(question))]
    other = _QUESTION_WORD.search(question)
    first = min(found, default=None)
    return first[1] if first and (other is None or first[0] <= other.start()) else "any"


def counted_in(question: str) -> str:
    """Return the word for what a question wants counted, as in "how many people"; empty if it counts nothing."""
    found = _COUNTED.search(question)
    return found[1].lower() if found else ""


def holds(kind: Kind, text: str, question: str) -> bool:
    """Return whether a text holds a thing of this kind that the question does not name itself."""
    if kind == "number":
        return _QUANTITY.search(text) is not None
    if kind == "date":
        return any(
            found.group() not in question for found in _DATED.finditer(text)
        ) or not sure_month_names().isdisjoint(tokens(text))
    if kind in ("person", "place"):
        known = set(tokens(question))
        return any(
            (not known.issuperset(tokens(name)) and not text.startswith(name))
            or (" " in name and not known.issuperset(tokens(name)))
            for name in names(text)
        )
    return False


def name_of(document: Document) -> str:
    """Return the title and the path of a document, in words; a web address says little in words."""
    path = document.address.partition(":")[2].rpartition(".")[0] if "://" not in document.address else ""
    return f"{document.title} {_APART.sub(' ', path)}"


class Sentence(NamedTuple):
    """A unit of a document, with the words of the request that it holds, by their places."""

    number: int
    """Number of the document."""
    place: int
    """Its place among the units of the document."""
    unit: Unit
    own: frozenset[int]
    """Those that it holds itself."""
    around: frozenset[int]
    """Those that only stand above it, or in the title or path of its document."""
    is_right: bool
    """Whether it holds the kind of thing that is asked for."""
    tells: frozenset[int] = frozenset()
    """Of its own words those that are not merely in the header of its table, which all rows share."""

    @property
    def text(self) -> str:
        """Its text."""
        return self.unit.text

    @property
    def held(self) -> frozenset[int]:
        """All of them."""
        return self.own | self.around


class Pool:
    """The units of documents, for one part of a request."""

    def __init__(self, documents: Sequence[Document], asked: str, context: str = "") -> None:
        """Weigh the units by the words that are `asked` for, and by those that tell what it is about."""
        self.documents = {document.number: document for document in documents}
        self.asked, self.context = asked, context
        self.kind = kind_of(asked)
        self.names = names(asked)
        self.words, self.own_count = _words(asked, context)
        self._languages = {one.number: _language(one) for one in documents}
        self._units = {one.number: _each_once(one) for one in documents}
        self._index = self._indexed()
        self._titled = {one.number: self._held(name_of(one), one.number) for one in documents}
        self.sentences = [one for number in self.documents for one in self._sentences(number)]
        first = {one.text: one for one in reversed(self.sentences)}
        self.counts = Counter(place for one in first.values() for place in one.held)
        self.weights = self._weighed(len(first) + 1)

    def language_of(self, number: int) -> str:
        """Return the language of a document (ISO 639-1); empty where it is not language_by_words."""
        return self._languages[number]

    def weight(self, places: Iterable[int]) -> float:
        """Return the share of the request, from 0 to 1, that these words make up."""
        return sum(self.weights[place] for place in places)

    def titled(self, number: int) -> frozenset[int]:
        """Return the words that the title and path of a document hold."""
        return self._titled[number]

    @cache  # noqa: B019 - a pool lives as long as one answer
    def held_by(self, number: int) -> frozenset[int]:
        """Return the words that a document holds anywhere."""
        return self._titled[number].union(*(one.held for one in self.sentences if one.number == number))

    @cached_property
    def shares(self) -> dict[int, float]:
        """How much of the request each document holds, in its title or anywhere, compared with the best one."""
        found = {}
        for number in self.documents:
            body = self.held_by(number) - self._titled[number]
            found[number] = self.weight(self._titled[number]) + 0.6 * self.weight(body)
        best = max(found.values(), default=0.0) or 1.0
        return {number: share / best for number, share in found.items()}

    @cached_property
    def subjects(self) -> dict[int, float]:
        """The share of the words of each document's title that the request holds, too."""
        wanted = frozenset[str]().union(
            *(_keys(word, "") for word in [*self.words, *tokens(f"{self.asked} {self.context}")])
        )
        titles = {number: [*dict.fromkeys(content_words(one.title))] for number, one in self.documents.items()}
        return {
            number: sum(not wanted.isdisjoint(_keys(word, "")) for word in words) / max(2, len(words))
            for number, words in titles.items()
        }

    @cache  # noqa: B019
    def is_headed(self, sentence: Sentence) -> bool:
        """Return whether the request holds all words of what names a unit: its heading, its key or its first cell."""
        heading = sentence.unit.heading.rpartition(" › ")[2]
        if heading.strip(" .") == self.documents[sentence.number].title.strip(" ."):
            heading = ""
        return any(self._is_asked(name, sentence.number) for name in (heading, sentence.unit.key))

    def _is_asked(self, name: str, number: int) -> bool:
        words = [one for one in content_words(name) if not one.isdigit()]
        return bool(words) and len(self._held(" ".join(words), number)) >= len(words)

    @cached_property
    def named(self) -> frozenset[int]:
        """The documents whose titles the request names."""
        run = stem_run(self.asked)
        return frozenset(number for number, one in self.documents.items() if title_match(one.title, self.asked, run))

    @cache  # noqa: B019 - a pool lives as long as one answer
    def mentioned(self, sentence: Sentence) -> frozenset[int]:
        """Return the other documents whose titles a sentence names."""
        others = ((number, subject_of(one.title)) for number, one in self.documents.items())
        return frozenset(n for n, title in others if n != sentence.number and mentions(sentence.text, title))

    @cache  # noqa: B019
    def names_in(self, sentence: Sentence) -> frozenset[str]:
        """Return the names in a sentence, and the subject of its document, that the request does not hold."""
        known = frozenset(tokens(self.asked))
        told = (
            tuple(tokens(name)) for name in (*names(sentence.text), subject_of(self.documents[sentence.number].title))
        )
        return frozenset(
            " ".join(words)
            for words in told
            if words and not known.issuperset(words) and not all(map(str.isdigit, words))
        )

    @cached_property
    def name_counts(self) -> Counter[str]:
        """In how many documents each of these names stands."""
        found = {(name, one.number) for one in self.sentences for name in self.names_in(one)}
        return Counter(name for name, _ in found)

    def _indexed(self) -> dict[str, set[int]]:
        index: dict[str, set[int]] = defaultdict(set)
        languages = {*self._languages.values(), ""}
        for place, word in enumerate(self.words):
            for language in languages:
                for key in _keys(word, language):
                    index[key].add(place)
        vocabulary = self._vocabulary
        keys = {key for word in vocabulary for key in _keys(word, "")}
        for place, word in enumerate(self.words):
            if len(word) >= FEWEST_LETTERS and word.isalpha() and not any(key in keys for key in _keys(word, "")):
                near = [one for one in vocabulary if one[0] == word[0] and abs(len(one) - len(word)) <= 2]
                for like in difflib.get_close_matches(word, near, n=1, cutoff=ALIKE):
                    for key in _keys(like, ""):
                        index[key].add(place)
        return index

    @cached_property
    def _vocabulary(self) -> list[str]:
        return sorted(
            {
                word
                for document in self.documents.values()
                for text in (document.title, *document.texts)
                for word in sought_words(text)
                if word.isalpha()
            }
        )

    def _held(self, text: str, number: int) -> frozenset[int]:
        return frozenset(place for key in _keys_of(text, self._languages[number]) for place in self._index.get(key, ()))

    def _sentences(self, number: int) -> Iterable[Sentence]:
        title = self.documents[number].title.strip(" .")
        for place, unit in enumerate(self._units[number]):
            if unit.text.strip(" .") == title:
                continue
            own = self._held(" ".join((unit.text, *unit.header)), number)
            meant = unit.before if points_back(unit.text) else ""
            around = self._held(f"{unit.heading} {unit.lead} {meant}", number) | self._titled[number]
            tells = self._held(" ".join(unit.cells), number) if unit.cells else own
            yield Sentence(number, place, unit, own, around - own, holds(self.kind, unit.text, self.asked), tells)

    def _weighed(self, total: int) -> list[float]:
        in_names = {word for name in self.names for word in tokens(name)}
        found = []
        for place, word in enumerate(self.words):
            count = self.counts[place]
            rarity = math.log(1 + (total - count + 0.5) / (count + 0.5))
            found.append(rarity if count or bare(word) in in_names else rarity * UNSEEN)
        mean = sum(found) / len(found) if found else 0.0
        mixed = [FLAT * mean + (1 - FLAT) * one for one in found]
        if self.own_count > 1:
            mixed = [one * (1 if place < self.own_count else CONTEXT) for place, one in enumerate(mixed)]
        whole = sum(mixed) or 1.0
        return [one / whole for one in mixed]


def content_words(text: str) -> list[str]:
    """Return the different words of a request that carry meaning, in order."""
    plain = _GROUPED.sub("", text)
    words = sought_words(plain)
    language = language_by_words(words, IN_QUESTION)
    known = (
        QUANTITIES
        | FUNCTION_WORDS["en"]
        | FUNCTION_WORDS.get(language, frozenset())
        | {bare(one) for one in common_words().get(language, ())}
    )
    in_names = {word for name in names(text) for word in tokens(name)}
    found: dict[str, str] = {}
    for word in words:
        if bare(word) not in known and (word not in GENERIC_WORDS or bare(word) in in_names):
            found.setdefault(stem(bare(word)), word)
    return list(found.values())


def _words(asked: str, context: str) -> tuple[list[str], int]:
    """Return the words that are asked for and how many there are, then those of the context."""
    own = content_words(asked)
    known = {stem(bare(word)) for word in own}
    further = [word for word in content_words(context) if stem(bare(word)) not in known]
    if not own and not further:
        own = list(dict.fromkeys(sought_words(asked)))
    return [*own, *further], len(own)


def _each_once(document: Document) -> list[Unit]:
    found: dict[tuple[str, str], Unit] = {}
    for text in document.texts:
        for unit in units_of(text):
            found.setdefault((unit.text, unit.before), unit)
    return list(found.values())


def _language(document: Document) -> str:
    return language_by_words(sought_words(" ".join(document.texts)[:4000]), IN_TEXT)


@lru_cache(maxsize=100_000)
def _keys(word: str, language: str) -> frozenset[str]:
    """Return what a word counts as: its stem by the rules of English, and by those of the language of its text."""
    return frozenset((*(stem(one) for one in tokens(word)), index_term(word, ""), index_term(word, language)))


@lru_cache(maxsize=20_000)
def _keys_of(text: str, language: str) -> frozenset[str]:
    words = sought_words(_GROUPED.sub("", text))
    return frozenset[str]().union(*(_keys(word, language) for word in words))
