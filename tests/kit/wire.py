"""Whole runs over real sockets: models, a search engine and a web on loopback."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from deep_research.app.embed import ResearchGraph, build_graph, thread_config
from deep_research.app.stream import apackets
from deep_research.core.events.packets import AnyPacket
from deep_research.core.records.research import Finding
from deep_research.core.settings.context import Role
from deep_research.nodes.turn import OPENING
from deep_research.state import ResearchState
from kit.engines import Answer, SearchApi, found, search_api
from kit.models import by_figures, units_shown
from kit.openai_server import LONG_PIECE, OpenAIServer, Received, Reply, openai_server, say, use
from kit.packets import Books, faults
from kit.planned import RULES, Asked, Rule, form_of, handed_in, is_last, parts_of
from kit.runs import FORMS, Thread
from kit.web import Web, hostile_web

QUESTION = "When was the Skerry Light lit, and who kept it?"
FACTS = {
    "light": "The Skerry Light was lit for the first time in 1844.",
    "keeper": "Ada Moran kept the Skerry Light from 1901 to 1932.",
    "harbour": "The ferry of Port Anlow sails twice a day.",
}
"""What the page of each task says; the tasks bear the names of the pages."""
REPORT = " ".join(f"{fact} [{number}]" for number, fact in enumerate(FACTS.values(), 1))
"""What the writer makes of the findings, if all have come."""
PADDING = (
    "The harbour office keeps a log of wind and water for every day of the year, and anybody may read it there. "
    * 4
)
ROLE_SIGNS: dict[Role, str] = {
    "clarifier": "You are the first to read a request",
    "planner": "You plan research",
    "orchestrator": "You lead a research project",
    "researcher": "You are a careful researcher",
    "writer": "You write the final answer",
    "verifier": "You check a report against",
}
FINDING_SIGN = "Your research is over"
PROSE = ("deep_research_plan_delta", "intermediate_report_delta", "message_delta")
_FENCED = re.compile(r"<(data-\w+)>\n(.*?)\n</\1>", re.DOTALL)
_FOUND = re.compile(r"Found: ([^\[\n]*\[\d+\])")

Script = Callable[[Received], Reply] | Sequence[Reply]
"""How a role answers: by what it is asked, or by replies in turn."""
Habit = Callable[[Reply, Received], Reply]
"""What a server or a model makes of every answer, by what it was asked."""


def role_of(request: Received) -> str:
    """Who asks: a role, `finding` for a researcher that writes, or `trial` for a model that is
    tried out."""
    # It may be asked to go on behind what it has written.
    if any(FINDING_SIGN in str(message) for message in request.messages[-3:]):
        return "finding"
    return next((role for role, sign in ROLE_SIGNS.items() if sign in request.system), "trial")


def task_of(request: Received) -> str:
    """The first words of the user: a researcher's task."""
    words = next(
        message["content"] for message in request.messages if message.get("role") == "user"
    )
    text = words if isinstance(words, str) else words[0]["text"]
    return str(text).partition("\n\n")[0]


def tool_results(request: Received) -> list[dict[str, Any]]:
    """What each tool call of a researcher brought, `results` and `problems`, however the model was
    told of it."""
    return [
        json.loads(text)
        for _, text in _FENCED.findall(request.prompt)
        if text.startswith('{"results"')
    ]


def search_for(*queries: str) -> Reply:
    return use(("web_search", {"queries": list(queries)}))


def open_pages(*urls: str) -> Reply:
    return use(("open_url", {"urls": list(urls)}))


END = use(("generate_report", {}))


def searched(request: Received) -> Reply:
    """A researcher that searches for its task, once more if that brings nothing, and ends."""
    results = tool_results(request)
    return (
        END
        if len(results) > 1 or any(each["results"] for each in results)
        else search_for(task_of(request))
    )


def researched(request: Received) -> Reply:
    """A researcher that searches for its task, opens what it found, and ends."""
    results = tool_results(request)
    if len(results) == 1:
        return open_pages(*(result["address"] for result in results[0]["results"]))
    return END if results else search_for(task_of(request))


def noted(request: Received) -> Reply:
    """A finding: the facts in what was found."""
    results = [result for each in tool_results(request) for result in each["results"]]
    found = {fact: r["document"] for r in results for fact in FACTS.values() if fact in r["text"]}
    return say(
        "\n".join(f"Found: {fact} [{number}]" for fact, number in found.items())
        or "Nothing was found."
    )


