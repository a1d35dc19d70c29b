"""Compares two runs question by question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import click

from deep_research_evaluation.intervals import bootstrap, sign_test
from deep_research_evaluation.measures import MEASURES, Measure
from deep_research_evaluation.summary import Row, cell, in_unit, table


class Change(NamedTuple):
    """The change of a measure between two runs, over the questions that have it in both."""

    measure: Measure
    before: float
    after: float
    """Means of the first and the second run."""
    low: float
    high: float
    """95 % interval of the mean difference."""
    better: tuple[str, ...]
    """Ids of questions that the second run improves; for measures without a direction, those with
    more."""
    worse: tuple[str, ...]
    same: int


def changes(before: Mapping[str, Row], after: Mapping[str, Row]) -> Iterator[Change]:
    """Yield the changes by measure, without measures that no question has."""
    common = [key for key in before if key in after]
    for measure in MEASURES:
        pairs = {
            key: (before[key].run[measure.key], after[key].run[measure.key])
            for key in common
            if measure.key in before[key].run and measure.key in after[key].run
        }
        if pairs:
            yield _change_of(measure, pairs)


def render_comparison(
    before: Mapping[str, Row], after: Mapping[str, Row], names: tuple[str, str]
) -> str:
    """Return the comparison of two runs as Markdown; raises `UsageError` if they have no question
    in common."""
    common = before.keys() & after.keys()
    if not common:
        raise click.UsageError("The runs have no question in common.")
    found = list(changes(before, after))
    only_a, only_b = len(before) - len(common), len(after) - len(common)
    head = f"{len(common)} questions are in both, {only_a} in A only, {only_b} in B only."
    parts = [f"# {cell(names[0])} (A) and {cell(names[1])} (B)", head, _table(found), _NOTES]
    ids = [
        line for change in found if change.measure.better != "neither" for line in _id_lines(change)
    ]
    return "\n\n".join([*parts, *(["## Questions", "\n".join(ids)] if ids else [])]) + "\n"


_NOTES = (
    "better, worse: the number of questions on which B is better or worse than A (for counts: on which B is higher or "
    "lower). p: the probability of a split at least this uneven if nothing has changed (sign test)."
)


def _change_of(measure: Measure, pairs: Mapping[str, tuple[float, float]]) -> Change:
    sign = -1 if measure.better == "less" else 1
    gains = {key: sign * (after - before) for key, (before, after) in pairs.items()}
    differences = [after - before for before, after in pairs.values()]
    return Change(
        measure,
        sum(before for before, _ in pairs.values()) / len(pairs),
        sum(after for _, after in pairs.values()) / len(pairs),
        *bootstrap(differences),
        tuple(key for key, gain in gains.items() if gain > 0),
        tuple(key for key, gain in gains.items() if gain < 0),
        sum(gain == 0 for gain in gains.values()),
    )


def _table(found: Sequence[Change]) -> str:
    head = ["", "A", "B", "B - A (95 %)", "better", "worse", "same", "p"]
    return table(head, map(_line, found))


def _line(change: Change) -> list[str]:
    measure, unit = change.measure, 100 if change.measure.is_share else 1
    difference = f"{unit * (change.after - change.before):+.1f} ({unit * change.low:+.1f} to {unit * change.high:+.1f})"
    better, worse = len(change.better), len(change.worse)
    sides = (in_unit(measure, change.before), in_unit(measure, change.after))
    return [
        measure.title,
        *sides,
        difference,
        *map(str, (better, worse, change.same)),
        f"{sign_test(better, worse):.3f}",
    ]


def _id_lines(change: Change) -> Iterator[str]:
    # Durations differ in each run.
    if change.measure.key == "seconds":
        return
    for words, ids in (("better", change.better), ("worse", change.worse)):
        if ids:
            yield f"- {change.measure.title}, {words}: {', '.join(map(cell, ids))}"
