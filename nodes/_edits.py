"""Applies a model's edits to a report: a block that no edit names stays as it is.

All edits of a form refer to the numbers of the blocks as they were shown, so their order does not
matter, but for texts inserted after the same block.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..core.evidence.citations.markers import code_lines, marker_numbers, replace_markers
from ..core.evidence.citations.rendering import without_marks
from ..core.evidence.text.numbers import numbers_in
from ..core.evidence.text.sentences import sentences_of
from ..core.evidence.text.words import stems, tokens
from ..core.writing.blocks import ReportBlock, Table, TableRow, report_blocks
from ._report_edit import TABLE_EDITS, ReportEdit
from ._table_edits import edit_table

_RANKS = {"replace": 0, "delete": 1, "replace_words": 2, "insert_after": 4, "move_after": 5}
"""The order in which edits are taken, so that it does not matter in which they were given."""
_TABLE_RANK = 3
_SAME_SHARE = 0.6
"""Minimum share of the words of two statements, without stop words, that the shorter one has in
common with the other, if it is the same statement in other words."""
_FEWEST_SHARED = 3
"""Minimum number of these words."""
_ALIKE = ("'’‘", '"“”„', "-‑–−")
"""Characters that models take for each other when they copy words."""
_NO_TABLE = "a table needs a header, a line of dashes and as many cells in each row"
_LARGEST_SMALL = 12
"""Largest whole number that is no figure by which a statement can be recognised."""


class Edited(NamedTuple):
    """A report after edits."""

    text: str
    refused: dict[int, str]
    """Reasons for the edits that were not applied, by index, for the model and the reader."""
    replaced: str
    """The text of the blocks that others have replaced, as it was."""


def apply_edits(text: str, edits: Sequence[ReportEdit]) -> Edited:
    """Return a report with edits applied; edits that cannot be are left out.

    These are edits that name no block, exclude another edit, break a table, or drop a citation but
    keep its statement. The citations in their texts must be those of the thread.
    """
    refused = dict[int, str]()
    while True:
        left = {index: edit for index, edit in enumerate(edits) if index not in refused}
        work = _Work(text, left)
        faults = work.refused or work.dropped_citations()
        if not faults:
            return Edited(work.text(), refused, work.replaced())
        # Without these edits, others may fit or not.
        refused |= faults


class _Piece(NamedTuple):
    """A stretch of the edited report."""

    text: str
    blocks: tuple[ReportBlock, ...]
    """The blocks of which it consists."""
    number: int
    """Number of the block that it was, or in place of which it stands; 0 for a new one."""
    is_unchanged: bool


class _Work:
    """A report and the edits of its blocks."""

    def __init__(self, text: str, edits: Mapping[int, ReportEdit]) -> None:
        self._text = text
        self._edits = edits
        self._blocks = report_blocks(text)
        self._new_texts = dict[int, str]()
        # The indexes of the edits that have the new texts, by block.
        self._replaced_by = dict[int, int]()
        self._removed = set[int]()
        self._continued = defaultdict[int, list[str]](list)
        self._inserted = defaultdict[int, list[str]](list)
        self._moved = dict[int, int]()
        self._of_tables = defaultdict[int, dict[int, ReportEdit]](dict)
        # The places of replaced words, by block.
        self._words = defaultdict[int, list[tuple[int, int, str]]](list)
        self.refused: dict[int, str] = {}
        for index, edit in sorted(edits.items(), key=lambda item: _order(item[1])):
            fault = self._fault_of(edit)
            if fault:
                self.refused[index] = fault
            elif edit.kind in TABLE_EDITS:
                self._of_tables[edit.block][index] = edit
            else:
                self._take(index, edit)
        for number, own in self._of_tables.items():
            edited = edit_table(Table.read(self._blocks[number - 1]), own)
            self.refused |= edited.refused
            self._new_texts[number] = edited.text
        for number, places in self._words.items():
            changed = _with_words(self._blocks[number - 1].text, places)
            if not report_blocks(changed):
                changed = "".join(self._continued.pop(number, [])).strip()
            if changed:
                self._new_texts[number] = changed
            else:
                self._removed.add(number)
        self._refuse_circles()
        if not self.refused and self._blocks and not self.text().strip():
            self.refused = dict.fromkeys(edits, "nothing would be left of the report")

    def _fault_of(self, edit: ReportEdit) -> str:
        """Return why an edit cannot be taken beside those taken so far; empty if it can."""
        count = len(self._blocks)
        first = 0 if edit.kind == "insert_after" else 1
        last = max(edit.last, edit.block)
        if not first <= edit.block <= last <= count:
            number = edit.block if not first <= edit.block <= count else last
            return f"there is no block {number}; the report has blocks 1 to {count}"
        numbers = range(edit.block, _last(edit) + 1)
        if edit.kind in ("replace", "insert_after"):
            fault = self._fault_of_rows(edit) or _fault_of_text(edit.text)
            if fault:
                return fault
        if edit.kind in ("replace", "delete"):
            for number in numbers:
                if number in self._new_texts or number in self._removed:
                    return f"another edit changes block {number}"
        if edit.kind == "replace_words":
            return self._fault_of_words(edit)
        if edit.kind in TABLE_EDITS:
            block = self._blocks[edit.block - 1]
            if block.kind != "table":
                return f"block {edit.block} is no table"
            if edit.block in self._replaced_by or edit.block in self._removed:
                return f"another edit changes block {edit.block}"
        if edit.kind == "move_after":
            if not 0 <= edit.after <= count:
                return f"there is no block {edit.after}; the report has blocks 1 to {count}"
            if edit.after in numbers:
                return "a block cannot follow itself"
            if not self._moved.keys().isdisjoint(numbers):
                return f"another edit moves block {edit.block}"
        return ""

    def _fault_of_words(self, edit: ReportEdit) -> str:
        """Return why words of a block cannot be replaced; empty if they can."""
        block = self._blocks[edit.block - 1]
        if edit.block in self._replaced_by or edit.block in self._removed:
            return f"another edit changes block {edit.block}"
        if block.kind in ("table", "code"):
            return f"block {edit.block} is a {block.kind}, whose words cannot be replaced"
        places = _places_of(edit.words, block.text)
        if len(places) != 1:
            return f"its words occur {len(places)} times in block {edit.block}, not once"
        start, end = places[0]
        for other_start, other_end, _ in self._words[edit.block]:
            if start < other_end and other_start < end:
                return "another edit replaces some of these words"
        changed = _with_words(block.text, [(start, end, edit.text)])
        return _fault_of_text(changed)

    def _fault_of_rows(self, edit: ReportEdit) -> str:
        """Return why a text of rows alone cannot continue a table; empty for any other text."""
        if not _is_rows(edit.text):
            return ""
        if not self._continues_table(edit):
            return _NO_TABLE
        if edit.block in self._new_texts or edit.block in self._removed | self._of_tables.keys():
            return f"another edit changes block {edit.block}; insert rows by `insert_row`"
        columns = len(Table.read(self._blocks[edit.block - 1]).header.cells)
        for line in edit.text.strip().split("\n"):
            cells = len(TableRow.read(line).cells)
            if cells != columns:
                return f"the table has {columns} columns, but a new row {cells} cells"
        return ""

    def _continues_table(self, edit: ReportEdit) -> bool:
        """Whether an edit continues a table."""
        is_continuing = edit.kind == "insert_after" and edit.is_continued and edit.block > 0
        return is_continuing and self._blocks[edit.block - 1].kind == "table"

    def _take(self, index: int, edit: ReportEdit) -> None:
        """Note an edit that is not of a table."""
        numbers = range(edit.block, _last(edit) + 1)
        if edit.kind == "replace":
            self._removed.update(numbers)
            self._removed.discard(edit.block)
            self._new_texts[edit.block] = _trimmed(edit.text)
            self._replaced_by[edit.block] = index
        elif edit.kind == "delete":
            self._removed.update(numbers)
        elif edit.kind == "replace_words":
            ((start, end),) = _places_of(edit.words, self._blocks[edit.block - 1].text)
            self._words[edit.block].append((start, end, edit.text))
        elif edit.kind == "move_after":
            self._moved.update(dict.fromkeys(numbers, edit.after))
        else:
            self._insert(edit)

    def _insert(self, edit: ReportEdit) -> None:
        """Note a text that is inserted after a block, or continues it."""
        text = _trimmed(edit.text)
        is_whole = edit.block in self._new_texts or edit.block in self._removed
        if edit.is_continued and edit.block and not is_whole:
            block = self._blocks[edit.block - 1]
            if self._continues_table(edit) and _is_rows(text):
                self._continued[edit.block].append(f"\n{text}")
                return
            first, *_ = report_blocks(text)
            if block.kind in ("paragraph", "item", "caption") and first.kind == "paragraph":
                self._continued[edit.block].append(f" {first.text.lstrip()}")
                text = text[first.end :].strip("\n")
        if text:
            self._inserted[edit.block].append(text)

    def _refuse_circles(self) -> None:
        """Refuse moves of blocks that would follow each other."""
        for index, edit in self._edits.items():
            if edit.kind != "move_after" or index in self.refused:
                continue
            anchor = edit.after
            passed = set[int]()
            while anchor in self._moved and anchor not in passed:
                passed.add(anchor)
                anchor = self._moved[anchor]
            if anchor in passed:
                self.refused[index] = "blocks that are moved would follow each other"

    def dropped_citations(self) -> dict[int, str]:
        """Return reasons for the edits whose text keeps a statement that other edits, or itself,
        have taken away with its citation, by index."""
        before = dict[int, list[_Statement]]()
        for block in self._blocks:
            if block.number in self._removed or block.number in self._replaced_by:
                before[block.number] = _statements(block.text)
        for edit in self._edits.values():
            if edit.kind == "replace_words":
                before.setdefault(edit.block, []).extend(_statements(edit.words))
        faults = dict[int, str]()
        for index, edit in self._edits.items():
            fault = ""
            if edit.kind in ("replace", "insert_after"):
                own, others = list[_Statement](), list[_Statement]()
                for number, statements in before.items():
                    is_own = edit.kind == "insert_after" or edit.block <= number <= _last(edit)
                    (own if is_own else others).extend(statements)
                fault = _dropped(own, others, edit.text)
            elif edit.kind == "replace_words":
                block_text = self._blocks[edit.block - 1].text
                ((start, end),) = _places_of(edit.words, block_text)
                changed = _with_words(block_text, [(start, end, edit.text)])
                others = list[_Statement]()
                for number, statements in before.items():
                    if number != edit.block:
                        others += statements
                fault = _dropped(_statements(block_text), others, changed)
            elif edit.kind == "set_cell":
                table = Table.read(self._blocks[edit.block - 1])
                row = [table.header, *table.rows][edit.row]
                if edit.column <= len(row.cells):
                    fault = _dropped(_statements(row.values[edit.column - 1]), (), edit.text)
            if fault:
                faults[index] = fault
        return faults

    def replaced(self) -> str:
        """Return the text of the blocks that have a new text, other than as tables."""
        texts = list[str]()
        for index, edit in self._edits.items():
            if edit.kind == "replace" and index not in self.refused:
                for number in range(edit.block, _last(edit) + 1):
                    texts.append(self._blocks[number - 1].text)
            elif edit.kind == "replace_words" and index not in self.refused:
                texts.append(edit.words)
        return "\n\n".join(texts)

    def text(self) -> str:
        """Return the edited report."""
        if not self._edits:
            return self._text
        followers = defaultdict[int, list[int]](list)
        for number, anchor in sorted(self._moved.items()):
            followers[anchor].append(number)
        pieces = list[_Piece]()

        def add(number: int) -> None:
            if number and number not in self._removed:
                pieces.append(self._piece(number))
            for inserted in self._inserted[number]:
                pieces.append(_Piece(inserted, tuple(report_blocks(inserted)), 0, False))
            for follower in followers[number]:
                add(follower)

        for number in range(len(self._blocks) + 1):
            if number not in self._moved:
                add(number)
        return self._joined(pieces)

    def _piece(self, number: int) -> _Piece:
        """Return what stands in place of a block."""
        block = self._blocks[number - 1]
        text = self._new_texts.get(number, block.text)
        if number in self._continued:
            text = "".join([text.rstrip(), *self._continued[number]])
        if text == block.text:
            return _Piece(text, (block,), number, True)
        return _Piece(text, tuple(report_blocks(text)), number, False)

    def _joined(self, pieces: Sequence[_Piece]) -> str:
        """Return pieces as a text, with the white space between them that they had, if they were
        neighbours."""
        if not self._blocks or not pieces:
            return "\n\n".join(piece.text for piece in pieces)
        parts = [self._text[: self._blocks[0].start], pieces[0].text]
        for before, piece in pairwise(pieces):
            parts += [self._gap(before, piece), piece.text]
        return "".join([*parts, self._text[self._blocks[-1].end :]])

    def _gap(self, before: _Piece, after: _Piece) -> str:
        """Return the white space between two pieces."""
        last, first = before.blocks[-1], after.blocks[0]
        are_items = last.kind == first.kind == "item" and last.is_ordered == first.is_ordered
        if before.number and after.number == before.number + 1:
            start = self._blocks[before.number - 1].end
            gap = self._text[start : self._blocks[after.number - 1].start]
            are_unchanged = before.is_unchanged and after.is_unchanged
            if are_unchanged or gap.count("\n") > 1 or are_items:
                return gap
        return "\n" if are_items else "\n\n"


def _order(edit: ReportEdit) -> tuple[object, ...]:
    """Return the sort key by which edits are taken; texts after the same block keep their order."""
    rank = _RANKS.get(edit.kind, _TABLE_RANK)
    if edit.kind == "insert_after":
        return (rank, edit.block)
    changes = (edit.kind, edit.row, edit.column, edit.words, edit.text, tuple(edit.cells))
    return (rank, edit.block, edit.last, edit.after, changes)


def _last(edit: ReportEdit) -> int:
    """Return the number of the last block that an edit names."""
    if edit.kind in ("replace", "delete", "move_after"):
        return max(edit.last, edit.block)
    return edit.block


def _places_of(words: str, text: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of whole words in a text, whatever white space is between
    them, and whichever of the characters that are alike they have."""
    if not words.strip():
        return []
    pattern = r"\s+".join(map(_pattern_of, words.split()))
    if words.strip()[0].isalnum():
        pattern = rf"(?<!\w){pattern}"
    if words.strip()[-1].isalnum():
        pattern = rf"{pattern}(?!\w)"
    return [match.span() for match in re.finditer(pattern, text)]


