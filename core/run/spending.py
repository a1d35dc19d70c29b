"""What a run has spent, what it may still spend, and what calls cost in nodes that fail or are stopped."""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence, Set
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

CENT = 0.01
ACCOUNTS = "accounts"
"""In the place of a thread's id, where the accounts of the server's users are kept."""
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
    """Return the limit that forbids more research, in words for the reader; empty if none."""
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
    """Return the first of these tasks that are sent out now; the others wait.

    A task is sent out only if a search and a tool call are left for it, and at most `max_parallel_researchers` work at
    the same time; where each task `has_slots` to wait for, all are sent out and that many work.
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
    """Return the seconds that a researcher's call may take, without the share for writing."""
    return limits.researcher_seconds_hard * (1 - limits.writing_share) - seconds


def terms(run: Run, limits: Limits, spending: Mapping[str, Spent], researchers: int) -> dict[str, Any]:
    """Return what tasks that are given out together have in common, as fields of `Task`.

    Each researcher has an equal part of what remains to be spent, without the share for writing.
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
    """Return US dollars to the cent; less than a cent to two significant digits."""
    if usd >= CENT or usd <= 0:
        return f"${usd:.2f}"
    digits = 1 - math.floor(math.log10(usd))
    return f"${usd:.{digits}f}".rstrip("0")


@dataclass
class Bill:
    """The cost of calls while they are made, broken-off ones included."""

    costs: dict[str, Spent] = field(default_factory=dict)
    """What each has cost, under a key of its own."""
    seconds: float = 0.0
    """Seconds that all have taken."""
    answers: Answers | None = None
    """What they were answered, while that is kept."""

    def add(self, spent: Spent, key: str = "") -> None:
        """Add the cost of a call; entries with the same key are one call."""
        self.costs[key or uuid.uuid4().hex] = spent


class UnsettledCosts(NamedTuple):
    """Costs recorded for a question that are not in its state yet."""

    costs: dict[str, Spent]
    """By the same keys each time."""
    seconds: float
    """Seconds of its nodes, those of researchers left out."""

    def new(self, known: Mapping[str, Spent]) -> dict[str, Spent]:
        """Return the costs that are not known yet."""
        return {key: spent for key, spent in self.costs.items() if key not in known}

    def settled(self, run: Run) -> Run:
        """Return the run with the seconds of failed calls, each counted once."""
        # Where texts are not kept as long as checkpoints, the notes are gone.
        lost = max(self.seconds, run.lost_seconds)
        return run.model_copy(
            update={"active_seconds": run.active_seconds - run.lost_seconds + lost, "lost_seconds": lost}
        )


@asynccontextmanager
async def recorded(pages: Pages, question_id: str, bill: Bill, *, researcher: str = "") -> AsyncIterator[None]:
    """Record the bill if the block fails or is stopped; keep the answers of models if it is stopped.

    A node that fails for what it was answered is not to be given the same answers again.

    `researcher`: the id of the task whose bill it is. Its costs are noted in any case, since they reach the run with
    its finding only, and its time passes beside that of others and is none of the run's own.
    """
    bill.answers = bill.answers or Answers(pages, " ".join(["answers to", question_id, researcher]))
    earlier = set(bill.costs)
    try:
        async with _charged(pages, bill, earlier, _name(question_id, researcher)):
            yield
    except (Exception, asyncio.CancelledError) as error:
        # What went wrong within says more than a store that fails as well.
        try:
            if not isinstance(error, GraphBubbleUp | asyncio.CancelledError) or isinstance(error, UserMistake):
                await bill.answers.forget()
            await _note(pages, question_id, researcher, bill.costs, 0.0 if researcher else bill.seconds)
        except Exception as second:  # noqa: BLE001 - whatever the store raises
            log_failure(__name__, second, "What calls have cost could not be noted")
        raise
    if researcher:
        await _note(pages, question_id, researcher, bill.costs, 0.0)


@asynccontextmanager
async def _charged(pages: Pages, bill: Bill, earlier: Set[str], place: str) -> AsyncIterator[None]:
    """Charge what the block spends to the daily account of the server's user.

    What is noted at this place was charged when it was paid: the node was stopped then, and is begun again.
    """
    try:
        yield
    finally:
        noted = (await pages.read_note(place) or {}) if pages.user else {}
        spent = total({key: one for key, one in bill.costs.items() if key not in earlier and key not in noted})
        if pages.user and (spent.tokens or spent.usd):
            await _charge(pages, spent.tokens, spent.usd)


async def _charge(pages: Pages, tokens: int, usd: float) -> None:
    accounts, name = pages.of_thread(ACCOUNTS), _account(pages.user)
    async with accounts.alone(name):
        known = await accounts.read_note(name) or {"tokens": 0, "usd": 0.0}
        await accounts.note({name: {"tokens": known["tokens"] + tokens, "usd": known["usd"] + usd}})


async def carry_over(passing: Pages, pages: Pages) -> None:
    """Charge what the user has spent by the account of a passing store to the account of a lasting one."""
    if spent := await passing.of_thread(ACCOUNTS).read_note(_account(pages.user)):
        await _charge(pages, spent["tokens"], spent["usd"])


async def check_account(pages: Pages, context: Context) -> None:
    """Refuse a new question of a user of the server who has spent what is allowed in a day: `DailyLimitReached`."""
    limits = {"tokens": context.user_daily_tokens, "usd": context.user_daily_usd}
    if not (user := pages.user) or not any(limits.values()):
        return
    spent = await pages.of_thread(ACCOUNTS).read_note(_account(user)) or {}
    for unit, most in limits.items():
        if most is not None and spent.get(unit, 0) >= most:
            raise DailyLimitReached(
                f"{user} has spent {spent[unit]:,} {unit} today, of {most:,} that are allowed "
                f"(DEEP_RESEARCH_USER_DAILY_{unit.upper()}); new questions are taken from 00:00 UTC."
            )


def _account(user: str) -> str:
    return f"{user} {datetime.now(UTC):%Y-%m-%d}"


async def unsettled_costs(pages: Pages, question_id: str) -> UnsettledCosts:
    """Return what was noted down for this question."""
    index = await pages.read_note(_name(question_id)) or _EMPTY
    notes = await pages.read_notes([_name(question_id, owner) for owner in index["owners"]])
    costs = {key: Spent.model_validate(spent) for note in notes for key, spent in (note or {}).items()}
    return UnsettledCosts(costs, index["seconds"])


async def _note(pages: Pages, question_id: str, owner: str, costs: Mapping[str, Spent], seconds: float) -> None:
    """Record costs in a note for each owner, so that a write does not grow with what others have spent."""
    name, place = _name(question_id), _name(question_id, owner)
    async with pages.alone(name):
        known, earlier = await pages.read_notes([name, place])
        index = known or _EMPTY
        entries = {key: spent.model_dump() for key, spent in costs.items()}
        notes: dict[str, dict[str, Any]] = {place: {**(earlier or {}), **entries}}
        if owner not in index["owners"] or seconds:
            owners = [*index["owners"], *({owner} - {*index["owners"]})]
            notes[name] = {"owners": owners, "seconds": index["seconds"] + seconds}
        await pages.note(notes)


def _name(question_id: str, *owner: str) -> str:
    return " ".join(["costs of", question_id, *owner])


class StoredReply(NamedTuple):
    """A model's reply that was stored before the node was interrupted."""

    message: AIMessage
    key: str
    """Under which its cost is known, however often the node is begun."""


