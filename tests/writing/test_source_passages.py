"""What the writer is shown beside the findings: passages, titles of tasks, and the plan."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit.models import call, calls
from kit.runs import REPORT, answered, written

TIDES = "The wharf is closed at spring tides, as it has been in all earlier years."
OPEN_DAY = "Visitors are welcome on the first Sunday of each month from ten to four."
SHARED = "The keepers of both lights are paid by the harbour trust of Port Anlow."
CLAUSES = (
    "§ 4 The rent is 900 euros a month, to be paid in advance on its first day to an account in Anlow.",
    "§ 7 The tenant keeps the stairs, the lamp room and the outer walls in the condition of the first day.",
    "§ 9 Each party may end the lease with nine months' notice to the end of a calendar year, in writing.",
    "§ 12 Whoever is in arrears with a payment owes the other party 15 percent of the amount in addition.",
)
FILLER = "The keepers thank all who came in winter, by boat or over the sands. " * 6
RESULTS = (
    FILLER,
    "Revenue: 27.9 thousand euros.",
    FILLER.replace("winter", "spring"),
    "Margin: 41 percent of it.",
    FILLER.replace("winter", "autumn"),
    "Surplus: 0.4 thousand euros.",
    FILLER.replace("winter", "summer"),
)
FILES = {
    "a_md": f"# Skerry Light\n\nIt was lit in 1844. {TIDES} {OPEN_DAY} {SHARED}",
    "b_md": f"# Moor Light\n\n{OPEN_DAY} {TIDES} {SHARED} It was lit in 1850.",
    "c_md": "\n\n".join(["# Lease", TIDES, *CLAUSES, OPEN_DAY]),
    "e_md": "\n\n".join(["# Accounts", *RESULTS]),
    "d_md": f"# House rules\n\nDogs stay outside. {TIDES} {OPEN_DAY}",
}
PLAN = "1. Both lights"
CHECKLIST = f"{PLAN}\n\n## Checklist\n\n- When they were lit"
TASK = "When were both lights lit, and what does the lease cost?"


async def shown_to_the_writer(tmp_path: Path, finding: str, **settings: Any) -> Any:
    """The request to the writer of a report on these documents with this finding."""
    task = calls(call("research_agent", task=TASK, title="Both lights"))
    run, _ = await answered(
        tmp_path,
        docs=(written(tmp_path / "papers", FILES),),
        orchestrator=[task, REPORT],
        researcher=[calls(call("generate_report"), text=finding)],
        limits={"whole_characters": 30_000},
        verify="off",
        **settings,
    )
    return run.calls("writer")[0]


def passages_in(text: str) -> dict[int, str]:
    """The passages of each source, by its number."""
    found = re.search(
        r"<(data-\w+)>\s*(\{\"knowledge\": \{\"passages\".*?\})\s*</\1>", text, re.DOTALL
    )
    assert found
    entries = json.loads(found[2])["knowledge"]["passages"]
    return {entry["source"]: "\n".join(entry["passages"]) for entry in entries}


async def test_boilerplate_stays_in_its_first_source_and_a_short_source_is_shown_whole(
    tmp_path: Path,
) -> None:
    finding = (
        "Skerry Light was lit in 1844 [1]. Moor Light in 1850 [2]. The rent is 900 euros [3]. "
        "Dogs stay outside [4]."
    )
    shown = passages_in((await shown_to_the_writer(tmp_path, finding)).text)
    skerry, moor, lease, rules = shown.values()
    assert "It was lit in 1844." in skerry and "It was lit in 1850." in moor
    assert all(clause in lease for clause in CLAUSES)
    assert "Dogs stay outside." in rules
    for words in (TIDES, OPEN_DAY):
        assert [words in passages for passages in shown.values()].count(True) == 1
    assert SHARED in skerry and SHARED in moor, "what two sources say may be a fact of each"


async def test_boilerplate_that_a_finding_rests_on_is_shown_once(tmp_path: Path) -> None:
    finding = "It was lit in 1850 [2]. The wharf is closed at spring tides [2, 3]."
    moor, lease = passages_in((await shown_to_the_writer(tmp_path, finding)).text).values()
    assert TIDES in moor and TIDES not in lease


async def test_a_finding_that_sums_up_a_list_is_shown_with_all_its_figures(tmp_path: Path) -> None:
    finding = (
        "Revenue was 27.9 thousand euros, the margin 41 percent, the surplus 0.4 thousand [5]."
    )
    [accounts] = passages_in((await shown_to_the_writer(tmp_path, finding)).text).values()
    assert all(line in accounts for line in RESULTS[1::2])
    assert FILLER.replace("winter", "summer").strip() not in accounts


@pytest.mark.parametrize("planned", [PLAN, CHECKLIST])
async def test_the_writer_sees_the_checklist_or_the_plan_and_titles_of_tasks(
    tmp_path: Path, planned: str
) -> None:
    asked = await shown_to_the_writer(tmp_path, "It was lit in 1844. [1]", planner=[planned])
    assert (f"<plan>\n{PLAN}\n</plan>" in asked.text) == (planned == PLAN)
    assert ("- When they were lit" in asked.text) == (planned == CHECKLIST)
    tasks = [
        entry["args"] for message in asked.messages for entry in getattr(message, "tool_calls", ())
    ]
    assert tasks == [{"task": "Both lights"}]
