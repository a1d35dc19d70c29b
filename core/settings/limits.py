"""`Limits`: all numeric limits of a run (time, calls, text lengths), and how depth and small models
change them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_settings import SettingsConfigDict

from ._environment import EnvironmentSettings

ENVIRONMENT_PREFIX = "DEEP_RESEARCH_"
DATABASE = f"{ENVIRONMENT_PREFIX}DATABASE"
"""Environment variable with the path of the SQLite file for runs, or the address of a PostgreSQL
database."""
_SMALL = {
    "max_cycles": 3,
    "max_iterations": 3,
    "max_plan_steps": 3,
    "max_step_iterations": 2,
    "max_follow_ups": 0,
}
"""Upper bounds of limits for models that work in small steps (setting `small`)."""
DEEP = {
    "max_cycles": 14,
    "max_cycles_reasoning": 8,
    "max_iterations": 14,
    "max_plan_steps": 10,
    "max_step_iterations": 8,
    "max_follow_ups": 2,
    "max_seconds": 5400,
    "max_seconds_planned": 1200,
    "researcher_seconds": 1440,
    "researcher_seconds_hard": 3600,
    "max_pages": 200,
    "max_host_pages": 25,
    "memory_tokens": 20_000,
    "report_tokens": 30_000,
    "max_opinions": 48,
}
"""The limits of depth `deep` that differ from `standard`."""


_OF_PAGES = ("max_pages", "max_host_pages")
_PAGES_OF_ROW = 3
"""Pages that a row of a table may need."""
_MOST_WEB_RESULTS = 20
_MOST_ELEMENTS = 20
"""Most elements in a prompt."""
_TOKENS_PER_ELEMENT = 600
"""Tokens of `memory_tokens` that each element requires."""


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return ` (did you mean PREFIX+NAME?)` with the most similar of the known names; empty if none
    is similar."""
    similar = get_close_matches(name, list(known), n=1)
    if not similar:
        return ""
    return f" (did you mean {prefix}{similar[0]}?)"