def written(request: Received) -> Reply:
    """A report: the facts in the findings."""
    return say(" ".join(dict.fromkeys(_FOUND.findall(request.prompt))) or "Nothing is known.")


def replied(message: AIMessage) -> Reply:
    """The tool calls of a message as the server sends them."""
    return use(*((made["name"], made["args"]) for made in message.tool_calls))


def verified(request: Received) -> Reply:
    """A verifier that compares figures."""
    return replied(by_figures(request.prompt))


def hand_out(*tasks: str) -> Reply:
    return use(*(("research_agent", {"task": task}) for task in tasks))


def plain_run(tasks: Sequence[str] = tuple(FACTS)) -> dict[str, Script]:
    """What each role answers in a run without trouble."""
    return {
        "clarifier": lambda _: use(("generate_plan", {})),
        "trial": lambda _: use(("save_word", {"word": "amber"})),
        "planner": lambda _: say("1. The light\n2. Its keeper\n3. The harbour"),
        # Told by what is known, so that a decision that is asked for twice is answered alike.
        "orchestrator": lambda request: END if "Found:" in request.prompt else hand_out(*tasks),
        "researcher": searched,
        "finding": noted,
        "writer": written,
        "verifier": verified,
    }


@dataclass
class WireLab(Thread):
    """Three servers, and a graph that talks to them."""

    models: OpenAIServer
    engine: SearchApi
    web: Web
    graph: ResearchGraph
    script: dict[str, Script]
    """How each role answers from now on."""
    settings: dict[str, Any]
    thread: str = "wire"
    packets: list[dict[str, Any]] = field(default_factory=list)
    books: Books = field(default_factory=Books)

    async def ask(self, message: Any = QUESTION) -> ResearchState:
        """Send a question, a command, or None to go on; returns the state afterwards."""
        heard: list[AnyPacket] = []
        is_whole = False
        try:
            async for packet in apackets(self.graph, message, self.thread, context=self.settings):
                heard.append(packet)
            is_whole = True
        finally:
            self.packets += [packet.model_dump(mode="json") for packet in heard]
            # What goes on may begin in the middle of a block.
            assert message is None or not (wrong := faults(heard, is_whole=is_whole)), wrong
            state = await self.state()
            assert not (
                fault := self.books.fault([packet.model_dump() for packet in heard], state)
            ), fault
        return state

    async def fail(self, kind: type[BaseException], message: Any = QUESTION) -> str:
        """Ask, and have the run end in one line of an error of this very kind; the thread can go on
        after it."""
        with pytest.raises(kind) as caught:
            await self.ask(message)
        assert caught.type.__name__ == kind.__name__
        assert "\n" not in str(caught.value)
        assert (await self.graph.aget_state(thread_config(self.thread))).next
        return str(caught.value)

    def requests(self, *roles: str) -> list[Received]:
        """What the server was asked by these roles, or by all."""
        return [
            request for request in self.models.requests if not roles or role_of(request) in roles
        ]

    def asked(self) -> Counter[str]:
        """How often each role has asked."""
        return Counter(map(role_of, self.models.requests))

    def thoughts(self) -> list[str]:
        """What was shown as thoughts, by the places where it was shown; researchers speak at the
        same time."""
        by_placement: dict[str, str] = defaultdict(str)
        for packet in self.of_type("reasoning_delta"):
            by_placement[repr(packet["placement"])] += packet["reasoning"]
        return list(by_placement.values())

    def prose(self) -> str:
        """What was shown as plan, findings and report, in the order in which it came."""
        return "".join(packet["content"] for packet in self.of_type(*PROSE))

    def everything(self, state: ResearchState) -> str:
        """All that is kept or shown of a run."""
        return f"{state!r} {self.packets!r}"


def found_by(state: ResearchState) -> dict[str, Finding]:
    """The findings by their tasks."""
    return {finding.task: finding for finding in state.findings.values()}


def is_right(wire: WireLab, state: ResearchState) -> bool:
    """Whether the report says all there is to know, each fact with the page that says it, and the
    run was whole."""
    assert state.report and state.run
    assert state.report.text == REPORT
    assert [state.sources[key].location for key in state.report.sources] == [
        wire.web.url(f"/{t}") for t in FACTS
    ]
    assert state.run.status == "completed"
    return all(finding.ended == "done" for finding in state.findings.values())


