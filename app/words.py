"""Exit codes, output formats and strategies, and the wording of counts and times, shared by all
interfaces."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..core.records.report import Audit
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
STRATEGIES: tuple[Strategy, ...] = ("orchestrated", "planned")
GRAPHS: Mapping[Strategy, str] = {"orchestrated": "deep_research", "planned": "planned_research"}
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
    return "planned" if metadata.get(STRATEGY_KEY) == "planned" else "orchestrated"


def counts_line(audit: Audit) -> str:
    """Return the number of checked statements per verdict: "3 statements checked: 2 supported, 1
    marked"."""
    parts = {
        "supported": audit.supported,
        "corrected": audit.corrected,
        "marked": audit.marked,
        "not verified" if audit.was_judged else "not judged": audit.not_verified,
        "that need no source": audit.reasoning,
    }
    counts = [f"{count} {words}" for words, count in parts.items() if count]
    if not counts:
        return "no statement checked"
    return f"{counted(audit.checked, 'statement')} checked: {', '.join(counts)}"
