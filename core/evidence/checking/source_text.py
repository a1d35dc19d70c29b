"""The text of a source, prepared for comparison with many claims: its sentences, and its windows of
a few lines."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from threading import Lock
from typing import NamedTuple

from ..text.language import language_of_text
from ..text.numbers import UNIFORM_SIGNS, measures_in, plain_figures
from ..text.sentences import sentence_spans
from ..text.words import sought_words, stem_of_content, stems, tokens

_LONGEST_WINDOW = 400
"""Length, in characters, to which longer paragraphs are cut; a window ends with the first sentence
past half of it."""
_LONGEST_HEADING = 200
"""Maximum length of a heading, in characters; a longer line with a heading mark is text."""
_OPENING = 200
"""Number of characters at the start of a source that a model is always shown, for its kind, author
and date."""
_WHOLE = 0.6
"""Minimum share of a short text that has to be shown for all of it to be shown."""
_SHORT = 6000
"""Maximum length of a short text, in characters."""
_NUMBER_WEIGHT = 1.5
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
_SENTENCE_END = re.compile(r"[^\W\d_]{2}[.!?]\s")
_FIGURE = re.compile(r"\d+[.,]\d")
# It begins with a character that is quickly found, and what has begun always matches, so that a run
# of empty lines is read once.
_PARAGRAPH_END = re.compile(r"\n(?:[^\S\n]*+\n)++[^\S\n]*+")
_LONGEST_LOOK = 2_000
"""Characters before the end of a paragraph in which a sentence of it is looked for."""
_TITLE = re.compile(r"\s*(?:#|={3}|-{3})|.*[|\t]")
_GROUPED = re.compile(r"(?<=\d)[,' ](?=\d{3}(?!\d))")
_MARKUP = re.compile(r"[*_`|#]+")
_LANGUAGE_CHARACTERS = 4_000
"""Length of the beginning of a text by which its language is detected."""
_MOST_RECENT = 6_000_000
"""Length of all texts whose windows are kept, in characters; each takes about 8 bytes."""
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
        self.windows = tuple(_windows(_with_paragraphs_joined(text)))
        """The windows, in text order."""
        self._places = self._indexed()
        """The indexes of the windows that have a stem or number, also in their heading, by stem or
        number."""

    def _indexed(self) -> Mapping[str, Sequence[int]]:
        """Return the index of the windows by what `words_and_figures` returns for them."""
        places = defaultdict[str, list[int]](list)
        by_token = defaultdict[str, list[int]](list)
        for number, window in enumerate(self.windows):
            words = f"{window.head} {self.text[window.start : window.end]}"
            for figure in plain_figures(words):
                places[figure].append(number)
            for token in {*tokens(words)}:
                by_token[token].append(number)
        # Each word of the text is stemmed once, however many windows have it.
        for token, numbers in by_token.items():
            stem = stem_of_content(token)
            if stem in places:
                places[stem] = sorted({*places[stem], *numbers})
            elif stem:
                places[stem] = numbers
        return places

    def best(self, claim: str, most: int, least: float = 0.0) -> list[int]:
        """Return the indexes of at most `most` windows that have words of a claim, most similar
        first; each at least `least` as similar as the first one, a share of 0 to 1."""
        total = len(self.windows)
        weights = defaultdict[int, list[float]](list)
        for key in words_and_figures(claim) & self._places.keys():
            places = self._places[key]
            weight = rarity_weight(key, total, len(places))
            for number in places:
                weights[number].append(weight)
        scores = dict[int, float]()
        for number in sorted(weights):
            # An exact sum, since the iteration order of a set differs between processes.
            scores[number] = math.fsum(weights[number])
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:most]
        return [number for number in best if scores[number] >= least * scores[best[0]]]

    def covering(self, claim: str, most: int) -> list[int]:
        """Return the indexes of the window that is most similar to a claim, and of the next ones
        that have a figure of it, or two words, which those before lack; at most `most`."""
        figures = plain_figures(claim)
        missing = words_and_figures(claim) & self._places.keys()
        chosen = list[int]()
        for number in self.best(claim, len(self.windows)):
            stated = set[str]()
            for key in missing:
                if number in self._places[key]:
                    stated.add(key)
            if not chosen or len(stated) > 1 or not stated.isdisjoint(figures):
                chosen.append(number)
                missing -= stated
            if not missing or len(chosen) == most:
                break
        return chosen

    def others(self, numbers: Iterable[int], most: int) -> list[int]:
        """Return the indexes of the first windows of the text that are not among these, at most
        `most`."""
        unseen = sorted({*range(len(self.windows))}.difference(numbers))
        return unseen[: max(0, most)]

    def has_room_for_all(self, most: int) -> bool:
        """Whether the text is no longer than `most` windows may be."""
        return len(self.text) <= most * _LONGEST_WINDOW

    def share(self, claim: str) -> float:
        """Return the best share (0 to 1) of a claim's stems and numbers that one window has."""
        wanted = words_and_figures(claim)
        if not wanted:
            return 0.0
        shared = Counter[int]()
        for key in wanted:
            shared.update(self._places.get(key, ()))
        most = max(shared.values(), default=0)
        return most / len(wanted)

    def within(self, start: int, end: int) -> list[int]:
        """Return the indexes of the windows that have a part of the text from `start` to `end`."""
        indexes = list[int]()
        for number, window in enumerate(self.windows):
            if window.start < end and start < window.end:
                indexes.append(number)
        return indexes

    def having(self, words: str) -> list[int]:
        """Return the indexes of the windows in which these words stand first; of the most similar
        one, if they do not stand there like this."""
        found = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", self.text)
        if found is None:
            return self.best(words, 1)
        return self.within(found.start(), found.end())

    def shown(self, numbers: Iterable[int]) -> list[str]:
        """Return the texts of these windows and the opening, neighbours joined.

        A short text is returned whole if most of it would be shown.
        """
        wanted = {*numbers}
        for number, window in enumerate(self.windows):
            if window.start < _OPENING:
                wanted.add(number)
        if len(self.text) <= _SHORT:
            whole = self.text.strip()
            length = 0
            for number in wanted:
                window = self.windows[number]
                length += window.end - window.start
            if length >= _WHOLE * len(whole):
                return [whole]
        return self.texts(wanted)

    def texts(self, numbers: Iterable[int]) -> list[str]:
        """Return the texts of the windows with these indexes (see `joined`)."""
        return [words for _, words in self.joined(numbers)]

    def joined(self, numbers: Iterable[int]) -> list[tuple[int, str]]:
        """Return the offset and text of the windows with these indexes, neighbours joined, each
        below its heading."""
        runs = list[list[int]]()
        for number in sorted({*numbers}):
            if runs and runs[-1][-1] == number - 1:
                runs[-1].append(number)
            else:
                runs.append([number])
        joined = list[tuple[int, str]]()
        for run in runs:
            first = self.windows[run[0]]
            last = self.windows[run[-1]]
            if run[0] == 0:
                # The headings above the first window begin the text.
                joined.append((0, self.text[: last.end].strip()))
            else:
                # A row stands right below the header of its table.
                between = "\n" if first.head.startswith("|") else "\n\n"
                words = f"{first.head}{between}{self.text[first.start : last.end]}"
                joined.append((first.start, words.strip()))
        return joined


