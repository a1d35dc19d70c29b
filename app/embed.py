"""The graph inside an app: sync and async, in scripts, notebooks and servers."""

from __future__ import annotations

import asyncio
import atexit
import uuid
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, nullcontext
from dataclasses import replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._config import ensure_config, patch_configurable
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, StateUpdate
from typing_extensions import Unpack

from ..core.library.attachments import messages_with_files, take_files
from ..core.records.report import Report
from ..core.records.sources import Source
from ..core.run.concurrency import in_thread
from ..core.run.context import Context, Settings
from ..core.run.errors import QuestionRefused, SyncCallRefused, UserMistake, said_of
from ..core.run.events.log import flush
from ..core.run.logs import log_failure
from ..core.run.settings import read_context, with_configurable
from ..core.run.store.attachments import attachments_folder, delete_files
from ..core.run.store.database import Database, open_database, place_named
from ..core.run.store.foreign_saver import usable_saver
from ..core.run.store.lease import TOKEN, Lease
from ..core.run.store.pages import Pages
from ..core.run.store.serializer import code_version
from ..core.run.tracing import is_traced, tracing_if, untraced, without_tracers
from ..core.writing.answers import END_RUN
from ..graph.drawable import DrawableGraph
from ..graph.orchestrated import build_orchestrated_graph
from ..graph.planned import build_planned_graph
from .edits import check_nothing_is_lost, read_values
from .loops import aiterate, background_loop, hand_over, iterate, wait_for
from .words import GRAPHS, MARK, Strategy, check_strategy

RECURSION_LIMIT = 500
"""Supersteps of a run; several times what the default limits allow."""
PARENT_TASK, PARENT_SAVER, PARENT_RUNTIME = "__pregel_task_id", "__pregel_checkpointer", "__pregel_runtime"
"""Where LangGraph tells a graph of the graph in whose node it runs; the saver also comes from the server."""
NOT_WAITING = 'goto "__end__" ends a run that waits for an answer; this one does not wait.'


