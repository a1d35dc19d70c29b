"""The files of the page: small, compressed, and sent only if they have changed."""

from __future__ import annotations

import gzip
import re

import httpx

from deep_research.app.server._page_files import page_files, serve_page

MOST_BYTES = 50_000
"""Of the whole page, compressed."""


def test_the_whole_page_weighs_little() -> None:
    files = page_files()
    assert sum(len(file.compressed) for file in files.values()) <= MOST_BYTES
    for name, file in files.items():
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
