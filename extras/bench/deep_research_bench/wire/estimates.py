"""Holds estimates against outcomes over whole runs on fake servers: `python -m deep_research_bench.wire.estimates`.

The questions have one to six parts, both strategies research them, on the web, in documents, and in both. `--measure`
prints the medians from which `core/writing/estimate.py` has its numbers, from runs with another seed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, linear_regression, median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click

from deep_research_bench.wire.__main__ import Row, run, servers
from deep_research_bench.wire.figures import Entry, read
from deep_research_bench.wire.policy import Load
from deep_research_bench.wire.search_server import text_of_page

QUESTIONS = (
    "What does it cost to store a kilowatt hour of solar energy in a battery?",
    "How much does warm water lose over a week?",
    "Which towns of fewer than ten thousand people have built a store since 2018?",
    "Who pays for the connection to the grid?",
    "How long does each kind of store last?",
    "What do the insurers ask for?",
)
PRICES = {"gpt-4.1": [2.0, 8.0, 0.5]}
DOCUMENTS, DOCUMENT_CHARACTERS = 30, 6000
"""Too long to be read whole."""
RESEARCHERS, ROUNDS, SEARCHES, FETCHES, PAGE_CHARACTERS = 3, 1, 3, 4, 20_000
SEED, OTHER_SEED = 3, 1
FORMS = {
    "record_round": "STEP",
    "record_analysis": "ANALYSIS",
    "update_plan": "REVISION",
    "record_inconsistencies": "FINAL_CHECK",
    "judge_units": "VERDICTS",
}
PLAN_TOKENS = 30
"""Tokens of a step of a plan at most; a report has more."""
FIGURES = ("calls", "input_tokens", "output_tokens", "usd", "seconds")


class Case(NamedTuple):
    """A run."""

    strategy: str
    parts: int
    places: str
    """What is searched: `web`, `documents` or `both`."""

    @property
    def name(self) -> str:
        """The case as it is called."""
        return f"{self.strategy},{self.parts},{self.places}"

    @property
    def question(self) -> str:
        """The question, each part a line."""
        return "\n".join(f"{number}. {one}" for number, one in enumerate(QUESTIONS[: self.parts], 1))


CASES = tuple(
    Case(strategy, parts, places)
    for strategy in ("orchestrated", "planned")
    for parts, places in (
        *((parts, "web") for parts in range(1, 7)),
        *((1, "documents"), (3, "documents"), (2, "both"), (5, "both")),
    )
)


@click.command()
@click.argument("cases", nargs=-1)
@click.option("--measure", is_flag=True, help="Print the numbers of the estimate, from runs with another seed.")
@click.option("--json", "results", type=click.Path(path_type=Path, dir_okay=False), help="Write all rows to this file.")
def main(cases: tuple[str, ...], measure: bool, results: Path | None) -> None:
    """Hold the estimate against the outcome over twenty runs, or over these cases: STRATEGY,PARTS,PLACES."""
    rows, logs = list[Row](), list[tuple[Case, list[Entry]]]()
    for case in [case for case in CASES if not cases or case.name in cases]:
        click.echo(case.name, err=True)
        row, log = _carried_out(case, OTHER_SEED if measure else SEED)
        rows.append(row)
        logs.append((case, log))
    if results:
        results.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    for line in _measured(logs) if measure else _compared(rows):
        click.echo(line)


def _carried_out(case: Case, seed: int) -> tuple[Row, list[Entry]]:
    load = Load(RESEARCHERS, ROUNDS, SEARCHES, FETCHES, case.parts, seed)
    with TemporaryDirectory(prefix="bench-") as folder, servers(load, PAGE_CHARACTERS, folder) as environment:
        given: Row = {"prices": PRICES, "clarify": "assume"}
        if case.places != "web":
            given["docs"] = [str(_write_documents(Path(folder, "docs", "page")))]
        if case.places == "documents":
            given["engines"] = []
        wanted = {"question": case.question, "load": load, "strategy": case.strategy, "folder": folder, "given": given}
        row = run(wanted, environment)
        log = read(Path(folder, "model.jsonl"))
        return {"case": case._asdict(), **row, "log": log}, log


def _write_documents(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for page in range(1, DOCUMENTS + 1):
        (folder / f"{page}.txt").write_text(text_of_page(page, DOCUMENT_CHARACTERS), encoding="utf-8")
    return folder.parent


def _compared(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table of the ratio of outcome and estimate, and the median error of each figure."""
    good = [row for row in rows if not row["error"]]
    yield f"| case | {' | '.join(f'{name}: estimate, outcome' for name in FIGURES)} |"
    yield "| --- " * (1 + len(FIGURES)) + "|"
    for row in good:
        pairs = (f"{row['estimate'][name]['likely']:,.4g}, {row['outcome'][name]:,.4g}" for name in FIGURES)
        case = Case(**row["case"])
        yield f"| {case.name} | {' | '.join(pairs)} |"
    errors = {name: sorted(_errors(good, name)) for name in FIGURES}
    yield f"| median error | {' | '.join(f'{median(errors[name]):.0%}' for name in FIGURES)} |"
    inside = {name: sum(_is_inside(row, name) for row in good) for name in FIGURES}
    yield f"| within the range | {' | '.join(f'{inside[name]} of {len(good)}' for name in FIGURES)} |"
    yield from (f"{row['case']}: {row['error']}" for row in rows if row["error"])


