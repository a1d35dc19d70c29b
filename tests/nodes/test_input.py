"""What a user sends beside words: files that no model is sent, system messages that become house rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab import QUESTION, Lab, lab
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from planned_lab import planned_lab
from scripted import Call

from deep_research.core.run.errors import QuestionRefused

DATA = "iVBORw0KGgoAAAANSUhEUg"
BLOCKS: dict[str, dict[str, Any]] = {
    "dot.png": {"type": "image", "mimeType": "image/png", "data": DATA, "metadata": {"name": "dot.png"}},
    "plan.pdf": {
        "type": "file",
        "mimeType": "application/pdf",
        "data": DATA,
        "metadata": {"filename": "plan.pdf"},
    },
    "minutes.pdf": {"type": "file", "file": {"filename": "minutes.pdf", "file_data": DATA}},
    "picture.png": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    "recording.wav": {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
    "file.png": {"type": "file", "base64": DATA, "mime_type": "image/png"},
}


def sent(words: str, *names: str) -> HumanMessage:
    text = [{"type": "text", "text": words}] if words else []
    return HumanMessage([*text, *(BLOCKS[name] for name in names)])


def prompts(run: Lab) -> list[Call]:
    """All calls, each checked: one system message, the first, and nothing but text."""
    made = [call for model in {id(one): one for one in run.models.values()}.values() for call in model.calls]
    for call in made:
        assert [isinstance(message, SystemMessage) for message in call.messages].count(True) == 1
        assert isinstance(call.messages[0], SystemMessage)
        assert all(isinstance(message.content, str) and DATA not in message.content for message in call.messages)
    return made


@pytest.mark.parametrize("make", [lab, planned_lab])
async def test_what_is_attached_reaches_no_model_and_is_named_in_prompt_and_report(tmp_path: Path, make: Any) -> None:
    run = make(tmp_path, data_dir=tmp_path / "data")
    state = await run.ask({"messages": [sent(QUESTION, *BLOCKS)]})
    named = ", ".join(f"{name} (not read)" for name in BLOCKS)
    assert any(f"(Attached: {named}.)" in call.text for call in prompts(run))
    for name in BLOCKS:
        assert f"- Not read: {name} (" in state.messages[-1].text.replace("\\", "")
    # Each checkpoint would hold it once more.
    assert DATA not in str(state.messages) and state.messages[0].text == QUESTION
    assert state.run.question == QUESTION


async def test_a_file_without_words_is_refused_by_name_and_the_thread_goes_on(tmp_path: Path) -> None:
    run = lab(tmp_path)
    with pytest.raises(QuestionRefused, match=r"has no words beside dot\.png, plan\.pdf: say in words"):
        await run.ask({"messages": [sent("", "dot.png", "plan.pdf")]})
    assert prompts(run) == []
    state = await run.ask()
    assert state.report and "dot.png" not in state.messages[-1].text
    assert [type(message) for message in state.messages] == [HumanMessage, AIMessage]
    assert prompts(run)


@pytest.mark.parametrize("make", [lab, planned_lab])
async def test_a_system_message_becomes_house_rules_behind_those_of_the_settings(tmp_path: Path, make: Any) -> None:
    run = make(tmp_path, instructions="Be brief.")
    state = await run.ask({"messages": [SystemMessage("Write for sailors."), HumanMessage(QUESTION)]})
    instructed = [call for call in prompts(run) if "Be brief.\nWrite for sailors." in call.messages[0].text]
    assert len(instructed) >= 2, "the planner and the writer"
    assert state.run.question == QUESTION


async def test_of_a_system_message_without_end_the_beginning_is_read(tmp_path: Path) -> None:
    run = lab(tmp_path, limits={"question_characters": 200})
    state = await run.ask({"messages": [HumanMessage(QUESTION), SystemMessage("Be kind. " * 100)]})
    assert "Only the beginning of the system message was read (question" in state.messages[-1].text
    assert max(call.text.count("Be kind.") for call in prompts(run)) == 22


async def test_of_the_conversation_of_another_graph_only_what_was_said_is_shown(tmp_path: Path) -> None:
    run = lab(tmp_path)
    calls = [tool_call(name="weather", args={}, id="c")]
    said = [HumanMessage("Hello"), AIMessage("I look it up.", tool_calls=calls), ToolMessage("Rain.", tool_call_id="c")]
    assert (await run.ask({"messages": [*said, HumanMessage(QUESTION)]})).report
    shown = [message for call in [*run.calls("clarifier"), *run.calls("planner")] for message in call.messages]
    assert not any(isinstance(message, ToolMessage) or getattr(message, "tool_calls", ()) for message in shown)
    assert [message.text for message in run.calls("clarifier")[0].messages[1:]] == ["Hello", "I look it up.", QUESTION]