_recent = dict[str, Windows]()
"""The windows of texts that were compared last, by text, the latest last."""
_recent_lock = Lock()


def windows_of(text: str) -> Windows:
    """Return the windows of a text.

    They are kept for a while, since a page is compared with a topic when it is opened, with the
    findings when the report is written, and with the report when that is checked.
    """
    with _recent_lock:
        windows = _recent.pop(text, None)
    windows = windows or Windows(text)
    with _recent_lock:
        _recent[text] = windows
        length = sum(map(len, _recent))
        while length > _MOST_RECENT:
            oldest = next(iter(_recent))
            length -= len(oldest)
            del _recent[oldest]
    return windows


def rarity_weight(key: str, total: int, count: int) -> float:
    """Return the weight of a stem or number that `count` of `total` parts of a text have."""
    weight = math.log(1 + total / count)
    if key[0].isdigit():
        weight *= _NUMBER_WEIGHT
    return weight


@lru_cache(maxsize=512)
def words_and_figures(text: str) -> frozenset[str]:
    """Return the stems of a text's words (see `stems`), and its numbers (see `plain_figures`)."""
    return plain_figures(text).union(stems(text))


def comparable(text: str) -> str:
    """Return a text in a form in which quotations can be found in it.

    It is in lower case, without markup and digit grouping, and with uniform dashes, quotation marks
    and spaces.
    """
    plain = _MARKUP.sub(" ", text.translate(UNIFORM_SIGNS)).casefold()
    return _GROUPED.sub("", " ".join(plain.split()))


