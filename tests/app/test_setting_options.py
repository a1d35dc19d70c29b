"""The options of the command line name what the settings name; the limits can be listed."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click
from command import desk_in

from deep_research.app.cli import ask
from deep_research.run.context import Engine
from deep_research.run.limits import Limits


def test_the_engines_of_the_option_are_those_of_the_setting() -> None:
    # They are written down twice: help must not wait for the settings to be imported.
    (option,) = [each for each in ask.params if each.name == "engine"]
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == get_args(Engine)


def test_every_limit_is_listed_with_the_value_that_holds(tmp_path: Path) -> None:
    ended = desk_in(tmp_path).call("limits", DEEP_RESEARCH_MAX_CYCLES="3")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines] == list(Limits.model_fields)
    assert lines[0].split()[:3] == ["max_cycles", "3", "Orchestrator"]
    assert any(line.split()[:2] == ["max_document_bytes", "50000000"] for line in lines)
    assert any(line.split()[:2] == ["max_usd", "-"] for line in lines)
    assert not (tmp_path / "data").exists()
