"""A run's spending: totals, limits, daily accounts, and the costs and answers of nodes that fail or are stopped."""

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
from .errors import DailyLimitReached, DatabaseUnusable, UserMistake
from .limits import Limits
from .logs import log_failure
from .store.pages import Pages

_CENT = 0.01
_ACCOUNTS = "accounts"
"""Used as a thread id: where the accounts of the server's users are stored."""
_EMPTY: dict[str, Any] = {"owners": [], "seconds": 0.0}


class Total(NamedTuple):
    """Sums over all calls."""

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    searches: int
    fetches: int
    tool_calls: int
    usd: float

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


def total(spending: Mapping[str, Spent]) -> Total:
    """Add up what was spent."""
    entries = spending.values()
    calls = sum(1 for spent in entries if spent.input_tokens or spent.output_tokens)
    return Total(calls, *(sum(getattr(spent, name) for spent in entries) for name in Total._fields[1:]))


def limit_reached(limits: Limits, spending: Mapping[str, Spent], active_seconds: float) -> str:
    """Return the reached limit that stops further research, worded for the reader; empty if none."""
    spent = total(spending)
    if active_seconds > limits.max_seconds:
        return f"the time limit of {limits.max_seconds:g} s (max_seconds) was reached"
    if limits.max_usd is not None and spent.usd >= _usd_for_research(limits):
        return f"the limit max_usd was reached ({dollars(spent.usd)} of {dollars(limits.max_usd)})"
    for name, used, most in (
        ("max_tokens", spent.tokens, _for_research(limits)),
        ("max_searches", spent.searches, limits.max_searches),
        ("max_fetches", spent.fetches, limits.max_fetches),
        ("max_tool_calls", spent.tool_calls, limits.max_tool_calls),
    ):
        if most is not None and used >= most:
            return f"the limit {name} was reached ({used} of {getattr(limits, name)})"
    return ""


def dispatched_now(
    tasks: Sequence[Value], limits: Limits, spending: Mapping[str, Spent], *, has_slots: bool = False
) -> list[Value]:
    """Return the tasks to dispatch now; the others wait.

    Each needs a remaining search and tool call, and at most `max_parallel_researchers` are dispatched at a time. If
    tasks wait for slots themselves (`has_slots`), that limit does not apply here.
    """
    spent = total(spending)
    left = [
        max(1, most - used)
        for most, used in ((limits.max_searches, spent.searches), (limits.max_tool_calls, spent.tool_calls))
        if most is not None
    ]
    at_once = len(tasks) if has_slots else limits.max_parallel_researchers
    return list(tasks[: min([at_once, *left])])


def seconds_left(limits: Limits, seconds: float) -> float:
    """Return the seconds left for a researcher's calls, less the share reserved for writing."""
    return limits.researcher_seconds_hard * (1 - limits.writing_share) - seconds


