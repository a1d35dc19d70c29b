"""Models calculate over numbers that results state; the check accepts what follows from it."""

from __future__ import annotations

from pathlib import Path

from kit.models import ScriptedChatModel, call, calls, judged
from kit.runs import REPORT, lab, search
from langchain_core.language_models import ModelProfile

KEPT = "Ada Moran kept the Skerry Light from 1901 to 1932."


async def test_a_calculated_number_is_supported_by_its_calculation_alone(tmp_path: Path) -> None:
    script = [
        search("Ada Moran"),
        calls(call("calculate", calculations=["Years of service: 1932 [1] - 1901 [1] = years"])),
        REPORT,
        "She kept it for 31 years [calc 1], from 1901 to 1932. [1]",
    ]
    # The judge names the words, and not how the number follows from them.
    judge = ScriptedChatModel(
        replies={"": lambda *_: judged(("supported", KEPT))},
        profile=ModelProfile(max_input_tokens=100_000),
    )
    writer = ["Ada Moran kept the light for 31 years [calc 1]. [1]"]
    run = lab(tmp_path, researcher=script, writer=writer, verifier=judge)
    state = await run.ask()
    result = "[calc 1] Years of service: 1932 - 1901 = 31 years"
    assert result in run.calls("researcher")[2].text
    assert result in run.calls("writer")[0].text
    assert state.report and [verdict.shown for verdict in state.report.verdicts] == ["supported"]
    [calculation] = state.report.calculations
    assert calculation.is_proved and {given.words for given in calculation.inputs} == {KEPT}
    assert state.report.text == "Ada Moran kept the light for 31 years [calc 1]. [1]"
    assert run.types().count("search_tool_start") == 1
