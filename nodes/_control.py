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
        description="Where results contradict each other on the topic, or good sources advise or "
        "judge differently; empty if they do not.",
    )


class ThinkTool(BaseModel):
    """Reason, beside the call that follows from it: key results, gaps, next steps."""

    reasoning: str = Field(description="The thought, in one or two short paragraphs.")


GENERATE_FINDING_SCHEMA = tool_schema(tool_names.GENERATE_REPORT, GenerateFinding)
THINK_TOOL_SCHEMA = tool_schema(tool_names.THINK_TOOL, ThinkTool)
