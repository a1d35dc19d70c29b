"""Whole runs with scripted models over a small real folder, a clock that a test moves, and what a
run leaves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest
from langchain_core.language_models import ModelProfile
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolMessage,
)
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import TypeAdapter
from typing_extensions import override

from deep_research import Answer
from deep_research import research as run_research
from deep_research.app.embed import ResearchGraph, build_graph, thread_config
from deep_research.app.stream import replay
from deep_research.core.events.packets import AnyPacket
from deep_research.core.library.library import Library
from deep_research.core.records import tool_names
from deep_research.core.records.research import Finding, Strategy
from deep_research.core.settings.context import Context, Role
from deep_research.core.settings.limits import Limits
from deep_research.core.store.location import thread_id
from deep_research.core.store.pages import Pages
from deep_research.state import ResearchState
from deep_research.tools._addresses import Addresses
from deep_research.tools._open_url import OpenUrl, OpenUrlArguments
from deep_research.tools._web_search import WebSearch, WebSearchArguments
from deep_research.tools.engine import Found, SearchEngine
from deep_research.tools.tool import Meter, Outcome, ToolContext
from deep_research.tools.use import TimeLimit, keep, use_tool
from kit.models import (
    Call,
    Heard,
    ScriptedChatModel,
    ScriptExhausted,
    call,
    calls,
    figure_judge,
)
from kit.packets import READER, Books, faults_before_stop
from kit.web import Web

if TYPE_CHECKING:
    # The import takes nearly a second.
    from langchain.agents.middleware.human_in_the_loop import HITLRequest

DOCUMENTS = {
    "lighthouse.md": "# Skerry Light\n\nThe Skerry Light was lit for the first time in 1844. "
    "It stands 38 metres tall.\n",
    "keeper.md": "# Ada Moran\n\nAda Moran kept the Skerry Light from 1901 to 1932. She was born in Tralee.\n",
    "harbour.txt": "Port Anlow\n\nPort Anlow is the harbour next to the Skerry Light. Its ferry sails twice a day.\n",
    "tides.html": "<html><head><title>Tides</title></head><body><h1>Tides</h1><p>The spring tide at Port Anlow "
    "reaches 5.2 metres above the chart datum.</p></body></html>",
}
QUESTION = "What is known about the Skerry Light and its keeper?"
PLAN = "1. History of the Skerry Light\n2. Its keeper Ada Moran\n3. The harbour beside it"

MANY = 1_000
"""More texts than a thread of a test stores."""
PLANNED = call("generate_plan")
REPORT = calls(call("generate_report"))
CLEAR = calls(PLANNED)
"""What is asked is clear."""


class HandClock:
    """A clock that moves when a test moves it."""

    def __init__(self) -> None:
        self._time = 0.0
        self._sleepers: list[tuple[float, Callable[[], object]]] = []

    def __repr__(self) -> str:
        return f"HandClock at {self._time}"

    @property
    def time(self) -> float:
        return self._time

    @time.setter
    def time(self, seconds: float) -> None:
        self._time = seconds
        for due, wake in list(self._sleepers):
            if due <= seconds:
                wake()

    def now(self) -> datetime:
        return datetime(2026, 3, 4, 5, 6)

    def seconds(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        loop, is_over = asyncio.get_running_loop(), asyncio.Event()
        # The clock may be moved by a run that works in another thread.
        sleeper = (self.time + seconds, lambda: loop.call_soon_threadsafe(is_over.set))
        self._sleepers.append(sleeper)
        if sleeper[0] <= self.time:
            is_over.set()
        try:
            await is_over.wait()
        finally:
            self._sleepers.remove(sleeper)

    def after(self, seconds: float, reply: Any) -> Any:
        """The reply, or what it answers, once so many seconds have passed."""

        def wait(*asked: Any) -> Any:
            self.time += seconds
            return reply(*asked) if callable(reply) else reply

        return wait


class WatchedSaver(InMemorySaver):
    """Lets others wait for what is stored next."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.is_written = asyncio.Event()

    @override
    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        # LangGraph looks at the arguments: the path of a task is told to those alone who can take
        # it.
        await super().aput_writes(config, writes, task_id, task_path)
        self.is_written.set()


FORMS: dict[str, Any] = {}
"""What is handed in for the form of a node that is none of a plain run's, whoever is asked, unless
a script says so."""
PLAIN = {
    tool_names.CALCULATE,
    tool_names.GENERATE_PLAN,
    tool_names.GENERATE_REPORT,
    tool_names.REWRITE_SENTENCES,
}
"""Of these, each request of a plain run offers one, if it offers any tool."""


