"""A chat model of an app's own, whose class calls no tools, works from the first run on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.runs import write_documents
from langchain_core.callbacks import CallbackManagerForLLMRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from typing_extensions import override

from deep_research import research
from deep_research.core.errors import ToolsMissing

QUESTION = "When was the Skerry Light lit?"
ANSWER = "The Skerry Light was lit for the first time in 1844. [1]"
SMALL = "was given small tasks"


class Own(BaseChatModel):
    """Writes one sentence, whatever it is asked for."""

    asked: int = 0
    model: str = "own-1"

    @property
    def _llm_type(self) -> str:
        return "own"

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked += 1
        return ChatResult(generations=[ChatGeneration(message=AIMessage(ANSWER))])


class Unbound(Own):
    """Says only when it is called that it cannot bind tools."""

    model: str = "own-2"

    @override
    def bind_tools(self, tools: Sequence[Any], **settings: Any) -> Any:
        raise NotImplementedError


class Archive(BaseRetriever):
    """Finds one page for each query."""

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        text = "The Skerry Light was lit for the first time in 1844."
        return [Document(text, metadata={"title": "Archive", "source": "archive-1"})]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    write_documents(tmp_path / "documents")
    return tmp_path / "documents"


@pytest.mark.sweep
@pytest.mark.parametrize("tool_calls", ["auto", "native", "tags"])
def test_a_class_without_tool_calls_gets_small_tasks_in_its_first_run(
    tmp_path: Path, docs: Path, tool_calls: Any
) -> None:
    model = Own()
    answer = research(
        QUESTION,
        models=model,
        docs=[docs],
        engines=[],
        data_dir=tmp_path,
        tool_calls=tool_calls,
    )
    assert ANSWER in answer.markdown and SMALL in answer.markdown
    assert model.asked


def test_a_class_that_refuses_tools_when_it_is_called_works_in_its_first_run_too(
    tmp_path: Path, docs: Path
) -> None:
    answer = research(QUESTION, models=Unbound(), docs=[docs], engines=[], data_dir=tmp_path)
    assert ANSWER in answer.markdown and SMALL in answer.markdown


def test_where_such_a_model_would_have_to_search_the_program_searches(tmp_path: Path) -> None:
    given: Any = {"retrievers": [Archive()], "engines": []}
    answer = research(QUESTION, models=Own(), data_dir=tmp_path, **given)
    assert ANSWER in answer.markdown
    assert [source.title for source in answer.sources] == ["Archive"]


def test_without_small_tasks_the_error_names_the_setting_that_helps(
    tmp_path: Path, docs: Path
) -> None:
    with pytest.raises(ToolsMissing, match="set small to auto"):
        research(QUESTION, models=Own(), docs=[docs], engines=[], data_dir=tmp_path, small="off")
