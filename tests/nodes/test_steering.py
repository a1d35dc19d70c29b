"""Messages to researchers at work, and research that the user ends: no call is lost, and none is
added."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit.models import Call
from kit.openai_server import Received, Reply
from kit.planned import RULES, Asked, Rule, plan, step
from kit.runs import QUESTION, REPORT, Hanging, lab, research, search, stopped_at, write_documents
from kit.wire import FACTS, WireLab, Wires, form_server, is_right, searched, task_of
from langgraph.checkpoint.memory import InMemorySaver

from deep_research import (
    ResearchGraph,
    afinish_research,
    asend_message,
    build_graph,
    finish_research,
    send_message,
    thread_id,
)
from deep_research.app.embed import thread_config
from deep_research.app.stream import apackets
from deep_research.core.errors import NoResearch, QuestionRefused, UnknownThread
from deep_research.core.events.packets import AnyPacket
from deep_research.nodes.turn import FINISHING
from deep_research.state import ResearchState

WORDS = "Mind the gannets."
LIGHT, HARBOUR = "Skerry Light", "Port Anlow"
SECONDS = 60


class Gate:
    """Does something, once, while the calls of a round are in progress: all of them wait for it."""

    def __init__(self, act: Callable[[], Any], calls: int) -> None:
        """`calls`: how many calls there are."""
        self._act = act
        self._all_asked = threading.Barrier(calls, timeout=SECONDS)
        self._is_over = threading.Event()

    def wait(self) -> None:
        if self._is_over.is_set():
            return
        if self._all_asked.wait() == 0:
            self._act()
            self._is_over.set()
        assert self._is_over.wait(SECONDS)


def on_loop(work: Callable[[], Any]) -> Callable[[], Any]:
    """Call an async function from a thread of a server, on the loop of the test."""
    loop = asyncio.get_running_loop()
    return lambda: asyncio.run_coroutine_threadsafe(work(), loop).result(SECONDS)


def has_results(request: Received) -> bool:
    return any(message["role"] == "tool" for message in request.messages)


def gated(wire: WireLab, act: Callable[[], Any]) -> None:
    """Act while the three researchers wait for the answer to their first call."""
    gate = Gate(on_loop(act), len(FACTS))

    def script(request: Received) -> Reply:
        if not has_results(request):
            gate.wait()
        return searched(request)

    wire.script["researcher"] = script


def readers(packets: list[dict[str, Any]]) -> Counter[tuple[str, int]]:
    """Who has read messages: the role, and the tab."""
    read = [packet for packet in packets if packet["type"] == "message_read"]
    return Counter((packet["reader"], packet["placement"]["tab_index"]) for packet in read)


async def test_a_message_is_read_by_researchers_at_work_and_no_call_is_lost(wires: Wires) -> None:
    with wires() as wire:
        assert is_right(wire, await wire.ask())
        usual = wire.asked()
        wire.models.requests.clear()
        wire.thread = "steered"
        wire.packets.clear()
        gated(wire, lambda: asend_message(wire.graph, wire.thread, WORDS))
        state = await wire.ask()
        assert is_right(wire, state)
        assert wire.asked() == usual
        for request in wire.requests("researcher", "finding"):
            assert request.prompt.count(WORDS) == has_results(request), task_of(request)
        first, second = wire.requests("orchestrator")
        assert (first.prompt.count(WORDS), second.prompt.count(WORDS)) == (0, 1)
        assert [message.content for message in state.messages].count(WORDS) == 1
        branches = {("researcher", tab): 1 for tab in range(len(FACTS))}
        assert readers(wire.packets) == {**branches, ("orchestrator", 0): 1}
        assert readers([p.model_dump() for p in await wire.replayed()]) == readers(wire.packets)
        [identifier] = {p["message_id"] for p in wire.of_type("message_read")}
        assert identifier in [message.id for message in state.messages]


async def test_research_that_the_user_ends_is_written_down_with_no_further_call(
    wires: Wires,
) -> None:
    with wires() as wire:
        gated(wire, lambda: afinish_research(wire.graph, wire.thread))
        state = await wire.ask()
        # What was asked for already is searched, and is written down at once.
        asked = wire.asked()
        assert (asked["researcher"], asked["finding"], asked["orchestrator"]) == (3, 3, 1)
        assert asked["writer"] == 1
        assert state.report and all(fact in state.report.text for fact in FACTS.values())
        assert (state.run.stop_reason, state.run.status) == (FINISHING, "completed_with_gaps")
        assert {finding.ended for finding in state.findings.values()} == {"partial"}
        assert f"Research ended early: {FINISHING}." in state.messages[-1].text


class PlannedRun:
    """A planned run over a fake model server."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = tmp_path
        self.patch = monkeypatch
        self.graph = build_graph("planned", checkpointer=InMemorySaver())
        self.packets = list[AnyPacket]()
        self.requests = list[Received]()
        self.counts = Counter[tuple[str, ...]]()

    async def ask(self, thread: str, study: Callable[[Asked], None]) -> ResearchState:
        """Ask; `study` is called for each form that a step fills in, before it is answered."""

        def choose(asked: Asked) -> Any:
            study(asked)
            return RULES["choose_queries"](asked)

        rules: dict[str, Rule] = {
            "make_plan": plan(step(LIGHT), step(HARBOUR), step("What follows?", search=False)),
            "choose_queries": choose,
        }
        with form_server(rules) as (server, forms):
            for name, value in server.environment.items():
                self.patch.setenv(name, value)
            context = {
                "models": "openai:fake-1",
                "tool_calls": "native",
                "engines": (),
                "docs": (write_documents(self.folder / "docs"),),
                "data_dir": self.folder / "data",
                "limits": {"whole_characters": 0},
            }
            stream = apackets(self.graph, QUESTION, thread, context=context)
            self.packets = [packet async for packet in stream]
            self.requests = server.requests
            self.counts = Counter(key[:2] for key in forms.paid.elements())
        return ResearchState(**(await self.graph.aget_state(thread_config(thread))).values)

    def shown(self, task: str) -> list[int]:
        """How often the words of the user are in each prompt on the task of a step."""
        own = [request for request in self.requests if "record_round" in request.tools]
        return [request.prompt.count(WORDS) for request in own if task_of(request) == task]


