"""Whole runs of the planned strategy with a scripted model that fills in each form by a rule."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from typing_extensions import override

from deep_research.app.embed import ResearchGraph, build_graph
from deep_research.app.stream import read_packet
from deep_research.core.records import tool_names
from deep_research.core.settings.context import ROLES
from deep_research.core.store._serializer import StrictSerializer
from deep_research.nodes.turn import OPENING
from deep_research.state import ResearchState
from kit.models import Heard, ScriptedChatModel, call, calls, is_same
from kit.packets import merged
from kit.runs import QUESTION, Lab, WatchedSaver, write_documents

_FENCED = re.compile(r"<(data-[0-9a-f]+)>\s*(\{.*?\})\s*</\1>", re.DOTALL)
REPORT = "It was lit in 1844. [1]"


class Asked(NamedTuple):
    """One question to the model."""

    form: str
    """The tool that is to be called; `report` for the report."""
    task: str
    """The first words of the user: the task of a step, or the question."""
    messages: list[BaseMessage]
    number: int
    """Times that this form was asked for this task, this one included."""

    @property
    def reminder(self) -> str:
        """The words that come last."""
        return self.messages[-1].text

    @property
    def knowledge(self) -> dict[str, Any]:
        """What it is told that is known, and what it has handed in itself."""
        said = "\n".join(
            message.text for message in self.messages if isinstance(message, HumanMessage)
        )
        known: dict[str, Any] = {}
        for _, text in _FENCED.findall(said):
            known |= json.loads(text).get("knowledge", {})
        if gaps := known.get("gaps"):
            known["gaps"] = [gap["question"] if isinstance(gap, dict) else gap for gap in gaps]
        handed_in = [
            call["args"]
            for message in self.messages
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        ]
        own = [fact for args in handed_in for fact in args.get("learnings", [])]
        return {**known, "learnings": [*known.get("learnings", []), *own]} if own else known

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results that are to be read, those of which nothing is new among them, by their
        numbers."""
        texts = [message.text for message in self.messages if isinstance(message, ToolMessage)]
        found = [json.loads(inner) for text in texts[-1:] for _, inner in _FENCED.findall(text)]
        new = [result for data in found for result in data.get("results", [])]
        known = [
            {"document": number, "text": ""}
            for data in found
            for number in data.get("shown_before", [])
        ]
        return sorted([*new, *known], key=lambda result: int(result["document"]))

    @property
    def known(self) -> list[str]:
        """The learnings that it is told of."""
        return [learning["text"] for learning in self.knowledge.get("learnings", [])]


Rule = Callable[[Asked], Any]


def step(
    task: str, *, search: bool = True, previous: bool = False, after: tuple[int, ...] = ()
) -> dict[str, Any]:
    """A step as a model plans it."""
    title = f"About {task}"
    flags = {
        "requires_search": search,
        "requires_previous": previous or bool(after),
        "depends_on": list(after),
    }
    return {"title": title, "task": task, **flags}


def plan(*steps: dict[str, Any]) -> Rule:
    """A plan of these steps."""
    return lambda _: {"steps": list(steps)}


def first_sentences(asked: Asked) -> dict[str, Any]:
    """The first sentence of each result, as a learning."""
    facts = [
        (result["text"].split("\n")[-1].split(". ")[0].rstrip("."), result["document"])
        for result in asked.results
    ]
    return {"learnings": [{"text": f"{text}.", "document": number} for text, number in facts]}


def verdict(is_complete: bool, reasoning: str = "Something is missing.", *elements: str) -> Rule:
    """The same verdict each time."""
    return lambda _: {
        "is_complete": is_complete,
        "reasoning": reasoning,
        "key_elements": list(elements),
    }


def numbered(number: int, other: int) -> dict[str, Any]:
    """A dispute between the learnings with these numbers."""
    return {
        "claim": "It is so.",
        "document": number,
        "other": "It is not.",
        "other_document": other,
    }


RULES: Mapping[str, Rule] = {
    "generate_plan": lambda _: {},
    "record_summary": lambda asked: {"summary": asked.task},
    "make_plan": plan(step("Skerry Light")),
    "choose_queries": lambda asked: {
        "queries": [asked.task if asked.number == 1 else f"{asked.task} {asked.number}"]
    },
    "record_learnings": first_sentences,
    "give_verdict": verdict(True, "All is there."),
    "record_insights": lambda _: {"insights": []},
    "evaluate_outcome": lambda _: {"completeness": 1.0, "quality": 1.0},
    "update_step": lambda _: {"is_needed": False},
    "update_plan": lambda _: {},
    "record_analysis": lambda asked: {
        "statements": [f"It follows from {len(asked.known)} learnings."]
    },
    "record_contradictions": lambda asked: {
        "contradictions": [
            numbered(*pair["numbers"]) for pair in asked.knowledge.get("candidates", [])
        ]
    },
    "report": lambda _: REPORT,
    "judge_units": lambda _: {"verdicts": []},
    "rewrite_sentences": lambda _: {"sentences": []},
}
"""What is answered in a run without trouble."""


