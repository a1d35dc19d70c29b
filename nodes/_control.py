"""Forms of the tools of researchers that need no context: thoughts, the end of research."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ..core.records import tool_names
from ..tools.tool import tool_schema
from ._disputes import StatedDisputes


class GenerateFinding(BaseModel):
    """The topic has been researched: go on to write down the findings."""

    missing: list[str] = Field(
        default_factory=list,
        description="What the topic asks for and your results do not give, the most important "
        "first, each in a phrase that is understood alone; empty if nothing is missing.",
    )
    contradictions: StatedDisputes = Field(
        default_factory=list,
        description="Where results contradict each other on something that the topic asks for, or "
        "good sources advise or judge differently on it; empty if they do not.",
    )


class GenerateCalculatedFinding(GenerateFinding):
    """The topic has been researched: go on to write down the findings."""

    calculations: list[str] = Field(
        default_factory=list,
        description="How figures of your text that no result states follow from others, one line "
        "each: Growth of staff: (48 [2] - 40 [3]) / 40 [3] = %. They are calculated again.",
    )


class ThinkTool(BaseModel):
    """Reason, beside the call that follows from it: key results, gaps, next steps."""

    reasoning: str = Field(description="The thought, in one or two short paragraphs.")


GENERATE_FINDING_SCHEMA = tool_schema(tool_names.GENERATE_REPORT, GenerateFinding)
CALCULATED_FINDING_SCHEMA = tool_schema(tool_names.GENERATE_REPORT, GenerateCalculatedFinding)
"""The same for a researcher that has read all documents, and so can call no tool before."""
THINK_TOOL_SCHEMA = tool_schema(tool_names.THINK_TOOL, ThinkTool)
