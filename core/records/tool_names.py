"""Tool names as models call them.

All of them are reserved: a tool that an app passes in may have none of these names, and a call that
a model writes into its prose under one of them is not shown.
"""

from __future__ import annotations

INTERNAL_SEARCH = "internal_search"
WEB_SEARCH = "web_search"
OPEN_URL = "open_url"
READ_DOCUMENTS = "read_documents"
CALCULATE = "calculate"
THINK_TOOL = "think_tool"
GENERATE_PLAN = "generate_plan"
ANSWER_FROM_READ = "answer_from_read"
LOOK_UP = "look_up"
EDIT_REPORT = "edit_report"
EXCLUDE_SOURCES = "exclude_sources"
RESEARCH_AGENT = "research_agent"
ANALYZE_FINDINGS = "analyze_findings"
GENERATE_REPORT = "generate_report"
MAKE_PLAN = "make_plan"
RECORD_SUMMARY = "record_summary"
RECORD_ROUND = "record_round"
REWRITE_SENTENCES = "rewrite_sentences"

OURS = frozenset(
    {INTERNAL_SEARCH, WEB_SEARCH, OPEN_URL, READ_DOCUMENTS, THINK_TOOL, GENERATE_REPORT}
)
"""Built-in tools of a researcher, except `calculate`; tools that an app passes in are not among
them."""
