"""An app that embeds the package is type-checked against it, wherever the package was installed from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deep_research import Context, Settings

APP = """
import asyncio
from pathlib import Path

from deep_research import Answer, Context, Limits, aresearch, build_graph, deep_research_tool, packets, research

context = Context(docs=["documents"], models="extractive", limits={"max_cycles": 4})
other = Context(docs=[Path("documents")], limits=Limits(max_cycles=4))
docs: tuple[Path, ...] = context.docs
answer: Answer = research("When?", docs=["documents"], published_after="2024-01-01")
planned = research("When?", "planned", models={"writer": "openai:gpt-5-mini"}, clarify="off")
later: Answer = asyncio.run(aresearch("When?", docs="documents"))
tool = deep_research_tool(docs=["documents"], max_tool_calls=5)
for packet in packets(build_graph(), "When?", context=context):
    print(packet.placement.turn_index, answer.markdown, answer.sources[0].title)
"""
WRONG = """
from deep_research import Context, aresearch, research

Context(dosc=["documents"])
research("When?", clarify="never")
research("When?", modles="extractive")
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_app_passes_strict_type_checks_and_wrong_settings_are_found(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", sys.executable, "app.py", "wrong.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line.partition(" error: ")[::2] for line in result.stdout.splitlines() if " error: " in line]
    assert [(place, words.split(";")[0].split("  ")[0]) for place, words in errors] == [
        ("wrong.py:4:", 'Unexpected keyword argument "dosc" for "Context"'),
        (
            "wrong.py:5:",
            'Argument "clarify" to "research" has incompatible type "Literal[\'never\']"',
        ),
        ("wrong.py:6:", 'Unexpected keyword argument "modles" for "research"'),
    ], result.stdout


def test_the_settings_for_type_checkers_are_those_that_there_are() -> None:
    assert Settings.__annotations__.keys() == Context.model_fields.keys()
