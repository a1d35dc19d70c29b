"""The numbers of a run: how much time, how many calls, how long a text."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

ENVIRONMENT_PREFIX = "DEEP_RESEARCH_"


class Limits(BaseSettings):
    """Limits of a run; each can be set by `DEEP_RESEARCH_<NAME>` and by `--limit NAME=VALUE`."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        title="Limits",
    )

    max_cycles: int = Field(default=8, ge=2)
    """Orchestrator cycles of a model that does not reason; the last one writes the report."""
    max_cycles_reasoning: int = Field(default=4, ge=2)
    """Orchestrator cycles of a reasoning model; the last one writes the report."""
    max_parallel_researchers: int = Field(default=3, ge=1, le=20)
    """Researchers that work at the same time."""
    max_iterations: int = Field(default=8, ge=1)
    """Rounds of tool use of one researcher."""
    max_thinks: int = Field(default=2, ge=1)
    """Thoughts in a row before a model is told to act."""
    max_mistakes: int = Field(default=2, ge=1)
    """Calls in a row that cannot be run before a cycle or iteration is counted for them."""
    max_plan_steps: int = Field(default=6, ge=1)
    """Steps of a plan."""
    max_seconds: float = Field(default=1800, gt=0)
    """Active seconds until no more research is dispatched and the report is written."""
    researcher_seconds: float = Field(default=720, gt=0)
    """Active seconds after which a researcher starts to write."""
    researcher_seconds_hard: float = Field(default=1800, gt=0)
    """Active seconds after which a researcher is cut, its writing included."""
    tool_seconds: float = Field(default=600, gt=0)
    """Seconds that one batch of tool calls may take."""
    idle_seconds: float = Field(default=60, gt=0)
    """Seconds of silence in the stream of any other answer before the call counts as broken off."""
    report_idle_seconds: float = Field(default=300, gt=0)
    """Seconds of silence in the stream of a finding or a report before the call counts as broken off."""
    writing_share: float = Field(default=0.2, ge=0, lt=1)
    """Share that is kept for writing: of `max_tokens` for the report, of `researcher_seconds_hard` for a finding."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Tokens of a run, input and output; unlimited if not set."""
    max_searches: int | None = Field(default=None, gt=0)
    """Search queries of a run; unlimited if not set."""
    max_fetches: int | None = Field(default=None, gt=0)
    """Pages and documents opened in a run; unlimited if not set."""
    decision_tokens: int = Field(default=1024, ge=16)
    """Output tokens of one decision of the orchestrator or a researcher."""
    finding_tokens: int = Field(default=10_000, ge=16)
    """Output tokens of one finding."""
    report_tokens: int = Field(default=20_000, ge=16)
    """Output tokens of the report."""
    max_continuations: int = Field(default=4, ge=0)
    """Times that a report which was cut off at the output limit is continued."""
    min_window: int = Field(default=50_000, ge=1)
    """Input tokens that a model must be able to read."""
    context_messages: int = Field(default=5, ge=1)
    """The user's latest messages that clarifier, planner and orchestrator see."""
    question_characters: int = Field(default=32_000, ge=1)
    """Characters of a question."""
    max_queries: int = Field(default=3, ge=1)
    """Queries of one search call."""
    max_results: int = Field(default=25, ge=1)
    """Passages that one search call returns."""
    max_open: int = Field(default=10, ge=1)
    """Addresses of one `open_url` call."""
    page_characters: int = Field(default=15_000, ge=200)
    """Characters shown of one opened page."""
    pages_characters: int = Field(default=150_000, ge=200)
    """Characters shown of all pages of one `open_url` call."""
    max_document_bytes: int = Field(default=50_000_000, ge=1)
    """Size of a file above which it is left out."""
    max_documents: int = Field(default=200_000, ge=1)
    """Files of one folder."""
    parse_seconds: float = Field(default=15, gt=0)
    """Seconds that reading one file may take."""
