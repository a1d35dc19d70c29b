"""The command whose searches all fail: the report says why, and so does the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack

import pytest
from kit.commands import Desk, Ended
from kit.engines import Answer, refused, search_api
from kit.mcp import foreign_server, served
from kit.openai_server import Received, Reply, openai_server, use
from kit.wire import END, QUESTION, Script, answering, hand_out, plain_run, tool_results

LINE = "Error: All searches failed, so the report has no sources: "


def asked(desk: Desk, *options: str, environment: Mapping[str, str], **script: Script) -> Ended:
    """Ask by the command, with a model that finds nothing unless it is shown something."""
    replies = {**plain_run(("light",)), "orchestrator": [hand_out("light"), END], **script}
    with openai_server(answering(replies, None)) as models:
        given = (
            "ask",
            QUESTION,
            "--model",
            "openai:fake-1",
            "--window",
            "100000",
            "--thread",
            "t",
            *options,
        )
        return desk.call(
            *given, DEEP_RESEARCH_TOOL_CALLS="native", **models.environment, **environment
        )


@pytest.mark.sweep
@pytest.mark.behaviour("O-94")
@pytest.mark.fault(26)
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refused(429, Retry_After="0"), "(status 429)"),
        (refused(400), "(status 400)"),
        (refused(422), "(status 422)"),
        (Answer(delay=60), "search_seconds"),
    ],
)
def test_a_run_whose_searches_all_failed_exits_with_an_error_and_the_reason(
    desk: Desk, answer: Answer, words: str
) -> None:
    with search_api() as engine:
        engine.otherwise = answer
        ended = asked(
            desk,
            "--engine",
            "tavily",
            "--limit",
            "search_seconds=1",
            environment=engine.environment(),
        )
        assert ended.code == 1, ended.err
        assert ended.out.startswith("*No source was consulted")
        assert ended.out.partition("## Notes")[2].count(words) == 1
        assert words in ended.err.splitlines()[-1].partition(LINE)[2]
        again = desk.call("resume", "t")
    assert (again.code, again.out) == (1, ended.out)


@pytest.mark.sweep
@pytest.mark.fault(26)
@pytest.mark.parametrize("end", ["fail", "hang", "dead"])
def test_a_broken_tool_server_is_noted_in_the_report_and_the_exit_code(
    desk: Desk, end: str
) -> None:
    pytest.importorskip("langchain_mcp_adapters")
    with ExitStack() as server:
        url = server.enter_context(served(foreign_server([])))

        def tried(request: Received) -> Reply:
            if tool_results(request):
                return END
            if end == "dead":
                server.close()
            return use((f"lights_{'hang' if end == 'hang' else 'fail'}", {}))

        mcp = json.dumps({"lights": {"url": url}})
        options = ("--no-web", "--limit", "tool_seconds=2")
        ended = asked(desk, *options, environment={"DEEP_RESEARCH_MCP": mcp}, researcher=tried)
    name = "lights_hang" if end == "hang" else "lights_fail"
    assert ended.code == 1, ended.err
    assert f"The tool {name} failed once (" in ended.out.partition("## Notes")[2]
    assert LINE in ended.err
