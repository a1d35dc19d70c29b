"""Parses PDF files page by page: letters, form fields, and pictures of scanned pages."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from ctypes import POINTER, byref, cast, create_string_buffer
from functools import partial
from itertools import chain, pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from ...evidence.text.sentences import PAGE_END, PRINTED_NUMBERS
from ._layout import in_order
from ._letters import letters_of, rules_of
from ._lines import Line, Rule, extent_of, rows_of, text_of_row
from ._page_tables import TABLE
from ._parse_text import first_line, informative_title, iso_date
from ._raised import END, RAISED
from ._recognition import SIDE, Recogniser
from ._ruled import grids_of, with_grid
from .records import Extract, Unreadable

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
_TITLE_SIZE = 1.25
"""Minimum ratio of a title's letter height to that of most lines."""
_TITLE_PART = 0.4
"""Part of the first page, from its top, in which a title stands."""
_TITLE_STEP = 1.6
"""Maximum distance between two lines of a title, in letter heights."""
_NEAR_PAGES = 2
"""Number of pages before and after to search for the same page header; left and right pages
differ."""
_PROSE_WORDS = 6
"""Minimum number of words for a paragraph that may continue on the next page."""
_TICKED = "☒"
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_VALUES = (
    pdfium.FPDF_FORMFIELD_TEXTFIELD,
    pdfium.FPDF_FORMFIELD_COMBOBOX,
    pdfium.FPDF_FORMFIELD_LISTBOX,
)
_TICKS = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_NUMBERED = (
    re.compile(
        r"(?:\W*|(?i:page|seite|página|pagina|p|s)\W*)(?P<number>\d{1,4}|[ivxlcIVXLC]{1,7})"
        r"(?:\s*(?i:of|von|de|di|sur|/)\s*\d{1,4})?\W*"
    ),
    re.compile(r"(?P<number>\d{1,4}|[ivxlc]{1,7})\W+(?P<words>\D.*)"),
    re.compile(r"(?P<words>.*[^\w.,])(?P<number>\d{1,4}|[ivxlc]{1,7})"),
)
"""A page number alone, before other words, and after them. The letters are listed in both cases,
because without regard to case `i` also matches the Turkish letters dotless i and dotted I."""
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
    rules: Sequence[Rule] = ()
    """Horizontal ruled lines."""
    others: Sequence[str] = ()
    """Rotated, skewed or recognised text."""


