"""The text of a source, prepared for comparison with many claims: its sentences, and its windows of a few lines."""

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
"""Length, in characters, to which longer paragraphs are cut; a window ends with the first sentence past half of it."""
_LONGEST_HEADING = 200
"""Maximum length of a heading, in characters; a longer line with a heading mark is text."""
_OPENING = 200
"""Number of characters at the start of a source that a model is always shown, for its kind, author and date."""
_WHOLE = 0.6
"""Minimum share of a short text that has to be shown for all of it to be shown."""
_SHORT = 6000
"""Maximum length of a short text, in characters."""
NUMBER_WEIGHT = 1.5
"""Weight of a number in a comparison, relative to an equally rare word."""
_BLOCK = re.compile(r"[^\n]+(?:\n(?![ \t]*(?:\n|[-*+•|#]|\d{1,3}[.)][ \t]))[^\n]+)*")
_HEADING = re.compile(r"#{1,6}[ \t]")
_RULE = re.compile(r"[\s|:=+-]*")
_LONGEST_SENTENCE = 600
"""Maximum length of a sentence, in characters; a longer sentence is cut at a space."""
_FULL = 40
"""Minimum length of a line that continues on the next one, in characters."""
# Lines that continue no other line, and lines that no other line continues.
_APART = re.compile(r"\s*(?:#|>|[-*+•–]\s|\(?\d{1,3}[.)]\s|\[\d|={3}|-{3})|.*[|\t]")
_TITLE = re.compile(r"\s*(?:#|={3}|-{3})|.*[|\t]")
_GROUPED = re.compile(r"(?<=\d)[,' ](?=\d{3}(?!\d))")
_MARKUP = re.compile(r"[*_`|#]+")
_FAST = 1
"""zlib compression level: a quarter of a millisecond per page."""


class Window(NamedTuple):
    """A paragraph, table row, or part of a long paragraph of a source."""

    start: int
    """Offset in the text, in characters."""
    end: int
    head: str
    """The heading above it, or the header of its table."""


class Windows:
    """The windows of a source, to find those that are most similar to a claim."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.windows = tuple(_windows(text))
        """The windows, in text order."""
        self._keys = [words_and_figures(f"{window.head} {text[window.start : window.end]}") for window in self.windows]
        self._counts = Counter(key for keys in self._keys for key in keys)

    def best(self, claim: str, most: int) -> list[int]:
        """Return the indexes of at most `most` windows that have words of a claim, most similar first."""
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
        """Return the share (0 to 1) of a claim's stems and numbers that are together in one window, at best."""
        wanted = words_and_figures(claim)
        return max((len(wanted & keys) / len(wanted) for keys in self._keys if wanted), default=0.0)

    def shown(self, numbers: Iterable[int]) -> list[str]:
        """Return the texts of these windows and the opening, neighbours joined; or all of a short text."""
        opening = (number for number, window in enumerate(self.windows) if window.start < _OPENING)
        wanted = sorted({*numbers, *opening})
        length = sum(self.windows[number].end - self.windows[number].start for number in wanted)
        if len(self.text) <= _SHORT and length >= _WHOLE * len(self.text.strip()):
            return [self.text.strip()]
        return [words for _, words in self.joined(wanted)]

    def joined(self, numbers: Iterable[int]) -> list[tuple[int, str]]:
        """Return the offset and text of the windows with these indexes, neighbours joined, each below its heading."""
        found = list[tuple[int, str]]()
        # Neighbours are equally far ahead of their position in the sorted list.
        for _, neighbours in groupby(enumerate(sorted({*numbers})), key=lambda pair: pair[1] - pair[0]):
            indexes = [number for _, number in neighbours]
            first = self.windows[indexes[0]]
            start = first.start if indexes[0] else 0
            words = self.text[start : self.windows[indexes[-1]].end]
            found.append((start, f"{first.head if start else ''}\n{words}".strip()))
        return found


def words_and_figures(text: str) -> frozenset[str]:
    """Return the stems of a text's words (see `stems`), and its numbers (see `plain_figures`)."""
    return frozenset(stems(text)) | plain_figures(text)


def comparable(text: str) -> str:
    """Return a text in a form in which quotations can be found in it.

    It is in lower case, without markup and digit grouping, and with uniform dashes, quotation marks and spaces.
    """
    plain = _MARKUP.sub(" ", text.translate(UNIFORM_SIGNS)).casefold()
    return _GROUPED.sub("", " ".join(plain.split()))


def _short_spans(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of a text's sentences; those longer than `longest` characters are cut."""
    for start, end in sentence_spans(text):
        while end - start > longest:
            cut = text.rfind(" ", start + longest // 2, start + longest)
            cut = cut if cut > 0 else start + longest
            yield start, cut
            start = cut + (text[cut] == " ")
        yield start, end


def _windows(text: str) -> Iterable[Window]:
    """Yield the windows of a text, without its headings."""
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
    """Return a text with a space instead of each line break at which a sentence was wrapped; offsets stay valid."""
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
    """Its stems and numbers (see `words_and_figures`)."""


class SourceText:
    """A text of a source; all forms of it are computed on first use."""

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
        """The text in the form in which quotations are found (see the function `comparable`)."""
        return comparable(self.text)

    @cached_property
    def windows(self) -> Windows:
        """Its windows of a few lines."""
        return Windows(self.text)

    @cached_property
    def sentences(self) -> tuple[SourceSentence, ...]:
        """Its sentences, in order, except those without a word or number."""
        spans = _short_spans(unwrap(self.text), _LONGEST_SENTENCE)
        found = (SourceSentence(start, end, words_and_figures(self.text[start:end])) for start, end in spans)
        return tuple(sentence for sentence in found if sentence.keys)

    @cached_property
    def counts(self) -> Counter[str]:
        """In how many sentences each stem or number is."""
        return Counter(key for sentence in self.sentences for key in sentence.keys)