class KnownNames(BaseModel):
    """Base of settings and limits: rejects an unknown name, and suggests the most similar known
    one."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    noun: ClassVar[str] = "setting"
    """What an entry is called in error messages."""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        faults = list[InitErrorDetails]()
        for name in given:
            if name not in cls.model_fields:
                values = {"noun": cls.noun, "hint": nearest(name, cls.model_fields)}
                fault = PydanticCustomError(
                    "extra_forbidden", "there is no such {noun}{hint}", values
                )
                faults.append(InitErrorDetails(type=fault, loc=(name,), input=given[name]))
        if faults:
            raise ValidationError.from_exception_data(cls.__name__, faults)
        return given


class Limits(KnownNames, EnvironmentSettings):
    """Limits of a run; each can be set with `DEEP_RESEARCH_<NAME>` or `--limit NAME=VALUE`."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_ignore_empty=True, title="Limits"
    )
    noun = "limit"

    max_cycles: int = Field(default=8, ge=2)
    """Orchestrator cycles if its model is not a reasoning model; the last one writes the report."""
    max_cycles_reasoning: int = Field(default=4, ge=2)
    """Orchestrator cycles if its model is a reasoning model; the last one writes the report."""
    max_parallel_researchers: int = Field(default=3, ge=1, le=20)
    """Researchers, or steps of a plan, that run in parallel; others wait."""
    max_iterations: int = Field(default=8, ge=1)
    """Rounds of tool use per researcher."""
    max_plan_steps: int = Field(default=6, ge=1)
    """Steps of a plan."""
    max_rows: int = Field(default=40, ge=1)
    """Rows of a table; further ones that were found are named."""
    max_cells: int = Field(default=2000, ge=1)
    """Cells of a table, in all its rows and columns."""
    checklist_rounds: int = Field(default=1, ge=0)
    """Extra research rounds on checklist items that the draft leaves open; 0: the draft is not
    graded."""
    max_seconds: float = Field(default=1800, gt=0)
    """Active seconds after which no more research is dispatched and the report is written."""
    max_seconds_planned: float = Field(default=300, gt=0)
    """Planned strategy: active seconds since the plan after which no more steps start and the
    report is written."""
    max_step_iterations: int = Field(default=5, ge=1)
    """Rounds of searching and reading per step of a typed plan."""
    max_follow_ups: int = Field(default=1, ge=0)
    """Depth of follow-up steps below a step that searches; 0: no step, not even an analysis, gets
    one."""
    memory_tokens: int = Field(default=12_000, ge=1)
    """Tokens of the learnings shown to a step, to the revision of the plan, or to the final check;
    a search that builds on no other step gets a quarter; below the default, fewer insights,
    contradictions and gaps are shown as well."""
    researcher_seconds: float = Field(default=720, gt=0)
    """Active seconds after which a researcher starts to write."""
    researcher_seconds_hard: float = Field(default=1800, gt=0)
    """Active seconds, including writing, after which a researcher is stopped."""
    tool_seconds: float = Field(default=600, gt=0)
    """Seconds for one batch of tool calls."""
    first_token_seconds: float | None = Field(default=None, gt=0)
    """Seconds to wait for the first token of an answer; not set: 60, or 600 for a server on this
    machine."""
    idle_seconds: float = Field(default=60, gt=0)
    """Seconds without output after which the stream of a decision or a plan counts as broken
    off."""
    report_idle_seconds: float = Field(default=300, gt=0)
    """Same as `idle_seconds`, for findings, reports, and answers that are not streamed."""
    heartbeat_seconds: float = Field(default=15, gt=0)
    """Seconds without packets after which a heartbeat is sent."""
    writing_share: float = Field(default=0.2, ge=0, lt=1)
    """Share reserved for writing, 0 to 1: of `max_tokens` and `max_usd` for the report, and of
    `researcher_seconds_hard` for a finding."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Input and output tokens of a run; not set: unlimited."""
    max_tool_calls: int | None = Field(default=None, gt=0)
    """Calls of research tools in a run: searches, and batches of opened pages; not set:
    unlimited."""
    max_searches: int | None = Field(default=None, gt=0)
    """Search queries of a run, counted once per engine; not set: unlimited."""
    max_fetches: int | None = Field(default=None, gt=0)
    """Web pages fetched, copies looked up and documents opened in a run, not counting pages that
    the thread already has; not set: unlimited."""
    max_usd: float | None = Field(default=None, gt=0)
    """Cost of a run in US dollars; needs `prices` or costs reported by the provider; not set:
    unlimited."""
    form_tokens: int = Field(default=8192, ge=16)
    """Output tokens of a plan, a list of learnings or a judgement; a call that checks a report
    returns one verdict per 100 tokens."""
    finding_tokens: int = Field(default=10_000, ge=16)
    """Output tokens of one finding."""
    report_tokens: int = Field(default=20_000, ge=16)
    """Output tokens of the report."""
    max_opinions: int = Field(default=24, ge=0)
    """Calls to the verifier's model per report; each checks as many clauses and table cells as fit
    into `form_tokens`, 80 by default."""
    max_rewrites: int = Field(default=2, ge=0)
    """Calls to the writer's model to correct a checked report, each for up to 40 sentences. In
    addition, as many sections may be rewritten because of a wrong language."""
    min_window: int = Field(default=50_000, ge=1)
    """Minimum context window of a model, in input tokens."""
    question_characters: int = Field(default=32_000, ge=1)
    """Characters of a question."""
    max_queries: int = Field(default=3, ge=1)
    """Queries of one search call."""
    max_results: int = Field(default=25, ge=1)
    """Passages returned by one search of the user's documents; a web search returns at most 20
    results."""
    max_open: int = Field(default=10, ge=1)
    """Addresses of one `open_url` call."""
    pages_characters: int = Field(default=30_000, ge=200)
    """Characters shown of all pages of one `open_url` call."""
    results_tokens: int = Field(default=20_000, ge=1)
    """Tokens of tool results in a researcher's prompt above which older results are shortened, at
    most twice."""
    whole_characters: int = Field(default=30_000, ge=0)
    """If all documents together have at most this many characters, researchers read them instead of
    searching."""
    max_document_bytes: int = Field(default=50_000_000, ge=1)
    """Size in bytes above which a document file, on disk or attached to a message, is not read."""
    parse_seconds: float = Field(default=15, gt=0)
    """Seconds to parse 1 MB of a file; a scanned page may take eight times as long."""
    call_seconds: float = Field(default=900, gt=0)
    """Seconds for a whole model call."""
    retry_seconds: float = Field(default=120, ge=0)
    """Total seconds that the model calls of a run may wait for retries, such as while a model
    server restarts; 0: no failed call is retried."""
    search_seconds: float = Field(default=20, gt=0)
    """Seconds for one query to a search engine, and for an MCP server to list its tools."""
    max_unseen_characters: int = Field(default=240, ge=0)
    """What web queries may reveal once a model has seen documents: total letters, over all web
    queries of a question, of words that neither the user nor a public page has used, such as names
    that a model knows or, with `mix_private`, words of the documents. Each word counts once; a pair
    of characters of a script without spaces counts as three letters."""
    earlier_days: float = Field(default=30, ge=0, le=36_500)
    """Age in days after which a page from earlier research is fetched again, if the web is
    searched."""
    max_pages: int = Field(default=60, ge=1)
    """Web pages fetched in a run."""
    max_host_pages: int = Field(default=10, ge=1)
    """Web pages fetched from one host in a run."""
    page_seconds: float = Field(default=20, gt=0)
    """Seconds to fetch one page, including redirects."""
    max_page_bytes: int = Field(default=2_000_000, ge=1000)
    """Decompressed size in bytes of a web page above which only its beginning is read."""
    max_pdf_bytes: int = Field(default=20_000_000, ge=1000)
    """Size in bytes above which a PDF or an office document from the web is refused."""
    render_seconds: float = Field(default=30, gt=0)
    """Seconds to render one page in a browser, including the browser's start."""

    @property
    def max_web_results(self) -> int:
        """Results of one web search, for all its queries together: at most 20."""
        return min(_MOST_WEB_RESULTS, self.max_results)

    @property
    def max_elements(self) -> int:
        """Insights, contradictions, thoughts or gaps shown to a step, most relevant first: at most
        20."""
        return max(1, min(_MOST_ELEMENTS, self.memory_tokens // _TOKENS_PER_ELEMENT))

    def researcher_seconds_left(self, seconds: float) -> float:
        """Return how long a researcher that has worked for `seconds` may go on, less the time
        reserved for writing."""
        return self.researcher_seconds_hard * (1 - self.writing_share) - seconds

    def deepened(self) -> Limits:
        """Return the limits of depth `deep`; those that were set explicitly are unchanged."""
        return self._with(DEEP)

    def for_table(self) -> Limits:
        """Return the limits for a table, whose rows may each have a page on the same host; those
        that were set explicitly are unchanged."""
        pages = _PAGES_OF_ROW * self.max_rows
        return self._with({name: max(getattr(self, name), pages) for name in _OF_PAGES})

    def narrowed(self) -> Limits:
        """Return the limits for a model that works in small steps; those that were set explicitly
        are unchanged."""
        return self._with({name: min(value, getattr(self, name)) for name, value in _SMALL.items()})

    def _with(self, changes: Mapping[str, int]) -> Limits:
        update = {
            name: value for name, value in changes.items() if name not in self.model_fields_set
        }
        return self.model_copy(update=update)

    def shortened(self, window: int) -> Limits:
        """Return the limits for a model with this window, in input tokens; unchanged if it is at
        least `min_window`.

        Otherwise, lengths of texts and numbers of results shrink in proportion to the window.
        """
        if window >= self.min_window:
            return self
        share = window / self.min_window
        # The research memory is always part of a step's prompt.
        texts = ("finding_tokens", "report_tokens", "memory_tokens")
        results = ("max_results", "max_open")
        cut = {name: max(2, int(getattr(self, name) * share)) for name in (*texts, *results)}
        # At four characters a token, the pages of a call take at most a third of the window; each
        # answer takes at most an eighth.
        cut["pages_characters"] = min(self.pages_characters, window * 4 // 3)
        cut["form_tokens"] = min(self.form_tokens, window // 8)
        return self.model_copy(update=cut)
