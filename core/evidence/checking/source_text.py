"""The text of a source, read once so that many claims can be compared with it: its sentences, and windows of lines."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple

from ..text.quantities import SAME, figures_of
from ..text.sentences import spans_of
from ..text.words import stems

LONGEST_WINDOW = 400
"""Characters of a window, about; a longer paragraph is cut between sentences, in halves of this and more."""
HEADING = 200
"""Characters of a heading at most; what is longer is text."""
OPENING = 200
"""Characters at the beginning of a source that are always shown: what it is, of whom and when."""
WHOLE = 0.6
"""Share of a text from which on all of it is shown, if it is no longer than `SHORT`."""
SHORT = 6000
FIGURE = 1.5
"""How many times as much a figure counts as a word that is as rare."""
_BLOCK = re.compile(r"[^\n]+(?:\n(?![ \t]*(?:\n|[-*+•|#]|\d{1,3}[.)][ \t]))[^\n]+)*")
_HEADING = re.compile(r"#{1,6}[ \t]")
_RULE = re.compile(r"[\s|:=+-]*")
LONGEST_SENTENCE = 600
"""Characters of a sentence; a longer one is cut at a space."""
FULL = 40
"""Characters of a line at least that can have ended because it was full."""
_APART = re.compile(r"\s*(?:#|>|[-*+•–]\s|\(?\d{1,3}[.)]\s|\[\d|={3}|-{3})|.*[|\t]")
_TITLE = re.compile(r"\s*(?:#|={3}|-{3})|.*[|\t]")
_GROUPED = re.compile(r"(?<=\d)[,' ](?=\d{3}(?!\d))")
_MARKUP = re.compile(r"[*_`|#]+")
FAST = 1
"""Level of compression that takes a quarter of a millisecond for a page."""


class Window(NamedTuple):
    """A few lines of a source."""

    start: int
    """Where it begins in the text, in characters."""
    end: int
    head: str
    """The heading above it, or the head of its table."""


class Windows:
    """A source text in windows of a few lines, which are searched for the places about a claim."""

    def __init__(self, text: str) -> None:
        self.text = text
        """The text itself."""
        self.windows = tuple(_cut(text))
        """Its places, in order."""
        self._keys = [words_and_figures(f"{one.head} {text[one.start : one.end]}") for one in self.windows]
        self._counts = Counter(key for keys in self._keys for key in keys)

    def best(self, claim: str, most: int) -> list[int]:
        """Return the numbers of the windows that share most with a claim, the best first."""
        wanted = words_and_figures(claim)
        worths = {number: self._worth(wanted & keys) for number, keys in enumerate(self._keys)}
        return sorted((one for one in worths if worths[one]), key=lambda one: -worths[one])[:most]

    def share(self, claim: str) -> float:
        """Return how much of a claim its best window holds, from 0 to 1: stems of its words, and its figures."""
        wanted = words_and_figures(claim)
        return max((len(wanted & keys) / len(wanted) for keys in self._keys if wanted), default=0.0)

    def shown(self, numbers: Iterable[int]) -> list[str]:
        """Return these windows and the opening as they are shown, neighbours joined; nearly all means all."""
        opening = (number for number, one in enumerate(self.windows) if one.start < OPENING)
        wanted = sorted({*numbers, *opening})
        length = sum(self.windows[one].end - self.windows[one].start for one in wanted)
        if len(self.text) <= SHORT and length >= WHOLE * len(self.text.strip()):
            return [self.text.strip()]
        return [words for _, words in self.runs(wanted)]

    def runs(self, numbers: Iterable[int]) -> list[tuple[int, str]]:
        """Return these windows with their places, neighbours joined, each with its heading or table head."""
        runs: list[list[int]] = []
        for one in sorted(set(numbers)):
            if runs and one == runs[-1][-1] + 1:
                runs[-1].append(one)
            else:
                runs.append([one])
        return [self._run(run) for run in runs]

    def _run(self, run: Sequence[int]) -> tuple[int, str]:
        first, last = self.windows[run[0]], self.windows[run[-1]]
        start = 0 if run[0] == 0 else first.start
        return start, f"{first.head if start else ''}\n{self.text[start : last.end]}".strip()

    def _worth(self, keys: frozenset[str]) -> float:
        # Exact, as the order of a set changes from process to process.
        return math.fsum(
            math.log(1 + len(self.windows) / self._counts[key]) * (FIGURE if key[:1].isdigit() else 1.0) for key in keys
        )


def words_and_figures(text: str) -> frozenset[str]:
    """Return the stems of a text's words, and its figures."""
    return frozenset(stems(text)) | figures_of(text)


