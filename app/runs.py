"""Runs as the command line sees them: started, resumed, listed, read."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import cache, partial
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore
from langgraph.types import Command, StateSnapshot
from pydantic import BaseModel

from ..core.evidence.checking.source_text import SourceText
from ..core.library.earlier import ReadPage, search_read
from ..core.library.index import open_roots
from ..core.models.resolve import check_models, load_models
from ..core.records.report import Report
from ..core.records.research import Estimate
from ..core.run.context import ROLES, Context
from ..core.run.conversation import DRAFT, check_question, clean, mark_of, subject_of
from ..core.run.errors import UnknownSetting, UnknownThread, UserMistake
from ..core.run.events.log import read_failure
from ..core.run.events.packets import AnyPacket
from ..core.run.limits import Limits
from ..core.run.plan_text import TITLE_CHARACTERS
from ..core.run.settings import read_context
from ..core.run.store.database import Database, open_database, place_of_runs
from ..core.run.store.lease import Lease
from ..core.run.store.pages import LOCAL_USER, OWNER, Pages, note_value, page_namespace
from ..core.run.tracing import tracing_notices
from ..core.writing.basis import source_texts
from ..core.writing.language import check_language
from ..state import ResearchState
from ..tools.offer import check_tools
from .embed import ResearchGraph, build_graph, thread_config, thread_id
from .endings import KEPT
from .progress import ProgressView, estimate_line
from .stream import apackets, replay
from .words import Strategy, default_strategy, strategy_of

APPROVED = "yes"
REVIEW = "Is this plan good? Write yes, what should be different, or the whole plan as a numbered list."
KEY = "settings"
"""Key in the store, beside the page texts of the thread."""


class Notes(NamedTuple):
    """Notes on one thread in the store; they are deleted and copied with it."""

    store: BaseStore
    thread: str

    async def read(self) -> dict[str, str]:
        """Return the notes: `name`, `label` and `json` (the settings), as far as there are any."""
        return note_value(await self.store.aget(page_namespace(thread_id(self.thread)), KEY)) or {}

    async def choices(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is given, and for the rest what was given for the thread before, if it is a setting still."""
        kept = _known(json.loads((await self.read()).get("json", "{}")), Context)
        limits = _known(kept.get("limits", {}), Limits)
        return {**kept, **given, "limits": {**limits, **given.get("limits", {})}}

    async def remember(self, choices: Mapping[str, Any], context: Context) -> None:
        """Keep the settings that were chosen, as the context holds them.

        What comes from the environment is left out: whatever it gives when the run is resumed holds then.
        """
        chosen: dict[str, Any] = dict.fromkeys(choices.keys() - {"data_dir"}, True)
        chosen["limits"] = set(choices["limits"])
        name = {} if self.thread == thread_id(self.thread) else {"name": self.thread}
        value = {**await self.read(), "json": context.model_dump_json(include=chosen), **name}
        await self.store.aput(page_namespace(thread_id(self.thread)), KEY, value, index=False)

    async def rename(self, label: str) -> None:
        """Keep the name that the user gave the run on the page."""
        value = {**await self.read(), "label": label}
        await self.store.aput(page_namespace(thread_id(self.thread)), KEY, value, index=False)


def _known(kept: Mapping[str, Any], settings: type[BaseModel]) -> dict[str, Any]:
    return {name: value for name, value in kept.items() if name in settings.model_fields}


