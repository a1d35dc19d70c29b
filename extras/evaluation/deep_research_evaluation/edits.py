"""Twenty scripted edits, of ten kinds, for any report, with what the report has to say afterwards.

They are made from the structure of the report alone. A text that replaces another keeps its
figures, names and citations, unless the edit asks for less.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from deep_research.core.evidence.citations.rendering import without_marks
from deep_research.core.writing.blocks import ReportBlock, report_blocks

MARKER = re.compile(r"\[(\d+)\]")
KINDS = (
    "shorten a paragraph",
    "half as long",
    "add a column",
    "add a row from new research",
    "a figure of the user's",
    "remove a section",
    "reorder",
    "another tone",
    "translate",
    "merge two sections",
)
EACH = 2
"""Number of edits of each kind."""
NEW_SOURCE = "[new]"
"""Stands for the citation of the document that research finds."""
NEW_TITLE = "Supplement on Nordhaven"
NEW_DOCUMENT = f"# {NEW_TITLE}\n\nNordhaven was counted in 2031. It has 417 of them.\n"
"""A document that only research can find, because it is added after the report."""
_SENTENCE = re.compile(
    r"[^\n]+?(?:(?:[.!?](?:\s*\[\d+\])+|(?<!\b\d)(?<!\b\d\d)[.!?])(?=\s|$)|$)", re.MULTILINE
)
"""Matches a sentence; it does not end with the day of a date (1. Oktober)."""
_FIGURE = re.compile(r"\d(?:[\d.,]*\d)?")
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+(?: [A-Z][\w-]+)*")
_ITEM = re.compile(r"(\s*(?:[-*+]|\d+[.)])\s+)(.*)", re.DOTALL)
_CELL_WORDS = 14
"""Maximum number of words of a sentence that becomes a cell."""
_PHRASES = {
    "de": "Dazu steht in der Quelle mit {} das, was hier in anderen Worten gesagt wird.",
    "en": "The source says of this, with {}, what is said here in other words.",
    "fr": "La source dit à ce propos, avec {}, ce qui est dit ici en d'autres mots.",
}
"""Sentences that stand for translations, with the figures and names of the original, by the code
of their language."""
_HEADINGS = {"de": "Abschnitt {}", "en": "Section {}", "fr": "Partie {}"}
Answer = Mapping[str, Any]
"""A filled-in form `edit_report`."""


class ScriptedEdit(NamedTuple):
    """An edit as the user asks for it and as the model makes it."""

    kind: str
    request: str
    answers: tuple[Answer, ...]
    """The forms that the model fills in, one after another."""
    named: frozenset[int]
    """Numbers of the blocks that change or move."""
    texts: tuple[str, ...]
    """What the report has to have in their place, in Markdown."""


class _Section(NamedTuple):
    """A heading of the highest level with all below it."""

    blocks: tuple[ReportBlock, ...]

    @property
    def first(self) -> int:
        return self.blocks[0].number

    @property
    def last(self) -> int:
        return self.blocks[-1].number

    @property
    def words(self) -> str:
        return self.blocks[0].text.lstrip("# ")


def pieces_of(text: str) -> list[str]:
    """Return the sentences, headings and table rows of a text, with their citations."""
    pieces = list[str]()
    for line in text.split("\n"):
        if line.lstrip().startswith("|"):
            pieces.append(line.strip())
        else:
            pieces += [piece.strip() for piece in _SENTENCE.findall(line) if piece.strip()]
    return pieces


def with_uniform_rows(text: str) -> str:
    """Return a text with the same white space around the cells of all tables."""
    lines = list[str]()
    for line in text.split("\n"):
        is_row = line.lstrip().startswith("|")
        lines.append(_row(_cells(line)) if is_row else line)
    return "\n".join(lines)


def scripted_edits(
    text: str, documents: Mapping[int, str], language: str
) -> Iterable[ScriptedEdit]:
    """Yield the edits of a report; those of a table only if it has one.

    `documents` are the texts of its sources by number, `language` is the code of its own.
    """
    script = _Script(text, documents, language)
    yield from script.shorten()
    yield from script.halve()
    yield from script.add_column()
    yield from script.add_row()
    yield from script.set_figure()
    yield from script.remove_section()
    yield from script.reorder()
    yield from script.change_tone()
    yield from script.translate()
    yield from script.merge_sections()


class _Script:
    """Makes the edits of a report, two of each kind where it has room for them."""

    def __init__(self, text: str, documents: Mapping[int, str], language: str) -> None:
        self._blocks = report_blocks(text)
        self._documents = documents
        self._language = language
        levels = [len(block.text.split()[0]) for block in self._blocks if block.kind == "heading"]
        starts = list[int]()
        for block in self._blocks:
            if block.kind == "heading" and len(block.text.split()[0]) == min(levels):
                starts.append(block.number)
        ends = [*(start - 1 for start in starts[1:]), len(self._blocks)]
        self._sections = list[_Section]()
        for start, end in zip(starts, ends, strict=False):
            self._sections.append(_Section(tuple(self._blocks[start - 1 : end])))
        tables = [block for block in self._blocks if block.kind == "table"]
        self._table = max(tables, key=lambda table: table.text.count("\n"), default=None)

    def shorten(self) -> Iterable[ScriptedEdit]:
        """Leave out the last sentence of the longest paragraph, and of the last one with
        citations, where the model first forgets these."""
        paragraphs = list[ReportBlock]()
        for block in self._paragraphs(self._blocks):
            sentences = _sentences(block)
            if len(sentences) > 1 and MARKER.search(" ".join(sentences[:-1])):
                paragraphs.append(block)
        if not paragraphs:
            return
        for block in (max(paragraphs, key=lambda block: len(block.text)), paragraphs[-1]):
            sentences = _sentences(block)
            short = _beginning(sentences, len(sentences) - 1)
            right = _replacing(block, short)
            answers = [{"edits": [right]}]
            if block is paragraphs[-1]:
                bare = _replacing(block, MARKER.sub("", short).replace(" .", "."))
                answers.insert(0, {"edits": [bare]})
            request = f"Leave out the last sentence of paragraph {block.number}."
            yield _edit("shorten a paragraph", request, answers, {block.number: short})

    def halve(self) -> Iterable[ScriptedEdit]:
        """Keep half of the sentences of each paragraph, in a section and in all of them."""

        for blocks, words in self._section_and_all():
            new = dict[int, str]()
            for block in self._paragraphs(blocks):
                sentences = _sentences(block)
                new[block.number] = _beginning(sentences, math.ceil(len(sentences) / 2))
            yield self._rewriting("half as long", f"Make {words} half as long.", new)

    def add_column(self) -> Iterable[ScriptedEdit]:
        """Add a column with a sentence of a source in each cell: last, and second, where the model
        first forgets a cell."""
        table = self._table
        if table is None:
            return
        rows = table.text.split("\n")
        header = _cells(rows[0])
        numbers = sorted(self._documents)
        cells = ["Beside it"]
        for index in range(len(rows) - 2):
            number = numbers[index % len(numbers)]
            cells.append(f"{self._quoted(number)} [{number}]")
        for column in (len(header), 1):
            new = {"kind": "insert_column", "block": table.number, "column": column}
            answers = [{"edits": [{**new, "cells": cells}]}]
            if column == 1:
                answers.insert(0, {"edits": [{**new, "cells": cells[:-1]}]})
            expected = list[str]()
            for row, cell in zip([rows[0], *rows[2:]], cells, strict=True):
                values = _cells(row)
                expected.append(_row([*values[:column], cell, *values[column:]]))
            request = f"Add a column to the table after column {column}."
            yield _edit("add a column", request, answers, {table.number: "\n".join(expected)})

    def add_row(self) -> Iterable[ScriptedEdit]:
        """Add a row on what only research can find: as a row, and as a text that continues the
        table."""
        table = self._table
        if table is None:
            return
        rows = table.text.split("\n")
        columns = len(_cells(rows[0]))
        cells = ["Nordhaven", f"417 {NEW_SOURCE}", *["–"] * columns][:columns]
        expected = "\n".join([rows[0], *rows[2:], _row(cells)])
        request = "Add a row on Nordhaven to the table."
        tasks = {"edits": [], "tasks": ["How many does Nordhaven have?"]}
        row = {"kind": "insert_row", "row": len(rows) - 2, "cells": cells}
        text = {"kind": "insert_after", "is_continued": True, "text": _row(cells)}
        for added in (row, text):
            answers: list[Answer] = [tasks, {"edits": [{"block": table.number, **added}]}]
            new = {table.number: expected}
            yield _edit("add a row from new research", request, answers, new)

    def set_figure(self) -> Iterable[ScriptedEdit]:
        """Put a figure of the user's into a cell, and into a paragraph beside its sources."""
        request = "Our own figure is 2,417: put it in."
        kind = "a figure of the user's"
        figure = "2,417 (your request)"
        table = self._table
        if table:
            rows = [_cells(row) for row in table.text.split("\n")]
            column = len(rows[-1])
            given = {"row": len(rows) - 2, "column": column, "text": figure}
            answers = [{"edits": [{"kind": "set_cell", "block": table.number, **given}]}]
            rows[-1][-1] = figure
            expected = "\n".join(_row(row) for row in [rows[0], *rows[2:]])
            yield _edit(kind, request, answers, {table.number: expected})
        for block in self._paragraphs(self._blocks)[-1:]:
            number = min(self._documents)
            text = f"Our own figure is {figure}. The sources give none of it [{number}]."
            added = {"kind": "insert_after", "is_continued": True, "text": text}
            answers = [{"edits": [{"block": block.number, **added}]}]
            whole = " ".join([*_sentences(block), text])
            yield _edit(kind, request, answers, {block.number: whole})

    def remove_section(self) -> Iterable[ScriptedEdit]:
        """Remove the last section, and the first one."""
        if len(self._sections) < 2:
            return
        for section in (self._sections[-1], self._sections[0]):
            removed = {"kind": "delete", "block": section.first, "last": section.last}
            named = dict.fromkeys(_numbers(section.blocks), "")
            request = f"Remove the section “{section.words}”."
            yield _edit("remove a section", request, [{"edits": [removed]}], named)

    def reorder(self) -> Iterable[ScriptedEdit]:
        """Move the last section to the front, and a block behind its next one."""
        moves = list[tuple[Sequence[ReportBlock], int]]()
        if len(self._sections) > 1:
            moves.append((self._sections[-1].blocks, self._sections[0].first - 1))
        items = [block for block in self._blocks if block.kind == "item"]
        for block in (items or self._paragraphs(self._blocks))[:1]:
            if block.number < len(self._blocks):
                moves.append(([block], block.number + 1))
        for blocks, after in moves:
            numbers = _numbers(blocks)
            moved = {"kind": "move_after", "block": numbers[0], "last": numbers[-1], "after": after}
            request = f"Move blocks {numbers[0]} to {numbers[-1]} behind {after}."
            new = {block.number: block.text for block in blocks}
            yield _edit("reorder", request, [{"edits": [moved]}], new)

    def change_tone(self) -> Iterable[ScriptedEdit]:
        """Put the paragraphs of a section, and of all, in another tone."""
        for blocks, words in self._section_and_all():
            new = dict[int, str]()
            for block in self._paragraphs(blocks):
                new[block.number] = " ".join(["Honestly:", *_sentences(block)])
            yield self._rewriting("another tone", f"Make {words} more personal.", new)

    def translate(self) -> Iterable[ScriptedEdit]:
        """Translate all blocks into two other languages; tables keep their cells."""
        others = [language for language in _PHRASES if language != self._language]
        for language in others[:2]:
            new = dict[int, str]()
            for block in self._blocks:
                if block.kind == "heading":
                    marks = block.text.split()[0]
                    new[block.number] = f"{marks} {_HEADINGS[language].format(block.number)}"
                elif block.kind == "item":
                    item = _ITEM.fullmatch(block.text)
                    assert item
                    new[block.number] = item[1] + _translated(item[2], language)
                elif block.kind == "paragraph":
                    new[block.number] = _translated(" ".join(_sentences(block)), language)
            edit = self._rewriting("translate", f"Translate it into {language!r}.", new)
            yield edit._replace(answers=({**edit.answers[0], "language": language},))

    def merge_sections(self) -> Iterable[ScriptedEdit]:
        """Merge the first section with the next, and with one that stands further below."""
        for first, other in zip(self._sections, self._sections[1:3], strict=False):
            first = self._sections[0]
            body = other.blocks[1:]
            heading = f"{first.blocks[0].text} / {other.words}"
            edits = [
                _replacing(first.blocks[0], heading),
                {"kind": "delete", "block": other.first},
            ]
            new = {first.first: heading, other.first: ""}
            if other.first > first.last + 1 and body:
                moved = {"block": body[0].number, "last": body[-1].number, "after": first.last}
                edits.append({"kind": "move_after", **moved})
                new |= {block.number: block.text for block in body}
            request = f"Merge “{first.words}” and “{other.words}”."
            yield _edit("merge two sections", request, [{"edits": edits}], new)

    def _rewriting(self, kind: str, request: str, new: Mapping[int, str]) -> ScriptedEdit:
        """Return an edit that replaces blocks."""
        edits = [_replacing(self._blocks[number - 1], text) for number, text in new.items()]
        return _edit(kind, request, [{"edits": edits}], new)

    def _section_and_all(self) -> Iterable[tuple[Sequence[ReportBlock], str]]:
        """Yield the blocks of the section with most paragraphs, and all, with their name."""
        if self._sections:
            longest = max(self._sections, key=lambda own: len(self._paragraphs(own.blocks)))
            yield longest.blocks, f"the section “{longest.words}”"
        yield self._blocks, "the whole report"

    def _paragraphs(self, blocks: Iterable[ReportBlock]) -> list[ReportBlock]:
        return [block for block in blocks if block.kind == "paragraph"]

    def _quoted(self, number: int) -> str:
        """Return a short sentence with a figure from a source."""
        sentences = list[str]()
        for sentence in _SENTENCE.findall(self._documents[number].replace("|", " ")):
            words = sentence.strip(" #.").split()
            if _FIGURE.search(sentence) and len(words) <= _CELL_WORDS:
                sentences.append(" ".join(words))
        return max(sentences, key=len, default="2 of them")


