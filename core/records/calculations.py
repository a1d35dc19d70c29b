"""Records of calculations: how a figure of the report follows from others."""

from __future__ import annotations

from typing import Literal

from .sources import Record

InputOrigin = Literal["source", "request", "report", "calculation", "constant", "supposed"]
"""Where an input of a calculation comes from.

`source`: words of a source; `request`: the user's own messages; `report`: a statement of the report
that is proved itself; `calculation`: the result of an earlier line; `constant`: needs no source,
such as 12 months; `supposed`: the statement supposes it, as in "if only 340 order".
"""


class CalculationInput(Record):
    """A number that a calculation uses."""

    value: float
    """Its value, with its scale: 1 200 000 for 1.2 million; a percentage as written."""
    unit: str = ""
    """Its unit of measure or currency where it comes from; empty if it has none there."""
    origin: InputOrigin
    source: str = ""
    """Key of the source, if it comes from one."""


class Calculation(Record):
    """A line of arithmetic, or a count of named things, that has been calculated again."""

    name: str
    """The statement of the report that first rests on it."""
    formula: str
    """The left side of the line: `(48 - 40) / 40`."""
    inputs: tuple[CalculationInput, ...] = ()
    """The numbers in the formula, in order; none for a count."""
    value: float
    """The exact result."""
    result: str
    """The result as the model wrote it, such as `20 %`; empty if it wrote none."""
    is_rounded: bool = False
    """Whether `result` is the exact result rounded to its last digit."""
