"""The numbers of a run: how much time, how many calls, how long a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

ENVIRONMENT_PREFIX = "DEEP_RESEARCH_"
DATABASE = f"{ENVIRONMENT_PREFIX}DATABASE"
"""Variable of the environment with the path of a file of runs, or with the address of a PostgreSQL database."""
SMALL = {
    "max_cycles": 3,
    "max_iterations": 3,
    "max_plan_steps": 3,
    "max_step_iterations": 2,
    "max_follow_ups": 0,
    "max_analysis_follow_ups": 0,
}
"""Limits of a run in small steps."""
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
"""The limits of depth `deep` that are not those of `standard`: more of the same."""


def nearest(name: str, known: Iterable[str], before: str = "") -> str:
    """Return the known name most like this one as a hint in brackets; empty if none is like it."""
    found = get_close_matches(name, list(known), n=1)
    return f" (did you mean {before}{found[0]}?)" if found else ""


class KnownNames(BaseModel):
    """Settings that refuse an unknown name and suggest the known name that is most like it."""

    noun: ClassVar[str] = "setting"

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: Any) -> Any:
        faults = list[InitErrorDetails]()
        for name in given if isinstance(given, dict) else ():
            if name not in cls.model_fields:
                values = {"noun": cls.noun, "hint": nearest(name, cls.model_fields)}
                words = PydanticCustomError("extra_forbidden", "there is no such {noun}{hint}", values)
                faults.append(InitErrorDetails(type=words, loc=(name,), input=given[name]))
        if faults:
            raise ValidationError.from_exception_data(cls.__name__, faults)
        return given


class Limits(KnownNames, BaseSettings):
    """Limits of a run; each can be set by `DEEP_RESEARCH_<NAME>` and by `--limit NAME=VALUE`."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        title="Limits",
    )
    noun = "limit"

    max_cycles: int = Field(default=8, ge=2)
    """Orchestrator cycles of a model that does not reason; the last one writes the report."""
    max_cycles_reasoning: int = Field(default=4, ge=2)
    """Orchestrator cycles of a reasoning model; the last one writes the report."""
    max_parallel_researchers: int = Field(default=3, ge=1, le=20)
    """Researchers, or steps of a plan, that work at the same time; further ones wait."""
    max_iterations: int = Field(default=8, ge=1)
    """Rounds of tool use of one researcher."""
    max_analyses: int = Field(default=2, ge=0)
    """Times that the orchestrator may have its findings compared or challenged without a search."""
    max_thinks: int = Field(default=2, ge=1)
    """Thoughts in a row before a model is told to act."""
    max_mistakes: int = Field(default=2, ge=1)
    """Messages of the orchestrator in a row that lead to nothing, before what was found is reported or, if nothing was,
    the steps of the plan are researched."""
    max_repeats: int = Field(default=2, ge=1)
    """Times that a researcher may make the very same call; the next time it has to write."""
    max_plan_steps: int = Field(default=6, ge=1)
    """Steps of a plan."""
    checklist_rounds: int = Field(default=1, ge=0)
    """Rounds of research on what the draft of a report leaves open of the request's checklist; 0: it is not graded."""
    max_seconds: float = Field(default=1800, gt=0)
    """Active seconds until no more research is dispatched and the report is written."""
    max_seconds_planned: float = Field(default=300, gt=0)
    """Active seconds of the planned strategy, counted from its plan on, until no more steps are begun and the report is
    written."""
    max_step_iterations: int = Field(default=5, ge=1)
    """Rounds of queries of one step of a typed plan."""
    max_follow_ups: int = Field(default=1, ge=0)
    """Follow-up steps one below the other, under a step that searches."""
    max_analysis_follow_ups: int = Field(default=2, ge=0)
    """Follow-up steps one below the other, under a step of thought alone."""
    max_elements: int = Field(default=20, ge=1)
    """Insights, contradictions and thoughts that a step is shown, the most relevant ones; as many gaps beside them."""
    memory_tokens: int = Field(default=12_000, ge=1)
    """Tokens of the learnings that a step, the plan's revision or the final check is shown."""
    researcher_seconds: float = Field(default=720, gt=0)
    """Active seconds after which a researcher starts to write."""
    researcher_seconds_hard: float = Field(default=1800, gt=0)
    """Active seconds after which a researcher is cut, its writing included."""
    tool_seconds: float = Field(default=600, gt=0)
    """Seconds that one batch of tool calls may take."""
    first_token_seconds: float | None = Field(default=None, gt=0)
    """Seconds until the first word of an answer; not set: 60, or 600 from a server on this machine."""
    idle_seconds: float = Field(default=60, gt=0)
    """Seconds of silence in the stream of a decision or a plan that somebody watches before it counts as broken off."""
    report_idle_seconds: float = Field(default=300, gt=0)
    """The same for a finding or a report, and for an answer that is not streamed because nobody watches it come."""
    heartbeat_seconds: float = Field(default=15, gt=0)
    """Seconds of silence in a run's packets after which a heartbeat is sent."""
    writing_share: float = Field(default=0.2, ge=0, lt=1)
    """Share that is kept for writing: of `max_tokens` and `max_usd` for the report, of `researcher_seconds_hard` for a
    finding."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Tokens of a run, input and output; unlimited if not set."""
    max_tool_calls: int | None = Field(default=None, gt=0)
    """Calls of research tools in a run: searches, and batches of pages that are opened; unlimited if not set."""
    max_searches: int | None = Field(default=None, gt=0)
    """Searches of a run: queries, each once for every engine that it is sent to; unlimited if not set."""
    max_fetches: int | None = Field(default=None, gt=0)
    """Web pages fetched, copies looked up and documents opened in a run; a page that the thread has is not fetched
    anew; unlimited if not set."""
    max_usd: float | None = Field(default=None, gt=0)
    """Money of a run in US dollars, where `prices` or the provider tells what calls cost; unlimited if not set."""
    decision_tokens: int = Field(default=1024, ge=16)
    """Output tokens of one decision of the orchestrator or a researcher."""
    form_tokens: int = Field(default=8192, ge=16)
    """Output tokens of a plan, a list of learnings or a judgement; verdicts on a report, 100 each, share one form."""
    reasoning_tokens: int = Field(default=8192, ge=0)
    """Output tokens that a model which reasons by itself may use for its thoughts, on top of those for its answer."""
    finding_tokens: int = Field(default=10_000, ge=16)
    """Output tokens of one finding."""
    report_tokens: int = Field(default=20_000, ge=16)
    """Output tokens of the report."""
    max_continuations: int = Field(default=4, ge=0)
    """Times that a report or a finding which was cut off at the output limit is continued."""
    max_opinions: int = Field(default=24, ge=0)
    """Calls of the verifier's model while a report is checked, each for as many clauses and cells as
    `form_tokens` has room for, 80 by default."""
    max_rewrites: int = Field(default=2, ge=0)
    """Calls of the writer's model while a report is checked, each for up to 40 sentences that are wrong; and
    beside these, sections in a wrong language that are written anew."""
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
    page_characters: int = Field(default=3_000, ge=200)
    """Characters shown of one opened page: its head and the passages on the topic."""
    pages_characters: int = Field(default=30_000, ge=200)
    """Characters shown of all pages of one `open_url` call."""
    results_tokens: int = Field(default=20_000, ge=1)
    """Tokens of the results in a researcher's view from which on older ones shrink; that happens twice at most."""
    whole_characters: int = Field(default=30_000, ge=0)
    """Characters of all documents together up to which each researcher reads them all instead of searching them."""
    max_document_bytes: int = Field(default=50_000_000, ge=1)
    """Size of a file above which it is left out."""
    max_attachment_bytes: int = Field(default=32_000_000, ge=1)
    """Size of a file attached to a message above which it is not kept."""
    max_attachments: int = Field(default=20, ge=0)
    """Files attached to the messages of one thread."""
    max_documents: int = Field(default=200_000, ge=1)
    """Files of one folder."""
    parse_seconds: float = Field(default=15, gt=0)
    """Seconds that reading 1 MB of a file may take; recognising a page of a scan may take eight times as long."""
    call_seconds: float = Field(default=900, gt=0)
    """Seconds that one call of a model may take as a whole."""
    max_retries: int = Field(default=2, ge=0)
    """Further tries of a model call that fails before its first word; where the provider asks to wait, only
    `retry_seconds` counts."""
    retry_seconds: float = Field(default=60, ge=0)
    """Seconds that all model calls of a run together may wait before they try again."""
    search_seconds: float = Field(default=20, gt=0)
    """Seconds that one query to a search engine may take."""
    max_web_results: int = Field(default=20, ge=1)
    """Results of one web search call, over all its queries."""
    query_characters: int = Field(default=400, ge=10)
    """Characters of one search query; a longer one is cut at a word."""
    max_unseen_characters: int = Field(default=240, ge=0)
    """Letters of words that a question's web queries use without having them from the user or a public page, once
    documents were shown: names that a model knows and, with `mix_private`, words of the documents; each word counts
    once, a character of a script without spaces three times."""
    earlier_days: float = Field(default=30, ge=0, le=36_500)
    """Days after which a page of earlier research is read again, if the web is searched."""
    earlier_runs: int = Field(default=200, ge=1)
    """Finished runs whose pages `earlier` searches, the latest."""
    max_pages: int = Field(default=60, ge=1)
    """Web pages fetched in a run."""
    max_host_pages: int = Field(default=10, ge=1)
    """Web pages fetched from one host in a run."""
    max_redirects: int = Field(default=5, ge=0)
    """Redirects that are followed for one page."""
    connect_seconds: float = Field(default=5, gt=0)
    """Seconds until a web server must have taken the connection."""
    page_seconds: float = Field(default=20, gt=0)
    """Seconds that fetching one page may take as a whole, redirects included."""
    max_page_bytes: int = Field(default=2_000_000, ge=1000)
    """Size of a web page, decompressed, above which only its beginning is read."""
    max_pdf_bytes: int = Field(default=20_000_000, ge=1000)
    """Size of a PDF or an office document of the web above which it is refused."""
    render_seconds: float = Field(default=30, gt=0)
    """Seconds that rendering one page in a browser may take, the start of the browser included."""
    render_requests: int = Field(default=200, ge=1)
    """Requests of a page in a browser that are answered; further ones fail."""
    render_bytes: int = Field(default=20_000_000, ge=1000)
    """Size, decompressed, of all that a page in a browser loads; what comes after that is refused."""

    def deepened(self) -> Limits:
        """Return the limits as widened for depth `deep`; those that were set stay as they are."""
        return self._with(DEEP)

    def narrowed(self) -> Limits:
        """Return the limits for a model that works in small steps; those that were set stay as they are."""
        return self._with({name: min(most, getattr(self, name)) for name, most in SMALL.items()})

    def _with(self, others: Mapping[str, int]) -> Limits:
        return self.model_copy(
            update={name: most for name, most in others.items() if name not in self.model_fields_set}
        )

    def shortened(self, window: int) -> Limits:
        """Return the limits with texts cut to a window (input tokens) below `min_window`."""
        if window >= self.min_window:
            return self
        share = window / self.min_window
        scaled = (
            *("finding_tokens", "report_tokens", "max_results", "max_web_results", "max_open"),
            # What a step is told of what is known stands in the prompt in any case.
            *("memory_tokens", "max_elements"),
        )
        cut = {name: max(2, int(getattr(self, name) * share)) for name in scaled}
        # Four characters are a token: the pages of a call may take a third of the window, a decision an eighth, as
        # may the thought before it.
        cut["pages_characters"] = min(self.pages_characters, window * 4 // 3)
        cut["decision_tokens"] = min(self.decision_tokens, window // 8)
        cut["form_tokens"] = min(self.form_tokens, window // 8)
        cut["reasoning_tokens"] = min(self.reasoning_tokens, window // 8)
        return self.model_copy(update=cut)
