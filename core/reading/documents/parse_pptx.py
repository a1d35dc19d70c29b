"""Parses PowerPoint documents: for each slide a heading, text, tables, chart data and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

from lxml import etree
from pptx import Presentation

from ...evidence.text.sentences import CLOSING_QUOTES, SENTENCE_ENDS, UNSPACED_ENDS
from ..records import Extract
from .office import local_name, open_office
from .raised import END, LOWERED, RAISED
from .tables import Cell, cell_text, shown_number, table_of, tables_of_cells, up_to_limit

_EMU_PER_LINE = 200_000
"""Shapes whose tops differ by less, in units of PowerPoint, are read from left to right."""
_ENDS = (*SENTENCE_ENDS, *UNSPACED_ENDS, ":", "：")


def parse_pptx(data: bytes) -> Extract:
    """Return title (or else that of the first slide with one), text and modification date of a presentation."""
    office = open_office(data)
    slides = Presentation(office.file).slides
    blocks = chain.from_iterable(_slide(slide, number) for number, slide in enumerate(slides, 1))
    first = next((title for title in map(_title, slides) if title), "")
    return Extract(office.title or first, "\n\n".join(up_to_limit(blocks)), changed=office.changed)


def _slide(slide: Any, number: int) -> Iterator[str]:
    title = slide.shapes.title
    yield f"## {_title(slide) or f'Slide {number}'}"
    rest = (shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id)
    yield from chain.from_iterable(map(_shape, _in_reading_order(rest)))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        yield from _paragraphs(slide.notes_slide.notes_text_frame)


def _title(slide: Any) -> str:
    title = slide.shapes.title
    is_text = title is not None and title.has_text_frame
    return " ".join(" ".join(map(_text, title.text_frame.paragraphs)).split()) if is_text else ""


def _in_reading_order(shapes: Iterable[Any]) -> list[Any]:
    """Sort shapes from top to bottom, then from left to right; shapes without a position come first."""
    return sorted(shapes, key=lambda shape: ((shape.top or 0) // _EMU_PER_LINE, shape.left or 0))


def _shape(shape: Any) -> Iterator[str]:
    if hasattr(shape, "shapes"):
        yield from chain.from_iterable(map(_shape, _in_reading_order(shape.shapes)))
    elif shape.has_text_frame:
        yield from _paragraphs(shape.text_frame)
    elif getattr(shape, "has_table", False):
        rows = [[cell for cell in row.cells if not cell.is_spanned] for row in shape.table.rows]
        yield from tables_of_cells([list(map(_cell, row)) for row in rows])
    elif getattr(shape, "has_chart", False):
        yield from _chart(shape.chart.element)


def _cell(cell: Any) -> Cell:
    text = cell_text("\n".join(map(_text, cell.text_frame.paragraphs)))
    return Cell(text, cell.span_width, cell.span_height)


def _text(paragraph: Any) -> str:
    """Return the text of a paragraph, with superscripts and subscripts marked by control characters."""
    text = ""
    for part in paragraph._p:
        words = "\n" if local_name(part) == "br" else part.findtext("{*}t") or ""
        raised = int(getattr(part.find("{*}rPr"), "attrib", {}).get("baseline", "0").rstrip("%") or 0)
        text += f"{RAISED if raised > 0 else LOWERED}{words}{END}" if raised and words else words
    return text


def _paragraphs(frame: Any) -> Iterator[str]:
    for paragraph in frame.paragraphs:
        if text := " ".join(_text(paragraph).split()):
            # Anything but a sentence is a list item, at any level.
            is_sentence = text.rstrip(CLOSING_QUOTES).endswith(_ENDS)
            yield text if is_sentence and not paragraph.level else f"- {text}"


def _chart(chart: etree._Element) -> Iterator[str]:
    """Yield the title of a chart of any kind, and tables with a column per series."""
    # Axes have titles too.
    titles = (title for title in chart.iter("{*}title") if local_name(title.getparent()) == "chart")
    title = next(titles, None)
    if title is not None and (words := _words(title, "t")):
        yield words
    series = [{local_name(part): part for part in element} for element in chart.iter("{*}ser")]
    labels = [_points(parts.get("cat", parts.get("xVal"))) for parts in series]
    values = [_points(parts.get("val", parts.get("yVal"))) for parts in series]
    names = [_words(parts["tx"], "v") if "tx" in parts else "" for parts in series]
    for shared in {tuple(points.items()): points for points in labels}.values():
        columns = [index for index, points in enumerate(labels) if points == shared]
        positions = sorted({*shared, *chain.from_iterable(values[index] for index in columns)})
        rows = [
            [shared.get(position, ""), *(values[index].get(position, "") for index in columns)]
            for position in positions
        ]
        if rows:
            yield from table_of([["", *(names[index] for index in columns)], *rows])


def _points(part: etree._Element | None) -> dict[int, str]:
    """Return the values or labels of a series by index; for multi-level labels, the lowest level."""
    found: dict[int, str] = {}
    for point in part.iter("{*}pt") if part is not None else ():
        words = _words(point, "v")
        is_number = local_name(point.getparent()).startswith("num")
        # Sheets write "#N/A" for missing numbers.
        with suppress(ValueError):
            words = shown_number(float(words)) if is_number else words
        found.setdefault(int(point.get("idx", "0")), words)
    return found


def _words(parent: etree._Element, name: str) -> str:
    return " ".join("".join(element.text or "" for element in parent.iter(f"{{*}}{name}")).split())
