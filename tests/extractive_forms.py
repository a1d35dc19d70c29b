"""Asks the extractive model to fill in forms, as the planned strategy does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from deep_research.models.extractive import ExtractiveChatModel
from deep_research.run.fencing import fence
from deep_research.tools.forms import FORMS, SCHEMAS

QUESTION = "Where was the captain of the Silver Heron born?"


def reminder(**known: Any) -> HumanMessage:
    told = fence(json.dumps({"knowledge": known}, ensure_ascii=False)) if known else ""
    return HumanMessage(f"<reminder>\nFill in the form.\n{told}\n</reminder>")


def learned(*facts: tuple[str, int | None]) -> list[dict[str, Any]]:
    return [
        {"number": number, "text": text, "document": document, "step": "1"}
        for number, (text, document) in enumerate(facts, start=1)
    ]


def searched(*documents: tuple[str, str]) -> list[BaseMessage]:
    results = [
        {"document": number, "title": title, "address": f"docs:{number}.md", "date": "", "text": text}
        for number, (title, text) in enumerate(documents, start=1)
    ]
    call = {"name": "internal_search", "args": {"queries": ["x"]}, "id": "s1", "type": "tool_call"}
    reply = fence(json.dumps({"results": results, "problems": []}, ensure_ascii=False))
    return [AIMessage("", tool_calls=[call]), ToolMessage(reply, tool_call_id="s1")]


def ask(form: str, messages: Sequence[BaseMessage]) -> Any:
    """The form as the model fills it in, checked as a run checks it."""
    model = ExtractiveChatModel(role="researcher").bind_tools([SCHEMAS[FORMS[form]]], tool_choice="any")
    calls = model.invoke([SystemMessage("You research."), *messages]).tool_calls
    assert [call["name"] for call in calls] == [form]
    return FORMS[form].model_validate(json.loads(json.dumps(calls[0]["args"])), strict=True)


def fill_in(form: str, text: str = QUESTION, results: Sequence[BaseMessage] = (), **known: Any) -> Any:
    return ask(form, [HumanMessage(text), *results, reminder(**known)])
