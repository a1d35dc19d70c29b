"""What CONTRIBUTING shows of new files works as it is written there."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from pages import ROOT
from search_api import Answer, serving

from deep_research.core.run.context import Context
from deep_research.core.writing.forms import form_name
from deep_research.tools.engine import Found

_BLOCKS = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def module(number: int, package: str) -> dict[str, Any]:
    """The names in the code that is shown in this place, as a file of this package."""
    text = _BLOCKS.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))[number]
    names = {"__package__": package, "__name__": f"{package}.shown"}
    exec(compile(text, "CONTRIBUTING.md", "exec"), names)
    return names


def test_the_engine_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"results": [{"title": "A", "url": "https://a.example/", "content": "Words."}]})
    with serving(lambda _: Answer(body=body)) as server:
        monkeypatch.setenv("SEARXNG_URL", server.url)
        engine = module(0, "deep_research.tools.engines")["SearXNG"](Context())
        assert asyncio.run(engine.search("tides", 5)) == [Found("A", "https://a.example/", "Words.")]
    assert server.requests[0].path == "/search?q=tides&format=json"


def test_the_node_has_its_form() -> None:
    names = module(1, "deep_research.nodes")
    assert form_name(names["RecordView"]) == "record_view"
    assert asyncio.iscoroutinefunction(names["summarize_findings"])
