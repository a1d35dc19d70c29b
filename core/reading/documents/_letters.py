"""Reads a PDF page: letters become lines and cells; ruled lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from ctypes import POINTER, byref, c_double, c_float, c_ushort, cast, create_string_buffer
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from ._lines import Line, Rule
from ._raised import END, LOWERED, RAISED
from ._ruled import THICK

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
        """`turned`: rotation in quarter turns; `base`: baseline; `size`: height of the letters."""
        self.turned = turned
        self.base = base
        self.size = size
        self.left = left
        self.right = left
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
            if shift > 0:
                self.text += RAISED
            elif shift < 0:
                self.text += LOWERED
            self.shift = shift
        self.text += text
        self.left = min(self.left, left)
        self.right = max(self.right, right)

    def rebase(self, base: float, size: float) -> None:
        """Continue on the baseline of larger letters, since the text so far is a superscript."""
        self.text = f"{RAISED}{self.text}"
        self.shift = self.base - base
        self.base = base
        self.size = size

    def line(self) -> Line:
        """Return the run as a line; a quarter of its height is below the baseline."""
        bottom = 0.25 * self.size - self.base
        text = self.text
        if self.shift:
            text += END
        return Line(self.left, bottom - self.size, self.right, bottom, text, tuple(self.gaps))


class _Word(NamedTuple):
    """A word or a letter, as on the rotated page."""

    text: str
    turned: int | None
    """Rotation in quarter turns; None for any other angle, for which there is no position."""
    left: float
    right: float
    base: float
    """Position of the baseline."""
    size: float
    """Height of the letters."""
    is_spaced: bool
    """Whether it follows a space."""
    is_broken: bool
    """Whether it follows a line break."""


def letters_of(page: pypdfium2.PdfPage) -> Letters:
    """Return the letters of a page, as lines with their positions."""
    text = page.get_textpage()
    characters = _characters(text.raw, text.count_chars())
    runs = list[_Run]()
    run: _Run | None = None
    skewed = ""
    last_left = last_right = 0.0
    for word in _words(text.raw, characters):
        if word.turned is None:
            if word.is_spaced and skewed:
                skewed += " "
            skewed += word.text
            continue
        gap = max(word.left - last_right, last_left - word.right)
        last_left = word.left
        last_right = word.right
        is_spaced = word.is_spaced
        if word.is_broken and gap > _WORD_GAP * word.size:
            is_spaced = True
        shift: float | None = None
        if run and run.turned == word.turned:
            shift = _shift(run, word, gap)
        if run is None or shift is None:
            run = _Run(word.turned, word.base, word.size, word.left)
            runs.append(run)
            shift = 0.0
        elif shift and word.size > run.size:
            run.rebase(word.base, word.size)
            shift = 0.0
        run.add(word.text, word.left, word.right, shift, is_spaced)
    text.close()
    lines: list[list[Line]] = [[], [], [], []]
    for run in runs:
        line = run.line()
        if line.text and line.height > 0:
            lines[run.turned].append(line)
    return Letters(lines, skewed, len(_UNKNOWN.findall(characters)))


def _words(raw: Any, characters: str) -> Iterator[_Word]:
    """Yield the words of a page, and the letters of those whose letters have different heights.

    The first and last letter of a word are enough; querying every letter takes three times as long.
    """
    box = pdfium.FS_RECTF()
    at_box = byref(box)
    x = c_double()
    y = c_double()
    at_x = byref(x)
    at_y = byref(y)
    known: tuple[float, float] | None = None
    turned: int | None = None
    base = size = 0.0
    is_spaced = is_broken = False
    rest = [match.span() for match in _WORD.finditer(characters)]
    rest.reverse()
    while rest:
        start, stop = rest.pop()
        text = characters[start:stop]
        if text.isspace():
            if text in "\r\n":
                is_broken = True
            else:
                is_spaced = True
            continue
        pdfium.FPDFText_GetLooseCharBox(raw, start, at_box)
        left = box.left
        right = box.right
        bounds = (box.bottom, box.top)
        if bounds != known:
            known = bounds
            pdfium.FPDFText_GetCharOrigin(raw, start, at_x, at_y)
            base = y.value
            size = box.top - box.bottom
            turned = _quarter_turns(pdfium.FPDFText_GetCharAngle(raw, start))
        if stop - start > 1:
            pdfium.FPDFText_GetLooseCharBox(raw, stop - 1, at_box)
            if turned != 0 or (box.bottom, box.top) != bounds:
                # Look at each letter.
                for index in range(stop - 1, start - 1, -1):
                    rest.append((index, index + 1))
                continue
            left = min(left, box.left)
            right = max(right, box.right)
        if turned:
            left, right, base, size = _turned_box(raw, start, turned)
            known = None
        yield _Word(text, turned, left, right, base, size, is_spaced, is_broken)
        is_spaced = False
        if turned is not None:
            is_broken = False


def _characters(raw: Any, count: int) -> str:
    """Return the characters of a page, one for each index."""
    buffer = create_string_buffer(2 * (count + 1))
    pdfium.FPDFText_GetText(raw, 0, count, cast(buffer, POINTER(c_ushort)))
    characters = buffer.raw[: 2 * count].decode("utf-16-le", "replace").rstrip("\0")
    if len(characters) != count:
        # The text omits letters that have no character.
        characters = "".join(chr(pdfium.FPDFText_GetUnicode(raw, index)) for index in range(count))
    return _HYPHENS.sub("-", characters)


def _quarter_turns(angle: float) -> int | None:
    """Return the rotation of a letter in quarter turns, from 0 to 3; None for any other angle."""
    turns = angle / (math.pi / 2)
    if abs(turns - round(turns)) < _SKEWED:
        return round(turns) % 4
    return None


def _shift(run: _Run, word: _Word, gap: float) -> float | None:
    """Return the height of a word above the baseline of a run.

    None if the word does not continue the run.
    """
    larger = max(word.size, run.size)
    is_near = gap < _CELL_GAP * larger
    if not is_near:
        return None
    shift = word.base - run.base
    if abs(shift) < _SAME_BASE * larger:
        return 0.0
    is_shifted = abs(shift) < _MOST_RAISED * larger and gap < 2 * _WORD_GAP * larger
    if not is_shifted:
        return None
    if word.size <= run.size:
        return shift
    # A larger letter may follow a superscript with which the line started.
    is_after_raised = shift < 0 and not run.shift
    return shift if is_after_raised else None


def _turned_box(raw: Any, index: int, turned: int) -> tuple[float, float, float, float]:
    """Return left, right, baseline and size of a rotated letter, as on the rotated page."""
    left = c_double()
    right = c_double()
    bottom = c_double()
    top = c_double()
    pdfium.FPDFText_GetCharBox(raw, index, byref(left), byref(right), byref(bottom), byref(top))
    x = c_double()
    y = c_double()
    pdfium.FPDFText_GetCharOrigin(raw, index, byref(x), byref(y))
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(raw, index, byref(matrix))
    size = pdfium.FPDFText_GetFontSize(raw, index) * math.hypot(matrix.a, matrix.b)
    if turned == 3:
        return bottom.value, top.value, -x.value, size
    if turned == 2:
        return -right.value, -left.value, -y.value, size
    return -top.value, -bottom.value, x.value, size


def rules_of(page: pypdfium2.PdfPage) -> tuple[list[Rule], list[Rule]]:
    """Return the vertical and the horizontal ruled lines of a page.

    A box counts as two of each.
    """
    vertical = list[Rule]()
    horizontal = list[Rule]()
    left = c_float()
    low = c_float()
    right = c_float()
    high = c_float()
    bounds = byref(left), byref(low), byref(right), byref(high)
    count = min(pdfium.FPDFPage_CountObjects(page), _MOST_OBJECTS)
    for index in range(count):
        drawn = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(drawn) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        pdfium.FPDFPageObj_GetBounds(drawn, *bounds)
        top = -high.value
        bottom = -low.value
        if bottom - top > THICK:
            vertical += [Rule(top, bottom, left.value), Rule(top, bottom, right.value)]
        if right.value - left.value > THICK:
            horizontal += [
                Rule(left.value, right.value, top),
                Rule(left.value, right.value, bottom),
            ]
    return vertical, horizontal
