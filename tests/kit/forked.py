"""Starts scripts as forks of a process that has imported the product: importing it takes three
seconds of CPU, forking nearly nothing.

A fork is a child of the process that asks for it, with streams, signals and a session of its own,
and ends as any script does, but leaves its memory to the system. Run as a script, this file is the process that is forked.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_PRODUCT = "deep_research"
_REQUEST_BYTES = 1_000_000
_STREAMS = 3
_ENVIRONMENT = dict(os.environ)
"""As it was before any test: the test that is the first to fork may have changed its own."""
_SUBREAPER = 36
"""`PR_SET_CHILD_SUBREAPER` of Linux's `prctl`: orphaned descendants become children."""
_LEFT_OUT = (
    "deep_research.app.server",
    "deep_research.app.mcp_server",
    "deep_research.core.reading._browser_worker",
    "deep_research.core.reading.documents._",
)
"""Beginnings of the names of modules that read the environment when they are imported, are seldom
needed, or run in processes of their own."""

_LATE = ("matplotlib.figure", "mcp.server.fastmcp", "uvicorn")
"""Libraries that only the modules above or the first chart of a process import: a second of CPU in
each server."""


class Forked(subprocess.Popen[Any]):
    """A Python script at work, as `subprocess.Popen` starts one.

    The command begins with a script, or with the interpreter and `-m` or `-c`. For a copy of the
    product on `PYTHONPATH`, the fork imports that, and shares the libraries only. Where a fork cannot
    do what is asked, the interpreter is started: for `preexec_fn`, and on systems other than Linux.
    """

    def _execute_child(
        self,
        args: Sequence[str],
        executable: object,
        preexec_fn: object,
        close_fds: object,
        pass_fds: object,
        cwd: str | Path | None,
        env: Mapping[str, str] | None,
        startupinfo: object,
        creationflags: object,
        shell: object,
        p2cread: int,
        p2cwrite: int,
        c2pread: int,
        c2pwrite: int,
        errread: int,
        errwrite: int,
        *others: Any,
    ) -> None:
        """Ask for a fork, in place of the start of a program."""
        pipes = p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite
        popen: Any = super()
        if preexec_fn is not None or sys.platform != "linux":
            asked = args, executable, preexec_fn, close_fds, pass_fds, cwd, env
            popen._execute_child(*asked, startupinfo, creationflags, shell, *pipes, *others)
            return
        *_, start_new_session, _ = others
        request = {
            "command": list(args),
            "folder": str(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
            "leads_session": start_new_session,
        }
        streams = (p2cread, c2pwrite, errwrite)
        # A stream that is not redirected is ours.
        opened = [stream if stream >= 0 else usual for usual, stream in enumerate(streams)]
        self.pid = _forker().fork(request, opened)
        self._child_created = True
        popen._close_pipe_fds(*pipes)


def run_forked(
    command: Sequence[str],
    *,
    input: str | None = None,
    timeout: float | None = None,
    **settings: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a script to its end, as `subprocess.run` does."""
    if input is not None:
        settings["stdin"] = subprocess.PIPE
    with Forked(command, **settings) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


class _Forker:
    """The process that is forked; it ends with this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A fork would lack the threads that OpenBLAS starts.
        environment = {**_ENVIRONMENT, "OPENBLAS_NUM_THREADS": "1"}
        environment.pop("PYTHONPATH", None)
        # Without -P the modules of the kit would hide others of their name.
        command = [sys.executable, "-P", __file__, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        atexit.register(self._close)

    def fork(self, request: Mapping[str, Any], streams: Sequence[int]) -> int:
        """Return the id of a new child of this process, which runs the requested script."""
        with self._lock:
            _adopt_orphans(1)
            try:
                socket.send_fds(self._channel, [json.dumps(request).encode()], streams)
                answer = self._channel.recv(_REQUEST_BYTES)
            finally:
                _adopt_orphans(0)
        assert answer, "the process that is forked has ended"
        return int(answer)

    def _close(self) -> None:
        self._channel.close()
        self._process.wait()


@cache
def _forker() -> _Forker:
    return _Forker()


def _adopt_orphans(switch: int) -> None:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(_SUBREAPER, switch, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())


def _import_product() -> None:
    """Import all modules of the product, and with them all libraries that a run may import; load
    what the first run of a process loads."""
    for library in _LATE:
        importlib.import_module(library)
    package = importlib.import_module(_PRODUCT)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(_LEFT_OUT):
            importlib.import_module(module.name)
    _load_for_runs()
    # A fork that collects garbage would copy the pages of all that is frozen here.
    gc.collect()
    gc.freeze()


def _load_for_runs() -> None:
    """Compile the graphs, and load the models and tables of languages."""
    from deep_research.app.embed import compile_graph
    from deep_research.core.evidence.text.language import detect_language
    from deep_research.core.evidence.text.words import sought_words
    from deep_research.core.writing.language import Language

    compile_graph("orchestrated")
    compile_graph("planned")
    Language.named("de")
    detect_language("Wann wurde der Leuchtturm von Skerry angezündet?")
    sought_words("When was the Skerry Light lit?")


def _next_command(channel: socket.socket) -> list[str]:
    """Fork for each request; returns in each fork with its command, and at the end with none."""
    while True:
        message, streams, *_ = socket.recv_fds(
            channel, _REQUEST_BYTES, _STREAMS, socket.MSG_CMSG_CLOEXEC
        )
        if not message:
            return []
        reader, writer = os.pipe()
        between = os.fork()
        if between == 0:
            # Its parent ends at once, so that the process that asks becomes its parent.
            if os.fork():
                os._exit(0)
            channel.close()
            os.close(reader)
            request = json.loads(message)
            _settle(request, streams)
            os.write(writer, str(os.getpid()).encode())
            os.close(writer)
            return list(request["command"])
        os.waitpid(between, 0)
        os.close(writer)
        channel.send(os.read(reader, _REQUEST_BYTES))
        for descriptor in (reader, *streams):
            os.close(descriptor)


def _settle(request: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Give this fork the session, streams, folder and environment of its own."""
    if request["leads_session"]:
        os.setsid()
    for usual, stream in enumerate(streams):
        os.dup2(stream, usual)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = map(_reopened, (sys.stdin, sys.stdout, sys.stderr))
    sys.stderr.reconfigure(line_buffering=True)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()


def _reopened(stream: Any) -> Any:
    return open(
        stream.fileno(),
        stream.mode,
        encoding=stream.encoding,
        errors=stream.errors,
        closefd=False,
    )


def _run(command: Sequence[str]) -> None:
    """Run a script as the interpreter does."""
    sys.orig_argv = [sys.executable, *command]
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:0] = folders
    if any(Path(folder, _PRODUCT).exists() for folder in folders):
        _forget_product()
    sys.modules.pop("sitecustomize", None)
    with suppress(ModuleNotFoundError):
        importlib.import_module("sitecustomize")
    match command:
        case [sys.executable, "-m", module, *arguments]:
            sys.path.insert(0, str(Path.cwd()))
            sys.argv = [module, *arguments]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [sys.executable, "-c", code, *arguments]:
            sys.path.insert(0, "")
            sys.argv = ["-c", *arguments]
            exec(code, {"__name__": "__main__"})
        case [script, *_]:
            sys.argv = list(command)
            runpy.run_path(script, run_name="__main__")


def _forget_product() -> None:
    """Let the product be imported anew, from another folder."""
    for name in list(sys.modules):
        if name == _PRODUCT or name.startswith(f"{_PRODUCT}."):
            del sys.modules[name]


def _run_to_exit(command: Sequence[str]) -> None:
    """Run a script and exit; what the interpreter has to report is raised."""
    code = 0
    try:
        _run(command)
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        code = end.code or 0
    _exit(code)


def _exit(code: int) -> None:
    """Exit as the interpreter does, but for the objects that it would destroy one by one: that
    would copy all memory which is shared with the process that was forked."""
    threading._shutdown()  # type: ignore[attr-defined]  # what waits for threads at the end
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _import_product()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        wanted = _next_command(requests)
    if wanted:
        _run_to_exit(wanted)
    _exit(0)
