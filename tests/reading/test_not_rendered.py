"""Pages that no browser renders: because there is none, or because they are refusals."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import web_pages
from rendering import BROWSER, SHELL, publish_app, reading, refusal
from search_api import Answer, found
from web import Web
from wire import FACTS, Wires, researched


@pytest.fixture
def no_browsers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("settings", "is_missing", "words"),
    [
        ({}, True, 'pip install ".[browser]"'),
        ({"browser": "no-such-chromium"}, False, "apt install chromium"),
        ({"browser": "off"}, False, "only 0 characters"),
    ],
)
async def test_without_extra_or_chromium_it_is_named_with_the_way_out(
    web: Web, no_browsers: None, monkeypatch: pytest.MonkeyPatch, settings: Any, is_missing: bool, words: str
) -> None:
    if is_missing:
        monkeypatch.setitem(sys.modules, "playwright", None)
    address = publish_app(web, "/app", "The harbour", web_pages.PARAGRAPH)
    async with reading(web, **settings) as reader:
        message = await refusal(reader, address)
    assert words in message
    assert ("setting browser" in message) == (settings.get("browser") != "off")


async def test_the_report_of_a_run_names_the_page_and_the_extra(wires: Wires, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)
    with wires({"researcher": researched}, browser=BROWSER) as wire:
        for name in FACTS:
            wire.engine.on(name, Answer([found(wire.web.url(f"/{name}"), name.title(), FACTS[name])]))
        publish_app(wire.web, "/light", "Light", FACTS["light"])
        state = await wire.ask()
    notes = state.messages[-1].text.splitlines()
    assert any("/light (there" in note and 'pip install ".[browser]"' in note for note in notes)
    assert not any(source.is_rendered for source in state.sources.values())


@pytest.mark.parametrize(
    ("status", "body", "headers", "code"),
    [
        *((status, SHELL, {}, code) for status, code in ((401, "blocked"), (402, "paywall"), (403, "blocked"))),
        (429, SHELL, {}, "blocked"),
        (200, SHELL, {"cf_mitigated": "challenge"}, "challenge"),
        (200, web_pages.CHALLENGE, {}, "challenge"),
        (200, web_pages.PAYWALL, {}, "paywall"),
        (200, "<html><body>Nothing.</body></html>", {}, "empty shell"),
    ],
)
async def test_refusals_and_pages_without_scripts_are_not_rendered(
    web: Web, no_browsers: None, status: int, body: str, headers: dict[str, str], code: str
) -> None:
    async with reading(web, browser="no-such-chromium") as reader:
        message = await refusal(reader, web.publish("/refused", body, status, **headers), code)
    assert "browser" not in message


async def test_what_robots_txt_forbids_is_not_rendered(web: Web, no_browsers: None) -> None:
    web.robots = "User-agent: *\nDisallow: /forbidden\n"
    async with reading(web, browser="no-such-chromium", robots=True) as reader:
        assert "setting robots" in await refusal(reader, web.publish("/forbidden", SHELL), "robots")
    web.robots = None
