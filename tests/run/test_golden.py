"""Whole runs, compared with the files in `golden/runs/`: moving code must not change any of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import ndiff
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kit.engines import SearchApi, refused
from kit.models import by_figures, call, calls
from kit.packets import merged
from kit.planned import (
    INCOMPLETE,
    RULES,
    Rule,
    at_first,
    form,
    in_turn,
    insights,
    judged,
    of_task,
    plan,
    planned_lab,
    queries,
    step,
    suggestion,
    verdict,
)
from kit.reports import BOTH, rewritten
from kit.runs import (
    CLEAR,
    DOCUMENTS,
    PLAN,
    QUESTION,
    REPORT,
    HandClock,
    Lab,
    broken_call,
    lab,
    research,
    search,
    think,
)
from kit.web import Web, hostile_web
from kit.wire import wire_lab
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.types import Command
from pydantic import BaseModel
from test_answers import CAPTAIN, COMPANY, SERIES, SHIP
from test_planned_end import DOCUMENTS as HEIGHTS
from test_planned_web import finds, page
from test_planned_wire import run as planned_wire
from test_wire_runs import thorough
from test_written_badly import ENGLISH, GERMAN, MENDED

from deep_research.app.embed import thread_config
from deep_research.app.stream import read_packet
from deep_research.core.dialogue.transcripts import REASONING
from deep_research.core.errors import DeepResearchError, RateLimited
from deep_research.core.events.packets import AnyPacket, OverallStop
from deep_research.state import ResearchState

GOLDEN = Path(__file__).parents[1] / "golden" / "runs"
FOLDER = Path("/tmp/deep-research-frozen")
"""Fixed folder of the documents, because the ids of learnings depend on their addresses."""
ASKING = "asking"
"""Name of the asyncio task that is cancelled when a run is killed."""
WIDTH = 118
"""Length up to which a JSON value is written in one line."""
HIDDEN = (
    (re.compile(rf"{FOLDER}/[0-9a-f]{{8}}"), ""),
    (re.compile(r"\bdata-[0-9a-f]{8}\b"), "data-…"),
    (re.compile(r"\bcall-(\d{1,3}|[0-9a-f]{10})-(?=\d)"), "call-…-"),
    (re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}\b"), r"\1…"),
    (re.compile(r'"version": "[^"]+"'), '"version": "…"'),
    (re.compile(r'"(input_tokens|cached_tokens|usd)": (?:[\d.e-]+|\{[^}]*\})'), r'"\1": "…"'),
    (re.compile(r"\b[0-9a-f]{16}-(?=Q\d)"), "…-"),
    (re.compile(r'"(orientation|id|content)": "(?:[0-9a-f]{8}…|[0-9a-f]{16})"'), r'"\1": "…"'),
    (re.compile(r'"date": "[\d-]+T[\d:+-]+"'), '"date": "…"'),
)
"""Patterns and their replacements. Ids of fences, calls and learnings, the version of the code
and the times of versions differ between runs, paths and hashes are long, and the size of requests changes with the wording of
prompts."""
OF_ADDRESSES = ("kept",)
"""Fields and channels that are left out: hashes of texts with the addresses of sources, which
differ between runs."""
TIMES = re.compile(r'"(\w*seconds|\w*tokens)": (?:[\d.]+|\{[^}]*\})'), r'"\1": "…"'
"""Also hidden in runs over real sockets."""
Hidden = tuple[re.Pattern[str], str]


def documents(name: str, texts: dict[str, str]) -> Path:
    """A folder with exactly these files, below one that depends on their texts."""
    folder = FOLDER / hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:8] / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        if not (folder / file).exists() or (folder / file).read_text("utf-8") != text:
            (folder / file).write_text(text, "utf-8")
    return folder


async def killed(*_: Any) -> None:
    """A model's reply during which the run is killed."""
    next(task for task in asyncio.all_tasks() if task.get_name() == ASKING).cancel()
    await asyncio.Event().wait()


