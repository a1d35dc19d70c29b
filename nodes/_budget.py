"""What a run may still spend, and the shares of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..core.records.research import Run, Spent, dollars, total
from ..core.settings.limits import Limits

Value = TypeVar("Value")


class Budget(NamedTuple):
    """What a run may still spend: its limits, and its costs so far."""

    limits: Limits
    spending: Mapping[str, Spent]
    """An entry for each call of a model or tool."""

    def limit_reached(self, active_seconds: float) -> str:
        """Return which limit of the run was reached, so that research has to stop, worded for the
        reader; empty if none."""
        limits = self.limits
        spent = total(self.spending)
        if active_seconds > limits.max_seconds:
            return f"the time limit of {limits.max_seconds:g} s (max_seconds) was reached"
        used_up = self.used_up(limits.writing_share)
        if used_up:
            return used_up
        for name, used, most in (
            ("max_searches", spent.searches, limits.max_searches),
            ("max_fetches", spent.fetches, limits.max_fetches),
            ("max_tool_calls", spent.tool_calls, limits.max_tool_calls),
        ):
            if most is not None and used >= most:
                return f"the limit {name} was reached ({used} of {most})"
        return ""

    def used_up(self, reserved: float = 0.0) -> str:
        """Return which limit of money or tokens is used up, but for this share of it, worded for
        the reader; empty if none."""
        limits = self.limits
        spent = total(self.spending)
        if limits.max_usd is not None and spent.usd >= limits.max_usd * (1 - reserved):
            used_up = f"{dollars(spent.usd)} of {dollars(limits.max_usd)}"
            return f"the limit max_usd was reached ({used_up})"
        if limits.max_tokens is not None and spent.tokens >= int(
            limits.max_tokens * (1 - reserved)
        ):
            return f"the limit max_tokens was reached ({spent.tokens} of {limits.max_tokens})"
        return ""

    def dispatched_now(self, tasks: Sequence[Value], *, has_slots: bool = False) -> list[Value]:
        """Return the first of the tasks, as many as may start now; the others have to wait for a
        later round.

        These are at most `max_parallel_researchers`, and no more than there are searches and tool
        calls left in the run, but at least one. `has_slots`: the tasks themselves wait for a free
        slot once they are dispatched, so `max_parallel_researchers` does not apply.
        """
        limits = self.limits
        spent = total(self.spending)
        most = len(tasks)
        if not has_slots:
            most = min(most, limits.max_parallel_researchers)
        if limits.max_searches is not None:
            most = min(most, max(1, limits.max_searches - spent.searches))
        if limits.max_tool_calls is not None:
            most = min(most, max(1, limits.max_tool_calls - spent.tool_calls))
        return list(tasks[:most])

    def shared_task_fields(self, run: Run, researchers: int) -> dict[str, Any]:
        """Return the fields of `Task` that are the same for all tasks dispatched together.

        Each of the `researchers` gets an equal part of the remaining budget, less the share
        reserved for writing.
        """
        limits = self.limits
        spent = total(self.spending)

        def part(most: int | None, used: int) -> int | None:
            if most is None:
                return None
            return max(1, (most - used) // researchers)

        usd = None
        if limits.max_usd is not None:
            usd = max(0.0, self._usd_for_research - spent.usd) / researchers
        return {
            "question_id": run.id,
            "date": run.date,
            "language": run.language,
            "scope": run.scope,
            "seconds": limits.researcher_seconds,
            "tokens": part(self._tokens_for_research, spent.tokens),
            "searches": part(limits.max_searches, spent.searches),
            "fetches": part(limits.max_fetches, spent.fetches),
            "tool_calls": part(limits.max_tool_calls, spent.tool_calls),
            "usd": usd,
        }

    @property
    def _usd_for_research(self) -> float:
        """`max_usd` less the share reserved for writing; 0 if it is not set."""
        return (self.limits.max_usd or 0.0) * (1 - self.limits.writing_share)

    @property
    def _tokens_for_research(self) -> int | None:
        """`max_tokens` less the share reserved for writing; None if it is not set."""
        if self.limits.max_tokens is None:
            return None
        return int(self.limits.max_tokens * (1 - self.limits.writing_share))