def _errors(rows: Iterable[Row], name: str) -> Iterator[float]:
    return (abs(row["estimate"][name]["likely"] - row["outcome"][name]) / row["outcome"][name] for row in rows)


def _is_inside(row: Row, name: str) -> bool:
    span = row["estimate"][name]
    return bool(span["low"] <= row["outcome"][name] <= span["high"])


def _kind(entry: Entry) -> str:
    """Return the name that the calls have in `core/writing/estimate.py`; empty for those before the plan."""
    offered = set(entry["offered"])
    if "research_agent" in offered:
        return "DECISION"
    if "generate_report" in offered:
        return "FINDING" if entry["is_text"] else "ROUND"
    if not offered:
        return "" if entry["output_tokens"] < PLAN_TOKENS * len(QUESTIONS) else "REPORT"
    return FORMS.get(next(iter(offered)), "")


def _measured(logs: Sequence[tuple[Case, list[Entry]]]) -> Iterator[str]:
    """Yield the numbers of each kind of call, and how often it is made."""
    points, grown, answers, counts = (defaultdict[str, list[Any]](list) for _ in range(4))
    for case, log in logs:
        by_kind: dict[str, dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
        for entry in log:
            by_kind[_kind(entry)][entry["conversation"]].append(entry)
        tasks = len(by_kind.get("ROUND") or by_kind.get("STEP") or ())
        for kind, conversations in by_kind.items():
            own = [entry for entries in conversations.values() for entry in entries]
            first = [entries[0]["prompt_tokens"] for entries in conversations.values()]
            points[kind].append((tasks, sum(entry["prompt_tokens"] for entry in own) / len(own), median(first)))
            for entries in conversations.values():
                grown[kind] += [late["prompt_tokens"] - one["prompt_tokens"] for one, late in pairwise(entries)]
            answers[kind].append((tasks, fmean(entry["output_tokens"] for entry in own)))
            counts[kind].append((tasks, case.parts, len(own)))
    for kind in sorted(filter(None, points)):
        slope, start = linear_regression(*zip(*((tasks, mean) for tasks, mean, _ in points[kind]), strict=True))
        more, spoken = linear_regression(*zip(*answers[kind], strict=True))
        step = f"{fmean(grown[kind]):.0f}" if grown[kind] else "–"
        each = sum(count for *_, count in counts[kind]) / sum(tasks for tasks, *_ in counts[kind])
        yield (
            f"{kind}: first prompt {fmean(first for *_, first in points[kind]):.0f}, grows by {step} a call; "
            f"mean prompt {start:.0f} + {slope:.0f} a task; answer {spoken:.0f} + {more:.0f} a task; "
            f"{each:.2f} calls a task, {fmean(count for *_, count in counts[kind]):.2f} a run of {len(counts[kind])}"
        )
    further = [tasks - case.parts for (case, _), (tasks, *_) in zip(logs, counts[""], strict=True)]
    yield f"tasks beyond the parts: {fmean(further[: len(further) // 2]):.2f} orchestrated"
    entries = [entry for _, log in logs for entry in log]
    cached, prompts = (sum(entry[name] for entry in entries) for name in ("cached_tokens", "prompt_tokens"))
    yield f"CACHED: {cached / prompts:.2f}"


if __name__ == "__main__":
    main()
