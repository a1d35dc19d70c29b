"""Tools that steer a run; calling one means a decision, not work."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel, Field


class GeneratePlan(BaseModel):
    """The request is clear: nothing has to be asked, planning can start."""


class ResearchAgent(BaseModel):
    """Give one topic to a research agent, which sees nothing but the task."""

    task: str = Field(description="One or two descriptive sentences: what to find out and in which direction to look.")


class GenerateReport(BaseModel):
    """Everything has been researched, or no cycles are left: write the report."""


class GenerateFinding(BaseModel):
    """The topic has been researched: write down the findings."""


class ThinkTool(BaseModel):
    """Reason between two rounds and before the report: key results, gaps, next steps."""

    reasoning: str = Field(description="The thought, in paragraphs.")


def tool_schema(name: str, arguments: type[BaseModel]) -> dict[str, Any]:
    """What a model is told of a tool, in the form of the OpenAI API."""
    schema = arguments.model_json_schema()
    parameters = {"type": "object", "properties": schema.get("properties", {}), "required": schema.get("required", [])}
    description = inspect.cleandoc(arguments.__doc__ or "")
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


GENERATE_PLAN = tool_schema("generate_plan", GeneratePlan)
RESEARCH_AGENT = tool_schema("research_agent", ResearchAgent)
GENERATE_REPORT = tool_schema("generate_report", GenerateReport)
GENERATE_FINDING = tool_schema("generate_report", GenerateFinding)
THINK_TOOL = tool_schema("think_tool", ThinkTool)
