"""Tools to offer, and how models write a call of them into their text, each form with what it asks for."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, Field

from deep_research.tools.control import GENERATE_FINDING, RESEARCH_AGENT, THINK_TOOL
from deep_research.tools.tool import tool_schema


class Search(BaseModel):
    """Search the documents."""

    queries: list[str] = Field(description="Short queries.")
    limit: int | None = Field(default=None, description="Most results.")


class Open(BaseModel):
    """Read pages."""

    urls: list[str]


SEARCH = tool_schema("internal_search", Search)
OPEN = tool_schema("open_url", Open)
TOOLS = [SEARCH, OPEN, THINK_TOOL, GENERATE_FINDING, RESEARCH_AGENT]

Asked = list[tuple[str, dict[str, Any]]]
ARGUMENTS = {"queries": ["a b", "c"]}
WRITTEN = json.dumps(ARGUMENTS)
ONE: Asked = [("internal_search", ARGUMENTS)]
TWO: Asked = [*ONE, ("open_url", {"urls": ["x"]})]
CALL = f'{{"name": "internal_search", "arguments": {WRITTEN}}}'
OPENING = '{"name": "open_url", "arguments": {"urls": ["x"]}}'
REPORT: Asked = [("generate_report", {})]

FORMS: dict[str, tuple[str, Asked]] = {
    "schema": (f'{{"calls": [{CALL}, {OPENING}]}}', TWO),
    "tagged": (f'<tool name="internal_search">{WRITTEN}</tool>\n<tool name="open_url">{{"urls": ["x"]}}</tool>', TWO),
    "tagged without arguments": ('<tool name="generate_report"/>', REPORT),
    "tagged and empty": ("<tool name='generate_report'>\n</tool>", REPORT),
    "name and arguments": (CALL, ONE),
    "name and parameters": (CALL.replace("arguments", "parameters"), ONE),
    "function of the API": (
        json.dumps([{"id": "1", "type": "function", "function": {"name": "internal_search", "arguments": WRITTEN}}]),
        ONE,
    ),
    "tool calls": (f'{{"tool_calls": [{CALL}]}}', ONE),
    "no arguments": ('{"name": "generate_report"}', REPORT),
    "null arguments": ('{"name": "generate_report", "arguments": null}', REPORT),
    "list": (f"[{CALL}, {OPENING}]", TWO),
    "lines": (f"{CALL}\n{OPENING}", TWO),
    "fence": (f"```json\n{CALL}\n```", ONE),
    "fence without end": (f"```json\n{CALL}", ONE),
    "two fences": (f"```json\n{CALL}\n```\n\n```\n{OPENING}\n```", TWO),
    "list as text": ('{"name": "internal_search", "arguments": {"queries": "[\\"a b\\", \\"c\\"]"}}', ONE),
    "null for what is optional": (CALL.replace('"c"]', '"c"], "limit": null'), ONE),
    "other name": (CALL.replace("internal_search", "functions.Internal-Search "), ONE),
    "hermes": (f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{OPENING}\n</tool_call>", TWO),
    "hermes without end": (f"<tool_call>{CALL}", ONE),
    "hermes, broken": (f"<tool_call>{CALL[:-1]}</tool_call>", ONE),
    "qwen coder": (
        '<tool_call>\n<function=internal_search>\n<parameter=queries>\n["a b", "c"]\n</parameter>\n</function>\n'
        "</tool_call>",
        ONE,
    ),
    "qwen coder without ends": (
        '<function=internal_search>\n<parameter=queries> ["a b", "c"]\n<parameter=limit> 3',
        [("internal_search", {**ARGUMENTS, "limit": 3})],
    ),
    "gpt-oss": (
        '<|channel|>analysis<|message|>Or {"name": "open_url"}?<|end|><|start|>assistant<|channel|>commentary '
        f"to=functions.internal_search <|constrain|>json<|message|>{WRITTEN}<|call|>",
        ONE,
    ),
    "after a thought": (f"<think>Or {OPENING}?</think>\n{CALL}", ONE),
    "after a thought without beginning": (f"Or {OPENING}?\n</think>\n\n{CALL}", ONE),
    "tags in the arguments": (
        '<tool name="think_tool">{"reasoning": "</tool> <think>x</think> and </think>."}</tool>',
        [("think_tool", {"reasoning": "</tool> <think>x</think> and </think>."})],
    ),
}
UNREAD: dict[str, str] = {
    "gemma": '<|tool_call>call:internal_search{queries:[<|"|>a b<|"|>]}<tool_call|>',
    "mistral": f"[TOOL_CALLS]internal_search[ARGS]{WRITTEN}",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.internal_search:0<|tool_call_argument_begin|>"
    f"{WRITTEN}<|tool_call_end|><|tool_calls_section_end|>",
    "kimi without tokens": f"functions.internal_search:0{WRITTEN}",
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>internal_search\n```json\n"
    f"{WRITTEN}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "glm": "<tool_call>internal_search\n<arg_key>queries</arg_key>\n<arg_value>a b</arg_value>\n</tool_call>",
    "minimax": '<minimax:tool_call>\n<invoke name="internal_search">\n<parameter name="queries">["a b"]</parameter>\n'
    "</invoke>\n</minimax:tool_call>",
    "llama": '<|python_tag|>internal_search.call(queries=["a b"])<|eom_id|>',
    "python": 'internal_search(queries=["a b"])',
    "python in a list": '[internal_search(queries=["a b"]), open_url(urls=["x"])]',
    "python in a fence": '```tool_code\nprint(default_api.internal_search(queries=["a b"]))\n```',
    "steps": f"Action: internal_search\nAction Input: {WRITTEN}",
    "name then object": f"internal_search\n```json\n{WRITTEN}\n```",
    "name alone": "`internal_search`",
    "by name": f'{{"internal_search": {WRITTEN}}}',
    "arguments beside the name": '{"tool": "internal_search", "queries": ["a b"]}',
    "schema of the tool": '{"name": "internal_search", "description": "Search.", "parameters": {"type": "object"}}',
}
"""Forms that are recognised and not read, each with a call of `internal_search`."""
BROKEN: dict[str, str] = {
    "python quotes": str({"name": "internal_search", "arguments": ARGUMENTS}),
    "trailing commas": '{"name": "internal_search", "arguments": {"queries": ["a b", "c",],},}',
    "comments": '{"name": "internal_search", // the search\n "arguments": {"queries": ["a b", "c"] /* two */}}',
    "missing brackets": CALL[:-2],
    "missing bracket within": '{"name": "internal_search", "arguments": {"queries": ["a b", "c"}}',
    "missing comma": '{"name": "internal_search" "arguments": {"queries": ["a b" "c"]}}',
    "bare keys": '{name: "internal_search", arguments: {queries: ["a b", "c"]}}',
    "too many brackets": CALL + "}}",
    "doubly encoded and broken": json.dumps({"name": "internal_search", "arguments": WRITTEN[:-1]}),
}
