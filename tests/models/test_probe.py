"""Trial calls find out what a model can do, and cost little."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest
from kit.models import ScriptedChatModel, call, calls
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from deep_research.core.models._known_abilities import Ability
from deep_research.core.models._trial import find_ability

NATIVE = calls(call("save_word", word="Amber"))
JSON = '{"calls": [{"name": "save_word", "arguments": {"word": "amber"}}]}'
TAGS = '<tool name="save_word">{"word": "amber"}</tool>'
PROSE = "I saved the word amber for you."
THINKING = AIMessage("<think>The user wants", response_metadata={"finish_reason": "length"})


def refusal(message: str, status: int = 400) -> openai.APIStatusError:
    response = httpx2.Response(
        status, request=httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")
    )
    kinds: dict[int, type[openai.APIStatusError]] = {
        400: openai.BadRequestError,
        401: openai.AuthenticationError,
    }
    return kinds.get(status, openai.InternalServerError)(
        message, response=response, body={"message": message}
    )


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
    found = await find_ability(model)
    assert (found and found.rung) == rung
    assert len(replies) == len(model.calls)
    assert [entry.tools for entry in model.calls] == [("save_word",), (), ()][: len(replies)]
    assert all(entry.settings["max_tokens"] <= 200 for entry in model.calls)


@pytest.mark.parametrize(
    "error", [refusal("no such key", 401), refusal("overloaded", 503), ValueError("a bug")]
)
async def test_errors_that_say_nothing_about_the_rung_are_raised(error: Exception) -> None:
    for earlier in ([], [PROSE], [PROSE, PROSE]):
        with pytest.raises(type(error)):
            await find_ability(ScriptedChatModel(replies=[*earlier, error]))
    # Refusing plain words is no matter of rungs.
    with pytest.raises(openai.BadRequestError):
        await find_ability(
            ScriptedChatModel(replies=[NO_TOOLS, NO_SCHEMA, refusal("roles must alternate")])
        )


async def test_a_class_that_cannot_bind_tools_is_asked_in_text() -> None:
    assert await find_ability(GenericFakeChatModel(messages=iter([AIMessage(JSON)]))) == Ability(
        "schema"
    )


@pytest.mark.fault(11)
async def test_a_model_that_thinks_at_length_is_given_a_second_try_with_more_tokens() -> None:
    model = ScriptedChatModel(replies=[THINKING, NATIVE])
    assert await find_ability(model) == Ability("native")
    assert [entry.settings["max_tokens"] for entry in model.calls] == [200, 2000]


@pytest.mark.parametrize(
    ("answer", "begins_inside"),
    [(f"The user wants it.\n</think>\n\n{PROSE}", True), (f"<think>Hm.</think>{PROSE}", False)],
)
async def test_an_answer_that_begins_within_a_thought_is_noticed(
    answer: str, begins_inside: bool
) -> None:
    found = await find_ability(ScriptedChatModel(replies=[answer, JSON]))
    assert found and found.begins_inside is begins_inside
