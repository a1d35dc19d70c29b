"""PowerPoint documents to text: a heading for each slide, then its text, tables, figures of charts, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from lxml import etree
from pptx import Presentation

from ...evidence.text.sentences import CLOSERS, SENTENCE_ENDS, UNSPACED_ENDS
from ..records import Extract
from .grid import Cell, cell_text, tables_of_cells
from .office import local_name, open_office
from .parse_csv import shown_number, table_of, up_to_limit
from .raised import END, LOWERED, RAISED

_EMU_PER_LINE = 200_000
_ENDS = (*SENTENCE_ENDS, *UNSPACED_ENDS, ":", "：")


def parse_pptx(data: bytes) -> Extract:
    """Title, text and last change of a presentation; without a title of its own it has that of its first slide."""
    office = open_office(data)
    slides = Presentation(office.file).slides
    blocks = chain.from_iterable(_slide(slide, number) for number, slide in enumerate(slides, 1))
    first = next((title for title in map(_title, slides) if title), "")
    return Extract(office.title or first, "\n\n".join(up_to_limit(blocks)), changed=office.changed)


def _slide(slide: Any, number: int) -> Iterator[str]:
    title = slide.shapes.title
    yield f"## {_title(slide) or f'Slide {number}'}"
    rest = (shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id)
    yield from chain.from_iterable(map(_shape, _as_read(rest)))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        yield from _paragraphs(slide.notes_slide.notes_text_frame)


def _title(slide: Any) -> str:
    title = slide.shapes.title
    is_text = title is not None and title.has_text_frame
    return " ".join(" ".join(map(_text, title.text_frame.paragraphs)).split()) if is_text else ""


def _as_read(shapes: Iterable[Any]) -> list[Any]:
    """Return the sort key of a shape: from top to bottom, then left to right; one without a place comes first."""
    return sorted(shapes, key=lambda shape: ((shape.top or 0) // _EMU_PER_LINE, shape.left or 0))


def _shape(shape: Any) -> Iterator[str]:
    if hasattr(shape, "shapes"):
        yield from chain.from_iterable(map(_shape, _as_read(shape.shapes)))
    elif shape.has_text_frame:
        yield from _paragraphs(shape.text_frame)
    elif getattr(shape, "has_table", False):
        yield from tables_of_cells(
            [[_cell(one) for one in row.cells if not one.is_spanned] for row in shape.table.rows]
        )
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
            # What is no sentence is a point of a list, at whatever level.
            is_sentence = text.rstrip(CLOSERS).endswith(_ENDS)
            yield text if is_sentence and not paragraph.level else f"- {text}"


def _chart(chart: etree._Element) -> Iterator[str]:
    """Return its title, and a table with a column for each series, for any kind of chart."""
    # Axes have titles too.
    title = next((one for one in _all(chart, "title") if local_name(one.getparent()) == "chart"), None)
    if title is not None and (words := _words(title, "t")):
        yield words
    series = [{local_name(part): part for part in one} for one in _all(chart, "ser")]
    labels = [_points(parts.get("cat", parts.get("xVal"))) for parts in series]
    values = [_points(parts.get("val", parts.get("yVal"))) for parts in series]
    names = [_words(parts["tx"], "v") if "tx" in parts else "" for parts in series]
    for each in {tuple(of.items()): of for of in labels}.values():
        alike = [place for place, of in enumerate(labels) if of == each]
        places = sorted({*each, *chain.from_iterable(values[one] for one in alike)})
        rows = [[each.get(place, ""), *(values[one].get(place, "") for one in alike)] for place in places]
        if rows:
            yield from table_of([["", *(names[one] for one in alike)], *rows])


def _points(part: etree._Element | None) -> dict[int, str]:
    """Return what is kept for each place; of labels on several levels the lowest."""
    found: dict[int, str] = {}
    for point in _all(part, "pt") if part is not None else ():
        words = _words(point, "v")
        is_number = local_name(point.getparent()).startswith("num")
        found.setdefault(int(point.get("idx", "0")), _number(words) if is_number else words)
    return found


def _number(words: str) -> str:
    try:
        return shown_number(float(words))
    except ValueError:
        # Sheets write "#N/A" where there is none.
        return words


def _words(parent: etree._Element, name: str) -> str:
    return " ".join("".join(one.text or "" for one in _all(parent, name)).split())


def _all(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    return (one for one in parent.iter() if local_name(one) == name)