def plain(value: Any) -> Any:
    """A record, a message or a mapping as a JSON value."""
    if isinstance(value, BaseMessage):
        calls = (
            [*value.tool_calls, *value.invalid_tool_calls] if isinstance(value, AIMessage) else []
        )
        said = {"text": value.text, **value.additional_kwargs, "calls": calls}
        return {"type": value.type, **{name: plain(part) for name, part in said.items() if part}}
    if isinstance(value, BaseModel):
        return {
            name: plain(part)
            for name in sorted(type(value).model_fields)
            if name not in OF_ADDRESSES and (part := getattr(value, name))
        }
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def laid_out(value: Any, indent: str = "") -> str:
    """A value as JSON, with each part in one line if it fits."""
    line = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or len(indent) + len(line) <= WIDTH:
        return line
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    keys = [
        f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(value, dict) else ""
        for key, _ in entries
    ]
    inner = [
        laid_out(item, f"{indent}  ")
        for item in (value.values() if isinstance(value, dict) else value)
    ]
    lines = [f"{indent}  {key}{item}" for key, item in zip(keys, inner, strict=True)]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, ",\n".join(lines), f"{indent}{closing}"])


def lines_of(packets: Iterable[AnyPacket]) -> list[str]:
    """A line for each packet, in the order of their placements."""
    return [
        f"{'.'.join(map(str, position))} {kind} {json.dumps(said, ensure_ascii=False, sort_keys=True)}"
        for position, contents in merged(packets).items()
        for kind, said in contents
    ]


def without(text: str, *hidden: Hidden) -> str:
    """The text with the patterns replaced."""
    for pattern, replacement in hidden:
        text = pattern.sub(replacement, text)
    return text


def golden_of(name: str) -> Path:
    return GOLDEN / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}.txt"


def is_golden(name: str, text: str) -> None:
    """Compare the text with the golden file of this name."""
    path = golden_of(name)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


class Frozen:
    """Writes down one run: what is said, its packets, and its final state."""

    def __init__(self, run: Lab, *hidden: Hidden) -> None:
        self.run, self.hidden = run, (*HIDDEN, *hidden)
        self.parts: list[str] = []
        self.questions: list[str] = []
        self.heard: list[AnyPacket] = []
        """All packets of the latest question."""

    async def say(self, message: Any) -> None:
        """Send a message, and write down the packets until the run ends, pauses or stops."""
        before, ending = len(self.run.packets), ""
        try:
            await asyncio.create_task(self.run.ask(message), name=ASKING)
        except asyncio.CancelledError:
            ending = "killed"
        except (DeepResearchError, ValueError) as error:
            ending = f"stopped: {type(error).__name__}: {error}"
        streamed = [read_packet(packet) for packet in self.run.packets[before:]]
        snapshot = await self.run.graph.aget_state(thread_config(self.run.thread))
        question = ResearchState(**snapshot.values).run
        if question and question.id not in self.questions:
            self.questions.append(question.id)
            self.heard = []
        self.heard += streamed
        asked = [
            json.dumps(interrupt.value, ensure_ascii=False) for interrupt in snapshot.interrupts
        ]
        waits = " ".join(["next:", *snapshot.next, *asked]) if snapshot.next else ""
        said = json.dumps(
            plain(message.update or message.resume) if isinstance(message, Command) else message
        )
        self.parts.append(
            "\n".join([f"# Said: {said}\n", *lines_of(streamed), *filter(None, (ending, waits))])
        )

    async def text(self) -> str:
        """The whole run, as in its golden file."""
        state = await self.run.state()
        *streamed, stop = await self.run.replayed()
        heard = [packet for packet in self.heard if not isinstance(packet, OverallStop)]
        differs = [line for line in ndiff(lines_of(heard), lines_of(streamed)) if line[0] in "+-"]
        channels = {
            channel.name: plain(getattr(state, channel.name))
            for channel in fields(ResearchState)
            if channel.name not in OF_ADDRESSES
        }
        # Its keys are random, and the order must not depend on the size of requests.
        spending = channels["spending"].values()
        channels["spending"] = sorted(
            spending, key=lambda spent: without(json.dumps(spent), *HIDDEN)
        )
        self.parts += [
            "\n".join(
                ["# Replayed, where it differs\n", *(differs or ["nowhere"]), *lines_of([stop])]
            ),
            "\n".join(
                ["# State\n", *(f"{name}: {laid_out(channels[name])}" for name in sorted(channels))]
            ),
        ]
        text = "\n\n".join(self.parts)
        for number, question in enumerate(self.questions, 1):
            text = text.replace(question, f"Q{number}").replace(question[:8], f"Q{number}")
        return without(text, *self.hidden) + "\n"


