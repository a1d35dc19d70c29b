"""Any chat model calls tools like one whose server can, and is called like any other."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest
from kit.model_calls import PROMPT, TOOL, Wire, called
from kit.model_calls import compatible as role_compatible
from kit.models import ScriptedChatModel, call, calls
from kit.openai_server import Received, Reply, fail, say
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    ToolMessage,
)
from typing_extensions import override

from deep_research.core.errors import ToolsMissing
from deep_research.core.models._compatible import CompatibleChatModel
from deep_research.core.models._faults import explain
from deep_research.core.models._known_abilities import ModelMemory

JSON = '{"calls": [{"name": "look", "arguments": {"word": "amber"}}]}'
TAGS = '<tool name="look">{"word": "amber"}</tool>'
ASKED = [("look", {"word": "amber"})]
SAVED = '<tool name="save_word">{"word": "amber"}</tool>'


class NoTools(Exception):
    """What a server without tool calls answers."""

    status_code = 400

    def __str__(self) -> str:
        return "fake-1 does not support tools"


def compatible(folder: Path, model: Any, **settings: Any) -> CompatibleChatModel:
    given = {
        "role": "planner",
        "subject": "The model 'fake-1'",
        "at_server": "fake-1 at here",
        **settings,
    }
    return CompatibleChatModel(model=model, data_dir=folder, **given)


async def streamed(model: CompatibleChatModel, config: Any = None) -> list[AIMessageChunk]:
    return [part async for part in model.astream(PROMPT, config)]


@pytest.mark.parametrize("hides_tools", [False, True])
@pytest.mark.parametrize("way", ["native", "schema", "tags"])
async def test_a_model_that_reads_of_its_tools_can_be_asked_for_text_without_them(
    tmp_path: Path, way: str, hides_tools: bool
) -> None:
    model = ScriptedChatModel(replies=["It was lit in 1844."])
    chat = compatible(tmp_path, model, tool_calls=way)
    bound = chat.bind_tools([TOOL], tool_choice="none", hides_tools=hides_tools)
    assert (await bound.ainvoke(PROMPT)).text == "It was lit in 1844."
    [asked] = model.calls
    is_told = "Tools:" in asked.text or "Now write text, and no call." in asked.text
    assert is_told == (way != "native" and not hides_tools)
    assert asked.tools == (("look",) if way == "native" else ())


@pytest.mark.parametrize(
    ("way", "reply"),
    [("native", calls(call("look", word="amber"))), ("schema", JSON), ("tags", f"So.\n{TAGS}")],
)
async def test_in_each_way_a_call_is_a_native_call_streamed_or_not(
    tmp_path: Path, way: Any, reply: Any
) -> None:
    inner = ScriptedChatModel(replies=[reply, reply])
    model = compatible(tmp_path, inner, tool_calls=way).bind_tools([TOOL], tool_choice="any")
    assert called(await model.ainvoke(PROMPT)) == ASKED
    whole: Any = reduce(add, await streamed(model))
    assert called(whole) == ASKED
    assert whole.text == ("So." if way == "tags" else "")
    assert [bool(made.tools) for made in inner.calls] == [way == "native"] * 2


async def test_prose_is_streamed_without_thoughts_in_it_and_they_come_beside_it(
    tmp_path: Path,
) -> None:
    inner = ScriptedChatModel(replies=["<think>Was it?</think>It was lit in 1844."])
    parts: list[Any] = await streamed(compatible(tmp_path, inner, tool_calls="native"))
    assert reduce(add, parts).text == "It was lit in 1844."
    assert "".join(part.leaked_thought for part in parts) == "Was it?"
    assert sum(bool(part.text) for part in parts) > 2
    assert parts[-1].answer.text == "It was lit in 1844."


async def test_the_first_call_tests_the_model_and_the_result_is_stored(tmp_path: Path) -> None:
    inner = ScriptedChatModel(replies=["No.", "No.", SAVED, TAGS])
    model = compatible(tmp_path, inner).bind_tools([TOOL])
    assert called(await model.ainvoke(PROMPT)) == ASKED
    stored = await ModelMemory(tmp_path, "fake-1 at here").load()
    assert stored and stored.rung == "tags"


async def test_a_model_that_calls_no_tool_in_its_trial_cannot_be_used_with_tools(
    tmp_path: Path,
) -> None:
    model = compatible(tmp_path, ScriptedChatModel(replies=["No."] * 3)).bind_tools([TOOL])
    with pytest.raises(ToolsMissing, match="'fake-1' cannot call tools in any supported way"):
        await model.ainvoke(PROMPT)


async def test_a_refusal_of_tools_voids_the_answer_and_another_way_is_found_once(
    tmp_path: Path,
) -> None:
    inner = ScriptedChatModel(replies=[NoTools(), NoTools(), "No.", SAVED, TAGS, NoTools()])
    model = compatible(tmp_path, inner, is_described=True).bind_tools([TOOL])
    parts: list[Any] = await streamed(model)
    assert [part.is_restart for part in parts].index(True) == 0
    assert called(parts[-1].answer) == ASKED
    with pytest.raises(NoTools):
        await streamed(model)


HISTORY: list[AnyMessage] = [
    *PROMPT,
    AIMessage("", tool_calls=[{"name": "look", "args": {"word": "amber"}, "id": "c"}]),
    ToolMessage("Amber is resin.", tool_call_id="c"),
]


def bare_history(complaint: str, status: int = 400) -> Callable[[Received], Reply]:
    """A server that takes earlier calls and results only together with tools."""

    def reply(request: Received) -> Reply:
        has_calls = any(message["role"] == "tool" for message in request.messages)
        if has_calls and not request.tools:
            return fail(status, complaint)
        return say("Amber is resin.")

    return reply


@pytest.mark.parametrize(
    ("complaint", "status"),
    [
        ("The toolConfig field must be defined when using toolUse content blocks.", 400),
        ("Requests which include `tool_use` or `tool_result` blocks must define tools", 400),
        ("Bedrock doesn't support tool calling without `tools=` param specified.", 400),
        ("tools must be provided if there are tool messages in the conversation", 422),
    ],
)
async def test_a_server_that_takes_no_earlier_calls_without_tools_gets_them_as_text_from_then_on(
    tmp_path: Path, wire: Wire, complaint: str, status: int
) -> None:
    model = wire(bare_history(complaint, status), "gpt-4.1-mini", data_dir=tmp_path)
    for count in (2, 3):
        answer = await role_compatible("writer", model.context).ainvoke(HISTORY)
        assert answer.text == "Amber is resin."
        assert len(model.requests) == count
    assert "Result of look:\nAmber is resin." in model.requests[-1].messages[-1]["content"]
    stored = await role_compatible("writer", model.context).memory.load()
    assert stored and stored.has_plain_history and stored.rung == "native"


class Unreadable(Exception):
    """What a server answers that cannot read its model's call."""

    status_code = 400

    def __str__(self) -> str:
        return "Tool call validation failed: parameters for tool look did not match schema"


