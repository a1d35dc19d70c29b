"""Trial calls find out what a model can do, and cost little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from kit.model_calls import Wire, caller_of
from kit.models import ScriptedChatModel, call, calls
from kit.openai_server import say
from kit.runs import HandClock
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.runnables import Runnable

from deep_research.core.models.abilities import Check, Speed, check_rung, check_window, find_ability, measure_speed
from deep_research.core.models.ladder.rungs import Ability
from deep_research.core.models.resolve import resolve_model

NATIVE = calls(call("save_word", word="Amber"))
JSON = '{"calls": [{"name": "save_word", "arguments": {"word": "amber"}}]}'
TAGS = '<tool name="save_word">{"word": "amber"}</tool>'
PROSE = "I saved the word amber for you."
THINKING = AIMessage("<think>The user wants", response_metadata={"finish_reason": "length"})


async def ask(model: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
    message = await model.ainvoke(list(messages))
    assert isinstance(message, AIMessage)
    return message


def refusal(message: str, status: int = 400) -> openai.APIStatusError:
    response = httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions"))
    kinds: dict[int, type[openai.APIStatusError]] = {400: openai.BadRequestError, 401: openai.AuthenticationError}
    return kinds.get(status, openai.InternalServerError)(message, response=response, body={"message": message})


NO_TOOLS = refusal("registry.local/library/tiny does not support tools")
NO_JINJA = refusal("tools param requires --jinja flag", 500)
NO_SCHEMA = refusal("'response_format.type' must be one of text, json_object")
NO_GRAMMAR = refusal("Failed to parse grammar", 500)
TOO_LONG = refusal("This model's maximum context length is 4096 tokens.")


@pytest.mark.fault(21)
@pytest.mark.parametrize(
    ("replies", "rung"),
    [
        ([NATIVE], "native"),
        ([calls(call("Save-Word", word="amber")), JSON], "schema"),
        ([calls(call("save_word", word="…")), JSON], "schema"),
        ([PROSE, JSON], "schema"),
        ([NO_TOOLS, f"<think>\nSo.\n</think>\n{JSON}"], "schema"),
        ([NO_JINJA, NO_GRAMMAR, f"Here:\n```json\n{JSON[:-1]}\n```"], "tags"),
        ([f"<tool_call>{JSON}</tool_call>", f"```json\n{JSON}\n```", TAGS], "tags"),
        (["", '{"word": "…"}', f"Of course!\n{TAGS}"], "tags"),
        ([PROSE, PROSE, PROSE], None),
    ],
)
async def test_the_first_rung_that_works_is_chosen(replies: list[Any], rung: str | None) -> None:
    model = ScriptedChatModel(replies=replies)
    found = await find_ability(model, ask)
    assert (found and found.rung) == rung
    assert len(replies) == len(model.calls)
    assert [entry.tools for entry in model.calls] == [("save_word",), (), ()][: len(replies)]
    assert all(entry.settings["max_tokens"] <= 200 for entry in model.calls)


@pytest.mark.parametrize("error", [refusal("no such key", 401), refusal("overloaded", 503), ValueError("a bug")])
async def test_errors_that_say_nothing_about_the_rung_are_raised(error: Exception) -> None:
    for earlier in ([], [PROSE], [PROSE, PROSE]):
        with pytest.raises(type(error)):
            await find_ability(ScriptedChatModel(replies=[*earlier, error]), ask)
    # Refusing plain words is no matter of rungs.
    with pytest.raises(openai.BadRequestError):
        await find_ability(ScriptedChatModel(replies=[NO_TOOLS, NO_SCHEMA, refusal("roles must alternate")]), ask)


async def test_a_class_that_cannot_bind_tools_is_asked_in_text() -> None:
    assert await find_ability(GenericFakeChatModel(messages=iter([AIMessage(JSON)])), ask) == Ability("schema")


@pytest.mark.fault(11)
async def test_a_model_that_thinks_at_length_is_given_a_second_try_with_more_tokens() -> None:
    model = ScriptedChatModel(replies=[THINKING, NATIVE])
    assert await find_ability(model, ask) == Ability("native")
    assert [entry.settings["max_tokens"] for entry in model.calls] == [200, 2000]


@pytest.mark.parametrize(
    ("answer", "begins_inside"),
    [(f"The user wants it.\n</think>\n\n{PROSE}", True), (f"<think>Hm.</think>{PROSE}", False)],
)
async def test_an_answer_that_begins_within_a_thought_is_noticed(answer: str, begins_inside: bool) -> None:
    found = await find_ability(ScriptedChatModel(replies=[answer, JSON]), ask)
    assert found and found.begins_inside is begins_inside


def reads(characters: int) -> Callable[[list[BaseMessage], dict[str, Any]], str]:
    """A server that silently drops all but the last characters of a prompt."""
    return lambda messages, _: "Marigold." if "marigold" in messages[-1].text[-characters:] else "The ferry."


async def checked(*replies: Any, window: int | None = 32_000) -> dict[str, Check]:
    model = ScriptedChatModel(replies=list(replies))
    checks = [check_rung(await find_ability(model, ask)), await check_window(model, window, ask)]
    assert model.unused() == []
    assert [check.name for check in checks] == ["tools", "window"]
    assert all(check.words.endswith((".", ")")) for check in checks)
    return {check.name: check for check in checks}


@pytest.mark.fault(21)
@pytest.mark.parametrize(
    ("replies", "has_tools", "tools", "reads_whole", "window"),
    [
        ([NATIVE, reads(100_000)], True, "Rung: native.", True, "16000 tokens was read from its beginning"),
        ([NO_TOOLS, NO_SCHEMA, TAGS, reads(100_000)], True, "Rung: tags.", True, "from its beginning"),
        ([PROSE, PROSE, PROSE, reads(100_000)], False, "choose another model (setting models).", True, "beginning"),
        ([NATIVE, reads(8_000)], True, "Rung: native.", False, "): raise the server's own limit (Ollama: OLLAMA_CONT"),
        ([NATIVE, TOO_LONG], True, "Rung: native.", False, "refused as too long; set window"),
    ],
)
async def test_a_check_says_what_was_found_and_what_to_do(
    replies: list[Any], has_tools: bool, tools: str, reads_whole: bool, window: str
) -> None:
    checks = await checked(*replies)
    assert checks["tools"].is_ok is has_tools and checks["tools"].words.endswith(tools)
    assert checks["window"].is_ok is reads_whole and window in checks["window"].words


async def test_a_server_error_says_nothing_about_the_window() -> None:
    with pytest.raises(openai.InternalServerError):
        await checked(NATIVE, refusal("overloaded", 503))


@pytest.mark.parametrize(("window", "characters"), [(None, 60_000), (8_000, 28_000)])
async def test_a_prompt_that_fills_the_window_is_read_whole(window: int | None, characters: int) -> None:
    lengths: list[int] = []

    def measure(messages: list[BaseMessage], settings: dict[str, Any]) -> str:
        lengths.append(len(messages[-1].text))
        return reads(characters + 1000)(messages, settings)

    assert (await checked(NATIVE, measure, window=window))["window"].is_ok
    assert 0.98 < lengths[0] / characters < 1.02


class StepClock(HandClock):
    """A clock that is a second later each time it is read."""

    def seconds(self) -> float:
        self.time += 1
        return self.time


@pytest.mark.parametrize("streams", [True, False])
async def test_speed_counts_from_the_first_word_less_cached_tokens(tmp_path: Path, wire: Wire, streams: bool) -> None:
    numbers = "one two three four five six seven eight nine ten"
    usage = {"prompt_tokens": 450, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 50}}
    model = wire([say(numbers, usage=usage, streams=streams)] * 2, data_dir=tmp_path, clock=StepClock())
    writer, caller = resolve_model("writer", model.context), caller_of("writer", model.context)
    found = [await measure_speed(writer, caller) for _ in range(2)]
    # Six pieces: 400 tokens until the first, 30 in the five seconds from there to the last.
    assert found == ([Speed(400.0, 6.0)] * 2 if streams else [None] * 2)
    assert len({request.prompt[:40] for request in model.requests}) == 2, "no cache has the beginning"
    assert {request.json["max_tokens"] for request in model.requests} == {200}


@pytest.mark.parametrize(
    ("window", "words"),
    [(None, "takes 320 s; set window to the limit of its server"), (8_000, "takes 160 s; the window is 8000 tokens")],
)
async def test_a_slow_model_is_sent_no_long_prompt(window: int | None, words: str) -> None:
    check = await check_window(ScriptedChatModel(replies=[]), window, ask, Speed(50, 13))
    assert check.is_ok
    assert words in check.words
    fast = ScriptedChatModel(replies=[reads(100_000)])
    assert "was read from its beginning" in (await check_window(fast, window, ask, Speed(2000, 90))).words
