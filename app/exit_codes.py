"""The exit codes of the command."""

DONE = 0
FAILED = 1
"""Exit code of a run that failed and can be resumed."""
REFUSED = 2
"""Exit code of a call or setting that has to change."""
WAITING = 3
"""Exit code of a run that waits for an answer."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""
NOTHING_BEGAN = "Stopped before anything began."