TURM = {
    "turm.md": "# Der Turm\n\nDer Leuchtturm von Skerry wurde im Jahr 1844 gebaut. Er ist 38 Meter hoch.\n",
    "moran.md": "# Ada Moran\n\nAda Moran bewahrte den Leuchtturm von 1901 bis 1932. Sie wurde in Tralee geboren.\n",
}
SHIPS = {
    name.replace("_", "."): text
    for name, text in {**COMPANY, **SERIES, "a_md": SHIP, "b_md": CAPTAIN}.items()
}
FOLDERS = {"light": DOCUMENTS, "heights": HEIGHTS, "turm": TURM, "ships": SHIPS}
CAPTAIN_BORN = "Where was the captain of the Silver Heron born?"
BRIEF = "Write a brief on Arvo Robotics:\n1. Number of employees\n2. Size of the current fleet\n3. Largest customer"
WANN, LAMP = "Wann wurde der Leuchtturm gebaut?", "When was the lamp lit?"
LIGHT, KEEPER, HARBOUR = "Skerry Light lit", "Ada Moran keeper Tralee", "Port Anlow harbour ferry"
HURRY = "Please hurry, and mind the tides."
BUSY, LOST = RateLimited("Come back later."), ValueError("connection lost")
WRONG = "It was lit in 1844. [1] It stands 83 metres tall. [1]\n\nAda Moran kept it for 99 years. [2] The ferry sank."
MENDING = rewritten("It stands 38 metres tall. [1]", "Ada Moran kept it for 98 years. [2]")


class Case(NamedTuple):
    """The messages of a run, its settings and its models' answers."""

    said: tuple[Any, ...]
    settings: dict[str, Any]
    """Settings, and for an orchestrated run the replies by role."""
    rules: dict[str, Rule] | None = None
    """How forms are filled in by a planned run; None for an orchestrated run."""


def orchestrated(*more: Any, question: str = QUESTION, **settings: Any) -> Case:
    return Case((question, *more), settings)


def planned(
    steps: Rule, rules: dict[str, Rule], *more: Any, question: str = QUESTION, **settings: Any
) -> Case:
    return Case((question, *more), settings, {"make_plan": steps, **rules})


def reply(action: str, **more: str) -> Command[Any]:
    return Command(resume={"action": action, **more})


def missing(*what: str, text: str = "") -> AIMessage:
    return calls(call("generate_report", missing=list(what)), text=text)


def once(form: str, rule: Rule, task: str = "") -> dict[str, Rule]:
    """The rule for the first request of a form for this task, and the usual rule for all others."""
    return {form: of_task(task, at_first(1, rule, RULES[form]), RULES[form])}


