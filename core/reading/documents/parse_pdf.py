"""Parses PDF files page by page, from the positions of letters, form fields, and pictures of scanned pages."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from ctypes import POINTER, byref, cast, create_string_buffer
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from ...evidence.text.sentences import PAGE_END, PRINTED_NUMBERS
from ..records import Extract, Unreadable
from .layout import Line, in_order, rows_of, with_grid
from .letters import grids_of, letters_of
from .parse_text import first_line, informative_title, iso_date
from .raised import END, RAISED
from .recognition import SIDE, Recogniser

if TYPE_CHECKING:
    from PIL.Image import Image

_SCANNED_SHARE = 0.25
"""Minimum share of a page that images must cover for it to count as scanned."""
_SCANNED_LETTERS = 40
"""A page with fewer letters may be a scan, since they may be only a stamp or page number."""
_TIMED_PAGES = 100
"""After each such number of pages, the child process asks for more time."""
_MARGIN_ROWS = 3
"""Maximum number of rows of a page header or footer."""
_MARGIN_GAP = 0.9
"""Minimum gap between a page header and the text, in letter heights."""
_NEAR_PAGES = 2
"""Number of pages before and after to search for the same page header; left and right pages differ."""
_PROSE_WORDS = 6
"""Minimum number of words for a paragraph that may continue on the next page."""
_TICKED = "☒"
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_VALUES = (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_NUMBERED = (
    re.compile(
        r"(?:\W*|(?i:page|seite|página|pagina|p|s)\W*)(?P<number>\d{1,4}|[ivxlcIVXLC]{1,7})"
        r"(?:\s*(?i:of|von|de|di|sur|/)\s*\d{1,4})?\W*"
    ),
    re.compile(r"(?P<number>\d{1,4}|[ivxlc]{1,7})\W+(?P<words>\D.*)"),
    re.compile(r"(?P<words>.*[^\w.,])(?P<number>\d{1,4}|[ivxlc]{1,7})"),
)
"""A page number alone, before other words, and after them. The letters are listed in both cases, because without
regard to case `i` also matches the Turkish letters dotless i and dotted I."""
_HYPHENATED = re.compile(r"[^\W\d_]-$")
_RUNS_ON = re.compile(rf"[^\W_][,)\"”’]?(?:{RAISED}[^{END}]*{END})?$")
_GOES_ON = re.compile(r"[(\"“‘«]?[a-zß-ÿ]")
_ITEM = re.compile(r"\d{1,3}[.)]\s|[^\W_]?[^\w\s]\s")
_SENTENCE_END = re.compile(r"[^\W_][.!?][\"”’»)]*(?:\s|$)")
_STAMP = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(?:\d\d)?(\d\d)?")


class _Margin(NamedTuple):
    """A line that may be a page header or footer, or a page number."""

    line: Line
    words: str
    """Its text without the page number."""
    number: int
    """Value of the page number; -1 if there is none."""
    printed: str
    """The page number as printed, such as `iv`; empty if there is none."""


class _Page(NamedTuple):
    number: int
    lines: Sequence[Line] = ()
    margin: Sequence[_Margin] = ()
    """Those of `lines` that may be headers, footers or page numbers."""
    others: Sequence[str] = ()
    """Rotated, skewed or recognised text."""


def parse_pdf(data: bytes, recogniser: Recogniser) -> Extract:
    """Return title, text and modification date of a PDF; scanned pages are recognised, and broken ones are noted.

    A header that is repeated on several pages is kept on the first of them. Raises `Unreadable`.
    """
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("broken", "it is not a PDF file")
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise Unreadable("encrypted", "it is encrypted") from error
        raise Unreadable("broken", "it is a broken PDF file") from error
    with document:
        if document.get_formtype() != pdfium.FORMTYPE_NONE:
            document.init_forms()
        texts, labels, seen = list[str](), list[str](), set[str]()
        near: deque[_Page] = deque(maxlen=2 * _NEAR_PAGES + 1)
        for number in range(1, len(document) + _NEAR_PAGES + 1):
            near.append(_page(document, number, recogniser) if number <= len(document) else _Page(number))
            if number % _TIMED_PAGES == 0:
                recogniser.on_page()
            if number > _NEAR_PAGES:
                page = near[-1 - _NEAR_PAGES]
                heads, lines, printed = _without_margin(page, [other for other in near if other is not page], seen)
                # At the end of a page, headers would split a sentence that continues on the next one.
                texts.append("\n\n".join(filter(None, [*heads, in_order(lines), *page.others])))
                labels.append(document.get_page_label(page.number - 1) or printed)
        text = _joined(texts)
        if not text.strip():
            raise recogniser.error() or Unreadable("no text", "there is no text in it")
        title = informative_title(document.get_metadata_value("Title")) or first_line(text)
        text += _printed_numbers(labels) if len(labels) > 1 else ""
        changed = ""
        stamp = _STAMP.match(document.get_metadata_value("ModDate"))
        # Programs whose output should be reproducible write the first second of a year.
        if stamp and tuple(map(int, stamp.groups("0")[1:])) != (1, 1, 0, 0):
            changed = iso_date("-".join(stamp.groups("00")[:3]))
        return Extract(title, text, is_cut=recogniser.has_missed_pages, changed=changed, note=recogniser.note())


def _page(document: pypdfium2.PdfDocument, number: int, recogniser: Recogniser) -> _Page:
    """Read a page; a broken one has no lines, and `Unreadable` is raised if it is the first."""
    try:
        with closing(document[number - 1]) as page:
            letters = letters_of(page)
            upright, *turned = sorted(letters.lines, key=len, reverse=True)
            lines = _with_values(upright, list(_fields(document, page)))
            others = [*map(in_order, turned), letters.skewed]
            for grid in grids_of(page) if upright is letters.lines[0] else ():
                lines = with_grid(lines, *grid)
            known = len(re.findall(r"\w", " ".join([*(line.text for line in lines), *others])))
            is_drawn = letters.unknown > known
            width, height = page.get_size()
            # A page whose crop box lies outside its media box has no area, and cannot be drawn.
            if width * height and (known < _SCANNED_LETTERS or is_drawn):
                images = [image.get_bounds() for image in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE])]
                covered = sum((right - left) * (top - bottom) for left, bottom, right, top in images)
                is_scan = bool(images) and covered >= _SCANNED_SHARE * width * height
                recognised = recogniser.page(number, partial(_picture_of, page)) if is_scan or is_drawn else ""
                # OCR also finds the page's own text, unless a picture hides it.
                lines = [] if in_order(lines) in recognised else lines
                others.append(recognised)
    except pypdfium2.PdfiumError as error:
        if number == 1:
            raise Unreadable("broken", "it is a broken PDF file") from error
        recogniser.add_missed(number, "it is broken")
        return _Page(number)
    return _Page(number, lines, list(_margin(lines)), others)


def _picture_of(page: pypdfium2.PdfPage) -> Image:
    picture: Image = page.render(scale=SIDE / max(page.get_size())).to_pil()
    return picture


def _fields(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[Line]:
    """Yield the values of a page's form fields as lines at their positions; a ticked box has the value ☒."""
    form, rectangle = document.formenv, pdfium.FS_RECTF()
    for index in range(pdfium.FPDFPage_GetAnnotCount(page) if form else 0):
        field = pdfium.FPDFPage_GetAnnot(page, index)
        kind = pdfium.FPDFAnnot_GetFormFieldType(form, field)
        value = ""
        if kind in _VALUES:
            size = pdfium.FPDFAnnot_GetFormFieldValue(form, field, None, 0)
            letters = create_string_buffer(size)
            pdfium.FPDFAnnot_GetFormFieldValue(form, field, cast(letters, POINTER(pdfium.FPDF_WCHAR)), size)
            value = " ".join(letters.raw.decode("utf-16-le", "replace").strip("\0").split())
        elif kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
            value = _TICKED if pdfium.FPDFAnnot_IsChecked(form, field) else ""
        pdfium.FPDFAnnot_GetRect(field, byref(rectangle))
        pdfium.FPDFPage_CloseAnnot(field)
        if value:
            yield Line(rectangle.left, -rectangle.top, rectangle.right, -rectangle.bottom, value)


