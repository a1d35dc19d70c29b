"""Runs as an earlier version stored them (`golden/runs-VERSION.db.xz`), and queries to the SQLite
file of runs.

`python -m kit.stored_runs FILE` in `tests/` of that version's checkout writes them.
"""

from __future__ import annotations

import asyncio
import lzma
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage

from deep_research.app.embed import build_graph
from deep_research.app.runs import ThreadNotes
from deep_research.core.settings.limits import Limits
from deep_research.core.store.database import Database, open_database
from deep_research.core.store.location import FILE_NAME, RunsLocation, thread_id
from kit.models import ScriptedChatModel, by_figures, call, calls
from kit.planned import (
    RULES,
    Asked,
    Rule,
    contrary,
    first_sentences,
    insights,
    judged,
    of_task,
    plan,
    planned_lab,
    step,
    suggestion,
)
from kit.reports import rewritten
from kit.runs import DOCUMENTS, QUESTION, REPORT, Lab, lab, research, search

FOLDER = Path("/tmp/deep-research-stored")
"""Folder of the documents; fixed, because their addresses are stored."""
CLARIFICATION = "The one at Skerry."
"""Answer to the question back of a waiting run."""
_LIGHT, _KEEPER, _TIDES = (
    "When was the Skerry Light lit?",
    "Ada Moran keeper",
    "Spring tide at Port Anlow",
)
_LIT, _LATER = (
    "The Skerry Light was lit for the first time in 1844.",
    "The Skerry Light was lit in 1846.",
)
_CHECKLIST = ("When the light was lit", "Its keeper")
_PLAN = "\n- ".join(
    [f"# The Skerry Light\n\n1. {_LIGHT}\n2. {_KEEPER}\n\n## Checklist\n", *_CHECKLIST]
)
_DECLARED = {"claim": _LIT, "document": 1, "other": _LATER, "other_document": 2}
_BOTH = search("Skerry Light", "Ada Moran")
_FINDINGS = {
    _LIGHT: [
        _BOTH,
        calls(call("generate_report", contradictions=[_DECLARED])),
        f"{_LIT} [1] Others say 1846. [2]",
    ],
    _KEEPER: [
        search("Ada Moran"),
        calls(call("generate_report", missing=["her death"])),
        "Kept until 1932. [1]",
    ],
}
_DRAFT = "The Skerry Light was lit in 1844. [1] It stands 83 metres tall. [1]\n\nAda Moran kept it until 1932. [2] It sank."
_GRADES = [
    {"number": 1, "verdict": "answered"},
    {"number": 2, "verdict": "partly", "missing": "her death"},
]
_TITLED = {"title": "The Skerry Light", "requirements": _CHECKLIST}
_STEPS = plan(step(_LIGHT), step(_KEEPER, after=(1,)), step("Compare them", search=False))


