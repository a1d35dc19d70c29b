"""What can be done about a call that failed: ask for less, or leave out what a filter may have stumbled over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from langchain_core.messages import AnyMessage, ToolMessage

from ..run.calls import is_word_of_ours
from ..run.context import Context
from ..run.transcripts import FAILED, WITHHELD, fit, tokens_of
from .faults import AnswerRefused
from .request import Request
from .wordings import Kind

SUSPECTS = 3
"""Results that are left out, one after the other, while the provider's filter refuses the call."""


class Remedies:
    """What is still to be tried for one call."""

    def __init__(self, request: Request, context: Context) -> None:
        self.left_out: tuple[str, ...] = ()
        """Ids of the calls whose results the model is not shown."""
        self._request = request
        # Where the user has set how tools are called, the line that names the setting helps more.
        self._may_change_rung = context.tool_calls == "auto"
        self._met = set[Kind]()
        self._suspects: Iterator[tuple[str, ...]] | None = None

    @property
    def request(self) -> Request:
        """The request as it is to be made now."""
        messages = [left_out(i) if (i := _answered(each)) in self.left_out else each for each in self._request.messages]
        return self._request._replace(messages=messages)

    def meet(self, error: Exception, kind: Kind) -> bool:
        """Prepare the next try after a failure; whether there is one."""
        if kind == "refused":
            return self._leave_out(error)
        is_new = kind not in self._met
        self._met.add(kind)
        if kind == "no_tools":
            return is_new and self._may_change_rung
        return kind == "long" and is_new and self._shorten()

    def _leave_out(self, error: Exception) -> bool:
        if self._suspects is None:
            self._suspects = iter(_suspects(self._request.messages))
            # A prompt that is refused is refused again; an answer may have been one of chance.
            if isinstance(error, AnswerRefused) and _suspects(self._request.messages):
                return True
        self.left_out = next(self._suspects, ())
        return bool(self.left_out)

    def _shorten(self) -> bool:
        messages = self._request.messages
        shorter = fit(messages, tokens_of(messages) // 2, self._request.shorten)
        self._request = self._request._replace(messages=shorter)
        return shorter != list(messages)


def left_out(call_id: str) -> ToolMessage:
    """What stands in the place of a result that the provider's filter refused."""
    return ToolMessage(WITHHELD, tool_call_id=call_id)


def _suspects(messages: Sequence[AnyMessage]) -> list[tuple[str, ...]]:
    """Which results to leave out, as ids of their calls: each alone, and all if none of them was the only one.

    Those of the newest round come first, of these the longest.
    """
    rounds = [list(group) for is_result, group in groupby(messages, lambda each: bool(_answered(each))) if is_result]
    suspected = [
        _answered(message)
        for results in reversed(rounds)
        for message in sorted(results, key=lambda message: len(message.text), reverse=True)
        if _is_from_outside(message.text)
    ][:SUSPECTS]
    singles: list[tuple[str, ...]] = [(call_id,) for call_id in suspected]
    return singles if len(singles) < 2 else [*singles, tuple(suspected)]


def _is_from_outside(result: str) -> bool:
    """Whether a result holds what a document, a page or a researcher says."""
    return not result.startswith((WITHHELD, FAILED)) and not is_word_of_ours(result)


def _answered(message: AnyMessage) -> str:
    """The id of the call that the message answers; empty if it answers none."""
    return message.tool_call_id if isinstance(message, ToolMessage) else ""
