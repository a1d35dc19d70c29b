"""What the graphs take and give."""

from __future__ import annotations

from typing import Annotated

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import BaseModel, Field

from ..core.records.report import Report


class ResearchInput(BaseModel, title="Question", use_attribute_docstrings=True):
    """The input of a run."""

    messages: Annotated[list[AnyMessage], add_messages] = Field(title="Messages", min_length=1)
    """The conversation; its last message is the question, or the answer to what was asked back."""


class ResearchOutput(BaseModel, title="Report", use_attribute_docstrings=True):
    """The output of a run."""

    messages: Annotated[list[AnyMessage], add_messages] = Field(title="Messages")
    """The conversation; its last message is the report, or a question to the user."""
    report: Report | None = Field(default=None, title="Report")
    """The report as data: text with markers, and the sources that they name."""