PARTS: Mapping[str, Sequence[str]] = {
    "record_round": (
        "record_learnings",
        "record_insights",
        "evaluate_outcome",
        "give_verdict",
        "choose_queries",
    ),
    "record_analysis": ("record_analysis", "record_insights", "evaluate_outcome"),
}
"""The rules that fill in the larger forms."""
USUAL = object()
"""What the rule of a larger form says where the rules of its parts are to answer."""
_RENAMED = {"queries": "next_queries"}


class FormModel(ScriptedChatModel):
    """Fills in each form by a rule, as often as it is asked."""

    replies: Any = ()
    chunk_characters: int = 60
    """Putting many small chunks together would take longer than all else in a run."""
    rules: dict[str, Any]
    asked: list[Any] = []  # noqa: RUF012 - pydantic copies it for each model

    @override
    def heard(self) -> Heard:
        return Heard(
            tuple(self.calls), tuple((asked, self.rules[asked.form]) for asked in self.asked)
        )

    @override
    def repeats(self, heard: Heard) -> bool:
        asked_for = {asked.form for asked, _ in heard.given}
        whole = {form for form in PARTS if form in self.rules and form not in PARTS[form]}
        rules = [(self.rules.get(asked.form), rule) for asked, rule in heard.given]
        return whole <= asked_for and all(is_same(own, rule) for own, rule in rules)

    @override
    def take_over(self, heard: Heard) -> None:
        self.calls.extend(heard.calls)
        self.asked.extend(asked for asked, _ in heard.given)

    @override
    def _take(
        self, messages: list[BaseMessage], stop: list[str] | None, settings: dict[str, Any]
    ) -> Any:
        self.replies = {"": lambda *_: self._fill_in(messages)}
        return super()._take(messages, stop, settings)

    async def _fill_in(self, messages: list[BaseMessage]) -> Any:
        form = form_of(self.calls[-1].tools)
        answers: list[Any] = []
        if form in PARTS and form in self.rules and form not in PARTS[form]:
            answers = [await self._answer_to(form, messages)]
        if not answers or answers[-1] is USUAL:
            answers = []
            for part in parts_of(form, messages[-1].text):
                answers.append(await self._answer_to(part, messages))
                if is_last(part, answers[-1]):
                    break
        said = handed_in(answers)
        return calls(call(form, **said)) if isinstance(said, dict) else said

    async def _answer_to(self, part: str, messages: list[BaseMessage]) -> Any:
        said = (message.text for message in messages if isinstance(message, HumanMessage))
        task = next(text for text in said if text != OPENING)
        number = 1 + sum(asked.form == part and asked.task == task for asked in self.asked)
        asked = Asked(part, task, messages, number)
        self.asked.append(asked)
        answer = self.rules[part](asked)
        return await answer if inspect.isawaitable(answer) else answer


def form_of(tools: Sequence[str]) -> str:
    """The form that is asked for; a report, if the model may at most calculate."""
    if not tools or [*tools] == [tool_names.CALCULATE]:
        return "report"
    return tools[0]


def parts_of(form: str, reminder: str) -> Sequence[str]:
    """The rules that fill in a form together."""
    if form == "record_round" and "only `next_queries`" in reminder:
        return ["choose_queries"]
    parts = PARTS.get(form, [form])
    return parts[:-1] if "nothing more can be searched" in reminder else parts


def handed_in(answers: Sequence[Any]) -> Any:
    """What the parts of a form say together, or what one of them says instead."""
    if not isinstance(answers[-1], dict):
        return answers[-1]
    return {_RENAMED.get(name, name): value for answer in answers for name, value in answer.items()}


def is_last(part: str, answer: Any) -> bool:
    """Whether nothing more is said: what is complete needs no further queries, and what breaks says
    nothing."""
    return not isinstance(answer, dict) or (
        part == "give_verdict" and answer.get("is_complete", False)
    )


@dataclass
class PlannedLab(Lab):
    """One thread of the planned graph, and all that it did."""

    model: FormModel = field(default_factory=lambda: FormModel(rules={}))

    def asked(self, form: str, task: str = "") -> list[Asked]:
        """The questions for this form, in order; those of one task if it is named."""
        return [asked for asked in self.model.asked if asked.form == form and task in asked.task]

    @property
    def begun(self) -> list[str]:
        """The steps in the order in which they were begun, by id."""
        return [packet["step_id"] for packet in self.of_type("step_started")]

    def position_of(self, kind: str, step_id: str) -> int:
        """Where in the stream this packet of a step stands."""
        places = enumerate(self.packets)
        return next(
            position
            for position, packet in places
            if packet["type"] == kind and packet.get("step_id") == step_id
        )

    async def replays_alike(self) -> bool:
        """Whether the replay of the thread says the same in the same places as its stream."""
        # Each pause has a stop of its own.
        streamed = merged(
            read_packet(packet) for packet in self.packets if packet["type"] != "stop"
        )
        *packets, stop = await self.replayed()
        again = merged(packets)
        assert self.packets[-1] == stop.model_dump(mode="json")
        assert again == streamed
        return True


