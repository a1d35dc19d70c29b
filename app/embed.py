"""The Python API: the graph with sync and async methods, for scripts, notebooks and servers."""

from __future__ import annotations

import asyncio
import atexit
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, StateUpdate
from typing_extensions import Unpack, override

from ..core.concurrency import in_thread
from ..core.dialogue.conversation import check_question, safe_text
from ..core.errors import (
    NoResearch,
    QuestionRefused,
    SyncCallRefused,
    UnknownThread,
    UserMistake,
    log_failure,
    stop_message,
)
from ..core.events.log import flush
from ..core.events.tracing import RunTracing
from ..core.library.attachments import messages_with_files, take_files
from ..core.models.resolve import RoleModels
from ..core.records.langgraph_private import ensure_config
from ..core.records.report import Report
from ..core.records.research import Strategy
from ..core.records.sources import Source
from ..core.settings.context import Context, Settings
from ..core.settings.installed import code_version
from ..core.settings.limits import Limits
from ..core.store.database import Database, lease_for, open_database, usable_saver
from ..core.store.location import RunsLocation, thread_id
from ..core.store.pages import AttachedFiles, Inbox, Pages
from ..core.writing.versions import ThreadVersions
from ..graph.strategies import StrategyGraph
from ..state import ResearchState
from ..tools.offer import note_user
from ._edits import check_nothing_is_lost, read_values
from ._loops import aiterate, background_loop, hand_over, iterate, wait_for
from .words import GRAPHS, STRATEGY_KEY, check_strategy

Value = TypeVar("Value")
RECURSION_LIMIT = 500
"""Maximum number of supersteps in a run; several times more than the default limits need."""
_PARENT_TASK, _PARENT_SAVER, _PARENT_RUNTIME = (
    "__pregel_task_id",
    "__pregel_checkpointer",
    "__pregel_runtime",
)
"""Config keys under which LangGraph describes a nested graph's parent; its server also sets the one
of the saver."""
_END_RUN = {"action": "end"}
"""Answer that ends a run, whatever the question was."""
_AFTER_RESEARCH = frozenset({"write_report", "grade_report", "edit_report", "verify_report"})
"""Nodes during which no researcher works."""
NOT_WAITING = (
    'goto "__end__" closes a run that is waiting for an answer, but this run is not waiting.'
)


