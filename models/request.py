"""What a model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage

from ..run.context import Context, Role
from ..run.transcripts import Shorten
from .facts import Facts
from .resolve import profile_of


class Request(NamedTuple):
    """One call of a role's model."""

    role: Role
    question_id: str
    """The question for which it is asked; all its calls share one budget of waiting."""
    messages: Sequence[AnyMessage]
    shorten: Shorten | None = None
    """How results shrink when the messages do not fit the model's window."""
    tools: Sequence[dict[str, Any]] = ()
    """Tool schemas; without any, the call carries no tool setting at all."""
    tool_choice: str = "any"
    """`any`: a tool has to be called; `auto`: the model may answer in words; `none`: it has to, and the tools are shown
    only because the calls before were made with them, and a provider keeps what begins alike."""
    max_tokens: int | None = None
    """Output tokens."""
    facts: Facts = Facts()
    """What the messages rest on, as data."""
    is_long: bool = False
    """Whether the answer is a finding or a report, which may take its time."""
    keeps_broken: bool = False
    """Whether of an answer that breaks off what was heard is taken, instead of raising what broke it."""

    @property
    def may_call(self) -> bool:
        """Whether the answer can be a call."""
        return bool(self.tools) and self.tool_choice != "none"


def output_tokens(request: Request, context: Context) -> int | None:
    """Output tokens that a call is allowed, thoughts included: providers count those as output; none: no limit."""
    if request.max_tokens is None:
        return None
    profile = profile_of(request.role, context)
    wanted = request.max_tokens + (context.limits.reasoning_tokens if profile.reasons else 0)
    return min(wanted, profile.output) if profile.output else wanted
