"""Exit codes, output formats and strategies, and the wording of counts and times, shared by all
interfaces."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..core.evidence.citations.markers import cited_calculations

if TYPE_CHECKING:
    from ..core.records.report import Audit, Report
    from ..core.records.research import Strategy, UsualCost

DONE = 0
FAILED = 1
"""Exit code of a run that failed; it can be resumed, perhaps with another setting."""
REFUSED = 2
"""Exit code for wrong usage or a wrong setting; nothing was changed."""
WAITING = 3
"""Exit code of a run that waits for an answer."""
BUSY = 4
"""Exit code if another process is running the thread."""
CHANGED = 5
"""Exit code of `refresh --if-changed` if there is something new."""
UNCLEAR = 6
"""Exit code of `check` if a statement has no source that could be read, or a citation was not
understood."""
INTERRUPTED = 130
"""Exit code after Ctrl-C or SIGTERM."""
NOTHING_BEGAN = "Stopped before anything began."


Format = Literal["md", "json"]
"""Formats in which a report is printed."""
EvidenceShown = Literal["none", "short", "full"]
"""Which verdicts an export shows: none, those on statements that were corrected, marked or not
verified, or all."""
STRATEGIES: tuple[Strategy, ...] = ("orchestrated", "planned", "table")
GRAPHS: Mapping[Strategy, str] = {
    "orchestrated": "deep_research",
    "planned": "planned_research",
    "table": "table_research",
}
"""Name of each strategy's graph, as clients of LangGraph's server use it."""
STRATEGY_VARIABLE = "DEEP_RESEARCH_STRATEGY"
"""Environment variable with the default strategy of new runs on the command line."""
STRATEGY_KEY = "research_strategy"
"""Metadata key under which checkpoints store the strategy."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed: "1 source", "2 searches"."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun}es" if noun.endswith("ch") else f"{count} {noun}s"


def in_words(seconds: float) -> str:
    """Return a duration in words: "40 s", "2 min", "2 min 5 s"."""
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    if not rest:
        return f"{minutes} min"
    return f"{minutes} min {rest} s"


def usual_cost_words(cost: UsualCost) -> str:
    """Return the median time and tokens of earlier runs: "4 min, 58 000 tokens (median of 5)"."""
    return (
        f"{in_words(cost.median_seconds)}, {rounded(cost.median_tokens)} tokens (median of "
        f"{cost.runs})"
    )


def rounded(count: float) -> str:
    """Return a number rounded to two significant digits."""
    magnitude = math.floor(math.log10(max(1, count)))
    return f"{round(count, 1 - magnitude):,.0f}".replace(",", " ")


def check_strategy(name: str, setting: str = "strategy") -> Strategy:
    """Return `name` as a strategy; raises `UnknownSetting`, whose message names the `setting`."""
    for known in STRATEGIES:
        if name == known:
            return known
    # Imported here because LangGraph and pydantic would slow down `--help`.
    from ..core.errors import UnknownSetting
    from ..core.settings.limits import nearest

    there_are = " and ".join(map(repr, STRATEGIES))
    raise UnknownSetting(
        f"{setting}: unknown strategy {name!r}{nearest(name, STRATEGIES)}; choose from {there_are}."
    )


def default_strategy() -> Strategy:
    """Return the strategy of new runs on the command line; raises `UnknownSetting`."""
    return check_strategy(os.environ.get(STRATEGY_VARIABLE) or STRATEGIES[0], STRATEGY_VARIABLE)


def strategy_of(metadata: Mapping[str, Any]) -> Strategy:
    """Return the strategy in a checkpoint's metadata; `orchestrated` if there is none."""
    stored = metadata.get(STRATEGY_KEY)
    return next((known for known in STRATEGIES if known == stored), "orchestrated")