class RoleModel(ScriptedChatModel):
    """Answers for one role; what is asked for in other forms takes nothing away from its script."""

    chunk_characters: int = 60
    """Putting many small chunks together would take longer than all else in a run."""
    role: Role

    @override
    def _key(self, messages: list[BaseMessage], tools: Sequence[str]) -> str:
        if tools and not PLAIN.union(self._scripts()).intersection(tools):
            scripted = "; ".join(self.unused()) or "nothing more"
            raise ScriptExhausted(
                f"The {self.role} is asked for {', '.join(tools)}, for which neither its script ({scripted}) "
                "nor `FORMS` of kit/runs.py has an answer."
            )
        return super()._key(messages, tools)


def research(*tasks: str, ids: tuple[str, ...] = ()) -> AIMessage:
    """A message that hands out tasks."""
    names = ids or ("",) * len(tasks)
    return calls(
        *(
            call("research_agent", task=task, id=name)
            for task, name in zip(tasks, names, strict=True)
        )
    )


def broken_call(name: str, arguments: str, *, id: str | None = "") -> InvalidToolCall:
    """A tool call whose arguments, as sent, are no JSON object."""
    return invalid_tool_call(name=name, args=arguments, id=id, error="cut off")


def think(thought: str = "What is missing?") -> AIMessage:
    return calls(call("think_tool", reasoning=thought))


def search(*queries: str) -> AIMessage:
    return calls(call("internal_search", queries=list(queries)))


def simple_research(finding: str = "It was lit in 1844. [1]") -> list[Any]:
    """A researcher that searches once and writes."""
    return [search("Skerry Light"), REPORT, finding]


def many(tasks: int) -> dict[str, list[Any]]:
    """Researchers for the tasks `task 0.`, `task 1.` and so on."""
    return {f"task {number}.": simple_research(f"Finding {number}. [1]") for number in range(tasks)}


