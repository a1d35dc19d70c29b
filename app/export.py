"""A finished run as a document of its own."""

from __future__ import annotations

from deep_research.app.cli import Format
from deep_research.app.output import report_text, run_json
from deep_research.app.runs import Standing
from deep_research.app.terminal import RunName
from deep_research.app.words import counted
from deep_research.run.errors import UserMistake


class NoReportYet(UserMistake):
    """The run has not come to its report."""


def export_text(standing: Standing, output_format: Format, name: RunName) -> str:
    """The report with its sources as Markdown, or the whole run as JSON; raises `NoReportYet`."""
    if standing.state.report is None:
        answer = " --answer TEXT" if standing.asks else ""
        raise NoReportYet(
            f"The run {name.thread!r} has no report yet: {_how_far(standing)}. Go on: {name.command('resume')}{answer}"
        )
    return report_text(standing, "md") if output_format == "md" else run_json(standing)


def _how_far(standing: Standing) -> str:
    if standing.asks:
        return "it waits for an answer"
    state = standing.state
    if state.steps:
        done = sum(step.is_over for step in state.steps)
        return f"it was stopped after its plan, with {counted(done, 'step')} done"
    if state.plan is None:
        return "it was stopped before its plan was written"
    done = sum(1 for finding in state.findings.values() if state.run and finding.question_id == state.run.id)
    return f"it was stopped after its plan, with {counted(done, 'task')} researched"
