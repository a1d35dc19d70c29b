"""PowerPoint documents to text: a heading for each slide, then its text, tables, figures of charts, and notes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from lxml import etree
from pptx import Presentation

from ...evidence.text.passages import CLOSERS, SENTENCE_ENDS
from ..records import Extract
from .office import local_name, open_office
from .parse_csv import table_of, up_to_limit

DIGITS = 12
_WHOLE = re.compile(r"[+-]?\d+")


class _Series(NamedTuple):
    name: str
    labels: tuple[str, ...]
    values: tuple[str, ...]


def chart_blocks(chart: etree._Element) -> Iterator[str]:
    """Its title, and a table with a column for each series; of any kind of chart, also those that no library knows."""
    # Axes have titles too.
    title = next((one for one in _all(chart, "title") if local_name(one.getparent()) == "chart"), None)
    if title is not None and (words := " ".join("".join(one.text or "" for one in _all(title, "t")).split())):
        yield words
    alike: dict[tuple[str, ...], list[_Series]] = defaultdict(list)
    for series in map(_series, _all(chart, "ser")):
        alike[series.labels].append(series)
    for labels, group in alike.items():
        rows = [[label, *(one.values[place] for one in group)] for place, label in enumerate(labels)]
        if rows:
            yield from table_of([["", *(one.name for one in group)], *rows])


def _series(element: etree._Element) -> _Series:
    parts = {local_name(part): part for part in element}
    name = " ".join("".join(one.text or "" for one in _all(parts["tx"], "v")).split()) if "tx" in parts else ""
    labels = _points(parts.get("cat", parts.get("xVal")))
    values = _points(parts.get("val", parts.get("yVal")))
    places = sorted(labels.keys() | values.keys())
    return _Series(
        name, tuple(labels.get(place, "") for place in places), tuple(values.get(place, "") for place in places)
    )


def _points(part: etree._Element | None) -> dict[int, str]:
    """What is kept for each place; of labels on several levels the lowest."""
    found: dict[int, str] = {}
    for point in _all(part, "pt") if part is not None else ():
        for value in _all(point, "v"):
            words = " ".join((value.text or "").split())
            is_number = local_name(point.getparent()).startswith("num")
            found.setdefault(int(point.get("idx", "0")), _rounded(words) if is_number else words)
    return found


def _rounded(number: str) -> str:
    """A number without the last figures, which come from reckoning in binary; a whole one as it is."""
    try:
        return number if _WHOLE.fullmatch(number) else f"{float(number):.{DIGITS}g}"
    except ValueError:
        # Sheets write "#N/A" where there is none.
        return number


def _all(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    return (one for one in parent.iter() if local_name(one) == name)


_EMU_PER_LINE = 200_000
_ENDS = (*SENTENCE_ENDS, ":", "：")


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
    return " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""


def _as_read(shapes: Iterable[Any]) -> list[Any]:
    """From top to bottom, and from left to right in one line; what has no place of its own comes first."""
    return sorted(shapes, key=lambda shape: ((shape.top or 0) // _EMU_PER_LINE, shape.left or 0))


def _shape(shape: Any) -> Iterator[str]:
    if hasattr(shape, "shapes"):
        yield from chain.from_iterable(map(_shape, _as_read(shape.shapes)))
    elif shape.has_text_frame:
        yield from _paragraphs(shape.text_frame)
    elif getattr(shape, "has_table", False):
        rows = ([" ".join(cell.text_frame.text.split()) for cell in row.cells] for row in shape.table.rows)
        yield from table_of([row for row in rows if any(row)])
    elif getattr(shape, "has_chart", False):
        yield from chart_blocks(shape.chart.element)


def _paragraphs(frame: Any) -> Iterator[str]:
    for paragraph in frame.paragraphs:
        if text := " ".join(paragraph.text.split()):
            # What is no sentence is a point of a list, at whatever level.
            is_sentence = text.rstrip(CLOSERS).endswith(_ENDS)
            yield text if is_sentence and not paragraph.level else f"- {text}"
