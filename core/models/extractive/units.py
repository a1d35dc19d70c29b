"""The units of a text that can be quoted as they stand: sentences, items of lists, rows of tables, lines of records."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import zip_longest
from typing import Literal, NamedTuple

from ...evidence.text.sentences import SENTENCE_ENDS, UNSPACED_ENDS, spans_of
from ...evidence.text.words import THIRD_PERSONS, date_at, tokens

_OPENING = ("他", "她", "它", "其", "该", "該", "此", "这", "這", "那", "彼", "それ", "これ", "この", "その")
LONGEST = 600
"""Characters of a unit: what is longer is no sentence that a reader would want to see quoted."""
FEWEST_WORDS = 2
"""Words of a sentence: what has fewer is the number of a section, or a heading."""
LABEL_WORDS = 3
"""Words up to which the first sentence of a paragraph is what the others are about, as in "Trading. Sales rose."."""
TITLE_WORDS = 10
"""Words up to which a line that stands alone, without a full stop, is a heading."""
Kind = Literal["sentence", "item", "row", "record"]
_HEADING = re.compile(r"^\s*(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|(?P<number>(?P<above>(?:\d{1,3}\.)*)(?P<last>\d{1,3})(?P<end>[.)])))\s+")
_NOTE = re.compile(r"^\s*(?P<number>)\[\^[^\]\s]+\]:\s+")
"""What stands before the text of a footnote."""
_STAMP = re.compile(
    r"^\s*[\[(]?(?:[\d./-]{6,10}(?:,|T|\s)\s*)?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
    r"(?:\s?[AaPp]\.?[Mm]\.?|Z|[+-]\d{2}:?\d{2})?[\])]?(?:\s|:)"
)
"""A time, perhaps with a day, before a message of a chat, a line of a log or of a transcript."""
_BULLETS = re.compile(r"[ \t]*[•▪‣◦·\x7f\ue000-\uf8ff][ \t]+")
"""Signs that programs set before items, even in the middle of a line."""
_FIGURE = re.compile(r"^\W*\d[\d.,:%/\s-]*\W*$")
_RULE = re.compile(r"^\s*(?:={3,}|\*{5,})\s*$|^\s*\|?(?:\s*:?-{2,}:?\s*\|)*\s*:?-{2,}:?\s*\|?\s*$")
_BAR = re.compile(r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)")
"""A bar between two cells; one in code is none."""
_FIELD = re.compile(r"^\s*[^\W_][^:|.]{0,40}:\s+\S")
_QUOTED = re.compile(r"^(?:\s*>)+ ?")
_CODE_MARK = re.compile(r"^\s*(?:```|~~~|(?:>>>|\.\.\.)\s)")
_WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}")
_REFERENCES = re.compile(r"\[(?:\d[\d,\s–-]*|\^[^\]\s]+)\]")
_EMPHASIS = re.compile(r"\*\*|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?!\w)|`")
_UNDERSCORED = re.compile(r"(?<!\w)(_{1,2})([^\s_][^_]* [^_]*[^\s_]|[^\s_])\1(?!\w)")
"""Several words between underscores: a single one may be a name in a program."""
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_UNSPACED = re.compile(rf"[{UNSPACED_ENDS}]\W*$")
_DEBRIS = re.compile(r"::=|\{\{|-{5}|\}\}|</?[a-zA-Z]|�")
_ENDS = re.compile(rf"[{SENTENCE_ENDS}{UNSPACED_ENDS};:,：；،؛]\W*$")


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, so that alone it does not say of whom or what it speaks."""
    return not THIRD_PERSONS.isdisjoint(tokens(sentence)[:1]) or sentence.startswith(_OPENING)


def has_pronoun(text: str) -> bool:
    """Return whether a text refers to somebody or something by a pronoun."""
    return not THIRD_PERSONS.isdisjoint(tokens(text)) or any(sign in text for sign in _OPENING)


class QuotableUnit(NamedTuple):
    """A sentence, list item, row or record that can be quoted: one line, without markup."""

    text: str
    kind: Kind = "sentence"
    heading: str = ""
    """The headings above it."""
    lead: str = ""
    """What leads in its list, the question that it answers, or the label of its paragraph."""
    before: str = ""
    """The last sentence before it in its paragraph that speaks of nothing told before."""
    cells: tuple[str, ...] = ()
    """Of a row: its cells; `header` names them."""
    header: tuple[str, ...] = ()
    number: int = 0
    """Number of its document."""
    place: int = 0
    """Its place among the units of the document."""

    @property
    def meant(self) -> str:
        """The sentence that says what the pronoun at its beginning means; empty without one."""
        return self.before if points_back(self.text) else ""

    @property
    def words(self) -> int:
        """How many words a reader sees; a row is shown below its header."""
        return len(re.findall(r"\S*\w\S*", " ".join(self.cells) or self.text))


@lru_cache(maxsize=2000)
def units_of(text: str) -> tuple[QuotableUnit, ...]:
    """Return the units of a text in their order; headings, titles and questions are none of their own."""
    found = _Reader().read(text)
    # A row of empty cells says nothing.
    return tuple(one for one in found if one.text.strip() and len(one.text) <= LONGEST and not _DEBRIS.search(one.text))


