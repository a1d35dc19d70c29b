"""Finds learnings that cannot both hold, without a model; it rather misses one than names a false one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ...records.plan import Learning
from ..text.cues import (
    ANAPHORS,
    CHANGING,
    DATING,
    EVENTS,
    FILLERS,
    INDEFINITE,
    LABELLED,
    LIFE,
    NEGATIONS,
    NUMBER_WORDS,
    PAST,
    PRESENT,
    PRONOUNS,
    RELATIONS,
    RESTRICTING,
    RESTRICTING_STEMS,
    ROUGH_DATES,
    SAME,
    SINCE,
    UNITS,
    UNSURE,
    VAGUE,
)
from ..text.likeness import NEAR, inner_names, likeness, whole_negations
from ..text.sentences import sentences_of
from ..text.words import STOP_WORDS, stem, tokens
from .amounts import NOTHING, UNIT_SIGNS, Amount, Piece, When, amounts_of, pieces_of

_SPANS = {"-", "–", "—", "to", "bis"}
_JOINERS = {*_SPANS, "/", "and", "until", "till", "or", "und", "oder", "et", "y"}


class Date(NamedTuple):
    """A day, a month or a year."""

    time: When
    relation: str
    """Whether it is when something was, or the begin or the end of what lasted: `in`, `since`, `until`."""

    def excludes(self, other: Date) -> bool:
        """Whether both cannot be the same day; a year does not exclude a day in it."""
        mine, theirs = self.time, other.time
        if mine.last < theirs.first or theirs.last < mine.first:
            return True
        return any(one != two for one, two in zip(mine[2:], theirs[2:], strict=True) if one and two)


class Quantity(NamedTuple):
    """How much or how many, or from how much to how much."""

    low: float
    high: float
    step: float
    """How exactly it is said: 10⁵ for 1.2 million, 1 for 38, 100 for 4,300."""
    unit: str
    """What is counted: a unit, or the stem of the word behind the number; empty if none is."""
    relation: str
    """The word before it, where it says what the number does: by, to, per …"""

    def excludes(self, other: Quantity) -> bool:
        """Whether both cannot be the same number; one may be the other rounded."""
        return max(self.low - other.high, other.low - self.high) > max(self.step, other.step) / 2


class Figures(NamedTuple):
    """What a sentence says in numbers."""

    dates: tuple[Date, ...]
    quantities: tuple[Quantity, ...]
    labels: frozenset[str]
    """Numbers that name something: the 1998 cup, Route 66, 3 May."""
    rest: str
    """The other words."""
    is_clear: bool
    """Whether all of its numbers could be read, and none is a rough one or belongs to a span of years."""


class _Reader:
    """Reads the amounts of a sentence from left to right."""

    def __init__(self, sentence: str) -> None:
        plain = " ".join(sentence.split())
        self._plain = plain
        self._pieces = pieces_of(plain)
        self._amounts = {amount.first: amount for amount in amounts_of(self._pieces)}
        self._dates: list[Date] = []
        self._quantities: list[Quantity] = []
        self._labels: set[str] = set()
        self._rest: list[str] = []
        self._is_clear = True

    def read(self) -> Figures:
        """Read all."""
        place = 0
        while place < len(self._pieces):
            amount = self._amounts.get(place)
            if amount is None:
                self._rest += [self._pieces[place].raw] * (self._pieces[place].kind in ("word", "wide"))
                place += 1
            else:
                place = (self._date if amount.times else self._number)(amount)
        labels, rest = frozenset(self._labels), " ".join(self._rest)
        return Figures(tuple(self._dates), tuple(self._quantities), labels, rest, self._is_clear)

    def _at(self, place: int) -> Piece:
        return self._pieces[place] if 0 <= place < len(self._pieces) else NOTHING

    def _date(self, amount: Amount) -> int:
        """Take a date; returns the place behind it."""
        before, behind, time = self._at(amount.first - 1).word, amount.last + 1, amount.times[0]
        if not time.first:
            self._labels.add(self._raw(amount).lower())
        elif amount.values and before not in DATING and _is_content(self._at(behind)):
            self._labels.add(self._raw(amount))
        else:
            self._dates.append(Date(time, SINCE.get(before, "in")))
            joiner, following = self._at(behind).word or self._at(behind).raw, self._amounts.get(behind + 1)
            is_span = joiner in _JOINERS and following is not None
            self._is_clear &= not is_span and before not in ROUGH_DATES and len(amount.times) == 1
        return behind

    def _number(self, amount: Amount) -> int:
        """Take a number, with another one if both are a span; returns the place behind it."""
        before = self._at(amount.first - 1)
        sign = UNIT_SIGNS.get(before.raw, "")
        before = self._at(amount.first - 2) if sign else before
        if _is_named(before):
            self._labels.add(f"{before.word} {self._raw(amount).lower()}")
            return amount.last + 1
        last = self._end_of_span(amount, before.word)
        behind = self._at(last.last + 1)
        unit, place = (sign, last.last + 1) if sign else self._unit(last)
        is_plain = len(amount.values) == len(last.values) == 1 and behind.raw != "+"
        if (
            amount.is_rough
            or before.word in VAGUE
            or not is_plain
            or (last is not amount and last.values <= amount.values)
        ):
            self._is_clear = False
        else:
            relation = before.word if before.word in RELATIONS else ""
            self._quantities.append(Quantity(amount.values[0], last.values[0], amount.step, unit, relation))
        return place

    def _end_of_span(self, amount: Amount, before: str) -> Amount:
        """The other end of a span that a number begins; the number itself if it begins none."""
        joiner, last = self._at(amount.last + 1), self._amounts.get(amount.last + 2)
        words = joiner.word or joiner.raw
        if last is None or last.times or not last.values:
            return amount
        if words in _SPANS or (words == "and" and before == "between"):
            return last
        self._is_clear &= words not in {"/", "or", "oder"}
        return amount

    def _unit(self, amount: Amount) -> tuple[str, int]:
        """What is counted, and the place behind it."""
        place = amount.last + 1
        place += self._at(place).raw == "-" and _is_content(self._at(place + 1))
        piece = self._at(place)
        if not (_is_content(piece) or piece.raw in UNIT_SIGNS):
            return amount.unit, place
        word = UNIT_SIGNS.get(piece.raw) or UNITS.get(piece.word, piece.word)
        self._rest.append(word)
        return (amount.unit or (word if word in UNITS else stem(word))), place + 1

    def _raw(self, amount: Amount) -> str:
        return self._plain[self._pieces[amount.first].start : self._pieces[amount.last].end]


def figures_in(sentence: str) -> Figures:
    """The numbers and dates of a sentence, and its other words."""
    return _Reader(sentence).read()


def _is_content(piece: Piece) -> bool:
    return piece.kind == "word" and piece.word not in STOP_WORDS


def _is_named(before: Piece) -> bool:
    if before.kind != "word":
        return False
    is_name = before.raw[0].isupper() and before.word not in STOP_WORDS | VAGUE | RELATIONS
    return is_name or before.word in LABELLED


_NO_STATEMENT = re.compile(r"^#|\||[?:;]$|: |\n|\bmay\b|https?://")
_SOFT_NEGATION = re.compile(
    r"\b(?:not|no|never|nicht|kein\w*|pas)\s+(?:only|just|merely|simply|solely|all|every\w*|always|necessarily|until|yet|"
    r"least|more|fewer|less|later|longer|earlier|sooner|others?|one|doubt|fully|entirely|completely|quite|very|exactly|"
    r"far|before|again|know|known|clear|nur|alle\w*|immer|mehr|bis|erst|ganz|tous|toujours|encore)\b|"
    r"\bwithout\s+(?:doubt|question|exception)\b",
    re.IGNORECASE,
)
_NAMED_ELSEWHERE = re.compile(
    r"^The (?:film|movie|book|novel|song|album|single|series|show|game|play|story|company|station|outlet|club|team|"
    r"band|school|village|town|city|district|competition|tournament|season|event|building|ship|report|study|author|"
    r"article) "
    r"(?!of\b|in\b|at\b|on\b|by\b|called\b|named\b)[a-z]"
)
_TRAPS = (_NO_STATEMENT, _NAMED_ELSEWHERE, _SOFT_NEGATION)
_TENSES = {"past": PAST, "present": PRESENT}
_RUNNING_WORD = re.compile(r"(?<!\w)[^\W\d_A-Z]{2}")
_NUMBER_SIGN = re.compile(r"\bNo\.\s?(?=\d)")
_PER_CENT = re.compile(r"\bper cent\b")
_FIRST = re.compile(r"\bfirst (\w+)")
_FEWEST_WORDS = 2


class Claim(NamedTuple):
    """A sentence of a learning, in parts that can be compared."""

    learning: Learning
    words: frozenset[str]
    """Stems of what it says, without numbers, negations and words that can be left out."""
    names: frozenset[str]
    """Those of its words that are names, as far as they do not begin it."""
    figures: Figures
    is_negated: bool
    tenses: frozenset[str]
    """Whether it speaks of the past or the present: `past`, `present`; both or none where that cannot be told."""
    events: frozenset[str]
    """Those of its words that name what happens to a thing once."""
    is_of_one: bool
    """Whether these happen to one certain thing or person."""


def claims_of(learning: Learning) -> list[Claim]:
    """The sentences of a learning that state something for certain, and understandably without their neighbours."""
    claims = (_claim(learning, sentence.text) for sentence in sentences_of(learning.text))
    return [claim for claim in claims if claim]


def _claim(learning: Learning, text: str) -> Claim | None:
    plain = _PER_CENT.sub("percent", _NUMBER_SIGN.sub("number ", whole_negations(_FIRST.sub(_without_first, text))))
    spoken, names, figures = tokens(plain), inner_names(plain), figures_in(plain)
    words = frozenset(_words(figures.rest))
    if not (_is_statement(plain, spoken, names) and figures.is_clear and len(words) >= _FEWEST_WORDS):
        return None
    events = words & EVENTS
    return Claim(
        learning=learning,
        words=words,
        names=frozenset(SAME.get(name, name) for name in names) & words,
        figures=figures,
        is_negated=not NEGATIONS.isdisjoint(spoken),
        tenses=frozenset(name for name, cues in _TENSES.items() if not cues.isdisjoint(spoken)),
        events=events,
        is_of_one=bool(events & LIFE) or INDEFINITE.isdisjoint(spoken),
    )


def _is_statement(plain: str, spoken: Sequence[str], names: Collection[str]) -> bool:
    if not _RUNNING_WORD.search(plain) or any(trap.search(plain) for trap in _TRAPS):
        return False
    if sum(word in NEGATIONS for word in spoken) > 1 or not UNSURE.isdisjoint(spoken):
        return False
    return PRONOUNS.isdisjoint(spoken[:1]) and (bool(names) or ANAPHORS.isdisjoint(spoken))


def _words(text: str) -> list[str]:
    return [SAME.get(stem(word), stem(word)) for word in tokens(text) if _carries_meaning(word)]


def _carries_meaning(word: str) -> bool:
    if word in RESTRICTING:
        return True
    return len(word) > 1 and not any(word in idle for idle in (STOP_WORDS, NEGATIONS, NUMBER_WORDS, FILLERS, VAGUE))


def _without_first(match: re.Match[str]) -> str:
    word = stem(match.group(1).lower())
    return match.group(1) if SAME.get(word, word) in EVENTS else match.group()


ALIKE = 0.6
"""Likeness of their words from which on two claims are taken to speak of the same thing."""
LONGER = 0.4
"""The same where one claim says all that the other says, in at least `MANY` words, and more."""
MANY = 4


def contradicting(learnings: Sequence[Learning]) -> list[tuple[Learning, Learning]]:
    """Pairs of learnings from different sources of which at most one is true, each pair once, in the order of
    their words.

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
    """Pairs of claims, the second of which has all words of the first."""
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
    if part.figures.quantities or whole.figures.quantities:
        return _count_differently(part, whole)
    return _date_differently(part, whole)


