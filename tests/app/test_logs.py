"""Logs of a run: failures with tracebacks and without secrets, decisions, and no warnings for an
ordinary run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.commands import Desk
from kit.models import call, calls
from kit.planned import finished, plan, step
from kit.runs import QUESTION, REPORT, lab, research
from langchain_core.tools import tool

from deep_research import aresearch

PASSWORD = "gannets-at-dawn"
SECRET = (
    f"no row in db42 at postgresql://keeper:{PASSWORD}@db/light with the key tvly-abcdefgh12345678"
)
PRIVATE = "Zanzibarella"


@tool
def refusing(light: str) -> str:
    """Look a light up."""
    raise ValueError(SECRET)


def logged(caplog: pytest.LogCaptureFixture, level: int) -> list[logging.LogRecord]:
    """Our log records at or above a level."""
    return [
        record
        for record in caplog.records
        if record.name.startswith("deep_research") and record.levelno >= level
    ]


def text_of(records: Sequence[logging.LogRecord]) -> str:
    """The records as an operator reads them."""
    return "\n".join(map(logging.Formatter("%(levelname)s %(name)s: %(message)s").format, records))


@pytest.fixture(autouse=True)
def informed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="deep_research")


async def test_a_tool_that_raises_is_named_in_the_notes_and_its_reason_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPER_PASSWORD", PASSWORD)
    asked = [calls(call("refusing", light=name)) for name in ("Skerry", "Anlow")]
    run = lab(
        tmp_path, researcher=[*asked, REPORT, "Nothing was found."], tools=(refusing,), verify="off"
    )
    state = await run.ask()
    assert "- The tool refusing failed 2 times (ValueError)." in state.messages[-1].text
    first, second = logged(caplog, logging.WARNING)
    said = text_of([first, second])
    assert first.name == "deep_research.tools.use"
    raised = "in refusing\n    raise ValueError(SECRET)\nValueError: no row in db42 at postgresql://***@db/"
    assert said.count(raised) == 2
    assert PASSWORD not in said and "tvly-" not in said


async def test_the_text_of_an_error_from_a_provider_is_logged_only_at_debug(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    quoted = f"the prompt is refused: {PRIVATE}"
    settings: dict[str, Any] = {
        "limits": {"retry_seconds": 0},
        "orchestrator": [research("When?"), REPORT, REPORT],
    }
    await lab(tmp_path, researcher=[ConnectionError(quoted)], **settings).ask()
    said = text_of(logged(caplog, logging.INFO))
    assert "ConnectionError: its text is logged at the level DEBUG" in said
    assert "Traceback (most recent call last):" in said
    assert PRIVATE not in said
    caplog.clear()
    caplog.set_level(logging.DEBUG, logger="deep_research")
    await lab(tmp_path, researcher=[ConnectionError(quoted)], **settings).ask()
    assert PRIVATE in text_of(logged(caplog, logging.DEBUG))


async def test_an_ordinary_run_logs_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, desk: Desk
) -> None:
    await lab(tmp_path).ask()
    rules = {
        "make_plan": plan(
            step("Skerry Light lit"), step("Ada Moran", after=(1,)), step("Weigh", search=False)
        )
    }
    _, state = await finished(tmp_path, rules)
    decided = text_of(logged(caplog, logging.INFO))
    assert (
        f"The plan of {state.run.id} has 3 steps: 1 independent, 2 hybrid, 3 dependent" in decided
    )
    assert f"Round 2 of {state.run.id}: steps 2" in decided
    assert "decides in cycle 0: research, 1 tasks" in decided
    for strategy in ("orchestrated", "planned"):
        await aresearch(
            QUESTION, strategy, models="extractive", docs=[desk.docs], data_dir=tmp_path
        )
    assert text_of(logged(caplog, logging.WARNING)) == ""


def test_a_log_that_cannot_be_written_is_refused(desk: Desk) -> None:
    refused = desk.run("--log", str(desk.folder / "nowhere" / "run.log"), "limits")
    assert (refused.code, "run.log': No such file or directory" in refused.err) == (2, True)
