"""The options of the command line name what the settings name; the limits can be listed."""

from __future__ import annotations

from pathlib import Path

from command import desk_in

from deep_research.core.run.limits import Limits


def test_an_engine_that_there_is_not_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    ended = desk_in(tmp_path).call("ask", "When was it lit?", "--engine", "gogle")
    assert ended.code == 2
    assert "engines: there is no 'gogle' here; there are arxiv, duckduckgo, " in ended.err
    assert "Traceback" not in ended.err


def test_every_limit_is_listed_with_the_value_that_holds(tmp_path: Path) -> None:
    ended = desk_in(tmp_path).call("limits", DEEP_RESEARCH_MAX_CYCLES="3")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines] == list(Limits.model_fields)
    assert lines[0].split()[:3] == ["max_cycles", "3", "Orchestrator"]
    assert any(line.split()[:2] == ["max_document_bytes", "50000000"] for line in lines)
    assert any(line.split()[:2] == ["max_usd", "-"] for line in lines)
    assert not (tmp_path / "data").exists()
