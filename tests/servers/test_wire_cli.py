"""The installed command over real wires: the web alone, a stop, and what a wrong key, model or server leads to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from command import Ended
from openai_server import Received, Reply, fail, use
from wire import FACTS, QUESTION, role_of
from wire_desk import KEYS, MODEL_KEY, WireDesk, wire_desk

WRONG_KEY = "sk-wrong-CANARY-9876543210"
NOTHING = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TAVILY_API_KEY", "DEEP_RESEARCH_MODELS")


def clarify(request: Received) -> Reply:
    """Take no other key than the right one."""
    if request.key != MODEL_KEY:
        return fail(401, f"Incorrect API key provided: {request.key}.", code="invalid_api_key")
    return use(("generate_plan", {}))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    with wire_desk(tmp_path_factory.mktemp("wire"), clarifier=clarify) as desk:
        yield desk


@pytest.fixture(autouse=True)
def anew(desk: WireDesk) -> None:
    desk.forget()


def complaint(ended: Ended, code: int) -> str:
    """The last line, which says what is wrong, and holds no key."""
    assert (ended.code, ended.out) == (code, "")
    assert "Traceback" not in ended.err
    assert not any(key in ended.err for key in (*KEYS, WRONG_KEY))
    *before, last = ended.err.splitlines()
    assert last.startswith("Error: ")
    assert not any("Error" in line for line in before)
    return last.removeprefix("Error: ")


def roles(desk: WireDesk) -> list[str]:
    """Who has asked models."""
    return [role_of(request) for request in desk.lab.models.requests]


@pytest.mark.slow
@pytest.mark.fault("R9")
def test_a_question_is_researched_on_the_web_alone(desk: WireDesk) -> None:
    ended = desk.desk.run("ask", QUESTION)
    assert ended.code == 0
    text, sources = ended.out.split("\n\n## Sources\n\n")
    for number, (name, fact) in enumerate(FACTS.items(), 1):
        address = desk.lab.web.url(f"/{name}")
        assert f"{fact} [{number}]" in text
        assert sources.splitlines()[number - 1].startswith(f"- [{number}] {name.title()} — 127.0.0.1")
        assert f"\n[{number}]: <{address}>" in sources
    assert sorted(desk.fetched()) == ["/harbour", "/keeper", "/light", "/tides"]
    assert sorted(desk.lab.engine.queries) == ["harbour", "keeper", "light", "tides"]
    assert desk.contacted() == desk.places


@pytest.mark.fault(24)
def test_a_wrong_key_is_sent_once_and_named_by_its_variable(desk: WireDesk) -> None:
    line, hint, thread = complaint(desk.desk.call("ask", QUESTION, OPENAI_API_KEY=WRONG_KEY), 1).partition(
        " The run is kept; go on: deep-research resume "
    )
    assert line.endswith("check OPENAI_API_KEY.")
    assert hint and thread in desk.desk.call("runs").out
    assert roles(desk) == ["clarifier"]


@pytest.mark.fault(25)
def test_with_no_key_and_nothing_to_search_the_settings_that_help_are_listed(desk: WireDesk) -> None:
    line = complaint(desk.desk.call("ask", QUESTION, **dict.fromkeys(NOTHING, ""), DEEP_RESEARCH_ENGINES="none"), 2)
    assert all(name in line for name in ("--docs", "DEEP_RESEARCH_DOCS", "DEEP_RESEARCH_ENGINES"))
    assert not desk.paid()


@pytest.mark.fault("R18")
def test_none_of_this_left_a_key_behind(desk: WireDesk) -> None:
    assert desk.files_with(*KEYS, WRONG_KEY) == []
