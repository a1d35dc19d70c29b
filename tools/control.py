"""Tools that steer a run; calling one means a decision, not work."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel, Field

from deep_research.run import tool_names


class GeneratePlan(BaseModel):
    """The request is clear: nothing has to be asked, planning can start."""


class ResearchAgent(BaseModel):
    """Give one topic to a research agent, which sees nothing but the task. Returns its findings with source numbers."""

    task: str = Field(description="One or two descriptive sentences: what to find out and in which direction to look.")


class GenerateReport(BaseModel):
    """Everything has been researched, or no cycles are left: have the report written."""


class GenerateFinding(BaseModel):
    """The topic has been researched: go on to write down the findings."""


class ThinkTool(BaseModel):
    """Reason between two rounds and before the report: key results, gaps, next steps."""

    reasoning: str = Field(description="The thought, in one to three paragraphs.")


def tool_schema(name: str, arguments: type[BaseModel]) -> dict[str, Any]:
    """What a model is told of a tool, in the form of the OpenAI API."""
    schema = arguments.model_json_schema()
    # Pydantic titles every argument with its own name.
    properties = {
        name: {key: value for key, value in field.items() if key != "title"}
        for name, field in schema.get("properties", {}).items()
    }
    parameters = {"type": "object", "properties": properties, "required": schema.get("required", [])}
    description = inspect.cleandoc(arguments.__doc__ or "")
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


GENERATE_PLAN = tool_schema(tool_names.GENERATE_PLAN, GeneratePlan)
RESEARCH_AGENT = tool_schema(tool_names.RESEARCH_AGENT, ResearchAgent)
GENERATE_REPORT = tool_schema(tool_names.GENERATE_REPORT, GenerateReport)
GENERATE_FINDING = tool_schema(tool_names.GENERATE_REPORT, GenerateFinding)
THINK_TOOL = tool_schema(tool_names.THINK_TOOL, ThinkTool)
