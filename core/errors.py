"""All exceptions of this package, one class for each problem that a user can fix, and how errors
are worded and logged.

DeepResearchError
├── UserMistake                 exit code 2: the call or a setting must change
│   ├── QuestionRefused         the question is empty, invisible or too long
│   ├── NoResearch              no research is at work that could read a message, or end
│   ├── ReportNotEditable       there is no finished report, or no model that can edit it
│   ├── DocumentsUnreadable     a folder or file of `docs` is missing, empty or unreadable
│   ├── ReportUnreadable        a report to be checked is missing, empty or unreadable
│   ├── UnknownSetting          unknown setting, or invalid value of a setting
│   ├── UnknownModel            no provider is known for this model name
│   ├── ExtraMissing            a required package or system library is not installed
│   ├── WindowTooSmall          the model's window is below `min_window`
│   ├── NoSearchTool            nothing to search: no documents, no engine
│   ├── KeyRefused              the key is missing, or the model's provider rejected it
│   ├── ModelMissing            the provider has no such model, or the key may not use it
│   ├── ToolsMissing            the model cannot call tools in any supported way
│   ├── SearchRefused           the search key is missing, wrong, or its quota is used up
│   ├── DailyLimitReached       a user of the server has reached the operator's daily limit
│   ├── UnknownThread           no run has this name
│   ├── SyncCallRefused         a sync method cannot wait for the checkpointer's event loop
│   └── DatabaseUnusable        the database is corrupt, foreign, locked or read-only
├── StateUnreadable             the stored run is damaged, or not ours
│   └── NewerVersion            the stored run was written by a newer version
├── ThreadBusy                  exit code 4: another process is running this thread
└── RunFailed                   exit code 1: the run stopped and can be resumed
    ├── NoPlan                  the planner wrote nothing, twice
    ├── NoReport                the writer wrote nothing
    ├── NotSaved                the database accepts no writes: it is locked, or the disk is full
    ├── ModelFailed             the model refused the call or broke off
    │   ├── RateLimited         the provider asks to wait longer than `retry_seconds`
    │   ├── PromptTooLong       the provider says that the prompt exceeds the model's window
    │   └── ContentRefused      the model or the provider's filter declined to answer
    └── SearchFailed            every search engine is down

`UserMistake`, `StateUnreadable`, `RateLimited` and `SearchFailed` stop the whole run wherever they
occur; inside a researcher or step, all others become a gap in the report. A few modules declare a
subclass for their own use, such as `BranchNotSaved` in `store/_saver.py` and `EditRefused` in
`app/_edits.py`.
"""

from __future__ import annotations

import logging
import sys
from functools import cache
from typing import Any, Self, TypeVar, cast

from .masking import masked, without_passwords

Raised = TypeVar("Raised", bound=BaseException)
_CHARACTERS = 500
"""Maximum length of an error's text in the log."""
_WITHHELD = "its text is logged at the level DEBUG"
"""Logged instead of the text of a third-party error."""


class DeepResearchError(Exception):
    """Base class of this package's errors; the text of each is one line for the user."""

    exit_code = 1
    """Exit code of a command that ends with this error."""


class StopsTheRun(Exception):
    """Mixed into errors that every researcher would run into: going on would only cost money.

    Once LangGraph is loaded, its instances are also `GraphBubbleUp` errors (of a subclass with the
    same name): LangGraph passes these by the error handlers of nodes, lets the other branches
    finish, and runs the failed node again on resumption. If an error handler raised the error again
    instead, it would be lost, and LangGraph would run the handler again, not the node. The class
    itself does not derive from `GraphBubbleUp`, since a command that only lists runs or rejects an
    option does not load LangGraph, which takes most of a second.

    It comes first among the base classes, so that its `__new__` is the one that Python calls.
    """

    def __new__(cls, *arguments: Any) -> Self:
        """Return an error of this class that LangGraph, if it is loaded, lets pass."""
        return super().__new__(_in_langgraph(cls), *arguments)


class UserMistake(StopsTheRun, DeepResearchError):
    """The call or a setting must change; nothing more is spent until then."""

    exit_code = 2

    def __str__(self) -> str:
        """Return the text without passwords, since it may quote a setting."""
        return without_passwords(super().__str__())


class QuestionRefused(UserMistake):
    """The question is empty, invisible or too long, or needs a language model."""


class NoResearch(UserMistake):
    """No research is at work that could read a message, or be finished."""


class ReportNotEditable(UserMistake):
    """The thread has no finished report, or its writer's model cannot edit one."""


class DocumentsUnreadable(UserMistake):
    """A folder or file named in `docs` is missing, empty or unreadable."""


class ReportUnreadable(UserMistake):
    """A report to be checked is missing, empty or unreadable."""


class UnknownSetting(UserMistake):
    """Unknown setting, or invalid value of a setting."""


class UnknownModel(UserMistake):
    """No provider is known for this model name."""


class ExtraMissing(UserMistake):
    """A required package or system library is not installed."""


def how_to_install(extra: str) -> str:
    """Return how to install an extra, as the end of a message."""
    return (
        f"make install EXTRAS={extra} in the checkout of deep_research, or "
        f'pip install -e ".[{extra}]" there'
    )


