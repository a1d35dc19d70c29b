"""The names of all tools, as models call them."""

from __future__ import annotations

INTERNAL_SEARCH = "internal_search"
WEB_SEARCH = "web_search"
OPEN_URL = "open_url"
THINK_TOOL = "think_tool"
GENERATE_PLAN = "generate_plan"
RESEARCH_AGENT = "research_agent"
GENERATE_REPORT = "generate_report"