class StoredRun(NamedTuple):
    """A stored run and how it stands."""

    thread: str
    """Its id."""
    name: str
    """The name that the user gave it; empty if none."""
    strategy: Strategy
    """By which it works."""
    state: ResearchState
    waiting: Mapping[str, Any]
    """What the run waits with, as clients are told: a question or a plan; empty if it is not waiting."""
    is_unfinished: bool
    """Whether something of the run is still to be done."""
    changed: str
    """When it last changed (ISO 8601)."""
    failure: str
    """Why it failed, in words for the user; empty if it did not, or has ended well since."""
    runner: str = ""
    """Who is at work on it, other than the caller; empty if nobody is."""
    label: str = ""
    """Name that the user gave it on the page; empty if none."""

    @property
    def is_planned(self) -> bool:
        """Whether it asks about its plan."""
        return "plan" in self.waiting

    @property
    def asks(self) -> str:
        """What the run asks the user; empty if it is not waiting."""
        if self.is_planned:
            known = self.waiting.get("estimate")
            line = f"\n\nEstimated: {estimate_line(Estimate(**known))}." if known else ""
            return f"{self.waiting['plan']}{line}\n\n{self.waiting.get('note') or REVIEW}"
        return str(self.waiting.get("question", ""))

    @property
    def status(self) -> str:
        """How the run stands, in a word; one that is unfinished, asks nothing and has not failed was stopped."""
        if self.runner:
            return "running"
        if self.asks:
            return "waiting"
        if self.failure:
            return "failed"
        return "stopped" if self.is_unfinished or not self.state.run.id else self.state.run.status

    @property
    def report(self) -> str:
        """The report as it was given to the user; empty if there is none."""
        return clean(self.state.messages[-1].text) if self.state.report else ""

    @property
    def title(self) -> str:
        """Title of the report; where no model has planned, what the question says first."""
        return clean(self.state.title or shorten(subject_of(self.question), TITLE_CHARACTERS, placeholder="…"))

    @property
    def question(self) -> str:
        """The question, also of a run that was stopped before it began; empty if not even that was stored."""
        run, messages = self.state.run, self.state.messages
        return run.question if run.id else "".join(message.text for message in messages[-1:])


