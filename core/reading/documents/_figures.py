"""Which table cells are figures."""

from __future__ import annotations

import re

from ._raised import END, LOWERED, RAISED

_FIGURE = re.compile(
    r"(?!(?:19|20)\d\d\b)[^\w]*(?:[A-Z]{0,3}[$€£¥]|[A-Z]{3}\b)?[^\w]*\d[\d\s.,'’/:%()–−-]*[^\W\d_]{0,3}\W*"
)
"""A cell with a number. Years do not count, because they occur as column headers."""
_SCALE = re.compile(r"\D*000\D*")
"""The unit of a column, such as `£000`."""
_SCRIPT = re.compile(rf"[{RAISED}{LOWERED}][^{END}]*{END}")


def is_figure(cell: str) -> bool:
    """Whether a cell is a number other than a year, with a unit or signs at most."""
    plain = _SCRIPT.sub("", cell)
    return _FIGURE.fullmatch(plain) is not None and _SCALE.fullmatch(plain) is None