def planned_lab(
    tmp_path: Path,
    rules: Mapping[str, Rule] | None = None,
    *,
    graph: ResearchGraph | None = None,
    **settings: Any,
) -> PlannedLab:
    """A thread whose model follows these rules, and else those of a run without trouble."""
    profile = ModelProfile(max_input_tokens=100_000)
    model = FormModel(rules={**RULES, **(rules or {})}, profile=profile)
    folder = tmp_path.parent / "lab-documents"
    if not folder.exists():
        write_documents(folder)
    built = graph or build_graph("planned", checkpointer=WatchedSaver(serde=StrictSerializer()))
    given = {"data_dir": tmp_path.parent / "lab-data", **settings}
    return PlannedLab(folder, dict.fromkeys(ROLES, model), given, built, model=model)


async def finished(
    tmp_path: Path, rules: Mapping[str, Rule] | None = None, **settings: Any
) -> tuple[PlannedLab, ResearchState]:
    """A run that was asked the usual question, and its state."""
    run = planned_lab(tmp_path, rules, **settings)
    return run, await run.ask(QUESTION)


def statuses(state: ResearchState) -> dict[str, str]:
    """Where each step stands, by id."""
    return {step.id: step.status for step in state.steps}


WORDS = [f"word{number}x" for number in range(20)]
"""Words that no document holds."""
COVERED = " ".join(WORDS)
"""A task of which a fact can hold any share."""
INCOMPLETE = verdict(False)


def form(name: str, **arguments: Any) -> AIMessage:
    """A form as a message."""
    return calls(call(name, **arguments))


def fact(text: str, document: int = 1) -> dict[str, Any]:
    """One learned fact."""
    return {"text": text, "document": document}


def facts(*texts: str) -> Rule:
    """The same facts each time, said by the first result."""
    return lambda asked: {"learnings": [fact(text, asked.results[0]["document"]) for text in texts]}


def contrary(claim: str, other: str) -> Rule:
    """Two facts of the first two results, which cannot both be true."""
    pair = {"claim": claim, "document": 1, "other": other, "other_document": 2}
    return lambda _: {"learnings": [fact(claim, 1), fact(other, 2)], "contradictions": [pair]}


def holding(words: int) -> Rule:
    """One fact that holds so many of `WORDS`."""
    return facts(" ".join(WORDS[:words]))


def new_each_time(asked: Asked) -> Any:
    """A fact that nobody knows yet."""
    return facts(f"{asked.task} has the number {asked.number}.")(asked)


def queries(*texts: str) -> Rule:
    """The same queries each time."""
    return lambda _: {"queries": list(texts)}


def insights(*texts: str, gaps: dict[str, float] | None = None) -> Rule:
    """The same insights and gaps each time; the gaps with their relevance."""
    found = [
        {"question": question, "relevance": relevance}
        for question, relevance in (gaps or {}).items()
    ]
    return lambda _: {"insights": list(texts), "gaps": found}


def suggestion(title: str = "", rationale: str = "", *, search: bool = True) -> dict[str, Any]:
    """A further step as a model suggests it."""
    return {"title": title, "rationale": rationale, "requires_search": search}


def judged(completeness: float, quality: float, *next_steps: dict[str, Any]) -> Rule:
    """The same judgement of every step."""
    return lambda _: {
        "completeness": completeness,
        "quality": quality,
        "next_steps": list(next_steps),
    }


def of_task(task: str, rule: Rule, otherwise: Rule) -> Rule:
    """A rule for the questions on one task (on all if it is empty), and one for all others."""
    return lambda asked: (rule if task in ("", asked.task) else otherwise)(asked)


def in_turn(*rules: Rule) -> Rule:
    """A rule for each time that a task is asked about, the last one ever after."""
    return lambda asked: rules[min(asked.number, len(rules)) - 1](asked)


def failing(error: Exception) -> Rule:
    """The model fails."""
    return lambda _: error


def at_first(times: int, rule: Rule, otherwise: Rule) -> Rule:
    """One rule for the first questions, whatever they are about, and another for all others."""
    number = count()
    return lambda asked: (rule if next(number) < times else otherwise)(asked)


def shown(asked: Asked, kind: str) -> list[str]:
    """The elements of this kind that it is shown, in order."""
    return [
        element["content"]
        for element in asked.knowledge.get("elements", [])
        if element["kind"] == kind
    ]
