"""A finished report is held against the texts that are kept of its sources: by `audit`, and in short by `export`."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command import Desk
from lab import QUESTION
from openai_server import fail, say, use
from wire import role_of
from wire_desk import wire_desk

pytestmark = pytest.mark.slow

WARNING = "Warning: a text behind this report is gone or has changed since it was checked: deep-research audit light\n"
NO_TEXT = "DELETE FROM store WHERE length(key) = 64"
OTHER_TEXT = """UPDATE store SET value = '{"text": "Lit in 1846."}' WHERE length(key) = 64"""


def changed(library: Desk, folder: Path, statement: str) -> Desk:
    """A copy of the desk whose kept texts are changed."""
    shutil.copytree(library.folder, folder, dirs_exist_ok=True)
    with closing(sqlite3.connect(folder / "data" / "runs.sqlite")) as database, database:
        assert database.execute(statement).rowcount
    return Desk(folder)


def test_a_report_whose_texts_are_as_they_were_passes_and_is_exported_without_a_word(library: Desk) -> None:
    audit = library.call("audit", "light")
    assert (audit.code, audit.err) == (0, "")
    assert "Fault" not in audit.out and "Counts    " in audit.out
    exported = library.call("export", "light")
    assert (exported.code, exported.err) == (0, "")


@pytest.mark.parametrize(
    ("statement", "fault", "form"),
    [(NO_TEXT, "is no longer kept", "md"), (OTHER_TEXT, "is not the one that was read", "json")],
)
def test_an_export_goes_on_and_says_where_to_learn_what_has_changed(
    library: Desk, tmp_path: Path, statement: str, fault: str, form: str
) -> None:
    desk = changed(library, tmp_path, statement)
    exported, before = desk.call("export", "light", "--format", form), library.call("export", "light", "--format", form)
    assert (exported.code, exported.err, exported.out) == (0, WARNING, before.out)
    audit = desk.call("audit", "light")
    assert audit.code == 1 and fault in audit.out


@pytest.mark.fault(40)
@pytest.mark.parametrize("value", ["no json{", "\xff", "[1, 2]", "{}", '{"text": 5}'])
def test_a_text_that_cannot_be_read_is_one_line_among_the_others(library: Desk, tmp_path: Path, value: str) -> None:
    stored = f"UPDATE store SET value = x'{value.encode('latin-1').hex()}' WHERE length(key) = 64"
    desk = changed(library, tmp_path, stored)
    audit = desk.call("audit", "light")
    assert (audit.code, audit.err) == (1, "")
    faults = [line for line in audit.out.splitlines() if line.startswith("Fault")]
    assert len(faults) == len(set(faults)) > 0
    assert all(line.endswith(" is no longer kept, or cannot be read.") for line in faults)
    exported = desk.call("export", "light")
    assert (exported.code, exported.err, exported.out) == (0, WARNING, library.call("export", "light").out)


def test_a_model_judges_an_old_report_and_what_has_changed_is_said(tmp_path: Path) -> None:
    with wire_desk(tmp_path, writer=lambda _: say("Its lamp is older than any other one of that coast [1].")) as wire:
        asked = wire.desk.call("ask", QUESTION, "--thread", "light", "--limit", "max_opinions=0")
        assert asked.code == 0 and "not verified" not in asked.out
        wire.forget()
        offline = wire.desk.call("audit", "light")
        assert (offline.code, wire.lab.models.requests) == (0, [])
        assert "Changed   0 verdicts" in offline.out
        wire.lab.script["verifier"] = lambda _: use(
            ("judge_units", {"verdicts": [{"unit": 1, "verdict": "not_found"}]})
        )
        audit = wire.desk.call("audit", "light", "--model", "openai:fake-1")
        assert audit.code == 1
        assert [role_of(request) for request in wire.lab.models.requests] == ["verifier"]
        assert "Changed   1 verdict since" in audit.out and "Cost      1 model call," in audit.out
        assert "unsupported, not marked (before: unchecked): Its lamp is older than" in audit.out
        assert wire.desk.call("export", "light").out == asked.out
        wire.lab.script["verifier"] = lambda _: fail(401, "Incorrect API key provided.", code="invalid_api_key")
        refused = wire.desk.call("audit", "light", "--model", "openai:fake-1")
        assert (refused.code, refused.out) == (2, "") and refused.err.endswith("check OPENAI_API_KEY.\n")
