"""Messages and exit codes for errors, Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

from ..core.errors import DeepResearchError, StateUnreadable, ThreadBusy, UserMistake, log_failure
from ..core.settings.context import Context
from ..core.settings.limits import DATABASE, ENVIRONMENT_PREFIX, Limits, nearest
from ..core.settings.server_settings import ServerSettings
from ._progress import PacketLines
from ._settings import RunName, settings_from_options
from ._terminal import Output, ReaderGone, is_terminal, print_error, say
from .words import BUSY, FAILED, INTERRUPTED, NOTHING_BEGAN, REFUSED, STRATEGY_VARIABLE

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")

RESUMABLE = "kept"
"""Note (`add_note`) on a `UserMistake` after which the run can be resumed."""
_NO_RUN = RunName("", None)
_STOP_SECONDS = 1.2
"""Seconds to wait for a clean stop; checkpoints on disk are always consistent."""
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Sent by Ctrl-C, and by service managers and `kill`."""
_SHOW_CURSOR = "\x1b[?25h"


def reports_errors(command: Callable[Parameters, int]) -> Callable[Parameters, int]:
    """Decorate a command that runs no research: errors are printed as one line and become an exit
    code."""

    @wraps(command)
    def reported(*arguments: Parameters.args, **options: Parameters.kwargs) -> int:
        return exit_code_of(lambda: command(*arguments, **options))

    return reported


def run_with_settings(start: Callable[[dict[str, Any]], int], options: Mapping[str, Any]) -> int:
    """Call `start`, which may load LangGraph, with the settings that options choose; return the
    exit code.

    Errors become exit codes as in `exit_code_of`; wrong settings are reported before the call.
    """

    def work() -> int:
        given = settings_from_options(**options)
        Context.read(given)
        return start(given)

    return exit_code_of(work)


def exit_code_of(
    work: Callable[[], int], name: RunName = _NO_RUN, outlet: Output | PacketLines | None = None
) -> int:
    """Run a command and return its exit code; print an error as one line, which says how to resume
    the run `name`.

    If `outlet` prints packets, it also prints the error as a stop packet.
    """
    _warn_about_unknown_variables()
    try:
        return work()
    except ReaderGone:
        return INTERRUPTED
    except KeyboardInterrupt:
        code, words = INTERRUPTED, _stop_message(name)
    except UserMistake as error:
        code, words = REFUSED, str(error)
        if RESUMABLE in getattr(error, "__notes__", ()):
            code, words = FAILED, f"{error}{_resume_hint(name)}"
    except ThreadBusy as error:
        code, words = BUSY, str(error)
    except OSError as error:
        reason = f"{error.filename or type(error).__name__}: {error.strerror or error}."
        code, words = REFUSED, f"{reason}{_resume_hint(name)}"
    except StateUnreadable as error:
        # The message itself says what to do: a plain resume would fail again.
        code, words = FAILED, str(error)
    except DeepResearchError as error:
        code, words = FAILED, f"{error}{_resume_hint(name)}"
    except Exception as error:  # noqa: BLE001 - nothing else reports it to the user
        log_failure(__name__, error, "A command failed with an unexpected error")
        # For third-party exceptions only the type is reported: the text may contain URLs or keys.
        reason = f"The command failed with an error ({type(error).__name__})."
        code, words = FAILED, f"{reason}{_resume_hint(name)}"
    if code == INTERRUPTED:
        say(words)
    else:
        print_error(words)
    if isinstance(outlet, PacketLines):
        outlet.close(" ".join(words.split()), is_cancelled=code == INTERRUPTED)
    return code


def _warn_about_unknown_variables() -> None:
    """Warn about environment variables that have our prefix but match no setting: they are probably
    misspelled."""
    known = {name.upper() for name in (*Context.model_fields, *Limits.model_fields)}
    known |= {f"SERVER_{name.upper()}" for name in ServerSettings.model_fields}
    known.add(STRATEGY_VARIABLE.removeprefix(ENVIRONMENT_PREFIX))
    known.add(DATABASE.removeprefix(ENVIRONMENT_PREFIX))
    unknown = list[str]()
    for name in sorted(os.environ):
        if not name.upper().startswith(ENVIRONMENT_PREFIX):
            continue
        # Names are compared without the prefix, which would make all of them look similar.
        short = name.upper().removeprefix(ENVIRONMENT_PREFIX)
        if short not in known:
            unknown.append(f"{name} is not a setting{nearest(short, known, ENVIRONMENT_PREFIX)}")
    if unknown:
        say(f"Warning: {'; '.join(unknown)}.")


def _stop_message(name: RunName) -> str:
    hint = _resume_hint(name)
    if name.thread and not hint:
        return NOTHING_BEGAN
    return f"Stopped.{hint}"


def _resume_hint(name: RunName) -> str:
    """Return a sentence that says how to resume the run; empty if nothing is stored about it."""
    if not name.thread or not name.is_stored():
        return ""
    return f" The run is saved; resume it: {name.command('resume')}"


def run_interruptibly(work: Coroutine[Any, Any, Value], name: RunName = _NO_RUN) -> Value:
    """Run a coroutine on a new event loop; Ctrl-C or SIGTERM cancels it and raises
    `KeyboardInterrupt`.

    If it does not stop within `_STOP_SECONDS`, or at a second signal, the process exits and says
    how to resume the run.
    """
    before = {number: signal.getsignal(number) for number in _STOP_SIGNALS}
    is_stopped = threading.Event()
    timer = threading.Timer(_STOP_SECONDS, _exit_now, (name,))
    timer.daemon = True

    async def main() -> Value:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None

        def stop(*_: object) -> None:
            if is_stopped.is_set():
                _exit_now(name)
            is_stopped.set()
            timer.start()
            loop.call_soon_threadsafe(task.cancel)

        for number in _STOP_SIGNALS:
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
        timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit_now(name: RunName) -> NoReturn:
    # No streams and no locks are used, since the main thread may hold them.
    cursor = _SHOW_CURSOR if is_terminal(sys.stderr) else ""
    try:
        os.write(2, f"{cursor}\n{_stop_message(name)}\n".encode(errors="replace"))
    finally:
        os._exit(INTERRUPTED)
