"""The exit codes of the command."""

DONE = 0
FAILED = 1
"""Exit code of a run that failed and can be resumed, if only with another setting."""
REFUSED = 2
"""Exit code of a call that has left everything as it was: the call or a setting has to change."""
WAITING = 3
"""Exit code of a run that waits for an answer."""
BUSY = 4
"""Exit code of a call about a run that is at work elsewhere."""
INTERRUPTED = 130
"""Exit code after Ctrl-C or SIGTERM."""
NOTHING_BEGAN = "Stopped before anything began."
