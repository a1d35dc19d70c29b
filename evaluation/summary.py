"""The figures of a whole run, beside those of the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from deep_research.evaluation.certainty import Estimate, estimate, quantile
from deep_research.evaluation.measures import MEASURES, Figures
from deep_research.evaluation.questions import GROUPINGS
from deep_research.evaluation.rows import Row


class Block(NamedTuple):
    """Means over some questions, by the key of the measure."""

    questions: int
    run: dict[str, Estimate]
    baseline: dict[str, Estimate]

    def data(self) -> dict[str, Any]:
        """The same as JSON has it."""
        sides = {"run": self.run, "baseline": self.baseline}
        told = {side: {key: _rounded(one) for key, one in means.items()} for side, means in sides.items()}
        return {"questions": self.questions, **told}


class Seconds(NamedTuple):
    """How long reports took."""

    median: float
    ninth_decile: float
    """Nine of ten took less."""


class Summary(NamedTuple):
    """A run in figures."""

    settings: dict[str, Any]
    """How it was made."""
    answerable: int
    unanswerable: int
    failed: tuple[Row, ...]
    """Questions without a report."""
    seconds: Seconds | None
    """None if there is no report."""
    whole: Block
    groups: dict[str, dict[str, Block]]
    """The same for parts of the questions, by field and value."""

    def data(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {
            "settings": self.settings,
            "answerable": self.answerable,
            "unanswerable": self.unanswerable,
            "failed": {row.id: row.error for row in self.failed},
            "seconds": self.seconds._asdict() if self.seconds else None,
            **self.whole.data(),
            "groups": {
                field: {value: block.data() for value, block in blocks.items()} for field, blocks in self.groups.items()
            },
        }


def summarize(rows: Sequence[Row], settings: dict[str, Any]) -> Summary:
    """Add up the results of a run."""
    seconds = [row.run["seconds"] for row in rows if "seconds" in row.run]
    return Summary(
        settings=settings,
        answerable=sum(row.is_answerable is True for row in rows),
        unanswerable=sum(row.is_answerable is False for row in rows),
        failed=tuple(row for row in rows if row.error),
        seconds=Seconds(quantile(seconds, 0.5), quantile(seconds, 0.9)) if seconds else None,
        whole=_block(rows),
        groups={field: blocks for field in GROUPINGS if (blocks := _blocks(rows, field))},
    )


def means(figures: Sequence[Figures]) -> dict[str, Estimate]:
    """The mean of each measure over the questions that it applies to."""
    values = {measure.key: [one[measure.key] for one in figures if measure.key in one] for measure in MEASURES}
    return {key: estimate(found) for key, found in values.items() if found}


def _block(rows: Sequence[Row]) -> Block:
    return Block(len(rows), means([row.run for row in rows]), means([row.baseline for row in rows if row.baseline]))


def _blocks(rows: Sequence[Row], field: str) -> dict[str, Block]:
    values = sorted({row.groups[field] for row in rows if field in row.groups})
    return {value: _block([row for row in rows if row.groups.get(field) == value]) for value in values}


def _rounded(one: Estimate) -> dict[str, float]:
    return {name: round(value, 4) for name, value in one._asdict().items()}