def plain(text: str) -> str:
    """Return a text in one line without links, emphasis and its own references, which would pass for citations."""
    bare = _REFERENCES.sub("", _LINK.sub(r"\1", text))
    return " ".join(_UNDERSCORED.sub(r"\2", _EMPHASIS.sub("", bare)).split())


def split_sentences(line: str) -> list[str]:
    """Return the sentences of a line, what stands behind the last one too."""
    return [line[start:end] for start, end in spans_of(line)]


class _Reader:
    """Goes through the lines of a text; remembers the headings, the table and the block that it is in."""

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
        for place, (line, following) in enumerate(zip_longest(lines, lines[1:], fillvalue="")):
            before, depth = depth, raw[place].removesuffix(line).count(">")
            if depth != before:
                yield from self._flush()
                # The line before a quoted letter says who wrote it, and when.
                self._attribution = self._lead if depth else ""
            if _RULE.match(line):
                if self._block and "|" not in line:
                    self._enter(2, self._block.pop())
                    self._block.clear()
                continue
            heading, cells = _HEADING.match(line), _cells(line)
            item = _NOTE.match(line) or _item(line, numbers)
            is_message = has_messages and _STAMP.match(line) is not None
            if heading or cells or item or is_message or not line.strip():
                yield from self._flush()
            # Some formats set an empty line between the rows of a table.
            if not cells and (line.strip() or not _cells(following)):
                self._header = ()
            if heading:
                self._enter(len(heading[1]), heading[2])
                self._kind = "below heading"
            elif cells:
                if not self._header or _RULE.match(following):
                    # A row of figures is no header.
                    figures = sum(_FIGURE.match(cell) is not None for cell in cells)
                    self._header = cells if figures < max(1, len(cells) / 2 - 1) else ("",) * len(cells)
                if self._header != cells:
                    yield self._row(cells)
            elif line.strip():
                self._kind = "message" if is_message else "item" if item else self._kind
                self._block.append(line[item.end() :] if item and not is_message else line)
        yield from self._flush()

    def _enter(self, level: int, heading: str) -> None:
        self._headings[level - 1 :] = [plain(heading)]
        self._lead = ""

    def _row(self, cells: tuple[str, ...]) -> QuotableUnit:
        named = [f"{name}: {cell}" if name else cell for name, cell in zip(self._header, cells, strict=False) if cell]
        text = "; ".join([*named, *filter(None, cells[len(self._header) :])])
        return QuotableUnit(text, "row", " › ".join(self._headings), cells=cells, header=self._header)

    def _flush(self) -> Iterator[QuotableUnit]:
        lines, kind, self._block = self._block, self._kind, []
        if not lines:
            return
        self._kind = ""
        heading, line = " › ".join(self._headings), plain(" ".join(lines))
        if kind == "message":
            yield QuotableUnit(line, "sentence", heading)
        elif kind == "item":
            yield from _sentences(line, QuotableUnit("", "item", heading, self._lead))
        elif len(lines) > 1 and all(map(_FIELD.match, lines)):
            yield from (QuotableUnit(plain(one), "record", heading, self._lead) for one in lines)
        elif len(lines) == 1 and _is_title(line) and not (kind == "below heading" and any(map(str.isdigit, line))):
            self._enter(2, line)
        else:
            self._lead = line if line.endswith((":", "：")) else ""
            yield from _sentences(line, QuotableUnit("", "sentence", heading, self._attribution))


def _cells(line: str) -> tuple[str, ...]:
    """Return the cells of a line of a table; none if the line is not one."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    cells = tuple(map(plain, _BAR.split(inner)))
    return cells if len(cells) > 1 or line.strip().startswith("|") else ()


def _item(line: str, numbers: Collection[str]) -> re.Match[str] | None:
    """Return the mark of an item: a bullet, or a number that another line of the text goes on from or leads to."""
    found = _ITEM.match(line)
    if not found or not found["number"]:
        return found
    # A number that counts nothing belongs to its sentence, as a day does.
    nearby = {f"{found['above']}{int(found['last']) + step}{found['end']}" for step in (-1, 1)}
    return None if nearby.isdisjoint(numbers) or date_at(line, found.start("number")) else found


def _is_title(line: str) -> bool:
    is_short = len(line.split()) <= TITLE_WORDS
    return is_short and not (_ENDS.search(line) or _FIELD.match(line) or _FIGURE.match(line))


def _sentences(line: str, like: QuotableUnit) -> Iterator[QuotableUnit]:
    """Yield the sentences of a block; a question, and a first sentence of few words, only lead in the others."""
    before = ""
    found = split_sentences(line)
    for place, sentence in enumerate(found):
        is_label = not place and len(sentence.split()) <= LABEL_WORDS and not _UNSPACED.search(sentence)
        if len(found) > 1 and (is_label or sentence.endswith(("?", "？"))):
            like = like._replace(lead=" ".join(filter(None, (like.lead if is_label else "", sentence))))
        elif sentence.endswith((":", "：")) and like.kind == "sentence":
            pass
        elif len(_WORD.findall(sentence)) >= FEWEST_WORDS or not sentence.isascii():
            is_record = like.kind == "sentence" and _FIELD.match(sentence) and not _ENDS.search(sentence)
            yield like._replace(text=sentence, kind="record" if is_record else like.kind, before=before)
        before = before if before and points_back(sentence) else sentence
