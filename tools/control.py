"""Tools that need no context: those with which models steer a run, and exact arithmetic."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ..core.evidence.checking.quantities import calculate
from ..core.records import tool_names
from .disputes import StatedDisputes
from .tool import Lines, as_lines, tool_schema

_MOST_CALCULATIONS = 20


class GeneratePlan(BaseModel):
    """The request is clear: nothing has to be asked, planning can start."""


class LookUp(BaseModel):
    """Have the request answered from one search."""

    queries: Lines = Field(description="What to search for: short queries, each about one thing.")


class AnswerFromRead(BaseModel):
    """Have the request answered from the passages that are shown: they hold all that it asks for."""


class ResearchAgent(BaseModel):
    """Give one topic to a research agent, which sees nothing but the task. Returns its findings with source numbers."""

    task: str = Field(
        description=(
            "One or two descriptive sentences: what to find out and in which direction to look."
        )
    )
    title: str = Field(
        default="", description="The topic in at most six words, for the user who watches."
    )


class AnalyzeFindings(BaseModel):
    """Have the findings so far thought over, without a search: returns conclusions with the numbers of the sources."""

    task: str = Field(
        description="What to compare, and by which criteria, or which answer to challenge."
    )


class GenerateReport(BaseModel):
    """Everything has been researched, or no cycles are left: have the report written."""

    missing: list[str] = Field(
        default_factory=list,
        description="What the request asks for and no result answers, each in a phrase that is "
        "understood alone; empty if everything is answered.",
    )


class GenerateFinding(BaseModel):
    """The topic has been researched: go on to write down the findings."""

    missing: list[str] = Field(
        default_factory=list,
        description="What the topic asks for and your results do not give, each in a phrase that "
        "is understood alone; empty if nothing is missing.",
    )
    contradictions: StatedDisputes = Field(
        default_factory=list,
        description="Where results contradict each other on the topic; empty if they do not.",
    )


class ThinkTool(BaseModel):
    """Reason between two rounds and before the report: key results, gaps, next steps."""

    reasoning: str = Field(description="The thought, in one to three paragraphs.")


class Calculate(BaseModel):
    """Calculate exactly with numbers that results state: sums, differences, shares, growth. Takes no round."""

    calculations: Lines = Field(
        description=(
            "One expression each, of numbers and + - * / ( ), such as (48 - 40) / 40. Convert all "
            "to one unit."
        )
    )


GENERATE_PLAN_SCHEMA = tool_schema(tool_names.GENERATE_PLAN, GeneratePlan)
LOOK_UP_SCHEMA = tool_schema(tool_names.LOOK_UP, LookUp)
ANSWER_FROM_READ_SCHEMA = tool_schema(tool_names.ANSWER_FROM_READ, AnswerFromRead)
RESEARCH_AGENT_SCHEMA = tool_schema(tool_names.RESEARCH_AGENT, ResearchAgent)
ANALYZE_FINDINGS_SCHEMA = tool_schema(tool_names.ANALYZE_FINDINGS, AnalyzeFindings)
GENERATE_REPORT_SCHEMA = tool_schema(tool_names.GENERATE_REPORT, GenerateReport)
GENERATE_FINDING_SCHEMA = tool_schema(tool_names.GENERATE_REPORT, GenerateFinding)
THINK_TOOL_SCHEMA = tool_schema(tool_names.THINK_TOOL, ThinkTool)
CALCULATE_SCHEMA = tool_schema(tool_names.CALCULATE, Calculate)


def calculated(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return each calculation with its result, or the reason why there is none."""
    given = as_lines(arguments.get("calculations"))
    lines: list[str] = []
    if isinstance(given, list):
        lines = [line for line in given if isinstance(line, str)]
    results: list[str] = []
    for line in lines[:_MOST_CALCULATIONS]:
        expression = " ".join(line.partition("=")[0].split())
        result = calculate(expression)
        if result is None:
            results.append(f"{expression}: cannot be calculated; use only numbers and + - * / ( )")
            continue
        share = ""
        if "/" in expression and abs(result) < 10:
            # Quotients are usually stated in percent.
            share = f" = {100 * result:.6g} %"
        results.append(f"{expression} = {result:.10g}{share}")
    return tuple(results) or ("Nothing to calculate: `calculations` must be a list of texts.",)
