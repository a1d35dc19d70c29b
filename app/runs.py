"""Starts, resumes, lists and reads runs in a data folder or database."""

from __future__ import annotations

import asyncio
import heapq
import json
import shlex
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.store.base import BaseStore
from langgraph.types import Command, StateSnapshot
from pydantic import BaseModel

from ..core.dialogue.conversation import (
    Conversation,
    check_query,
    check_question,
    is_for_table,
    mark_of,
    marked,
    safe_text,
    title_or_question,
)
from ..core.errors import NoResearch, QuestionRefused, UnknownSetting, UserMistake
from ..core.events.log import read_failure
from ..core.events.tracing import tracing_notices
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.exclusion import named_sources
from ..core.library.earlier import EarlierPages, ReadPage
from ..core.library.library import Library
from ..core.models.resolve import RoleModels
from ..core.records.report import FinishedReport, Report, Version
from ..core.records.research import Strategy
from ..core.records.sources import Exclusion, Source
from ..core.settings.context import Context
from ..core.settings.limits import Limits
from ..core.store.database import Database, open_database
from ..core.store.location import SETTINGS_NOTE, RunsLocation, thread_id
from ..core.store.pages import LOCAL_USER, OWNER, Inbox, Pages, Sent
from ..core.tables.report_tables import check_adds_columns
from ..core.writing.basis import ReportBasis
from ..core.writing.language import check_writing
from ..core.writing.notes import ReportNotes
from ..core.writing.versions import (
    Differences,
    ThreadVersions,
    document_of,
)
from ..state import ResearchState
from ..tools.offer import ToolOffer
from ._endings import RESUMABLE
from ._progress import ProgressView, usual_cost_line
from ._settings import RunName, unknown_thread
from .embed import (
    ResearchGraph,
    afinish_research,
    asend_message,
    build_graph,
    thread_config,
)
from .stream import apackets
from .versions import arevert_thread
from .words import ReportTrust, default_strategy, strategy_of

_APPROVED = "yes"
_OF_ONE_QUESTION = frozenset({"clarify", "outline"})
"""Settings that a follow-up does not take over from the question before."""
_REVIEW = "Is this plan good? Write yes, what to change, or the whole plan as a numbered list."


