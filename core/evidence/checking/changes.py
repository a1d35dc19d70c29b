"""Tells by rules what a new text of a source means for a part of a report that cites it.

What stands in the new text word for word holds, wherever it stands there. Else the passage is laid beside the one that
took its place, and only what tells in both counts: figures, names, negations, opposites, and the words of a quote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import product
from typing import Literal, NamedTuple

from ..citations.markers import Marker
from ..citations.scanner import scan
from ..text.sentences import LINE_MARK
from ..text.wording import Word, Wording, edits, likeness, words_of
from ..text.words import UNSURE
from .amounts import plain
from .conflicts import HEADS, SCOPE, denied
from .figures import Figures
from .score import Check, best_passage, stands_in
from .source_text import Evidence, SourceText
from .terms import Term, are_opposite, has_meaning, terms_of
from .units import Unit

LIKE = 0.5
"""Share of the words of two passages that they have in common, from which on one took the place of the other."""
FEWEST = 3
"""Words of a sentence from which on it is known again; what is shorter stands in many places."""
LONGER = 2
"""Sentences at most that take the place of one."""
ALSO = 0.05
"""How much worse another passage may support a part, where the one that it rested on is gone."""
ONE_WORD = 0.8
"""Likeness of two words that begin alike, from which on they are one word, spelled or inflected otherwise."""

NOTHING = Check("unchecked", 0.0, "", 0, 0, ())
Kind = Literal["figure", "name", "negation", "opposite", "certainty", "words", "gone"]
REASONS: dict[Kind, str] = {
    "figure": "the source gives another figure or date now",
    "name": "the source names somebody or something else now",
    "negation": "the source denies now what it did not deny, or no longer denies it",
    "opposite": "the source says the opposite now",
    "certainty": "the source says it as more, or less, certain now",
    "words": "the source words it otherwise now; whether it says the same is left to the reader",
    "gone": "the source no longer says it",
}


class Change(NamedTuple):
    """What a source says now in the place of what a part of a report rests on."""

    before: str
    """The passage that it rested on; empty if that is not known."""
    now: str
    """The passage in its place; empty if the source says nothing of it any more."""
    reason: str
    """What is different, in words for the reader."""
    says: str = ""
    """The part as it would have to stand in the report, with its markers; empty if that is not known."""


class Comparison:
    """The texts of one source as they were read for the report, beside those that are read now."""

    def __init__(self, before: Sequence[SourceText], now: Sequence[SourceText]) -> None:
        """Take the whole text of each time, or the excerpts that were shown."""
        self._before, self._now = [one.evidence for one in before], [one.evidence for one in now]

    def change(self, unit: Unit) -> Change | None:
        """Return what has changed for a part of the report; none if it holds as it did."""
        if any(stands_in(unit.text, one) for one in self._now):
            return None
        quote, now, kind = next(self._differences(unit), ("", "", None))
        if kind is None:
            lost = next(self._lost(unit), "")
            if not lost:
                return None
            quote = self._with(lost, unit)
            now, kind = self.counterpart(quote), "figure" if any(map(str.isdigit, lost)) else "name"
        says = _quoted_anew(unit, quote, now) or _substituted(unit, quote, now)
        return Change(quote, now, REASONS[kind], says)

    def _differences(self, unit: Unit) -> Iterator[tuple[str, str, Kind]]:
        """Yield the sentences that it rests on and that tell otherwise now, with those in their place, and in what."""
        for quote in self.quotes(unit):
            now = self.counterpart(quote)
            if kind := self._kind(unit, quote, now):
                yield quote, now, kind

    def looks_the_same(self, unit: Unit, most: int) -> bool:
        """Whether the `most` passages that say most about a part of the report are those that did before."""
        return self._nearest(unit, self._before, most) == self._nearest(unit, self._now, most)

    def pair(self, unit: Unit, words: str = "") -> tuple[str, str]:
        """Return the passage that a part of the report rested on, and the one in its place, which holds these words."""
        quotes = self.quotes(unit)
        quote = next((one for one in quotes if self.counterpart(one) != one), quotes[0] if quotes else "")
        held = self._with(words, unit, is_now=True) if words else ""
        return quote, held or self.counterpart(quote)

    def quotes(self, unit: Unit) -> list[str]:
        """Return the sentences that a part of the report rested on."""
        check, evidence = self._best(unit.text, self._before)
        own = [
            evidence.text[one.start : one.end]
            for one in evidence.passages
            if one.start < check.end and check.start < one.end
        ]
        return [one for one in own if len(words_of(one)) >= FEWEST] or own[:1]

    def is_new(self, text: str) -> bool:
        """Whether these words did not stand in a row in the source before."""
        return all(one.find(text) is None for one in self._wordings)

    def counterpart(self, quote: str) -> str:
        """Return the passage that is in the place of one that stood there before; empty if there is none."""
        if not quote:
            return ""
        for pair in zip(self._wordings_now, self._now, strict=True):
            if around := _around(*pair, quote):
                return around if self._qualified(quote, around) else quote
        wanted = words_of(quote)
        keys = Counter(one.key for one in wanted)
        best = (LIKE, 0, "")
        for place, (text, found, held) in enumerate(self._new_passages):
            # As much as both can have in common at most: to lay them beside each other takes much longer.
            most = 2 * (keys & held).total() / (len(wanted) + len(found))
            if most >= best[0]:
                best = max(best, (likeness(wanted, found), -place, text))
        return best[2]

    def _qualified(self, quote: str, around: str) -> Kind | None:
        """Return how the sentence around a quote takes it back, if it does and did not before."""
        before = next(
            (found for pair in zip(self._wordings, self._before, strict=True) if (found := _around(*pair, quote))),
            quote,
        )
        come = _without(terms_of(around), terms_of(before))
        if any(term.kind == "negation" for term in come):
            return "negation"
        return "certainty" if _hedged(come) else None

    @cached_property
    def _wordings(self) -> list[Wording]:
        return [Wording(one.text) for one in self._before]

    @cached_property
    def _wordings_now(self) -> list[Wording]:
        return [Wording(one.text) for one in self._now]

    @cached_property
    def _new_passages(self) -> list[tuple[str, list[Word], Counter[str]]]:
        """The rows of up to `LONGER` sentences of which one is new, each with its words and how often each stands."""
        rows = list[str]()
        for evidence, is_new in zip(self._now, self._are_new, strict=True):
            spans = evidence.passages
            for first in range(len(spans)):
                for last in range(first, min(first + LONGER, len(spans))):
                    if any(is_new[first : last + 1]):
                        rows.append(evidence.text[spans[first].start : spans[last].end])
        return [(row, words, Counter(one.key for one in words)) for row in rows if (words := words_of(row))]

    @cached_property
    def _are_new(self) -> list[list[bool]]:
        return [[self.is_new(one.text[span.start : span.end]) for span in one.passages] for one in self._now]

    def _kind(self, unit: Unit, quote: str, now: str) -> Kind | None:
        """Return in what the passage differs so that it tells for this part; none if it does not."""
        if quote and now == quote:
            return None
        if not now:
            return None if self._is_said_as_well(unit) else "gone"
        one, other = Wording(quote), Wording(now)
        if other.find(quote):
            return self._qualified(quote, now)
        if places := one.find(unit.text):
            return _telling(one.cut(places), other.cut(_mapped(one, other, places)))
        kind = _telling(quote, now, unit.text)
        return None if kind == "words" and self._is_said_as_well(unit) else kind

    def _is_said_as_well(self, unit: Unit) -> bool:
        """Whether the new texts support it as the old ones did, if somewhere else."""
        before, now = (self._best(unit.text, some)[0] for some in (self._before, self._now))
        return now.verdict == "supported" and now.score >= before.score - ALSO and not self._newly_missing(unit)

    def _newly_missing(self, unit: Unit) -> list[str]:
        """Return the figures that the source gave and gives no longer."""
        before, now = (
            Figures(unit.words, unit.text, unit.within, some, is_cell=unit.is_cell).missing()
            for some in (self._before, self._now)
        )
        return [one for one in now if one not in before]

    def _lost(self, unit: Unit) -> Iterator[str]:
        """Yield its figures and names that the source gave and gives nowhere any more."""
        yield from self._newly_missing(unit)
        before, now = (
            {word.key for one in some for word in one.words} for some in (self._wordings, self._wordings_now)
        )
        yield from (key for key in _figures(unit.text) if key in before - now)
        held, held_now = ({key for one in some for key in one.places} for some in (self._before, self._now))
        names = (term for term in terms_of(unit.text) if term.kind == "name" and not term.is_first)
        yield from (term.raw for term in names if term.key in held - held_now)

    def _with(self, words: str, unit: Unit, *, is_now: bool = False) -> str:
        """Return the sentence with these words that has most in common with a part of the report; empty if none."""
        texts = self._now if is_now else self._before
        spans = (one.text[span.start : span.end] for one in texts for span in one.passages)
        own = words_of(unit.text)
        return max(
            (one for one in spans if Wording(one).find(words)), key=lambda one: likeness(own, words_of(one)), default=""
        )

    @staticmethod
    def _best(claim: str, texts: Iterable[Evidence]) -> tuple[Check, Evidence]:
        checks = [(best_passage(claim, one), one) for one in texts]
        return max(checks, key=lambda pair: pair[0].score, default=(NOTHING, Evidence("")))

    @staticmethod
    def _nearest(unit: Unit, texts: Iterable[Evidence], most: int) -> set[tuple[str, ...]]:
        words = f"{unit.text} {unit.sentence}"
        return {
            tuple(word.key for word in words_of(one.text[window.start : window.end]))
            for one in texts
            for window in (one.windows.windows[number] for number in one.windows.best(words, most))
        }


def _around(wording: Wording, evidence: Evidence, quote: str) -> str:
    """Return the sentences in which the words of a quote stand in a row; empty if they do not."""
    places = wording.find(quote)
    if not places:
        return ""
    start, end = wording.words[places[0]].start, wording.words[places[-1]].end
    spans = [span for span in evidence.passages if span.start < end and start < span.end]
    return evidence.text[spans[0].start : spans[-1].end] if spans else evidence.text[start:end]


def _mapped(one: Wording, other: Wording, places: range) -> range:
    """Return the places in the other text that correspond to these places in the one."""
    first, end = 0, len(other.words)
    for kind, i1, i2, j1, j2 in edits(one.words, other.words):
        is_same = kind == "equal"
        if places.start and i1 <= places.start < i2:
            first = j1 + (places.start - i1 if is_same else 0)
        if places.stop < len(one.words) and i1 < places.stop <= i2:
            end = j1 + places.stop - i1 if is_same else j2
    return range(first, max(first, end))


def _telling(before: str, now: str, claim: str = "") -> Kind | None:
    """Return in what two passages differ; with a claim, only what it says itself counts."""
    one, other = terms_of(before), terms_of(now)
    gone, come = _without(one, other), _without(other, one)
    wanted = {term.key for term in terms_of(claim)}
    if wanted:
        gone = [term for term in gone if term.key in wanted]
    both = gone if wanted else [*gone, *come]
    figures, figures_now = _figures(before), _figures(now)
    changed = (figures - figures_now).keys() & _figures(claim).keys() if wanted else figures != figures_now
    if changed or any(term.amount and not _figures(term.raw) for term in both):
        return "figure"
    if _is_denied_otherwise(one, other, wanted):
        return "negation"
    beside = [*gone, *(term for term in one if term.key in wanted)]
    if any(are_opposite(term.raw, new.raw) for term, new in product(beside, come)):
        return "opposite"
    if any(term.kind == "name" and not term.is_first for term in _unlike(gone, come) if term in both):
        return "name"
    if not wanted and _names(one) != _names(other):
        return "name"
    if _is_hedged_otherwise(one, other, wanted):
        return "certainty"
    left = _unlike(gone, come)
    return "words" if any(term.kind in ("word", "name") and (not wanted or term in gone) for term in left) else None


def _figures(text: str) -> Counter[str]:
    return Counter(word.key for word in words_of(text) if any(map(str.isdigit, word.key)))


def _without(terms: Sequence[Term], others: Sequence[Term]) -> list[Term]:
    """Return the terms that the others lack, each as often as it is missing."""
    keys, held = [*map(_sameness, terms)], Counter(map(_sameness, others))
    blocks = SequenceMatcher(None, keys, [*map(_sameness, others)], autojunk=False).get_matching_blocks()
    beside = [place for block in blocks for place in range(block.a, block.a + block.size)]
    # Of several of one kind, those that stand in their places are not the ones that went.
    left = set(range(len(terms)))
    for place in dict.fromkeys([*beside, *left]):
        if held[keys[place]]:
            held[keys[place]] -= 1
            left.remove(place)
    return [terms[place] for place in sorted(left)]


def _sameness(term: Term) -> str:
    words = words_of(term.raw) if term.amount else ()
    return " ".join([*(word.key for word in words), term.amount.unit]) if words and term.amount else term.key


def _unlike(gone: Sequence[Term], come: Sequence[Term]) -> list[Term]:
    """Return the words that differ, without those that are only spelled otherwise."""
    words = ([term for term in some if term.kind == "word" and not term.amount] for some in (gone, come))
    spelled = [(one, other) for one, other in product(*words) if _is_one_word(one.raw, other.raw)]
    alike = {id(term) for pair in spelled for term in pair}
    return [term for term in (*gone, *come) if id(term) not in alike]


def _is_one_word(one: str, other: str) -> bool:
    return one[:1].casefold() == other[:1].casefold() and SequenceMatcher(None, one, other).ratio() >= ONE_WORD


def _is_denied_otherwise(before: Sequence[Term], now: Sequence[Term], wanted: set[str]) -> bool:
    """Whether only one of two passages denies something, of `wanted` terms if there are any."""
    one, other = ({key for heads in denied(terms) for key in heads} for terms in (before, now))
    count, count_now = (sum(term.kind == "negation" for term in terms) for terms in (before, now))
    return count != count_now and (not wanted or not wanted.isdisjoint(one ^ other))


def _is_hedged_otherwise(before: Sequence[Term], now: Sequence[Term], wanted: set[str]) -> bool:
    """The same for saying it as less than certain, or not of all."""
    one, other = _hedged(before), _hedged(now)
    if Counter(word for word, _ in one) == Counter(word for word, _ in other):
        return False
    return not wanted or any(not wanted.isdisjoint(heads) for _, heads in {*one} ^ {*other})


def _hedged(terms: Sequence[Term]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the words of doubt, each with the words behind it of which it speaks."""
    words = ((place, plain(term.raw)) for place, term in enumerate(terms))
    return [
        (word, tuple([one.key for one in terms[place + 1 : place + 1 + SCOPE] if has_meaning(one)][:HEADS]))
        for place, word in words
        if word in UNSURE
    ]


