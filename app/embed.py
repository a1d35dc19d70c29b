"""The graph inside an app: sync and async, in scripts, notebooks and servers."""

from __future__ import annotations

import asyncio
import atexit
import uuid
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, nullcontext
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables.config import RunnableConfig, merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel
from typing_extensions import Unpack

from ..core.records.report import Report
from ..core.records.sources import Source
from ..core.run.context import Settings
from ..core.run.errors import SyncOnlySaver, said_of
from ..core.run.events.log import flush
from ..core.run.store.database import Database, open_database, place_named
from ..core.run.store.lease import TOKEN, Lease
from ..core.run.store.serializer import code_version, with_strict_serializer
from ..graph.drawable import DrawableGraph, compile_drawable
from ..graph.orchestrated import build_orchestrated_graph
from ..graph.planned import build_planned_graph
from .loops import aiterate, background_loop, hand_over, iterate, wait_for
from .settings import read_context
from .words import GRAPHS, MARK, Strategy, check_strategy

RECURSION_LIMIT = 500
"""Supersteps of a run; several times what the default limits allow."""


class LeasedGraph(DrawableGraph):
    """A compiled graph that writes to a thread of ours only while no other run does; see `core/run/lease.py`."""

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **settings: Any
    ) -> AsyncGenerator[Any, None]:
        """Stream as LangGraph's `astream`; raises `ThreadBusy`."""
        # LangGraph calls it an iterator.
        stream = cast(AsyncGenerator[Any, None], super().astream(input, config, **settings))
        failure = ""
        async with self._lease(config) as lease, aclosing(stream):
            try:
                async for part in lease.guard(stream) if lease else stream:
                    yield part
            except Exception as error:
                failure = said_of(error)
                raise
            finally:
                thread = str(merge_configs(self.config, config).get("configurable", {}).get("thread_id", ""))
                # Why a run stopped that another process has taken over is that process's to note.
                await flush(thread, None if lease and lease.is_lost else failure)

    async def abulk_update_state(self, config: RunnableConfig, *args: Any, **settings: Any) -> Any:
        """Change a thread's state in several steps, as LangGraph's `abulk_update_state`; raises `ThreadBusy`."""
        async with self._lease(config):
            return await super().abulk_update_state(config, *args, **settings)

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """Return the JSON schema of the settings, made once: the server asks for it at each run."""
        kind = self.context_schema
        return _json_schema(kind) if kind else None  # type: ignore[arg-type]  # mypy doubts that classes can be hashed

    def _lease(self, config: RunnableConfig | None) -> AbstractAsyncContextManager[Lease | None]:
        given = merge_configs(self.config, config).get("configurable", {})
        leases = getattr(given.get("__pregel_checkpointer", self.checkpointer), "leases", None)
        # Within a node of another graph, the thread is that graph's.
        if leases is None or not given.get("thread_id") or "__pregel_task_id" in given:
            return nullcontext()
        held: AbstractAsyncContextManager[Lease] = leases.hold(str(given["thread_id"]), given.get(TOKEN, ""))
        return held


def _waited(name: str) -> Callable[..., Any]:
    """Return the sync method that waits for LangGraph's async one of this name."""

    @wraps(getattr(LeasedGraph, name))
    def method(self: ResearchGraph, *args: Any, **settings: Any) -> Any:
        loop = self._loop()
        return wait_for(getattr(super(ResearchGraph, self), name)(*args, **settings), loop)

    return method


def _at_home(name: str) -> Callable[..., Any]:
    """Return LangGraph's async method of this name on the loop of the checkpointer."""

    @wraps(getattr(LeasedGraph, name))
    async def method(self: ResearchGraph, *args: Any, **settings: Any) -> Any:
        return await self._at_home(getattr(super(ResearchGraph, self), name)(*args, **settings))

    return method


