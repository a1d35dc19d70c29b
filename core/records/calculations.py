"""Records of calculations: by a model's tool during research, or by the judge of a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from .sources import Record

InputOrigin = Literal["source", "request", "report", "calculation", "constant", "supposed"]
"""Where an input of a calculation comes from.

`source`: words of a source; `request`: the user's own messages; `report`: a statement of the report
that is proved itself; `calculation`: the result of an earlier line; `constant`: needs no source,
such as 12 months; `supposed`: the statement supposes it, as in "if only 340 order", or nothing that
was read states it.
"""


class CalculationInput(Record):
    """A number that a calculation uses."""

    value: float
    """Its value, with its scale: 1 200 000 for 1.2 million; a percentage as written."""
    unit: str = ""
    """Its unit of measure or currency; empty if it has none."""
    origin: InputOrigin
    source: str = ""
    """Key of the source, if it comes from one."""
    words: str = ""
    """The words of the source that state it; empty if they are not kept."""
    calculation: int = 0
    """Number of the calculation whose result it is; 0 for any other input."""


class Calculation(Record):
    """A line of arithmetic, or a count of named things, that code has calculated."""

    number: int = 0
    """Its number, by which texts cite it: `[calc 2]`. It is one of the thread, or until `collect`
    one of its researcher; 0 for a calculation of the judge, which nothing cites."""
    name: str
    """What it gives; of the judge's, the statement of the report that first rests on it."""
    formula: str
    """The left side of the line: `(48 - 40) / 40`; of an equation, both sides."""
    inputs: tuple[CalculationInput, ...] = ()
    """The numbers in the formula, in order; none for a count."""
    value: float
    """The exact result; a share as a fraction of 1."""
    result: str
    """The result as it is shown, such as `20 %`; of the judge's, as the model wrote it, if it
    did."""
    unit: str = ""
    """The unit of measure of `result`; `%` for a share. Empty for a plain number, and for a
    calculation of the judge."""
    is_rounded: bool = False
    """Whether `result` is the exact result rounded to its last digit."""

    @property
    def key(self) -> str:
        """Its name in citations and channels: `calc 2`."""
        return f"calc {self.number}"

    @property
    def sources(self) -> list[str]:
        """Keys of the sources of its inputs."""
        return [used.source for used in self.inputs if used.source]

    @property
    def rests_on(self) -> frozenset[int]:
        """Numbers of the calculations whose results it uses."""
        return frozenset(used.calculation for used in self.inputs if used.calculation)

    @property
    def is_proved(self) -> bool:
        """Whether each of its inputs was found where it comes from."""
        return all(used.origin != "supposed" for used in self.inputs)

    @property
    def line(self) -> str:
        """Its formula and result in one line."""
        sign = "; x =" if "=" in self.formula else " ="
        return f"{self.formula}{sign} {self.result}"


def by_calculation_number(calculations: Iterable[Calculation]) -> dict[int, Calculation]:
    """Return calculations by number."""
    return {calculation.number: calculation for calculation in calculations}
