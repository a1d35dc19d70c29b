"""The verifier is shown what the user wrote, in runs and in checks of reports from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from kit.commands import Desk, wire_desk
from kit.models import ScriptedChatModel, figure_judge
from kit.openai_server import openai_server, say
from kit.runs import CLEAR, QUESTION, lab
from kit.wire import FACTS, PADDING, verified
from langgraph.types import Command

from deep_research import Context, SourceDocument, check_report
from deep_research.app.check_file import check_file
from deep_research.core.errors import QuestionRefused

REQUEST = "We own 900 homes. When was the Skerry Light lit?"
LIGHT = SourceDocument("Skerry Light", "The Skerry Light was lit for the first time in 1844.")
REPORT = "The light was lit in 1844, long before your 900 homes were built [1]."


def shown(prompts: Iterable[str]) -> list[list[str]]:
    """The user's messages that each prompt shows."""
    requests = list[list[str]]()
    for prompt in prompts:
        start = re.search(r'\{"knowledge"', prompt)
        assert start, prompt
        knowledge = json.JSONDecoder().raw_decode(prompt[start.start() :])[0]["knowledge"]
        first = knowledge["sources"][0]
        requests.append(first["passages"] if first["source"] == "request" else [])
    return requests


def shown_to(verifier: ScriptedChatModel) -> list[list[str]]:
    return shown(asked.messages[-1].text for asked in verifier.calls)


def judged_by(verifier: ScriptedChatModel) -> Context:
    models: Any = {"verifier": verifier, "writer": "extractive"}
    return Context(models=models, verify="check")


async def test_a_run_shows_the_verifier_the_question_and_later_messages_of_the_user(
    tmp_path: Path,
) -> None:
    verifier = figure_judge()
    asks = "For how many homes do you ask?"
    answer = "For 900 homes."
    run = lab(
        tmp_path,
        verifier=verifier,
        clarifier=[asks, CLEAR],
        writer=["The light is older than your 900 homes. [1]"],
    )
    await run.ask()
    state = await run.ask(Command(resume=answer))
    assert state.report
    assert [QUESTION, answer] in shown_to(verifier)
    assert not any(asks in message for messages in shown_to(verifier) for message in messages)


async def test_a_checked_report_is_judged_with_the_request_that_the_app_passes() -> None:
    verifier = figure_judge()
    await check_report(REPORT, {1: LIGHT}, judged_by(verifier), request=f" {REQUEST}\x00\n")
    assert [REQUEST] in shown_to(verifier)


async def test_a_checked_report_without_a_request_shows_none() -> None:
    verifier = figure_judge()
    await check_report(REPORT, {1: LIGHT}, judged_by(verifier))
    assert verifier.calls and [] in shown_to(verifier)
    assert not any(
        "What do the sources say?" in asked.messages[-1].text for asked in verifier.calls
    )


async def test_a_file_is_checked_with_the_request_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "light.md").write_text(LIGHT.text, "utf-8")
    verifier = figure_judge()
    context = judged_by(verifier).model_copy(update={"docs": (tmp_path,)})
    report = f"{REPORT}\n\n## Sources\n\n1. Skerry Light, light.md".encode()
    await check_file(report, "report.md", context, request=REQUEST)
    assert [REQUEST] in shown_to(verifier)


async def test_a_request_beyond_the_limit_of_a_question_is_refused() -> None:
    context = judged_by(figure_judge())
    limits = context.limits.model_copy(update={"question_characters": 10})
    context = context.model_copy(update={"limits": limits})
    with pytest.raises(QuestionRefused, match="The request has 48 characters; at most 10"):
        await check_report(REPORT, {1: LIGHT}, context, request=REQUEST)


def test_the_command_passes_the_request_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "light.md").write_text(LIGHT.text, "utf-8")
    report = tmp_path / "report.md"
    report.write_text(f"{REPORT}\n\n## Sources\n\n1. Skerry Light, light.md", "utf-8")
    with openai_server(verified) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        given = ("--docs", str(tmp_path), "--model", "openai:gpt-4o", "--request", REQUEST)
        Desk(tmp_path / "desk").call("check", str(report), *given)
    assert [REQUEST] in shown(request.prompt for request in server.requests)


@pytest.mark.slow
def test_an_audit_by_a_model_and_a_refresh_show_what_the_user_wrote_for_the_run(
    tmp_path: Path,
) -> None:
    report = "The Skerry Light was lit in 1844, long before your homes were built [1]."
    with wire_desk(tmp_path, verifier=verified, writer=lambda _: say(report)) as wire:
        assert wire.desk.call("ask", REQUEST, "--thread", "light").code == 0
        wire.forget()
        wire.desk.call("audit", "light", "--model", "openai:fake-1")
        assert [REQUEST] in shown(request.prompt for request in wire.lab.models.requests)
        wire.forget()
        changed = FACTS["light"].replace("1844", "1846")
        wire.lab.web.publish("/light", f"<title>Light</title><p>{changed}</p><p>{PADDING}</p>")
        wire.desk.call("refresh", "light")
        assert [REQUEST] in shown(request.prompt for request in wire.lab.models.requests)