class RunBook(NamedTuple):
    """The runs of a data folder."""

    graph: Callable[[Strategy], ResearchGraph]
    """The graph of a strategy, over the database."""
    database: Database
    data_dir: Path
    user: str = ""
    """The user of a server whose runs these are; empty: whoever's they are."""

    async def ask(
        self,
        thread: str,
        words: str,
        given: Mapping[str, Any],
        view: ProgressView,
        strategy: Strategy | None = None,
        *,
        is_estimate: bool = False,
    ) -> StoredRun:
        """Put a question, a follow-up, an answer or a hint to a thread; raises `ThreadBusy`.

        For an estimate the run pauses at its plan, and whoever resumes it carries the plan out.

        The thread's earlier settings hold where none is given, but for `clarify`, which is of one question. A new
        thread begins by the strategy, if none is given by that of the environment; a known one goes on by its own, and
        is not asked by another. A call that is refused leaves no trace of a new thread.
        """
        # What a text means depends on how the thread stands, which nobody may change once it was read.
        async with self.database.saver.leases.hold(thread_id(thread)) as lease:
            begun_by = await self._begun_by(thread)
            if begun_by and strategy not in (None, begun_by):
                raise UnknownSetting(
                    f"The run {thread!r} was begun by the strategy {begun_by!r} and goes on by it, not by "
                    f"{strategy!r}: leave out --strategy, or begin another run (--thread)."
                )
            graph = self.graph(begun_by or strategy or default_strategy())
            snapshot = await _snapshot(graph, thread)
            choices = await self._notes(thread).choices(given)
            if "clarify" not in given and not _is_unfinished(snapshot):
                # Who did not want to be asked about one question may want to about the next.
                choices.pop("clarify", None)
            context = self._context(choices)
            check_question([HumanMessage(words)], context.limits.question_characters)
            check_tools(context)
            if not snapshot.values:
                await asyncio.to_thread(list, open_roots(context))
            await load_models(context)
            notices = (*check_models(ROLES, context), *await asyncio.to_thread(check_language, context.language))
            notices += tracing_notices(context)
            await self._notes(thread).remember(choices, context)
            context = _paused(context) if is_estimate else context
            view.begin(notices)
            try:
                return await self._run(graph, lease, thread, _message(snapshot, words), context, view)
            except UserMistake:
                if not snapshot.values and not await _has_begun(graph, thread):
                    await self.database.saver.adelete_thread(thread_id(thread))
                raise

    async def entry(self, thread: str, words: str) -> tuple[Strategy, Any]:
        """Return the strategy of a thread, and how a text enters it; raises `UnknownThread`."""
        strategy = await self._begun_by(thread)
        if strategy is None:
            raise unknown_thread(thread)
        return strategy, _message(await _snapshot(self.graph(strategy), thread), words)

    async def packets(self, stored: StoredRun) -> list[AnyPacket]:
        """Return the packets of a run's latest question, as they were emitted."""
        return await replay(self.database.store, thread_id(stored.thread), stored.state)

    async def resume(
        self, thread: str, answer: str, given: Mapping[str, Any], view: ProgressView, *, is_estimate: bool = False
    ) -> StoredRun:
        """Resume a run that was stopped, which an answer steers, or answer one that waits; a finished one is only read.

        A plan that nobody wanted to review, as after an estimate, is carried out. What is given holds from now on; else
        the thread's earlier settings do. Raises `ThreadBusy`.
        """
        async with self.database.saver.leases.hold(thread_id(thread)) as lease:
            stored = await self.read(thread, lease)
            choices = await self._notes(thread).choices(given)
            context = self._context(choices)
            # Where nothing is given, they were shown when the run began.
            notices = (*(check_models(ROLES, context) if given else ()), *tracing_notices(context))
            if answer and not stored.asks and not stored.is_unfinished:
                further = f'`deep-research ask "…" --thread {shlex.quote(thread)}`'
                raise UnknownSetting(f"The run {thread!r} is finished: put a further question by {further}.")
            if answer:
                check_question([HumanMessage(answer)], context.limits.question_characters)
            if given:
                await self._notes(thread).remember(choices, context)
            if stored.is_planned and not answer and not context.review_plan:
                answer = APPROVED
            if not answer and (stored.asks or not stored.is_unfinished):
                return stored
            context = _paused(context) if is_estimate else context
            view.begin(notices)
            graph = self.graph(stored.strategy)
            message = _message(await _snapshot(graph, thread), answer) if answer else None
            return await self._run(graph, lease, thread, message, context, view)

    async def read(self, thread: str, lease: Lease | None = None) -> StoredRun:
        """Return a stored run; raises `UnknownThread` if there is none of this name.

        Whoever holds the lease of its thread does not count as one who is at work on it.
        """
        strategy = await self._begun_by(thread)
        if strategy is None:
            raise unknown_thread(thread)
        snapshot = await _snapshot(self.graph(strategy), thread)
        if not snapshot.values:
            raise unknown_thread(thread)
        kept, pages = await self._notes(thread).read(), Pages(self.database.store, thread_id(thread))
        return StoredRun(
            thread=thread_id(thread),
            name=kept.get("name", ""),
            strategy=strategy,
            state=ResearchState(**snapshot.values),
            waiting=snapshot.interrupts[0].value if snapshot.interrupts else {},
            is_unfinished=_is_unfinished(snapshot),
            changed=snapshot.created_at or "",
            failure=await read_failure(pages),
            runner=str(await self.database.saver.leases.other(thread_id(thread), lease) or ""),
            label=kept.get("label", ""),
        )

    async def earlier(self, stored: StoredRun) -> list[StoredRun]:
        """Return the earlier questions of a run's thread as each of them ended, in their order."""
        graph, config = self.graph(stored.strategy), thread_config(stored.thread)
        config["configurable"]["checkpoint_ns"] = ""
        ended = dict[str, StoredRun]()
        # Where a question came in, the checkpoint before it holds how the last one ended.
        async for begun in self.database.saver.alist(config, filter={"source": "input"}):
            snapshot = await graph.aget_state(begun.parent_config) if begun.parent_config else None
            state = ResearchState(**snapshot.values) if snapshot and snapshot.values else None
            if snapshot and state and state.run.id not in {"", stored.state.run.id, *ended}:
                run = stored._replace(state=state, changed=snapshot.created_at or "")
                ended[state.run.id] = run._replace(waiting={}, is_unfinished=False, failure="", runner="")
        return [*reversed(ended.values())]

    async def rename(self, stored: StoredRun, label: str) -> None:
        """Rename a run; an empty name restores the question."""
        await self._notes(stored.thread).rename(clean(label).strip())

    async def delete(self, thread: str) -> None:
        """Delete a thread with its checkpoints, texts and notes; raises `ThreadBusy` while it is at work."""
        async with self.database.saver.leases.hold(thread):
            await self.database.saver.adelete_thread(thread)
        page = self.data_dir / "pages" / f"{thread}.html"
        await asyncio.to_thread(page.unlink, missing_ok=True)

    async def settings(self, stored: StoredRun, given: Mapping[str, Any]) -> Context:
        """Return the settings that hold for a run: those that are given, else those that were chosen for it."""
        return self._context(await self._notes(stored.thread).choices(given))

    async def texts(self, stored: StoredRun, report: Report) -> dict[str, list[SourceText]]:
        """Return the texts that are kept of the sources of a run's report."""
        pages = Pages(self.database.store, stored.thread)
        return await source_texts(stored.state.sources, report.sources, pages)

    async def search(self, words: str, most: int = 10) -> list[ReadPage]:
        """Return at most so many pages that the user's finished runs have read, the best first."""
        pages = Pages(self.database.store, "", self.user)
        return await search_read([words], pages, self._context({}), most, lambda _: True)

    async def ids(self) -> list[str]:
        """Return the ids of all threads, the latest first."""
        return await self.database.saver.thread_ids()

    async def _begun_by(self, thread: str) -> Strategy | None:
        """Return the strategy of a thread; none if there is no such thread.

        Raises `UnknownThread` for that of another user.
        """
        found = await self.database.saver.aget_tuple({"configurable": {"thread_id": thread_id(thread)}})
        owner: Any = found.metadata if found else {}
        if found and self.user and self.user != (owner.get(OWNER) or LOCAL_USER):
            raise unknown_thread(thread)
        return strategy_of(found.metadata) if found else None

    async def _run(
        self, graph: ResearchGraph, lease: Lease, thread: str, message: Any, context: Context, view: ProgressView
    ) -> StoredRun:
        # A kill then repeats nothing but the calls under way; else it may repeat the step before them too.
        config = lease.config["configurable"] | ({OWNER: self.user} if self.user else {})
        while True:
            packets = apackets(graph, message, {"configurable": config}, context=context, durability="sync")
            words = ""
            try:
                async with aclosing(packets):
                    async for packet in packets:
                        view(packet)
                        if words := view.steering():
                            break
            except UserMistake as error:
                if await _has_begun(graph, thread):
                    error.add_note(KEPT)
                raise
            if not words:
                return await self.read(thread, lease)
            # As on the server: what is finished stays, and the calls under way are made again.
            message = Command(update={"messages": [HumanMessage(words)]})

    def _notes(self, thread: str) -> Notes:
        return Notes(self.database.store, thread)

    def _context(self, choices: Mapping[str, Any]) -> Context:
        return read_context({**choices, "data_dir": self.data_dir})


