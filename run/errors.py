"""What can go wrong, one class for each thing a user can put right.

DeepResearchError
├── UserMistake                 exit code 2: the call or a setting has to change
│   ├── QuestionRefused         empty, invisible or over-long question
│   ├── DocumentsUnreadable     folder or file of `docs` missing, empty or unreadable
│   ├── UnknownSetting          a name or value that no setting has
│   ├── UnknownModel            model name that nothing can resolve
│   ├── WindowTooSmall          model window below `min_window`
│   ├── NoSearchTool            nothing to search: no folder, no engine
│   ├── UnknownThread           no run under this name
│   ├── SyncOnlySaver           checkpointer without async methods
│   └── DatabaseUnusable        corrupt, foreign, locked or read-only database
├── ForeignRecord               a checkpoint holds a type that is not ours
└── RunFailed                   exit code 1: the run stopped and can be resumed
    ├── NoPlan                  the planner wrote nothing, twice
    ├── NoReport                the writer wrote nothing
    └── ModelFailed             the model refused or broke off
"""

from __future__ import annotations


class DeepResearchError(Exception):
    """Base of all errors of this package; its text is one line for the user."""

    exit_code = 1


class UserMistake(DeepResearchError):
    """The call or a setting has to change; nothing was spent."""

    exit_code = 2


class QuestionRefused(UserMistake):
    """The question is empty, invisible or too long."""


class DocumentsUnreadable(UserMistake):
    """A folder or file named in `docs` is missing, empty or unreadable."""


class UnknownSetting(UserMistake):
    """A setting has a name or a value that is not known."""


class UnknownModel(UserMistake):
    """No model can be made from this name."""


class WindowTooSmall(UserMistake):
    """The model reads fewer tokens than a run needs."""


class NoSearchTool(UserMistake):
    """There is nothing to search."""


class UnknownThread(UserMistake):
    """There is no run under this name."""


class SyncOnlySaver(UserMistake):
    """The checkpointer has no async methods."""


class DatabaseUnusable(UserMistake):
    """The database is corrupt, foreign, locked or read-only."""


class ForeignRecord(DeepResearchError):
    """A checkpoint holds a type that this package did not write."""


class RunFailed(DeepResearchError):
    """The run stopped; what it found is kept and it can be resumed."""


class NoPlan(RunFailed):
    """The planner wrote no plan, even when asked again."""


class NoReport(RunFailed):
    """The writer wrote nothing."""


class ModelFailed(RunFailed):
    """A model refused the call or broke off."""