def shared_task_fields(run: Run, limits: Limits, spending: Mapping[str, Spent], researchers: int) -> dict[str, Any]:
    """Return the fields of `Task` that tasks dispatched together share.

    Each researcher gets an equal part of the remaining budget, less the share reserved for writing.
    """
    spent = total(spending)

    def part(most: int | None, used: int) -> int | None:
        return None if most is None else max(1, (most - used) // researchers)

    return {
        "question_id": run.id,
        "date": run.date,
        "language": run.language,
        "scope": run.scope,
        "seconds": limits.researcher_seconds,
        "tokens": part(_for_research(limits), spent.tokens),
        "searches": part(limits.max_searches, spent.searches),
        "fetches": part(limits.max_fetches, spent.fetches),
        "tool_calls": part(limits.max_tool_calls, spent.tool_calls),
        "usd": None if limits.max_usd is None else max(0.0, _usd_for_research(limits) - spent.usd) / researchers,
    }


def _usd_for_research(limits: Limits) -> float:
    return (limits.max_usd or 0.0) * (1 - limits.writing_share)


def _for_research(limits: Limits) -> int | None:
    return None if limits.max_tokens is None else int(limits.max_tokens * (1 - limits.writing_share))


def dollars(usd: float) -> str:
    """Format US dollars to the cent; less than a cent with two significant digits."""
    if usd >= _CENT or usd <= 0:
        return f"${usd:.2f}"
    digits = 1 - math.floor(math.log10(usd))
    return f"${usd:.{digits}f}".rstrip("0")


@dataclass
class Bill:
    """Costs of calls as they are made, including calls that broke off."""

    costs: dict[str, Spent] = field(default_factory=dict)
    """Cost of each call by a unique key."""
    seconds: float = 0.0
    """Total seconds of the calls."""
    answers: Answers | None = None
    """The models' answers, while they are stored for a restart."""

    def add(self, spent: Spent, key: str = "") -> None:
        """Add the cost of a call; the same key replaces the earlier entry."""
        self.costs[key or uuid.uuid4().hex] = spent


class UnsettledCosts(NamedTuple):
    """Costs recorded for a question that are not in its state yet."""

    costs: dict[str, Spent]
    """Cost of each call, by keys that are stable across restarts."""
    seconds: float
    """Seconds spent in failed nodes, excluding researchers."""

    def new(self, known: Mapping[str, Spent]) -> dict[str, Spent]:
        """Return the costs that the state does not have yet."""
        return {key: spent for key, spent in self.costs.items() if key not in known}

    def settled(self, run: Run) -> Run:
        """Return the run with the seconds of failed nodes added, each counted once."""
        # The notes may be gone if the store keeps texts for less time than checkpoints.
        lost = max(self.seconds, run.lost_seconds)
        return run.model_copy(
            update={"active_seconds": run.active_seconds - run.lost_seconds + lost, "lost_seconds": lost}
        )


@asynccontextmanager
async def recorded(pages: Pages, question_id: str, bill: Bill, *, researcher: str = "") -> AsyncIterator[None]:
    """Record the bill if the block fails or is stopped, and charge it to the daily account of the server's user.

    The models' answers are kept only if it is stopped: a failed node must not get the same ones again, since they may
    have caused the failure.

    `researcher`: id of the researcher's task. Its costs are always recorded, since they reach the run only with its
    finding; its seconds are not, since researchers run in parallel.
    """
    bill.answers = bill.answers or Answers(pages, " ".join(["answers to", question_id, researcher]))
    earlier = set(bill.costs)
    try:
        try:
            yield
        finally:
            if pages.user:
                # Costs in the note were charged before the node was stopped and restarted.
                known = earlier.union(await pages.read_note(_name(question_id, researcher)) or {})
                spent = total({key: cost for key, cost in bill.costs.items() if key not in known})
                if spent.tokens or spent.usd:
                    await _charge(pages, spent.tokens, spent.usd)
    except (Exception, asyncio.CancelledError) as error:
        # The block's error is more useful than that of a store that fails as well.
        try:
            if not isinstance(error, GraphBubbleUp | asyncio.CancelledError) or isinstance(error, UserMistake):
                await bill.answers.forget()
            await _note(pages, question_id, researcher, bill.costs, 0.0 if researcher else bill.seconds)
        except Exception as second:  # noqa: BLE001 - whatever the store raises
            log_failure(__name__, second, "The costs of calls could not be recorded")
        raise
    if researcher:
        await _note(pages, question_id, researcher, bill.costs, 0.0)


async def _charge(pages: Pages, tokens: int, usd: float) -> None:
    accounts, name = pages.of_thread(_ACCOUNTS), _account(pages.user)
    async with accounts.lock(name):
        known = await accounts.read_note(name) or {"tokens": 0, "usd": 0.0}
        await accounts.note({name: {"tokens": known["tokens"] + tokens, "usd": known["usd"] + usd}})


async def carry_over(passing: Pages, pages: Pages) -> None:
    """Add the user's spending in a temporary store to their account in the lasting store."""
    if spent := await passing.of_thread(_ACCOUNTS).read_note(_account(pages.user)):
        await _charge(pages, spent["tokens"], spent["usd"])


async def check_account(pages: Pages, context: Context) -> None:
    """Raise `DailyLimitReached` if the server's user has spent the daily limit; for new questions only."""
    limits = {"tokens": context.user_daily_tokens, "usd": context.user_daily_usd}
    if not (user := pages.user) or not any(limits.values()):
        return
    spent = await pages.of_thread(_ACCOUNTS).read_note(_account(user)) or {}
    for unit, most in limits.items():
        if most is not None and spent.get(unit, 0) >= most:
            raise DailyLimitReached(
                f"{user} has spent {spent[unit]:,} {unit} today, of {most:,} that are allowed "
                f"(DEEP_RESEARCH_USER_DAILY_{unit.upper()}); new questions are accepted from 00:00 UTC."
            )


def _account(user: str) -> str:
    return f"{user} {datetime.now(UTC):%Y-%m-%d}"


async def unsettled_costs(pages: Pages, question_id: str) -> UnsettledCosts:
    """Return the costs recorded for this question."""
    index = await pages.read_note(_name(question_id)) or _EMPTY
    notes = await pages.read_notes([_name(question_id, owner) for owner in index["owners"]])
    costs = {key: Spent.model_validate(spent) for note in notes for key, spent in (note or {}).items()}
    return UnsettledCosts(costs, index["seconds"])


async def _note(pages: Pages, question_id: str, owner: str, costs: Mapping[str, Spent], seconds: float) -> None:
    """Record costs in one note per owner, so that the size of a write does not depend on other researchers."""
    name, owner_name = _name(question_id), _name(question_id, owner)
    async with pages.lock(name):
        known, earlier = await pages.read_notes([name, owner_name])
        index = known or _EMPTY
        entries = {key: spent.model_dump() for key, spent in costs.items()}
        notes: dict[str, dict[str, Any]] = {owner_name: {**(earlier or {}), **entries}}
        if owner not in index["owners"] or seconds:
            owners = [*index["owners"], *({owner} - {*index["owners"]})]
            notes[name] = {"owners": owners, "seconds": index["seconds"] + seconds}
        await pages.note(notes)


def _name(question_id: str, *owner: str) -> str:
    return " ".join(["costs of", question_id, *owner])


class StoredReply(NamedTuple):
    """A model's reply stored before its node was interrupted."""

    message: AIMessage
    key: str
    """Key of its cost, the same for each restart of the node."""


class Answers:
    """The answers that a node received, by request and in order; stored in case the node is restarted.

    Each owner (run or researcher) has one note, which its next node overwrites.
    """

    def __init__(self, pages: Pages, name: str) -> None:
        self._pages, self._name = pages, name
        self._node = ""
        """Id of the calling node and its checkpoint, stable across restarts; empty outside a graph."""
        with suppress(RuntimeError):
            self._node = str(get_config().get("configurable", {}).get("checkpoint_ns", ""))
        self._kept: dict[str, list[dict[str, Any]]] | None = None
        self._asked = Counter[str]()
        self._lock = asyncio.Lock()

    async def earlier(self, request: str) -> StoredReply | None:
        """Return the next stored answer to this request, each only once; None if there are no more."""
        async with self._lock:
            kept = (await self._all()).get(request, [])
            number = self._asked[request]
            if number >= len(kept):
                return None
            self._asked[request] += 1
            return StoredReply(AIMessage.model_validate(kept[number]["message"]), kept[number]["key"])

    async def keep(self, request: str, message: AIMessage) -> str:
        """Store an answer; return the key of its cost record, or an empty string if the answer cannot be serialized."""
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