OPENED = form("open_url", urls=["docs:light/lighthouse.md"])
MUCH = "".join(f"On page {page} much is said. " for page in range(999))
THREE: dict[str, Any] = {
    "light task": [
        think("The tower first."),
        search("Skerry Light 1844"),
        OPENED,
        REPORT,
        "It was lit in 1844. [1]",
    ],
    "keeper task": [
        search("Ada Moran"),
        missing("her death"),
        "She kept it from 1901 to 1932. [1]",
    ],
    "harbour task": [search("Port Anlow ferry"), REPORT, "Its ferry sails twice a day. [1]"],
}
THREE_FINDINGS = "Lit in 1844 [1], it was kept by Ada Moran until 1932 [2].\n\n- The ferry sails twice a day. [3]"
TWO = research("light task", "keeper task")
OVER_TIME = HandClock()
BAD = calls(call("browse", url="x"), call("research_agent", task=""))
BROKEN = calls(broken_call("research_agent", '{"task": "half'))
BOTH_AT_ONCE = calls(call("generate_report"), call("research_agent", task="more"))
ODD = (
    form("browse"),
    form("internal_search", queries=7),
    form("open_url", urls=["https://x.example"]),
    search("lamp"),
)
ORCHESTRATED = {
    "plain": orchestrated(
        planner=[AIMessage(PLAN, additional_kwargs={REASONING: "What is asked for?"})],
        orchestrator=[
            think("Look at both."),
            TWO,
            research("harbour task"),
            missing("Who built it?"),
        ],
        researcher=THREE,
        writer=[THREE_FINDINGS],
        prices={"scripted": (1.0, 2.0)},
    ),
    "plan sent back and edited": orchestrated(
        *(
            reply("reject", comment="Mind the ferry."),
            reply("edit", plan="1. The ferry\n2. The light"),
        ),
        planner=[PLAN, "1. The ferry"],
        review_plan=True,
    ),
    "stopped everywhere": orchestrated(
        *[None] * 6,
        clarifier=[LOST, CLEAR],
        planner=[LOST, PLAN],
        orchestrator=[TWO, LOST, REPORT],
        researcher={**THREE, "keeper task": [BUSY, *THREE["keeper task"]]},
        writer=[
            LOST,
            "Lit in 1844 [1], it is 83 metres tall [1].",
            BUSY,
            rewritten("It is 38 metres tall [1]."),
        ],
    ),
    "steered": orchestrated(HURRY, orchestrator=[research("light task"), LOST, REPORT]),
    "killed": orchestrated(
        None, researcher=[search("Skerry Light"), killed, REPORT, "Lit in 1844. [1]"]
    ),
    "one fails": orchestrated(
        orchestrator=[TWO, REPORT], researcher={**THREE, "keeper task": [LOST, LOST]}
    ),
    "odd calls": orchestrated(
        planner=["\n".join(f"{n}. Step {n}" for n in range(1, 9))],
        orchestrator=[
            BAD,
            research("light task"),
            BROKEN,
            think(),
            think(),
            think("Really?"),
            BOTH_AT_ONCE,
        ],
        researcher=[*ODD, search("lamp"), search("lamp"), "Nothing of it. [7]"],
        writer=[
            "Nothing [3] is known. ![x](https://evil.example/x.png)",
            rewritten("It is not known."),
        ],
    ),
    "out of time": orchestrated(
        clock=OVER_TIME,
        orchestrator=[OVER_TIME.after(1200, research("light task"))],
        researcher=[OVER_TIME.after(721, search("Skerry Light")), "Lit in 1844. [1]"],
    ),
    "followed up": orchestrated(
        *("And who kept it, and what of the other?", "The one of Port Anlow."),
        clarifier=[CLEAR, "Which other?"],
        planner=["1. When", "1. Who"],
        orchestrator=[
            research("light task"),
            missing("the builder"),
            research("keeper task"),
            REPORT,
        ],
        researcher=THREE,
        writer=[
            "Lit in 1844. [1]",
            "She kept it from 1901 to 1932 [2], and it was lit in 1844 [1].",
        ],
    ),
    "mended": orchestrated(writer=[WRONG, MENDING], researcher=BOTH),
    "in German": orchestrated(
        question=WANN,
        over="turm",
        planner=["1. Der Turm"],
        researcher=[
            search("Leuchtturm 1844", "Moran"),
            REPORT,
            "1844 gebaut. [1] Von Moran bewahrt. [2] [3]",
        ],
        writer=[GERMAN + ENGLISH, MENDED, rewritten("Sie war in Tralee geboren. [2]")],
    ),
    "small window": orchestrated(
        orchestrator=[TWO, REPORT],
        researcher={**THREE, "light task": [search("light"), REPORT, f"{MUCH}Lit in 1844. [1]"]},
        profile={"max_input_tokens": 3_000},
        small="off",
        limits={"min_window": 1_000, "report_tokens": 300, "results_tokens": 200},
    ),
}
PHASES = plan(
    step(LIGHT), step(KEEPER), step(HARBOUR, after=(1,)), step("Compare them", search=False)
)
ROW = plan(step(LIGHT), step(KEEPER, after=(1,)), step("Compare them", search=False))
JUDGING: dict[str, Rule] = {
    "judge_units": lambda asked: by_figures(asked.reminder).tool_calls[0]["args"]
}
TIDES = suggestion("Tides", "spring tide Port Anlow")
WANTING = {"evaluate_outcome": of_task(LIGHT, judged(0.3, 0.8, TIDES), judged(1.0, 1.0))}
REPORTS = in_turn(
    lambda _: "She kept it until 1932. [1]", lambda _: "It is 38 metres tall. [2] She kept it. [1]"
)


