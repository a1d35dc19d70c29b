"""Runs on the server are steered and stopped, and nothing is paid for twice."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from kit.server import GRAPH, THREE_TASKS, Conversation, Server, said, until, write_config
from kit.server_graph import FAIL, FOLDER, HOLD, NOTES
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import UnprocessableEntityError
from langgraph_sdk.schema import Command

pytestmark = pytest.mark.slow

SLOW = "Its keeper Ada Moran"
"""Beginning of the task that is held."""
OTHERS = 2
"""Number of the other tasks."""


class Desk:
    """Files through which the server's models record calls and are held."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def hold(self, words: str) -> None:
        """Hold the models whose first message begins with these words."""
        (self.folder / HOLD).write_text(words, "utf-8")

    def fail(self, role: str) -> None:
        """Have the models of a role fail."""
        (self.folder / FAIL).write_text(role, "utf-8")

    def release(self) -> None:
        """Let all models answer."""
        for name in (HOLD, FAIL):
            (self.folder / name).unlink(missing_ok=True)

    def calls(self, thread: str, role: str = "researcher") -> list[dict[str, Any]]:
        """Calls of a role on a thread, in order."""
        notes = self.folder / NOTES
        lines = notes.read_text("utf-8").splitlines(keepends=True) if notes.exists() else []
        # The server may be in the middle of its last line.
        calls = [json.loads(line) for line in lines if line.endswith("\n")]
        return [call for call in calls if (call["thread"], call["role"]) == (thread, role)]

    def counts(self, thread: str) -> Counter[str]:
        """Number of calls of each task of a thread."""
        return Counter(call["first"] for call in self.calls(thread))

    def finished(self, thread: str) -> dict[str, int]:
        """Number of calls of each task that is not held."""
        finished = {
            task: count for task, count in self.counts(thread).items() if not task.startswith(SLOW)
        }
        assert len(finished) == OTHERS
        return finished


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with Server(folder, write_config(folder), **{FOLDER: str(folder)}) as server:
        yield server


@pytest.fixture
def desk(server: Server) -> Iterator[Desk]:
    desk = Desk(server.folder)
    yield desk
    desk.release()


async def start_and_hold(talk: Conversation, desk: Desk) -> str:
    """Start a run and wait until only its held researcher is left; returns the run's id."""
    desk.hold(SLOW)
    started = await talk.client.runs.create(talk.thread, GRAPH, input=said(THREE_TASKS))
    await until(lambda: others_are_done(talk, desk))
    return started["run_id"]


async def others_are_done(talk: Conversation, desk: Desk) -> bool:
    if not any(call["first"].startswith(SLOW) for call in desk.calls(talk.thread)):
        return False
    state = await talk.client.threads.get_state(talk.thread)
    return (
        sum(1 for task in state["tasks"] if task["name"] == "researcher" and task["result"])
        == OTHERS
    )


@pytest.mark.fault("R28")
async def test_a_message_during_research_is_seen_in_the_next_turn(
    client: LangGraphClient, desk: Desk
) -> None:
    talk = await Conversation(client).create()
    stopped = await start_and_hold(talk, desk)
    before = desk.finished(talk.thread)
    words = "Tides matter most."
    # The server replaces the id: the client may have seen a message that is stored later.
    steering = Command(update={"messages": [{"role": "user", "content": words, "id": "chosen"}]})
    again = await client.runs.create(
        talk.thread, GRAPH, command=steering, multitask_strategy="interrupt"
    )
    await until(lambda: has_ended(talk, stopped))
    desk.release()
    await client.runs.join(talk.thread, again["run_id"])
    values = await talk.values()
    first, second = desk.calls(talk.thread, "orchestrator")[:2]
    assert words not in first["prompt"]
    assert words in second["prompt"]
    assert desk.finished(talk.thread) == before
    assert len(desk.calls(talk.thread, "planner")) == 1
    assert "Ada Moran kept" in values["report"]["text"]
    assert [
        message["id"] == "chosen" for message in values["messages"] if message["content"] == words
    ] == [False]
    assert all(finding["ended"] == "done" for finding in values["findings"].values())


async def test_a_message_and_the_end_of_research_go_a_way_of_their_own(
    server: Server, client: LangGraphClient, desk: Desk
) -> None:
    talk = await Conversation(client).create()
    started = await start_and_hold(talk, desk)
    before = desk.counts(talk.thread)
    words = "Tides matter most."
    async with httpx.AsyncClient(base_url=f"{server.url}/research/runs") as web:
        way = f"/{talk.thread}/messages"
        refused: tuple[Any, ...] = (None, [], {"text": 5})
        for odd in refused:
            assert (await web.post(way, json=odd)).status_code == 422
        assert (await web.post(way, json={"text": " "})).status_code == 422
        unknown = await web.post(f"/{uuid.uuid4()}/finish")
        assert unknown.status_code == 404
        sent = await web.post(way, json={"text": words})
        assert (await web.post(f"/{talk.thread}/finish")).status_code == 204
        assert desk.counts(talk.thread) == before
        desk.release()
        await client.runs.join(talk.thread, started)
        late = await web.post(way, json={"text": words})
        assert late.status_code == 409
        assert "No research is at work" in late.json()["detail"]
    values = await talk.values()
    [message] = [message for message in values["messages"] if message["content"] == words]
    assert message["id"] == sent.json()["id"]
    assert len(desk.calls(talk.thread, "orchestrator")) == 1
    assert words in desk.calls(talk.thread, "writer")[0]["prompt"]
    assert "asked for before the research was complete" in values["run"]["stop_reason"]


