"""Finds learnings that cannot both hold, without a model; it would rather miss one than name a false one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...records.plan import Learning
from ..text.sentences import sentences_of
from ..text.similarity import NEAR, expand_negations, inner_names, jaccard
from ..text.words import NEGATIONS, NUMBER_WORDS, STOP_WORDS, THIRD_PERSONS, UNSURE, stem, tokens, word_tables
from .amounts import NOTHING, UNIT_SIGNS, UNITS, VAGUE, Amount, Piece, When, amounts_of, pieces_of
from .terms import SOFTENING

_WORDS = {name: frozenset(tokens(words)) for name, words in word_tables(__package__).items()}
RELATIONS = _WORDS["relations"]
"""Words before a number that say what it does."""
EVENTS, LIFE = (frozenset(map(stem, _WORDS[name])) for name in ("events", "life"))
"""What as a rule happens to a thing once, and to nobody twice."""
CHANGING = frozenset(map(stem, _WORDS["changing"]))
"""What has another number every year."""
RESTRICTING = frozenset(map(stem, _WORDS["restricting"]))
"""Words that narrow down what a statement is about."""
_OPEN_ENDED = _WORDS["open_ended"]
"""Words before a date that make it the end or the beginning of a time."""
_TENSES = ("past", "present")
_INDEFINITE = _WORDS["indefinite"]
_SPANS = {"-", "–", "—", "to", "bis"}
_ALTERNATIVES = {"/", "or", "oder"}
_JOINERS = _SPANS | _ALTERNATIVES | {"and", "und", "et", "y"}
_NO_STATEMENT = re.compile(r"^#|\||[?:;]$|: |\n|\bmay\b|https?://")
_RUNNING_WORD = re.compile(r"(?<!\w)[^\W\d_A-Z]{2}")
_NAMED_ELSEWHERE = re.compile(
    r"^The (?:film|movie|book|novel|song|album|single|series|show|game|play|story|company|station|outlet|club|team|"
    r"band|school|competition|tournament|season|event|report|study|author|article) "
    r"(?!of\b|in\b|at\b|on\b|by\b|called\b|named\b)[a-z]"
)
_FEWEST_WORDS = 2
ALIKE = 0.6
"""Likeness of their words from which on two claims are about the same thing."""
LONGER = 0.4
"""The same where one claim says all that the other says, in at least `MANY` words, and more."""
MANY = 4


class Quantity(NamedTuple):
    """How much or how many, or from how much to how much."""

    low: float
    high: float
    step: float
    """How exactly it is given: 10⁵ for 1.2 million, 1 for 38, 100 for 4,300."""
    unit: str
    """What is counted: a unit, or the stem of the word after the number; empty if there is none."""
    relation: str
    """The word of `RELATIONS` before it."""

    def excludes(self, other: Quantity) -> bool:
        """Whether both cannot be the same number, even if one is the other rounded."""
        return max(self.low - other.high, other.low - self.high) > max(self.step, other.step) / 2


class Numbers(NamedTuple):
    """The numbers of a sentence by what they do."""

    dates: tuple[When, ...]
    quantities: tuple[Quantity, ...]
    labels: frozenset[str]
    """Numbers that name something: the 1998 cup, Route 66, 3 May."""
    rest: str
    """The other words."""
    is_clear: bool
    """Whether all of its numbers could be read, and none is rough or belongs to a span of years."""


class _Reader:
    """Reads the numbers of a sentence from left to right."""

    def __init__(self, sentence: str) -> None:
        self._text = " ".join(sentence.split())
        self._pieces = pieces_of(self._text)
        self._amounts = {amount.first: amount for amount in amounts_of(self._pieces)}
        self._dates: list[When] = []
        self._quantities: list[Quantity] = []
        self._labels: set[str] = set()
        self._rest: list[str] = []
        self._is_clear = True

    def read(self) -> Numbers:
        place = 0
        while place < len(self._pieces):
            amount, piece = self._amounts.get(place), self._pieces[place]
            if amount is None:
                self._rest += [piece.raw] * (piece.kind in ("word", "wide"))
                place += 1
            else:
                place = (self._date if amount.times else self._number)(amount)
        labels, rest = frozenset(self._labels), " ".join(self._rest)
        return Numbers(tuple(self._dates), tuple(self._quantities), labels, rest, self._is_clear)

    def _at(self, place: int) -> Piece:
        return self._pieces[place] if 0 <= place < len(self._pieces) else NOTHING

    def _raw(self, amount: Amount) -> str:
        return self._text[self._pieces[amount.first].start : self._pieces[amount.last].end]

    def _date(self, amount: Amount) -> int:
        """Take a date; returns the place behind it."""
        before, behind, time = self._at(amount.first - 1).word, amount.last + 1, amount.times[0]
        is_name = bool(amount.values) and before not in RELATIONS and _is_content(self._at(behind))
        if is_name or not time.first:
            self._labels.add(self._raw(amount).lower())
        else:
            self._dates.append(time)
            joiner = self._at(behind).word or self._at(behind).raw
            is_span = joiner in _JOINERS and behind + 1 in self._amounts
            self._is_clear &= not is_span and before not in VAGUE | _OPEN_ENDED and len(amount.times) == 1
        return behind

    def _number(self, amount: Amount) -> int:
        """Take a number, with another one if both are a span; returns the place behind it."""
        sign = UNIT_SIGNS.get(self._at(amount.first - 1).raw, "")
        before = self._at(amount.first - 1 - bool(sign))
        if before.raw[:1].isupper() and before.word not in STOP_WORDS | VAGUE | RELATIONS:
            self._labels.add(f"{before.word} {self._raw(amount).lower()}")
            return amount.last + 1
        last = self._end_of_span(amount, before.word)
        unit, place = (sign, last.last + 1) if sign else self._unit(last)
        is_exact = len(amount.values) == len(last.values) == 1 and not amount.is_rough and before.word not in VAGUE
        if is_exact and (last is amount or last.values > amount.values):
            relation = before.word if before.word in RELATIONS else ""
            self._quantities.append(Quantity(amount.values[0], last.values[0], amount.step, unit, relation))
        else:
            self._is_clear = False
        return place

    def _end_of_span(self, amount: Amount, before: str) -> Amount:
        """Return the other end of a span that a number begins; the number itself if it begins none."""
        joiner, last = self._at(amount.last + 1), self._amounts.get(amount.last + 2)
        words = joiner.word or joiner.raw
        if last is None or last.times or not last.values:
            return amount
        if words in _SPANS or (words == "and" and before == "between"):
            return last
        self._is_clear &= words not in _ALTERNATIVES
        return amount

    def _unit(self, amount: Amount) -> tuple[str, int]:
        """Return what is counted, and the place behind it."""
        place = amount.last + 1
        place += self._at(place).raw == "-" and _is_content(self._at(place + 1))
        piece = self._at(place)
        if not (_is_content(piece) or piece.raw in UNIT_SIGNS):
            return amount.unit, place
        word = UNIT_SIGNS.get(piece.raw) or UNITS.get(piece.word, piece.word)
        self._rest.append(word)
        return (amount.unit or (word if word in UNITS else stem(word))), place + 1


def numbers_in(sentence: str) -> Numbers:
    """Return the numbers and dates of a sentence, and its other words."""
    return _Reader(sentence).read()


def _is_content(piece: Piece) -> bool:
    return piece.kind == "word" and piece.word not in STOP_WORDS


class Claim(NamedTuple):
    """A sentence of a learning, in parts that can be compared."""

    learning: Learning
    words: frozenset[str]
    """Stems of what it says, without numbers and negations."""
    names: frozenset[str]
    """Those of its words that are names, if they do not begin it."""
    numbers: Numbers
    is_negated: bool
    tenses: frozenset[str]
    """Whether it speaks of the past or the present: `past`, `present`; both or none where that is not clear."""
    events: frozenset[str]
    """Those of its words that name what happens to a thing once."""
    is_of_one: bool
    """Whether these happen to one certain thing or person."""


def claims_of(learning: Learning) -> list[Claim]:
    """Return the sentences of a learning that state something for certain, and can be understood by themselves."""
    claims = (_claim(learning, sentence.text) for sentence in sentences_of(learning.text))
    return [claim for claim in claims if claim]


def _claim(learning: Learning, text: str) -> Claim | None:
    plain = expand_negations(text)
    spoken, names, numbers = tokens(plain), inner_names(plain), numbers_in(plain)
    words = frozenset(map(stem, filter(_carries_meaning, tokens(numbers.rest))))
    if not (_is_statement(plain, spoken, names) and numbers.is_clear and len(words) >= _FEWEST_WORDS):
        return None
    events = words & EVENTS
    return Claim(
        learning=learning,
        words=words,
        names=names & words,
        numbers=numbers,
        is_negated=not NEGATIONS.isdisjoint(spoken),
        tenses=frozenset(name for name in _TENSES if not _WORDS[name].isdisjoint(spoken)),
        events=events,
        is_of_one=bool(events & LIFE) or _INDEFINITE.isdisjoint(spoken),
    )


def _is_statement(plain: str, spoken: Sequence[str], names: Collection[str]) -> bool:
    if not _RUNNING_WORD.search(plain) or _NO_STATEMENT.search(plain) or _NAMED_ELSEWHERE.search(plain):
        return False
    if sum(word in NEGATIONS for word in spoken) > 1 or not UNSURE.isdisjoint(spoken):
        return False
    if any(word in NEGATIONS and following in SOFTENING for word, following in pairwise(spoken)):
        return False
    # Who or what a pronoun stands for is said elsewhere.
    return THIRD_PERSONS.isdisjoint(spoken[:1] if names else spoken)


def _carries_meaning(word: str) -> bool:
    return len(word) > 1 and not any(word in idle for idle in (STOP_WORDS, NEGATIONS, NUMBER_WORDS, VAGUE))


def contradicting(learnings: Sequence[Learning]) -> list[tuple[Learning, Learning]]:
    """Return pairs of learnings from different sources of which at most one is true, in the order of their words.

    Two sentences are compared only if the words of the one are among those of the other, and neither is doubtful, rough
    or about another thing by its names. They contradict each other if exactly one is negated; if they give different
    dates of what happens once; or if they count or measure the same differently, for the same time.
    """
    claims = [claim for one in {one.id: one for one in learnings if one.source}.values() for claim in claims_of(one)]
    found: dict[tuple[str, str], tuple[Learning, Learning]] = {}
    for part, whole in _candidates(claims):
        if part.learning.source != whole.learning.source and _exclude(part, whole):
            first, second = sorted((part.learning, whole.learning), key=lambda learning: (learning.text, learning.id))
            found[first.id, second.id] = (first, second)
    return sorted(found.values(), key=lambda pair: [(one.text, one.id) for one in pair])


def _candidates(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Yield pairs of claims, the second of which has all words of the first."""
    holders: dict[str, set[int]] = defaultdict(set)
    for place, claim in enumerate(claims):
        for word in claim.words:
            holders[word].add(place)
    for place, claim in enumerate(claims):
        for other in set.intersection(*sorted((holders[word] for word in claim.words), key=len)):
            if len(claims[other].words) > len(claim.words) or other > place:
                yield claim, claims[other]


