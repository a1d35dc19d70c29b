"""Splits a text into quotable units: sentences, list items, table rows, lines like `Height: 40
m`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import zip_longest
from typing import Literal, NamedTuple

from ...evidence.text.sentences import (
    MESSAGE_FIELDS,
    SENTENCE_ENDS,
    UNSPACED_ENDS,
    sentence_spans,
)
from ...evidence.text.words import WORDS, date_at, tokens

_PRONOUNS = (
    "他",
    "她",
    "它",
    "其",
    "该",
    "該",
    "此",
    "这",
    "這",
    "那",
    "彼",
    "それ",
    "これ",
    "この",
    "その",
)
"""Pronouns and demonstratives of Chinese and Japanese."""
_LONGEST = 600
"""Maximum characters of a unit; longer ones are not quoted."""
_FEWEST_WORDS = 2
"""Minimum words of a sentence; anything shorter is a section number or a heading."""
_LABEL_WORDS = 3
"""Maximum words of a paragraph's first sentence for it to count as a label, as in "Trading. Sales
rose."."""
_SALUTATION_WORDS = 7
"""Maximum words of a paragraph that ends in a comma for it to count as a salutation."""
_TITLE_WORDS = 10
"""Maximum words of a line on its own, without a full stop, for it to count as a heading."""
QuotableKind = Literal["sentence", "item", "row", "record"]
_HEADING = re.compile(r"^\s*(#{1,6})\s+(.*?)\s*#*\s*$")
"""Matches a Markdown heading."""
_ITEM = re.compile(
    r"^\s*(?:[-*+]|(?P<number>(?P<above>(?:\d{1,3}\.)*)(?P<last>\d{1,3})(?P<end>[.)])))\s+"
)
"""Matches the bullet or number of a list item."""
_NOTE = re.compile(r"^\s*(?P<number>)\[\^[^\]\s]+\]:\s+")
"""Matches the label of a footnote."""
_STAMP = re.compile(
    r"^\s*[\[(]?(?:[\d./-]{6,10}(?:,|T|\s)\s*)?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
    r"(?:\s?[AaPp]\.?[Mm]\.?|Z|[+-]\d{2}:?\d{2})?[\])]?(?:\s|:)"
)
"""Matches the time stamp of a chat message, or of a line in a log or transcript."""
_BULLETS = re.compile(r"[ \t]*[•▪‣◦·\x7f\ue000-\uf8ff][ \t]+")
"""Matches bullets as written by programs, even within a line."""
_FIGURE = re.compile(r"^\W*\d[\d.,:%/\s-]*\W*$")
"""Matches text that consists of a number."""
_YEAR = re.compile(r"\s*(?:19|20)\d\d\s*")
_RULE = re.compile(r"^\s*(?:={3,}|\*{5,})\s*$|^\s*\|?(?:\s*:?-{2,}:?\s*\|)*\s*:?-{2,}:?\s*\|?\s*$")
"""Matches a line that underlines a heading or separates a table's header from its rows."""
_BAR = re.compile(r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)")
"""Matches a bar between two cells of a table, outside of code."""
_FIELD = re.compile(r"^\s*[^\W_][^:|.]{0,40}:\s+\S")
"""Matches a line with a name, a colon and a value."""
_QUOTED = re.compile(r"^(?:\s*>)+ ?")
"""Matches the marks of a quoted line in an email or in Markdown."""
_CODE_MARK = re.compile(r"^\s*(?:```|~~~|(?:>>>|\.\.\.)\s)")
"""Matches a code fence or the prompt of an interpreter."""
_WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}")
_REFERENCES = re.compile(r"\[(?:\d[\d,\s–-]*|\^[^\]\s]+)\]")
"""Matches numbers in brackets, which look like citations, and references to footnotes."""
_EMPHASIS = re.compile(r"\*\*|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?!\w)|`")
_UNDERSCORED = re.compile(r"(?<!\w)(_{1,2})([^\s_][^_]* [^_]*[^\s_]|[^\s_])\1(?!\w)")
"""Matches words emphasized by underscores, but not identifiers."""
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_UNSPACED = re.compile(rf"[{UNSPACED_ENDS}]\W*$")
"""Matches the end of a text in a script without spaces."""
_DEBRIS = re.compile(r"::=|\{\{|-{5}|\}\}|</?[a-zA-Z]|�")
"""Matches remains of markup, code or wrong encodings; a unit with them is not quoted."""
_ENDS = re.compile(rf"[{SENTENCE_ENDS}{UNSPACED_ENDS};:,：；،؛]\W*$")
"""Matches punctuation at the end of a text that no heading has."""

