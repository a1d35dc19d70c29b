"""A small corpus with questions and known answers, and the evaluation command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from kit.commands import Ended
from kit.forked import Forked, run_forked
from kit.runs import DOCUMENTS

MORE_DOCUMENTS = {
    "birds/gannets.md": "# Gannets of the Skerry\n\nThe gannets of the Skerry were counted in 1961. "
    "There were 412 of them.\n",
    "birds/terns.txt": "Terns\n\nTerns nest on the dunes of Port Anlow. They leave for Africa in September.\n",
}
HOSTILE = "../../../escaped | `id` \x1b[2J"
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "light",
        "question": "When was the Skerry Light lit for the first time?",
        "answers": ["1844"],
        "gold_docs": ["lighthouse.md"],
        "kind": "date",
    },
    {
        "id": "keeper",
        "question": "Where was Ada Moran born?",
        "answers": ["Tralee", "County Kerry"],
        "gold_docs": ["keeper.md"],
        "kind": "place",
    },
    {
        "id": HOSTILE,
        "question": "How many gannets of the Skerry were counted in 1961?",
        "answers": [412],
        "gold_docs": ["birds/gannets.md"],
    },
    {
        "id": "long",
        "question": "Why? " * 10_000,
        "answers": ["because"],
        "gold_docs": ["birds/terns.txt"],
    },
]
UNANSWERABLE = [{"id": "nobody", "question": "Which painter decorated the cathedral of Zamora?"}]
MODULE = [sys.executable, "-m", "deep_research_evaluation"]
FORKING = """
import multiprocessing, os, runpy, signal
from contextlib import suppress
from multiprocessing import forkserver, util

def fork(_, arguments, passed):
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for descriptor in {*map(int, os.listdir("/proc/self/fd"))} - {0, 1, 2, *passed}:
            with suppress(OSError):
                os.close(descriptor)
        with suppress(SystemExit):
            exec(arguments[arguments.index("-c") + 1])
        os._exit(0)
    return process

start, util.spawnv_passfds = util.spawnv_passfds, fork
forkserver.ensure_running()
util.spawnv_passfds = start
forks = multiprocessing.get_context("forkserver")
multiprocessing.get_context = lambda _: forks
runpy.run_module("deep_research_evaluation", run_name="__main__", alter_sys=True)
"""
"""A script that runs the command; its processes, which would import the product, are forks of what
the script was before it had threads."""


class Exam(NamedTuple):
    """A folder with a corpus, questions and results."""

    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "DEEP_RESEARCH_DATA_DIR": str(self.folder / "data")}

    def arguments(self, *more: str) -> list[str]:
        """The arguments of a whole evaluation."""
        given = ["--corpus", "corpus", "--questions", "questions.jsonl", "--out", "out"]
        return ["closed-corpus", *given, *more]

    def run(self, *arguments: str, **environment: str) -> Ended:
        """Run the command to its end."""
        result = run_forked(
            [sys.executable, "-c", FORKING, *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        return Ended(result.returncode, result.stdout, result.stderr)

    @contextmanager
    def started(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """The command at work, as the leader of a process group, which is killed at the end if it
        is still there."""
        process = Forked(
            [*MODULE, *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def rows(self) -> dict[str, Any]:
        """The results by question."""
        lines = (self.out / "rows.jsonl").read_text("utf-8").splitlines()
        return {row["id"]: row for row in map(json.loads, lines)}

    def reports(self) -> dict[str, bytes]:
        """What is in the reports to read."""
        return {path.stem: path.read_bytes() for path in (self.out / "reports").glob("*.md")}


def exam_in(folder: Path) -> Exam:
    """The corpus with its questions."""
    for name, text in {**DOCUMENTS, **MORE_DOCUMENTS}.items():
        path = folder / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    write_lines(folder / "questions.jsonl", QUESTIONS)
    write_lines(folder / "unanswerable.jsonl", UNANSWERABLE)
    return Exam(folder)


def write_lines(file: Path, lines: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