class LeasedGraph(DrawableGraph):
    """A compiled graph that runs alone and as a node of another graph, whose checkpointer and store it then uses.

    It writes to a thread of ours only while no other run does; see `core/run/store/lease.py`.
    """

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **settings: Any
    ) -> AsyncGenerator[Any, None]:
        """Stream as LangGraph's `astream`; raises `ThreadBusy`."""
        config = self._with_store(config)
        if isinstance(input, Command) and input.goto in (END, (END,), [END]):
            input = await self._ending(input, config)
        input, config, clear = await self._without_files(input, config, settings.get("context"))
        is_seen = self._is_traced(config, settings.get("context"))
        own = config if is_seen or not config else without_tracers(config)
        # LangGraph calls it an iterator.
        stream = cast(AsyncGenerator[Any, None], super().astream(input, own, **settings))
        stream = stream if is_seen else untraced(stream, is_run=True)
        failure = ""
        async with self._lease(config) as lease, aclosing(stream):
            try:
                async for part in lease.guard(stream) if lease else stream:
                    yield part
            except Exception as error:
                # An interrupt is how a node pauses its parent.
                failure = "" if isinstance(error, GraphInterrupt) else said_of(error)
                # A mistake of the user is theirs to read, not the operator's.
                if failure and not isinstance(error, UserMistake):
                    log_failure(__name__, error, "A run is stopped by an error")
                raise
            finally:
                thread = str(self._configurable(config).get("thread_id", ""))
                # Why a run stopped that another process has taken over is that process's to note.
                await flush(thread, None if lease and lease.is_lost else failure, self.store)
                if clear:
                    await in_thread(clear)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Change a thread's state in several steps, as LangGraph's `abulk_update_state`; values may be JSON.

        Raises `ThreadBusy` and `EditRefused`.
        """
        async with self._lease(config):
            given = config.get("configurable", {})
            # In a branch, or within another graph, the state is not that of a thread of ours.
            if not given.get("checkpoint_ns"):
                thread = {name: value for name, value in given.items() if name != "checkpoint_id"}
                latest = await self.aget_state({"configurable": thread})
                check_nothing_is_lost(latest, given.get("checkpoint_id"))
                values = (await self.aget_state(config) if given.get("checkpoint_id") else latest).values
                supersteps = [
                    [update._replace(values=read_values(update.values, values)) for update in updates]
                    for updates in supersteps
                ]
            with tracing_if(self._is_traced(config)):
                return await super().abulk_update_state(config, supersteps)

    async def _ending(self, command: Command[Any], config: RunnableConfig | None) -> Command[Any]:
        """Return the answer by which a waiting run ends: LangGraph itself would ask again."""
        if not (await self.aget_state(config or {})).interrupts:
            raise QuestionRefused(NOT_WAITING)
        return replace(command, goto=(), resume=END_RUN)

    async def _without_files(
        self, given: Any, config: RunnableConfig | None, context: object
    ) -> tuple[Any, RunnableConfig | None, Callable[[], None] | None]:
        """Return the input without its files, the config with their thread, and what is to be done after the run."""
        holder: Any = given.update if isinstance(given, Command) else getattr(given, "__dict__", given)
        if not (messages := messages_with_files(holder)):
            return given, config, None
        own = self._configurable(config)
        runtime, saver = own.get(PARENT_RUNTIME), own.get(PARENT_SAVER, self.checkpointer)
        thread = str(own.get("thread_id") or uuid.uuid4())
        known = (one for one in (context, getattr(runtime, "context", None)) if isinstance(one, Context))
        settings = with_configurable(next(known, None), own)
        pages = Pages(getattr(runtime, "store", None) or self.store or InMemoryStore(), thread)
        update = {**holder, "messages": await take_files(messages, pages, settings)}
        clear = partial(delete_files, await in_thread(partial(attachments_folder, settings.data_dir)), thread)
        if isinstance(saver, InMemorySaver):
            atexit.register(clear)
        given = replace(given, update=update) if isinstance(given, Command) else update
        is_stored = isinstance(saver, BaseCheckpointSaver)
        return given, patch_configurable(config, {"thread_id": thread}), None if is_stored else clear

    def _lease(self, config: RunnableConfig | None) -> AbstractAsyncContextManager[Lease | None]:
        given = self._configurable(config)
        leases = getattr(given.get(PARENT_SAVER, self.checkpointer), "leases", None)
        # Within a node of another graph, the thread is that graph's.
        if leases is None or not given.get("thread_id") or PARENT_TASK in given:
            return nullcontext()
        held: AbstractAsyncContextManager[Lease] = leases.hold(str(given["thread_id"]), given.get(TOKEN, ""))
        return held

    def _is_traced(self, config: RunnableConfig | None, context: object = None) -> bool:
        given = self._configurable(config)
        return is_traced(context, getattr(given.get(PARENT_RUNTIME), "context", None), given)

    def _with_store(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Return the config with our store in it where a parent graph has none."""
        runtime = self._configurable(config).get(PARENT_RUNTIME)
        if not isinstance(runtime, Runtime) or runtime.store is not None:
            return config
        lent = ensure_config(config)
        lent["configurable"][PARENT_RUNTIME] = runtime.override(store=self.store)
        return lent

    def _configurable(self, config: RunnableConfig | None) -> dict[str, Any]:
        """Return the `configurable` of a call; of a call without a config in a node, that of the node."""
        given: dict[str, Any] = ensure_config(self.config, config)["configurable"]
        return given

    def _resolve_checkpointer(self, config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
        # The saver of a parent comes in here, for runs and for reads of their state.
        saver = super()._resolve_checkpointer(config)
        return usable_saver(saver) if isinstance(saver, BaseCheckpointSaver) else saver


def _both(name: str, position: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return LangGraph's async method of this name for callers without an event loop, and on the checkpointer's loop.

    `position` is that of the config among its arguments.
    """

    @wraps(getattr(LeasedGraph, name))
    def waited(self: ResearchGraph, *args: Any, **settings: Any) -> Any:
        loop = self._loop(_config_in(args, settings, position))
        return wait_for(getattr(super(ResearchGraph, self), name)(*args, **_checked(settings)), loop)

    @wraps(getattr(LeasedGraph, name))
    async def handed_over(self: ResearchGraph, *args: Any, **settings: Any) -> Any:
        coroutine = getattr(super(ResearchGraph, self), name)(*args, **_checked(settings))
        home = self._home(_config_in(args, settings, position))
        return await (coroutine if home is None else hand_over(coroutine, home))

    return waited, handed_over


def _both_streams(
    name: str, position: int
) -> tuple[Callable[..., Generator[Any, None, None]], Callable[..., AsyncGenerator[Any, None]]]:
    """Do as `_both` for a method that yields its results; leaving the iterator early cancels it."""

    @wraps(getattr(LeasedGraph, name))
    def waited(self: ResearchGraph, *args: Any, **settings: Any) -> Generator[Any, None, None]:
        make = partial(getattr(super(ResearchGraph, self), name), *args, **_checked(settings))
        yield from iterate(make, self._loop(_config_in(args, settings, position)))

    @wraps(getattr(LeasedGraph, name))
    async def handed_over(self: ResearchGraph, *args: Any, **settings: Any) -> AsyncGenerator[Any, None]:
        make = partial(getattr(super(ResearchGraph, self), name), *args, **_checked(settings))
        home = self._home(_config_in(args, settings, position))
        async for part in make() if home is None else aiterate(make, home):
            yield part

    return waited, handed_over


def _config_in(args: tuple[Any, ...], settings: Mapping[str, Any], position: int) -> RunnableConfig | None:
    config: RunnableConfig | None = args[position] if len(args) > position else settings.get("config")
    return config


class ResearchGraph(LeasedGraph):
    """A compiled graph whose sync methods work although all its nodes are async.

    Everything runs on the event loop that the checkpointer belongs to. A checkpointer that belongs to none leaves async
    calls where they are made and sends sync calls to a loop in the background. A run whose stream is left early can be
    resumed.
    """

    stream, astream = _both_streams("astream", 1)
    invoke, ainvoke = _both("ainvoke", 1)
    get_state, aget_state = _both("aget_state", 0)
    get_state_history, aget_state_history = _both_streams("aget_state_history", 0)
    update_state, aupdate_state = _both("aupdate_state", 0)
    bulk_update_state, abulk_update_state = _both("abulk_update_state", 0)

    def _home(self, config: RunnableConfig | None) -> asyncio.AbstractEventLoop | None:
        """Return the loop that a call has to be handed over to; none if it can stay where it is."""
        loop = self._saver_loop(config)
        return None if loop is None or loop is asyncio.get_running_loop() else loop

    def _saver_loop(self, config: RunnableConfig | None) -> asyncio.AbstractEventLoop | None:
        saver = self._configurable(config).get(PARENT_SAVER, self.checkpointer)
        loop: asyncio.AbstractEventLoop | None = getattr(saver, "loop", None)
        return loop

    def _loop(self, config: RunnableConfig | None = None) -> asyncio.AbstractEventLoop:
        loop = self._saver_loop(config) or background_loop()
        if not loop.is_running() or loop is asyncio._get_running_loop():
            raise SyncCallRefused(
                "This checkpointer belongs to an event loop that cannot be waited for here: use the graph's async "
                'methods, or let the graph open the file: build_graph(checkpointer="runs.sqlite").'
            )
        return loop


def build_graph(
    strategy: Strategy = "orchestrated",
    *,
    checkpointer: BaseCheckpointSaver[Any] | Literal[True] | str | Path | None = None,
    store: BaseStore | None = None,
) -> ResearchGraph:
    """Return the compiled research graph of a strategy, to be run alone or as a node of another graph.

    `checkpointer` is a LangGraph saver, the path of an SQLite file, which is made if it is missing, or the address of a
    PostgreSQL database (`postgresql://…`); file and database keep checkpoints and page texts. Without a checkpointer a
    run cannot pause to ask; it states its assumptions instead. A node uses the checkpointer of its parent; with `True`
    it remembers the sources of earlier turns. Without `store`, and without that of a parent, page texts stay in memory
    and end with the process, unless `checkpointer` is a path or an address.

    Raises `UnknownSetting` for an unknown strategy, `DatabaseUnusable` for a missing folder, a file that is not ours or
    a database that cannot be reached, `ExtraMissing`.
    """
    check_strategy(strategy)
    # What it reads, nobody should have to wait for later.
    code_version()
    if isinstance(checkpointer, str | Path):
        place = place_named(checkpointer)
        database = _opened(place.resolve() if isinstance(place, Path) else place)
        checkpointer, store = database.saver, store or database.store
    elif isinstance(checkpointer, BaseCheckpointSaver):
        checkpointer = usable_saver(checkpointer)
    return ResearchGraph.of(compile_graph(strategy), checkpointer=checkpointer, store=store or InMemoryStore())


@cache
def compile_graph(strategy: Strategy) -> LeasedGraph:
    """Return the graph of a strategy under its name, whose checkpoints say by which strategy they were made.

    It is compiled once per process, as that takes as long as a step; whoever changes it takes a copy.
    """
    graph = build_planned_graph() if strategy == "planned" else build_orchestrated_graph()
    config = RunnableConfig(recursion_limit=RECURSION_LIMIT, metadata={MARK: strategy})
    return LeasedGraph.of(graph.compile(name=GRAPHS[strategy])).with_config(config)


def thread_config(name: str) -> RunnableConfig:
    """Return the config that names a thread; a name that is no UUID becomes one."""
    return {"configurable": {"thread_id": thread_id(name)}}


def thread_id(name: str) -> str:
    """Return the id of the thread with this name: the same for the same name."""
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"deep-research:{name}"))


@cache
def _opened(place: Path | str) -> Database:
    """Return a database, opened once a process and closed at its end: a graph has no end of its own."""
    resources, loop = AsyncExitStack(), background_loop()
    database = wait_for(resources.enter_async_context(open_database(place)), loop)
    atexit.register(lambda: wait_for(resources.aclose(), loop))
    return database


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    given = settings.get("context")
    if isinstance(given, dict):
        return {**settings, "context": read_context(given)}
    return settings


class Answer(NamedTuple):
    """What `research` returns."""

    markdown: str
    """The report with links and its list of sources."""
    report: Report
    """The report as data: text with markers, and the keys of its sources."""
    sources: tuple[Source, ...]
    """The cited sources, each with its `number`."""


def research(question: str, strategy: Strategy = "orchestrated", **settings: Unpack[Settings]) -> Answer:
    """Research a question and return the report; nothing is asked back and nothing is kept.

    `settings` are the fields of `Context`, for example `docs=["folder"]` or `models="extractive"`. Raises
    `UserMistake` if the question or a setting has to change, `RunFailed` if a model writes nothing or falls silent;
    errors of a model's own client are raised as they are.
    """
    graph, call = _prepare(question, strategy, settings)
    return _answer(graph.invoke(**call))


async def aresearch(question: str, strategy: Strategy = "orchestrated", **settings: Unpack[Settings]) -> Answer:
    """Research a question as `research` does, on the caller's event loop; cancelling the task stops it."""
    graph, call = _prepare(question, strategy, settings)
    return _answer(await graph.ainvoke(**call))


def _prepare(question: str, strategy: Strategy, settings: Settings) -> tuple[ResearchGraph, dict[str, Any]]:
    """Return a graph, and the arguments that it is invoked with."""
    context = read_context({"clarify": "assume", **settings})
    call = {"input": {"messages": [HumanMessage(question)]}, "context": context}
    return build_graph(strategy), {**call, "output_keys": ["messages", "report", "sources"]}


def _answer(state: Mapping[str, Any]) -> Answer:
    report: Report = state["report"]
    return Answer(state["messages"][-1].text, report, tuple(report.cited(state["sources"])))