def answering(replies: Mapping[str, Script], habit: Habit | None) -> Callable[[Received], Reply]:
    """The model behind all roles."""
    taken, lock = Counter[str](), threading.Lock()

    def answer(request: Received) -> Reply:
        role = role_of(request)
        form = next((name for name in FORMS if name in json.dumps(request.json)), "")
        script = (lambda _: replied(FORMS[form])) if form else replies[role]
        if callable(script):
            reply = script(request)
        else:
            with lock:
                taken[role] += 1
                if taken[role] > len(script):
                    raise LookupError(f"no reply is left for the {role}")
                reply = script[taken[role] - 1]
        return habit(reply, request) if habit and reply.body is None else reply

    return answer


@contextmanager
def wire_lab(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: Mapping[str, Script] | None = None,
    *,
    habit: Habit | None = None,
    limits: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Iterator[WireLab]:
    """The servers, scripted by role; settings that are not given are those of a run on the web
    alone."""
    replies = {**plain_run(), **(script or {})}
    with ExitStack() as servers:
        models = servers.enter_context(openai_server(answering(replies, habit)))
        models.forms = FORMS
        models.piece = LONG_PIECE
        engine = servers.enter_context(search_api())
        web = servers.enter_context(hostile_web())
        for name, fact in FACTS.items():
            title = name.title()
            page = f"<html><head><title>{title}</title></head><body><p>{fact}</p><p>{PADDING}</p></body></html>"
            engine.on(name, Answer([found(web.publish(f"/{name}", page), title, fact)]))
        for name, value in {**models.environment, **engine.environment()}.items():
            monkeypatch.setenv(name, value)
        usual = {
            **{
                "models": "openai:fake-1",
                "tool_calls": "native",
                "window": 100_000,
                "small": "off",
            },
            **{
                "data_dir": folder,
                "allow_private": (web.netloc,),
                "limits": {"retry_seconds": 5, **(limits or {})},
            },
        }
        yield WireLab(
            models,
            engine,
            web,
            build_graph(checkpointer=InMemorySaver()),
            replies,
            {**usual, **settings},
        )


Wires = Callable[..., AbstractContextManager[WireLab]]
"""`wire_lab` with the folder and the environment of a test."""


REMINDED = ("planner", "orchestrator", "researcher", "finding", "writer", "verifier")
"""Who gets a reminder as the last message."""


class Said(NamedTuple):
    """One message of a prompt."""

    role: str
    text: str
    calls: tuple[str, ...] = ()
    """Ids of the tool calls in it."""
    answers: str = ""
    """Id of the call whose result it is."""


def conversation(request: Received) -> list[Said]:
    """The messages of a prompt; calls that follow one another are one message of the assistant."""
    said: list[Said] = []
    for message in request.messages:
        if message.get("type") == "reasoning":
            continue
        if message.get("type") == "function_call":
            last = said.pop() if said[-1].role == "assistant" else Said("assistant", "")
            said.append(last._replace(calls=(*last.calls, message["call_id"])))
        elif message.get("type") == "function_call_output":
            said.append(Said("tool", message["output"], answers=message["call_id"]))
        else:
            calls = tuple(call["id"] for call in message.get("tool_calls") or ())
            role = message["role"].replace("developer", "system")
            said.append(
                Said(role, _text(message["content"]), calls, message.get("tool_call_id", ""))
            )
    return said


def request_faults(request: Received) -> list[str]:
    """What is wrong with a request in itself."""
    said, asked, role = conversation(request), request.json, role_of(request)
    wrong = {
        "the system prompt is not first, or not alone": [m.role for m in said].index("system") != 0
        or sum(m.role == "system" for m in said) > 1,
        "the reminder is not last": (role in REMINDED) != said[-1].text.endswith("</reminder>"),
        "the last message is not the user's": said[-1].role != "user",
        "a message without words and calls": any(
            not m.text and not m.calls for m in said if m.role != "tool"
        ),
        "calls and results do not match": not _is_answered(said),
        "an empty list of tools": asked.get("tools") == [],
        "a tool choice without tools": "tool_choice" in asked and "tools" not in asked,
        "a temperature beside tools, which reasoning models refuse": "temperature" in asked
        and "tools" in asked,
        "a null": any(value is None for value in asked.values()),
    }
    return [f"{role}: {fault}" for fault, is_so in wrong.items() if is_so]


def all_faults(requests: Sequence[Received]) -> list[str]:
    """What is wrong with the requests of a run, one by one and in comparison."""
    found = [fault for request in requests for fault in request_faults(request)]
    for role in {role_of(request) for request in requests}:
        of_role = [request for request in requests if role_of(request) == role]
        for name, values in {
            "system prompts": {request.system for request in of_role},
            "tools": {repr(request.json.get("tools")) for request in of_role},
        }.items():
            if len(values) > 1:
                found.append(f"{role}: {len(values)} different {name}")
    return found


def extends(earlier: Received, later: Received) -> bool:
    """Whether a prompt begins as an earlier one did, but for the reminder, so that a cache can
    serve it."""
    kept = earlier.messages[:-1]
    return later.messages[: len(kept)] == kept


def _is_answered(said: Sequence[Said]) -> bool:
    """Whether each call has its own id and one result, right after its message and in the order of
    the calls."""
    ids = [identifier for message in said for identifier in message.calls]
    expected: list[str] = []
    for message in said:
        if message.role == "tool":
            if not expected or expected.pop(0) != message.answers:
                return False
        elif expected:
            return False
        expected += message.calls
    return len(set(ids)) == len(ids) and all(ids) and not expected


def _text(content: Any) -> str:
    return (
        content
        if isinstance(content, str)
        else "".join(block.get("text", "") for block in content or ())
    )


HELD_SECONDS = 600.0
"""Longer than any test: what is held is let go when the server closes."""
_TAG = re.compile(r"data-[0-9a-f]{8}")
Point = tuple[str, str]
"""A call: the form, and the task for which it is filled in, or the first statement to judge."""


@dataclass
class Forms:
    """Answers by rules; some calls are held, each once."""

    rules: Mapping[str, Rule]
    points: set[Point] = field(default_factory=set)
    """Where the next call is held."""
    held: list[Point] = field(default_factory=list)
    paid: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How often each call was made: form, task, and what it was shown."""
    lock: Any = field(default_factory=threading.Lock)

    def __call__(self, request: Received) -> Reply:
        asked, answers = self._asked(request), list[Any]()
        for part in parts_of(asked.form, asked.reminder):
            answers.append(self.rules[part](asked._replace(form=part)))
            if is_last(part, answers[-1]):
                break
        answer = handed_in(answers)
        if isinstance(answer, Reply):
            return answer
        reply = use((asked.form, answer)) if isinstance(answer, dict) else say(answer)
        point = (asked.form, asked.task)
        with self.lock:
            if point not in self.points:
                return reply
            self.points.remove(point)
            self.held.append(point)
        return replace(reply, wait=HELD_SECONDS)

    def _asked(self, request: Received) -> Asked:
        messages = [_message(message) for message in request.messages]
        said = (message.text for message in messages if isinstance(message, HumanMessage))
        # Some forms are asked for by a reminder alone.
        task = next(
            (text for text in said if text != OPENING and not text.startswith("<reminder>")), ""
        )
        form = form_of(request.tools)
        if form == "judge_units":
            task = units_shown(request.prompt)[0][0]["says"]
        with self.lock:
            same = [key for key in self.paid.elements() if key[:2] == (form, task)]
            shown = "\n".join(
                message.text for message in messages if isinstance(message, ToolMessage)
            )
            asked = Asked(form, task, messages, 1)
            key = (form, task, str(len(shown)), _TAG.sub("", asked.reminder))
            self.paid[key] += 1
        return asked._replace(number=len({*same} - {key}) + 1)


def _message(message: Mapping[str, Any]) -> BaseMessage:
    text = _text(message.get("content"))
    match message["role"]:
        case "system" | "developer":
            return SystemMessage(text)
        case "tool":
            return ToolMessage(text, tool_call_id=message["tool_call_id"])
        case "assistant":
            return AIMessage(text)
    return HumanMessage(text)


@contextmanager
def form_server(rules: Mapping[str, Rule] | None = None) -> Iterator[tuple[OpenAIServer, Forms]]:
    """The server, and what it was asked."""
    forms = Forms({**RULES, **(rules or {})})
    with openai_server(forms) as server:
        yield server, forms
