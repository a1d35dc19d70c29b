"""The part of a form in which a model hands in an analysis of what is known."""

from __future__ import annotations

from pydantic import Field

from ..core.writing.calculating import CalculatingForm


class Analysis(CalculatingForm):
    """What follows from what is known, and on which number a decision turns."""

    statements: list[str] = Field(default_factory=list)
    """The conclusions, one sentence each; no new facts."""
    turning_point: str = ""
    """If the request decides or compares: the quantity on which the answer turns, its range in the findings, and the value at which the answer flips, in one sentence."""  # noqa: E501
    from_reader: str = ""
    """Which figures of the reader's own would sharpen the answer, in one sentence; empty if none would."""  # noqa: E501

    @property
    def conclusions(self) -> list[str]:
        """The conclusions, a line each: its statements, then what the answer turns on."""
        conclusions = list[str]()
        for sentence in (*self.statements, self.turning_point, self.from_reader):
            words = " ".join(sentence.split())
            if words:
                conclusions.append(words)
        return conclusions
