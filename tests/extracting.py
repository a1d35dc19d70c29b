"""Asks the extractive model in one of its roles, or in a whole run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from deep_research import research
from deep_research.app.strategies import Strategy
from deep_research.models.extractive import ExtractiveChatModel
from deep_research.models.extractive.sentences import sentences
from deep_research.run.context import Role

QUESTION = "Where was the captain of the Silver Heron born?"
SHIP = "The Silver Heron was a cargo ship of 1902. Her only captain was Mara Ellingsen. She sank in 1911."
CAPTAIN = "Mara Ellingsen (3 May 1870 – 1 June 1940) was a sailor. Ellingsen was born in Tromsø, Norway."
OTHER = "Herons are long-legged birds. They live near water."


def ask(folder: Path, question: str, strategy: Strategy = "orchestrated", **files: str) -> str:
    """The text of the report on files that are named by their suffixes."""
    docs = folder / "documents"
    docs.mkdir()
    for name, text in files.items():
        (docs / name.replace("_", ".")).write_text(text, "utf-8")
    answer = research(question, strategy, docs=(docs,), models="extractive", engines=(), data_dir=folder / "data")
    return answer.report.text


def model(role: Role, *tools: str) -> Any:
    schemas = [{"type": "function", "function": {"name": name, "description": "", "parameters": {}}} for name in tools]
    chosen = ExtractiveChatModel(role=role)
    return chosen.bind_tools(schemas) if tools else chosen


def marked(text: str, mark: str) -> AIMessage:
    return AIMessage(text, additional_kwargs={"deep_research": mark})


def reminder(text: str = "Do it now.") -> HumanMessage:
    return HumanMessage(f"<reminder>\n{text}\n</reminder>")


def fenced(*documents: tuple[str, str]) -> str:
    results = [
        {"document": number, "title": title, "address": f"docs:{number}.md", "date": "", "text": text}
        for number, (title, text) in enumerate(documents, start=1)
    ]
    return f"<data-1f2e3d>\n{json.dumps({'results': results, 'problems': []})}\n</data-1f2e3d>"


def exchange(name: str, reply: str, call_id: str = "s1", **arguments: Any) -> list[BaseMessage]:
    call = {"name": name, "args": arguments, "id": call_id, "type": "tool_call"}
    return [AIMessage("", tool_calls=[call]), ToolMessage(reply, tool_call_id=call_id)]


def plan_for(question: str) -> list[str]:
    text = model("planner").invoke([SystemMessage("Plan."), HumanMessage(question), reminder()]).text
    assert all(re.match(rf"{number}\. \S", line) for number, line in enumerate(text.splitlines(), start=1))
    return [line.split(". ", 1)[1] for line in text.splitlines()]


def report_on(question: str, *findings: str, plan: str = "") -> str:
    research = [
        message
        for number, finding in enumerate(findings)
        for message in exchange("research_agent", finding, f"c{number}", task="t")
    ]
    last = reminder(f"<plan>\n{plan or f'1. {question}'}\n</plan>")
    return str(model("writer").invoke([SystemMessage("Write."), HumanMessage(question), *research, last]).text)


def turn(*exchanges: list[BaseMessage], task: str = QUESTION, tools: tuple[str, ...] = ("internal_search",)) -> Any:
    prompt = [SystemMessage("Research."), HumanMessage(task), *(part for pair in exchanges for part in pair)]
    return model("researcher", *tools, "think_tool", "generate_report").invoke(prompt).tool_calls


def orchestrate(*exchanges: list[BaseMessage], plan: str) -> Any:
    prompt = [SystemMessage(f"<plan>\n{plan}\n</plan>"), HumanMessage(QUESTION)]
    prompt += [part for pair in exchanges for part in pair]
    return model("orchestrator", "research_agent", "generate_report", "think_tool").invoke(prompt).tool_calls


def finding_for(task: str, *documents: tuple[str, str]) -> str:
    searched = exchange("internal_search", fenced(*documents), queries=["x"])
    return str(model("researcher").invoke([SystemMessage("Write."), HumanMessage(task), *searched, reminder()]).text)


def cited(text: str, number: int, joint: str = "\n\n") -> str:
    return joint.join(f"{sentence} [{number}]" for sentence in sentences(text))
