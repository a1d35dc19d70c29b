"""A run's spending: totals, limits, shares of tasks, daily accounts of users, and what failed nodes
have cost.

A node writes its costs to the state when it ends. If it fails or is stopped, its costs are recorded
in the store (`recorded`), and the next node adds them to the state (`unsettled_costs`). The answers
that models gave to a stopped node are stored as well (`Answers`), so that the node does not ask
again after a restart.
"""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp

from ..records.research import Run, Spent, Value
from .context import Context
from .errors import DailyLimitReached, DatabaseUnusable, UserMistake, log_failure
from .limits import Limits
from .store.pages import Pages

_CENT = 0.01
_ACCOUNTS = "accounts"
"""Used instead of a thread id for the notes with the daily spending of the server's users."""
_EMPTY: dict[str, Any] = {"owners": [], "seconds": 0.0}
"""Note on a question without recorded costs; `owners` have a note with costs each: a researcher's
id, or empty."""


class Total(NamedTuple):
    """Total costs; see `Spent` for the fields."""

    calls: int
    """Number of model calls."""
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    searches: int
    fetches: int
    tool_calls: int
    usd: float

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


def total(spending: Mapping[str, Spent]) -> Total:
    """Add up the costs; `spending` has an entry for each call of a model or tool."""
    entries = spending.values()
    sums = dict[str, Any]()
    for name in Total._fields[1:]:
        sums[name] = sum(getattr(spent, name) for spent in entries)
    calls = sum(1 for spent in entries if spent.input_tokens or spent.output_tokens)
    return Total(calls=calls, **sums)


def limit_reached(limits: Limits, spending: Mapping[str, Spent], active_seconds: float) -> str:
    """Return which limit of the run was reached, so that research has to stop, worded for the
    reader; empty if none."""
    spent = total(spending)
    if active_seconds > limits.max_seconds:
        return f"the time limit of {limits.max_seconds:g} s (max_seconds) was reached"
    if limits.max_usd is not None and spent.usd >= _usd_for_research(limits):
        return f"the limit max_usd was reached ({dollars(spent.usd)} of {dollars(limits.max_usd)})"
    for name, used, most in (
        ("max_tokens", spent.tokens, _tokens_for_research(limits)),
        ("max_searches", spent.searches, limits.max_searches),
        ("max_fetches", spent.fetches, limits.max_fetches),
        ("max_tool_calls", spent.tool_calls, limits.max_tool_calls),
    ):
        if most is not None and used >= most:
            return f"the limit {name} was reached ({used} of {getattr(limits, name)})"
    return ""


def dispatched_now(
    tasks: Sequence[Value],
    limits: Limits,
    spending: Mapping[str, Spent],
    *,
    has_slots: bool = False,
) -> list[Value]:
    """Return the first of the tasks, as many as may start now; the others have to wait for a later
    round.

    These are at most `max_parallel_researchers`, and no more than there are searches and tool calls
    left in the run, but at least one. `has_slots`: the tasks themselves wait for a free slot once
    they are dispatched, so `max_parallel_researchers` does not apply.
    """
    spent = total(spending)
    most = len(tasks)
    if not has_slots:
        most = min(most, limits.max_parallel_researchers)
    if limits.max_searches is not None:
        most = min(most, max(1, limits.max_searches - spent.searches))
    if limits.max_tool_calls is not None:
        most = min(most, max(1, limits.max_tool_calls - spent.tool_calls))
    return list(tasks[:most])


def seconds_left(limits: Limits, seconds: float) -> float:
    """Return how long a researcher that has worked for `seconds` may go on, less the time reserved
    for writing."""
    return limits.researcher_seconds_hard * (1 - limits.writing_share) - seconds


