"""The text of a source, prepared for comparison with many claims: its sentences, and windows of a few lines."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from ..text.quantities import UNIFORM_SIGNS, plain_figures
from ..text.sentences import sentence_spans
from ..text.words import stems

_LONGEST_WINDOW = 400
"""Approximate maximum length of a window; longer paragraphs are cut between sentences, at half this length or later."""
_LONGEST_HEADING = 200
"""Maximum length of a heading; longer lines are text."""
_OPENING = 200
"""Number of characters at the start of a source that are always shown, for its kind, author and date."""
_WHOLE = 0.6
"""If at least this share of a text of at most `_SHORT` characters would be shown, all of it is."""
_SHORT = 6000
NUMBER_WEIGHT = 1.5
"""Weight of a number relative to an equally rare word."""
_BLOCK = re.compile(r"[^\n]+(?:\n(?![ \t]*(?:\n|[-*+•|#]|\d{1,3}[.)][ \t]))[^\n]+)*")
_HEADING = re.compile(r"#{1,6}[ \t]")
_RULE = re.compile(r"[\s|:=+-]*")
_LONGEST_SENTENCE = 600
"""Maximum length of a sentence; a longer sentence is cut at a space."""
_FULL = 40
"""Minimum length of a line that may have been wrapped."""
_APART = re.compile(r"\s*(?:#|>|[-*+•–]\s|\(?\d{1,3}[.)]\s|\[\d|={3}|-{3})|.*[|\t]")
_TITLE = re.compile(r"\s*(?:#|={3}|-{3})|.*[|\t]")
_GROUPED = re.compile(r"(?<=\d)[,' ](?=\d{3}(?!\d))")
_MARKUP = re.compile(r"[*_`|#]+")
_FAST = 1
"""zlib compression level: a quarter of a millisecond per page."""


class Window(NamedTuple):
    """A few lines of a source."""

    start: int
    """Offset in the text, in characters."""
    end: int
    head: str
    """The heading above it, or its table's header."""


class Windows:
    """A source text split into windows of a few lines, searchable by claim."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.windows = tuple(_windows(text))
        """The windows, in text order."""
        self._keys = [words_and_figures(f"{window.head} {text[window.start : window.end]}") for window in self.windows]
        self._counts = Counter(key for keys in self._keys for key in keys)

    def best(self, claim: str, most: int) -> list[int]:
        """Return the indexes of at most `most` windows, those most similar to a claim first."""
        wanted, total = words_and_figures(claim), len(self.windows)
        weights = {
            key: math.log(1 + total / self._counts[key]) * (NUMBER_WEIGHT if key[:1].isdigit() else 1.0)
            for key in wanted
            if self._counts[key]
        }
        # An exact sum, since the iteration order of a set differs between processes.
        scores = [math.fsum(weights[key] for key in wanted & keys) for keys in self._keys]
        similar = (number for number, score in enumerate(scores) if score)
        return sorted(similar, key=lambda number: -scores[number])[:most]

    def share(self, claim: str) -> float:
        """Return the share of a claim's stems and numbers that the best window contains, from 0 to 1."""
        wanted = words_and_figures(claim)
        return max((len(wanted & keys) / len(wanted) for keys in self._keys if wanted), default=0.0)

    def shown(self, numbers: Iterable[int]) -> list[str]:
        """Return the texts of these windows and the opening, neighbours joined; the whole text if it is most of it."""
        opening = (number for number, window in enumerate(self.windows) if window.start < _OPENING)
        wanted = sorted({*numbers, *opening})
        length = sum(self.windows[number].end - self.windows[number].start for number in wanted)
        if len(self.text) <= _SHORT and length >= _WHOLE * len(self.text.strip()):
            return [self.text.strip()]
        return [words for _, words in self.runs(wanted)]

    def runs(self, numbers: Iterable[int]) -> list[tuple[int, str]]:
        """Return the offsets and texts of these windows, neighbours joined, each with its heading or table header."""
        found = list[tuple[int, str]]()
        # Neighbours are equally far ahead of their position in the sorted list.
        for _, run in groupby(enumerate(sorted({*numbers})), key=lambda pair: pair[1] - pair[0]):
            indexes = [number for _, number in run]
            first = self.windows[indexes[0]]
            start = first.start if indexes[0] else 0
            words = self.text[start : self.windows[indexes[-1]].end]
            found.append((start, f"{first.head if start else ''}\n{words}".strip()))
        return found