class ResearchGraph(LeasedGraph):
    """A compiled graph whose sync methods work although all its nodes are async.

    Everything runs on the event loop that the checkpointer belongs to. A checkpointer that belongs to none leaves async
    calls where they are made and sends sync calls to a loop in the background.
    """

    def stream(self, *args: Any, **settings: Any) -> Generator[Any, None, None]:
        """Stream as LangGraph's `stream`; leaving the iterator early cancels the run, which can be resumed."""
        settings = _checked(settings)
        yield from iterate(lambda: super(ResearchGraph, self).astream(*args, **settings), self._loop())

    async def astream(self, *args: Any, **settings: Any) -> AsyncGenerator[Any, None]:
        """Stream as LangGraph's `astream`."""
        settings = _checked(settings)
        home = self._home()
        stream = (
            super().astream(*args, **settings)
            if home is None
            else aiterate(lambda: super(ResearchGraph, self).astream(*args, **settings), home)
        )
        async for part in stream:
            yield part

    def invoke(self, *args: Any, **settings: Any) -> Any:
        """Run to the end or to the next pause, as LangGraph's `invoke`."""
        loop = self._loop()
        return wait_for(super().ainvoke(*args, **_checked(settings)), loop)

    async def ainvoke(self, *args: Any, **settings: Any) -> Any:
        """Run to the end or to the next pause, as LangGraph's `ainvoke`."""
        return await self._at_home(super().ainvoke(*args, **_checked(settings)))

    get_state = _waited("aget_state")
    aget_state = _at_home("aget_state")
    bulk_update_state = _waited("abulk_update_state")
    abulk_update_state = _at_home("abulk_update_state")
    update_state = _waited("aupdate_state")
    aupdate_state = _at_home("aupdate_state")

    def get_state_history(self, *args: Any, **settings: Any) -> Iterator[Any]:
        """Yield the states of a thread, the latest first, as LangGraph's `get_state_history`."""
        yield from iterate(lambda: super(ResearchGraph, self).aget_state_history(*args, **settings), self._loop())

    async def aget_state_history(self, *args: Any, **settings: Any) -> AsyncGenerator[Any, None]:
        """Yield the states of a thread, the latest first, as LangGraph's `aget_state_history`."""
        home = self._home()
        states = (
            super().aget_state_history(*args, **settings)
            if home is None
            else aiterate(lambda: super(ResearchGraph, self).aget_state_history(*args, **settings), home)
        )
        async for state in states:
            yield state

    def _home(self) -> asyncio.AbstractEventLoop | None:
        """Return the loop that a call has to be handed over to; none if it can stay where it is."""
        loop = getattr(self.checkpointer, "loop", None)
        return None if loop is None or loop is asyncio.get_running_loop() else loop

    def _loop(self) -> asyncio.AbstractEventLoop:
        loop: asyncio.AbstractEventLoop = getattr(self.checkpointer, "loop", None) or background_loop()
        if not loop.is_running() or loop is _running_loop():
            raise SyncOnlySaver(
                "This checkpointer belongs to an event loop that cannot be waited for here: use the graph's async "
                'methods, or let the graph open the file: build_graph(checkpointer="runs.sqlite").'
            )
        return loop

    async def _at_home(self, coroutine: Any) -> Any:
        home = self._home()
        return await (coroutine if home is None else hand_over(coroutine, home))


def build_graph(
    strategy: Strategy = "orchestrated",
    *,
    checkpointer: BaseCheckpointSaver[Any] | str | Path | None = None,
    store: BaseStore | None = None,
) -> ResearchGraph:
    """Return the compiled research graph of a strategy.

    `checkpointer` is an async LangGraph saver, the path of an SQLite file, which is made if it is missing, or the
    address of a PostgreSQL database (`postgresql://…`); file and database keep checkpoints and page texts. Without one
    a run cannot pause to ask; it states its assumptions instead. Without `store` the page texts stay in memory and end
    with the process, unless `checkpointer` is a path or an address.
    Raises `UnknownSetting` for a strategy that there is not, `SyncOnlySaver` for savers without async methods,
    `DatabaseUnusable` for a file that is not ours or a database that cannot be reached, `ExtraMissing`.
    """
    check_strategy(strategy)
    # What it reads, nobody should have to wait for later.
    code_version()
    if isinstance(checkpointer, str | Path):
        place = place_named(checkpointer)
        database = _opened(place.resolve() if isinstance(place, Path) else place)
        checkpointer, store = database.saver, store or database.store
    elif checkpointer is not None:
        _check_saver(checkpointer)
        checkpointer = with_strict_serializer(checkpointer)
    compiled = compile_graph(strategy).copy({"checkpointer": checkpointer, "store": store or InMemoryStore()})
    compiled.__class__ = ResearchGraph
    return compiled  # type: ignore[return-value]


@cache
def compile_graph(strategy: Strategy) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph of a strategy under its name, whose checkpoints say by which strategy they were made.

    It is compiled once per process, as that takes as long as a step; whoever changes it takes a copy.
    """
    graph = build_planned_graph() if strategy == "planned" else build_orchestrated_graph()
    compiled: CompiledStateGraph[Any, Any, Any, Any] = compile_drawable(graph, name=GRAPHS[strategy])
    compiled.__class__ = LeasedGraph
    return compiled.with_config({"recursion_limit": RECURSION_LIMIT, "metadata": {MARK: strategy}})


@cache
def _json_schema(settings: type[BaseModel]) -> dict[str, Any]:
    return settings.model_json_schema()


def thread_config(name: str) -> dict[str, Any]:
    """Return the config that names a thread; a name that is no UUID becomes one."""
    return {"configurable": {"thread_id": thread_id(name)}}


def thread_id(name: str) -> str:
    """Return the id of the thread with this name: the same for the same name."""
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"deep-research:{name}"))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@cache
def _opened(place: Path | str) -> Database:
    """Return a database, opened once a process and closed at its end: a graph has no end of its own."""
    resources, loop = AsyncExitStack(), background_loop()
    database = wait_for(resources.enter_async_context(open_database(place)), loop)
    atexit.register(lambda: wait_for(resources.aclose(), loop))
    return database


def _check_saver(saver: BaseCheckpointSaver[Any]) -> None:
    lacks_async = type(saver).aget_tuple is BaseCheckpointSaver.aget_tuple or isinstance(saver, SqliteSaver)
    if lacks_async:
        raise SyncOnlySaver(
            f"{type(saver).__name__} has no async methods, which this graph needs: write "
            'build_graph(checkpointer="runs.sqlite") to have a file opened, or pass the async saver of the same kind.'
        )


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
    """The cited sources; the first has the number 1."""


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
    return Answer(state["messages"][-1].text, report, tuple(state["sources"][key] for key in report.sources))