class WindowTooSmall(UserMistake):
    """The model's window is below `min_window`."""


class NoSearchTool(UserMistake):
    """There is nothing to search: no documents, no engine."""


class KeyRefused(UserMistake):
    """The key is missing, or the model's provider rejected it."""


class ModelMissing(UserMistake):
    """The provider has no such model, or the key may not use it."""


class ToolsMissing(UserMistake):
    """The model cannot call tools in any supported way."""


class SearchRefused(UserMistake):
    """The search key is missing, wrong, or its quota is used up."""


class DailyLimitReached(UserMistake):
    """A user of the server has reached the operator's daily limit."""


class UnknownThread(UserMistake):
    """No run has this name."""


class SyncCallRefused(UserMistake):
    """A sync method was called on the event loop that the checkpointer needs, or that loop is
    closed."""


class DatabaseUnusable(UserMistake):
    """The database is corrupt, foreign, locked or read-only."""


class StateUnreadable(StopsTheRun, DeepResearchError):
    """The stored run is damaged, or was not written by this package."""


class NewerVersion(StateUnreadable):
    """The stored run was written by a newer version, whose data may mean something else."""


class ThreadBusy(DeepResearchError, RuntimeError):
    """Another process is running this thread."""

    exit_code = 4


class RunFailed(DeepResearchError, RuntimeError):
    """The run stopped; its findings are kept and it can be resumed.

    It is also a `RuntimeError`, because LangGraph's server shows clients the text of built-in
    errors, but only the type of others.
    """


class NoPlan(RunFailed):
    """The planner wrote no plan, even when asked again."""


class NoReport(RunFailed):
    """The writer wrote nothing."""


class NotSaved(RunFailed):
    """The database accepts no more writes of the run."""


class ModelFailed(RunFailed):
    """A model refused the call or broke off."""


class RateLimited(StopsTheRun, ModelFailed):
    """The provider asks to wait longer than `retry_seconds`."""


class PromptTooLong(ModelFailed):
    """The provider says that the prompt exceeds the model's window."""


class ContentRefused(ModelFailed):
    """The model, or a filter of its provider, declined to answer."""


class SearchFailed(StopsTheRun, RunFailed):
    """Every search engine is down, and there is nothing else to search."""


def stop_message(error: Exception) -> str:
    """Return one line for the user on what stopped a run.

    For third-party exceptions only the type is reported: their text may contain addresses, keys or
    page text.
    """
    if isinstance(error, DeepResearchError):
        return " ".join(str(error).split())
    return f"An error stopped the run ({type(error).__name__})."


def failure_of(error: BaseException) -> str:
    """Return why a node failed, as part of a sentence for the reader; for third-party exceptions
    only the type."""
    if isinstance(error, DeepResearchError):
        return str(error).rstrip(".")
    return f"an error stopped it ({type(error).__name__})"


def log_failure(
    name: str, error: BaseException, message: str, *arguments: object, keeps_text: bool = False
) -> None:
    """Log an error as a warning, with its traceback and with secrets masked; `name`: `__name__` of
    the calling module.

    The text of a third-party error may quote prompts and documents, so it is logged only at
    `DEBUG`. `keeps_text`: the error comes from the app's own code, so its text is part of the
    warning.
    """
    logger = logging.getLogger(name)
    logger.warning(message, *arguments, exc_info=_shown(error, keeps_text), stacklevel=2)
    logger.debug("The text of this %s: %s", type(error).__name__, masked(str(error)), stacklevel=2)


def _shown(error: BaseException, keeps_text: bool) -> BaseException:
    """Return a copy of the error for the log: of a type with the same name, with its traceback, and
    its text masked.

    Its causes are copied in the same way.
    """
    text = _WITHHELD
    if keeps_text or isinstance(error, DeepResearchError):
        text = " ".join(masked(str(error)).split())[:_CHARACTERS]
    kind = type(error)
    copied_kind = type(kind.__name__, (Exception,), {"__module__": kind.__module__})
    shown: BaseException = copied_kind(text)
    shown.__cause__ = error.__cause__ and _shown(error.__cause__, keeps_text)
    shown.__context__ = error.__context__ and _shown(error.__context__, keeps_text)
    shown.__suppress_context__ = error.__suppress_context__
    return shown.with_traceback(error.__traceback__)


def _in_langgraph(kind: type[Raised]) -> type[Raised]:
    """Return the class of an error as LangGraph, if it is loaded, has to see it."""
    bubble_up = getattr(sys.modules.get("langgraph.errors"), "GraphBubbleUp", None)
    if bubble_up is None or issubclass(kind, bubble_up):
        return kind
    both = _bubbling(kind, bubble_up)  # type: ignore[arg-type]  # mypy takes classes for unhashable
    return cast(type[Raised], both)


@cache
def _bubbling(kind: type, bubble_up: type) -> type:
    """Return a class with the name of `kind` that derives from both classes."""

    def reduce(error: BaseException) -> tuple[Any, ...]:
        # Pickled as an error of the class that can be imported.
        return kind, error.args, vars(error)

    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__reduce__": reduce}
    return type(kind.__name__, (kind, bubble_up), names)