def _names(terms: Iterable[Term]) -> list[str]:
    return [term.key for term in terms if term.kind == "name" and not term.is_first]


def _quoted_anew(unit: Unit, quote: str, now: str) -> str:
    """Return a part that quotes its passage as it would quote the new one; empty if it does not quote it."""
    one, other = Wording(quote), Wording(now)
    places = one.find(unit.text) if now and not unit.is_cell else None
    words = other.cut(_mapped(one, other, places)) if places else ""
    if not words:
        return ""
    marker = next((part.raw for part in scan(unit.raw) if isinstance(part, Marker)), "")
    head = unit.raw.partition(marker)[0] if marker else unit.raw
    mark, space = LINE_MARK.match(head), head[len(head.rstrip()) :]
    if head.rstrip()[-1:].isalnum():
        words = words.rstrip(".!?…。！？")
    return f"{mark.group() if mark else ''}{words}{space}{unit.raw[len(head) :]}"


def _substituted(unit: Unit, quote: str, now: str) -> str:
    """Return a part with the values of the new passage in place of the old ones; empty if they do not all stand so."""
    one, other = words_of(quote), words_of(now)
    raw, is_changed = unit.raw, False
    for kind, i1, i2, j1, j2 in edits(one, other) if now else ():
        if kind != "replace":
            continue
        old, new = quote[one[i1].start : one[i2 - 1].end], now[other[j1].start : other[j2 - 1].end]
        if raw.count(old) == 1 and (Wording(raw).find(old)):
            raw, is_changed = raw.replace(old, new), True
        elif i2 - i1 == j2 - j1:
            for before, after in zip(one[i1:i2], other[j1:j2], strict=True):
                old, new = quote[before.start : before.end], now[after.start : after.end]
                if raw.count(old) == 1 and Wording(raw).find(old):
                    raw, is_changed = raw.replace(old, new), True
    return raw if is_changed else ""
