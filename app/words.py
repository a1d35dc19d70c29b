"""What the ways in share: exit codes, formats, strategies, and counts and times in words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from ..core.records.report import Audit

DONE = 0
FAILED = 1
"""Exit code of a run that failed and can be resumed, if only with another setting."""
REFUSED = 2
"""Exit code of a call that has left everything as it was: the call or a setting has to change."""
WAITING = 3
"""Exit code of a run that waits for an answer."""
CHANGED = 5
"""Exit code of `refresh --if-changed` that has something new to say."""
BUSY = 4
"""Exit code of a call about a run that is at work elsewhere."""
INTERRUPTED = 130
"""Exit code after Ctrl-C or SIGTERM."""
NOTHING_BEGAN = "Stopped before anything began."


Format = Literal["md", "json"]
"""How a report is printed."""
ExportFormat = Literal["md", "json", "html", "docx", "pdf", "bibtex", "csl-json"]
"""How a finished report is written."""
Evidence = Literal["none", "short", "full"]
"""What a report for people shows of its check: nothing, what did not pass as it was written, or every sentence."""
Strategy = Literal["orchestrated", "planned"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
GRAPHS: Mapping[Strategy, str] = {"orchestrated": "deep_research", "planned": "planned_research"}
"""Name of each strategy's graph."""
VARIABLE = "DEEP_RESEARCH_STRATEGY"
"""Variable of the environment that says by which strategy the command line begins a run."""
MARK = "research_strategy"
"""Where the checkpoints of a thread say by which strategy they were made, in their metadata."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural if need be."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}{ending}"


def in_words(seconds: float) -> str:
    """Return a time in minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    parts = [f"{minutes} min"] * bool(minutes) + [f"{rest} s"] * bool(rest or not minutes)
    return " ".join(parts)


def check_strategy(name: str, place: str = "strategy") -> Strategy:
    """Return the strategy of this name; raises `UnknownSetting`, which names the place that it comes from."""
    for known in STRATEGIES:
        if name == known:
            return known
    # They load LangGraph and pydantic, which would make the help of the command line slow.
    from ..core.run.errors import UnknownSetting
    from ..core.run.limits import nearest

    there_are = " and ".join(map(repr, STRATEGIES))
    raise UnknownSetting(f"{place}: there is no {name!r}{nearest(name, STRATEGIES)}; there are {there_are}.")


def default_strategy() -> Strategy:
    """Return the strategy of new runs on the command line; raises `UnknownSetting`."""
    return check_strategy(os.environ.get(VARIABLE) or STRATEGIES[0], VARIABLE)


def strategy_of(metadata: Mapping[str, Any]) -> Strategy:
    """Return the strategy by which a checkpoint was made; `orchestrated` if it says nothing."""
    return "planned" if metadata.get(MARK) == "planned" else "orchestrated"


def counts_line(audit: Audit) -> str:
    """Return what the check has made of the statements of a report; the parts add up to all."""
    parts = {
        "supported": audit.supported,
        "corrected": audit.corrected,
        "marked": audit.marked,
        "not verified": audit.not_verified,
        "that need no source": audit.reasoning,
    }
    shown = ", ".join(f"{count} {words}" for words, count in parts.items() if count)
    return f"{counted(audit.checked, 'statement')} checked: {shown}" if shown else "no statement checked"
