"""The places of a source that a statement is held against: a few lines each, with their headings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..text.sentences import spans_of
from ..text.words import stems

LONGEST = 400
"""Characters of a window, about; a longer paragraph is cut between sentences, in halves of this and more."""
HEADING = 200
"""Characters of a heading at most; what is longer is text."""
OPENING = 200
"""Characters at the beginning of a source that are always shown: what it is, of whom and when."""
WHOLE = 0.6
"""Share of a text from which on it is shown whole, if it is no longer than `SHORT`."""
SHORT = 6000
FIGURE = 1.5
"""How many times as much a figure counts as a word that is as rare."""
_BLOCK = re.compile(r"[^\n]+(?:\n(?![ \t]*(?:\n|[-*+•|#]|\d{1,3}[.)][ \t]))[^\n]+)*")
_HEADING = re.compile(r"#{1,6}[ \t]")
_RULE = re.compile(r"[\s|:=+-]*")
_NUMBER = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*")


class Window(NamedTuple):
    """A place of a source."""

    start: int
    """Where it begins in the text, in characters."""
    end: int
    head: str
    """What stands above it and is needed to understand it: the heading, or the head of its table."""


class Windows:
    """A source text, cut so that statements can be laid beside it."""

    def __init__(self, text: str) -> None:
        self.text = text
        """The text itself."""
        self.windows = tuple(_cut(text))
        """Its places, in order."""
        self._keys = [words_and_figures(f"{one.head} {text[one.start : one.end]}") for one in self.windows]
        self._counts = Counter(key for keys in self._keys for key in keys)

    def best(self, statement: str, most: int) -> list[int]:
        """Return the numbers of the windows that share most with a statement, the best first."""
        wanted = words_and_figures(statement)
        worths = {number: self._worth(wanted & keys) for number, keys in enumerate(self._keys)}
        return sorted((one for one in worths if worths[one]), key=lambda one: -worths[one])[:most]

    def share(self, statement: str) -> float:
        """Return how much of a statement its best window holds, from 0 to 1: stems of its words, and its figures."""
        wanted = words_and_figures(statement)
        return max((len(wanted & keys) / len(wanted) for keys in self._keys if wanted), default=0.0)

    def shown(self, numbers: Iterable[int]) -> list[str]:
        """Return these windows as a reader is shown them, in order, neighbours together; nearly all means all."""
        opening = (number for number, one in enumerate(self.windows) if one.start < OPENING)
        wanted = sorted({*numbers, *opening})
        length = sum(self.windows[one].end - self.windows[one].start for one in wanted)
        if len(self.text) <= SHORT and length >= WHOLE * len(self.text.strip()):
            return [self.text.strip()]
        return [words for _, words in self.runs(wanted)]

    def runs(self, numbers: Iterable[int]) -> list[tuple[int, str]]:
        """Return these windows in order, neighbours together, each run with its place and with what stands above it."""
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
        return sum(
            math.log(1 + len(self.windows) / self._counts[key]) * (FIGURE if key[:1].isdigit() else 1.0) for key in keys
        )


def words_and_figures(text: str) -> frozenset[str]:
    """Return the stems of a text's words, and its figures."""
    return frozenset(stems(text)) | figures_of(text)


def figures_of(text: str) -> frozenset[str]:
    """Return the numbers of a text, without what groups their digits; a comma and a point are the same."""
    return frozenset(_plain(found.group()) for found in _NUMBER.finditer(text))


def _plain(number: str) -> str:
    bare = re.sub(r"['’\u00a0\u202f]", "", number)
    # What begins with 0 has decimals, however many.
    whole = bare if bare.startswith("0") else re.sub(r"[.,](?=\d{3}(?:\D|$))", "", bare)
    return whole.replace(",", ".")


def _ends(block: str) -> Iterable[int]:
    """Where the sentences of a paragraph end, and the parts of those that are very long."""
    for start, end in spans_of(block):
        while end - start > LONGEST:
            cut = block.rfind(" ", start + LONGEST // 2, start + LONGEST)
            start = cut if cut > 0 else start + LONGEST
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
            if last - start >= LONGEST / 2:
                yield Window(start, last, head)
                start = last
        if text[start : block.end()].strip():
            yield Window(start, block.end(), head)
