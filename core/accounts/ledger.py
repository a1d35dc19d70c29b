"""Costs outside the state: the bill of a node, the daily accounts of the server's users, and what
finished runs cost.

A node writes its costs to the state when it ends. If it fails or is stopped, its costs are recorded
in the store (`Ledger.recorded`), and the next node adds them to the state (`Ledger.unsettled`).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any, NamedTuple

from langgraph.errors import GraphBubbleUp

from ...state import ResearchState
from ..errors import DailyLimitReached, UserMistake, log_failure
from ..records.research import Depth, Run, Spent, Strategy, UsualCost, total
from ..settings.context import Context
from ..store.pages import Pages
from ._answers import Answers

_ACCOUNTS = "accounts"
"""Used instead of a thread id for the notes with the daily spending of the server's users."""
_FINISHED = "finished runs"
"""Used instead of a thread id for the notes with the costs of finished runs."""
_LEAST_RUNS = 3
"""Number of finished runs from which on their median is known."""
MOST_RUNS = 20
"""Number of latest runs to keep of each kind."""
_EMPTY: dict[str, Any] = {"owners": [], "seconds": 0.0}
"""Note on a question without recorded costs; `owners` have a note with costs each: a researcher's
id, or empty."""


@dataclass
class Bill:
    """What a node's calls have cost so far, including calls that broke off."""

    costs: dict[str, Spent] = field(default_factory=dict)
    """Cost of each call by a unique key."""
    seconds: float = 0.0
    """Total seconds of the calls."""
    answers: Answers | None = None
    """The stored answers of models to this node; None until `Ledger.recorded` sets it."""

    def add(self, spent: Spent, key: str = "") -> None:
        """Add the cost of a call; the same key replaces the earlier entry."""
        self.costs[key or uuid.uuid4().hex] = spent


class UnsettledCosts(NamedTuple):
    """The costs recorded in the store for a question; its state may have some of them already."""

    costs: dict[str, Spent]
    """Cost of each call, by keys that are stable across restarts."""
    seconds: float
    """Seconds spent in failed and stopped nodes, excluding researchers."""

    def new(self, known: Mapping[str, Spent]) -> dict[str, Spent]:
        """Return the costs that are missing from `known`, the spending in the state."""
        return {key: spent for key, spent in self.costs.items() if key not in known}

    def settled(self, run: Run) -> Run:
        """Return the run with these seconds in its active time; adding them again changes
        nothing."""
        # The notes may be gone if the store keeps texts for less time than checkpoints.
        lost = max(self.seconds, run.lost_seconds)
        active = run.active_seconds - run.lost_seconds + lost
        return run.model_copy(update={"active_seconds": active, "lost_seconds": lost})


class Account:
    """The daily account of the server's user."""

    def __init__(self, pages: Pages) -> None:
        """`pages`: those of any thread of the user."""
        self._pages = pages

    @property
    def _name(self) -> str:
        """Name of the note with the costs of today."""
        return f"{self._pages.user} {datetime.now(UTC):%Y-%m-%d}"

    async def charge(self, costs: Mapping[str, Spent]) -> None:
        """Charge costs to the account."""
        spent = total(costs)
        if not (spent.tokens or spent.usd):
            return
        accounts = self._pages.of_thread(_ACCOUNTS)
        name = self._name
        async with accounts.lock(name):
            known = await accounts.read_note(name) or {"tokens": 0, "usd": 0.0}
            tokens = known["tokens"] + spent.tokens
            usd = known["usd"] + spent.usd
            await accounts.note({name: {"tokens": tokens, "usd": usd}})

    async def check(self, context: Context) -> None:
        """Raise `DailyLimitReached` if the user has spent a daily limit; called only before new
        questions."""
        limits = {"tokens": context.user_daily_tokens, "usd": context.user_daily_usd}
        user = self._pages.user
        if not user or not any(limits.values()):
            return
        spent = await self._pages.of_thread(_ACCOUNTS).read_note(self._name) or {}
        for unit, most in limits.items():
            if most is not None and spent.get(unit, 0) >= most:
                raise DailyLimitReached(
                    f"{user} has spent {spent[unit]:,} {unit} today, of {most:,} that are allowed "
                    f"(DEEP_RESEARCH_USER_DAILY_{unit.upper()}); new questions are accepted from "
                    "00:00 UTC."
                )