def _with_values(lines: Sequence[Line], fields: Sequence[Line]) -> list[Line]:
    """Append field values to their labels, and put ticks before their labels."""
    labelled = list(lines)
    for field in sorted(fields):
        is_tick = field.text == _TICKED
        beside = [line for line in labelled if abs(line.middle - field.middle) < max(line.height, field.height) / 2]
        before = [line for line in beside if line.right <= field.left + line.height]
        behind = [line for line in beside if line.left >= field.right - line.height]
        label = min(behind, default=None) if is_tick else max(before, key=lambda line: line.right, default=None)
        if label is None:
            labelled.append(field)
            continue
        words = f"{field.text} {label.text}" if is_tick else f"{label.text.rstrip(' :_.')}: {field.text}"
        left, right = min(label.left, field.left), max(label.right, field.right)
        labelled[labelled.index(label)] = label._replace(left=left, right=right, text=words)
    return labelled


def _margin(lines: Sequence[Line]) -> Iterator[_Margin]:
    """Yield the lines at the top and bottom of a page that are separated from its text by a gap."""
    rows = rows_of(lines)
    for row in {**_outermost(rows), **_outermost(rows[::-1])}.values():
        for line in row:
            found = next(filter(None, (pattern.fullmatch(line.text) for pattern in _NUMBERED)), None)
            fields = found.groupdict() if found else {"words": line.text}
            words, printed, number = fields.get("words", ""), fields.get("number", ""), -1
            if printed.isdigit():
                number = int(printed)
            elif printed:
                digits = [_ROMAN[letter] for letter in printed.lower()]
                number = sum(-digit if digit < following else digit for digit, following in pairwise([*digits, 0]))
            yield _Margin(line, words, number, printed)