def _exclude(part: Claim, whole: Claim) -> bool:
    if not _are_of_one_thing(part, whole):
        return False
    if part.is_negated != whole.is_negated:
        return _deny(part, whole)
    if part.is_negated:
        return False
    if part.numbers.quantities or whole.numbers.quantities:
        return _count_differently(part, whole)
    return _date_differently(part, whole)


def _are_of_one_thing(part: Claim, whole: Claim) -> bool:
    further = whole.words - part.words
    if part.numbers.labels != whole.numbers.labels or not RESTRICTING.isdisjoint(further):
        return False
    is_long = len(part.words) >= MANY
    if further & whole.names and (part.names or not is_long):
        return False
    return jaccard(part.words, whole.words) >= (LONGER if is_long else ALIKE)


def _deny(part: Claim, whole: Claim) -> bool:
    # What is denied of some cases is not denied of all: the longer claim must be the positive one.
    if part.numbers[:3] != whole.numbers[:3] or (whole.is_negated and whole.words != part.words):
        return False
    return not _differ_in_tense(part, whole) and jaccard(part.words, whole.words) >= NEAR


def _date_differently(part: Claim, whole: Claim) -> bool:
    dates, others = part.numbers.dates, whole.numbers.dates
    if not dates or len(dates) != len(others) or not part.events or part.events != whole.events:
        return False
    is_once = part.is_of_one and whole.is_of_one
    return is_once and all(_are_different_days(one, other) for one in dates for other in others)


def _are_different_days(one: When, other: When) -> bool:
    """Whether both cannot be the same day; a year does not exclude a day in it."""
    if one.last < other.first or other.last < one.first:
        return True
    return any(mine != theirs for mine, theirs in zip(one[2:], other[2:], strict=True) if mine and theirs)


def _count_differently(part: Claim, whole: Claim) -> bool:
    years, others = ({date.first for date in claim.numbers.dates} for claim in (part, whole))
    if (years and others and years != others) or _differ_in_tense(part, whole):
        return False
    if (years != others or not part.names) and not CHANGING.isdisjoint(part.words):
        return False
    counted = {(quantity.unit, quantity.relation) for quantity in part.numbers.quantities}
    return any(_differ_in(kind, part, whole) for kind in counted)


def _differ_in(kind: tuple[str, str], part: Claim, whole: Claim) -> bool:
    ours, theirs = (
        [quantity for quantity in claim.numbers.quantities if (quantity.unit, quantity.relation) == kind]
        for claim in (part, whole)
    )
    return bool(theirs) and all(one.excludes(other) for one in ours for other in theirs)


def _differ_in_tense(part: Claim, whole: Claim) -> bool:
    return len(part.tenses) == len(whole.tenses) == 1 and part.tenses != whole.tenses
