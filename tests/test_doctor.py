"""`deep-research doctor` says what is configured, what is missing, and which setting mends it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import Desk, desk_in
from openai_replies import Reply, fail, say, use
from openai_server import Received, openai_server

JSON = json.dumps({"calls": [{"name": "save_word", "arguments": {"word": "amber"}}]})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_in(tmp_path)


def capable(request: Received) -> Reply:
    """A model that can do all that is tried."""
    if request.tools:
        return use(("save_word", {"word": "amber"}))
    if "save_word" in request.prompt or "save_word" in request.system:
        return say(JSON)
    if "numbers from 1 to 200" in request.prompt:
        return say("one, two, three", finish="length")
    return say("marigold" if "word of this log" in request.prompt else "I am a model.")


def without_tools(request: Received) -> Reply:
    """A model whose server knows no tools."""
    return fail(400, "this model does not support tools") if request.tools else capable(request)


def test_a_bare_machine_is_told_what_it_could_have(desk: Desk) -> None:
    ended = desk.call("doctor")
    assert ended.code == 0
    for words in ("extractive", "OPENAI_API_KEY", "OPENAI_BASE_URL", "duckduckgo", "DEEP_RESEARCH_DOCS", "data folder"):
        assert words in ended.out


@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "openai:gpt-5-mini"), "OPENAI_API_KEY"),
        (("--engine", "tavily"), "TAVILY_API_KEY"),
        (("--docs", "nowhere"), "nowhere"),
        (("--no-web",), "DEEP_RESEARCH_DOCS"),
        (("--model", "openai:small", "--window", "9000"), "OPENAI_API_KEY"),
    ],
)
def test_what_is_missing_is_named_with_its_setting(desk: Desk, options: tuple[str, ...], words: str) -> None:
    ended = desk.call("doctor", *options)
    assert ended.code == 2
    missing = [line for line in ended.out.splitlines() if line.startswith("missing")]
    assert missing
    assert words in " ".join(missing)


def test_a_password_in_an_address_is_not_shown(desk: Desk) -> None:
    ended = desk.call("doctor", OPENAI_BASE_URL="http://me:secret@localhost:1/v1")
    assert "localhost:1" in ended.out
    assert "secret" not in ended.out


def test_a_trial_tells_five_things_of_the_model_and_remembers_how_it_calls_tools(desk: Desk) -> None:
    with openai_server(capable) as server:
        ended = desk.call("doctor", "--try", "--model", "openai:fake-1", **server.environment)
    assert ended.code == 0, ended.out
    assert re.findall(r"fake-1: (\w[\w ]*):", ended.out) == ["tools", "schema", "stop", "reasoning leak", "window"]
    assert "Rung: native" in ended.out
    kept = json.loads((desk.data / "models.json").read_text("utf-8"))
    assert [(ability["rung"], ability["begins_inside"]) for ability in kept.values()] == [("native", False)]


def test_a_model_without_tool_calls_is_found_to_stand_lower(desk: Desk) -> None:
    with openai_server(without_tools) as server:
        ended = desk.call("doctor", "--try", "--model", "openai:fake-1", **server.environment)
    assert ended.code == 0, ended.out
    assert "Rung: schema" in ended.out
    assert "schema" in (desk.data / "models.json").read_text("utf-8")


def test_a_model_without_json_schemas_can_be_used_and_that_is_a_note(desk: Desk) -> None:
    def no_schema(request: Received) -> Reply:
        return fail(400, "response_format is not supported") if "response_format" in request.json else capable(request)

    with openai_server(no_schema) as server:
        ended = desk.call("doctor", "--try", "--model", "openai:fake-1", **server.environment)
    assert ended.code == 0, ended.out
    assert "note     fake-1: schema" in ended.out


@pytest.mark.fault(24)
def test_a_wrong_key_is_one_line_that_does_not_show_it(desk: Desk) -> None:
    with openai_server(lambda request: fail(401, f"wrong key {request.key}")) as server:
        environment = {**server.environment, "OPENAI_API_KEY": "sk-CANARY-17"}
        ended = desk.call("doctor", "--try", "--model", "openai:fake-1", **environment)
        assert len(server.requests) == 1
    assert ended.code == 2
    assert "OPENAI_API_KEY" in ended.out
    assert "CANARY" not in ended.out + ended.err
