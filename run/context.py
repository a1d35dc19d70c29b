"""What a run is given: models, documents, language, limits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime
from pydantic import Field, InstanceOf, WithJsonSchema, field_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from deep_research.run.clock import Clock, SystemClock
from deep_research.run.limits import ENVIRONMENT_PREFIX, Limits

Role = Literal["clarifier", "planner", "orchestrator", "researcher", "writer"]
Model = Annotated[str | InstanceOf[BaseChatModel], WithJsonSchema({"type": "string"})]


class Context(BaseSettings):
    """Settings of a run; each can be set by `DEEP_RESEARCH_<NAME>`, and what the call gives wins."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        title="Settings",
    )

    models: Model | dict[Role, Model] | None = Field(default=None, title="Models")
    """One model for all roles, or a model by role: a name such as `extractive` or a chat model instance."""
    window: int | None = Field(default=None, gt=0, title="Window")
    """Input tokens that the models can read, where their own profile is wrong or missing."""
    reasoning: bool | None = Field(default=None, title="Reasoning")
    """Whether the models reason by themselves, where their own profile is wrong or missing."""
    effort: Literal["auto", "low", "medium", "high"] = Field(default="auto", title="Effort")
    """How hard reasoning models think; `auto` leaves it to the model, and means `low` for researchers."""
    docs: Annotated[tuple[Path, ...], NoDecode] = Field(default=(), title="Documents")
    """Folders and files to search; in the environment separated as in PATH."""
    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("deep-research", appauthor=False)), title="Data folder"
    )
    """Folder for runs and document indexes."""
    instructions: str = Field(default="", title="House rules")
    """Tone, length and audience of plan and report."""
    language: str = Field(default="", title="Language")
    """Language of the report; empty: the language of the question."""
    clarify: Literal["ask", "assume", "off"] = Field(default="ask", title="Clarify")
    """Ask back when a question is unclear, state assumptions instead, or do neither."""
    review_plan: bool = Field(default=False, title="Review the plan")
    """Show the plan for approval before research starts."""
    user: str = Field(default="", title="User")
    """Id of the user, for tracing only."""
    session: str = Field(default="", title="Session")
    """Id of the session, for tracing only."""
    limits: Limits = Field(default_factory=Limits, title="Limits")
    """How much time, how many calls, how long a text."""
    clock: SkipJsonSchema[InstanceOf[Clock]] = Field(default_factory=SystemClock, exclude=True, repr=False)
    """The clock that the run goes by."""

    @field_validator("docs", mode="before")
    @classmethod
    def _split_paths(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part for part in value.split(os.pathsep) if part]
        return [value] if isinstance(value, Path) else value


def context_of(runtime: Runtime[Context]) -> Context:
    """The settings of this run; the defaults where the caller gave none."""
    return runtime.context or Context()