async def has_ended(talk: Conversation, run: str) -> bool:
    return (await talk.client.runs.get(talk.thread, run))["status"] not in ("pending", "running")


@pytest.mark.fault(45)
async def test_a_run_that_is_cancelled_goes_on_where_it_was(
    client: LangGraphClient, desk: Desk
) -> None:
    talk = await Conversation(client).create()
    run = await start_and_hold(talk, desk)
    before = desk.finished(talk.thread)
    await client.runs.cancel(talk.thread, run, wait=True)
    desk.release()
    with pytest.raises(UnprocessableEntityError, match="2 of 3 branches have finished"):
        await client.threads.update_state(
            talk.thread, said("Tides matter most."), as_node="orchestrate"
        )
    values = await talk.ask(None)
    assert "Ada Moran kept" in values["report"]["text"]
    assert desk.finished(talk.thread) == before
    assert len(desk.calls(talk.thread, "planner")) == 1


async def test_a_message_after_a_failed_follow_up_asks_another_question(
    server: Server, client: LangGraphClient, desk: Desk
) -> None:
    talk = await Conversation(client).create()
    first = await talk.ask("When was the Skerry Light lit?")
    desk.fail("planner")
    failed = await client.runs.create(talk.thread, GRAPH, input=said(THREE_TASKS))
    await client.runs.join(talk.thread, failed["run_id"])
    assert (await talk.values())["run"]["status"] == "running"
    desk.release()
    values = await talk.ask("Who kept the light?")
    assert values["run"]["question"] == "Who kept the light?"
    assert first["versions"].items() <= values["versions"].items()
    assert first["sources"].keys() <= values["sources"].keys()
    async with httpx.AsyncClient(base_url=f"{server.url}/research/runs") as web:
        earlier = (await web.get(f"/{talk.thread}/earlier")).json()
    assert [(run["question"], run["status"]) for run in earlier] == [
        ("When was the Skerry Light lit?", first["run"]["status"]),
        (THREE_TASKS, "ended"),
    ]


@pytest.mark.fault(43, 46, "R28")
async def test_the_first_of_two_answers_counts(client: LangGraphClient, desk: Desk) -> None:
    talk = await Conversation(client).create()
    await talk.ask("Compare them?")
    both = [client.runs.wait(talk.thread, GRAPH, command={"resume": THREE_TASKS}) for _ in range(2)]
    await asyncio.gather(*both, return_exceptions=True)
    values, paid = await talk.values(), desk.counts(talk.thread)
    assert [message["content"] for message in values["messages"]].count(THREE_TASKS) == 1
    assert len(desk.calls(talk.thread, "planner")) == 1
    assert "Ada Moran kept" in values["report"]["text"]
    assert await talk.ask(None, command={"resume": "Port Anlow"}) == values
    assert desk.counts(talk.thread) == paid


ODD: tuple[Any, ...] = (
    5,
    True,
    None,
    {},
    [5],
    [None],
    [["user"]],
    [[["a"]]],
    [{"role": "wizard", "content": "?"}],
    [{"role": ["user"], "content": "?"}],
    [{"role": "user", "content": 5}],
    [{"role": "user", "content": [5]}],
    [{"role": "user", "content": "?", "additional_kwargs": 5}],
    [{"role": "assistant", "content": "?", "tool_calls": 5}],
    [{"role": "tool", "content": "?"}],
    [{"type": "remove", "content": ""}],
)
"""What is no message, or no list of messages."""


@pytest.mark.fault("R27")
async def test_odd_messages_in_an_edit_of_the_state_are_refused_in_words(
    client: LangGraphClient,
) -> None:
    talk = await Conversation(client).create()
    before = await talk.ask("When was the Skerry Light lit?")
    for odd in ODD:
        with pytest.raises(UnprocessableEntityError, match="The state was not changed: messages"):
            await client.threads.update_state(talk.thread, {"messages": odd})
    with pytest.raises(UnprocessableEntityError, match="a list of values holds pairs"):
        await client.threads.update_state(talk.thread, [5])  # type: ignore[list-item] # it is wrong
    assert await talk.values() == before


def test_the_server_log_has_no_warning_or_error(server: Server) -> None:
    # Refused edits and messages are logged, and so is the run that failed.
    refused = re.compile(r"/(?:state 422|messages 422|messages 409|finish 404) |is away")
    assert [line for line in server.complaints() if not refused.search(line)] == []
