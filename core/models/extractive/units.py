"""Splits a text into quotable units: sentences, list items, table rows, record lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest
from typing import Literal, NamedTuple

from ...evidence.text.sentences import SENTENCE_ENDS, UNSPACED_ENDS, sentence_spans
from ...evidence.text.words import THIRD_PERSONS, date_at, tokens

_OPENING = ("他", "她", "它", "其", "该", "該", "此", "这", "這", "那", "彼", "それ", "これ", "この", "その")
_LONGEST = 600
"""Maximum characters of a unit; longer quotes are unreadable."""
_FEWEST_WORDS = 2
"""Minimum words of a sentence; with fewer, it is a section number or a heading."""
_LABEL_WORDS = 3
"""Maximum words of a first sentence that is a label of its paragraph, as in "Trading. Sales rose."."""
_TITLE_WORDS = 10
"""Maximum words of a separate line without a full stop that counts as a heading."""
QuotableKind = Literal["sentence", "item", "row", "record"]
_HEADING = re.compile(r"^\s*(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|(?P<number>(?P<above>(?:\d{1,3}\.)*)(?P<last>\d{1,3})(?P<end>[.)])))\s+")
_NOTE = re.compile(r"^\s*(?P<number>)\[\^[^\]\s]+\]:\s+")
"""Label of a footnote."""
_STAMP = re.compile(
    r"^\s*[\[(]?(?:[\d./-]{6,10}(?:,|T|\s)\s*)?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
    r"(?:\s?[AaPp]\.?[Mm]\.?|Z|[+-]\d{2}:?\d{2})?[\])]?(?:\s|:)"
)
"""Time stamp of a chat message, or of a line in a log or transcript."""
_BULLETS = re.compile(r"[ \t]*[•▪‣◦·\x7f\ue000-\uf8ff][ \t]+")
"""Bullets as written by programs, even within a line."""
_FIGURE = re.compile(r"^\W*\d[\d.,:%/\s-]*\W*$")
_RULE = re.compile(r"^\s*(?:={3,}|\*{5,})\s*$|^\s*\|?(?:\s*:?-{2,}:?\s*\|)*\s*:?-{2,}:?\s*\|?\s*$")
_BAR = re.compile(r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)")
"""A bar between two cells, outside of code."""
_FIELD = re.compile(r"^\s*[^\W_][^:|.]{0,40}:\s+\S")
_QUOTED = re.compile(r"^(?:\s*>)+ ?")
_CODE_MARK = re.compile(r"^\s*(?:```|~~~|(?:>>>|\.\.\.)\s)")
_WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}")
_REFERENCES = re.compile(r"\[(?:\d[\d,\s–-]*|\^[^\]\s]+)\]")
_EMPHASIS = re.compile(r"\*\*|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?!\w)|`")
_UNDERSCORED = re.compile(r"(?<!\w)(_{1,2})([^\s_][^_]* [^_]*[^\s_]|[^\s_])\1(?!\w)")
"""Emphasized words between underscores; does not match identifiers."""
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_UNSPACED = re.compile(rf"[{UNSPACED_ENDS}]\W*$")
_DEBRIS = re.compile(r"::=|\{\{|-{5}|\}\}|</?[a-zA-Z]|�")
_ENDS = re.compile(rf"[{SENTENCE_ENDS}{UNSPACED_ENDS};:,：；،؛]\W*$")


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun and is therefore unclear without the previous sentence."""
    return not THIRD_PERSONS.isdisjoint(tokens(sentence)[:1]) or sentence.startswith(_OPENING)


def has_pronoun(text: str) -> bool:
    """Whether a text contains a third-person pronoun."""
    return not THIRD_PERSONS.isdisjoint(tokens(text)) or any(sign in text for sign in _OPENING)


class QuotableUnit(NamedTuple):
    """A sentence, list item, table row or record line that can be quoted: one line, without markup."""

    text: str
    kind: QuotableKind = "sentence"
    heading: str = ""
    """The headings above it, outermost first, joined by ` › `."""
    lead: str = ""
    """The sentence that introduces its list, the question that it answers, or the label of its paragraph."""
    before: str = ""
    """The last earlier sentence of its paragraph that does not begin with a pronoun."""
    cells: tuple[str, ...] = ()
    """The cells of a table row; `header` has the names of the columns."""
    header: tuple[str, ...] = ()
    number: int = 0
    """Number of its document."""
    position: int = 0
    """Position among the units of its document."""

    @property
    def meant(self) -> str:
        """The sentence that explains its initial pronoun; empty if there is none."""
        return self.before if points_back(self.text) else ""

    @property
    def words(self) -> int:
        """Number of words as shown; a table row's excludes its header."""
        return len(re.findall(r"\S*\w\S*", " ".join(self.cells) or self.text))


@lru_cache(maxsize=2000)
def quotable_units(text: str) -> tuple[QuotableUnit, ...]:
    """Return the units of a text in order; headings, titles and questions are not units."""
    found = _Reader().read(text)
    return tuple(
        unit for unit in found if unit.text.strip() and len(unit.text) <= _LONGEST and not _DEBRIS.search(unit.text)
    )


def plain(text: str) -> str:
    """Return a text on one line, without links, emphasis, and reference marks (they would look like citations)."""
    bare = _REFERENCES.sub("", _LINK.sub(r"\1", text))
    return " ".join(_UNDERSCORED.sub(r"\2", _EMPHASIS.sub("", bare)).split())


def split_sentences(line: str) -> list[str]:
    """Return the sentences of a line, including an unfinished last one."""
    return [line[start:end] for start, end in sentence_spans(line)]


class _Reader:
    """Reads the lines of a text and keeps track of the current headings, table and block."""

    def __init__(self) -> None:
        self._headings: list[str] = []
        self._lead = self._attribution = ""
        self._block: list[str] = []
        self._kind: Literal["", "item", "message", "below heading"] = ""
        self._header: tuple[str, ...] = ()

    def read(self, text: str) -> Iterator[QuotableUnit]:
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
                # A number that the previous or next one does not mark too, such as the day in a date, is text.
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
                    # A row with many figures is not a header.
                    figures = sum(_FIGURE.match(cell) is not None for cell in cells)
                    self._header = cells if figures < max(1, len(cells) / 2 - 1) else ("",) * len(cells)
                if self._header != cells:
                    pairs = zip(self._header, cells, strict=False)
                    named = [f"{name}: {cell}" if name else cell for name, cell in pairs if cell]
                    text = "; ".join([*named, *filter(None, cells[len(self._header) :])])
                    yield QuotableUnit(text, "row", " › ".join(self._headings), cells=cells, header=self._header)
            elif line.strip():
                self._kind = "message" if is_message else "item" if item else self._kind
                self._block.append(line[item.end() :] if item and not is_message else line)
        yield from self._flush()

    def _enter(self, level: int, heading: str) -> None:
        self._headings[level - 1 :] = [plain(heading)]
        self._lead = ""

    def _flush(self) -> Iterator[QuotableUnit]:
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
    """Return the cells of a table line; empty for any other line."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    cells = tuple(map(plain, _BAR.split(inner)))
    return cells if len(cells) > 1 or line.strip().startswith("|") else ()


def _sentences(line: str, like: QuotableUnit) -> Iterator[QuotableUnit]:
    """Yield the sentences of a block; a question or a short first sentence becomes the lead of those after it."""
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
