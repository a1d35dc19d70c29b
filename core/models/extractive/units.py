"""Splits a text into units that can be quoted: sentences, list items, table rows, and lines such as `Height: 40 m`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest
from typing import Literal, NamedTuple

from ...evidence.text.sentences import SENTENCE_ENDS, UNSPACED_ENDS, sentence_spans
from ...evidence.text.words import THIRD_PERSONS, date_at, tokens

_PRONOUNS = ("他", "她", "它", "其", "该", "該", "此", "这", "這", "那", "彼", "それ", "これ", "この", "その")
"""Pronouns and demonstratives of Chinese and Japanese."""
_LONGEST = 600
"""Maximum characters of a unit; longer ones are not quoted."""
_FEWEST_WORDS = 2
"""Minimum words of a sentence; anything shorter is a section number or a heading."""
_LABEL_WORDS = 3
"""Maximum words of a paragraph's first sentence for it to count as a label, as in "Trading. Sales rose."."""
_TITLE_WORDS = 10
"""Maximum words of a line on its own, without a full stop, for it to count as a heading."""
QuotableKind = Literal["sentence", "item", "row", "record"]
_HEADING = re.compile(r"^\s*(#{1,6})\s+(.*?)\s*#*\s*$")
"""Matches a Markdown heading."""
_ITEM = re.compile(r"^\s*(?:[-*+]|(?P<number>(?P<above>(?:\d{1,3}\.)*)(?P<last>\d{1,3})(?P<end>[.)])))\s+")
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


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a third-person pronoun, so that it is unclear without the sentence before it."""
    return not THIRD_PERSONS.isdisjoint(tokens(sentence)[:1]) or sentence.startswith(_PRONOUNS)


def has_pronoun(text: str) -> bool:
    """Whether a text contains a third-person pronoun."""
    return not THIRD_PERSONS.isdisjoint(tokens(text)) or any(pronoun in text for pronoun in _PRONOUNS)


class QuotableUnit(NamedTuple):
    """A sentence, list item, table row or record line that can be quoted."""

    text: str
    """One line without markup; a table row reads `column: cell; column: cell`."""
    kind: QuotableKind = "sentence"
    heading: str = ""
    """The headings above it, outermost first, joined by ` › `."""
    lead: str = ""
    """The sentence that introduces its list, the question that it answers, or the label of its paragraph."""
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
        return len(re.findall(r"\S*\w\S*", " ".join(self.cells) or self.text))


@lru_cache(maxsize=2000)
def quotable_units(text: str) -> tuple[QuotableUnit, ...]:
    """Return the units of a text in order; headings and questions are not units, but belong to the units below them."""
    found = _Reader().read(text)
    return tuple(
        unit for unit in found if unit.text.strip() and len(unit.text) <= _LONGEST and not _DEBRIS.search(unit.text)
    )


def plain(text: str) -> str:
    """Return a text on one line, without links, emphasis, and reference numbers that would look like citations."""
    bare = _REFERENCES.sub("", _LINK.sub(r"\1", text))
    return " ".join(_UNDERSCORED.sub(r"\2", _EMPHASIS.sub("", bare)).split())


def split_sentences(line: str) -> list[str]:
    """Return the sentences of a line, including an unfinished last one."""
    return [line[start:end] for start, end in sentence_spans(line)]


class _Reader:
    """Reads a text line by line and keeps track of its headings, table and block."""

    def __init__(self) -> None:
        self._headings: list[str] = []
        """The headings above the current line, outermost first."""
        self._lead = self._attribution = ""
        """The line that introduces a list, and the line that introduces a quoted email."""
        self._block: list[str] = []
        """The lines of the current block, such as a paragraph or list item."""
        self._kind: Literal["", "item", "message", "below heading"] = ""
        self._header: tuple[str, ...] = ()
        """The header of the current table; empty outside of tables."""

    def read(self, text: str) -> Iterator[QuotableUnit]:
        """Yield the units of the text, also those that are too long to be quoted."""
        raw = [line for line in _BULLETS.sub("\n- ", text).splitlines() if not _CODE_MARK.match(line)]
        lines = [_QUOTED.sub("", line) for line in raw]
        numbers = {found["number"] for line in lines if (found := _ITEM.match(line))}
        has_messages, depth = sum(_STAMP.match(line) is not None for line in lines) > 1, 0
        for index, (line, following) in enumerate(zip_longest(lines, lines[1:], fillvalue="")):
            before, depth = depth, raw[index].removesuffix(line).count(">")
            if depth != before:
                yield from self._flush()
                # The line before a quoted email states its author and date.
                self._attribution = self._lead if depth else ""
            if _RULE.match(line):
                if self._block and "|" not in line:
                    self._enter(2, self._block.pop())
                    self._block.clear()
                continue
            heading, cells = _HEADING.match(line), _cells(line)
            item = _NOTE.match(line) or _ITEM.match(line)
            if item and item["number"]:
                # A number is text, such as the day in a date, unless the next or previous number begins a line too.
                nearby = {f"{item['above']}{int(item['last']) + step}{item['end']}" for step in (-1, 1)}
                item = None if nearby.isdisjoint(numbers) or date_at(line, item.start("number")) else item
            is_message = has_messages and _STAMP.match(line) is not None
            if heading or cells or item or is_message or not line.strip():
                yield from self._flush()
            # Some formats have empty lines between table rows.
            if not cells and (line.strip() or not _cells(following)):
                self._header = ()
            if heading:
                self._enter(len(heading[1]), heading[2])
                self._kind = "below heading"
            elif cells:
                if not self._header or _RULE.match(following):
                    # A first row with many figures is not a header.
                    figures = sum(_FIGURE.match(cell) is not None for cell in cells)
                    self._header = cells if figures < max(1, len(cells) / 2 - 1) else ("",) * len(cells)
                if self._header != cells:
                    yield self._row(cells)
            elif line.strip():
                self._kind = "message" if is_message else "item" if item else self._kind
                self._block.append(line[item.end() :] if item and not is_message else line)
        yield from self._flush()

    def _row(self, cells: tuple[str, ...]) -> QuotableUnit:
        """Return the unit of a table row."""
        named = [f"{name}: {cell}" if name else cell for name, cell in zip(self._header, cells, strict=False) if cell]
        text = "; ".join([*named, *filter(None, cells[len(self._header) :])])
        return QuotableUnit(text, "row", " › ".join(self._headings), cells=cells, header=self._header)

    def _enter(self, level: int, heading: str) -> None:
        """Begin the section below a heading of this level."""
        self._headings[level - 1 :] = [plain(heading)]
        self._lead = ""

    def _flush(self) -> Iterator[QuotableUnit]:
        """End the current block and yield its units."""
        lines, kind, self._block = self._block, self._kind, []
        if not lines:
            return
        self._kind = ""
        heading, line = " › ".join(self._headings), plain(" ".join(lines))
        is_title = len(line.split()) <= _TITLE_WORDS and not any(sign.search(line) for sign in (_ENDS, _FIELD, _FIGURE))
        if kind == "message":
            yield QuotableUnit(line, "sentence", heading)
        elif kind == "item":
            yield from _sentences(line, QuotableUnit("", "item", heading, self._lead))
        elif len(lines) > 1 and all(map(_FIELD.match, lines)):
            yield from (QuotableUnit(plain(record), "record", heading, self._lead) for record in lines)
        elif len(lines) == 1 and is_title and not (kind == "below heading" and any(map(str.isdigit, line))):
            self._enter(2, line)
        else:
            self._lead = line if line.endswith((":", "：")) else ""
            yield from _sentences(line, QuotableUnit("", "sentence", heading, self._attribution))


def _cells(line: str) -> tuple[str, ...]:
    """Return the cells of a line of a table; empty for any other line."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    cells = tuple(map(plain, _BAR.split(inner)))
    return cells if len(cells) > 1 or line.strip().startswith("|") else ()


def _sentences(line: str, like: QuotableUnit) -> Iterator[QuotableUnit]:
    """Yield the sentences of a block as units like `like`; a question or label becomes the lead of those after it."""
    before = ""
    found = split_sentences(line)
    for index, sentence in enumerate(found):
        is_label = not index and len(sentence.split()) <= _LABEL_WORDS and not _UNSPACED.search(sentence)
        if len(found) > 1 and (is_label or sentence.endswith(("?", "？"))):
            like = like._replace(lead=" ".join(filter(None, (like.lead if is_label else "", sentence))))
        elif sentence.endswith((":", "：")) and like.kind == "sentence":
            pass
        elif len(_WORD.findall(sentence)) >= _FEWEST_WORDS or not sentence.isascii():
            is_record = like.kind == "sentence" and _FIELD.match(sentence) and not _ENDS.search(sentence)
            yield like._replace(text=sentence, kind="record" if is_record else like.kind, before=before)
        before = before if before and points_back(sentence) else sentence
