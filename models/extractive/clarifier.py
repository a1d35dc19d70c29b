"""The clarifier: goes on unless the question names nothing that could be searched for."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from ...evidence.vocabulary import GENERIC_WORDS, STOP_WORDS
from ...evidence.words import tokens
from ...run import tool_names
from .reading import question_in
from .reply import Asked, Reply

QUESTIONS = """I would be glad to look into this. Could you please tell me a little more?

1. Which subject, person, place or document is it about?
2. What would you like to know about it?

With this I can search for what you need."""


def clarify(messages: Sequence[BaseMessage]) -> Reply:
    """A call of `generate_plan`, or questions to the user."""
    words = [word for word in tokens(question_in(messages)) if word not in STOP_WORDS | GENERIC_WORDS]
    return [Asked(tool_names.GENERATE_PLAN, {})] if any(word.isalnum() for word in words) else QUESTIONS