def comparable(text: str) -> str:
    """Return a text in small letters, without emphasis, bounds of cells, kinds of dashes and quotes, grouped digits."""
    plain = _MARKUP.sub(" ", text.translate(SAME)).casefold()
    return _GROUPED.sub("", " ".join(plain.split()))


def _ends(block: str) -> Iterable[int]:
    """Yield where the sentences of a paragraph end, and the parts of very long ones."""
    for start, end in spans_of(block):
        while end - start > LONGEST_WINDOW:
            cut = block.rfind(" ", start + LONGEST_WINDOW // 2, start + LONGEST_WINDOW)
            start = cut if cut > 0 else start + LONGEST_WINDOW
            yield start
        yield end


def _cut(text: str) -> Iterable[Window]:
    head, table = "", ""
    for block in _BLOCK.finditer(text):
        raw = block.group()
        if _HEADING.match(raw) and len(raw) <= HEADING:
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
        for end in _ends(raw):
            last = block.start() + end
            if last - start >= LONGEST_WINDOW / 2:
                yield Window(start, last, head)
                start = last
        if text[start : block.end()].strip():
            yield Window(start, block.end(), head)


def _short_spans(text: str) -> Iterator[tuple[int, int]]:
    for start, end in spans_of(unwrap(text)):
        while end - start > LONGEST_SENTENCE:
            cut = text.rfind(" ", start + LONGEST_SENTENCE // 2, start + LONGEST_SENTENCE)
            cut = cut if cut > 0 else start + LONGEST_SENTENCE
            yield start, cut
            start = cut + (text[cut] == " ")
        yield start, end


def unwrap(text: str) -> str:
    """Return the text with a space for each line break within a paragraph; all places stay the same."""
    lines = text.split("\n")
    breaks = (
        " " if _goes_on(line, following, width) else "\n"
        for (line, following), width in zip(pairwise(lines), _widths(lines), strict=False)
    )
    return lines[0] + "".join(end + line for end, line in zip(breaks, lines[1:], strict=True))


def _widths(lines: list[str]) -> Iterator[int]:
    """Yield for each line the length of the longest line of its block."""
    for _, block in groupby(lines, key=lambda line: bool(line.strip())):
        lengths = [len(line.rstrip()) for line in block]
        yield from [max(lengths)] * len(lengths)


def _goes_on(line: str, following: str, width: int) -> bool:
    plain, first = line.rstrip(), (following.split(maxsplit=1) or [""])[0]
    if not plain or not first or _TITLE.match(line) or _APART.match(following):
        return False
    if first[0].islower() and (plain[-1].isalpha() or plain[-1] == ","):
        return True
    return len(plain) >= FULL and len(plain) + 1 + len(first) > width


class SourceSentence(NamedTuple):
    """A sentence of a source."""

    start: int
    """Where it begins in the text, in characters."""
    end: int
    keys: frozenset[str]
    """Its words and figures."""


class SourceText:
    """One text of a source, read only when a claim is compared with it."""

    def __init__(self, content_hash: str, text: str) -> None:
        self.content_hash = content_hash
        """SHA-256 (hex) under which the text is kept."""
        # A run reads far more than its report cites.
        self._packed = zlib.compress(text.encode("utf-8", "surrogatepass"), FAST)

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
        """The text in windows of a few lines."""
        return Windows(self.text)

    @cached_property
    def sentences(self) -> tuple[SourceSentence, ...]:
        """Its sentences, in order, without those that have no word and no figure."""
        spans = ((start, end, words_and_figures(self.text[start:end])) for start, end in _short_spans(self.text))
        return tuple(SourceSentence(*span) for span in spans if span[2])

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of sentences in which each word and figure stands."""
        return Counter(key for sentence in self.sentences for key in sentence.keys)
