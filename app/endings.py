"""What a command says at its end, whatever ended it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..run.errors import DeepResearchError, StateUnreadable, ThreadBusy, UserMistake
from .exit_codes import BUSY, FAILED, INTERRUPTED, NOTHING_BEGAN, REFUSED
from .terminal import ReaderGone, RunName, complain, say
from .variables import unknown_variables

if TYPE_CHECKING:
    from .packet_lines import PacketLines

KEPT = "kept"
"""Note on a mistake of the user that stopped a run which can be resumed."""


def reported(name: RunName, work: Callable[[], int], lines: PacketLines | None = None) -> int:
    """Carry out a command; what stops it becomes one line and an exit code, and the last of the packets."""
    if unknown := unknown_variables():
        say(f"Warning: {unknown}.")
    try:
        return work()
    except ReaderGone:
        return INTERRUPTED
    except KeyboardInterrupt:
        code, words = INTERRUPTED, stopped(name)
    except UserMistake as error:
        is_kept = KEPT in getattr(error, "__notes__", ())
        code, words = (FAILED, f"{error}{_go_on(name)}") if is_kept else (REFUSED, str(error))
    except ThreadBusy as error:
        code, words = BUSY, str(error)
    except OSError as error:
        code, words = REFUSED, f"{error.filename or type(error).__name__}: {error.strerror or error}.{_go_on(name)}"
    except StateUnreadable as error:
        # It names the way on itself: resuming as it is would end here again.
        code, words = FAILED, str(error)
    except DeepResearchError as error:
        code, words = FAILED, f"{error}{_go_on(name)}"
    except Exception as error:  # noqa: BLE001 - the last place before the user
        # Only its kind is told: a foreign error's text may hold addresses or keys.
        code, words = FAILED, f"An error stopped this ({type(error).__name__}).{_go_on(name)}"
    say(words) if code == INTERRUPTED else complain(words)
    if lines:
        lines.close(" ".join(words.split()), is_cancelled=code == INTERRUPTED)
    return code


def stopped(name: RunName) -> str:
    """The last words of a command that the user stopped."""
    way_on = _go_on(name)
    return f"Stopped.{way_on}" if way_on or not name.thread else NOTHING_BEGAN


def _go_on(name: RunName) -> str:
    if not name.thread:
        return ""
    # A command that is about no run needs nothing of what runs need.
    from .begun import has_begun

    return f" The run is kept; go on: {name.command('resume')}" if has_begun(name) else ""
