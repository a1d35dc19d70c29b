"""The letters of a PDF page, by where they stand, as lines and cells."""

from __future__ import annotations

import math
import re
from ctypes import POINTER, byref, c_double, c_ushort, cast, create_string_buffer
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from .layout import Line
from .raised import END, LOWERED, RAISED

CELL_GAP = 0.9
"""Blank, in heights of a letter, from which letters on the same line are different cells."""
WORD_GAP = 0.2
SAME_BASE = 0.12
"""Difference of base lines, in heights of a letter, below which letters stand on the same line."""
MOST_RAISED = 0.75
SKEWED = 0.05
"""Radians by which letters differ from upright, or from a quarter turn, at most."""

_WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}|.", re.DOTALL)
_HYPHENS = re.compile("[\x02\xad\ufffe]")
_UNKNOWN = re.compile("[\x00\ufffd\uffff\ue000-\uf8ff]")


class Letters(NamedTuple):
    """The letters of a page."""

    lines: list[list[Line]]
    """Upright ones, and those turned by one, two and three quarters."""
    skewed: str
    """Those that lie askew, such as a watermark."""
    unknown: int
    """Letters that the fonts of the page do not name."""


class _Run:
    """Letters on one base line, without a wide blank between them."""

    def __init__(self, turned: int, base: float, size: float, left: float) -> None:
        self.turned, self.base, self.size, self.left, self.right = turned, base, size, left, left
        self.text = ""
        self.shift = 0.0
        """How far the last letters are raised."""
        self.apart = 0
        """Where they begin if there is a blank before them."""
        self.gaps = list[tuple[int, tuple[float, float]]]()

    def add(self, text: str, left: float, right: float, shift: float, is_spaced: bool) -> None:
        """Add a letter; `shift`: how far it is raised."""
        if shift != self.shift and self.shift:
            self.text += END
            if self.apart and not is_spaced:
                # The mass number of an isotope, or a fraction.
                self.text = f"{self.text[: self.apart]} {self.text[self.apart :]}"
            self.apart = 0
        if is_spaced and shift > 0 and not self.shift:
            # It is the mark of a note if a blank follows.
            self.apart = len(self.text)
        elif is_spaced and self.text:
            self.text += " "
            self.gaps.append((len(self.text), (self.right, left)))
        if shift != self.shift:
            self.text += (RAISED if shift > 0 else LOWERED) if shift else ""
            self.shift = shift
        self.text += text
        self.left, self.right = min(self.left, left), max(self.right, right)

    def line(self) -> Line:
        """Return the run as a line; below the base line stands a quarter of it."""
        bottom = 0.25 * self.size - self.base
        text = self.text + (END if self.shift else "")
        return Line(self.left, bottom - self.size, self.right, bottom, text, tuple(self.gaps))


def letters_of(page: pypdfium2.PdfPage) -> Letters:
    """Return the letters of a page."""
    text = page.get_textpage()
    raw, box, x, y = text.raw, pdfium.FS_RECTF(), c_double(), c_double()
    at_box, at_x, at_y = byref(box), byref(x), byref(y)
    characters = _characters(raw, text.count_chars())
    runs, skewed = list[_Run](), ""
    run: _Run | None = None
    known = turned = None
    base = size = last_left = last_right = 0.0
    is_spaced = is_broken = False
    # To ask for each letter would take three times as long; of those of a word, the first and the last tell of all.
    rest = [found.span() for found in _WORD.finditer(characters)][::-1]
    while rest:
        start, stop = rest.pop()
        word = characters[start:stop]
        if word.isspace():
            is_break = word in "\r\n"
            is_spaced, is_broken = is_spaced or not is_break, is_broken or is_break
            continue
        pdfium.FPDFText_GetLooseCharBox(raw, start, at_box)
        left, right, bounds = box.left, box.right, (box.bottom, box.top)
        if bounds != known:
            known = bounds
            pdfium.FPDFText_GetCharOrigin(raw, start, at_x, at_y)
            turned, base = _turned(pdfium.FPDFText_GetCharAngle(raw, start)), y.value
            size = bounds[1] - bounds[0]
        if stop - start > 1:
            pdfium.FPDFText_GetLooseCharBox(raw, stop - 1, at_box)
            if turned != 0 or (box.bottom, box.top) != bounds:
                rest += [(place, place + 1) for place in range(start, stop)][::-1]
                continue
            left, right = min(left, box.left), max(right, box.right)
        if turned is None:
            skewed += f" {word}" if is_spaced and skewed else word
            is_spaced = False
            continue
        if turned:
            left, right, base, size = _turned_box(raw, start, turned)
            known = None
        gap = max(left - last_right, last_left - right)
        is_spaced = is_spaced or (is_broken and gap > WORD_GAP * size)
        is_near = run is not None and run.turned == turned and gap < CELL_GAP * max(size, run.size)
        shift = _shift(run, base, size, gap) if run and is_near else None
        if run is None or shift is None:
            run = _Run(turned, base, size, left)
            runs.append(run)
        elif shift and size > run.size:
            # What came before was raised, at the beginning of a line.
            run.text, run.shift = f"{RAISED}{run.text}", -shift
            run.base, run.size = base, size
        run.add(word, left, right, shift if shift and size <= run.size and base != run.base else 0.0, is_spaced)
        last_left, last_right = left, right
        is_spaced = is_broken = False
    text.close()
    lines: list[list[Line]] = [[], [], [], []]
    for run in runs:
        line = run.line()
        if line.text and line.height > 0:
            lines[run.turned].append(line)
    return Letters(lines, skewed, len(_UNKNOWN.findall(characters)))


def _characters(raw: Any, count: int) -> str:
    """Return the characters of a page, one for each place."""
    buffer = create_string_buffer(2 * (count + 1))
    pdfium.FPDFText_GetText(raw, 0, count, cast(buffer, POINTER(c_ushort)))
    characters = buffer.raw[: 2 * count].decode("utf-16-le", "replace").rstrip("\0")
    if len(characters) != count:
        # Characters without a name are left out.
        characters = "".join(chr(pdfium.FPDFText_GetUnicode(raw, place)) for place in range(count))
    return _HYPHENS.sub("-", characters)


def _shift(run: _Run, base: float, size: float, gap: float) -> float | None:
    """Return how far a letter that stands behind a run is raised over it; none if it does not go on with it."""
    larger, shift = max(size, run.size), base - run.base
    if abs(shift) < SAME_BASE * larger:
        return 0.0
    is_raised = abs(shift) < MOST_RAISED * larger and (size <= run.size or (shift < 0 and not run.shift))
    return shift if is_raised and gap < 2 * WORD_GAP * larger else None


def _turned(angle: float) -> int | None:
    quarter = angle / (math.pi / 2)
    return round(quarter) % 4 if abs(quarter - round(quarter)) < SKEWED else None


def _turned_box(raw: Any, place: int, turned: int) -> tuple[float, float, float, float]:
    """Return left, right, base line and size of a letter as if the page were turned so that it is upright."""
    left, right, bottom, top, x, y = (c_double() for _ in range(6))
    pdfium.FPDFText_GetCharBox(raw, place, byref(left), byref(right), byref(bottom), byref(top))
    pdfium.FPDFText_GetCharOrigin(raw, place, byref(x), byref(y))
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(raw, place, byref(matrix))
    size = pdfium.FPDFText_GetFontSize(raw, place) * math.hypot(matrix.a, matrix.b)
    if turned == 3:
        return bottom.value, top.value, -x.value, size
    if turned == 2:
        return -right.value, -left.value, -y.value, size
    return -top.value, -bottom.value, x.value, size
