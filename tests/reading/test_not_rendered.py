"""Pages that are not rendered: there is no browser, or they are refusals."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from kit import web as web_pages
from kit.files import SHELL, publish_app, reading, refusal
from kit.web import Web


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


@pytest.mark.parametrize(
    ("status", "body", "headers", "code"),
    [
        (402, SHELL, {}, "paywall"),
        (429, SHELL, {}, "blocked"),
        (403, SHELL, {"cf_mitigated": "challenge"}, "challenge"),
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