def words_and_figures(text: str) -> frozenset[str]:
    """Return the stems of a text's words, and its numbers."""
    return frozenset(stems(text)) | plain_figures(text)


def comparable(text: str) -> str:
    """Return a text in lower case without markup and digit grouping, and with uniform dashes, quotes and spaces."""
    plain = _MARKUP.sub(" ", text.translate(UNIFORM_SIGNS)).casefold()
    return _GROUPED.sub("", " ".join(plain.split()))


def _short_spans(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of sentences, cut at spaces into parts of at most `longest` characters."""
    for start, end in sentence_spans(text):
        while end - start > longest:
            cut = text.rfind(" ", start + longest // 2, start + longest)
            cut = cut if cut > 0 else start + longest
            yield start, cut
            start = cut + (text[cut] == " ")
        yield start, end


def _windows(text: str) -> Iterable[Window]:
    head, table = "", ""
    for block in _BLOCK.finditer(text):
        raw = block.group()
        if _HEADING.match(raw) and len(raw) <= _LONGEST_HEADING:
            head, table = raw.lstrip("# ").strip(), ""
            continue
        if raw.lstrip().startswith("|"):
            if _RULE.fullmatch(raw):
                continue
            yield Window(block.start(), block.end(), table or head)
            table = table or raw
            continue
        table = ""
        start = block.start()
        for _, end in _short_spans(raw, _LONGEST_WINDOW):
            last = block.start() + end
            if last - start >= _LONGEST_WINDOW / 2:
                yield Window(start, last, head)
                start = last
        if text[start : block.end()].strip():
            yield Window(start, block.end(), head)


def unwrap(text: str) -> str:
    """Return the text with a space for each line break within a paragraph; offsets stay valid."""
    parts = list[str]()
    for _, block in groupby(text.split("\n"), key=lambda line: bool(line.strip())):
        lines = list(block)
        width = max(len(line.rstrip()) for line in lines)
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            plain, first = line.rstrip(), (following.split(maxsplit=1) or [""])[0]
            is_apart = not (plain and first) or _TITLE.match(line) or _APART.match(following)
            is_within = first[:1].islower() and (plain[-1:].isalpha() or plain[-1:] == ",")
            is_full = len(plain) >= _FULL and len(plain) + 1 + len(first) > width
            parts += [line, " " if not is_apart and (is_within or is_full) else "\n"]
    return "".join(parts[:-1])


class SourceSentence(NamedTuple):
    """A sentence of a source."""

    start: int
    """Offset in the text, in characters."""
    end: int
    keys: frozenset[str]
    """Stems of its words, and its numbers."""


class SourceText:
    """A text of a source; derived forms are computed when a claim is first compared with it."""

    def __init__(self, content_hash: str, text: str) -> None:
        self.content_hash = content_hash
        """SHA-256 (hex) of the text in the store."""
        # Compressed, since a run reads far more than its report cites.
        self._packed = zlib.compress(text.encode("utf-8", "surrogatepass"), _FAST)

    @cached_property
    def text(self) -> str:
        """The text."""
        return zlib.decompress(self._packed).decode("utf-8", "surrogatepass")

    @cached_property
    def comparable(self) -> str:
        """The text as `comparable` returns it."""
        return comparable(self.text)

    @cached_property
    def windows(self) -> Windows:
        """The text split into windows of a few lines."""
        return Windows(self.text)

    @cached_property
    def sentences(self) -> tuple[SourceSentence, ...]:
        """Its sentences that have a word or number, in order."""
        spans = _short_spans(unwrap(self.text), _LONGEST_SENTENCE)
        found = (SourceSentence(start, end, words_and_figures(self.text[start:end])) for start, end in spans)
        return tuple(sentence for sentence in found if sentence.keys)

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of sentences that contain each stem or number."""
        return Counter(key for sentence in self.sentences for key in sentence.keys)