def queried(path: Path, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Execute a statement over a connection of its own, commit, and return its rows."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, parameters).fetchall()


async def _killed(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _judge(grades: Sequence[Mapping[str, Any]], *follow_ups: str) -> ScriptedChatModel:
    """A verifier that gives a draft these grades, judges its statements by their figures, and
    suggests questions."""
    form = call("grade_report", grades=grades, follow_ups=follow_ups)
    replies = {
        "grade_report": lambda *_: calls(form),
        "": lambda messages, _: by_figures(messages[-1].text),
    }
    return ScriptedChatModel(replies=replies, profile=ModelProfile(max_input_tokens=100_000))


def _graded(asked: Asked) -> Any:
    return by_figures(asked.reminder).tool_calls[0]["args"]


def _orchestrated(folder: Path, database: Database, **scripts: Any) -> Lab:
    graph = build_graph("orchestrated", checkpointer=database.saver, store=database.store)
    usual: dict[str, Any] = {
        "planner": [_PLAN],
        "orchestrator": [research(_LIGHT), research(_KEEPER), REPORT],
        "researcher": _FINDINGS,
        "writer": [_DRAFT],
        "verifier": _judge(_GRADES),
        "prices": {"scripted": (1.0, 2.0)},
    }
    return lab(folder / "orchestrated", graph=graph, **{**usual, **scripts})


def _planned(folder: Path, database: Database, **rules: Rule) -> Lab:
    graph = build_graph("planned", checkpointer=database.saver, store=database.store)
    further = suggestion("Tides", _TIDES)
    usual: dict[str, Rule] = {
        "make_plan": lambda asked: {**_STEPS(asked), **_TITLED},
        "record_learnings": of_task(_LIGHT, contrary(_LIT, _LATER), first_sentences),
        "record_insights": insights("It is an old light.", gaps={"Who built it?": 0.9}),
        "evaluate_outcome": of_task(_KEEPER, judged(0.3, 0.8, further), judged(1.0, 1.0)),
        "update_step": lambda _: {"is_needed": True, "title": "Tides"},
        "grade_report": lambda _: {"grades": _GRADES},
        "judge_units": _graded,
        "report": lambda _: _DRAFT,
    }
    return planned_lab(
        folder / "planned", {**usual, **rules}, graph=graph, prices={"scripted": (1.0, 2.0)}
    )


RUNS: dict[str, dict[str, Any]] = {
    "orchestrated-finished": {},
    "orchestrated-waiting": {"clarifier": [AIMessage("Which light?")]},
    "orchestrated-killed": {"researcher": {**_FINDINGS, _KEEPER: [search("Ada Moran"), _killed]}},
    "planned-finished": {},
    "planned-waiting": {"generate_plan": lambda _: "Which light?"},
    "planned-killed": {"give_verdict": of_task(_KEEPER, _killed, RULES["give_verdict"])},
}
"""What each run's models answer otherwise than usual, by the name of its thread."""


_SUPPORTED = f"{_LIT} [1]\n\nAda Moran kept it until 1932. [2]"
_UNPROVED = [f"It was painted in {year}. [1]" for year in range(1871, 1879)]
_ALL_FOUND = {
    _LIGHT: [_BOTH, REPORT, f"{_LIT} [1]"],
    _KEEPER: [search("Ada Moran"), REPORT, "Ada Moran kept it until 1932. [1]"],
}
_COUNTED = {
    **_ALL_FOUND,
    _KEEPER: [
        search("Ada Moran"),
        calls(
            call("calculate", calculations=["Years of service: 1932 [1] - 1901 [1] = years"]),
            call("generate_report"),
        ),
        "Ada Moran kept it for 31 years [calc 1]. [1]",
    ],
}
_ANSWERED = [{"number": 1, "verdict": "answered"}, {"number": 2, "verdict": "answered"}]
FOLLOW_UP = "Which lights on this coast are older than 1844?"
"""The question that the editor of the run `with-gaps` suggests, beside one on what was not found."""
_SOUND: dict[str, Any] = {
    "researcher": _ALL_FOUND,
    "writer": [_SUPPORTED],
    "verifier": _judge(_ANSWERED),
}
REPORTS: dict[str, dict[str, Any]] = {
    "all-supported": _SOUND,
    "corrected": {
        **_SOUND,
        "writer": {
            "": [f"{_SUPPORTED}\n\nIt stands 83 metres tall. [1]"],
            "rewrite_sentences": [rewritten("It stands 38 metres tall. [1]")],
        },
    },
    "marked": {**_SOUND, "writer": [f"{_SUPPORTED}\n\nIt stands 83 metres tall. [1]"]},
    "many-unproved": {**_SOUND, "writer": ["\n\n".join([_SUPPORTED, *_UNPROVED])]},
    "with-gaps": {
        **_SOUND,
        "researcher": _FINDINGS,
        "verifier": _judge(_GRADES, FOLLOW_UP, "What is known of her death?"),
    },
    "disputed": {**_SOUND, "researcher": _FINDINGS},
    "calculated": {
        **_SOUND,
        "researcher": _COUNTED,
        "writer": [f"{_LIT} [1]\n\nAda Moran kept it for 31 years [calc 1]. [2]"],
    },
    "not-judged": {**_SOUND, "limits": {"max_opinions": 0}},
    "not-checked": {**_SOUND, "verify": "off"},
    "planned-report": {},
}
"""What the models of runs answer whose reports differ in what the check says of them, by the name
of the thread."""


async def store_reports(path: Path, folder: Path, names: Sequence[str]) -> None:
    """Store finished runs of `REPORTS`; `folder` has the documents, in `docs`."""
    async with open_database(RunsLocation(path)) as database:
        for name in names:
            await _ask(name, name, database, folder, REPORTS[name])


async def _store(path: Path, name: str) -> None:
    """Store a run; before the first, three others of its kind finish, for its estimate, and are
    deleted."""
    async with open_database(RunsLocation(path)) as database:
        if name == "orchestrated-finished":
            for number in range(3):
                await _ask(name, f"other {number}", database, FOLDER, RUNS[name])
                await database.saver.adelete_thread(thread_id(f"other {number}"))
        await _ask(name, name, database, FOLDER, RUNS[name])


async def _ask(
    name: str, thread: str, database: Database, folder: Path, scripts: Mapping[str, Any]
) -> None:
    """Store a run on a thread, with all limits chosen, until it is finished, waits, or kills this
    process."""
    begin = _planned if name.startswith("planned") else _orchestrated
    run = begin(folder, database, **scripts)
    run.thread = thread
    run.settings |= {"docs": (folder / "docs",), "engines": (), "data_dir": folder / "data"}
    chosen = {"docs": True, "engines": True, "limits": [*Limits.model_fields]}
    await ThreadNotes(database.store, thread).remember(chosen, run.context)
    state = await run.ask(QUESTION)
    if name.endswith("waiting"):
        assert "question" in await run.waiting()
    else:
        assert state.report and (state.report.audit or run.context.verify == "off")


def write_stored_documents() -> None:
    """Write the documents that the stored runs search."""
    docs = FOLDER / "docs"
    docs.mkdir(parents=True, exist_ok=True)
    for name, text in DOCUMENTS.items():
        if not (docs / name).exists():
            (docs / name).write_text(text, encoding="utf-8")


def main() -> None:
    """Write the stored runs to the file that is named; with a name of a run as well, only that one."""
    target, *names = sys.argv[1:]
    if names:
        asyncio.run(_store(Path(target), names[0]))
        return
    write_stored_documents()
    with TemporaryDirectory() as folder:
        path = Path(folder) / FILE_NAME
        for name in RUNS:
            # A process of its own, since some of them are killed.
            ended = subprocess.run(
                [sys.executable, "-m", "kit.stored_runs", str(path), name], check=False
            )
            assert ended.returncode == (-signal.SIGKILL if name.endswith("killed") else 0), name
        queried(path, "DELETE FROM leases")
        copy = Path(folder) / "copy"
        queried(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
        Path(target).write_bytes(lzma.compress(copy.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