def _outermost(rows: Sequence[list[Line]]) -> dict[float, list[Line]]:
    """Return the rows above the last wide gap, keyed by top position, without any table header."""
    count = 0
    for index, (row, following) in enumerate(pairwise(rows[: _MARGIN_ROWS + 1]), 1):
        blank = max(following[0].top, row[0].top) - min(following[0].bottom, row[0].bottom)
        if blank > _MARGIN_GAP * row[0].height:
            count = index
    if count and count < len(rows):
        cells = rows[count]
        heads = [head for head in rows[count - 1] if any(map(head.overlaps, cells))]
        count -= min(len(heads), len(cells)) > 1
    return {row[0].top: row for row in rows[:count]}


def _without_margin(page: _Page, others: Sequence[_Page], seen: set[str]) -> tuple[list[str], list[Line], str]:
    """Return a page's headers and footers that are not in `seen`, its other lines, and its printed number.

    A header or footer has the same text, at the same height, on one of the `others`, the pages before and after.
    """
    heads, kept, printed = list[str](), dict.fromkeys(page.lines), ""
    for head in page.margin:
        same = [
            (other.number - page.number, found)
            for other in others
            for found in other.margin
            if abs(found.line.top - head.line.top) < head.line.height / 2
        ]
        is_number = head.number >= 0 and any(
            found.words == head.words and found.number - head.number == distance for distance, found in same
        )
        words = head.words if is_number else head.line.text
        if is_number or any(found.line.text == words for _, found in same):
            del kept[head.line]
            if words and words not in seen:
                heads.append(words)
                seen.add(words)
            if is_number:
                printed = head.printed
    return heads, list(kept), printed


def _printed_numbers(labels: Iterable[str]) -> str:
    """Return the last line of the text: the pages whose printed number does not follow that of the page before."""
    named, expected = list[str](), "1"
    for page, label in enumerate(labels, 1):
        printed = label or expected
        if printed != expected:
            named.append(f"{page} = {printed}")
        figures = re.search(r"\d+$", printed)
        expected = f"{printed[: figures.start()]}{int(figures[0]) + 1}" if figures else ""
    return f"\n\n{PRINTED_NUMBERS}{', '.join(named)}" if named else ""


def _joined(pages: Iterable[str]) -> str:
    """Join the texts of pages by `PAGE_END`, with a blank line unless a sentence continues on the next page."""
    parts = list[str]()
    for page in pages:
        last = parts[-1].rpartition("\n\n")[2] if parts else ""
        first = page.partition("\n\n")[0]
        words, following = len(last.split()), len(first.split())
        if _HYPHENATED.search(last) and _GOES_ON.match(first):
            word, _, page = page.partition(" ")
            parts[-1] = f"{parts[-1][:-1]}{word}"
            parts += [PAGE_END, page]
            continue
        runs_on = words >= _PROSE_WORDS and bool(_RUNS_ON.search(last)) and "|" not in (last[:1], first[:1])
        continues = runs_on and bool(_GOES_ON.match(first))
        if runs_on and following >= _PROSE_WORDS and _SENTENCE_END.search(first) and not _ITEM.match(first):
            # The next page starts with a number, name or heading.
            continues = continues or first[0].isdigit() or words >= 2 * _PROSE_WORDS
        if parts:
            parts.append(PAGE_END if continues else f"\n\n{PAGE_END}")
        parts.append(page)
    return "".join(parts)
