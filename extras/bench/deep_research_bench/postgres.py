"""Starts a separate PostgreSQL for tests and measurements, with the programs that Debian installs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

_numbers = count()


class Cluster:
    """A running PostgreSQL in its own folder, on a free local port."""

    def __init__(self, folder: Path, binaries: Path, password: str) -> None:
        """`binaries`: the folder of PostgreSQL's programs."""
        self._folder, self._binaries, self._password = folder, binaries, password
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        # PostgreSQL does not run as root.
        self._user: dict[str, Any] = (
            {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
        )

    def start(self) -> None:
        """Create the cluster with one user and a password, and start it."""
        if self._user:
            shutil.chown(self._folder, "nobody", "nogroup")
        password = self._folder / "password"
        password.write_text(self._password)
        password.chmod(0o644)
        made = [
            "--auth=scram-sha-256",
            "--username=research",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]
        self._run("initdb", *made, f"--pwfile={password}")
        settings = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self._folder} -c fsync=off"
        self._run(
            "pg_ctl",
            "start",
            "--wait",
            f"--log={self._folder / 'log.txt'}",
            f"--options={settings}",
        )

    def stop(self) -> None:
        """Stop it immediately."""
        self._run("pg_ctl", "stop", "--mode=immediate")

    def address(self, database: str = "") -> str:
        """Return the URL of a database; without a name, of a new one."""
        if not database:
            import psycopg

            database = f"runs{next(_numbers)}"
            with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {database}".encode())
        return f"postgresql://research:{quote(self._password, safe='')}@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), "-D", str(self._folder / "data"), *arguments]
        # Its output goes to a file, because the server keeps it open.
        with (self._folder.parent / f"{self._folder.name}.txt").open("ab") as out:
            given: dict[str, Any] = {
                "cwd": "/",
                "stdout": out,
                "stderr": out,
                "timeout": 60,
                **self._user,
            }
            done = subprocess.run(command, check=False, **given)  # noqa: S603 - our own
        if done.returncode:
            raise RuntimeError(Path(out.name).read_text("utf-8"))


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, if they are installed."""
    directories = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin")),
        Path(shutil.which("initdb") or "/").parent,
    ]
    return next((binaries for binaries in directories if (binaries / "initdb").exists()), None)


@contextmanager
def started_cluster(binaries: Path, password: str) -> Iterator[Cluster]:
    """Start a cluster with the programs in this folder; stop and delete it at the end."""
    # The path of a socket has to be short.
    with tempfile.TemporaryDirectory(prefix="pg-") as above:
        Path(above).chmod(0o755)
        folder = Path(above) / "c"
        folder.mkdir()
        cluster = Cluster(folder, binaries, password)
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
