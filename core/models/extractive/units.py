"""The units of a text that can be quoted as they stand: sentences, items of lists, rows of tables, lines of records."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from ...evidence.language import IN_QUESTION, language_by_words
from ...evidence.text.sentences import SENTENCE_ENDS, UNSPACED_ENDS, ends_sentence
from ...evidence.text.stems import sought_words
from ...evidence.text.words import THIRD_PERSONS, date_at, tokens

_OPENING = ("他", "她", "它", "其", "该", "該", "此", "这", "這", "那", "彼", "それ", "これ", "この", "その")
# 其他 is "other".
_ANYWHERE = re.compile("(?<!其)[他她它]|彼")
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
_FIGURE = re.compile(r"^\W*\d[\d.,\s]*\W*$")
_RULE = re.compile(r"^\s*(?:={3,}|\*{5,})\s*$|^\s*\|?(?:\s*:?-{2,}:?\s*\|)*\s*:?-{2,}:?\s*\|?\s*$")
_BAR = re.compile(r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)")
"""A bar between two cells; one in code is none."""
_FIELD = re.compile(r"^\s*[^\W_][^:|.]{0,40}:\s+\S")
_QUOTED = re.compile(r"^(?:\s*>)+ ?")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.)\s")
_WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_CLOSERS = r"[\"'”’»)\]」』]*"
_BOUNDARY = re.compile(rf"[{SENTENCE_ENDS}]{_CLOSERS}(?=\s|\[\^?\d|$)|[{UNSPACED_ENDS}]{_CLOSERS}")
_REFERENCES = re.compile(r"\[(?:\d[\d,\s–-]*|\^[^\]\s]+)\]")
_EMPHASIS = re.compile(r"\*\*|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?!\w)|`")
_UNDERSCORED = re.compile(r"(?<!\w)(_{1,2})([^\s_][^_]* [^_]*[^\s_]|[^\s_])\1(?!\w)")
"""Several words between underscores: a single one may be a name in a program."""
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_DIGIT = re.compile(r"\d")
_UNSPACED = re.compile(rf"[{UNSPACED_ENDS}]\W*$")
_DEBRIS = re.compile(r"::=|\{\{|-{5}|\}\}|</?[a-zA-Z]|�")
_ENDS = re.compile(rf"[{SENTENCE_ENDS}{UNSPACED_ENDS};:,：；،؛]\W*$")
_CODE = re.compile(r"^\W*\d[\d.,:%/-]*\W*$")


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, so that alone it does not say of whom or what it speaks."""
    first = tokens(sentence)[:1]
    # What is a pronoun in French is an article in Italian.
    if first == ["il"] and language_by_words(sought_words(sentence), IN_QUESTION) == "it":
        return False
    return not THIRD_PERSONS.isdisjoint(first) or sentence.startswith(_OPENING)


def has_pronoun(text: str) -> bool:
    """Return whether a text refers to somebody or something by a pronoun."""
    return not THIRD_PERSONS.isdisjoint(tokens(text)) or _ANYWHERE.search(text) is not None


class Unit(NamedTuple):
    """What can be quoted, in one line, without markup."""

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

    @property
    def words(self) -> int:
        """How many words a reader sees; a row is shown below its header."""
        return len(re.findall(r"\S*\w\S*", " ".join(self.cells) or self.text))


@lru_cache(maxsize=2000)
def units_of(text: str) -> tuple[Unit, ...]:
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
    ends = list[int]()
    for match in _BOUNDARY.finditer(line):
        following = line[match.end() :].lstrip()
        if line[ends[-1] if ends else 0 : match.start()].strip().isdigit():
            # A number alone is no sentence: in "12. June" it is the day.
            continue
        if match.group()[0] != "." or not following or ends_sentence(line[: match.start()], following):
            ends.append(match.end())
    bounds = zip([0, *ends], [*ends, len(line)], strict=True)
    return [sentence for start, end in bounds if (sentence := line[start:end].strip())]