class Ledger:
    """The costs of a question that are recorded in the store."""

    def __init__(self, pages: Pages, question_id: str) -> None:
        self._pages, self._question_id = pages, question_id

    @asynccontextmanager
    async def recorded(self, bill: Bill, *, researcher: str = "") -> AsyncIterator[None]:
        """Charge the costs of the block to the daily account of the server's user; record them if
        it fails or is stopped.

        The models' answers are kept only if it is stopped: a failed node must not get the same ones
        again, since they may have caused the failure.

        `researcher`: id of the task if the block is part of a researcher or a step. Its costs are
        always recorded, since they reach the state of the run only with its finding; its seconds
        never are, since researchers run in parallel.
        """
        if bill.answers is None:
            name = " ".join(["answers to", self._question_id, researcher])
            bill.answers = Answers(self._pages, name)
        earlier = set(bill.costs)
        try:
            try:
                yield
            finally:
                if self._pages.user:
                    # Costs in the note were charged before the node was stopped and restarted.
                    known = await self._pages.read_note(self._name(researcher)) or {}
                    charged = earlier.union(known)
                    new = {key: cost for key, cost in bill.costs.items() if key not in charged}
                    await Account(self._pages).charge(new)
        except (Exception, asyncio.CancelledError) as error:
            is_stop = isinstance(error, GraphBubbleUp | asyncio.CancelledError)
            # The block's error is more useful than that of a store that fails as well.
            try:
                if not is_stop or isinstance(error, UserMistake):
                    await bill.answers.forget()
                seconds = 0.0 if researcher else bill.seconds
                await self._record(researcher, bill.costs, seconds)
            except Exception as second:  # noqa: BLE001 - whatever the store raises
                log_failure(__name__, second, "The costs of calls could not be recorded")
            raise
        if researcher:
            await self._record(researcher, bill.costs, 0.0)

    async def unsettled(self) -> UnsettledCosts:
        """Return the costs recorded for the question."""
        index = await self._pages.read_note(self._name()) or _EMPTY
        costs: dict[str, Spent] = {}
        for note in await self._pages.read_notes([self._name(owner) for owner in index["owners"]]):
            for key, spent in (note or {}).items():
                costs[key] = Spent.model_validate(spent)
        return UnsettledCosts(costs, index["seconds"])

    async def _record(self, owner: str, costs: Mapping[str, Spent], seconds: float) -> None:
        """Add costs to the note of their owner; each owner has its own, so that writes stay small
        with many researchers."""
        name = self._name()
        owner_name = self._name(owner)
        async with self._pages.lock(name):
            known, earlier = await self._pages.read_notes([name, owner_name])
            entries = dict(earlier or {})
            for key, spent in costs.items():
                entries[key] = spent.model_dump()
            notes: dict[str, dict[str, Any]] = {owner_name: entries}
            index = known or _EMPTY
            owners = list(dict.fromkeys([*index["owners"], owner]))
            if owners != index["owners"] or seconds:
                notes[name] = {"owners": owners, "seconds": index["seconds"] + seconds}
            await self._pages.note(notes)

    def _name(self, *owner: str) -> str:
        """Return the name of the note with an owner's costs; without an owner, of the note that
        lists the owners."""
        return " ".join(["costs of", self._question_id, *owner])


class FinishedRuns:
    """The costs of a user's latest finished runs of one kind: strategy, depth and models."""

    def __init__(
        self, pages: Pages, strategy: Strategy, depth: Depth, models: Sequence[str]
    ) -> None:
        """`pages`: those of any thread of the user; `models`: the name of each role's model."""
        if depth == "auto":
            depth = "standard"
        self._pages = pages.of_thread(_FINISHED)
        self._kind = " ".join([pages.user, strategy, depth, *models])
        """Name of the note with their figures."""

    @classmethod
    def like(cls, pages: Pages, run: Run, models: Sequence[str]) -> FinishedRuns:
        """Return the finished runs of the same kind as this run."""
        depth: Depth = "quick" if run.is_quick else run.depth or "standard"
        return cls(pages, run.strategy, depth, models)

    async def record(self, state: ResearchState) -> None:
        """Record what a run of this kind cost, once; skip runs without model calls, which are
        free."""
        run = state.run
        spent = total(state.spending)
        has_started = bool(state.plan) or run.is_quick
        if not spent.calls or not has_started:
            return
        figures = {
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "seconds": run.active_seconds,
        }
        async with self._pages.lock(self._kind):
            runs = {**await self._figures(), run.id: figures}
            latest = list(runs.items())[-MOST_RUNS:]
            await self._pages.note({self._kind: {"runs": dict(latest)}})

    async def usual_cost(self) -> UsualCost | None:
        """Return the median cost; None if too few runs have finished."""
        runs = await self._figures()
        if len(runs) < _LEAST_RUNS:
            return None
        seconds = list[float]()
        tokens = list[int]()
        for figures in runs.values():
            seconds.append(figures["seconds"])
            tokens.append(figures["input_tokens"] + figures["output_tokens"])
        return UsualCost(
            runs=len(runs),
            median_seconds=round(median(seconds), 1),
            median_tokens=round(median(tokens)),
        )

    async def _figures(self) -> dict[str, dict[str, Any]]:
        """Return the figures of the runs by question id, oldest first."""
        note = await self._pages.read_note(self._kind) or {"runs": {}}
        return note["runs"]  # type: ignore[no-any-return]  # stored by us
