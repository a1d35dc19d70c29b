"""Keeps the citations of calculations right in sentences that the check corrects: a calculation is
cited only behind a figure that comes from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..evidence.checking.calculator import is_behind
from ..evidence.citations.markers import (
    Marker,
    cited_calculations,
    marker_numbers,
    scan,
    with_calculations,
)
from ..evidence.text.numbers import numbers_in
from ..evidence.text.words import tokens
from ..records.research import Calculation


class WrongPart(NamedTuple):
    """A wrong part of a sentence, and where the judge has found what is right."""

    text: str
    calculations: Collection[int]
    """Numbers of the calculations that it cites."""
    sources: Collection[int]
    """Numbers of the sources that the judge quotes."""


class CorrectedCitations:
    """The citations of a sentence that is being corrected."""

    def __init__(
        self, old: str, wrong: Iterable[WrongPart], known: Mapping[int, Calculation]
    ) -> None:
        """`old` is the sentence as it was, `known` are the calculations by number."""
        self._old = old
        self._wrong = list(wrong)
        self._known = known
        self._unchanged = set[tuple[str, int]]()
        """The words before each citation of a calculation, with its number."""
        for part, words in cited_parts(old):
            if not isinstance(part, str):
                self._unchanged.update((_plain(words), number) for number in part.calculations)

    def fitted(self, new: str) -> str:
        """Return the new sentence without the calculations that no figure before their citation
        comes from; the sources that the judge quotes are cited in their place."""
        added = Counter(marker_numbers(new)) - Counter(marker_numbers(self._old))
        before = set(cited_calculations(self._old))
        gone = before.difference(cited_calculations(new))
        written = list[str]()
        for part, words in cited_parts(new):
            if isinstance(part, str) or not part.calculations:
                written.append(part if isinstance(part, str) else part.raw)
                continue
            kept = [number for number in part.calculations if self._fits(number, words)]
            dropped = set(part.calculations).difference(kept)
            if not dropped:
                written.append(part.raw)
                continue
            cited = [f"[calc {number}]" for number in kept]
            # One that is new stands for one that is gone.
            sources = self._instead_of(dropped & before or gone).difference(added)
            if sources:
                cited.append("".join(f"[{number}]" for number in sorted(sources)))
                added.update(sources)
            if not cited and written:
                written[-1] = written[-1].removesuffix(" ")
            written.append(" ".join(cited))
        return "".join(written)

    def markers_left(self, new: str) -> tuple[int, ...]:
        """Return the source numbers that the new sentence cites, without those that it cites in
        place of calculations."""
        before = Counter(marker_numbers(self._old))
        left = list(marker_numbers(new))
        gone = set(cited_calculations(self._old)).difference(cited_calculations(new))
        for number in self._instead_of(gone):
            if left.count(number) > before[number]:
                left.remove(number)
        return tuple(left)

    def _fits(self, number: int, words: str) -> bool:
        """Whether a calculation may be cited behind these words."""
        if (_plain(words), number) in self._unchanged:
            return True
        if number not in self._known:
            return False
        if not numbers_in(words):
            # Whether the words fit it is for the judge to say.
            return number in cited_calculations(self._old)
        wrong = "\n".join(part.text for part in self._wrong)
        return is_behind(self._known[number], words, wrong)

    def _instead_of(self, calculations: Collection[int]) -> set[int]:
        """Return the numbers of the sources to cite in place of these calculations."""
        sources = set[int]()
        for part in self._wrong:
            if not set(part.calculations).isdisjoint(calculations):
                sources.update(part.sources)
        return sources


def cited_parts(raw: str) -> Iterator[tuple[str | Marker, str]]:
    """Yield the parts of a sentence or row in order, each with the words that a citation there is
    about: those behind the citation before, within a cell."""
    words = ""
    is_behind_marker = False
    for part in scan(raw):
        if not isinstance(part, str):
            is_behind_marker = True
        elif tokens(part) or "|" in part:
            before = "" if is_behind_marker else words
            words = f"{before}{part}".rpartition("|")[2]
            is_behind_marker = False
        yield part, words


def without_misfits(text: str, known: Mapping[int, Calculation]) -> str:
    """Return a text without the citations of calculations that no figure before them comes from.

    `known` are the calculations by number.
    """
    written = list[str]()
    for part, words in cited_parts(text):
        if isinstance(part, str):
            written.append(part)
            continue
        numbers = dict[int, int]()
        for number in part.calculations:
            if number in known and is_behind(known[number], words):
                numbers[number] = number
        marked, _ = with_calculations(part.raw, numbers)
        if not marked and written:
            written[-1] = written[-1].removesuffix(" ")
        written.append(marked)
    return "".join(written)


def _plain(words: str) -> str:
    return " ".join(tokens(words))