def eventful() -> dict[str, Rule]:
    """Rules by which a run has several rounds, insights and gaps."""
    return {
        **JUDGING,
        **once("give_verdict", verdict(False, "How tall is it?", "height"), LIGHT),
        "record_insights": insights("It is an old light.", gaps={"Who built it?": 0.9}),
        "report": lambda _: (
            "It was lit in 1844. [1] She kept it from 1901 to 1932. [2]\n\n- It follows. [9]"
        ),
    }


PLANNED = {
    "plain": planned(PHASES, eventful(), instructions="Write for sailors."),
    "plan sent back and edited": planned(
        *(
            in_turn(ROW, PHASES),
            {},
            "Mind the ferry.",
            reply("edit", plan=f"1. About {LIGHT}\n2. The tides"),
        ),
        review_plan=True,
    ),
    "killed": planned(ROW, once("give_verdict", killed, KEEPER), None),
    "out of searches": planned(PHASES, {}, limits={"max_searches": 2}),
    "never complete": planned(
        ROW, {"give_verdict": verdict(False), **WANTING}, limits={"max_step_iterations": 2}
    ),
    "followed up": planned(
        *(
            in_turn(plan(step(KEEPER)), plan(step("Skerry Light metres tall"))),
            {"report": REPORTS},
            "How tall is it?",
        )
    ),
}


def extracted(
    rules: dict[str, Rule] | None, more: Any = (), question: str = QUESTION, **settings: Any
) -> Case:
    return Case((question, *more), {"models": "extractive", **settings}, rules)


CASES = {
    **{f"orchestrated, {name}": case for name, case in ORCHESTRATED.items()},
    "orchestrated, extractive, brief": extracted(None, (CAPTAIN_BORN,), BRIEF, over="ships"),
    **{f"planned, {name}": case for name, case in PLANNED.items()},
    "planned, extractive, followed up": extracted({}, ("How tall is it?", "And its ferry?")),
}
LIT = "The light was lit in 1844. [1] So was the lamp. [4]"
MIXED = form("web_search", queries=["lamp of Tralee", "lamp"])
SEARCHING = {"engines": ("tavily",), "robots": False}
WEB: dict[str, Callable[[Web], Case]] = {
    "orchestrated, web and documents": lambda web: orchestrated(
        question=f"{LAMP} See {web.url('/two')}.",
        researcher=[
            search("Skerry Light"),
            MIXED,
            form("open_url", urls=[web.url("/two")]),
            REPORT,
            LIT,
        ],
        writer=["The light was lit in 1844. [1] So was the lamp. [2]"],
    ),
    "planned, web": lambda web: planned(
        plan(step(LAMP), step("Who made it?", after=(1,))),
        {
            "choose_queries": of_task(
                LAMP,
                in_turn(
                    queries("lamp", "down"),
                    lambda _: {"queries": [], "open_next": [web.url("/one")]},
                ),
                queries("quota"),
            ),
            "give_verdict": in_turn(INCOMPLETE, RULES["give_verdict"]),
        },
        question=f"{LAMP} See {web.url('/two')}.",
        docs=(),
        domains_deny=("evil.example",),
        published_after="2020-01-01",
    ),
}
WIRE = {"orchestrated, wire", "planned, wire"}


