"""`refresh` over real wires: pages are fetched again, and a model judges what has changed alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kit.commands import wire_desk
from kit.openai_server import Received, use
from kit.wire import FACTS, PADDING, QUESTION, verified

pytestmark = pytest.mark.slow

PAGE = "<html><head><title>{title}</title></head><body><p>{words}</p><p>{padding}</p></body></html>"


def shown(request: Received) -> Mapping[str, Any]:
    """What a model is shown as data."""
    start = request.prompt.index('{"knowledge"')
    knowledge: Mapping[str, Any] = json.JSONDecoder().raw_decode(request.prompt[start:])[0][
        "knowledge"
    ]
    return knowledge


def page(words: str, title: str = "A page") -> str:
    return PAGE.format(title=title, words=words, padding=PADDING)


def test_refresh_reads_the_web_again_and_judges_only_changes(tmp_path: Path) -> None:
    with wire_desk(tmp_path, verifier=verified) as wire:
        asked = wire.desk.call("ask", QUESTION, "--thread", "light")
        assert asked.code == 0
        wire.forget()
        same = wire.desk.call("refresh", "light")
        assert (
            same.code == 0 and "3 sentences hold, 0 changed, 0 can no longer be checked" in same.out
        )
        assert wire.lab.models.requests == []
        assert sorted(wire.fetched()) == ["/harbour", "/keeper", "/light"]
        wire.forget()
        web = wire.lab.web
        web.publish("/light", page(FACTS["light"].replace("1844", "1846"), "Light"))
        web.publish("/keeper", "Gone.", 404)
        web.publish(
            "/harbour", page(f"{FACTS['harbour']} Its cranes were painted in 1999.", "Harbour")
        )
        ended = wire.desk.run("refresh", "light")
        assert ended.code == 1
        assert "1 sentence holds, 1 changed, 1 can no longer be checked" in ended.out
        assert f"- {FACTS['light']} [1]\n```" in ended.out
        assert "the source says something else now" in ended.out and "1846" in ended.out
        assert f"  {FACTS['keeper']} [2]" in ended.out and "(gone)" in ended.out
        assert wire.contacted() <= wire.places
        assert [request.tools for request in wire.lab.models.requests] == [["judge_units"]]
        assert [unit["says"] for unit in shown(wire.lab.models.requests[0])["units"]] == [
            FACTS["light"]
        ]
        assert "Spent: 1 model call," in ended.err
        assert wire.desk.call("export", "light").out == asked.out
        # A sentence without a verdict is compared by its passage.
        wire.lab.script["verifier"] = lambda _: use(("judge_units", {"verdicts": "none"}))
        ended = wire.desk.call("refresh", "light")
        assert ended.code == 1 and "1 sentence holds, 1 changed" in ended.out
        assert (
            "words it differently" in ended.out
            and "did not fill in" in ended.out.partition("## Notes")[2]
        )