class ThreadNotes(NamedTuple):
    """A thread's name, label and chosen settings, kept in the store; deleted and copied with the
    thread."""

    store: BaseStore
    thread: str

    async def read(self) -> dict[str, str]:
        """Return the notes by name: `name`, `label` and `json` (the settings), as far as they were
        stored."""
        return await self._pages.read_note(SETTINGS_NOTE) or {}

    async def choices(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given settings, completed with those chosen earlier for the thread that still
        exist."""
        earlier = _existing(json.loads((await self.read()).get("json", "{}")), Context)
        limits = _existing(earlier.get("limits", {}), Limits)
        return {**earlier, **given, "limits": {**limits, **given.get("limits", {})}}

    async def remember(self, choices: Mapping[str, Any], context: Context) -> None:
        """Store the settings named in `choices`, with their validated values from `context`.

        Settings from the environment are not stored: they are read again when the run is resumed.
        """
        chosen: dict[str, Any] = dict.fromkeys(choices.keys() - {"data_dir"}, True)
        chosen["limits"] = set(choices["limits"])
        notes = {"json": context.model_dump_json(include=chosen)}
        if self.thread != thread_id(self.thread):
            notes["name"] = self.thread
        await self.add(**notes)

    async def add(self, **notes: str) -> None:
        """Add or replace notes."""
        value = {**await self.read(), **notes}
        await self._pages.note({SETTINGS_NOTE: value})

    @property
    def _pages(self) -> Pages:
        return Pages(self.store, thread_id(self.thread))


def _existing(stored: Mapping[str, Any], settings: type[BaseModel]) -> dict[str, Any]:
    """Return the stored settings whose names still exist in this version."""
    return {name: value for name, value in stored.items() if name in settings.model_fields}


class NoReportYet(UserMistake):
    """The run has no report yet."""


class StoredRun(NamedTuple):
    """A stored run and its status."""

    thread: str
    """Thread id."""
    name: str
    """Name of the run on the command line; empty if it has none."""
    strategy: Strategy
    state: ResearchState
    waiting: Mapping[str, Any]
    """Payload of the interrupt (a question or a plan); empty if the run is not waiting."""
    is_unfinished: bool
    """Whether the run has steps left."""
    changed: str
    """Time of the last change (ISO 8601)."""
    failure: str
    """Why the run failed, as a message to the user; empty if it did not fail or has completed
    since."""
    runner: str = ""
    """The other process that is running it, in words; empty if there is none."""
    label: str = ""
    """Name that the user gave the run on the web page; empty if none."""
    version: str = ""
    """Version of the stored state; empty if unknown."""
    nodes: Sequence[str] = ()
    """The nodes that are at work, or come next if the run is not."""
    shown: FinishedReport | None = None
    """The version or answer with which the run is exported, with all that is printed with it; None:
    the report in `state`."""

    @property
    def is_planned(self) -> bool:
        """Whether the run is waiting for the user to approve its plan."""
        return "plan" in self.waiting

    @property
    def asks(self) -> str:
        """The question that the run asks the user, or its plan; empty if it is not waiting."""
        if self.is_planned:
            refused = self.waiting.get("refused", "")
            note = self.waiting.get("note") or _REVIEW
            parts = [self.waiting["plan"], self.estimate, refused, note]
            return "\n\n".join(filter(None, parts))
        return str(self.waiting.get("question", ""))

    @property
    def estimate(self) -> str:
        """What earlier runs like this one cost, as a line to show with the plan; empty if
        unknown."""
        cost = self.state.run.usual_cost
        return usual_cost_line(cost) if cost else ""

    @property
    def trust(self) -> ReportTrust | None:
        """How far the report can be relied on; None if there is none."""
        report = self.state.report
        return ReportTrust.of(report, self.gaps) if report else None

    @property
    def gaps(self) -> list[str]:
        """All that is missing in the report; empty if there is none."""
        return ReportNotes(self.state).gaps()

    @property
    def status(self) -> str:
        """Status as one word; a run with steps left that neither runs, waits nor failed is
        "stopped"."""
        if self.runner:
            return "running"
        if self.asks:
            return "waiting"
        return "failed" if self.failure else self.settled_status

    @property
    def settled_status(self) -> str:
        """Status of a run that is not running, waiting or failed."""
        if self.is_unfinished or not self.state.run.id:
            return "stopped"
        return self.state.run.status

    @property
    def report(self) -> str:
        """The report as Markdown, as the user sees it; empty if there is none."""
        if not self.state.report:
            return ""
        return safe_text(self.state.messages[-1].text)

    @property
    def title(self) -> str:
        """Title of the report, else the beginning of the question."""
        return title_or_question(self.state.title, self.question)

    @property
    def question(self) -> str:
        """The question, even if the run was stopped before its first step; empty if it was not
        stored."""
        if self.state.run.id:
            return self.state.run.question
        if not self.state.messages:
            return ""
        return str(self.state.messages[-1].text)

    @property
    def versions(self) -> list[Version]:
        """The versions of the thread's report and the answers about it, oldest first."""
        return list(ThreadVersions(self.state).by_name.values())

    @property
    def asked(self) -> list[str]:
        """The user's messages on the thread, oldest first."""
        return Conversation(self.state.messages).texts_of_user

    def finished_report(self, name: RunName | None = None) -> Report:
        """Return the report; raises `NoReportYet`, whose message says how to continue the run.

        `name`: how the user named the run; without one, by its id.
        """
        if self.state.report:
            return self.state.report
        name = name or RunName(self.thread, None)
        if self.status == "ended":
            raise NoReportYet(
                f"The run {name.thread!r} was closed without a report; ask it another question."
            )
        status = f"its status is {self.status!r}"
        command = name.command("resume")
        if self.asks:
            status = "it is waiting for an answer"
            command += " --answer TEXT"
        raise NoReportYet(f"The run {name.thread!r} has no report yet: {status}. Resume: {command}")

    @property
    def table_request(self) -> str:
        """The request for which the user wants a table, from a run of its own; empty if the run was
        not ended for one."""
        messages = self.state.messages
        if messages and is_for_table(messages[-1], "ended"):
            return self.question
        return ""

    def check_editable(self, context: Context) -> None:
        """Raise `NoReportYet` if there is no finished report to change, and `ReportNotEditable` if
        the model of these settings cannot change it."""
        versions = ThreadVersions(self.state)
        if self.is_unfinished or versions.editable_report is None:
            self.finished_report()
        else:
            versions.check_editable(context)

    def check_follow_up(self, words: str, context: Context) -> None:
        """Raise `QuestionRefused` if a further question on a table needs a model of which these
        settings have none."""
        is_further = not self.asks and not self.is_unfinished
        if is_further and self.strategy == "table" and RoleModels(context).only_quotes_rows:
            check_adds_columns(words, ThreadVersions(self.state).editable_report)

    def words_without(self, sources: Sequence[Source], because: str) -> str:
        """Return the words of an edit that makes a version of the report without these sources,
        which the user has excluded, or with others in their place; empty if neither is needed."""
        report = ThreadVersions(self.state).editable_report
        if report is None:
            return ""
        words = list[str]()
        named = ", ".join(f"[{source.number}] {source.shown_title}" for source in sources)
        keys = {source.key for source in sources}
        if not keys.isdisjoint(report.sources):
            words.append(f"Do without these sources: {named}.")
        if any(self.state.excluded[key].needs_replacement for key in keys):
            others = "Find others in their place."
            words.append(others if words else f"Find other sources in place of these: {named}.")
        reason = because.strip().rstrip(".")
        if words and reason:
            words.append(f"The reason: {reason}.")
        return " ".join(words)

    def at(self, finished: FinishedReport, server_address: str | None) -> StoredRun:
        """Return the run as if it had ended with this report of its thread, without what is only
        known of the current question, such as its plan; `server_address` is the
        setting, for links to documents."""
        state = self.state
        state = ResearchState(
            messages=[marked(document_of(finished, server_address, self.thread), "report")],
            run=finished.run,
            findings=state.findings,
            sources={**state.sources, **{source.key: source for source in finished.sources}},
            learnings=state.learnings,
            memory=state.memory,
            versions=state.versions,
            # Without a plan, only the report can have a title.
            report=finished.report.model_copy(update={"title": finished.title}),
        )
        return self._replace(
            state=state,
            waiting={},
            is_unfinished=False,
            nodes=(),
            failure="",
            runner="",
            shown=finished,
        )

    def message(self, words: str) -> Any:
        """Return the user's text as graph input: an answer, a hint, or a question; None for a hint
        already received."""
        if self.waiting:
            return Command(resume=words)
        if not self.is_unfinished:
            return {"messages": [HumanMessage(words)]}
        # New input would discard the results of researchers that have finished in this round; an
        # update keeps them.
        last = next(
            message for message in reversed(self.state.messages) if mark_of(message) != "draft"
        )
        if isinstance(last, HumanMessage) and last.text == words:
            return None
        return Command(update={"messages": [HumanMessage(words)]})


class RunBook(NamedTuple):
    """The runs of a data folder or database."""

    graph: Callable[[Strategy], ResearchGraph]
    """Returns the graph of a strategy, connected to the database."""
    database: Database
    data_dir: Path
    user: str = ""
    """Owner of the runs on a shared server; empty for all owners."""
    server_address: str | None = None
    """Where the server shows documents; None outside of it: as the setting says."""

    @classmethod
    @asynccontextmanager
    async def open(cls, data_dir: Path) -> AsyncIterator[RunBook]:
        """Open the runs of a data folder, or of the database set in the environment."""
        async with open_database(RunsLocation.of(data_dir)) as database:
            graph = cache(partial(build_graph, checkpointer=database.saver, store=database.store))
            yield cls(graph, database, data_dir)

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
        """Send a question, a follow-up, an answer or a hint to a thread; raises `ThreadBusy`.

        With `is_estimate` the run pauses at its plan. Settings that are not given keep the values
        chosen earlier on the thread, except `clarify`, which applies to one question only. A new
        thread uses the given strategy, or else that of the environment; an existing thread keeps
        its own. A refused call leaves no new thread behind.
        """
        # The lease prevents changes to the thread, whose state decides what the text means.
        async with self.database.saver.leases.hold(thread_id(thread)) as lease:
            stored_strategy = await self._strategy_of(thread)
            if stored_strategy and strategy not in (None, stored_strategy):
                raise UnknownSetting(
                    f"The run {thread!r} was started with the strategy {stored_strategy!r} and "
                    f"cannot switch to {strategy!r}: leave out --strategy, or start another run "
                    "(--thread)."
                )
            graph = self.graph(stored_strategy or strategy or default_strategy())
            snapshot = await _snapshot(graph, thread)
            choices = await self._notes(thread).choices(given)
            if not _is_unfinished(snapshot):
                for name in _OF_ONE_QUESTION - given.keys():
                    choices.pop(name, None)
            context = self._context(choices)
            check_question(words, context.limits.question_characters)
            ToolOffer(context).check()
            if not snapshot.values:
                await asyncio.to_thread(Library(context).check_documents)
            await RoleModels(context).load()
            if snapshot.values:
                (await self.read(thread, lease.owner)).check_follow_up(words, context)
            notices = [*RoleModels(context).check()]
            notices += await asyncio.to_thread(check_writing, context)
            notices += tracing_notices(context)
            await self._notes(thread).remember(choices, context)
            view.begin(notices)
            if is_estimate:
                context = context.model_copy(update={"review_plan": True})
            message: Any = {"messages": [HumanMessage(words)]}
            if snapshot.values:
                message = (await self.read(thread, lease.owner)).message(words)
            try:
                await self._run(graph, lease.config, message, context, view)
                stored = await self.read(lease.thread_id, lease.owner)
            except UserMistake:
                if not snapshot.values and not await _has_begun(graph, thread):
                    await self.database.saver.adelete_thread(thread_id(thread))
                raise
        return await self._or_table(thread, stored, given, view, is_estimate=is_estimate)

    async def resume(
        self,
        thread: str,
        answer: str,
        given: Mapping[str, Any],
        view: ProgressView,
        *,
        is_estimate: bool = False,
    ) -> StoredRun:
        """Resume a stopped run, with `answer` as a hint, or answer a waiting run; return a finished
        run unchanged.

        Without an answer, a plan that was shown only for an estimate is approved. Given settings
        apply from now on; the others keep the values chosen earlier on the thread. Raises
        `ThreadBusy`.
        """
        async with self.database.saver.leases.hold(thread_id(thread)) as lease:
            stored = await self.read(thread, lease.owner)
            choices = await self._notes(thread).choices(given)
            context = self._context(choices)
            notices = list[str]()
            if given:
                # Otherwise, warnings about models were already shown when the run started.
                notices += RoleModels(context).check()
            notices += tracing_notices(context)
            if answer and not stored.asks and not stored.is_unfinished:
                further = f'`deep-research ask "…" --thread {shlex.quote(thread)}`'
                raise UnknownSetting(
                    f"The run {thread!r} is finished; to ask a follow-up question: {further}."
                )
            if answer:
                check_question(answer, context.limits.question_characters)
            if given:
                await self._notes(thread).remember(choices, context)
            if stored.is_planned and not answer and not context.review_plan:
                answer = _APPROVED
            if not answer and (stored.asks or not stored.is_unfinished):
                return stored
            if is_estimate:
                context = context.model_copy(update={"review_plan": True})
            view.begin(notices)
            message = await self._given_to(stored, answer) if answer else None
            await self._run(self.graph(stored.strategy), lease.config, message, context, view)
            stored = await self.read(lease.thread_id, lease.owner)
        return await self._or_table(thread, stored, given, view, is_estimate=is_estimate)

    async def _or_table(
        self,
        thread: str,
        stored: StoredRun,
        given: Mapping[str, Any],
        view: ProgressView,
        *,
        is_estimate: bool,
    ) -> StoredRun:
        """Return a run, or the one that makes the table that the user wants in place of its
        report."""
        if not stored.table_request:
            return stored
        choices = await self._notes(thread).choices(given)
        name, words = f"{thread}-table", stored.table_request
        return await self.ask(name, words, choices, view, "table", is_estimate=is_estimate)

    async def _given_to(self, stored: StoredRun, words: str) -> Any:
        """Return the graph input with the user's words to a run; None if its research reads them
        as a message."""
        message = stored.message(words)
        if not isinstance(message, Command) or not message.update:
            return message
        try:
            sent = await self.inbox(stored)
            if words not in [earlier.text for earlier in sent.messages]:
                await self.send(stored, words)
        except NoResearch:
            return message
        return None

    async def edit(
        self, thread: str, words: str, given: Mapping[str, Any], view: ProgressView
    ) -> StoredRun:
        """Change the report of a finished run as the user's words say.

        Settings apply as in `resume`. Raises `ThreadBusy`, and `NoReportYet` for a run that is not
        finished.
        """
        async with self.database.saver.leases.hold(thread_id(thread)) as lease:
            stored = await self.read(thread, lease.owner)
            choices = await self._notes(thread).choices(given)
            context = self._context(choices)
            check_question(words, context.limits.question_characters)
            await RoleModels(context).load()
            stored.check_editable(context)
            notices = [*RoleModels(context).check(), *tracing_notices(context)]
            await self._notes(thread).remember(choices, context)
            view.begin(notices)
            message = {"messages": [HumanMessage(words)], "edit": True}
            await self._run(self.graph(stored.strategy), lease.config, message, context, view)
            return await self.read(lease.thread_id, lease.owner)

    async def read(self, thread: str, owner: str = "") -> StoredRun:
        """Return a stored run; raises `UnknownThread`. The caller, if it holds the lease as
        `owner`, is not reported as `runner`."""
        leases = self.database.saver.leases
        # Read first and last: a run that ends or begins meanwhile was not stopped.
        runner = await leases.other_holder(thread_id(thread), owner)
        # Read before the state: if that changes meanwhile, it is not mistaken for this version's.
        version = await self.database.saver.state_version(thread_id(thread))
        strategy = await self._strategy_of(thread)
        if strategy is None:
            raise unknown_thread(thread)
        snapshot = await _snapshot(self.graph(strategy), thread)
        if not snapshot.values:
            raise unknown_thread(thread)
        notes = await self._notes(thread).read()
        pages = Pages(self.database.store, thread_id(thread))
        failure = await read_failure(pages)
        if not runner:
            runner = await leases.other_holder(thread_id(thread), owner)
        return StoredRun(
            thread=thread_id(thread),
            name=notes.get("name", ""),
            strategy=strategy,
            state=ResearchState(**snapshot.values),
            waiting=snapshot.interrupts[0].value if snapshot.interrupts else {},
            is_unfinished=_is_unfinished(snapshot),
            nodes=sorted(set(snapshot.next)),
            changed=snapshot.created_at or "",
            failure=failure,
            runner=str(runner or ""),
            label=notes.get("label", ""),
            version=version,
        )

    async def at_version(
        self, stored: StoredRun, number: int | None = None, *, is_answer: bool = False
    ) -> StoredRun:
        """Return a run as it was with a version of its report, by default the latest, or with an
        answer about it; raises `UnknownVersion`.

        A run without any report is returned unchanged.
        """
        versions = ThreadVersions(stored.state)
        if number is not None:
            version = versions.find(number, is_answer=is_answer)
            return await self.with_version(stored, version)
        latest = versions.latest
        return await self.with_version(stored, latest) if latest else stored

    async def with_version(self, stored: StoredRun, version: Version) -> StoredRun:
        """Return a run as it was with one of its versions or answers; raises `UnknownVersion`."""
        pages = Pages(self.database.store, stored.thread)
        finished = await ThreadVersions(stored.state).read(version, pages)
        if stored.state.report and version.question_id == stored.state.run.id:
            return stored._replace(shown=finished)
        return stored.at(finished, self._address)

    async def differences(self, stored: StoredRun, before: int, after: int) -> Differences:
        """Return what differs between two versions of a run's report; raises `UnknownVersion`."""
        pages = Pages(self.database.store, stored.thread)
        return await ThreadVersions(stored.state).differences(before, after, pages)

    async def revert(self, stored: StoredRun, number: int) -> Version:
        """Make a new version of a run's report with the text of an earlier one; see
        `revert_thread`."""
        graph = self.graph(stored.strategy)
        return await arevert_thread(graph, stored.thread, number, server_address=self._address)

    async def earlier(self, stored: StoredRun) -> list[StoredRun]:
        """Return the earlier questions of a run's thread, oldest first, each with its final
        state."""
        graph = self.graph(stored.strategy)
        config = thread_config(stored.thread)
        config["configurable"]["checkpoint_ns"] = ""
        begins = list[list[CheckpointTuple]]()
        # A version that was put back is an update of the state.
        for source in ("input", "update"):
            found = self.database.saver.alist(config, filter={"source": source})
            begins.append([begun async for begun in found])
        ended = dict[str, StoredRun]()
        for begun in heapq.merge(*begins, key=_time_of, reverse=True):
            # The checkpoint before the beginning of a question contains the final state of the
            # previous question.
            if not begun.parent_config:
                continue
            snapshot = await graph.aget_state(begun.parent_config)
            if not snapshot.values:
                continue
            state = ResearchState(**snapshot.values)
            if state.run.id in {"", stored.state.run.id, *ended}:
                continue
            if state.run.status == "running":
                # It had failed when the user asked the next question.
                state = replace(state, run=state.run.model_copy(update={"status": "ended"}))
            ended[state.run.id] = stored._replace(
                state=state,
                changed=snapshot.created_at or "",
                waiting={},
                is_unfinished=False,
                nodes=(),
                failure="",
                runner="",
            )
        return list(reversed(ended.values()))

    async def exclude(
        self, thread: str, names: Sequence[str], because: str = "", *, is_replacing: bool = False
    ) -> list[Source]:
        """Keep the named sources out of everything that follows on a thread; returns them.

        `names`: numbers, addresses, domains or file names. `is_replacing`: the next edit finds
        other sources for what they alone support. Raises `ThreadBusy` while the thread is
        running, and `UserMistake` for an unknown source and for a run that is not finished.
        """
        async with self._changed(thread) as (stored, changed):
            sources = named_sources(stored.state.sources.values(), names)
            now = self._context({}).clock.now()
            exclusion = Exclusion(date=now.date().isoformat(), because=safe_text(because).strip())
            changed.update(stored.state.excluded)
            for source in sources:
                known = changed.get(source.key, exclusion)
                changed[source.key] = known.model_copy(update={"needs_replacement": is_replacing})
        return sources

    async def include(self, thread: str, names: Sequence[str]) -> list[Source]:
        """Allow the named sources again, which had been excluded; returns them. Raises like
        `exclude`."""
        async with self._changed(thread) as (stored, changed):
            excluded = [stored.state.sources[key] for key in stored.state.excluded]
            if not excluded:
                raise UserMistake(f"No source of the run {thread!r} is excluded.")
            sources = named_sources(excluded, names)
            included = {source.key for source in sources}
            for key, exclusion in stored.state.excluded.items():
                if key not in included:
                    changed[key] = exclusion
        return sources

    @asynccontextmanager
    async def _changed(self, thread: str) -> AsyncIterator[tuple[StoredRun, dict[str, Exclusion]]]:
        """Yield a finished run and an empty dict, and store the exclusions that were put there."""
        async with self.database.saver.leases.hold(thread_id(thread)) as lease:
            stored = await self.read(thread, lease.owner)
            if stored.waiting or stored.is_unfinished:
                raise UserMistake(
                    f"The run {thread!r} is not finished (its status is {stored.status!r}): resume "
                    "it first, and then exclude or include sources."
                )
            excluded = dict[str, Exclusion]()
            yield stored, excluded
            config = RunnableConfig(configurable=dict(lease.config["configurable"]))
            if self.user:
                config["configurable"][OWNER] = self.user
            await self.graph(stored.strategy).aupdate_state(
                config, {"excluded": excluded}, as_node="verify_report"
            )

    async def rename(self, stored: StoredRun, label: str) -> None:
        """Set the name that the web page shows for a run; if `label` is empty, it shows the
        question."""
        await self._notes(stored.thread).add(label=safe_text(label).strip())

    async def send(self, stored: StoredRun, words: str) -> str:
        """Send a message to the research at work, like `asend_message`; return its id."""
        return await asend_message(self.graph(stored.strategy), stored.thread, words)

    async def finish(self, stored: StoredRun) -> None:
        """End the research at work, like `afinish_research`."""
        await afinish_research(self.graph(stored.strategy), stored.thread)

    async def inbox(self, stored: StoredRun) -> Sent:
        """Return what was sent to the run while it researched its latest question."""
        pages = Pages(self.database.store, stored.thread)
        return await Inbox(pages, stored.state.run.id).read()

    async def delete(self, thread: str) -> None:
        """Delete a thread with its checkpoints, texts and notes; raises `ThreadBusy` while it is
        running."""
        async with self.database.saver.leases.hold(thread):
            await self.database.saver.adelete_thread(thread)
        page = self.data_dir / "pages" / f"{thread}.html"
        await asyncio.to_thread(page.unlink, missing_ok=True)

    async def settings(self, stored: StoredRun, given: Mapping[str, Any]) -> Context:
        """Return the settings for a stored run: the given ones, and for the others those chosen
        when it was run."""
        return self._context(await self._notes(stored.thread).choices(given))

    async def texts(self, stored: StoredRun, report: Report) -> dict[str, list[SourceText]]:
        """Return the stored texts of the sources that a report cites, by source key."""
        pages = Pages(self.database.store, stored.thread)
        return await ReportBasis(stored.state).texts(pages, report.sources)

    async def search(self, words: str, most: int = 10) -> list[ReadPage]:
        """Return at most `most` pages that the user's finished runs have read, best first; raises
        `QuestionRefused` if there are too many words."""
        check_query(words)
        pages = Pages(self.database.store, "", self.user)
        read = EarlierPages(pages, self._context({}))
        return await read.search([words], most, lambda _: True)

    async def _strategy_of(self, thread: str) -> Strategy | None:
        """Return the strategy of a thread, None if there is no thread; raises `UnknownThread` for
        another user's."""
        checkpoint = await self.database.saver.aget_tuple(
            {"configurable": {"thread_id": thread_id(thread)}}
        )
        if not checkpoint:
            return None
        metadata: Any = checkpoint.metadata
        if self.user and self.user != (metadata.get(OWNER) or LOCAL_USER):
            raise unknown_thread(thread)
        return strategy_of(metadata)

    async def _run(
        self,
        graph: ResearchGraph,
        leased: Mapping[str, Any],
        message: Any,
        context: Context,
        view: ProgressView,
    ) -> None:
        """Run the graph until it ends or pauses, and send it what the user types meanwhile.

        `leased`: the config of the lease that the caller holds.
        """
        config = dict(leased["configurable"])
        if self.user:
            config[OWNER] = self.user
        # `sync` stores each step immediately: after a kill, only pending calls are repeated.
        packets = apackets(
            graph, message, {"configurable": config}, context=context, durability="sync"
        )
        try:
            async with aclosing(packets):
                async for packet in packets:
                    view(packet)
                    await _pass_on(graph, config["thread_id"], view)
        except UserMistake as error:
            if await _has_begun(graph, config["thread_id"]):
                error.add_note(RESUMABLE)
            raise

    @property
    def _address(self) -> str | None:
        """The setting `server_address`."""
        if self.server_address is not None:
            return self.server_address
        return self._context({}).server_address

    def _notes(self, thread: str) -> ThreadNotes:
        return ThreadNotes(self.database.store, thread)

    def _context(self, choices: Mapping[str, Any]) -> Context:
        return Context.read({**choices, "data_dir": self.data_dir})


def _time_of(checkpoint: CheckpointTuple) -> str:
    return checkpoint.checkpoint["ts"]


def has_runs(data_dir: Path) -> bool:
    """Whether there may be runs; to be checked before `RunBook.open`, which creates a missing
    database."""
    return RunsLocation.of(data_dir).may_exist


async def _snapshot(graph: ResearchGraph, thread: str) -> StateSnapshot:
    snapshot: StateSnapshot = await graph.aget_state(thread_config(thread))
    return snapshot


async def _has_begun(graph: ResearchGraph, thread: str) -> bool:
    """Whether a run has begun on the thread and can be resumed; after a refused call, only its
    input is stored."""
    snapshot = await _snapshot(graph, thread)
    return _is_unfinished(snapshot) and snapshot.values.get("run") is not None


async def _pass_on(graph: ResearchGraph, thread: str, view: ProgressView) -> None:
    """Send the lines that the user has typed to the researchers."""
    words = view.steering()
    if not words:
        return
    try:
        await asend_message(graph, thread, words)
    except (NoResearch, QuestionRefused) as error:
        view.print(f"Not sent: {words} ({error})")
    else:
        view.print(f"Passed on to the researchers: {words}")


def _is_unfinished(snapshot: StateSnapshot) -> bool:
    # After a kill between two steps, `next` is empty although tasks with results remain.
    return bool(snapshot.next or snapshot.tasks)
