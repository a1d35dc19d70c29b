"""A PostgreSQL of its own for tests and measurements, by the programs that Debian installs."""

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
    """A running PostgreSQL in a folder of its own, at a free port of this machine."""

    def __init__(self, folder: Path, place: Path, password: str) -> None:
        """`place`: the folder of PostgreSQL's programs."""
        self._folder, self._place, self._password = folder, place, password
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        # PostgreSQL does not run as root.
        self._user: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}

    def start(self) -> None:
        """Make the cluster, with one user and a password, and start it."""
        if self._user:
            shutil.chown(self._folder, "nobody", "nogroup")
        password = self._folder / "password"
        password.write_text(self._password)
        password.chmod(0o644)
        made = ["--auth=scram-sha-256", "--username=research", "--encoding=UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", *made, f"--pwfile={password}")
        settings = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self._folder} -c fsync=off"
        self._run("pg_ctl", "start", "--wait", f"--log={self._folder / 'log.txt'}", f"--options={settings}")

    def stop(self) -> None:
        """Stop it at once."""
        self._run("pg_ctl", "stop", "--mode=immediate")

    def address(self, database: str = "") -> str:
        """Return the address of a database; without a name, of a new one."""
        if not database:
            import psycopg

            database = f"runs{next(_numbers)}"
            with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {database}".encode())
        return f"postgresql://research:{quote(self._password, safe='')}@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._place / program), "-D", str(self._folder / "data"), *arguments]
        # Its output goes to a file, for the server keeps hold of it.
        with (self._folder.parent / f"{self._folder.name}.txt").open("ab") as out:
            given: dict[str, Any] = {"cwd": "/", "stdout": out, "stderr": out, "timeout": 60, **self._user}
            done = subprocess.run(command, check=False, **given)  # noqa: S603 - our own
        if done.returncode:
            raise RuntimeError(Path(out.name).read_text("utf-8"))


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, if they are installed."""
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), Path(shutil.which("initdb") or "/").parent]
    return next((place for place in places if (place / "initdb").exists()), None)


@contextmanager
def started_cluster(place: Path, password: str) -> Iterator[Cluster]:
    """Start a cluster by the programs in this folder; stop and delete it at the end."""
    # The folder of a socket has to have a short name.
    with tempfile.TemporaryDirectory(prefix="pg-") as above:
        Path(above).chmod(0o755)
        folder = Path(above) / "c"
        folder.mkdir()
        cluster = Cluster(folder, place, password)
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
