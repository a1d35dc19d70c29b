"""`deep-research edit` changes the report of a finished run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kit.commands import Desk, wire_desk
from kit.openai_server import Received, Reply, say, use
from kit.runs import QUESTION

REPORT = "The Skerry Light was lit in 1844 [1].\n\nNothing else is known."
EDIT = "Drop the last sentence."


def edited(request: Received) -> Reply:
    """A writer that deletes the second block; any other call is a trial of the model."""
    if "You change a research report" not in request.system:
        return use(("save_word", {"word": "amber"}))
    edits: list[dict[str, Any]] = [{"kind": "delete", "block": 2}]
    return use(("edit_report", {"edits": edits, "done": "The last sentence is gone."}))


def test_a_report_is_edited_from_the_command_line(tmp_path: Path) -> None:
    with wire_desk(tmp_path, writer=lambda _: say(REPORT), trial=edited) as wire:
        assert wire.desk.call("ask", QUESTION, "--thread", "light").code == 0
        wire.forget()
        ended = wire.desk.call("edit", "light", EDIT)
        assert ended.code == 0, ended.err
        body = ended.out.partition("## Sources")[0]
        assert "lit in 1844" in body and "Nothing else is known" not in body
        assert "- The last sentence is gone." in ended.out
        assert not wire.lab.engine.queries and len(wire.lab.models.requests) < 4
        packets = wire.desk.call("edit", "light", EDIT, "--json").out.splitlines()
        types = [json.loads(line)["type"] for line in packets]
        assert types[-1] == "stop" and "report_revised" in types
        assert wire.desk.call("edit", "nothing", EDIT).code == 2


def test_a_report_that_only_quotes_is_not_edited(library: Desk) -> None:
    ended = library.call("edit", "light", EDIT)
    assert ended.code == 2
    [line] = [line for line in ended.err.splitlines() if "extractive" in line]
    assert line.startswith("Error: A report is edited by a language model")
    # The report is still there.
    assert library.call("show", "light").code == 0