def _pattern_of(word: str) -> str:
    """Return a regular expression for a word, in which alike signs stand for each other."""
    classes = list[str]()
    for sign in word:
        alike = next((signs for signs in _ALIKE if sign in signs), sign)
        classes.append(f"[{re.escape(alike)}]")
    return "".join(classes)


def _with_words(text: str, places: Iterable[tuple[int, int, str]]) -> str:
    """Return a text with new words in these places, which are (start, end, words)."""
    for start, end, words in sorted(places, reverse=True):
        before, after = text[:start], text[end:]
        if not words.strip() and (not before or before[-1].isspace()):
            after = after.lstrip(" ")
        text = f"{before}{words.strip()}{after}"
    return text.rstrip()


def _trimmed(text: str) -> str:
    """Return a new text without white space around it; an item keeps its indentation."""
    lines = text.rstrip().strip("\n")
    first, *_ = report_blocks(lines)
    return lines if first.kind == "item" else lines.lstrip()


def _is_rows(text: str) -> bool:
    """Whether a text consists of rows of a table without their header."""
    blocks = report_blocks(text)
    is_table = any(block.kind == "table" for block in blocks)
    lines = text.strip().split("\n")
    return bool(blocks) and not is_table and all(line.lstrip()[:1] == "|" for line in lines)