class LeasedGraph(StrategyGraph):
    """A compiled graph that runs on its own or, as a node, with the checkpointer and store of its
    parent graph.

    In our databases only one run at a time, which holds the thread's lease, can write to a thread.
    """

    async def _leased_stream(
        self, input: Any, config: RunnableConfig | None = None, **settings: Any
    ) -> AsyncGenerator[Any, None]:
        """Stream like LangGraph's `astream`; raises `ThreadBusy`, and `QuestionRefused` if there is
        no run to close."""
        config = self._with_store(config)
        if isinstance(input, Command) and input.goto in (END, (END,), [END]):
            # LangGraph by itself would ask the pending question again.
            if not (await self.aget_state(config or {})).interrupts:
                raise QuestionRefused(NOT_WAITING)
            input = replace(input, goto=(), resume=_END_RUN)
        input, config, clear = await self._without_files(input, config, settings.get("context"))
        tracing = self._tracing(config, settings.get("context"))
        parts = super().astream(input, tracing.config(config), **settings)
        # LangGraph annotates the result as an iterator.
        stream = tracing.stream(cast(AsyncGenerator[Any, None], parts))
        failure: str | None = ""
        leasing = lease_for(self._leasing_saver(config), self._configurable(config))
        async with leasing as lease, aclosing(stream):
            try:
                await self._check_edit(input, config, settings.get("context"))
                async for part in lease.guard(stream) if lease else stream:
                    yield part
            except Exception as error:
                # A nested graph pauses its parent by raising an interrupt.
                if not isinstance(error, GraphInterrupt):
                    failure = stop_message(error)
                # User mistakes are reported to the user and need no entry in the operator's log.
                if failure and not isinstance(error, UserMistake):
                    log_failure(__name__, error, "A run failed with an error")
                raise
            finally:
                thread = str(self._configurable(config).get("thread_id", ""))
                if lease and lease.is_lost:
                    # The process that has taken over the run records the failure.
                    failure = None
                await flush(thread, failure, self.page_store)
                if clear:
                    await in_thread(clear)

    if not TYPE_CHECKING:
        # Type checkers and `help` see the parameters of LangGraph's own method.
        astream = wraps(CompiledStateGraph.astream)(_leased_stream)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Change a thread's state as LangGraph does; values may be JSON. Raises `ThreadBusy` and
        `EditRefused`."""
        async with lease_for(self._leasing_saver(config), self._configurable(config)):
            given = config.get("configurable", {})
            # The states of branches and nested graphs are not checked.
            if not given.get("checkpoint_ns"):
                thread = {name: value for name, value in given.items() if name != "checkpoint_id"}
                latest = await self.aget_state({"configurable": thread})
                check_nothing_is_lost(latest, given.get("checkpoint_id"))
                edited = latest
                if given.get("checkpoint_id"):
                    edited = await self.aget_state(config)
                supersteps = [_with_records(updates, edited.values) for updates in supersteps]
            with self._tracing(config).block():
                return await super().abulk_update_state(config, supersteps)

    async def _check_edit(self, given: Any, config: RunnableConfig | None, context: object) -> None:
        """Raise `ReportNotEditable` if an input asks for an edit that cannot be made.

        LangGraph stores an input before any node reads it, and the words would be part of the next
        question. Without a checkpointer of its own, the first node checks it.
        """
        values: Any = getattr(given, "__dict__", given)
        if not isinstance(values, Mapping) or not values.get("edit"):
            return
        if not isinstance(self._leasing_saver(config), BaseCheckpointSaver):
            return
        stored = (await self.aget_state(config or {})).values
        state = ResearchState(**{"messages": [], **stored})
        if self.page_store:
            pages = Pages(self.page_store, str(self._configurable(config).get("thread_id", "")))
            run = await ThreadVersions(state).run_before_message(pages)
            state = replace(state, run=run)
        if isinstance(context, Context):
            context = Context.of_call(context, self._configurable(config))
            await RoleModels(context).load()
        ThreadVersions(state).check_editable(context if isinstance(context, Context) else None)

    async def _without_files(
        self, given: Any, config: RunnableConfig | None, context: object
    ) -> tuple[Any, RunnableConfig | None, Callable[[], None] | None]:
        """Save the files attached to an input's messages, and return the input without them.

        Also returns the config, with a thread id, and a function that deletes the files after the
        run; None if a checkpointer stores the thread, and so the files must stay.
        """
        values: Any = getattr(given, "__dict__", given)
        if isinstance(given, Command):
            values = given.update
        messages = messages_with_files(values)
        if not messages:
            return given, config, None
        configurable = self._configurable(config)
        runtime = configurable.get(_PARENT_RUNTIME)
        if not isinstance(context, Context):
            context = getattr(runtime, "context", None)
        settings = Context.of_call(context if isinstance(context, Context) else None, configurable)
        thread = str(configurable.get("thread_id") or uuid.uuid4())
        store = getattr(runtime, "store", None) or self.page_store or InMemoryStore()
        messages = await take_files(messages, Pages(store, thread), settings)
        update = {**values, "messages": messages}
        given = replace(given, update=update) if isinstance(given, Command) else update
        config = config or {}
        config = {**config, "configurable": {**config.get("configurable", {}), "thread_id": thread}}
        files = await in_thread(AttachedFiles.below, settings.data_dir)
        clear = partial(files.delete, thread)
        saver = configurable.get(_PARENT_SAVER, self.checkpointer)
        if isinstance(saver, InMemorySaver):
            atexit.register(clear)
        if isinstance(saver, BaseCheckpointSaver):
            return given, config, None
        return given, config, clear

    def _leasing_saver(self, config: RunnableConfig | None) -> object:
        """Return the saver with the lease to hold; None if the parent graph holds it."""
        given = self._configurable(config)
        # In a node, the thread belongs to the parent graph.
        if _PARENT_TASK in given:
            return None
        return given.get(_PARENT_SAVER, self.checkpointer)

    def _tracing(self, config: RunnableConfig | None, context: object = None) -> RunTracing:
        given = self._configurable(config)
        parent_context = getattr(given.get(_PARENT_RUNTIME), "context", None)
        return RunTracing.of(context, parent_context, given)

    @property
    def page_store(self) -> BaseStore | None:
        """The store for page texts in runs to which no server or parent graph lends one."""
        return self.store

    def _with_store(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Return the config, with our store added if neither this graph nor its parent has one."""
        runtime = self._configurable(config).get(_PARENT_RUNTIME)
        if runtime is None and self.store is None:
            runtime = Runtime()
        if not isinstance(runtime, Runtime) or runtime.store is not None:
            return config
        # Defaults, such as that of `recursion_limit`, would win over the config of this graph.
        lent = {**(config or {})}
        lent["configurable"] = {
            **self._configurable(config),
            _PARENT_RUNTIME: runtime.override(store=self.page_store),
        }
        return cast(RunnableConfig, lent)

    def _configurable(self, config: RunnableConfig | None) -> dict[str, Any]:
        """Return the `configurable` of a call; without a config, that of the calling node."""
        given: dict[str, Any] = ensure_config(self.config, config)["configurable"]
        return given

    def _resolve_checkpointer(self, config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
        # LangGraph passes the parent's saver here, for runs and for reading their state.
        saver = super()._resolve_checkpointer(config)
        if isinstance(saver, BaseCheckpointSaver):
            return usable_saver(saver)
        return saver


def _with_records(updates: Sequence[StateUpdate], current: Mapping[str, Any]) -> list[StateUpdate]:
    """Return the updates of a superstep with their values as records; raises `EditRefused`."""
    return [update._replace(values=read_values(update.values, current)) for update in updates]


def _sync_and_async(name: str, position: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a sync and an async method that run an async method on the checkpointer's event loop.

    `name` is that of the async method. `position` is the index of the config among its arguments.
    """
    method: Callable[..., Coroutine[Any, Any, Any]] = getattr(LeasedGraph, name)

    @wraps(getattr(CompiledStateGraph, name.removeprefix("a")))
    def sync_method(self: ResearchGraph, *args: Any, **settings: Any) -> Any:
        loop = self._loop(_config_in(args, settings, position))
        return wait_for(method(self, *args, **_with_context(settings)), loop)

    @wraps(getattr(CompiledStateGraph, name))
    async def async_method(self: ResearchGraph, *args: Any, **settings: Any) -> Any:
        coroutine = method(self, *args, **_with_context(settings))
        home = self._home(_config_in(args, settings, position))
        if home is not None:
            coroutine = hand_over(coroutine, home)
        return await coroutine

    return sync_method, async_method


def _sync_and_async_streams(
    name: str, position: int
) -> tuple[Callable[..., Generator[Any, None, None]], Callable[..., AsyncGenerator[Any, None]]]:
    """Do the same as `_sync_and_async` for an async generator method; leaving the iteration early
    cancels it."""
    method: Callable[..., AsyncGenerator[Any, None]] = getattr(LeasedGraph, name)

    @wraps(getattr(CompiledStateGraph, name.removeprefix("a")))
    def sync_method(self: ResearchGraph, *args: Any, **settings: Any) -> Generator[Any, None, None]:
        make = partial(method, self, *args, **_with_context(settings))
        yield from iterate(make, self._loop(_config_in(args, settings, position)))

    @wraps(getattr(CompiledStateGraph, name))
    async def async_method(
        self: ResearchGraph, *args: Any, **settings: Any
    ) -> AsyncGenerator[Any, None]:
        make = partial(method, self, *args, **_with_context(settings))
        home = self._home(_config_in(args, settings, position))
        async for part in make() if home is None else aiterate(make, home):
            yield part

    return sync_method, async_method


def _config_in(
    args: tuple[Any, ...], settings: Mapping[str, Any], position: int
) -> RunnableConfig | None:
    config: RunnableConfig | None = settings.get("config")
    if len(args) > position:
        config = args[position]
    return config


class ResearchGraph(LeasedGraph):
    """A compiled graph with both sync and async methods, although all its nodes are async.

    Calls run on the event loop of the checkpointer. If it has none, async calls run on the caller's
    loop and sync calls on a background loop. If the caller leaves a stream early, the run can be
    resumed.
    """

    def __init__(self, *, memory: InMemoryStore | None = None, **attributes: Any) -> None:
        """`memory` keeps page texts if the graph has no store; copies of a graph share it."""
        super().__init__(**attributes)
        # Not the graph's `store`: LangGraph's development server refuses graphs that have one.
        self.memory = memory or InMemoryStore()

    @property
    @override
    def page_store(self) -> BaseStore:
        return self.store or self.memory

    if not TYPE_CHECKING:
        # Type checkers see LangGraph's own methods, with their parameters and results.
        stream, astream = _sync_and_async_streams("astream", 1)
        invoke, ainvoke = _sync_and_async("ainvoke", 1)
        get_state, aget_state = _sync_and_async("aget_state", 0)
        get_state_history, aget_state_history = _sync_and_async_streams("aget_state_history", 0)
        update_state, aupdate_state = _sync_and_async("aupdate_state", 0)
        bulk_update_state, abulk_update_state = _sync_and_async("abulk_update_state", 0)

    def _home(self, config: RunnableConfig | None) -> asyncio.AbstractEventLoop | None:
        """Return the loop to which an async call must be handed over; None if it can run on the
        current one."""
        loop = self._saver_loop(config)
        return None if loop is asyncio.get_running_loop() else loop

    def _saver_loop(self, config: RunnableConfig | None) -> asyncio.AbstractEventLoop | None:
        saver = self._configurable(config).get(_PARENT_SAVER, self.checkpointer)
        loop: asyncio.AbstractEventLoop | None = getattr(saver, "loop", None)
        return loop

    def _loop(self, config: RunnableConfig | None = None) -> asyncio.AbstractEventLoop:
        loop = self._saver_loop(config) or background_loop()
        if not loop.is_running() or loop is asyncio._get_running_loop():
            raise SyncCallRefused(
                "This checkpointer belongs to an event loop that a sync call cannot wait for: use "
                "the graph's async methods, or let the graph open the file: "
                'build_graph(checkpointer="runs.sqlite").'
            )
        return loop


def build_graph(
    strategy: Strategy = "orchestrated",
    *,
    checkpointer: BaseCheckpointSaver[Any] | Literal[True] | str | Path | None = None,
    store: BaseStore | None = None,
) -> ResearchGraph:
    """Return the compiled research graph of a strategy, to run on its own or as a node of another
    graph.

    `checkpointer` is a LangGraph saver, the path of an SQLite file (created if missing), or the URL
    of a PostgreSQL database (`postgresql://…`); files and databases store checkpoints and page
    texts. Without a checkpointer a run cannot pause to ask a question; it states its assumptions
    instead. A node uses its parent's checkpointer; with `True` it also remembers the sources of
    earlier turns. Without a `store` (its own or its parent's), page texts are kept in memory,
    unless `checkpointer` is a path or a URL.

    Raises `UnknownSetting` for an unknown strategy; `DatabaseUnusable` for a missing folder, a file
    of another kind or an unreachable database; `ExtraMissing` if the package for PostgreSQL is not
    installed.
    """
    check_strategy(strategy)
    # Computed and cached now so that no run has to wait for it.
    code_version()
    if isinstance(checkpointer, str | Path):
        target = RunsLocation.named(checkpointer).target
        database = _opened(RunsLocation(target.resolve() if isinstance(target, Path) else target))
        checkpointer = database.saver
        store = store or database.store
    elif isinstance(checkpointer, BaseCheckpointSaver):
        checkpointer = usable_saver(checkpointer)
    return ResearchGraph.of(compile_graph(strategy), checkpointer=checkpointer, store=store)


@cache
def compile_graph(strategy: Strategy) -> LeasedGraph:
    """Return the graph of a strategy without checkpointer; it stores the strategy in the metadata
    of its checkpoints.

    Compiled once per process: copy the graph before changing it.
    """
    config = RunnableConfig(recursion_limit=RECURSION_LIMIT, metadata={STRATEGY_KEY: strategy})
    return LeasedGraph.of_strategy(strategy, GRAPHS[strategy]).with_config(config)


def send_message(graph: ResearchGraph, thread: str, words: str) -> str:
    """Send a message to the research at work on a thread, and return its id.

    Each researcher reads it before its next call, and the orchestrator, or planner, at its next
    turn, by which it is in the thread's `messages`; nothing is interrupted. Packets of the type
    `message_read` say who has read it. A stopped run reads it when it goes on.

    Raises `NoResearch` if there is no research that could read it, and `QuestionRefused` if it is
    empty, too long, or one too many.
    """
    return wait_for(asend_message(graph, thread, words), graph._loop())


async def asend_message(graph: ResearchGraph, thread: str, words: str) -> str:
    """Send a message like `send_message`, for async callers."""

    async def send() -> str:
        state = await _research_at_work(graph, thread)
        pages = Pages(graph.page_store, thread_id(thread))
        check_question(words, Limits().question_characters)
        text = safe_text(words)
        # First, since who reads the message may search for its words and open its addresses.
        await note_user(pages, [*state.messages, HumanMessage(text)], state.run)
        return await Inbox(pages, state.run.id).send(text)

    return await at_home(graph, thread, send())


def finish_research(graph: ResearchGraph, thread: str) -> None:
    """End the research at work on a thread, and have its report written from what was found.

    Calls in progress are completed. A stopped run writes its report when it goes on. Raises
    `NoResearch` if there is no research that could end.
    """
    wait_for(afinish_research(graph, thread), graph._loop())


async def afinish_research(graph: ResearchGraph, thread: str) -> None:
    """Finish research like `finish_research`, for async callers."""

    async def finish() -> None:
        state = await _research_at_work(graph, thread)
        await Inbox(Pages(graph.page_store, thread_id(thread)), state.run.id).finish()

    await at_home(graph, thread, finish())


async def _research_at_work(graph: ResearchGraph, thread: str) -> ResearchState:
    """Return the state of a run whose research is at work or was stopped; raises `NoResearch`."""
    snapshot = await graph.aget_state(thread_config(thread))
    if not snapshot.values:
        raise UnknownThread(f"There is no run {thread!r}.")
    state = ResearchState(**snapshot.values)
    # After a kill between two steps, `next` is empty although tasks with results remain.
    is_unfinished = bool(snapshot.next or snapshot.tasks)
    if not is_unfinished or snapshot.interrupts or state.run.status != "running":
        raise NoResearch(
            f"No research is at work on the run {thread!r}: it has not begun, waits for an "
            "answer, or has ended."
        )
    if state.draft or not _AFTER_RESEARCH.isdisjoint(snapshot.next):
        raise NoResearch(f"The research of the run {thread!r} is over, and its report is begun.")
    return state


async def at_home(graph: ResearchGraph, thread: str, work: Coroutine[Any, Any, Value]) -> Value:
    """Await the work on the event loop to which the graph's checkpointer belongs."""
    home = graph._home(thread_config(thread))
    if home is not None:
        work = hand_over(work, home)
    return await work


def thread_config(name: str) -> RunnableConfig:
    """Return the config for the thread with this name; see `thread_id`."""
    return {"configurable": {"thread_id": thread_id(name)}}


@cache
def _opened(location: RunsLocation) -> Database:
    """Return the database of a file or URL, opened once per process; closed only at exit, since
    graphs cannot be."""
    resources = AsyncExitStack()
    loop = background_loop()
    database = wait_for(resources.enter_async_context(open_database(location)), loop)
    atexit.register(lambda: wait_for(resources.aclose(), loop))
    return database


def _with_context(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with a `context` given as a dict converted; raises
    `UnknownSetting`."""
    given = settings.get("context")
    if isinstance(given, dict):
        return {**settings, "context": Context.read(given)}
    return settings


class Answer(NamedTuple):
    """Result of `research`."""

    markdown: str
    """The report with links and a list of sources."""
    report: Report
    """The report as data: text with citation markers, and the keys of its sources."""
    sources: tuple[Source, ...]
    """The cited sources, each with its `number`."""


def research(
    question: str, strategy: Strategy = "orchestrated", **settings: Unpack[Settings]
) -> Answer:
    """Research a question and return the report; asks no clarifying questions and stores nothing.

    `settings` are the fields of `Context`, for example `docs=["folder"]` or `models="extractive"`.
    Raises `UserMistake` if the question or a setting is invalid, `RunFailed` if a model does not
    answer; errors of a model's client library are raised unchanged.
    """
    return wait_for(aresearch(question, strategy, **settings), build_graph(strategy)._loop())


async def aresearch(
    question: str, strategy: Strategy = "orchestrated", **settings: Unpack[Settings]
) -> Answer:
    """Research a question like `research`, on the caller's event loop; cancelling the task stops
    the run."""
    context = Context.read({"clarify": "assume", **settings})
    state = await build_graph(strategy).ainvoke(
        {"messages": [HumanMessage(question)]},
        context=context,
        output_keys=["messages", "report", "sources"],
    )
    report: Report = state["report"]
    return Answer(state["messages"][-1].text, report, tuple(report.cited(state["sources"])))
