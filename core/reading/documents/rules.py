"""Finds ruled tables on a PDF page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from ctypes import byref, c_float
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

THICK = 3.0
"""Maximum thickness of a rule and maximum gap between the rules of a grid, in points."""
MOST_OBJECTS = 20_000
"""Maximum number of objects inspected on a page; maps have more, and no tables."""


class Grid(NamedTuple):
    """Positions of the vertical and the horizontal rules of a table, from left to right and from top to bottom."""

    columns: Sequence[float]
    rows: Sequence[float]


def grids_of(page: pypdfium2.PdfPage) -> list[Grid]:
    """Return the grids of a page with at least two columns and two rows, from top to bottom."""
    upright, level = _rules(page)
    groups = list[list[tuple[float, float, float]]]()
    bottom = -math.inf
    for rule in sorted(upright):
        if not groups or rule[0] > bottom + THICK:
            groups.append([])
        groups[-1].append(rule)
        bottom = max(bottom, rule[1])
    grids = list[Grid]()
    for group in groups:
        top, bottom = group[0][0] - THICK, max(rule[1] for rule in group) + THICK
        grid = Grid(_distinct(rule[2] for rule in group), _distinct(rule for rule in level if top < rule < bottom))
        if min(map(len, grid)) > 2:
            grids.append(grid)
    return grids


def _rules(page: pypdfium2.PdfPage) -> tuple[list[tuple[float, float, float]], list[float]]:
    """Return vertical rules as (top, bottom, x), and the y positions of horizontal ones; a box has two of each."""
    upright, level = list[tuple[float, float, float]](), list[float]()
    left, bottom, right, top = (c_float() for _ in range(4))
    bounds = byref(left), byref(bottom), byref(right), byref(top)
    for place in range(min(pdfium.FPDFPage_CountObjects(page), MOST_OBJECTS)):
        drawn = pdfium.FPDFPage_GetObject(page, place)
        if pdfium.FPDFPageObj_GetType(drawn) == pdfium.FPDF_PAGEOBJ_PATH:
            pdfium.FPDFPageObj_GetBounds(drawn, *bounds)
            if top.value - bottom.value > THICK:
                upright += [(-top.value, -bottom.value, x) for x in (left.value, right.value)]
            if right.value - left.value > THICK:
                level += [-top.value, -bottom.value]
    return upright, level


def _distinct(values: Iterable[float]) -> list[float]:
    distinct = list[float]()
    for value in sorted(values):
        if not distinct or value > distinct[-1] + THICK:
            distinct.append(value)
    return distinct
