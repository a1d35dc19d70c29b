"""The files of the page: small, compressed, and sent only if they have changed."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from kit.page import WAIT, ask
from kit.server import Server

from deep_research.app.server._page_files import page_files, serve_page

MOST_BYTES = 50_000
"""Of the first view: page, styles, scripts and data, as they are sent."""
SIZES = "performance.getEntries().map(({name, encodedBodySize}) => [name, encodedBodySize ?? 0])"


def test_files_are_sent_compressed_and_scripts_without_comments() -> None:
    for name, file in page_files().items():
        assert gzip.decompress(file.compressed) == file.content
        assert not (name.endswith(".js") and re.search(rb"^\s*//", file.content, re.MULTILINE))


async def test_a_file_is_sent_compressed_and_again_only_if_it_has_changed() -> None:
    transport = httpx.ASGITransport(serve_page)
    async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
        plain = await client.get("/page/main.js", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers and b"import " in plain.content
        first = await client.get("/page/main.js")
        assert first.headers["content-encoding"] == "gzip" and first.content == plain.content
        again = {"If-None-Match": first.headers["etag"]}
        assert (await client.get("/page/main.js", headers=again)).status_code == 304
        assert (await client.get("/page/page.css", headers=again)).status_code == 200
        assert (await client.get("/page/none.js")).status_code == 404


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_question_is_sent_with_what_the_first_view_loads_which_weighs_little(
    tmp_path: Path, chromium: Any
) -> None:
    with (
        Server(tmp_path, DEEP_RESEARCH_MODELS="extractive") as server,
        chromium.new_context(reduced_motion="reduce") as context,
    ):
        context.set_default_timeout(WAIT)
        page = context.new_page()
        held = list[Any]()
        # The only request for what threads need, which are the rest of the page.
        page.route("**/page/reading.js", lambda route: held.append(route), times=1)
        page.goto(server.url)
        page.get_by_text("No runs yet.").wait_for()
        sizes = dict(page.evaluate(SIZES))
        names = {name.removeprefix(server.url) for name in sizes}
        assert {"/page/main.js", "/page/report.css", "/research/offer"} <= names
        assert not names & {"/page/reading.js", "/page/column.js", "/page/check.js"}
        assert sum(sizes.values()) <= MOST_BYTES
        ask(page, "When was the Skerry Light lit?")
        page.wait_for_url("**/#/run/*")
        # As if the server had not answered: it is asked again.
        [route] = held
        route.abort()
        page.locator(".report article", has_text="1844").wait_for()
