"""Results as Markdown that can be read as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deep_research.evaluation.baseline import DOCUMENTS, SENTENCES
from deep_research.evaluation.certainty import Estimate
from deep_research.evaluation.measures import BY_KEY, MEASURES, Measure
from deep_research.evaluation.summary import Block, Summary

BASELINE = f"BM25, {DOCUMENTS} documents, {SENTENCES} sentences each"
_IN_GROUPS = ("answer", "answer_in_lead", "answer_grounded", "all_gold", "precision", "abstained_rightly")
_NOTHING = "–"


def summary_page(summary: Summary) -> str:
    """The whole of a run on a page."""
    questions = (
        f"{summary.whole.questions} questions: {summary.answerable} that the documents answer, {summary.unanswerable} "
        f"that they do not; {len(summary.failed)} failed."
    )
    settings = ", ".join(f"{name} {cell(str(value))}" for name, value in summary.settings.items())
    parts = ["# Questions over a closed corpus", questions, f"By {settings}.", _main_table(summary)]
    if summary.seconds:
        parts.append(
            f"Seconds a report: median {summary.seconds.median:.1f}, nine of ten below "
            f"{summary.seconds.ninth_decile:.1f}."
        )
    parts.append("In brackets: the 95 % interval. What each measure means: docs/evaluation.md.")
    for field, blocks in summary.groups.items():
        parts += [f"## By {field}", _group_table(field, blocks)]
    if summary.failed:
        failed = (f"- `{cell(row.id)}`: {cell(row.error)}" for row in summary.failed)
        parts += ["## Failed", "\n".join(failed)]
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cell(text: str) -> str:
    """A foreign text as one line that ends no cell and moves no cursor."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line.replace("|", "\\|").replace("`", "'")


def shown(measure: Measure, value: float) -> str:
    """A figure in its unit."""
    return f"{100 * value:.1f} %" if measure.is_share else f"{value:.1f}"


def _main_table(summary: Summary) -> str:
    run, baseline = summary.whole.run, summary.whole.baseline
    lines = [
        [
            measure.title,
            str(run[measure.key].questions),
            _with_interval(measure, run[measure.key]),
            *([_with_interval(measure, baseline.get(measure.key))] if baseline else []),
        ]
        for measure in MEASURES
        if measure.key in run
    ]
    return table(["", "questions", "this run", *([BASELINE] if baseline else [])], lines)


def _with_interval(measure: Measure, one: Estimate | None) -> str:
    if one is None:
        return _NOTHING
    low, high = (f"{100 * end:.0f}" if measure.is_share else f"{end:.1f}" for end in (one.low, one.high))
    return f"{shown(measure, one.value)} ({low}–{high})"


def _group_table(field: str, blocks: dict[str, Block]) -> str:
    keys = [key for key in _IN_GROUPS if any(key in block.run for block in blocks.values())]
    lines = [
        [cell(value), str(block.questions), *(_pair(block, BY_KEY[key]) for key in keys)]
        for value, block in blocks.items()
    ]
    has_baseline = any(block.baseline for block in blocks.values())
    titles = [f"{BY_KEY[key].title}{' / BM25' if has_baseline else ''}" for key in keys]
    return table([field, "questions", *titles], lines)


def _pair(block: Block, measure: Measure) -> str:
    sides = [block.run, block.baseline] if block.baseline else [block.run]
    return " / ".join(shown(measure, side[measure.key].value) if measure.key in side else _NOTHING for side in sides)
