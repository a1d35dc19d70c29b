"""Parses PowerPoint documents: for each slide a heading, text, tables, chart data and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pptx import Presentation

from ...evidence.text.sentences import CLOSING_QUOTES, SENTENCE_ENDS, UNSPACED_ENDS
from ._graphics import chart_blocks
from ._office import local_name, open_office
from ._raised import END, LOWERED, RAISED
from ._tables import Cell, cell_text, table_of, tables_of_cells, up_to_limit
from .records import Extract

_EMU_PER_LINE = 200_000
"""Shapes whose tops differ by less, in units of PowerPoint, are read from left to right."""
_ENDS = (*SENTENCE_ENDS, *UNSPACED_ENDS, ":", "：")


def parse_pptx(data: bytes) -> Extract:
    """Return title, text and modification date of a presentation.

    Without a title of its own, it has that of the first slide with one.
    """
    office = open_office(data)
    slides = Presentation(office.file).slides
    first_title = next(filter(None, map(_title, slides)), "")
    text = "\n\n".join(up_to_limit(_blocks(slides)))
    return Extract(office.title or first_title, text, changed=office.changed)


def _blocks(slides: Iterable[Any]) -> Iterator[str]:
    for number, slide in enumerate(slides, 1):
        yield f"## {_title(slide) or f'Slide {number}'}"
        yield from _slide(slide)


def _slide(slide: Any) -> Iterator[str]:
    """Yield the text of a slide below its title, and its notes."""
    title = slide.shapes.title
    shapes = list(slide.shapes)
    if title is not None:
        shapes = [shape for shape in shapes if shape.shape_id != title.shape_id]
    for shape in _in_reading_order(shapes):
        yield from _shape(shape)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        yield from _paragraphs(slide.notes_slide.notes_text_frame)


def _title(slide: Any) -> str:
    title = slide.shapes.title
    if title is None or not title.has_text_frame:
        return ""
    words = " ".join(map(_text, title.text_frame.paragraphs)).split()
    return " ".join(words)


def _in_reading_order(shapes: Iterable[Any]) -> list[Any]:
    """Sort shapes from top to bottom, then from left to right.

    Shapes without a position come first.
    """
    return sorted(shapes, key=_position)


def _position(shape: Any) -> tuple[int, int]:
    top = shape.top or 0
    return top // _EMU_PER_LINE, shape.left or 0


def _shape(shape: Any) -> Iterator[str]:
    if hasattr(shape, "shapes"):
        for inner in _in_reading_order(shape.shapes):
            yield from _shape(inner)
    elif shape.has_text_frame:
        yield from _paragraphs(shape.text_frame)
    elif getattr(shape, "has_table", False):
        rows = list[list[Cell]]()
        for row in shape.table.rows:
            rows.append([_cell(cell) for cell in row.cells if not cell.is_spanned])
        yield from tables_of_cells(rows)
    elif getattr(shape, "has_chart", False):
        for block in chart_blocks(shape.chart.element):
            if isinstance(block, str):
                yield block
            else:
                yield from table_of(block)


def _cell(cell: Any) -> Cell:
    text = cell_text("\n".join(map(_text, cell.text_frame.paragraphs)))
    return Cell(text, cell.span_width, cell.span_height)


def _text(paragraph: Any) -> str:
    """Return the text of a paragraph.

    Control characters mark superscripts and subscripts.
    """
    text = ""
    for part in paragraph._p:
        words = part.findtext("{*}t") or ""
        if local_name(part) == "br":
            words = "\n"
        baseline = 0
        properties = part.find("{*}rPr")
        if properties is not None:
            baseline = int(properties.get("baseline", "0").rstrip("%") or 0)
        if words and baseline > 0:
            words = f"{RAISED}{words}{END}"
        elif words and baseline < 0:
            words = f"{LOWERED}{words}{END}"
        text += words
    return text


def _paragraphs(frame: Any) -> Iterator[str]:
    for paragraph in frame.paragraphs:
        text = " ".join(_text(paragraph).split())
        if not text:
            continue
        # Anything but a sentence is a list item, at any level.
        is_sentence = text.rstrip(CLOSING_QUOTES).endswith(_ENDS)
        if is_sentence and not paragraph.level:
            yield text
        else:
            yield f"- {text}"