class _Reader:
    """Goes through the lines of a text; remembers the headings, the table and the block that it is in."""

    def __init__(self) -> None:
        self._headings: list[str] = []
        self._lead = ""
        self._block: list[str] = []
        self._is_item = self._is_message = self._is_below_heading = False
        self._attribution = ""
        self._header: tuple[str, ...] | None = None
        self._last_header: tuple[str, ...] = ()

    def read(self, text: str) -> Iterator[Unit]:
        text = _BULLETS.sub("\n- ", text)
        raw = [line for line in text.splitlines() if not (_FENCE.match(line) or _PROMPT.match(line))]
        lines = [_QUOTED.sub("", line) for line in raw]
        numbers = {found["number"] for line in lines if (found := _ITEM.match(line))}
        has_messages, depth = sum(_STAMP.match(line) is not None for line in lines) > 1, 0
        for place, line in enumerate(lines):
            before, depth = depth, raw[place].removesuffix(line).count(">")
            if depth != before:
                yield from self._flush()
                # The line before a quoted letter says who wrote it, and when.
                self._attribution = self._lead if depth else ""
            heading, cells = _HEADING.match(line), _cells(line)
            if heading:
                yield from self._flush()
                self._header, self._lead = None, ""
                self._enter(len(heading[1]), heading[2])
                self._is_below_heading = True
            elif _RULE.match(line):
                if self._block and "|" not in line:
                    self._enter(2, self._block.pop())
                    self._block.clear()
            elif cells:
                yield from self._flush()
                if self._header is None or _RULE.match("".join(lines[place + 1 : place + 2])):
                    self._header = self._header_for(cells)
                    if self._header != cells:
                        yield self._row(cells)
                else:
                    yield self._row(cells)
            elif has_messages and _STAMP.match(line):
                yield from self._flush()
                self._header, self._is_message = None, True
                self._block.append(line)
            elif line.strip():
                self._header = None
                item = _NOTE.match(line) or _item(line, numbers)
                if item and item["number"] and _stands_alone(lines, place) and _is_title(plain(line[item.end() :])):
                    yield from self._flush()
                    self._enter(2, line)
                    self._lead = ""
                    continue
                if item:
                    yield from self._flush()
                    self._is_item = True
                self._block.append(line[item.end() :] if item else line)
            else:
                yield from self._flush()
                # Some formats set an empty line between the rows of a table.
                if self._header is not None and not any(map(_cells, lines[place + 1 : place + 2])):
                    self._header = None
        yield from self._flush()

    def _enter(self, level: int, heading: str) -> None:
        del self._headings[level - 1 :]
        self._headings.append(plain(heading))

    def _header_for(self, cells: tuple[str, ...]) -> tuple[str, ...]:
        """Return the header of the table that this row begins; if it is a row of figures, that of the table before."""
        figures = sum(_FIGURE.match(cell) is not None for cell in cells)
        if figures < max(1, len(cells) / 2 - 1):
            self._last_header = cells
        elif len(self._last_header) != len(cells):
            self._last_header = tuple("" for _ in cells)
        return self._last_header

    def _row(self, cells: tuple[str, ...]) -> Unit:
        assert self._header is not None
        named = [f"{name}: {cell}" if name else cell for name, cell in zip(self._header, cells, strict=False) if cell]
        text = "; ".join([*named, *filter(None, cells[len(self._header) :])])
        return Unit(text, "row", " › ".join(self._headings), cells=cells, header=self._header)

    def _flush(self) -> Iterator[Unit]:
        lines, self._block = self._block, []
        is_item, self._is_item = self._is_item, False
        is_message, self._is_message = self._is_message, False
        if not lines:
            return
        is_below_heading, self._is_below_heading = self._is_below_heading, False
        heading, line = " › ".join(self._headings), plain(" ".join(lines))
        if is_message:
            yield Unit(line, "sentence", heading)
        elif is_item:
            yield from _sentences(line, Unit("", "item", heading, self._lead))
        elif len(lines) > 1 and all(map(_FIELD.match, lines)):
            yield from (Unit(plain(one), "record", heading, self._lead) for one in lines)
        elif len(lines) == 1 and _is_title(line) and not (is_below_heading and _DIGIT.search(line)):
            self._enter(2, line)
            self._lead = ""
        else:
            self._lead = line if line.endswith((":", "：")) else ""
            yield from _sentences(line, Unit("", "sentence", heading, self._attribution))


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


def _stands_alone(lines: Sequence[str], place: int) -> bool:
    """Whether empty lines stand around a line, and behind them no further item."""
    before, behind = (
        lines[place - 1 : place] if place else [""],
        [line for line in lines[place + 1 :][:3] if line.strip()],
    )
    is_apart = not "".join(before).strip() and not "".join(lines[place + 1 : place + 2]).strip()
    return is_apart and not (behind and _is_same_kind(behind[0], lines[place]))


def _is_same_kind(line: str, other: str) -> bool:
    """Whether two lines are items of one list: numbered alike."""
    first, second = _ITEM.match(line), _ITEM.match(other)
    if not (first and second and first["number"] and second["number"]):
        return False
    return first["number"].count(".") == second["number"].count(".")


def _is_title(line: str) -> bool:
    is_short = len(line.split()) <= TITLE_WORDS
    return is_short and not (_ENDS.search(line) or _FIELD.match(line) or _CODE.match(line))


def _sentences(line: str, like: Unit) -> Iterator[Unit]:
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