async def test_a_call_that_its_server_cannot_read_is_asked_for_in_the_next_way_and_nothing_is_learned(
    tmp_path: Path,
) -> None:
    inner = ScriptedChatModel(
        replies=[Unreadable(), JSON, Unreadable(), NoTools(), TAGS, calls(call("look", word="a"))]
    )
    model = compatible(tmp_path, inner, is_described=True).bind_tools([TOOL])
    assert called(await model.ainvoke(PROMPT)) == ASKED
    assert called(await model.ainvoke(PROMPT)) == ASKED
    assert called(await model.ainvoke(PROMPT)) == [("look", {"word": "a"})]
    assert [bool(made.tools) for made in inner.calls] == [True, False, True, False, False, True]


async def test_a_way_set_by_the_user_is_kept_when_its_calls_cannot_be_read(tmp_path: Path) -> None:
    inner = ScriptedChatModel(replies=[Unreadable()])
    model = compatible(tmp_path, inner, tool_calls="native").bind_tools([TOOL])
    with pytest.raises(Unreadable) as raised:
        await model.ainvoke(PROMPT)
    line = str(explain(raised.value, "The model 'fake-1'"))
    assert "cannot read (HTTP 400); set tool_calls to schema or tags" in line


async def test_a_model_that_announces_its_forced_calls_twice_is_asked_for_them_in_the_next_way(
    tmp_path: Path,
) -> None:
    announced = "I will now look."
    trial = calls(call("save_word", word="amber"))
    found = calls(call("look", word="amber"))
    inner = ScriptedChatModel(
        replies=[trial, announced, found, announced, announced, JSON, "Amber is resin."]
    )
    model = compatible(tmp_path, inner).bind_tools([TOOL], tool_choice="any")
    answers = [await model.ainvoke(PROMPT) for _ in range(5)]
    assert [called(answer) for answer in answers] == [[], ASKED, [], [], ASKED]
    free = await model.bind_tools([TOOL], tool_choice="auto").ainvoke(PROMPT)
    assert free.text == "Amber is resin."
    assert [bool(made.tools) for made in inner.calls] == [True] * 5 + [False] * 2
    stored = await model.memory.load()
    assert stored and stored.rung == "native"


async def test_a_class_that_cannot_bind_tools_calls_them_in_text(tmp_path: Path) -> None:
    inner = GenericFakeChatModel(messages=iter([AIMessage(TAGS)]))
    model = compatible(tmp_path, inner, tool_calls="tags").bind_tools([TOOL])
    assert called(await model.ainvoke(PROMPT)) == ASKED


async def test_a_call_is_one_run_for_callbacks_that_of_the_wrapped_model(tmp_path: Path) -> None:
    class Runs(AsyncCallbackHandler):
        started: list[str]

        @override
        async def on_chat_model_start(
            self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **given: Any
        ) -> None:
            self.started.append(serialized["name"])

    runs = Runs()
    runs.started = []
    model = compatible(tmp_path, ScriptedChatModel(replies=["Yes."] * 2), tool_calls="native")
    await streamed(model, {"callbacks": [runs]})
    await model.ainvoke(PROMPT, {"callbacks": [runs]})
    assert runs.started == ["ScriptedChatModel"] * 2


async def test_langchains_other_ways_to_call_a_model_work_too(tmp_path: Path) -> None:
    model = compatible(tmp_path, ScriptedChatModel(replies=[TAGS] * 2), tool_calls="tags")
    made: Any = await model.bind_tools([TOOL]).agenerate([[*PROMPT]])
    assert called(made.generations[0][0].message) == ASKED
    with pytest.raises(NotImplementedError, match="only called asynchronously"):
        model.invoke(PROMPT)
