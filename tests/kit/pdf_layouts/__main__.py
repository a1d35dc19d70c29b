"""Measure how well the layout of PDFs is read: `PYTHONPATH=tests python -m kit.pdf_layouts OUT`.

Fifteen kinds of layout are made by programs that are not ours (pdfLaTeX, LibreOffice, Chromium,
WeasyPrint, ReportLab) from texts and tables that are known, parsed, and compared:

- `cells`: share of the tables' cells that stand in a row with their neighbours and below all words
  of their heading;
- `order`: share of the sentences that are whole, outside of tables, and behind the one before them;
- `lost` and `new`: numbers of the source that are missing, and numbers that it does not have.

A layout whose program is not installed is named and left out. With `--write` the PDFs and the
parsed texts are kept in OUT.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from deep_research.core.reading.documents.worker import parse
from kit.pdf_layouts.layouts import LAYOUTS, Layout, Table
from kit.pdf_layouts.programs import ProgramMissing
from kit.pdf_layouts.variants import VARIANTS

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\s/|]+")
_ESCAPE = re.compile(r"\\([\\|*_\[\]()<>#~`+.$-])")


class Grid(NamedTuple):
    """A table of a parsed text."""

    heads: list[str]
    rows: list[list[str]]


class Score(NamedTuple):
    """How well a layout was read."""

    cells: int
    right_cells: int
    sentences: int
    right_sentences: int
    lost: list[str]
    new: list[str]


def grids_of(text: str) -> list[Grid]:
    """Return the Markdown tables of a text."""
    grids: list[Grid] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("|"):
            continue
        cells = [_plain(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if set("".join(cells)) <= set(":- ") and "-" in line:
            continue
        is_head = number + 1 < len(lines) and re.fullmatch(r"[|:\- ]+", lines[number + 1])
        if is_head and "-" in lines[number + 1]:
            grids.append(Grid(cells, []))
        elif grids:
            grids[-1].rows.append(cells)
    return grids


def score(layout: Layout, text: str) -> Score:
    """Compare a parsed text with what the layout was made from."""
    grids = grids_of(text)
    right = sum(_right_cells(table, grids) for table in layout.tables)
    cells = sum(1 for table in layout.tables for row in table.rows for cell in row if cell)
    prose = _letters("\n".join(line for line in text.splitlines() if not line.startswith("|")))
    in_order = _in_order([_letters(sentence) for sentence in layout.prose], prose)
    source = Counter(_NUMBER.findall(_plain(layout.source_text)))
    found = Counter(_NUMBER.findall(_plain(text)))
    lost = list((source - found).elements())
    new = [number for number in found if number not in source]
    return Score(cells, right, len(layout.prose), in_order, lost, new)


def _plain(text: str) -> str:
    """Return a text on one line, without the escapes of Markdown."""
    return " ".join(_ESCAPE.sub(r"\1", text).split())


def _letters(text: str) -> str:
    """Return a text without spaces and hyphens, which a program may set at the end of a line."""
    return re.sub(r"[\s\u00ad\u2010-]+", "", _plain(text))


def _right_cells(table: Table, grids: Sequence[Grid]) -> int:
    """Count the cells of a table that stand in one parsed row and below their own heading."""
    paths = [Counter(_WORD.findall(path.lower())) for path in table.paths]
    rows = _rows(grids)
    right = 0
    for row in table.rows:
        best, best_index = 0, -1
        for index, (heads, parsed) in enumerate(rows):
            hits = sum(
                1 for path, cell in zip(paths, row, strict=True) if _has(cell, path, heads, parsed)
            )
            if hits > best:
                best, best_index = hits, index
        if best_index >= 0:
            rows.pop(best_index)
        right += best
    return right


def _rows(grids: Sequence[Grid]) -> list[tuple[list[Counter[str]], list[str]]]:
    """Return each parsed row with the words of its headings."""
    rows = list[tuple[list[Counter[str]], list[str]]]()
    for grid in grids:
        heads = [Counter(_WORD.findall(head.lower())) for head in grid.heads]
        rows.extend((heads, row) for row in grid.rows)
    return rows


def _has(cell: str, path: Counter[str], heads: list[Counter[str]], parsed: list[str]) -> bool:
    """Return whether a parsed row has a cell below the words of its heading."""
    if not cell:
        return False
    plain = _plain(cell)
    return any(
        plain == value and set(path) == set(head)
        for head, value in zip(heads, parsed, strict=False)
    )


def _in_order(sentences: Sequence[str], text: str) -> int:
    """Count the sentences that stand in the text whole and in their order."""
    count = 0
    last = -1
    for sentence in sentences:
        position = text.find(sentence)
        if position > last:
            count += 1
            last = position
    return count


def measure(
    parse_pdf: Callable[[bytes], str], out: Path, *, is_kept: bool, names: Sequence[str]
) -> list[tuple[str, Score]]:
    """Make, parse and score each layout."""
    scores = []
    out.mkdir(parents=True, exist_ok=True)
    for layout in [*LAYOUTS, *VARIANTS]:
        if names and layout.name not in names:
            continue
        stored = out / f"{layout.name}.pdf"
        try:
            content = stored.read_bytes() if stored.exists() else layout.make()
        except ProgramMissing as missing:
            sys.stderr.write(f"{layout.name}: left out, {missing} is not installed\n")
            continue
        text = parse_pdf(content)
        if is_kept:
            stored.write_bytes(content)
            (out / f"{layout.name}.md").write_text(text, encoding="utf-8")
        scores.append((layout.name, score(layout, text)))
    return scores


def table_of(scores: Sequence[tuple[str, Score]]) -> str:
    """Return the scores as a Markdown table."""
    lines = ["| layout | cells | order | lost | new |", "| --- | --- | --- | --- | --- |"]
    for name, result in scores:
        cells = f"{result.right_cells}/{result.cells}"
        order = f"{result.right_sentences}/{result.sentences}"
        lost = " ".join([str(len(result.lost)), *result.lost[:8]])
        new = " ".join([str(len(result.new)), *result.new[:8]])
        lines.append(f"| {name} | {cells} | {order} | {lost} | {new} |")
    results = [result for _, result in scores]
    right = sum(result.right_cells for result in results)
    total = sum(result.cells for result in results)
    ordered = sum(result.right_sentences for result in results)
    sentences = sum(result.sentences for result in results)
    missing = sum(len(result.lost) for result in results)
    wrong = sum(len(result.new) for result in results)
    share = right / max(total, 1)
    lines.append(
        f"| all | {right}/{total} = {share:.1%} | {ordered}/{sentences} | {missing} | {wrong} |"
    )
    return "\n".join(lines)


def _ours(content: bytes) -> str:
    """Parse a PDF as the product does."""
    return parse(content, "layout.pdf").text


def main() -> None:
    """Measure all layouts, or those named."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    scores = measure(_ours, given.out, is_kept=given.write, names=given.names)
    sys.stdout.write(f"{table_of(scores)}\n")


if __name__ == "__main__":
    main()