def _fault_of_text(text: str) -> str:
    """Return why a text cannot stand in a report; empty if it can."""
    blocks = report_blocks(text)
    if not blocks:
        return "its text is empty"
    lines = text.rstrip().split("\n")
    if code_lines([*lines, ""])[-1]:
        return "its code block is not closed"
    for block in blocks:
        lines = block.text.split("\n")
        rows = [line for line in lines if line.lstrip().startswith("|")]
        if block.kind == "paragraph" and len(rows) > 1:
            return _NO_TABLE
        if block.kind == "table":
            table = Table.read(block)
            columns = len(table.header.cells)
            for row in table.rows:
                if len(row.cells) != columns:
                    return f"a row of its table has {len(row.cells)} cells, the header {columns}"
    return ""


class _Statement(NamedTuple):
    """A sentence, row or cell of a report, with its citations."""

    text: str
    """Without citations."""
    numbers: frozenset[int]


def _statements(text: str) -> list[_Statement]:
    """Return the sentences of a text without the marks of the check; of a table its rows."""
    statements = list[_Statement]()
    for block in report_blocks(without_marks(text)):
        if block.kind != "table":
            for sentence in sentences_of(block.text):
                statements.append(_Statement(sentence.text, frozenset(sentence.numbers)))
            continue
        for row in block.text.split("\n"):
            numbers = frozenset(marker_numbers(row))
            statements.append(_Statement(replace_markers(row, " "), numbers))
    return statements


