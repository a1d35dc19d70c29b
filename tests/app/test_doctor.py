"""`deep-research doctor` names what is missing and the setting to change; the file `.env` and its
precedence."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from dotenv import dotenv_values
from kit.commands import Desk
from kit.engines import search_api
from kit.openai_server import Received, Reply, fail, openai_server, say, use

from deep_research import Context, Limits
from deep_research.core.settings.server_settings import ServerSettings

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
FROM_FILE = """
OPENAI_API_KEY=sk-CANARY
export OPENAI_BASE_URL='http://127.0.0.1:9/v1' # ours
DEEP_RESEARCH_LANGUAGE=German
DEEP_RESEARCH_MAX_CYCLES=5
DEEP_RESEARCH_MAX_PAGES=6
"""
JSON = json.dumps({"calls": [{"name": "save_word", "arguments": {"word": "amber"}}]})


@pytest.fixture
def environment() -> Iterator[os._Environ[str]]:
    """The environment of this process, which a `.env` may change as long as the test runs."""
    before = dict(os.environ)
    del os.environ["PYTHON_DOTENV_DISABLED"]
    yield os.environ
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.usefixtures("environment")
def test_the_command_reads_the_env_file_of_its_working_directory_and_the_environment_wins(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = desk.folder / "work"
    work.mkdir()
    (work / ".env").write_text(FROM_FILE)
    # `.env` files in the parent folder or the documents' folder are not read.
    (desk.folder / ".env").write_text("DEEP_RESEARCH_MAX_CYCLES_REASONING=77\n")
    (desk.docs / ".env").write_text("DEEP_RESEARCH_MAX_CYCLES_REASONING=77\n")
    ours = {"DEEP_RESEARCH_DOCS": str(desk.docs), "DEEP_RESEARCH_MAX_PAGES": "7"}
    monkeypatch.chdir(work)
    shown = desk.call("limits", **ours).out
    values = dict(line.split()[:2] for line in shown.splitlines())
    names = ("max_cycles", "max_pages", "max_cycles_reasoning")
    assert [values[name] for name in names] == ["5", "7", "4"]


def test_the_address_of_the_models_is_shown_and_no_key(desk: Desk) -> None:
    settings = {
        "OPENAI_API_KEY": "sk-CANARY",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "DEEP_RESEARCH_LANGUAGE": "French",
    }
    found = desk.call("doctor", "--docs", str(desk.docs), **settings)
    assert "models: gpt-5-mini at 127.0.0.1:9" in found.out and "language: French" in found.out
    assert "CANARY" not in found.out + found.err


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("line", ["OPENAI_API_KEY: sk-CANARY", 'KEY="CANARY'])
def test_an_invalid_line_of_the_env_file_is_reported_with_its_number(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    (desk.folder / ".env").write_text(
        f"# Mine\nDEEP_RESEARCH_DEPTH=deep\n\n{line}\nDEEP_RESEARCH_LANGUAGE=German\n"
    )
    monkeypatch.chdir(desk.folder)
    ended = desk.call("limits")
    words = f"Error: {desk.folder / '.env'}, line 4: it is not NAME=VALUE, or a quotation mark is not closed.\n"
    assert ended == (2, "", words)


def test_an_app_reads_the_env_file_only_when_it_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: os._Environ[str]
) -> None:
    (tmp_path / ".env").write_text(FROM_FILE)
    monkeypatch.chdir(tmp_path)
    assert Context().language == ""
    assert "OPENAI_API_KEY" not in environment
    context = Context.from_env(depth="deep")
    assert (context.language, context.depth) == ("German", "deep")
    assert environment["OPENAI_API_KEY"] == "sk-CANARY"


def test_the_example_env_file_has_every_variable_with_a_valid_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".env"
    file.write_text(re.sub(r"^# (?=[A-Z_]+=)", "", EXAMPLE, flags=re.MULTILINE))
    named = dotenv_values(file)
    own = {
        f"DEEP_RESEARCH_{name.upper()}"
        for name in Context.model_fields.keys() - {"clock", "limits"}
    }
    own |= {f"DEEP_RESEARCH_SERVER_{name.upper()}" for name in ServerSettings.model_fields}
    own |= {"DEEP_RESEARCH_STRATEGY", "DEEP_RESEARCH_DATABASE"}
    limits = {name for name in named.keys() - own if name.startswith("DEEP_RESEARCH_")}
    assert own <= named.keys()
    assert {
        name.removeprefix("DEEP_RESEARCH_").lower() for name in limits
    } <= Limits.model_fields.keys()
    source = "".join(
        (ROOT / path).read_text("utf-8")
        for path in ("core/models/resolve.py", "core/models/_openai_chat.py")
    )
    source += (ROOT / "tools" / "engines" / "tavily.py").read_text("utf-8")
    assert set(re.findall(r'"((?:OPENAI|TAVILY|SSL)_[A-Z_]+)"', source)) <= named.keys()
    for name, value in named.items():
        assert value
        monkeypatch.setenv(name, value)
    context = Context()
    assert context.model_fields_set >= Context.model_fields.keys() - {"clock", "limits"}
    assert context.limits.max_usd == 2
    assert ServerSettings().model_fields_set == ServerSettings.model_fields.keys()


def capable(request: Received) -> Reply:
    """A model that passes every trial."""
    return use(("save_word", {"word": "amber"})) if request.tools else say(JSON)


@pytest.mark.slow
@pytest.mark.fault("R19")
def test_a_bare_machine_lists_what_could_be_set_and_shows_no_password(desk: Desk) -> None:
    ended = desk.call("doctor")
    assert ended.code == 0
    assert desk.call("doctor", OPENAI_API_KEY="", OPENAI_BASE_URL="  ", OPENAI_MODEL="") == ended
    for words in (
        "extractive",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "duckduckgo",
        "DEEP_RESEARCH_DOCS",
        "data folder",
    ):
        assert words in ended.out
    assert "ok       tracing: off\n" in ended.out
    ended = desk.call("doctor", OPENAI_BASE_URL="http://me:secret@localhost:1/v1")
    assert "localhost:1" in ended.out and "secret" not in ended.out


@pytest.mark.slow
@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "openai:gpt-5-mini"), "OPENAI_API_KEY"),
        (("--engine", "tavily"), "TAVILY_API_KEY"),
        (("--docs", "nowhere", "--try"), "nowhere"),
    ],
)
def test_doctor_names_the_setting_of_a_missing_part(
    desk: Desk, options: tuple[str, ...], words: str
) -> None:
    ended = desk.call("doctor", *options)
    missing = [line for line in ended.out.splitlines() if line.startswith("missing")]
    assert ended.code == 2 and words in " ".join(missing)
    assert ("note     trial: " in ended.out) == ("--try" in options)


@pytest.mark.slow
def test_a_trial_calls_each_model_once_and_stores_how_it_calls_tools(desk: Desk) -> None:
    with openai_server(capable) as server:
        ended = desk.call(
            "doctor",
            "--try",
            "--model",
            "openai:fake-1",
            "--docs",
            str(desk.docs),
            **server.environment,
        )
        assert len(server.requests) == 1
    assert ended.code == 0, ended.out
    assert "ok       fake-1: tools: Tools are called through the API. Rung: native.\n" in ended.out
    kept = json.loads((desk.data / "models.json").read_text("utf-8"))
    assert [(ability["rung"], ability["begins_inside"]) for ability in kept.values()] == [
        ("native", False)
    ]


@pytest.mark.slow
def test_a_trial_of_a_model_that_calls_no_tool_says_to_choose_another(desk: Desk) -> None:
    with openai_server(lambda _: say("I saved it.")) as server:
        ended = desk.call(
            "doctor",
            "--try",
            "--model",
            "openai:fake-1",
            "--docs",
            str(desk.docs),
            **server.environment,
        )
    assert ended.code == 2
    assert (
        "failed   fake-1: tools: The model called no tool in any of the three ways; choose another"
        in ended.out
    )


@pytest.mark.slow
@pytest.mark.fault(24, "R19")
def test_a_wrong_key_is_one_line_that_does_not_show_it(desk: Desk) -> None:
    with openai_server(lambda request: fail(401, f"wrong key {request.key}")) as server:
        environment = {**server.environment, "OPENAI_API_KEY": "sk-CANARY-17"}
        ended = desk.call(
            "doctor", "--try", "--model", "openai:fake-1", "--docs", str(desk.docs), **environment
        )
        assert len(server.requests) == 1
    assert ended.code == 2 and "OPENAI_API_KEY" in ended.out
    assert "CANARY" not in ended.out + ended.err


@pytest.mark.slow
@pytest.mark.fault(26)
def test_a_trial_searches_once_and_says_whether_the_key_is_accepted(desk: Desk) -> None:
    given = ("--try", "--model", "extractive", "--engine", "tavily")
    with search_api() as engine:
        right = desk.call("doctor", *given, **engine.environment())
        assert len(engine.requests) == 1
        wrong = desk.call(
            "doctor", *given, **{**engine.environment(), "TAVILY_API_KEY": "tvly-CANARY"}
        )
    assert right.code == 0 and "ok       key of Tavily: accepted" in right.out
    assert (
        wrong.code == 2
        and "failed   key of Tavily: " in wrong.out
        and "check TAVILY_API_KEY" in wrong.out
    )
    assert "CANARY" not in wrong.out + wrong.err
    assert "one credit" in " ".join(desk.run("doctor", "--help").out.split())
