"""What can go wrong, one class for each thing a user can put right.

DeepResearchError
├── UserMistake                 exit code 2: the call or a setting has to change
│   ├── QuestionRefused         empty, invisible or over-long question
│   ├── DocumentsUnreadable     folder or file of `docs` missing, empty or unreadable
│   ├── UnknownSetting          a name or value that no setting has
│   ├── UnknownModel            model name that nothing can resolve
│   ├── ExtraMissing            what a format asks for needs a package that is not installed
│   ├── WindowTooSmall          model window below `min_window`
│   ├── NoSearchTool            nothing to search: no folder, no engine
│   ├── KeyRefused              no key, or one that the provider does not take
│   ├── ModelMissing            the provider has no such model, or the key may not use it
│   ├── ToolsMissing            the model calls tools in no way that is known
│   ├── SearchRefused           no search key, a wrong one, or its quota is used up
│   ├── DailyLimitReached       a user of the server has spent what the operator allows in a day
│   ├── UnknownThread           no run under this name
│   ├── SyncCallRefused         a sync method cannot wait for the checkpointer's event loop
│   └── DatabaseUnusable        corrupt, foreign, locked or read-only database
├── StateUnreadable             what is stored of a run is damaged, or not ours
│   └── NewerVersion            a newer version has written it
├── ThreadBusy                  exit code 4: another run is at work on the thread
└── RunFailed                   exit code 1: the run stopped and can be resumed
    ├── NoPlan                  the planner wrote nothing, twice
    ├── NoReport                the writer wrote nothing
    ├── NotSaved                the database takes nothing more: it is locked, or its disk is full
    ├── ModelFailed             the model refused or broke off
    │   ├── RateLimited         the provider asks to wait longer than `retry_seconds`
    │   ├── PromptTooLong       the provider says that the prompt exceeds the model's window
    │   └── ContentRefused      the model or the provider's filter declined to answer
    └── SearchFailed            every search engine is down

`UserMistake`, `StateUnreadable`, `RateLimited` and `SearchFailed` stop a whole run wherever they occur; within a
researcher, all others become a gap of the report.
"""

from __future__ import annotations

from langgraph.errors import GraphBubbleUp

TIME_OVER = "its time was over (researcher_seconds_hard)"
"""Why a researcher was cut."""


class DeepResearchError(Exception):
    """Base of all errors of this package; its text is one line for the user."""

    exit_code = 1


class StopsTheRun(GraphBubbleUp):
    """Marks errors that every researcher of a run would meet: going on would only spend money.

    LangGraph asks no error handler about it, lets the other branches finish, and takes the step anew when the run is
    resumed. An error that a handler raises again would be lost, and the handler, not the step, be run on resumption.
    """


class UserMistake(DeepResearchError, StopsTheRun):
    """The call or a setting has to change; nothing more is spent until it does."""

    exit_code = 2


class QuestionRefused(UserMistake):
    """The question is empty, invisible or too long."""


class DocumentsUnreadable(UserMistake):
    """A folder or file named in `docs` is missing, empty or unreadable."""


class ReportUnreadable(UserMistake):
    """A report that is to be checked is missing, empty or unreadable."""


class UnknownSetting(UserMistake):
    """A setting has a name or a value that is not known."""


class UnknownModel(UserMistake):
    """No model can be made from this name."""


class ExtraMissing(UserMistake):
    """What was asked for needs a package that is not installed, or a library of the system that it needs."""


class WindowTooSmall(UserMistake):
    """The model reads fewer tokens than a run needs."""


class NoSearchTool(UserMistake):
    """There is nothing to search."""


class KeyRefused(UserMistake):
    """There is no key for the model's provider, or the provider does not take it."""


class ModelMissing(UserMistake):
    """The provider has no such model, or the key may not use it."""


class ToolsMissing(UserMistake):
    """The model calls tools in no way that is known."""


class SearchRefused(UserMistake):
    """The search engine has no key, does not take it, or its quota is used up."""


class DailyLimitReached(UserMistake):
    """A user of the server has spent what its operator allows in a day."""


class UnknownThread(UserMistake):
    """There is no run under this name."""


class SyncCallRefused(UserMistake):
    """A sync method was called on the event loop that the checkpointer needs, or that loop has ended."""


class DatabaseUnusable(UserMistake):
    """The database is corrupt, foreign, locked or read-only."""


class StateUnreadable(DeepResearchError, StopsTheRun):
    """What is stored of a run is damaged, or was not written by this package."""


class NewerVersion(StateUnreadable):
    """What is stored was written by a newer version, which may mean something else by it."""


class ThreadBusy(DeepResearchError, RuntimeError):
    """Another run is at work on the thread."""

    exit_code = 4


class RunFailed(DeepResearchError, RuntimeError):
    """The run stopped; what it found is kept and it can be resumed.

    It is a `RuntimeError` too, because LangGraph's server shows its clients the text of Python's own errors and of its
    own; of all others it shows the kind.
    """


class NoPlan(RunFailed):
    """The planner wrote no plan, even when asked again."""


class NoReport(RunFailed):
    """The writer wrote nothing."""


class NotSaved(RunFailed):
    """The database takes nothing more of the run."""


class ModelFailed(RunFailed):
    """A model refused the call or broke off."""


class RateLimited(ModelFailed, StopsTheRun):
    """The provider asks to wait longer than the run may."""


class PromptTooLong(ModelFailed):
    """The provider says that the prompt exceeds the model's window."""


class ContentRefused(ModelFailed):
    """The model, or a filter of its provider, declined to answer."""


class SearchFailed(RunFailed, StopsTheRun):
    """Every search engine is down, and there is nothing else to search."""


def said_of(error: Exception) -> str:
    """Return in one line for the user what stopped a run."""
    # Only the kind of a foreign error is named: its text may hold addresses, keys or page text.
    kind = f"An error stopped the run ({type(error).__name__})."
    return " ".join(str(error).split()) if isinstance(error, DeepResearchError) else kind


def failure_of(error: BaseException) -> str:
    """Return why a node failed, in words for the reader.

    Of a foreign error only the kind is told: its text may hold addresses, keys or page text.
    """
    if isinstance(error, DeepResearchError):
        return str(error).rstrip(".")
    return f"an error stopped it ({type(error).__name__})"
