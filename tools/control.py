"""Tools that steer a run; calling one means a decision, not work."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from pydantic import BaseModel, Field

from ..run import tool_names


class GeneratePlan(BaseModel):
    """The request is clear: nothing has to be asked, planning can start."""


class ResearchAgent(BaseModel):
    """Give one topic to a research agent, which sees nothing but the task. Returns its findings with source numbers."""

    task: str = Field(description="One or two descriptive sentences: what to find out and in which direction to look.")


class GenerateReport(BaseModel):
    """Everything has been researched, or no cycles are left: have the report written."""

    missing: list[str] = Field(
        default_factory=list,
        description="What the request asks for and no result answers, each in a phrase that is understood alone; "
        "empty if everything is answered.",
    )


class GenerateFinding(BaseModel):
    """The topic has been researched: go on to write down the findings."""

    missing: list[str] = Field(
        default_factory=list,
        description="What the topic asks for and your results do not give, each in a phrase that is understood alone; "
        "empty if nothing is missing.",
    )


class ThinkTool(BaseModel):
    """Reason between two rounds and before the report: key results, gaps, next steps."""

    reasoning: str = Field(description="The thought, in one to three paragraphs.")


_NEEDLESS = ("title", "default", "$ref")


@cache
def tool_schema(name: str, arguments: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool as the OpenAI API takes it."""
    schema = arguments.model_json_schema()
    properties = _plain(schema.get("properties", {}), schema.get("$defs", {}))
    parameters = {"type": "object", "properties": properties, "required": schema.get("required", [])}
    description = inspect.cleandoc(arguments.__doc__ or "")
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _plain(properties: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of fields without what small servers cannot read: references, titles that repeat names."""
    return {name: _field(schema, definitions) for name, schema in properties.items()}


def _field(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    field = {key: value for key, value in {**definitions.get(reference, {}), **schema}.items() if key not in _NEEDLESS}
    if "properties" in field:
        field["properties"] = _plain(field["properties"], definitions)
    if "items" in field:
        field["items"] = _field(field["items"], definitions)
    return field


GENERATE_PLAN = tool_schema(tool_names.GENERATE_PLAN, GeneratePlan)
RESEARCH_AGENT = tool_schema(tool_names.RESEARCH_AGENT, ResearchAgent)
GENERATE_REPORT = tool_schema(tool_names.GENERATE_REPORT, GenerateReport)
GENERATE_FINDING = tool_schema(tool_names.GENERATE_REPORT, GenerateFinding)
THINK_TOOL = tool_schema(tool_names.THINK_TOOL, ThinkTool)
