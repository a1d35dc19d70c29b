"""The rungs of the ladder: four ways of having a model call tools, the most reliable first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

from langchain_core.messages import AnyMessage, SystemMessage

from .described import described, instructions, response_format
from .offer import Offer
from .written import as_json, as_tags, flattened

RungName = Literal["native", "schema", "json", "tags"]


class Prepared(NamedTuple):
    """A request as the model is given it."""

    messages: list[AnyMessage]
    tools: list[dict[str, Any]]
    """Tools to bind; none unless the model calls them by the API's own means."""
    settings: dict[str, Any]
    """What else to bind."""


LADDER: tuple[RungName, ...] = get_args(RungName)
"""All rungs in the order in which they are tried."""


def prepare(
    rung: RungName, messages: Sequence[AnyMessage], tools: Sequence[dict[str, Any]], tool_choice: str
) -> Prepared:
    """The request in the form of this rung; `tool_choice` is that of a `Request`.

    Below `native` the tools are told at the end of the system prompt, which depends on nothing else, and earlier calls
    and results are shown as text, even where no tools are offered; tools that may not be called are not told of there.
    """
    if rung == "native":
        return Prepared(list(messages), list(tools), {})
    write = as_tags if rung == "tags" else as_json
    plain = flattened(messages, write)
    if not tools or tool_choice == "none":
        return Prepared(plain, [], {})
    offered = list(Offer(tools).tools.values())
    is_forced = tool_choice == "any"
    is_held = rung == "schema"
    told = instructions(write, offered, is_forced=is_forced, has_answer=is_held)
    system = "\n\n".join(
        [*(message.text for message in plain[:1] if message.type == "system"), described(offered), told]
    )
    rest = [message for message in plain if message.type != "system"]
    settings = {"response_format": response_format(offered, is_forced=is_forced)} if is_held else {}
    return Prepared([SystemMessage(system), *rest], [], settings)
