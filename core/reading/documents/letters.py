"""The letters of a PDF page, by where they stand, as lines and cells."""

from __future__ import annotations

import math
from ctypes import byref, c_double
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

_HYPHENS = (0x02, 0xAD, 0xFFFE)
_SPACES = (0x09, 0x20, 0xA0, 0x3000, *range(0x2000, 0x200B))
_UNKNOWN = (0x00, 0xFFFD, 0xFFFF)


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
    runs, skewed, unknown = list[_Run](), "", 0
    run: _Run | None = None
    known = turned = None
    base = size = last_left = last_right = 0.0
    is_spaced = is_broken = False
    for place in range(text.count_chars()):
        code = pdfium.FPDFText_GetUnicode(raw, place)
        if code in _SPACES:
            is_spaced = True
            continue
        if code in (0x0A, 0x0D):
            is_broken = True
            continue
        unknown += code in _UNKNOWN or 0xE000 <= code < 0xF900
        character = "-" if code in _HYPHENS else chr(code)
        pdfium.FPDFText_GetLooseCharBox(raw, place, at_box)
        left, right, bottom, top = box.left, box.right, box.bottom, box.top
        if (bottom, top) != known:
            known = bottom, top
            pdfium.FPDFText_GetCharOrigin(raw, place, at_x, at_y)
            turned, base, size = _turned(pdfium.FPDFText_GetCharAngle(raw, place)), y.value, top - bottom
        if turned is None:
            skewed += f" {character}" if is_spaced and skewed else character
            is_spaced = False
            continue
        if turned:
            left, right, base, size = _turned_box(raw, place, turned)
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
        run.add(character, left, right, shift if shift and size <= run.size and base != run.base else 0.0, is_spaced)
        last_left, last_right = left, right
        is_spaced = is_broken = False
    text.close()
    lines: list[list[Line]] = [[], [], [], []]
    for run in runs:
        line = run.line()
        if line.text and line.height > 0:
            lines[run.turned].append(line)
    return Letters(lines, skewed, unknown)


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
    if turned == 1:
        return bottom.value, top.value, -x.value, size
    if turned == 2:
        return -right.value, -left.value, -y.value, size
    return -top.value, -bottom.value, x.value, size