def shared_task_fields(
    run: Run, limits: Limits, spending: Mapping[str, Spent], researchers: int
) -> dict[str, Any]:
    """Return the fields of `Task` that are the same for all tasks dispatched together.

    Each of the `researchers` gets an equal part of the remaining budget, less the share reserved
    for writing.
    """
    spent = total(spending)

    def part(most: int | None, used: int) -> int | None:
        if most is None:
            return None
        return max(1, (most - used) // researchers)

    usd = None
    if limits.max_usd is not None:
        usd = max(0.0, _usd_for_research(limits) - spent.usd) / researchers
    return {
        "question_id": run.id,
        "date": run.date,
        "language": run.language,
        "scope": run.scope,
        "seconds": limits.researcher_seconds,
        "tokens": part(_tokens_for_research(limits), spent.tokens),
        "searches": part(limits.max_searches, spent.searches),
        "fetches": part(limits.max_fetches, spent.fetches),
        "tool_calls": part(limits.max_tool_calls, spent.tool_calls),
        "usd": usd,
    }


def _usd_for_research(limits: Limits) -> float:
    """Return `max_usd` less the share reserved for writing; 0 if it is not set."""
    return (limits.max_usd or 0.0) * (1 - limits.writing_share)


def _tokens_for_research(limits: Limits) -> int | None:
    """Return `max_tokens` less the share reserved for writing; None if it is not set."""
    if limits.max_tokens is None:
        return None
    return int(limits.max_tokens * (1 - limits.writing_share))


def dollars(usd: float) -> str:
    """Format an amount in US dollars to the cent; less than a cent to two significant digits."""
    if usd >= _CENT or usd <= 0:
        return f"${usd:.2f}"
    digits = 1 - math.floor(math.log10(usd))
    return f"${usd:.{digits}f}".rstrip("0")


@dataclass
class Bill:
    """What a node's calls have cost so far, including calls that broke off."""

    costs: dict[str, Spent] = field(default_factory=dict)
    """Cost of each call by a unique key."""
    seconds: float = 0.0
    """Total seconds of the calls."""
    answers: Answers | None = None
    """The stored answers of models to this node; None until `recorded` sets it."""

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


@asynccontextmanager
async def recorded(
    pages: Pages, question_id: str, bill: Bill, *, researcher: str = ""
) -> AsyncIterator[None]:
    """Charge the costs of the block to the daily account of the server's user; record them if it
    fails or is stopped.

    The models' answers are kept only if it is stopped: a failed node must not get the same ones
    again, since they may have caused the failure.

    `researcher`: id of the task if the block is part of a researcher or a step. Its costs are
    always recorded, since they reach the state of the run only with its finding; its seconds never
    are, since researchers run in parallel.
    """
    if bill.answers is None:
        bill.answers = Answers(pages, " ".join(["answers to", question_id, researcher]))
    earlier = set(bill.costs)
    try:
        try:
            yield
        finally:
            if pages.user:
                # Costs in the note were charged before the node was stopped and restarted.
                known = await pages.read_note(_name(question_id, researcher)) or {}
                charged = earlier.union(known)
                new = {key: cost for key, cost in bill.costs.items() if key not in charged}
                await charge(pages, new)
    except (Exception, asyncio.CancelledError) as error:
        is_stop = isinstance(error, GraphBubbleUp | asyncio.CancelledError)
        # The block's error is more useful than that of a store that fails as well.
        try:
            if not is_stop or isinstance(error, UserMistake):
                await bill.answers.forget()
            seconds = 0.0 if researcher else bill.seconds
            await _record(pages, question_id, researcher, bill.costs, seconds)
        except Exception as second:  # noqa: BLE001 - whatever the store raises
            log_failure(__name__, second, "The costs of calls could not be recorded")
        raise
    if researcher:
        await _record(pages, question_id, researcher, bill.costs, 0.0)


async def charge(pages: Pages, costs: Mapping[str, Spent]) -> None:
    """Charge costs to the daily account of the server's user."""
    spent = total(costs)
    if not (spent.tokens or spent.usd):
        return
    accounts = pages.of_thread(_ACCOUNTS)
    name = _account(pages.user)
    async with accounts.lock(name):
        known = await accounts.read_note(name) or {"tokens": 0, "usd": 0.0}
        tokens = known["tokens"] + spent.tokens
        usd = known["usd"] + spent.usd
        await accounts.note({name: {"tokens": tokens, "usd": usd}})


async def check_account(pages: Pages, context: Context) -> None:
    """Raise `DailyLimitReached` if the server's user has spent a daily limit; called before new
    questions only."""
    limits = {"tokens": context.user_daily_tokens, "usd": context.user_daily_usd}
    if not pages.user or not any(limits.values()):
        return
    spent = await pages.of_thread(_ACCOUNTS).read_note(_account(pages.user)) or {}
    for unit, most in limits.items():
        if most is not None and spent.get(unit, 0) >= most:
            raise DailyLimitReached(
                f"{pages.user} has spent {spent[unit]:,} {unit} today, of {most:,} that are "
                f"allowed (DEEP_RESEARCH_USER_DAILY_{unit.upper()}); new questions are accepted "
                "from 00:00 UTC."
            )


def _account(user: str) -> str:
    return f"{user} {datetime.now(UTC):%Y-%m-%d}"


async def unsettled_costs(pages: Pages, question_id: str) -> UnsettledCosts:
    """Return the costs recorded in the store for this question."""
    index = await pages.read_note(_name(question_id)) or _EMPTY
    costs: dict[str, Spent] = {}
    for note in await pages.read_notes([_name(question_id, owner) for owner in index["owners"]]):
        for key, spent in (note or {}).items():
            costs[key] = Spent.model_validate(spent)
    return UnsettledCosts(costs, index["seconds"])


async def _record(
    pages: Pages, question_id: str, owner: str, costs: Mapping[str, Spent], seconds: float
) -> None:
    """Add costs to the note of their owner; each owner has its own, so that writes stay small with
    many researchers."""
    name = _name(question_id)
    owner_name = _name(question_id, owner)
    async with pages.lock(name):
        known, earlier = await pages.read_notes([name, owner_name])
        entries = dict(earlier or {})
        for key, spent in costs.items():
            entries[key] = spent.model_dump()
        notes: dict[str, dict[str, Any]] = {owner_name: entries}
        index = known or _EMPTY
        owners = list(dict.fromkeys([*index["owners"], owner]))
        if owners != index["owners"] or seconds:
            notes[name] = {"owners": owners, "seconds": index["seconds"] + seconds}
        await pages.note(notes)


def _name(question_id: str, *owner: str) -> str:
    """Return the name of the note with an owner's costs; without an owner, of the note that lists
    the owners."""
    return " ".join(["costs of", question_id, *owner])


class StoredReply(NamedTuple):
    """A model's answer that was stored before its node was stopped."""

    message: AIMessage
    key: str
    """Key of its cost in `Bill.costs`, so that a restarted node records it under the same key."""


class Answers:
    """The answers that models gave to a node, by request and in order; stored in case the node is
    restarted.

    They are in one note (`name`) for the run or the researcher, which its next node overwrites.
    """

    def __init__(self, pages: Pages, name: str) -> None:
        self._pages, self._name = pages, name
        self._node = ""
        """Id of the calling node and its checkpoint, stable across restarts; empty outside a
        graph."""
        with suppress(RuntimeError):
            self._node = str(get_config().get("configurable", {}).get("checkpoint_ns", ""))
        self._kept: dict[str, list[dict[str, Any]]] | None = None
        self._asked = Counter[str]()
        self._lock = asyncio.Lock()

    async def earlier(self, request: str) -> StoredReply | None:
        """Return the next stored answer to this request (a hash of it), each only once; None if
        there are no more."""
        async with self._lock:
            kept = (await self._all()).get(request, [])
            number = self._asked[request]
            if number >= len(kept):
                return None
            self._asked[request] += 1
            answer = kept[number]
            return StoredReply(AIMessage.model_validate(answer["message"]), answer["key"])

    async def keep(self, request: str, message: AIMessage) -> str:
        """Store an answer; return the key of its cost record, or an empty string if the answer
        cannot be serialized."""
        async with self._lock:
            kept = (await self._all()).setdefault(request, [])
            with suppress(ValueError, TypeError):
                answer = {"message": message.model_dump(mode="json"), "key": uuid.uuid4().hex}
                # An answer that cannot be serialized must not prevent the others from being stored.
                json.dumps(answer)
                kept.append(answer)
                self._asked[request] += 1
                await self._write()
                return str(answer["key"])
        return ""

    async def forget(self) -> None:
        """Drop all answers, since they may have made the node fail."""
        if self._kept:
            self._kept = {}
            await self._write()

    async def _all(self) -> dict[str, list[dict[str, Any]]]:
        if self._kept is None:
            self._kept = {}
            # If the note is damaged, the model is asked again.
            with suppress(DatabaseUnusable):
                noted = await self._pages.read_note(self._name)
                if noted and noted["node"] == self._node:
                    self._kept = json.loads(noted["text"])
        return self._kept

    async def _write(self) -> None:
        # The store compresses values under the key "text".
        await self._pages.note({self._name: {"node": self._node, "text": json.dumps(self._kept)}})
