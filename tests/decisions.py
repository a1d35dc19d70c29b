"""Questions and answers in the form of LangChain's human-in-the-loop middleware, checked against its own types."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware.human_in_the_loop import HITLRequest, HITLResponse
from langgraph.types import Command
from pydantic import TypeAdapter

_REQUEST, _RESPONSE = TypeAdapter(HITLRequest), TypeAdapter(HITLResponse)


def requested(value: dict[str, Any]) -> HITLRequest:
    """The part of an interrupt that chat clients read."""
    return _REQUEST.validate_python({name: value[name] for name in HITLRequest.__annotations__}, strict=True)


def decided(kind: str, **more: Any) -> Command[Any]:
    """A decision, as chat clients send it."""
    return Command(resume=_RESPONSE.validate_python({"decisions": [{"type": kind, **more}]}))


def edited(plan: str) -> Command[Any]:
    """A plan that was edited in a client's form."""
    return decided("edit", edited_action={"name": "research_plan", "args": {"plan": plan}})