def _short_spans(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of a text's sentences.

    Those longer than `longest` characters are cut.
    """
    for start, end in sentence_spans(text):
        while end - start > longest:
            cut = text.rfind(" ", start + longest // 2, start + longest)
            if cut <= 0:
                cut = start + longest
            yield start, cut
            start = cut
            if text[cut] == " ":
                start += 1
        yield start, end


def _windows(text: str) -> Iterator[Window]:
    """Yield the windows of a text, without its headings."""
    heading = ""
    table_header = ""
    for block in _BLOCK.finditer(text):
        raw = block.group()
        if _HEADING.match(raw) and len(raw) <= _LONGEST_HEADING:
            heading = raw.lstrip("# ").strip()
            table_header = ""
        elif not raw.lstrip().startswith("|"):
            table_header = ""
            yield from _windows_of_paragraph(raw, block.start(), heading)
        elif not _RULE.fullmatch(raw):
            yield Window(block.start(), block.end(), table_header or heading)
            table_header = table_header or raw


def _windows_of_paragraph(raw: str, offset: int, heading: str) -> Iterator[Window]:
    """Yield the windows of a paragraph that begins at `offset`; each ends with a sentence."""
    start = 0
    # A paragraph that is too short to be divided need not be split into sentences.
    is_long = len(raw) >= _LONGEST_WINDOW / 2
    spans = _short_spans(unwrap(raw), _LONGEST_WINDOW) if is_long else ()
    for _, end in spans:
        if end - start >= _LONGEST_WINDOW / 2:
            yield Window(offset + start, offset + end, heading)
            start = end
    if raw[start:].strip():
        yield Window(offset + start, offset + len(raw), heading)


def unwrap(text: str) -> str:
    """Return a text with spaces instead of each line break, and each end of a paragraph, within a
    sentence.

    Offsets stay valid.
    """
    if "\n" not in text:
        return text
    text = _with_paragraphs_joined(text)
    parts = list[str]()
    for _, block in groupby(text.split("\n"), key=lambda line: bool(line.strip())):
        lines = list(block)
        width = max(map(len, map(str.rstrip, lines)))
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            parts.append(line)
            parts.append(" " if _is_wrapped(line, following, width) else "\n")
    return "".join(parts[:-1])


def _with_paragraphs_joined(text: str) -> str:
    """Return a text with a line break instead of each end of a paragraph within a sentence."""

    def joined(end: re.Match[str]) -> str:
        earliest = max(0, end.start() - _LONGEST_LOOK)
        start = max(earliest, text.rfind("\n\n", earliest, end.start()) + 1)
        before = text[start : end.start()].rstrip(" \t")
        following = text[end.end() : end.end() + 1]
        is_open = before[-1:].isalpha() or before.endswith(",")
        goes_on = following.islower() or _FIGURE.match(text, end.end()) is not None
        if not is_open or not goes_on or not _SENTENCE_END.search(before):
            return end[0]
        if _APART.match(before.rpartition("\n")[2]):
            return end[0]
        return "\n".rjust(len(end[0]))

    return _PARAGRAPH_END.sub(joined, text)


def _is_wrapped(line: str, following: str, width: int) -> bool:
    """Whether a sentence continues on the following line.

    `width` is the length of the block's longest line.
    """
    plain = line.rstrip()
    first_word = next(iter(following.split(maxsplit=1)), "")
    if not plain or not first_word or _TITLE.match(line) or _APART.match(following):
        return False
    if first_word[0].islower() and (plain[-1].isalpha() or plain[-1] == ","):
        return True
    if len(plain) < _FULL:
        return False
    is_figure = plain[-1].isalpha() and _FIGURE.match(first_word) is not None
    return is_figure or len(f"{plain} {first_word}") > width


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
    def measures(self) -> frozenset[str]:
        """The units of measure that it names."""
        return measures_in(self.text)

    @cached_property
    def language(self) -> str:
        """The ISO 639-1 code of its language; empty if that is unclear."""
        return language_of_text(sought_words(self.text[:_LANGUAGE_CHARACTERS]))

    @cached_property
    def windows(self) -> Windows:
        """Its windows of a few lines."""
        return windows_of(self.text)

    @cached_property
    def sentences(self) -> tuple[SourceSentence, ...]:
        """Its sentences, in order, except those without a word or number."""
        sentences = list[SourceSentence]()
        for start, end in _short_spans(unwrap(self.text), _LONGEST_SENTENCE):
            keys = words_and_figures(self.text[start:end])
            if keys:
                sentences.append(SourceSentence(start, end, keys))
        return tuple(sentences)

    @cached_property
    def counts(self) -> Counter[str]:
        """In how many sentences each stem or number is."""
        counts = Counter[str]()
        for sentence in self.sentences:
            counts.update(sentence.keys)
        return counts
