"""The figures of a whole run, with what is certain of them, as tables."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from deep_research.evaluation.baseline import DOCUMENTS, SENTENCES
from deep_research.evaluation.measures import BY_KEY, MEASURES, Figures, Measure
from deep_research.evaluation.questions import GROUPINGS, Mistake
from deep_research.evaluation.reports import write_text

RESAMPLES = 1000
SEED = 1
"""The same figures always get the same interval."""
Z = statistics.NormalDist().inv_cdf(0.975)


class Estimate(NamedTuple):
    """A mean over questions with its 95 % interval."""

    value: float
    low: float
    high: float
    questions: int


def estimate(values: Sequence[float]) -> Estimate:
    """The mean: of yes and no with Wilson's interval, of other figures with a bootstrap's; at least one value."""
    mean = math.fsum(values) / len(values)
    low, high = wilson(mean, len(values)) if set(values) <= {0.0, 1.0} else bootstrap(values)
    return Estimate(mean, low, high, len(values))


def wilson(share: float, count: int) -> tuple[float, float]:
    """The interval of a share of `count` answers of yes or no."""
    spread = Z * Z / count
    middle = (share + spread / 2) / (1 + spread)
    width = math.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    # Rounding must not push the share itself out.
    return max(0.0, min(share, middle - width)), min(1.0, max(share, middle + width))


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """The interval of a mean, from means of values drawn again."""
    draw = random.Random(SEED)  # noqa: S311 - this hides nothing, it has to be repeatable
    means = [math.fsum(draw.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES)]
    return quantile(means, 0.025), quantile(means, 0.975)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies, between two of them if need be."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    return below + (above - below) * (place - math.floor(place))


def sign_test(better: int, worse: int) -> float:
    """How likely as uneven a result is, or a more uneven one, where better and worse are equally likely (two-sided)."""
    count = better + worse
    tail = sum(math.comb(count, number) for number in range(max(better, worse), count + 1))
    return float(min(1.0, 2 * tail / 2**count))


FILE_NAME = "rows.jsonl"


class Row(BaseModel):
    """What came of one question."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    """Id of the question."""
    is_answerable: bool | None
    """Whether the documents answer it; none if nobody says so."""
    groups: dict[str, str]
    """The groups that it belongs to, by the field that says so."""
    report: str
    """Name of its files in `reports`, without ending."""
    error: str
    """Why there is no report; empty if there is one."""
    run: Figures
    """Figures of the report."""
    baseline: Figures | None
    """Figures of plain BM25; none if it was not asked."""


def write_rows(out: Path, rows: Sequence[Row]) -> None:
    """Keep the results, a line a question."""
    write_text(out / FILE_NAME, "".join(f"{row.model_dump_json()}\n" for row in rows))


def read_rows(out: Path) -> dict[str, Row]:
    """The results of a run by question; raises `Mistake` if there are none."""
    file = out / FILE_NAME
    try:
        lines = file.read_bytes().split(b"\n")
        rows = [Row.model_validate_json(line) for line in lines if line.strip()]
    except OSError as error:
        raise Mistake(f"{out}: this is no finished run: {FILE_NAME} cannot be read ({error.strerror}).") from error
    except ValidationError as error:
        raise Mistake(f"{file}: a line of it was not written by this command.") from error
    return {row.id: row for row in rows}


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
