"""The file `.env`: who reads it, where it is looked for, and what wins."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import Desk
from dotenv import dotenv_values

from deep_research import Context, Limits
from deep_research.app.server.users import ServerSettings

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
FROM_FILE = """
OPENAI_API_KEY=sk-CANARY
export OPENAI_BASE_URL='http://127.0.0.1:9/v1' # ours
DEEP_RESEARCH_LANGUAGE=German
DEEP_RESEARCH_MAX_CYCLES=5
"""
SCRIPT = """
import os
from deep_research import Context
print(Context().language, "OPENAI_API_KEY" in os.environ)
context = Context.from_env(depth="deep")
print(context.language, context.depth, os.environ["OPENAI_API_KEY"])
"""


def environment(desk: Desk) -> dict[str, str]:
    return {name: value for name, value in desk.environment.items() if name != "PYTHON_DOTENV_DISABLED"}


def test_the_command_reads_the_file_of_its_own_folder_and_the_environment_wins(desk: Desk) -> None:
    (desk.folder / ".env").write_text(FROM_FILE)
    ours = environment(desk)
    # Neither the folder above nor that of the documents counts.
    assert re.search(r"^max_cycles +8 ", desk.run("limits", env=ours, cwd=desk.docs).out)
    (desk.docs / ".env").write_text("TAVILY_API_KEY=tvly-CANARY\n")
    found = desk.run("doctor", "--docs", "docs", env={**ours, "DEEP_RESEARCH_LANGUAGE": "French"}).out
    assert "models: gpt-5-mini at 127.0.0.1:9" in found and "language: French" in found
    assert "avily" not in found and "CANARY" not in found


@pytest.mark.parametrize("line", ["OPENAI_API_KEY: sk-CANARY", 'KEY="CANARY'])
def test_a_line_that_cannot_be_read_is_named_with_its_number(desk: Desk, line: str) -> None:
    (desk.folder / ".env").write_text(f"# Mine\nDEEP_RESEARCH_DEPTH=deep\n\n{line}\nDEEP_RESEARCH_LANGUAGE=German\n")
    ended = desk.run("limits", env=environment(desk))
    words = f"Error: {desk.folder / '.env'}, line 4: it is not NAME=VALUE, or a quotation mark is not closed.\n"
    assert ended == (2, "", words)


def test_an_app_reads_the_file_when_it_says_so_and_not_before(desk: Desk) -> None:
    (desk.folder / ".env").write_text(FROM_FILE)
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=desk.folder, env=environment(desk), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [" False", "German deep sk-CANARY"]


def test_the_example_has_every_variable_with_a_value_that_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".env"
    file.write_text(re.sub(r"^# (?=[A-Z_]+=)", "", EXAMPLE, flags=re.MULTILINE))
    named = dotenv_values(file)
    own = {f"DEEP_RESEARCH_{name.upper()}" for name in Context.model_fields.keys() - {"clock", "limits"}}
    own |= {f"DEEP_RESEARCH_SERVER_{name.upper()}" for name in ServerSettings.model_fields}
    own |= {"DEEP_RESEARCH_STRATEGY", "DEEP_RESEARCH_DATABASE"}
    limits = {name for name in named.keys() - own if name.startswith("DEEP_RESEARCH_")}
    assert own <= named.keys()
    assert {name.removeprefix("DEEP_RESEARCH_").lower() for name in limits} <= Limits.model_fields.keys()
    source = "".join((ROOT / place).read_text("utf-8") for place in ("core/models/resolve.py", "core/models/http.py"))
    source += (ROOT / "tools" / "engines" / "tavily.py").read_text("utf-8")
    assert set(re.findall(r'"((?:OPENAI|TAVILY|SSL)_[A-Z_]+)"', source)) <= named.keys()
    for name, value in named.items():
        assert value
        monkeypatch.setenv(name, value)
    context = Context()
    assert context.model_fields_set >= Context.model_fields.keys() - {"clock", "limits"}
    assert context.limits.max_usd == 2
    assert ServerSettings().model_fields_set == ServerSettings.model_fields.keys()


def test_the_file_is_kept_out_of_the_repository_and_of_images() -> None:
    for file in (".gitignore", ".dockerignore"):
        assert ".env" in (ROOT / file).read_text("utf-8").split(), file


def test_without_a_model_the_first_line_says_so_and_what_to_set(desk: Desk) -> None:
    ended = desk.call("ask", "When was the Skerry Light lit?", "--docs", str(desk.docs))
    first = ended.err.splitlines()[0]
    assert first.startswith("Note: No language model is at work") and "set OPENAI_API_KEY" in first
    assert "set OPENAI_API_KEY" in ended.out.split("## Notes")[1]
    chosen = desk.call("ask", "When was the Skerry Light lit?", "--docs", str(desk.docs), "--model", "extractive")
    assert "OPENAI_API_KEY" not in chosen.err + chosen.out