USUAL = {
    "orchestrated, plain",
    "orchestrated, stopped everywhere",
    "orchestrated, followed up",
    "orchestrated, extractive, brief",
    "planned, plain",
    "planned, plan sent back and edited",
    "planned, followed up",
}
"""Runs over documents that together take nearly every path; all others are slow."""


async def freeze(
    name: str, case: Case, tmp_path: Path, *hidden: Hidden, over: str = "light", **settings: Any
) -> None:
    """Run the case and compare it with its golden file."""
    given = {
        "clock": HandClock(),
        "docs": (documents(over, FOLDERS[over]),),
        "engines": (),
        **settings,
    }
    run = (
        lab(tmp_path, **given) if case.rules is None else planned_lab(tmp_path, case.rules, **given)
    )
    frozen = Frozen(run, *hidden)
    for message in case.said:
        await frozen.say(message)
    text = await frozen.text()
    assert "ScriptExhausted" not in text, "what is frozen is a script that was too short"
    is_golden(name, text)


@pytest.mark.parametrize(
    "name",
    [name if name in USUAL else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
async def test_a_run_over_documents_matches_its_golden_file(tmp_path: Path, name: str) -> None:
    await freeze(name, CASES[name], tmp_path, **CASES[name].settings)


@pytest.mark.sweep
@pytest.mark.parametrize("name", WEB)
async def test_a_run_on_the_web_matches_its_golden_file(
    tmp_path: Path, api: SearchApi, name: str
) -> None:
    with hostile_web() as web:
        for address in ("/one", "/two", "/hidden"):
            web.publish(address, page(address[1:]))
        finds(api, web, "lamp", "one", "gone", "two")
        api.on("down", refused(400))
        api.on("quota", refused(432))
        case = WEB[name](web)
        host = re.compile(re.escape(web.netloc)), "web.example"
        # The wording of an activity depends on the question, and so on the address in it.
        wording = re.compile(r'(?<= activity )(.*"text": )"[^"]*"'), r'\1"…"'
        settings = {**SEARCHING, "allow_private": (web.netloc,), **case.settings}
        await freeze(name, case, tmp_path, host, wording, **settings)


@pytest.mark.slow
async def test_the_packets_of_runs_over_the_wire_match_their_golden_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wire_lab(tmp_path, monkeypatch, {"researcher": thorough}) as wire:
        await wire.ask()
        streamed, address = map(read_packet, wire.packets), re.compile(re.escape(wire.web.netloc))
        is_golden(
            "orchestrated, wire",
            without("\n".join(lines_of(streamed)), TIMES, (address, "web.example")),
        )
    packets, _ = await planned_wire(
        tmp_path, monkeypatch, {**RULES, "make_plan": PHASES, **eventful()}
    )
    ids, folder = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}"), re.compile(re.escape(str(tmp_path)))
    is_golden(
        "planned, wire", without("\n".join(lines_of(packets)), TIMES, (ids, "…"), (folder, ""))
    )


def test_each_golden_file_belongs_to_a_run() -> None:
    assert {*GOLDEN.iterdir()} == {golden_of(name) for name in {*CASES, *WEB, *WIRE}}