def _edit(
    kind: str, request: str, answers: Iterable[Answer], new: Mapping[int, str]
) -> ScriptedEdit:
    """Return an edit; `new` has the texts by the numbers of the blocks in place of which they
    stand."""
    texts = tuple(without_marks(text) for text in new.values() if text)
    done = [{"done": "It is done.", **answer} for answer in answers]
    return ScriptedEdit(kind, request, tuple(done), frozenset(new), texts)


def _replacing(block: ReportBlock, text: str) -> dict[str, Any]:
    return {"kind": "replace", "block": block.number, "text": text}


def _numbers(blocks: Iterable[ReportBlock]) -> list[int]:
    return [block.number for block in blocks]


def _sentences(block: ReportBlock) -> list[str]:
    return pieces_of(without_marks(block.text))


def _beginning(sentences: Sequence[str], count: int) -> str:
    """Return the first sentences; if only later ones cite anything, with their citations."""
    text = " ".join(sentences[:count])
    later = dict.fromkeys(MARKER.findall(" ".join(sentences[count:])))
    if later and not MARKER.search(text):
        text = " ".join([text, *(f"[{number}]" for number in later)])
    return text


def _translated(text: str, language: str) -> str:
    """Return what stands for the translation of a text, with its figures, names and citations."""
    plain = MARKER.sub("", text)
    named = [*_FIGURE.findall(plain), *_NAME.findall(plain)] or ["*"]
    citations = "".join(f"[{number}]" for number in dict.fromkeys(MARKER.findall(text)))
    phrase = _PHRASES[language].format(", ".join(named))
    return f"{phrase} {citations}".rstrip()


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in without_marks(row).strip().strip("|").split("|")]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
