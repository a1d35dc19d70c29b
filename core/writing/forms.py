"""Forms that models fill in: each is a tool, and the call of the tool is the answer.

A form stands beside the node that uses it. Its docstring and the strings below its fields are part
of the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeVar

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel, ConfigDict, ValidationError

from ...prompts import render_prompt
from ...tools.results import shortener
from ...tools.tool import tool_schema
from ..dialogue.transcripts import Calls
from ..errors import ModelFailed, failure_of, log_failure
from ..events.blocks import StepPackets
from ..events.call import CallEvents
from ..events.packets import Placement
from ..masking import Secrets
from ..models.ask import Withheld, ask_model
from ..models.request import Facts, Request
from ..models.resolve import RoleModels
from ..records.research import Run, Task
from ..settings.context import Context, Role
from .notes import WITHHELD_REASON


class Form(BaseModel):
    """Base of all forms; fields that a model adds are ignored."""

    model_config = ConfigDict(use_attribute_docstrings=True, coerce_numbers_to_str=True)

    @classmethod
    def tool_name(cls) -> str:
        """Return the name of the form's tool: `make_plan` for `MakePlan`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def form_schema(form: type[Form]) -> dict[str, Any]:
    """Return the tool schema of a form."""
    return tool_schema(form.tool_name(), form)


Filled = TypeVar("Filled", bound=Form)
Messages = Sequence[AnyMessage]


class Filler:
    """Asks models to fill in forms, for a run or one of its tasks."""

    def __init__(
        self,
        context: Context,
        work: Run | Task,
        events: CallEvents,
        placement: Placement,
        facts: Callable[[], Facts] = Facts,
    ) -> None:
        """`events` observes the calls; failures are emitted as packets at `placement`.

        `facts` returns the data for the extractive model.
        """
        self.context = context
        self._events = events
        self._placement = placement
        self._facts = facts
        self._question_id = work.question_id if isinstance(work, Task) else work.id
        self._shared_prefix = ""
        self.date = work.date
        """The day on which the work began, in words, as models are told."""
        self._common_values = {"date": work.date, "language": work.language}
        self.failures: list[str] = []
        """Reasons of failed forms, as emitted for the reader."""
        self.unfilled: set[str] = set()
        """Names of the forms that a model failed to fill in."""

    def without_model(self, role: Role) -> Filler:
        """Return a filler that uses the extractive model for a role and records failures in this
        filler's lists.
        """
        other = copy(self)
        other.context = RoleModels(self.context).without_model(role)
        return other

    def with_facts(self, facts: Facts, shared_prefix: str = "") -> Filler:
        """Return a filler with other data for the extractive model, which records failures in this
        filler's lists.

        For `shared_prefix`, see `Request`.
        """
        other = copy(self)
        other._facts = lambda: facts
        other._shared_prefix = shared_prefix
        return other

    async def ask(
        self, form: type[Filled], role: Role, prompt: str, between: Messages, **values: Any
    ) -> Filled:
        """Have the role's model fill in a form, and return the form.

        `prompt` names the template in `prompts/`, filled with `values`; the messages `between`
        stand between its two blocks, system prompt and reminder. Raises `ModelFailed` if the model
        fails to fill in the form twice, or the error of a failed call.
        """
        facts = self._facts()
        values = {**self._common_values, **values}
        before = [SystemMessage(render_prompt(prompt, "system", **values)), *between]
        reminder = HumanMessage(render_prompt(prompt, "reminder", **values))
        faults = ""
        for _ in range(2):
            messages = [*before, reminder]
            request = Request(
                role,
                self._question_id,
                messages,
                shortener(""),
                [form_schema(form)],
                max_tokens=self.context.limits.form_tokens,
                facts=facts,
                shared_prefix=self._shared_prefix,
            )
            reply = await ask_model(request, self.context, self._events)
            left_out = ", ".join(Withheld.of(reply.reduced).titles) or "some results"
            unread = f"{form.tool_name()} was filled in without {left_out}: {WITHHELD_REASON}"
            if reply.withheld and unread not in self.failures:
                self.fail(unread)
            calls = Calls.read(reply.message, {form.tool_name()}, messages)
            filled = _read(form, calls, Secrets(self.context.mcp))
            if isinstance(filled, form):
                return filled
            faults = str(filled)
            # Show the model the errors in its answer.
            if calls.message.tool_calls:
                before += calls.all_refused(faults)
            else:
                sentence = faults[:1].upper() + faults[1:]
                before.append(HumanMessage(f"<reminder>\n{sentence}.\n</reminder>"))
        self.unfilled.add(form.tool_name())
        first_fault, _, _ = faults.partition("\n")
        raise ModelFailed(
            f"{RoleModels(self.context).subject(role)} did not fill in {form.tool_name()!r}, even "
            f"when asked again: {first_fault}."
        )

    async def ask_if_possible(
        self, form: type[Filled], role: Role, prompt: str, between: Messages, **values: Any
    ) -> Filled | None:
        """Like `ask`, but on failure emit the reason and return None.

        Raises only errors that stop the whole run.
        """
        try:
            return await self.ask(form, role, prompt, between, **values)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - any error of a model costs only this form
            log_failure(
                __name__,
                error,
                "The form %s was not filled in; the run continues without it",
                form.tool_name(),
            )
            self.fail(failure_of(error))
            return None

    def fail(self, reason: str) -> None:
        """Emit a failure and record it."""
        self.failures.append(reason)
        self._events.emit(StepPackets(self._placement).failure(reason))


def _read(form: type[Filled], calls: Calls, secrets: Secrets) -> Filled | str:
    """Return the form with secrets masked, or an error message about the calls."""
    if not calls.accepted:
        return calls.fault
    arguments = secrets.masked(json.dumps(calls.accepted[0].arguments))
    try:
        return form.model_validate(json.loads(arguments))
    except ValidationError as error:
        return form_faults(error)


def form_faults(error: ValidationError) -> str:
    """Return what is wrong with a form, worded for the model that filled it in."""
    faults = list[str]()
    for fault in error.errors():
        field = ".".join(map(str, fault["loc"]))
        faults.append(f"{field}: {fault['msg']}")
    return "; ".join(faults)
