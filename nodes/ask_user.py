"""Waits for the user's answer."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.types import interrupt
from typing_extensions import TypedDict

from deep_research.run.conversation import clean
from deep_research.state import ResearchState, Run


class AskUserUpdate(TypedDict):
    """What `ask_user` writes."""

    messages: list[AnyMessage]
    run: Run


async def ask_user(state: ResearchState) -> AskUserUpdate:
    """Pause until there is an answer: words, or `{"answer": words}`; anything else is asked for again."""
    answer = ""
    while not answer:
        answer = _words(interrupt({"type": "clarification", "question": state.messages[-1].text}))
    assert state.run is not None
    return {"messages": [HumanMessage(answer)], "run": state.run.model_copy(update={"status": "running"})}


def _words(reply: Any) -> str:
    if isinstance(reply, dict):
        reply = reply.get("answer")
    return clean(reply).strip() if isinstance(reply, str) else ""