class Answers:
    """The answers that one node of one checkpoint got, by request, in order.

    They stand in one note for each owner, which the next node of this owner writes over.
    """

    def __init__(self, pages: Pages, name: str) -> None:
        self._pages, self._name = pages, name
        self._node = _node()
        self._kept: dict[str, list[dict[str, Any]]] | None = None
        self._asked = Counter[str]()
        self._lock = asyncio.Lock()

    async def earlier(self, question: str) -> StoredReply | None:
        """Return the answer to this question that the node was given before it was stopped, each once."""
        async with self._lock:
            kept = (await self._all()).get(question, [])
            number = self._asked[question]
            if number >= len(kept):
                return None
            self._asked[question] += 1
            return StoredReply(AIMessage.model_validate(kept[number]["message"]), kept[number]["key"])

    async def keep(self, question: str, message: AIMessage) -> str:
        """Keep an answer; returns the key of its cost, empty if it is of a kind that cannot be kept."""
        async with self._lock:
            kept = (await self._all()).setdefault(question, [])
            with suppress(ValueError, TypeError):
                answer = {"message": message.model_dump(mode="json"), "key": uuid.uuid4().hex}
                # What cannot be written is not to be in the way of what can.
                json.dumps(answer)
                kept.append(answer)
                self._asked[question] += 1
                await self._write()
                return str(answer["key"])
        return ""

    async def forget(self) -> None:
        """Drop all answers: they have made the node fail."""
        if self._kept:
            self._kept = {}
            await self._write()

    async def _all(self) -> dict[str, list[dict[str, Any]]]:
        if self._kept is None:
            self._kept = {}
            # What is damaged is asked anew.
            with suppress(DatabaseUnusable):
                noted = await self._pages.read_note(self._name)
                if noted and noted["node"] == self._node:
                    self._kept = json.loads(noted["text"])
        return self._kept

    async def _write(self) -> None:
        # The store compresses what is called text.
        await self._pages.note({self._name: {"node": self._node, "text": json.dumps(self._kept)}})


def _node() -> str:
    """Return the id of the calling node and its checkpoint, the same when it runs again; empty outside a graph."""
    with suppress(RuntimeError):
        return str(get_config().get("configurable", {}).get("checkpoint_ns", ""))
    return ""
