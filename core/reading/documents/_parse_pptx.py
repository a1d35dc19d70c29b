"""Parses PowerPoint documents: for each slide a heading, text, tables, charts, diagrams and notes.

Hidden slides and shapes are not read; a note says which slides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree
from pptx import Presentation
from pptx.oxml.ns import qn

from ...evidence.text.sentences import CLOSING_QUOTES, SENTENCE_ENDS, UNSPACED_ENDS
from ._formulas import formula_of_word, formula_text
from ._graphics import chart_blocks, diagram_lines
from ._numbering import shown
from ._office import local_name, open_office
from ._raised import END, FORMULA
from ._symbols import is_symbolic, with_symbols
from ._tables import Cell, cell_text, table_of, tables_of_cells, up_to_limit
from ._tagged import Shift, run_text
from .records import Extract

_EMU_PER_LINE = 200_000
"""Shapes whose tops differ by less, in units of PowerPoint, are read from left to right."""
_OFF = ("0", "false")
_NUMBER_KIND = re.compile(r"alpha[LU]c|roman[LU]c")
_FORMATS = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
_ENDS = (*SENTENCE_ENDS, *UNSPACED_ENDS, ":", "：")


def parse_pptx(data: bytes) -> Extract:
    """Return title, text and modification date of a presentation.

    Without a title of its own, it has that of the first slide with one.
    """
    office = open_office(data)
    slides = Presentation(office.file).slides
    visible = list[tuple[int, Any]]()
    hidden = list[str]()
    pictures = list[str]()
    objects = 0
    for number, slide in enumerate(slides, 1):
        if slide._element.get("show") in _OFF:
            hidden.append(str(number))
            continue
        _choose_alternatives(slide._element)
        visible.append((number, slide))
        objects += len(list(slide._element.iter("{*}oleObj")))
        has_picture = next(slide._element.iter("{*}pic"), None) is not None
        if has_picture and not _title(slide) and next(_slide(slide), None) is None:
            pictures.append(str(number))
    first_title = next(filter(None, (_title(slide) for _, slide in visible)), "")
    text = "\n\n".join(up_to_limit(_blocks(visible)))
    notes = list[str]()
    if hidden:
        notes.append(f"not read, because hidden: slides {', '.join(hidden)}")
    if pictures:
        notes.append(f"not read, because they are pictures: slides {', '.join(pictures)}")
    if objects:
        notes.append(f"embedded objects that were not read: {objects}")
    return Extract(office.title or first_title, text, changed=office.changed, note="; ".join(notes))


def _choose_alternatives(slide: etree._Element) -> None:
    """Replace alternatives, such as a shape with a formula and a picture of it, with the first.

    The library does not read shapes that have alternatives.
    """
    for alternatives in list(slide.iter("{*}AlternateContent")):
        parent = alternatives.getparent()
        choice = alternatives.find("{*}Choice")
        if parent is not None and choice is not None:
            position = parent.index(alternatives)
            parent.remove(alternatives)
            parent[position:position] = list(choice)


def _blocks(slides: Iterable[tuple[int, Any]]) -> Iterator[str]:
    for number, slide in slides:
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
    properties = next(shape._element.iter("{*}cNvPr"), None)
    if properties is not None and properties.get("hidden") in ("1", "true"):
        return
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
    else:
        yield from _diagram(shape)


def _diagram(shape: Any) -> Iterator[str]:
    """Yield the text of a diagram (SmartArt), which is in a part of its own."""
    for reference in shape._element.iter("{*}relIds"):
        relation = shape.part.rels.get(reference.get(qn("r:dm")))
        if relation is not None:
            for line in diagram_lines(etree.fromstring(relation.target_part.blob)):
                yield f"- {line}"


def _cell(cell: Any) -> Cell:
    text = cell_text("\n".join(map(_text, cell.text_frame.paragraphs)))
    return Cell(text, cell.span_width, cell.span_height)


def _text(paragraph: Any) -> str:
    """Return the text of a paragraph.

    Control characters mark superscripts, subscripts and formulas.
    """
    text = ""
    for part in paragraph._p:
        name = local_name(part)
        if name == "br":
            text += "\n"
        elif name in ("r", "fld"):
            text += _run(part)
        else:
            for formula in part.iterdescendants("{*}oMath"):
                text += f"{FORMULA}{formula_text(formula_of_word(formula))}{END}"
    return text


def _run(run: Any) -> str:
    words = run.findtext("{*}t") or ""
    properties = run.find("{*}rPr")
    if properties is None:
        return with_symbols(words, "")
    font = ""
    for tag in ("{*}sym", "{*}latin"):
        stated = properties.find(tag)
        if stated is not None and not font:
            font = stated.get("typeface", "")
    # The font for symbols is stated for other letters, too, which it does not show.
    if not is_symbolic(words):
        font = ""
    baseline = int(properties.get("baseline", "0").rstrip("%") or 0)
    shift: Shift = ""
    if baseline:
        shift = "sup" if baseline > 0 else "sub"
    is_struck = properties.get("strike", "noStrike") != "noStrike"
    return run_text(with_symbols(words, font), shift, is_struck=is_struck)


def _paragraphs(frame: Any) -> Iterator[str]:
    counted = dict[int, tuple[str, int]]()
    for paragraph in frame.paragraphs:
        text = " ".join(_text(paragraph).split())
        if not text:
            continue
        label = _label(paragraph, counted)
        # Anything but a sentence is a list item, at any level.
        is_sentence = text.rstrip(CLOSING_QUOTES).endswith(_ENDS)
        if label:
            yield f"{label} {text}"
        elif is_sentence and not paragraph.level:
            yield text
        else:
            yield f"- {text}"


def _label(paragraph: Any, counted: dict[int, tuple[str, int]]) -> str:
    """Return the number that PowerPoint shows before a paragraph, and count it.

    Empty if there is none. `counted` has the format and the last number of each level.
    """
    level = paragraph.level
    properties = paragraph._p.find("{*}pPr")
    numbering = None if properties is None else properties.find("{*}buAutoNum")
    for deeper in [other for other in counted if other > level]:
        del counted[deeper]
    if numbering is None:
        counted.pop(level, None)
        return ""
    kind = numbering.get("type", "arabicPeriod")
    start = int(numbering.get("startAt", "1"))
    last_kind, last = counted.get(level, (kind, start - 1))
    number = last + 1 if last_kind == kind else start
    counted[level] = (kind, number)
    name = _NUMBER_KIND.match(kind)
    written = shown(number, _FORMATS.get(name[0], "") if name else "")
    if kind.endswith("ParenBoth"):
        return f"({written})"
    if kind.endswith("ParenR"):
        return f"{written})"
    return written if kind.endswith("Plain") else f"{written}."
