"""The server checks reports from elsewhere in processes of their own."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from kit.openai_server import OpenAIServer, Received, Reply, openai_server, say
from langgraph.store.memory import InMemoryStore

from deep_research.app.server._check_pool import UserChecks, end_idle_checkers
from deep_research.core.errors import DailyLimitReached, DeepResearchError, ReportUnreadable
from deep_research.core.settings import server_settings
from deep_research.core.store.pages import Pages

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

REPORT = b"The light burns white [1].\n\n## Sources\n\n1. light.md\n"


@pytest_asyncio.fixture(autouse=True, scope="module", loop_scope="module")
async def _ended() -> AsyncIterator[None]:
    """End the processes before the event loop of the module is closed: starting one takes two
    seconds of CPU, so the tests share them."""
    yield
    await end_idle_checkers()


@pytest.fixture(scope="module")
def stalled() -> set[str]:
    """Words of prompts that the verifier never answers."""
    return set()


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory, stalled: set[str]) -> Iterator[OpenAIServer]:
    """The model of an operator with one document."""

    def reply(received: Received) -> Reply:
        if any(words in received.prompt for words in stalled):
            return say("", ending="stall")
        return say("I cannot tell.")

    folder = tmp_path_factory.mktemp("documents")
    (folder / "light.md").write_text("The light burns red.", "utf-8")
    server_settings._operator.cache_clear()
    with openai_server(reply) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        patch.setenv("DEEP_RESEARCH_DOCS", str(folder))
        patch.setenv("DEEP_RESEARCH_DATA_DIR", str(folder / "data"))
        patch.setenv("DEEP_RESEARCH_USER_DAILY_TOKENS", "1")
        yield server
    server_settings._operator.cache_clear()


def checks_of(user: str) -> UserChecks:
    return UserChecks(user, Pages(InMemoryStore(), "", user))


def children() -> set[int]:
    """Ids of this process's children that check reports."""
    found = set[int]()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode()
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):
            # It has just ended.
            continue
        if "_check_worker" in command and parent == str(os.getpid()):
            found.add(int(process.name))
    return found


async def test_a_check_is_charged_to_its_user_and_errors_arrive_as_they_are(
    verifier: OpenAIServer,
) -> None:
    checks = checks_of("alice")
    with pytest.raises(ReportUnreadable, match="contains no text"):
        await checks.read(b" ", "report.md")
    report = await checks.read(REPORT, "report.md")
    notices = list[str]()
    page = await checks.check(report, "report.md", "", notices.append)
    assert page.checked.summary == "1 statement; 1 not verified"
    assert "The light burns white" in page.html
    assert "reading 1 source" in notices
    with pytest.raises(DailyLimitReached, match="alice has spent"):
        await checks.check(report, "report.md", "", notices.append)
    await checks_of("bob").check(report, "report.md", "", notices.append)


@pytest.mark.fault("57")
async def test_a_stopped_check_frees_its_process_and_a_killed_one_is_replaced(
    verifier: OpenAIServer, stalled: set[str]
) -> None:
    checks = checks_of("carol")
    report = await checks.read(REPORT, "report.md")
    [child] = children()
    stalled.add("burns white")
    for user, kills in (("carol", False), ("dave", True)):
        # What the stopped check has cost may be more than a user may spend.
        checks = checks_of(user)
        before = len(verifier.requests)
        check = asyncio.create_task(checks.check(report, "report.md", "", lambda _: None))
        async with asyncio.timeout(60):
            while len(verifier.requests) == before:
                await asyncio.sleep(0.01)
        if kills:
            os.kill(child, signal.SIGKILL)
            with pytest.raises(DeepResearchError, match="ended unexpectedly"):
                await check
        else:
            check.cancel()
            with pytest.raises(asyncio.CancelledError):
                await check
            assert child in children()
    assert await checks.read(REPORT, "report.md") == report
    assert child not in children()