_THIRD_PERSONS = frozenset(WORDS["third_persons"].split())
"""Pronouns that refer to somebody or something mentioned before: she, it, they."""


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, so that it is unclear without the one before it."""
    return not _THIRD_PERSONS.isdisjoint(tokens(sentence)[:1]) or sentence.startswith(_PRONOUNS)


def has_pronoun(text: str) -> bool:
    """Whether a text contains a third-person pronoun."""
    return not _THIRD_PERSONS.isdisjoint(tokens(text)) or any(
        pronoun in text for pronoun in _PRONOUNS
    )


class QuotableUnit(NamedTuple):
    """A sentence, list item, table row or record line that can be quoted."""

    text: str
    """One line without markup; a table row reads `column: cell; column: cell`."""
    kind: QuotableKind = "sentence"
    heading: str = ""
    """The headings above it, outermost first, joined by ` › `."""
    lead: str = ""
    """The sentence that introduces its list, the question that it answers, or the label of its
    paragraph."""
    before: str = ""
    """The last earlier sentence of its paragraph that does not begin with a pronoun."""
    cells: tuple[str, ...] = ()
    """The cells of a table row; empty for any other unit."""
    header: tuple[str, ...] = ()
    """The names of the row's columns, which may be empty."""
    number: int = 0
    """Citation number of its document."""
    position: int = 0
    """Position among the units of its document, from 0."""

    @property
    def meant(self) -> str:
        """The sentence to which its initial pronoun refers; empty if it does not begin with one."""
        return self.before if points_back(self.text) else ""

    @property
    def words(self) -> int:
        """Number of words that quoting it takes; in a table row, those of its cells."""
        shown = " ".join(self.cells) or self.text
        return len(re.findall(r"\S*\w\S*", shown))


@lru_cache(maxsize=2000)
def quotable_units(text: str) -> tuple[QuotableUnit, ...]:
    """Return the units of a text in order.

    Headings and questions are not units, but belong to the units below them.
    """
    units = list[QuotableUnit]()
    for unit in _Reader().read(text):
        is_short = bool(unit.text.strip()) and len(unit.text) <= _LONGEST
        is_salutation = unit.text.endswith((",", "，")) and unit.words <= _SALUTATION_WORDS
        if is_short and not is_salutation and not _DEBRIS.search(unit.text):
            units.append(unit)
    return tuple(units)


def plain(text: str) -> str:
    """Return a text on one line, without links, emphasis, and reference numbers that would look
    like citations."""
    without_links = _LINK.sub(r"\1", text)
    without_references = _REFERENCES.sub("", without_links)
    without_asterisks = _EMPHASIS.sub("", without_references)
    bare = _UNDERSCORED.sub(r"\2", without_asterisks)
    return " ".join(bare.split())


def split_sentences(line: str) -> list[str]:
    """Return the sentences of a line, including an unfinished last one."""
    return [line[start:end] for start, end in sentence_spans(line)]


class _Reader:
    """Reads a text line by line and keeps track of its headings, table and block."""

    def __init__(self) -> None:
        self._headings: list[str] = []
        """The headings above the current line, outermost first."""
        self._lead = ""
        """The line that introduces a list."""
        self._attribution = ""
        """The line that introduces a quoted email."""
        self._block: list[str] = []
        """The lines of the current block, such as a paragraph or list item."""
        self._kind: Literal["", "item", "message", "below heading"] = ""
        self._header: tuple[str, ...] = ()
        """The header of the current table; empty outside of tables."""

    def read(self, text: str) -> Iterator[QuotableUnit]:
        """Yield the units of the text, also those that are too long to be quoted."""
        quoted_lines = [
            line for line in _BULLETS.sub("\n- ", text).splitlines() if not _CODE_MARK.match(line)
        ]
        lines = [_QUOTED.sub("", line) for line in quoted_lines]
        numbers = set(filter(None, map(_number_of, lines)))
        has_messages = len(list(filter(_STAMP.match, lines))) > 1
        depth = 0
        for quoted_line, line, following in zip(
            quoted_lines, lines, [*lines[1:], ""], strict=False
        ):
            previous_depth = depth
            depth = quoted_line.removesuffix(line).count(">")
            if depth != previous_depth:
                yield from self._flush()
                # The line before a quoted email states its author and date.
                self._attribution = self._lead if depth else ""
            if line.startswith(MESSAGE_FIELDS):
                continue
            if _RULE.match(line):
                if self._block and "|" not in line:
                    self._enter(2, self._block.pop())
                    self._block.clear()
                continue
            heading = _HEADING.match(line)
            cells = _cells(line)
            item = _item_mark(line, numbers)
            is_message = has_messages and _STAMP.match(line) is not None
            is_empty = not line.strip()
            if heading or cells or item or is_message or is_empty:
                yield from self._flush()
            # Some formats have empty lines between table rows.
            is_between_rows = is_empty and bool(_cells(following))
            if not cells and not is_between_rows:
                self._header = ()
            if heading:
                self._enter(len(heading[1]), heading[2])
                self._kind = "below heading"
            elif cells:
                if not self._header or _RULE.match(following):
                    self._header = _header_of(cells)
                if self._header != cells:
                    yield self._row(cells)
            elif is_message:
                self._kind = "message"
                self._block.append(line)
            elif item:
                self._kind = "item"
                words = line[item.end() :]
                if item.re is _ITEM and item["above"]:
                    # The number of a clause is part of its text.
                    words = f"{item['above']}{item['last']} {words}"
                self._block.append(words)
            elif not is_empty:
                self._block.append(line)
        yield from self._flush()

    def _row(self, cells: tuple[str, ...]) -> QuotableUnit:
        """Return the unit of a table row."""
        shown = list[str]()
        for name, cell in zip_longest(self._header[: len(cells)], cells, fillvalue=""):
            if cell:
                shown.append(f"{name}: {cell}" if name else cell)
        heading = " › ".join(self._headings)
        return QuotableUnit("; ".join(shown), "row", heading, cells=cells, header=self._header)

    def _enter(self, level: int, heading: str) -> None:
        """Begin the section below a heading of this level."""
        self._headings[level - 1 :] = [plain(heading)]
        self._lead = ""

    def _flush(self) -> Iterator[QuotableUnit]:
        """End the current block and yield its units."""
        lines = self._block
        kind = self._kind
        self._block = []
        if not lines:
            return
        self._kind = ""
        heading = " › ".join(self._headings)
        line = plain(" ".join(lines))
        if kind == "message":
            yield QuotableUnit(line, "sentence", heading)
        elif kind == "item":
            yield from _sentences(line, QuotableUnit("", "item", heading, self._lead))
        elif len(lines) > 1 and all(map(_FIELD.match, lines)):
            for record in lines:
                yield QuotableUnit(plain(record), "record", heading, self._lead)
        elif len(lines) == 1 and _is_title(line, is_below_heading=kind == "below heading"):
            self._enter(2, line)
        else:
            self._lead = line if line.endswith((":", "：")) else ""
            yield from _sentences(line, QuotableUnit("", "sentence", heading, self._attribution))