async def test_a_message_is_read_by_steps_at_work_and_no_call_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = PlannedRun(tmp_path, monkeypatch)
    plain = await run.ask("plain", lambda _: None)
    usual, usual_shown = run.counts, (run.shown(LIGHT), run.shown(HARBOUR))
    gate = Gate(on_loop(lambda: asend_message(run.graph, "steered", WORDS)), 2)
    state = await run.ask("steered", lambda _: gate.wait())
    # What the plan lacks now is a question to the planner.
    adapting = run.counts - usual
    assert (sorted(adapting.elements()), usual - run.counts) == ([("update_plan", QUESTION)], {})
    shown = [run.shown(LIGHT), run.shown(HARBOUR)]
    assert [[0, *(1 for _ in counts[1:])] for counts in usual_shown] == shown
    assert [message.content for message in state.messages].count(WORDS) == 1
    found = readers([packet.model_dump() for packet in run.packets])
    assert found[("planner", 0)] == 1
    assert {tab for role, tab in found if role == "researcher"} == {0, 1}
    assert state.run.status == plain.run.status


async def test_steps_that_the_user_ends_keep_what_they_have_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = PlannedRun(tmp_path, monkeypatch)
    gate = Gate(on_loop(lambda: afinish_research(run.graph, "ended")), 2)
    state = await run.ask("ended", lambda _: gate.wait())
    assert state.report and state.learnings
    assert state.run.stop_reason == FINISHING
    assert [s.status for s in state.steps] == ["completed", "completed", "skipped"]
    assert not [key for key in run.counts if key[0] in ("update_plan", "record_analysis")]


async def test_a_stopped_run_reads_a_message_when_it_goes_on(tmp_path: Path) -> None:
    call = Hanging()
    run = lab(
        tmp_path,
        orchestrator=[research("fast task", "slow task"), REPORT],
        researcher={
            "fast task": [search("Skerry Light 1844"), REPORT, "Fast. [1]"],
            "slow task": [search("Ada Moran"), call, REPORT, "Slow. [1]"],
        },
        writer=["Both [1][2]."],
    )
    await stopped_at(run, call.is_begun, siblings=1)
    for words in (WORDS, "And the terns."):
        await asend_message(run.graph, run.thread, words)
    state = await run.ask(None)
    slow = [each for each in run.calls("researcher") if "slow task" in each.text]
    assert [each.text.count(WORDS) for each in slow] == [0, 0, 1, 1]
    assert slow[-1].text.index(WORDS) < slow[-1].text.index("And the terns.")
    assert not any(WORDS in each.text for each in run.calls("researcher") if each not in slow)
    assert _said(run.calls("orchestrator")[1]) == [WORDS, "And the terns."]
    assert [message.text for message in state.messages[-3:-1]] == [WORDS, "And the terns."]


def _said(call: Call) -> list[str]:
    """The messages of the user before the reminder."""
    return [message.text for message in call.messages[-3:-1]]


def test_only_research_takes_messages_and_can_be_ended(tmp_path: Path) -> None:
    folder = write_documents(tmp_path / "docs")
    graph: ResearchGraph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    with pytest.raises(UnknownThread, match="There is no run 'light'"):
        send_message(graph, "light", WORDS)
    settings: Any = {"context": {"docs": [folder], "models": "extractive", "data_dir": tmp_path}}
    graph.invoke({"messages": [("user", QUESTION)]}, thread_config("light"), **settings)
    for refuse in (
        lambda: send_message(graph, "light", WORDS),
        lambda: finish_research(graph, "light"),
    ):
        with pytest.raises(NoResearch, match="No research is at work on the run 'light'"):
            refuse()
    way: Any = {**settings, "interrupt_before": ["collect"]}
    graph.invoke({"messages": [("user", QUESTION)]}, thread_config("stopped"), **way)
    with pytest.raises(QuestionRefused, match="The question is empty"):
        send_message(graph, thread_id("stopped"), " ")
    for _ in range(20):
        send_message(graph, "stopped", WORDS)
    with pytest.raises(QuestionRefused, match="has had 20 messages"):
        send_message(graph, "stopped", WORDS)
    way["interrupt_before"] = ["grade_report"]
    graph.invoke(None, thread_config("stopped"), **way)
    with pytest.raises(NoResearch, match="its report is begun"):
        send_message(graph, "stopped", WORDS)
