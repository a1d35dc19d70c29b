"""Has something written that nobody watches: a list, or a text that stands in for another one."""

from __future__ import annotations

from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from ..evidence.text.seams import joined
from ..models.ask import ask_model
from ..models.request import Request
from ..prompts import render
from ..run.calls import was_cut_off
from ..run.context import Context
from ..run.telling import QuietTeller, Teller

LAST_CHARACTERS = 60
"""How much of a text a model is reminded of that is to continue it."""


class Unheard(NamedTuple):
    """What was written."""

    text: str
    was_cut: bool
    """Whether it is cut off, continued though it was as often as it may be."""


async def write_unheard(request: Request, context: Context, teller: Teller) -> Unheard:
    """What the model writes, continued where it is cut off.

    What it costs is put on the teller's bill. Raises what a failed call raises.
    """
    quiet, text, was_cut = QuietTeller(teller.writer, teller.placement), "", True
    quiet.bill = teller.bill
    for _ in range(1 + context.limits.max_continuations):
        messages = [*request.messages, *(go_on(text) if text else ())]
        reply = await ask_model(request._replace(messages=messages), context, quiet)
        text = joined(text, reply.message.text)
        was_cut = was_cut_off(reply.message)
        if not was_cut:
            break
    return Unheard(text, was_cut)


def last_words(text: str) -> str:
    """The end of a text that a model is to continue, from a whole word on."""
    end = text[-LAST_CHARACTERS:]
    return end if len(text) <= LAST_CHARACTERS else end.partition(" ")[2] or end


def go_on(text: str) -> list[AnyMessage]:
    """The messages that have a model continue its text."""
    return [AIMessage(text), HumanMessage(render("_continue", "reminder", last_words=last_words(text)))]