def _number_of(line: str) -> str | None:
    """Return the number of a list item as written, such as `2.1.`.

    None for other lines and bullets.
    """
    mark = _ITEM.match(line)
    return mark["number"] if mark else None


def _item_mark(line: str, numbers: Collection[str]) -> re.Match[str] | None:
    """Return the match of a list item's bullet or number or of a footnote's label.

    None for other lines. `numbers`: the numbers at the beginnings of lines.
    """
    mark = _NOTE.match(line) or _ITEM.match(line)
    if not mark or not mark["number"]:
        return mark
    # A number is text, such as the day in a date, unless the next or previous number begins a line
    # too.
    number = int(mark["last"])
    previous_number = f"{mark['above']}{number - 1}{mark['end']}"
    next_number = f"{mark['above']}{number + 1}{mark['end']}"
    if previous_number not in numbers and next_number not in numbers:
        return None
    return None if date_at(line, mark.start("number")) else mark


def _is_title(line: str, *, is_below_heading: bool) -> bool:
    """Whether a line on its own is a heading: short, without punctuation at its end, not a figure.

    Directly below a heading, such a line with a digit is text.
    """
    if len(line.split()) > _TITLE_WORDS:
        return False
    if _ENDS.search(line) or _FIELD.search(line) or _FIGURE.search(line):
        return False
    return not is_below_heading or not any(map(str.isdigit, line))


def _header_of(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a table's columns by its first row.

    They are empty if that has many figures, unless these are several years.
    """
    figures = list(filter(_FIGURE.match, cells))
    are_years = len(set(figures)) > 1 and all(map(_YEAR.fullmatch, figures))
    if are_years or len(figures) < max(1, len(cells) / 2 - 1):
        return cells
    return ("",) * len(cells)


def _cells(line: str) -> tuple[str, ...]:
    """Return the cells of a line of a table; empty for any other line."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    cells = tuple(map(plain, _BAR.split(inner)))
    is_row = len(cells) > 1 or line.strip().startswith("|")
    return cells if is_row else ()


def _sentences(line: str, like: QuotableUnit) -> Iterator[QuotableUnit]:
    """Yield the sentences of a block as units like `like`.

    A question or label becomes the lead of those after it.
    """
    before = ""
    sentences = split_sentences(line)
    for index, sentence in enumerate(sentences):
        is_label = index == 0 and _is_label(sentence)
        is_question = sentence.endswith(("?", "？"))
        if len(sentences) > 1 and (is_label or is_question):
            lead = [like.lead, sentence] if is_label else [sentence]
            like = like._replace(lead=" ".join(filter(None, lead)))
        elif sentence.endswith((":", "：")) and like.kind == "sentence":
            pass
        elif len(_WORD.findall(sentence)) >= _FEWEST_WORDS or not sentence.isascii():
            kind = like.kind
            if kind == "sentence" and _FIELD.match(sentence) and not _ENDS.search(sentence):
                kind = "record"
            yield like._replace(text=sentence, kind=kind, before=before)
        if not before or not points_back(sentence):
            before = sentence


def _is_label(sentence: str) -> bool:
    """Whether the first sentence of a paragraph is so short that it is a label of the others."""
    return len(sentence.split()) <= _LABEL_WORDS and not _UNSPACED.search(sentence)
