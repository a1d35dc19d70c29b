"""LangGraph's server with the product's graphs and routes, as clients use it."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from pypdf import PdfReader, PdfWriter

from deep_research.app.server.users import TOKEN_FILE
from kit.files import pdf_of
from kit.forked import Forked
from kit.runs import write_documents

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "langgraph.json"
GRAPH = "deep_research"
ALICE, BOB = "alice-has-a-long-token", "bob-has-another-token"
USERS = f"alice:{ALICE} bob:{BOB}"
"""Two users and their tokens, as a server's setting."""
THREE_TASKS = (
    "On the coast:\n1. The Skerry Light\n2. Its keeper Ada Moran\n3. The harbour Port Anlow"
)
"""A question whose plan has three tasks."""
SECONDS = 300.0
PAUSE = 0.05
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_MEASURED = re.compile(
    r"Slow graph load\.|took longer than expected|exceeded the expected startup time"
)
"""What the server says of times that it has measured: on a busy machine everything takes long."""
WATCH = ROOT / "tests" / "watch"
"""Folder of what writes down the hosts that a process reaches for."""
HERE = re.compile(r"(?:127\.0\.0\.1|::1|0\.0\.0\.0|localhost|None)?(?::\d+)?")


class Server:
    """A server with a folder of its own, which outlives the process."""

    def __init__(self, folder: Path, config: Path = CONFIG, **environment: str) -> None:
        self.folder, self.config, self.environment = folder, config, environment
        self.docs, self.data = write_documents(folder / "docs"), folder / "data"
        self.log = folder / "log.txt"
        self.contacts = folder / "contacts.txt"
        self.places = set[str]()
        """Where it has listened: it looks itself whether it does."""

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, port: int = 0) -> None:
        """Start and wait until it answers; 0: at a free port."""
        self.port = port or _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.places.add(f"127.0.0.1:{self.port}")
        began = time.monotonic()
        # The script beside the interpreter, because PATH may lead to another one.
        langgraph = str(Path(sys.executable).with_name("langgraph"))
        options = [
            "--no-browser",
            "--no-reload",
            "--n-jobs-per-worker",
            "4",
            "--port",
            str(self.port),
        ]
        command = [langgraph, "dev", *options, "--config", str(self.config)]
        environment = {
            "PYTHONPATH": os.pathsep.join((str(WATCH), str(ROOT / "tests"))),
            "WATCH_LOG": str(self.contacts),
            "DEEP_RESEARCH_DATA_DIR": self.data.name,
            # As a user types it: from the folder where the server starts.
            "DEEP_RESEARCH_DOCS": self.docs.name,
            **{
                "LANGGRAPH_CLI_NO_ANALYTICS": "1",
                "LANGGRAPH_NO_VERSION_CHECK": "1",
                "LANGSMITH_TRACING": "false",
            },
        }
        with self.log.open("ab") as log:
            streams: Any = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            environment = {**os.environ, **environment, **self.environment}
            self.process = Forked(
                command, cwd=self.folder, env=environment, start_new_session=True, **streams
            )
        while not self._is_ready():
            assert self.process.poll() is None, self.log.read_text("utf-8")
            assert time.monotonic() < began + SECONDS, self.log.read_text("utf-8")
            time.sleep(PAUSE)
        self.seconds = time.monotonic() - began

    def stop(self, by: signal.Signals = signal.SIGINT, seconds: float = SECONDS) -> None:
        """End it with a signal, by default as Ctrl-C does; fails if it takes longer."""
        self.process.send_signal(by)
        try:
            self.process.wait(seconds)
        finally:
            self.kill()

    def kill(self) -> None:
        """End it as kill -9 does; nothing is written any more."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)

    def forget(self) -> None:
        """Drop the list of threads and runs, which the server writes every ten seconds: a kill may
        come before."""
        shutil.rmtree(self.folder / ".langgraph_api", ignore_errors=True)

    @property
    def token(self) -> str:
        """The token that it made at its first start."""
        return (self.data / TOKEN_FILE).read_text("utf-8")

    def client(self, token: str = "") -> LangGraphClient:
        """A client as any app would make it; without a token, as for a server that needs none."""
        return get_client(url=self.url, api_key=token) if token else get_client(url=self.url)

    def complaints(self) -> list[str]:
        """What a user should not see in the log."""
        lines = _COLOURS.sub("", self.log.read_text("utf-8")).splitlines()
        bad = re.compile(
            r"\[(?:warning|error|critical)\s*\]|BlockingError|Traceback|Heads up", re.IGNORECASE
        )
        # Told of every store that is not LangGraph's own.
        known = "You are configuring a custom long-term memory store at deep_research.app.server.graphs.open_store"
        contacts = self.contacts.read_text("utf-8").splitlines() if self.contacts.exists() else []
        outside = [f"outside: {contact}" for contact in contacts if not HERE.fullmatch(contact)]
        leaked = [
            line
            for line in lines
            if bad.search(line) and known not in line and not _MEASURED.search(line)
        ]
        return leaked + outside

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/ok", timeout=SECONDS) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


class Conversation:
    """One thread on a server."""

    def __init__(self, client: LangGraphClient, thread: str = "", graph: str = GRAPH) -> None:
        self.client, self.thread, self.graph = client, thread or str(uuid.uuid4()), graph
        self.parts: list[Any] = []

    async def create(self) -> Conversation:
        """Make the thread, unless the server has it."""
        await self.client.threads.create(thread_id=self.thread, if_exists="do_nothing")
        return self

    async def copy(self) -> Conversation:
        """The same conversation once more, under another id."""
        # The client's own method does not say what it returns.
        copied: Any = await self.client.http.post(f"/threads/{self.thread}/copy", json=None)
        return Conversation(self.client, copied["thread_id"])

    async def ask(self, message: str | dict[str, Any] | None, **settings: Any) -> dict[str, Any]:
        """Send a message or an input, or go on without one; returns the values of the thread
        afterwards."""
        way: Any = {"stream_mode": "custom", "stream_subgraphs": True, **settings}
        given = said(message) if isinstance(message, str) else message
        async for part in self.client.runs.stream(self.thread, self.graph, input=given, **way):
            assert part.event != "error", part.data
            self.parts.append(part)
        return await self.values()

    async def values(self) -> dict[str, Any]:
        values: Any = (await self.client.threads.get_state(self.thread))["values"]
        return dict(values)

    def packets(self) -> list[dict[str, Any]]:
        """What the graph told, wherever in it."""
        return [part.data for part in self.parts if part.event.split("|")[0] == "custom"]


def said(message: str) -> dict[str, Any]:
    """A message of the user, as an input or an update."""
    return {"messages": [{"role": "user", "content": message}]}


def write_config(folder: Path, graph: str = "deep_research") -> Path:
    """The repository's configuration, with a graph of `server_graph.py` in place of ours."""
    config = json.loads(CONFIG.read_text("utf-8"))
    config["graphs"] = {GRAPH: f"kit.server_graph:{graph}"}
    path = folder / "langgraph.json"
    path.write_text(json.dumps(config), "utf-8")
    return path


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Ask again and again until it is so."""
    async with asyncio.timeout(SECONDS):
        while not await is_so():
            await asyncio.sleep(PAUSE)


def _free_port() -> int:
    """A port that no other test gets while the server starts: the system hands out higher ones."""
    while True:
        port = random.randrange(10_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


MARK = b"%This line stands in the file and in no text: Quillon-Harrow-7731.\n"
TARIFF = pdf_of("The mooring fee at Brannock Pier is 47 crowns a night.") + MARK
BERTHS = b"Berth,Length in metres\nThe south berth of Brannock Pier,44\nThe north berth of Brannock Pier,31\n"
BROKEN = b"%PDF-1.4\nnothing of it is left" + MARK
QUESTION = "What is the mooring fee at Brannock Pier? How long is the south berth of Brannock Pier?"


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


def block(name: str, data: bytes, mime_type: str = "application/pdf") -> dict[str, Any]:
    """A block as LangChain writes it."""
    return {
        "type": "file",
        "base64": packed(data),
        "mime_type": mime_type,
        "extras": {"filename": name},
    }


def locked(password: str) -> bytes:
    """The tariff under lock and key."""
    writer, written = PdfWriter(clone_from=PdfReader(io.BytesIO(TARIFF))), io.BytesIO()
    writer.encrypt(password, algorithm="RC4-128")
    writer.write(written)
    return written.getvalue()


FILES = [
    block("tariff.pdf", TARIFF),
    block("berths.csv", BERTHS, "text/csv"),
    block("torn.pdf", BROKEN),
]


def asked(words: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    """An input with one message of the user."""
    text: list[dict[str, Any]] = [{"type": "text", "text": words}] if words else []
    return {"messages": [{"role": "user", "content": [*text, *blocks]}]}


def left_of(*files: bytes, folder: Path) -> list[str]:
    """Which files below a folder hold the bytes of one of these, as they are or in base64, at any
    place in it."""
    found = list[str]()
    for path in sorted(entry for entry in folder.rglob("*") if entry.is_file()):
        held = path.read_bytes()
        # The middle of a file: what stands around it may be packed with it.
        raw = (data[len(data) // 3 :] for data in files)
        coded = (packed(data)[100:160].encode() for data in files)
        if any(part in held for part in (*raw, *coded, MARK)):
            found.append(path.relative_to(folder).as_posix())
    return found
