"""Messages and exit codes for errors, Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

from ..core.run.context import Context
from ..core.run.errors import DeepResearchError, StateUnreadable, ThreadBusy, UserMistake
from ..core.run.limits import DATABASE, ENVIRONMENT_PREFIX, Limits, nearest
from ..core.run.logs import log_failure
from .progress import PacketLines
from .server.users import ServerSettings
from .settings import RunName
from .terminal import Output, ReaderGone, complain, is_terminal, say
from .words import BUSY, FAILED, INTERRUPTED, NOTHING_BEGAN, REFUSED, VARIABLE

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")

KEPT = "kept"
"""Exception note that marks a `UserMistake` after which the run can be resumed."""
_NO_RUN = RunName("", None)
_STOP_SECONDS = 1.2
"""Seconds to wait for a clean stop; checkpoints on disk are always consistent."""
_STOPPING = (signal.SIGINT, signal.SIGTERM)
"""Sent by Ctrl-C, and by service managers and `kill`."""
_SHOW_CURSOR = "\x1b[?25h"


def reports_errors(command: Callable[Parameters, int]) -> Callable[Parameters, int]:
    """Decorate a command that changes no run so that errors become one line and an exit code."""

    @wraps(command)
    def carried_out(*arguments: Parameters.args, **options: Parameters.kwargs) -> int:
        return reported(lambda: command(*arguments, **options))

    return carried_out


def reported(work: Callable[[], int], name: RunName = _NO_RUN, outlet: Output | PacketLines | None = None) -> int:
    """Run a command; turn an error into one line and an exit code, and send a final stop packet to `outlet`."""
    # Environment variables with our prefix that match no setting are probably misspelled.
    known = {name.upper() for name in (*Context.model_fields, *Limits.model_fields)}
    known |= {f"SERVER_{name.upper()}" for name in ServerSettings.model_fields}
    known |= {variable.removeprefix(ENVIRONMENT_PREFIX) for variable in (VARIABLE, DATABASE)}
    # Names are compared without the prefix, which would make all of them look similar.
    given = {name: name.upper().removeprefix(ENVIRONMENT_PREFIX) for name in sorted(os.environ)}
    unknown = [
        f"{name} is not a setting{nearest(short, known, ENVIRONMENT_PREFIX)}"
        for name, short in given.items()
        if name.upper() != short and short not in known
    ]
    if unknown:
        say(f"Warning: {'; '.join(unknown)}.")
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
        # The message itself says what to do: a plain resume would fail again.
        code, words = FAILED, str(error)
    except DeepResearchError as error:
        code, words = FAILED, f"{error}{_go_on(name)}"
    except Exception as error:  # noqa: BLE001 - nothing else reports it to the user
        log_failure(__name__, error, "A command failed with an unexpected error")
        # For third-party exceptions only the type is reported: the text may contain URLs or keys.
        code, words = FAILED, f"The command failed with an error ({type(error).__name__}).{_go_on(name)}"
    say(words) if code == INTERRUPTED else complain(words)
    if isinstance(outlet, PacketLines):
        outlet.close(" ".join(words.split()), is_cancelled=code == INTERRUPTED)
    return code


def _last_words(name: RunName) -> str:
    hint = _go_on(name)
    return f"Stopped.{hint}" if hint or not name.thread else NOTHING_BEGAN


def _go_on(name: RunName) -> str:
    return f" The run is saved; resume it: {name.command('resume')}" if name.thread and name.is_stored() else ""


def run_interruptibly(work: Coroutine[Any, Any, Value], name: RunName = _NO_RUN) -> Value:
    """Run a coroutine on a new event loop; Ctrl-C or SIGTERM cancels it and raises `KeyboardInterrupt`.

    If it does not stop within `_STOP_SECONDS`, or at a second signal, the process exits and says how to resume the run.
    """
    before, is_stopped = {number: signal.getsignal(number) for number in _STOPPING}, threading.Event()
    clock = threading.Timer(_STOP_SECONDS, _end, (name,))
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

        for number in _STOPPING:
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, stop)
        return await work

    try:
        return asyncio.run(main())
    except BaseException as error:
        if is_stopped.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        clock.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(name: RunName) -> NoReturn:
    # Uses neither streams nor locks, since the main thread may hold them.
    cursor = _SHOW_CURSOR if is_terminal(sys.stderr) else ""
    try:
        os.write(2, f"{cursor}\n{_last_words(name)}\n".encode(errors="replace"))
    finally:
        os._exit(INTERRUPTED)