def parse_pdf(data: bytes, recogniser: Recogniser) -> Extract:
    """Return title, text and modification date of a PDF.

    Scanned pages are recognised, and broken ones are noted. A header that is repeated on several
    pages is kept on the first of them. Raises `Unreadable`.
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
        texts, labels, large = _texts_and_labels(document, recogniser)
        text = _joined(texts)
        if not text.strip():
            raise recogniser.error() or Unreadable("no text", "there is no text in it")
        title = informative_title(document.get_metadata_value("Title"))
        title = title or first_line(large) or first_line(text)
        if len(labels) > 1:
            text += _printed_numbers(labels)
        changed = _changed(document)
        is_cut = recogniser.has_missed_pages
        return Extract(title, text, is_cut=is_cut, changed=changed, note=recogniser.note())


def _texts_and_labels(
    document: pypdfium2.PdfDocument, recogniser: Recogniser
) -> tuple[list[str], list[str], str]:
    """Return the text and the printed number of each page, and a title in large letters."""
    texts = list[str]()
    labels = list[str]()
    large = ""
    seen = set[str]()
    near: deque[_Page] = deque(maxlen=2 * _NEAR_PAGES + 1)
    # A page is complete once the pages after it, with the same headers, are read too.
    for number in range(1, len(document) + _NEAR_PAGES + 1):
        if number <= len(document):
            near.append(_page(document, number, recogniser))
        else:
            near.append(_Page(number))
        if number == 1:
            large = _large_title(near[0].lines)
        if number % _TIMED_PAGES == 0:
            recogniser.on_page()
        if number > _NEAR_PAGES:
            page = near[-1 - _NEAR_PAGES]
            others = [other for other in near if other is not page]
            headers, lines, printed = _without_margin(page, others, seen)
            # At the end of a page, headers would split a sentence that continues on the next one.
            parts = [*headers, in_order(lines, page.rules), *page.others]
            texts.append("\n\n".join(filter(None, parts)))
            labels.append(document.get_page_label(page.number - 1) or printed)
    return texts, labels, large


def _large_title(lines: Sequence[Line]) -> str:
    """Return the lines at the top of a page in much larger letters than the others, if any."""
    if not lines:
        return ""
    page = extent_of(lines)
    end = page.top + _TITLE_PART * page.height
    upper = [line for line in lines if line.bottom < end and not line.text.startswith(TABLE)]
    largest = max((line.height for line in upper), default=0.0)
    if largest < _TITLE_SIZE * median(line.height for line in lines):
        return ""
    rows = rows_of(line for line in upper if line.height > largest / _TITLE_SIZE)
    title = text_of_row(rows[0])
    for row, below in pairwise(rows):
        if below[0].middle - row[0].middle > _TITLE_STEP * largest:
            break
        title += f" {text_of_row(below)}"
    return title


def _changed(document: pypdfium2.PdfDocument) -> str:
    """Return the modification date of a PDF; empty if there is none."""
    stamp = _STAMP.match(document.get_metadata_value("ModDate"))
    if stamp is None:
        return ""
    _, month, day, hour, second = map(int, stamp.groups("0"))
    # Programs whose output should be reproducible write the first second of a year.
    if (month, day, hour, second) == (1, 1, 0, 0):
        return ""
    year_month_day = stamp.groups("00")[:3]
    return iso_date("-".join(year_month_day))


def _page(document: pypdfium2.PdfDocument, number: int, recogniser: Recogniser) -> _Page:
    """Read a page; a broken one has no lines, and `Unreadable` is raised if it is the first."""
    try:
        with closing(document[number - 1]) as page:
            letters = letters_of(page)
            upright, *turned = sorted(letters.lines, key=len, reverse=True)
            lines = _with_values(upright, list(_fields(document, page)))
            others = [*map(in_order, turned), letters.skewed]
            rules = list[Rule]()
            if upright is letters.lines[0]:
                vertical, rules = rules_of(page)
                for grid in grids_of(vertical, rules):
                    lines = with_grid(lines, grid)
            text = " ".join([*(line.text for line in lines), *others])
            known = len(re.findall(r"\w", text))
            is_drawn = letters.unknown > known
            if known < _SCANNED_LETTERS or is_drawn:
                recognised = _recognised(page, number, is_drawn, recogniser)
                if recognised is not None:
                    # OCR also finds the page's own text, unless a picture hides it.
                    if in_order(lines) in recognised:
                        lines = []
                    others.append(recognised)
    except pypdfium2.PdfiumError as error:
        if number == 1:
            raise Unreadable("broken", "it is a broken PDF file") from error
        recogniser.add_missed(number, "it is broken")
        return _Page(number)
    return _Page(number, lines, list(_margin(lines)), rules, others)


def _recognised(
    page: pypdfium2.PdfPage, number: int, is_drawn: bool, recogniser: Recogniser
) -> str | None:
    """Return the recognised text of a page if it is a scan or `is_drawn`.

    None for a page that cannot be drawn, because its crop box lies outside its media box.
    """
    width, height = page.get_size()
    if not width * height:
        return None
    areas = list[float]()
    for image in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]):
        left, bottom, right, top = image.get_bounds()
        areas.append((right - left) * (top - bottom))
    is_scan = bool(areas) and sum(areas) >= _SCANNED_SHARE * width * height
    if not is_scan and not is_drawn:
        return ""
    return recogniser.page(number, partial(_picture_of, page))


def _picture_of(page: pypdfium2.PdfPage) -> Image:
    picture: Image = page.render(scale=SIDE / max(page.get_size())).to_pil()
    return picture


def _fields(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[Line]:
    """Yield the values of a page's form fields as lines at their positions.

    A ticked box has the value ☒.
    """
    form = document.formenv
    if not form:
        return
    rectangle = pdfium.FS_RECTF()
    for index in range(pdfium.FPDFPage_GetAnnotCount(page)):
        field = pdfium.FPDFPage_GetAnnot(page, index)
        value = _value(form, field)
        pdfium.FPDFAnnot_GetRect(field, byref(rectangle))
        pdfium.FPDFPage_CloseAnnot(field)
        if value:
            yield Line(rectangle.left, -rectangle.top, rectangle.right, -rectangle.bottom, value)


def _value(form: Any, field: Any) -> str:
    """Return the value of a form field; empty for annotations of other kinds."""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, field)
    if kind in _VALUES:
        size = pdfium.FPDFAnnot_GetFormFieldValue(form, field, None, 0)
        buffer = create_string_buffer(size)
        letters = cast(buffer, POINTER(pdfium.FPDF_WCHAR))
        pdfium.FPDFAnnot_GetFormFieldValue(form, field, letters, size)
        value = buffer.raw.decode("utf-16-le", "replace").strip("\0")
        return " ".join(value.split())
    if kind in _TICKS and pdfium.FPDFAnnot_IsChecked(form, field):
        return _TICKED
    return ""


def _with_values(lines: Sequence[Line], fields: Sequence[Line]) -> list[Line]:
    """Append field values to their labels, and put ticks before their labels."""
    labelled = list(lines)
    for field in sorted(fields):
        before = list[Line]()
        behind = list[Line]()
        for line in labelled:
            if abs(line.middle - field.middle) < max(line.height, field.height) / 2:
                if line.right <= field.left + line.height:
                    before.append(line)
                if line.left >= field.right - line.height:
                    behind.append(line)
        if field.text == _TICKED:
            label = min(behind, default=None)
        else:
            label = max(before, key=lambda line: line.right, default=None)
        if label is None:
            labelled.append(field)
            continue
        if field.text == _TICKED:
            text = f"{field.text} {label.text}"
        else:
            text = f"{label.text.rstrip(' :_.')}: {field.text}"
        left = min(label.left, field.left)
        right = max(label.right, field.right)
        position = labelled.index(label)
        labelled[position] = label._replace(left=left, right=right, text=text)
    return labelled


def _margin(lines: Sequence[Line]) -> Iterator[_Margin]:
    """Yield the lines at the top and bottom of a page that a gap separates from its text."""
    rows = rows_of(lines)
    outermost = _outermost(rows) | _outermost(rows[::-1])
    for line in chain.from_iterable(outermost.values()):
        yield _margin_line(line)


def _margin_line(line: Line) -> _Margin:
    """Divide a line into a page number and other words."""
    for pattern in _NUMBERED:
        match = pattern.fullmatch(line.text)
        if match:
            parts = match.groupdict()
            printed = parts["number"]
            return _Margin(line, parts.get("words", ""), _page_number(printed), printed)
    return _Margin(line, line.text, -1, "")


def _page_number(printed: str) -> int:
    """Return the value of an Arabic or Roman page number."""
    if printed.isdigit():
        return int(printed)
    digits = [_ROMAN[letter] for letter in printed.lower()]
    number = 0
    for digit, following in pairwise([*digits, 0]):
        if digit < following:
            number -= digit
        else:
            number += digit
    return number


def _outermost(rows: Sequence[list[Line]]) -> dict[float, list[Line]]:
    """Return the rows above the last wide gap, keyed by top position, without any table header."""
    count = 0
    for index, (row, following) in enumerate(pairwise(rows[: _MARGIN_ROWS + 1]), 1):
        lower_top = max(following[0].top, row[0].top)
        upper_bottom = min(following[0].bottom, row[0].bottom)
        if lower_top - upper_bottom > _MARGIN_GAP * row[0].height:
            count = index
    if count and count < len(rows):
        cells = rows[count]
        names = [line for line in rows[count - 1] if any(map(line.overlaps, cells))]
        if len(names) > 1 and len(cells) > 1:
            count -= 1
    return {row[0].top: row for row in rows[:count]}


def _without_margin(
    page: _Page, others: Sequence[_Page], seen: set[str]
) -> tuple[list[str], list[Line], str]:
    """Return a page's headers and footers not in `seen`, its other lines, and its printed number.

    A header or footer has the same text, at the same height, on one of the `others`, the pages
    before and after.
    """
    headers = list[str]()
    kept = dict.fromkeys(page.lines)
    printed = ""
    for header in page.margin:
        is_number, is_repeated = _recurrence(header, page, others)
        if not is_repeated:
            continue
        words = header.words if is_number else header.line.text
        del kept[header.line]
        if words and words not in seen:
            headers.append(words)
            seen.add(words)
        if is_number:
            printed = header.printed
    return headers, list(kept), printed


def _recurrence(header: _Margin, page: _Page, others: Sequence[_Page]) -> tuple[bool, bool]:
    """Return whether a line has a page number that counts on in others, and whether it recurs."""
    is_number = False
    is_same = False
    for other in others:
        for line in other.margin:
            is_near = abs(line.line.top - header.line.top) < header.line.height / 2
            if not is_near:
                continue
            counts_on = line.number - header.number == other.number - page.number
            if header.number >= 0 and line.words == header.words and counts_on:
                is_number = True
            if line.line.text == header.line.text:
                is_same = True
    return is_number, is_number or is_same


def _printed_numbers(labels: Iterable[str]) -> str:
    """Return the last line of the text.

    It names the pages whose printed number does not follow that of the page before.
    """
    named = list[str]()
    expected = "1"
    for page, label in enumerate(labels, 1):
        printed = label or expected
        if printed != expected:
            named.append(f"{page} = {printed}")
        figures = re.search(r"\d+$", printed)
        expected = ""
        if figures:
            expected = f"{printed[: figures.start()]}{int(figures[0]) + 1}"
    if not named:
        return ""
    return f"\n\n{PRINTED_NUMBERS}{', '.join(named)}"


def _joined(pages: Iterable[str]) -> str:
    """Join the texts of pages by `PAGE_END`.

    A blank line follows a page unless a sentence continues on the next one.
    """
    parts = list[str]()
    for page in pages:
        if not parts:
            parts.append(page)
            continue
        last = parts[-1].rpartition("\n\n")[2]
        first = page.partition("\n\n")[0]
        if _HYPHENATED.search(last) and _GOES_ON.match(first):
            word, _, rest = page.partition(" ")
            parts[-1] = f"{parts[-1][:-1]}{word}"
            parts += [PAGE_END, rest]
            continue
        if not _continues(last, first):
            parts.append("\n\n")
        parts += [PAGE_END, page]
    return "".join(parts)


def _continues(last: str, first: str) -> bool:
    """Whether the last paragraph of a page continues in the first one of the next page."""
    words = len(last.split())
    if words < _PROSE_WORDS or not _RUNS_ON.search(last):
        return False
    if last.startswith("|") or first.startswith("|"):
        return False
    if _GOES_ON.match(first):
        return True
    is_prose = len(first.split()) >= _PROSE_WORDS and _SENTENCE_END.search(first)
    if not is_prose or _ITEM.match(first):
        return False
    # The next page starts with a number, name or heading.
    return first[0].isdigit() or words >= 2 * _PROSE_WORDS