def _paused(context: Context) -> Context:
    """Return the settings of a run that is to pause at its plan."""
    return context.model_copy(update={"review_plan": True})


def has_runs(data_dir: Path) -> bool:
    """Whether there may be runs; opening a file that there is not would make it and its folder."""
    place = place_of_runs(data_dir)
    return isinstance(place, str) or place.exists()


def unknown_thread(thread: str) -> UnknownThread:
    """Return the error for a name that no run has."""
    return UnknownThread(f"There is no run {thread!r}; `deep-research runs` lists all.")


@asynccontextmanager
async def open_runs(data_dir: Path) -> AsyncIterator[RunBook]:
    """Open the runs of a data folder, or those of the database that the environment names."""
    async with open_database(place_of_runs(data_dir)) as database:
        graph = cache(partial(build_graph, checkpointer=database.saver, store=database.store))
        yield RunBook(graph, database, data_dir)


async def _snapshot(graph: ResearchGraph, thread: str) -> StateSnapshot:
    snapshot: StateSnapshot = await graph.aget_state(thread_config(thread))
    return snapshot


async def _has_begun(graph: ResearchGraph, thread: str) -> bool:
    """Whether there is something to resume: a call that was refused before has left nothing."""
    snapshot = await _snapshot(graph, thread)
    return _is_unfinished(snapshot) and snapshot.values.get("run") is not None


def _message(snapshot: StateSnapshot, words: str) -> Any:
    """Return how a text enters a thread: as an answer, as a hint to a run under way, or as a question."""
    if snapshot.interrupts:
        return Command(resume=words)
    if not _is_unfinished(snapshot):
        return {"messages": [HumanMessage(words)]}
    # New input would throw away what finished researchers of the round brought.
    last = next(message for message in reversed(snapshot.values["messages"]) if mark_of(message) != DRAFT)
    is_repeated = isinstance(last, HumanMessage) and last.text == words
    return None if is_repeated else Command(update={"messages": [HumanMessage(words)]})


def _is_unfinished(snapshot: StateSnapshot) -> bool:
    # After a kill between two steps every task has its result, `next` is empty and the tasks are still there.
    return bool(snapshot.next or snapshot.tasks)
