"""How a command ends, whatever ended it: its last words, its exit code, Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from ..core.run.context import Context
from ..core.run.errors import DeepResearchError, StateUnreadable, ThreadBusy, UserMistake
from ..core.run.limits import DATABASE, ENVIRONMENT_PREFIX, Limits, nearest
from ..core.run.logs import log_failure
from .run_name import RunName
from .server.users import ServerSettings
from .terminal import ReaderGone, complain, is_terminal, say
from .words import BUSY, FAILED, INTERRUPTED, NOTHING_BEGAN, REFUSED, VARIABLE

if TYPE_CHECKING:
    from .progress import PacketLines

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")

KEPT = "kept"
"""Note on a mistake of the user that stopped a run which can be resumed."""
NO_RUN = RunName("", None)
STOP_SECONDS = 1.2
"""Seconds that a run has to end in order; checkpoints on disk are whole at any moment."""
STOPPING = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and what service managers and `kill` send."""
SHOW_CURSOR = "\x1b[?25h"


def reports_errors(command: Callable[Parameters, int]) -> Callable[Parameters, int]:
    """Let a command that changes no run end with one line and an exit code, whatever stops it."""

    @wraps(command)
    def carried_out(*arguments: Parameters.args, **options: Parameters.kwargs) -> int:
        return reported(lambda: command(*arguments, **options))

    return carried_out


def reported(work: Callable[[], int], name: RunName = NO_RUN, lines: PacketLines | None = None) -> int:
    """Carry out a command; what stops it becomes one line and an exit code, and the last of the packets."""
    if unknown := _unknown_variables():
        say(f"Warning: {unknown}.")
    try:
        return work()
    except ReaderGone:
        return INTERRUPTED
    except KeyboardInterrupt:
        code, words = INTERRUPTED, _last_words(name)
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
        log_failure(__name__, error, "A command is stopped by an error")
        # For third-party exceptions only the type is reported: the text may hold addresses or keys.
        code, words = FAILED, f"An error stopped this ({type(error).__name__}).{_go_on(name)}"
    say(words) if code == INTERRUPTED else complain(words)
    if lines:
        lines.close(" ".join(words.split()), is_cancelled=code == INTERRUPTED)
    return code


def _last_words(name: RunName) -> str:
    """Return the last words of a command that the user stopped."""
    way_on = _go_on(name)
    return f"Stopped.{way_on}" if way_on or not name.thread else NOTHING_BEGAN


def _go_on(name: RunName) -> str:
    return f" The run is kept; go on: {name.command('resume')}" if name.thread and name.is_stored() else ""


def _unknown_variables() -> str:
    """Return what to say of variables that are meant as settings and are none; empty if there are none."""
    known = {name.upper() for name in (*Context.model_fields, *Limits.model_fields)}
    known |= {f"SERVER_{name.upper()}" for name in ServerSettings.model_fields}
    known |= {one.removeprefix(ENVIRONMENT_PREFIX) for one in (VARIABLE, DATABASE)}
    # What all of them begin with makes none of them alike.
    given = {name: name.upper().removeprefix(ENVIRONMENT_PREFIX) for name in sorted(os.environ)}
    return "; ".join(
        f"{name} is no setting{nearest(short, known, ENVIRONMENT_PREFIX)}"
        for name, short in given.items()
        if name.upper() != short and short not in known
    )


def run_interruptibly(work: Coroutine[Any, Any, Value], name: RunName = NO_RUN) -> Value:
    """Run a coroutine on a loop of its own; Ctrl-C or SIGTERM cancels it and raises `KeyboardInterrupt`.

    What does not stop by itself, such as a parser at work in a thread, is given up after `STOP_SECONDS` or a second
    signal: the process ends then, and says how the run of this name is resumed.
    """
    before, is_stopped = {each: signal.getsignal(each) for each in STOPPING}, threading.Event()
    clock = threading.Timer(STOP_SECONDS, _end, (name,))
    clock.daemon = True

    async def main() -> Value:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def stop(*_: object) -> None:
            if is_stopped.is_set():
                _end(name)
            is_stopped.set()
            clock.start()
            loop.call_soon_threadsafe(task.cancel)

        for each in STOPPING:
            if before[each] is not signal.SIG_IGN:
                signal.signal(each, stop)
        return await work

    try:
        return asyncio.run(main())
    except BaseException as error:
        if is_stopped.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        clock.cancel()
        for each in STOPPING:
            signal.signal(each, before[each])


def _end(name: RunName) -> NoReturn:
    # Neither streams nor locks can be relied on here: the main thread may be in the middle of using them.
    cursor = SHOW_CURSOR if is_terminal(sys.stderr) else ""
    try:
        os.write(2, f"{cursor}\n{_last_words(name)}\n".encode(errors="replace"))
    finally:
        os._exit(INTERRUPTED)
