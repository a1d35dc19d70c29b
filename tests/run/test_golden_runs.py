"""A run that an earlier version has stored, and that was stopped, goes on: whatever has changed since."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from golden_runs import GOLDEN, golden_lab
from planned_lab import PlannedLab

from deep_research.app.embed import thread_id
from deep_research.app.words import STRATEGIES, Strategy
from deep_research.core.run.store.database import FILE_NAME, LAYOUT, open_database

STORED = sorted(GOLDEN.glob("layout-*.db"))


def test_there_is_a_golden_database_of_each_layout() -> None:
    assert [path.stem for path in STORED] == [f"layout-{number}" for number in range(1, LAYOUT + 1)]


@pytest.mark.fault(44)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.stem)
async def test_a_golden_run_goes_on_and_repeats_nothing(tmp_path: Path, stored: Path, strategy: Strategy) -> None:
    path = shutil.copyfile(stored, tmp_path / FILE_NAME)
    async with open_database(path) as database:
        assert {*await database.saver.thread_ids()} == {thread_id(name) for name in STRATEGIES}
        run = golden_lab(tmp_path / "run", strategy, database, is_stopped=False)
        before = await run.state()
        state = await run.ask(None)
    assert before.run and before.report is None
    assert state.run and state.run.id == before.run.id
    assert state.report and "lit in 1844" in state.report.text
    assert all(finding.ended == "done" for finding in state.findings.values())
    if isinstance(run, PlannedLab):
        assert [asked.task for asked in run.asked("record_learnings")] == ["Ada Moran"]
        assert not run.asked("make_plan")
    else:
        assert [len(run.calls(role)) for role in ("planner", "orchestrator", "researcher")] == [0, 1, 2]