class ReportTrust(NamedTuple):
    """How far a finished report can be relied on, in numbers: all interfaces show these."""

    was_checked: bool
    """Whether its statements were compared with their sources."""
    cited: int = 0
    """Statements of the draft that need a source; broken down in the next four fields."""
    supported: int = 0
    corrected: int = 0
    not_verified: int = 0
    """Those that no source supports, or that nothing proves."""
    not_judged: int = 0
    """Those that nothing proves, and of which no model that can be trusted has judged any."""
    without_source: int = 0
    """Statements that need no source: conclusions, headings that name a subject."""
    contradictions: int = 0
    """Disputes between its sources."""
    calculations: int = 0
    """Calculations that its text cites."""
    open: int = 0
    """Gaps that it leaves."""
    answered: int = 0
    partly: int = 0
    """Points of the request that are answered in part; `answered` counts whole answers."""
    not_graded: int = 0
    """Points of which nobody knows whether it answers them, such as those that it answered before a
    source was excluded."""
    points: int = 0
    """Points of the request that it is to answer."""
    failures: tuple[str, ...] = ()
    """What went wrong during the check, a reason each."""

    @classmethod
    def of_audit(cls, audit: Audit) -> ReportTrust:
        """Return what the check of a report alone says of it."""
        unproved = {"not_verified": audit.marked + audit.not_verified}
        if not audit.was_judged:
            unproved = {"not_verified": audit.marked, "not_judged": audit.not_verified}
        return cls(
            was_checked=True,
            cited=audit.supported + audit.corrected + audit.marked + audit.not_verified,
            supported=audit.supported,
            corrected=audit.corrected,
            without_source=audit.reasoning,
            contradictions=len(audit.disagreements),
            open=len(audit.gaps),
            failures=audit.failures,
            **unproved,
        )

    @classmethod
    def of(cls, report: Report, gaps: Sequence[str]) -> ReportTrust:
        """Return what is known of a report, which leaves these gaps."""
        trust = cls.of_audit(report.audit) if report.audit else cls(was_checked=False)
        numbers = {calculation.number for calculation in report.calculations}
        points = report.points
        verdicts = Counter(grade.verdict for grade in points)
        return trust._replace(
            calculations=len(numbers.intersection(cited_calculations(report.text))),
            open=len(gaps),
            answered=verdicts["answered"],
            partly=verdicts["partly"],
            not_graded=verdicts["not judged"],
            points=len(points),
        )

    @property
    def parts(self) -> dict[str, str]:
        """What it says in words, by the name of the field."""
        statements = counted(self.cited, "cited statement")
        parts = {
            "supported": f"{self.supported} of {statements} supported",
            "corrected": f"{self.corrected} corrected",
            "not_verified": f"{self.not_verified} not verified",
            "not_judged": f"{self.not_judged} not judged",
            "contradictions": counted(self.contradictions, "contradiction"),
            "calculations": counted(self.calculations, "calculation"),
            "open": f"{self.open} open",
            "points": self._points,
        }
        numbers = self._asdict()
        shown = {
            name: words for name, words in parts.items() if numbers[name] or name == "supported"
        }
        if not self.was_checked:
            shown["supported"] = "not checked"
        elif not self.cited:
            shown["supported"] = "no cited statement"
        return shown

    @property
    def _points(self) -> str:
        """How many points of the request are answered, in words."""
        points = counted(self.points, "point")
        if self.not_graded == self.points:
            return f"{points} not graded"
        if self.partly == self.points:
            return f"{points} partly answered"
        words = [f"{self.answered} of {points} answered"]
        if self.partly:
            words.append(f"{self.partly} partly")
        if self.not_graded:
            words.append(f"{self.not_graded} not graded")
        return ", ".join(words)

    @property
    def line(self) -> str:
        """All that it says, in one line."""
        return " · ".join(self.parts.values())

    @property
    def doubts(self) -> str:
        """What keeps its run from being plainly done, in a few words; empty if nothing does."""
        parts = self.parts
        doubts = [] if self.was_checked else [parts["supported"]]
        for name in ("not_verified", "not_judged", "open"):
            if name in parts:
                doubts.append(parts[name])
        return ", ".join(doubts)