def write_documents(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


class Thread:
    """A thread of a graph, and the packets that it has sent."""

    graph: ResearchGraph
    thread: str
    packets: list[dict[str, Any]]

    async def state(self) -> ResearchState:
        return ResearchState(**(await self.graph.aget_state(thread_config(self.thread))).values)

    async def replayed(self) -> list[AnyPacket]:
        """The packets of the latest question, as they are stored."""
        return await replay(self.graph.page_store, thread_id(self.thread), await self.state())

    def types(self) -> list[str]:
        return [packet["type"] for packet in self.packets]

    def of_type(self, *types: str) -> list[dict[str, Any]]:
        """The packets of some types, in order."""
        return [packet for packet in self.packets if packet["type"] in types]


@dataclass
class Lab(Thread):
    """One thread and all that it did."""

    folder: Path
    models: dict[Role, ScriptedChatModel]
    settings: dict[str, Any]
    graph: ResearchGraph
    thread: str = "lab"
    packets: list[dict[str, Any]] = field(default_factory=list)
    books: Books | None = field(default_factory=Books)
    """None: what calls cost cannot be known here."""
    expected: str = ""
    """Words of a fault of the packets that this run is expected to have."""

    @property
    def context(self) -> Context:
        given = self.settings.get("limits", {})
        chosen = given.model_dump(exclude_unset=True) if isinstance(given, Limits) else given
        # Researchers search, also where the documents are short, unless a test says otherwise.
        limits = Limits(**{"whole_characters": 0, **chosen})
        usual = {"models": dict(self.models), "docs": (self.folder,)}
        return Context(**{**usual, **self.settings, "limits": limits})

    async def ask(self, message: Any = QUESTION, before: str = "") -> ResearchState:
        """Send a question (or a command, or None to go on) and return the state afterwards.

        `before`: name of a node; the run ends before it, and can go on.
        """
        given = {"messages": [HumanMessage(message)]} if isinstance(message, str) else message
        way: Any = {
            "context": self.context,
            "stream_mode": "custom",
            "subgraphs": True,
            "version": "v2",
            "interrupt_before": [before] if before else None,
        }
        if message is None and not self.packets:
            # Somebody else has heard the beginning.
            self.books = None
        heard, is_whole = list[dict[str, Any]](), False
        try:
            async for part in self.graph.astream(given, thread_config(self.thread), **way):
                heard.append(part["data"])
                self.packets.append(part["data"])
            is_whole = not before
        finally:
            wrong = faults_before_stop([*map(READER.validate_python, heard)], is_whole=is_whole)
            left = [fault for fault in wrong if not self.expected or self.expected not in fault]
            # What goes on may begin in the middle of a block.
            goes_on = message is None or (isinstance(message, Command) and message.update)
            assert goes_on or before or not left, left
            state = await self.state()
            assert not self.books or not (fault := self.books.fault(heard, state)), fault
        return state

    async def ask_once(self, question: str = QUESTION, before: str = "") -> ResearchState:
        """Ask the first question, which is done once for all tests with these settings whose models
        answer it alike; returns the state afterwards.

        For tests of later turns: thread, packets and calls are the same as after `ask`, but nothing
        is logged, sent or stored elsewhere.
        """
        settings = sorted(self.settings.items())
        name = f"{type(self).__name__} {question} {before} {self.folder} {settings}"
        # A model may play several roles.
        models = list({id(model): model for model in self.models.values()}.values())
        for begun in _begun.setdefault(name, []):
            if all(model.repeats(heard) for model, heard in zip(models, begun.heard, strict=True)):
                self.take_over(begun.thread)
                for model, heard in zip(models, begun.heard, strict=True):
                    model.take_over(heard)
                return await self.state()
        state = await self.ask(question, before=before)
        thread = replace(self, graph=build_graph(checkpointer=WatchedSaver()))
        thread.take_over(self)
        _begun[name].append(_Begun(thread, [model.heard() for model in models]))
        return state

    async def ask_for_report(self) -> ResearchState:
        """Ask the first question, with the research for it done once as by `ask_once`."""
        await self.ask_once(before="write_report")
        return await self.ask(None)

    def take_over(self, other: Lab) -> None:
        """Go on where the thread of another lab stands, which stays as it is."""
        saver, kept = self.graph.checkpointer, other.graph.checkpointer
        assert isinstance(saver, WatchedSaver) and isinstance(kept, WatchedSaver)
        # What is stored is bytes and never changes, so the containers alone are copied.
        for thread, namespaces in kept.storage.items():
            for namespace, checkpoints in namespaces.items():
                saver.storage[thread][namespace] = dict(checkpoints)
        for checkpoint, writes in kept.writes.items():
            saver.writes[checkpoint] = dict(writes)
        saver.blobs.update(kept.blobs)
        for item in other.graph.memory.search((), limit=MANY):
            self.graph.memory.put(item.namespace, item.key, item.value)
        self.packets = list(other.packets)
        self.books = deepcopy(other.books)

    async def next(self) -> tuple[str, ...]:
        return tuple((await self.graph.aget_state(thread_config(self.thread))).next)

    async def waiting(self) -> dict[str, Any]:
        """Payload of the interrupt at which the run waits."""
        [interrupt] = (await self.graph.aget_state(thread_config(self.thread))).interrupts
        return dict(interrupt.value)

    async def until_finished(self, branches: int = 1) -> None:
        """Wait until so many researchers of the present round have ended and are stored."""
        saver = self.graph.checkpointer
        assert isinstance(saver, WatchedSaver)
        while True:
            saver.is_written.clear()
            snapshot = await self.graph.aget_state(thread_config(self.thread))
            if sum(1 for task in snapshot.tasks if task.result) >= branches:
                return
            await saver.is_written.wait()

    def calls(self, role: Role) -> list[Call]:
        """The requests to a role, but for those that `FORMS` answers."""
        return [
            request for request in self.models[role].calls if FORMS.keys().isdisjoint(request.tools)
        ]

    def words(self, kind: str) -> str:
        return "".join(packet["content"] for packet in self.packets if packet["type"] == kind)

    def all_used(self) -> bool:
        return not any(model.unused() for model in self.models.values())


class _Begun(NamedTuple):
    """A thread after its first question."""

    thread: Lab
    heard: list[Heard]
    """By its models, those of several roles once."""


_begun: dict[str, list[_Begun]] = {}
"""By the settings and the node before which they stand."""


def lab(
    tmp_path: Path,
    *,
    verifier: Any = None,
    graph: ResearchGraph | None = None,
    profile: ModelProfile | None = None,
    **settings: Any,
) -> Lab:
    """A thread whose models answer by the scripts given for their roles; those left out do what a
    plain run needs."""
    usual: dict[Role, Any] = {
        "clarifier": [CLEAR],
        "planner": [PLAN],
        "orchestrator": [research("When was the Skerry Light lit?"), REPORT],
        "researcher": simple_research(),
        "writer": ["The Skerry Light was lit in 1844. [1]"],
    }
    profile = profile or ModelProfile(max_input_tokens=100_000)
    models: dict[Role, Any] = {}
    for role, reply in usual.items():
        given = settings.pop(role, None)
        script = reply if given is None else given
        replies = {**FORMS, **(script if isinstance(script, dict) else {"": script})}
        models[role] = RoleModel(role=role, replies=replies, profile=profile)
    models["verifier"] = verifier or figure_judge(profile)
    built = graph or build_graph(checkpointer=WatchedSaver())
    folder = tmp_path.parent / "lab-documents"
    if not folder.exists():
        write_documents(folder)
    return Lab(folder, models, {"data_dir": tmp_path.parent / "lab-data", **settings}, built)


async def answered(tmp_path: Path, **settings: Any) -> tuple[Lab, ResearchState]:
    """A `lab` that was asked the usual question, and its state."""
    run = lab(tmp_path, **settings)
    return run, await run.ask()


RESEARCHING: tuple[Role, ...] = ("clarifier", "planner", "orchestrator", "researcher")
_researched: dict[str, Lab] = {}
"""Runs that stand before their report, by question, documents and scripts."""


async def researched(
    tmp_path: Path, question: str = QUESTION, folder: Path | None = None, **settings: Any
) -> Lab:
    """A `lab` whose findings are there: `ask(None)` has the report written and checked.

    The research takes more than half of a run. It is done once for all tests with the same
    question, documents and scripts of the roles that research; other settings have no part in it.
    """
    scripts = {role: settings[role] for role in RESEARCHING if role in settings}
    name = f"{question} {folder} {scripts}"
    if name not in _researched:
        first = lab(tmp_path, **scripts)
        first.folder = folder or first.folder
        await first.ask(question, before="write_report")
        _researched[name] = first
    run = lab(tmp_path, **settings)
    run.folder = folder or run.folder
    run.take_over(_researched[name])
    return run


async def report_of(tmp_path: Path, **settings: Any) -> tuple[Lab, ResearchState]:
    """A `researched` lab whose report was written, and its state."""
    run = await researched(tmp_path, **settings)
    return run, await run.ask(None)


def results(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """Tool results by call id."""
    return {
        message.tool_call_id: message.text
        for message in messages
        if isinstance(message, ToolMessage)
    }


def in_order(state: ResearchState) -> list[Finding]:
    return sorted(state.findings.values(), key=lambda finding: (finding.cycle, finding.position))


def every_call_has_one_result(messages: Sequence[BaseMessage]) -> bool:
    """Whether each call id in the messages is unique and answered exactly once."""
    asked = [entry["id"] for m in messages if isinstance(m, AIMessage) for entry in m.tool_calls]
    answered = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
    return len(set(asked)) == len(asked) and sorted(map(str, asked)) == sorted(answered)


def requested(value: dict[str, Any]) -> HITLRequest:
    """The part of an interrupt that chat clients read."""
    from langchain.agents.middleware.human_in_the_loop import HITLRequest

    read = {name: value[name] for name in HITLRequest.__annotations__}
    return TypeAdapter(HITLRequest).validate_python(read, strict=True)


def decided(kind: str, **more: Any) -> Command[Any]:
    """A decision, as chat clients send it."""
    from langchain.agents.middleware.human_in_the_loop import HITLResponse

    return Command(
        resume=TypeAdapter(HITLResponse).validate_python({"decisions": [{"type": kind, **more}]})
    )


def edited(plan: str) -> Command[Any]:
    """A plan that was edited in a client's form."""
    return decided("edit", edited_action={"name": "research_plan", "args": {"plan": plan}})


def written(folder: Path, files: dict[str, str]) -> Path:
    """The folder with these files, named by their suffixes: `ship_md` is "ship.md"."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        path = folder / f"{stem}.{suffix}"
        # A file that is written again would be indexed again.
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    return folder


def answer(
    folder: Path, question: str, strategy: Strategy = "orchestrated", **files: str
) -> Answer:
    """What comes back on a question over these files."""
    docs = written(folder / "documents", files)
    return run_research(
        question, strategy, docs=(docs,), models="extractive", engines=(), data_dir=folder / "data"
    )


def ask(folder: Path, question: str, strategy: Strategy = "orchestrated", **files: str) -> str:
    """The text of the report."""
    return answer(folder, question, strategy, **files).report.text


class Shelf:
    """An engine that has the same answer for every query; an error in it is raised."""

    title = "Shelf"
    parallel, gap = 4, 0.0

    def __init__(self, name: str, *found: Any, seconds: float = 0.0) -> None:
        """`found` is what it answers, whatever its type; `seconds` is the time that it takes."""
        self.name, self.found, self.seconds = name, list(found), seconds
        self.asked: list[str] = []

    async def search(self, query: str, count: int) -> list[Found]:
        self.asked.append(query)
        await asyncio.sleep(self.seconds)
        if self.found and isinstance(self.found[0], Exception):
            raise self.found[0]
        return cast("list[Found]", self.found)


def new_tool_context(
    store: InMemoryStore | None = None, question: str = "question", **seen: Any
) -> ToolContext:
    """A thread of its own, unless a store is given."""
    return ToolContext(
        Pages(store or InMemoryStore(), "thread"), question, **{"meter": Meter(), **seen}
    )


def settings(*, limits: dict[str, Any] | None = None, **values: Any) -> Context:
    """Settings with some limits."""
    return Context(limits=Limits.model_validate(limits or {}), **values)


async def web_search(
    engines: Sequence[SearchEngine],
    *queries: str,
    tool_context: ToolContext | None = None,
    **values: Any,
) -> Outcome:
    """Search the web by these engines; `values` are settings."""
    tool = WebSearch(settings(**values), engines, tool_context or new_tool_context())
    return await tool.run(WebSearchArguments(queries=list(queries)))


async def used(
    name: str,
    context: Context,
    tool_context: ToolContext | None = None,
    *,
    seconds: float = 60,
    **arguments: Any,
) -> Outcome:
    """Call a tool, as a researcher does."""
    limit = TimeLimit(seconds, "tool_seconds")
    return await use_tool(name, arguments, context, tool_context or new_tool_context(), limit)


async def keep_results(outcome: Outcome, tool_context: ToolContext) -> None:
    """Store the results of a call, as they are shown to a model."""
    numbers = {key: number for number, key in enumerate(outcome.sources, 1)}
    await keep(outcome, numbers, tool_context.pages, "question")


ARTICLE = "<html><head><title>{title}</title></head><body><main><p>{words}</p></main></body></html>"
WORDS = "The Skerry Light was lit for the first time in 1844, and its lamp was seen from twenty miles away. "


class Reading:
    """A thread that opens pages."""

    def __init__(self, web: Web, folder: Path, **settings: Any) -> None:
        self.context = Context(
            data_dir=folder, allow_private=(web.netloc,), robots=False, **settings
        )
        self.store = InMemoryStore()
        self.meter = Meter()

    def pages(self) -> Pages:
        return Pages(self.store, "thread")

    async def name(self, *addresses: str) -> None:
        """Let the user name addresses."""
        await Addresses(self.pages(), "question").allow(addresses)

    async def open(self, *addresses: str, question: str = "question", **more: Any) -> Outcome:
        tool_context = ToolContext(self.pages(), question, self.meter, **more)
        tool = OpenUrl(Library(self.context), self.context, tool_context)
        return await tool.run(OpenUrlArguments(urls=list(addresses)))


def article(web: Web, path: str, words: str = WORDS * 3, title: str = "Skerry Light") -> str:
    return web.publish(path, ARTICLE.format(title=title, words=words))


class Hanging:
    """A call that never ends."""

    def __init__(self) -> None:
        self.is_begun = asyncio.Event()

    async def __call__(self, *_: Any) -> str:
        self.is_begun.set()
        await asyncio.Event().wait()
        return "never"


async def stopped_at(
    run: Lab, is_begun: asyncio.Event, siblings: int = 0, message: Any = QUESTION
) -> None:
    """Ask, and cancel the run once this call has begun and so many siblings have finished."""
    asking = asyncio.create_task(run.ask(message))
    await is_begun.wait()
    await run.until_finished(siblings)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


def gate() -> tuple[threading.Event, threading.Event, Any]:
    """Whether a model call began, whether it was cancelled, and the reply that waits."""
    began, ended = threading.Event(), threading.Event()

    async def wait(*_: Any) -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    return began, ended, wait


HASH = 64
"""Characters of a text's key."""


class FailingStore(InMemoryStore):
    """Loses so many texts from a chosen moment on and may then hang until it is mended; notes it
    always keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.is_hanging = asyncio.Event()
        """Set once somebody waits in vain."""
        self._failures = 0
        self._hangs = False

    async def abatch(self, ops: Any) -> Any:
        wanted = list(ops)
        is_text = any(len(getattr(op, "key", "")) == HASH for op in wanted)
        if is_text and self._failures:
            self._failures -= 1
            raise OSError("disk gone")
        if is_text and self._hangs:
            self.is_hanging.set()
            await asyncio.Event().wait()
        return await super().abatch(wanted)

    def losing(self, reply: Any, times: int, *, hangs: bool = False) -> Any:
        """The reply, given at the moment when the disk is lost."""

        def lose(*_: Any) -> Any:
            self._failures, self._hangs = times, hangs
            return reply

        return lose

    def mend(self) -> None:
        """The disk is back."""
        self._failures, self._hangs = 0, False
