"""What a call of a model has cost."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.messages.utils import count_tokens_approximately

from ..run.context import Context, Role
from ..state import Spent
from .prices import cost_of
from .resolve import EXTRACTIVE, profile_of


def spent_on(message: AIMessage, messages: Sequence[AnyMessage], role: Role, context: Context) -> Spent | None:
    """Tokens and money of an answer to these messages, also of one that broke off; estimated where nobody counts.

    None for the extractive model: it costs nothing but time.
    """
    name = profile_of(role, context).name
    if name == EXTRACTIVE:
        return None
    usage = message.usage_metadata
    if not usage or not usage["input_tokens"]:
        # Some servers do not count, or count nothing; without an estimate a limit on tokens would never be reached.
        spent = Spent(
            role=role,
            input_tokens=count_tokens_approximately(messages),
            output_tokens=count_tokens_approximately([message]),
        )
    else:
        spent = Spent(
            role=role,
            input_tokens=usage["input_tokens"],
            cached_tokens=usage.get("input_token_details", {}).get("cache_read", 0),
            output_tokens=usage["output_tokens"],
        )
    told = message.response_metadata.get("cost")
    return spent.model_copy(update={"usd": cost_of(name, spent, context.prices, told)})
