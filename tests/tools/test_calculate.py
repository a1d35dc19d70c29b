"""Researchers calculate over numbers that results state, and the check accepts what follows from
it."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.models import ScriptedChatModel, call, calls, judged
from kit.runs import REPORT, lab, search
from langchain_core.language_models import ModelProfile

from deep_research.nodes.researcher._calculations import calculated

KEPT = "Ada Moran kept the Skerry Light from 1901 to 1932."


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("(48 - 40) / 40", "= 0.2 = 20 %"),
        ("1,250.5 - 1,000 =", "= 250.5"),
        ("60 % * 48", "= 28.8"),
        ("1.609 × 2", "= 3.218"),
        ("7 / 0", "cannot be calculated"),
        ("2**99", "cannot be calculated"),
        ("__import__('os')", "cannot be calculated"),
    ],
)
def test_arithmetic_is_exact_and_nothing_else_is_carried_out(line: str, result: str) -> None:
    assert result in calculated({"calculations": [line]})[0]


async def test_a_calculated_number_is_supported_by_its_calculation_alone(tmp_path: Path) -> None:
    script = [
        search("Ada Moran"),
        calls(call("calculate", calculations=["1932 - 1901"])),
        REPORT,
        "She kept it for 31 years, from 1901 to 1932. [1]",
    ]
    # The judge names the words, and not how the number follows from them.
    judge = ScriptedChatModel(
        replies={"": lambda *_: judged(("supported", KEPT))},
        profile=ModelProfile(max_input_tokens=100_000),
    )
    writer = ["Ada Moran kept the light for 31 years. [1]"]
    run = lab(tmp_path, researcher=script, writer=writer, verifier=judge)
    state = await run.ask()
    assert "1932 - 1901 = 31" in run.calls("researcher")[2].text
    assert state.report and [verdict.shown for verdict in state.report.verdicts] == ["supported"]
    [finding] = state.findings.values()
    assert ("calculate", ("1932 - 1901 = 31",)) in [
        (action.tool, action.inputs) for action in finding.actions
    ]
    assert run.types().count("search_tool_start") == 1