def _are_of_one_thing(part: Claim, whole: Claim) -> bool:
    further = whole.words - part.words
    if part.figures.labels != whole.figures.labels or not RESTRICTING_STEMS.isdisjoint(further):
        return False
    is_long = len(part.words) >= MANY
    if further & whole.names and (part.names or not is_long):
        return False
    return likeness(part.words, whole.words) >= (LONGER if is_long else ALIKE)


def _deny(part: Claim, whole: Claim) -> bool:
    # What is denied of a part of the cases is not denied of all: the longer claim must be the positive one.
    if part.figures[:3] != whole.figures[:3] or (whole.is_negated and whole.words != part.words):
        return False
    return not _differ_in_tense(part, whole) and likeness(part.words, whole.words) >= NEAR


def _date_differently(part: Claim, whole: Claim) -> bool:
    dates, others = part.figures.dates, whole.figures.dates
    if len(dates) != len(others) or part.events != whole.events or not dates:
        return False
    relations = {date.relation for date in dates}
    if relations != {date.relation for date in others}:
        return False
    is_once = bool(part.events) and part.is_of_one and whole.is_of_one
    return (is_once or "in" not in relations) and all(one.excludes(other) for one in dates for other in others)


def _count_differently(part: Claim, whole: Claim) -> bool:
    years, others = ({date.time.first for date in claim.figures.dates} for claim in (part, whole))
    if (years and others and years != others) or _differ_in_tense(part, whole):
        return False
    if (years != others or not part.names) and not CHANGING.isdisjoint(part.words):
        return False
    counted = {(quantity.unit, quantity.relation) for quantity in part.figures.quantities}
    return any(_differ_in(kind, part, whole) for kind in counted)


def _differ_in(kind: tuple[str, str], part: Claim, whole: Claim) -> bool:
    ours, theirs = (
        [quantity for quantity in claim.figures.quantities if (quantity.unit, quantity.relation) == kind]
        for claim in (part, whole)
    )
    return bool(theirs) and all(one.excludes(other) for one in ours for other in theirs)


def _differ_in_tense(part: Claim, whole: Claim) -> bool:
    return len(part.tenses) == len(whole.tenses) == 1 and part.tenses != whole.tenses