def _dropped(own: Sequence[_Statement], others: Sequence[_Statement], text: str) -> str:
    """Return which statement a text has without the citation that it had; empty if none.

    `own` are the statements in place of which the text stands, `others` those that other edits take
    away. A statement that had no citation in the same place needs none, and one that keeps its own
    not that of another with the same figures.
    """
    statements = _statements(text)
    for index, statement in enumerate(statements):
        if statement.numbers:
            # Whether another source states it too is for the check to say.
            continue
        # A citation may stand at the end of several sentences.
        numbers = set[int]()
        for later in statements[index:]:
            numbers |= later.numbers
        # How like it are statements whose citations, if they had any, it has.
        kept = list[float]()
        for before in own:
            has_all = not before.numbers or not before.numbers.isdisjoint(numbers)
            if has_all and _is_same(before.text, statement.text):
                kept.append(_likeness(before.text, statement.text))
        for before in own if kept else (*own, *others):
            if not before.numbers or not before.numbers.isdisjoint(numbers):
                continue
            if not _is_same(before.text, statement.text):
                continue
            if not kept or max(kept) < _likeness(before.text, statement.text):
                dropped = ", ".join(f"[{number}]" for number in sorted(before.numbers))
                words = " ".join(statement.text.split())
                return f'it drops {dropped}, but keeps the statement: "{words}"'
    return ""


def _likeness(before: str, after: str) -> float:
    """Return the share of the words of two statements that both have."""
    words, others = set(stems(before)), set(stems(after))
    return len(words & others) / max(1, len(words | others))


def _is_same(before: str, after: str) -> bool:
    """Whether a statement is the same as one before, perhaps shortened or in another language."""
    if tokens(before) == tokens(after):
        return bool(tokens(after))
    figures = _figures(after)
    before_figures = _figures(before)
    if not figures <= before_figures:
        return False
    if figures and figures == before_figures:
        return True
    words = set(stems(after))
    before_words = set(stems(before))
    shared = words & before_words
    fewest = max(_FEWEST_SHARED, _SAME_SHARE * min(len(words), len(before_words)))
    return len(shared) >= fewest


def _figures(text: str) -> set[float]:
    """Return the figures of a statement, without small whole numbers."""
    figures = set[float]()
    for number in numbers_in(text):
        if number.value > _LARGEST_SMALL or number.value % 1:
            figures.add(number.value)
    return figures
