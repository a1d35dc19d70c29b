"""Reads the letters and ruled lines of a PDF page: letters become lines and cells, ruled lines become table grids."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from ctypes import POINTER, byref, c_double, c_float, c_ushort, cast, create_string_buffer
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from .layout import Line
from .raised import END, LOWERED, RAISED

_CELL_GAP = 0.9
"""Minimum gap, in letter heights, between two cells on the same line."""
_WORD_GAP = 0.2
"""Minimum gap, in letter heights, at which a line break in the PDF separates words."""
_SAME_BASE = 0.12
"""Maximum difference between baselines within a line, in letter heights."""
_MOST_RAISED = 0.75
"""Maximum height of a superscript above the baseline, in letter heights."""
_SKEWED = 0.05
"""Tolerance for the text angle, in radians."""
_THICK = 3.0
"""Maximum thickness of a ruled line and maximum gap between the lines of a grid, in points."""
_MOST_OBJECTS = 20_000
"""Maximum number of objects to inspect on a page; maps have more, but no tables."""

_WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}|.", re.DOTALL)
_HYPHENS = re.compile("[\x02\xad\ufffe]")
_UNKNOWN = re.compile("[\x00\ufffd\uffff\ue000-\uf8ff]")


class Letters(NamedTuple):
    """The letters of a page."""

    lines: list[list[Line]]
    """Four lists: upright lines, and lines rotated by 90, 180 and 270 degrees."""
    skewed: str
    """Text at any other angle, such as a watermark."""
    unknown: int
    """Number of letters that the fonts do not map to characters."""


class _Run:
    """Consecutive letters on one baseline without a wide gap."""

    def __init__(self, turned: int, base: float, size: float, left: float) -> None:
        """`turned`: rotation in quarter turns; `base`: position of the baseline; `size`: height of the letters."""
        self.turned, self.base, self.size, self.left, self.right = turned, base, size, left, left
        self.text = ""
        self.shift = 0.0
        """Height of the last letters above the baseline; negative if below."""
        self.apart = 0
        """Offset of a superscript that follows a space; 0 if there is none."""
        self.gaps = list[tuple[int, tuple[float, float]]]()

    def add(self, text: str, left: float, right: float, shift: float, is_spaced: bool) -> None:
        """Append a letter or word; `shift` is its height above the baseline."""
        if shift != self.shift and self.shift:
            self.text += END
            if self.apart and not is_spaced:
                # The mass number of an isotope or the numerator of a fraction.
                self.text = f"{self.text[: self.apart]} {self.text[self.apart :]}"
            self.apart = 0
        if is_spaced and shift > 0 and not self.shift:
            # A superscript before a space is a footnote mark.
            self.apart = len(self.text)
        elif is_spaced and self.text:
            self.text += " "
            self.gaps.append((len(self.text), (self.right, left)))
        if shift != self.shift:
            if shift:
                self.text += RAISED if shift > 0 else LOWERED
            self.shift = shift
        self.text += text
        self.left, self.right = min(self.left, left), max(self.right, right)

    def line(self) -> Line:
        """Return the run as a line; a quarter of its height is below the baseline."""
        bottom = 0.25 * self.size - self.base
        text = self.text + (END if self.shift else "")
        return Line(self.left, bottom - self.size, self.right, bottom, text, tuple(self.gaps))


def letters_of(page: pypdfium2.PdfPage) -> Letters:
    """Return the letters of a page, as lines with their positions."""
    text = page.get_textpage()
    raw, box, x, y = text.raw, pdfium.FS_RECTF(), c_double(), c_double()
    at_box, at_x, at_y = byref(box), byref(x), byref(y)
    characters = _characters(raw, text.count_chars())
    runs, skewed = list[_Run](), ""
    run: _Run | None = None
    known = turned = None
    base = size = last_left = last_right = 0.0
    is_spaced = is_broken = False
    # The first and last letter of a word are enough; querying every letter takes three times as long.
    rest = [found.span() for found in _WORD.finditer(characters)][::-1]
    while rest:
        start, stop = rest.pop()
        word = characters[start:stop]
        if word.isspace():
            if word in "\r\n":
                is_broken = True
            else:
                is_spaced = True
            continue
        pdfium.FPDFText_GetLooseCharBox(raw, start, at_box)
        left, right, bounds = box.left, box.right, (box.bottom, box.top)
        if bounds != known:
            known = bounds
            pdfium.FPDFText_GetCharOrigin(raw, start, at_x, at_y)
            quarter = pdfium.FPDFText_GetCharAngle(raw, start) / (math.pi / 2)
            turned = round(quarter) % 4 if abs(quarter - round(quarter)) < _SKEWED else None
            base, size = y.value, bounds[1] - bounds[0]
        if stop - start > 1:
            pdfium.FPDFText_GetLooseCharBox(raw, stop - 1, at_box)
            if turned != 0 or (box.bottom, box.top) != bounds:
                rest += [(index, index + 1) for index in range(start, stop)][::-1]
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
        is_spaced = is_spaced or (is_broken and gap > _WORD_GAP * size)
        is_near = run is not None and run.turned == turned and gap < _CELL_GAP * max(size, run.size)
        shift = _shift(run, base, size, gap) if run and is_near else None
        if run is None or shift is None:
            run = _Run(turned, base, size, left)
            runs.append(run)
        elif shift and size > run.size:
            # The line started with a superscript.
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
    """Return the characters of a page, one for each index."""
    buffer = create_string_buffer(2 * (count + 1))
    pdfium.FPDFText_GetText(raw, 0, count, cast(buffer, POINTER(c_ushort)))
    characters = buffer.raw[: 2 * count].decode("utf-16-le", "replace").rstrip("\0")
    if len(characters) != count:
        # The text omits letters that have no character.
        characters = "".join(chr(pdfium.FPDFText_GetUnicode(raw, index)) for index in range(count))
    return _HYPHENS.sub("-", characters)


def _shift(run: _Run, base: float, size: float, gap: float) -> float | None:
    """Return the height of a letter above the baseline of a run; None if it does not continue the run."""
    larger, shift = max(size, run.size), base - run.base
    if abs(shift) < _SAME_BASE * larger:
        return 0.0
    is_raised = abs(shift) < _MOST_RAISED * larger and (size <= run.size or (shift < 0 and not run.shift))
    return shift if is_raised and gap < 2 * _WORD_GAP * larger else None


def _turned_box(raw: Any, index: int, turned: int) -> tuple[float, float, float, float]:
    """Return left, right, baseline and size of a rotated letter in the coordinates of the rotated page."""
    left, right, bottom, top, x, y = (c_double() for _ in range(6))
    pdfium.FPDFText_GetCharBox(raw, index, byref(left), byref(right), byref(bottom), byref(top))
    pdfium.FPDFText_GetCharOrigin(raw, index, byref(x), byref(y))
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(raw, index, byref(matrix))
    size = pdfium.FPDFText_GetFontSize(raw, index) * math.hypot(matrix.a, matrix.b)
    if turned == 3:
        return bottom.value, top.value, -x.value, size
    if turned == 2:
        return -right.value, -left.value, -y.value, size
    return -top.value, -bottom.value, x.value, size


def grids_of(page: pypdfium2.PdfPage) -> list[tuple[Sequence[float], Sequence[float]]]:
    """Return the ruled tables of a page, from top to bottom: x of each vertical line, and y of each horizontal line."""
    # Vertical ruled lines as (top, bottom, x), and horizontal ones as y; a box gives two of each.
    upright, level = list[tuple[float, float, float]](), list[float]()
    left, low, right, high = (c_float() for _ in range(4))
    bounds = byref(left), byref(low), byref(right), byref(high)
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _MOST_OBJECTS)):
        drawn = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(drawn) == pdfium.FPDF_PAGEOBJ_PATH:
            pdfium.FPDFPageObj_GetBounds(drawn, *bounds)
            if high.value - low.value > _THICK:
                upright += [(-high.value, -low.value, x) for x in (left.value, right.value)]
            if right.value - left.value > _THICK:
                level += [-high.value, -low.value]
    groups = list[list[tuple[float, float, float]]]()
    bottom = -math.inf
    for rule in sorted(upright):
        if not groups or rule[0] > bottom + _THICK:
            groups.append([])
        groups[-1].append(rule)
        bottom = max(bottom, rule[1])
    grids = list[tuple[Sequence[float], Sequence[float]]]()
    for group in groups:
        top, bottom = group[0][0] - _THICK, max(rule[1] for rule in group) + _THICK
        grid = _distinct(rule[2] for rule in group), _distinct(rule for rule in level if top < rule < bottom)
        if min(map(len, grid)) > 2:
            grids.append(grid)
    return grids


def _distinct(values: Iterable[float]) -> list[float]:
    """Return the sorted values without those that are within the thickness of a line of the one before."""
    distinct = list[float]()
    for value in sorted(values):
        if not distinct or value > distinct[-1] + _THICK:
            distinct.append(value)
    return distinct
