"""`deep-research doctor` says what is configured, what is missing, and which setting mends it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from api_engines import KITS, SECRET
from command import Desk
from openai_replies import Reply, fail, say, use
from openai_server import Received, openai_server
from search_api import Answer, search_api, serving

pytestmark = pytest.mark.slow

JSON = json.dumps({"calls": [{"name": "save_word", "arguments": {"word": "amber"}}]})


def capable(request: Received) -> Reply:
    """A model that can do all that is tried."""
    if request.tools:
        return use(("save_word", {"word": "amber"}))
    if "save_word" in request.prompt or "save_word" in request.system:
        return say(JSON)
    if "numbers from one to twenty" in request.prompt:
        return say("one, two, three, four, five", finish="length")
    return say("marigold" if "word of this log" in request.prompt else "I am a model.")


def without_tools(request: Received) -> Reply:
    """A model whose server knows no tools."""
    return fail(400, "this model does not support tools") if request.tools else capable(request)


def test_a_bare_machine_is_told_what_it_could_have(desk: Desk) -> None:
    ended = desk.call("doctor")
    assert ended.code == 0
    assert desk.call("doctor", OPENAI_API_KEY="", OPENAI_BASE_URL="  ", OPENAI_MODEL="") == ended
    for words in ("extractive", "OPENAI_API_KEY", "OPENAI_BASE_URL", "duckduckgo", "DEEP_RESEARCH_DOCS", "data folder"):
        assert words in ended.out


@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "openai:gpt-5-mini"), "OPENAI_API_KEY"),
        (("--engine", "tavily"), "TAVILY_API_KEY"),
        (("--docs", "nowhere", "--try"), "nowhere"),
    ],
)
def test_what_is_missing_is_named_with_its_setting(desk: Desk, options: tuple[str, ...], words: str) -> None:
    ended = desk.call("doctor", *options)
    assert ended.code == 2
    missing = [line for line in ended.out.splitlines() if line.startswith("missing")]
    assert missing
    assert words in " ".join(missing)
    assert ("note     trial: not made: first mend what is missing" in ended.out) == ("--try" in options)


@pytest.mark.fault("R19")
def test_a_password_in_an_address_is_not_shown(desk: Desk) -> None:
    ended = desk.call("doctor", OPENAI_BASE_URL="http://me:secret@localhost:1/v1")
    assert "localhost:1" in ended.out
    assert "secret" not in ended.out


def test_a_trial_tells_three_things_of_the_model_and_remembers_how_it_calls_tools(desk: Desk) -> None:
    with openai_server(capable) as server:
        ended = desk.call("doctor", "--try", "--model", "openai:fake-1", "--docs", str(desk.docs), **server.environment)
    assert ended.code == 0, ended.out
    assert re.findall(r"fake-1: (\w[\w ]*):", ended.out) == ["tools", "speed", "window"]
    speed = r"Reads about [\d ]+ tokens a second, writes about [\d ]+: a standard run over a few short documents takes"
    assert re.search(f"{speed} about 1 min\\.\n", ended.out)
    assert "Rung: native" in ended.out
    kept = json.loads((desk.data / "models.json").read_text("utf-8"))
    assert [(ability["rung"], ability["begins_inside"]) for ability in kept.values()] == [("native", False)]


@pytest.mark.fault(24, "R19")
def test_a_wrong_key_is_one_line_that_does_not_show_it(desk: Desk) -> None:
    with openai_server(lambda request: fail(401, f"wrong key {request.key}")) as server:
        environment = {**server.environment, "OPENAI_API_KEY": "sk-CANARY-17"}
        ended = desk.call("doctor", "--try", "--model", "openai:fake-1", "--docs", str(desk.docs), **environment)
        assert len(server.requests) == 1
    assert ended.code == 2
    assert "OPENAI_API_KEY" in ended.out
    assert "CANARY" not in ended.out + ended.err


def test_before_a_trial_tools_are_untried_and_after_it_that_is_known_for_good(desk: Desk) -> None:
    given = ("--model", "openai:fake-1", "--docs", str(desk.docs))
    with openai_server(without_tools) as server:
        assert "tool calling is tried at the first run" in desk.call("doctor", *given, **server.environment).out
        tried = desk.call("doctor", "--try", *given, **server.environment)
        later = desk.call("doctor", *given, **server.environment)
    for ended in (tried, later):
        assert "calls tools, by a trial: schema" in ended.out
        assert "at the first run" not in ended.out
    set_by_hand = desk.call("doctor", *given, DEEP_RESEARCH_TOOL_CALLS="tags", **server.environment)
    assert "calls tools as tool_calls says: tags" in set_by_hand.out


def test_a_folder_without_documents_is_missing(desk: Desk) -> None:
    (desk.folder / "empty").mkdir()
    ended = desk.call("doctor", "--docs", str(desk.folder / "empty"))
    assert ended.code == 2
    assert f"missing  documents: {desk.folder / 'empty'}: there is no document in it" in ended.out


def test_what_a_folder_holds_beside_its_documents_is_told(desk: Desk) -> None:
    (desk.docs / "a.txt").symlink_to(desk.folder / "nothing")
    (desk.docs / "d.gif").touch()
    (desk.docs / "d.pdf").write_bytes(b"%PDF-")
    ended = desk.call("doctor", "--docs", str(desk.docs))
    assert ended.code == 0
    assert f"ok       documents: 4 documents, 2 could not be read ({desk.docs})\n" in ended.out
    assert [line for line in ended.out.splitlines() if line.startswith("note")] == [
        "note     not read: docs/(other files): 1 of kinds that are not read: .gif",
        "note     not read: docs/a.txt: it is a link that leads nowhere",
        "note     not read: docs/d.pdf: it is a broken PDF file",
    ]


@pytest.mark.fault(40)
def test_a_database_that_cannot_be_used_is_one_line_that_names_it(desk: Desk) -> None:
    assert "ok       runs: 0 runs" in desk.call("doctor", "--docs", str(desk.docs)).out
    file = desk.data / "runs.sqlite"
    file.write_bytes(b"this is no database" * 99)
    ended = desk.call("doctor", "--docs", str(desk.docs))
    assert ended.code == 2
    (line,) = [line for line in ended.out.splitlines() if line.startswith("missing")]
    assert line.startswith("missing  runs: ")
    assert str(file) in line


@pytest.mark.fault(26)
def test_a_trial_searches_once_and_says_whether_the_key_is_taken(desk: Desk) -> None:
    given = ("--try", "--model", "extractive", "--engine", "tavily")
    with search_api() as engine:
        right = desk.call("doctor", *given, **engine.environment())
        assert len(engine.requests) == 1
        wrong = desk.call("doctor", *given, **{**engine.environment(), "TAVILY_API_KEY": "tvly-CANARY"})
    assert (right.code, wrong.code) == (0, 2)
    assert "ok       key of Tavily: it is taken" in right.out
    assert "failed   key of Tavily: " in wrong.out
    assert "check TAVILY_API_KEY" in wrong.out
    assert "CANARY" not in wrong.out + wrong.err
    assert "one credit" in " ".join(desk.run("doctor", "--help").out.split())


def test_a_trial_asks_each_engine_that_is_set_up_and_those_that_no_run_asks_stop_none(desk: Desk) -> None:
    kits = {kit.name: kit for kit in KITS}
    brave, exa = kits["brave"], kits["exa"]
    with (
        serving(lambda _: Answer(body=json.dumps(brave.answer))) as one,
        serving(lambda _: Answer(status=401)) as other,
    ):
        given = ("doctor", "--try", "--model", "extractive", "--engine", "brave", "--engine", "shelf_nowhere:Shelf")
        environment = {**brave.environment(one.url), **exa.environment(other.url)}
        unknown = desk.call(*given, **environment)
        assert (unknown.code, one.requests) == (2, [])
        assert "missing  web search: engines: 'shelf_nowhere:Shelf' could not be loaded" in unknown.out
        ended = desk.call(*given[:-2], **environment)
    assert (ended.code, len(one.requests), len(other.requests)) == (0, 1, 1)
    assert "ok       key of Brave: it is taken\n" in ended.out
    assert "note     key of Exa: Exa does not take the key (status 401): check EXA_API_KEY. (no run asks" in ended.out
    assert SECRET not in ended.out + unknown.out


@pytest.mark.fault(39)
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_a_data_folder_that_nobody_can_make_is_missing_and_looking_leaves_nothing(desk: Desk) -> None:
    ended = desk.call("doctor", DEEP_RESEARCH_DATA_DIR="/proc/q")
    assert ended.code == 2
    assert "missing  data folder: /proc/q cannot be written; set data_dir" in ended.out
    before = set(desk.folder.iterdir())
    assert f"ok       data folder: {desk.data}" in desk.call("doctor").out
    assert set(desk.folder.iterdir()) == before
