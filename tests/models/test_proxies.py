"""Models, engines and pages behind a proxy with a private certificate authority."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from kit.engines import (
    PAPERS,
    RESULT,
    Answer,
    Proxy,
    found,
    own_authority,
    proxy,
    search_api,
    serving,
)
from kit.model_calls import Wire
from kit.openai_server import openai_server, say
from kit.web import hostile_web

from deep_research.app._doctor import diagnose
from deep_research.core.errors import UnknownSetting
from deep_research.core.models._faults import explain
from deep_research.core.reading._fetch import Fetcher
from deep_research.core.reading.addresses import Unread
from deep_research.core.settings.context import Context
from deep_research.core.settings.limits import Limits
from deep_research.core.settings.network import usable_proxy
from deep_research.tools.engine import EngineFailed, SearchEngine
from deep_research.tools.engines.arxiv import Arxiv
from deep_research.tools.engines.duckduckgo import DuckDuckGo
from deep_research.tools.engines.tavily import Tavily
from deep_research.tools.engines.wikipedia import Wikipedia

Patch = pytest.MonkeyPatch

HOSTS = ("models.example", "search.example", "pages.example")


@pytest.fixture(autouse=True)
def bare(monkeypatch: Patch) -> None:
    """An environment without a certificate authority; no test has one with a proxy."""
    monkeypatch.setenv("DUCKDUCKGO_URL", "")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)


@contextmanager
def company(folder: Path, monkeypatch: Patch, **urls: str) -> Iterator[Proxy]:
    """A network whose proxy is the only way to these hosts, with certificates signed by an
    authority of its own."""
    certificate = own_authority(folder, *HOSTS)
    with proxy(
        {f"{name}.example": urlsplit(url).port or 0 for name, url in urls.items()}, certificate
    ) as here:
        monkeypatch.setenv("HTTPS_PROXY", here.url)
        monkeypatch.setenv("HTTP_PROXY", here.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        yield here


async def test_a_model_is_reached_by_the_proxy_and_its_certificate_checked(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    with (
        openai_server([say("Yes.")] * 3) as server,
        company(tmp_path, monkeypatch, models=server.url) as here,
    ):
        model = Wire(monkeypatch)(server)
        monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example/v1")
        assert (await model()).text == "Yes."
        assert here.asked == ["CONNECT models.example:443"]
        monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
        assert (await model()).text == "Yes."
        assert here.asked[1:] == ["POST http://models.example/v1/chat/completions"]
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert (await model()).text == "Yes."
        assert len(here.asked) == 2, "nothing on this machine is reached through a proxy"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            {"SSL_CERT_FILE": ""},
            "certificate of models.example is not signed by a known authority; set SSL_CERT_FILE",
        ),
        (
            {"HTTPS_PROXY": "http://me:hunter22@127.0.0.1:9"},
            "proxy http://127.0.0.1:9 failed; check HTTPS_PROXY",
        ),
    ],
)
async def test_a_bad_proxy_or_certificate_is_named(
    tmp_path: Path, monkeypatch: Patch, change: Any, named: str
) -> None:
    with openai_server([say("Yes.")]) as server, company(tmp_path, monkeypatch, models=server.url):
        model = Wire(monkeypatch)(server)
        for name, value in {"OPENAI_BASE_URL": "https://models.example/v1", **change}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(Exception) as caught:
            await model()
    message = str(explain(caught.value, "The model 'fake-1'"))
    assert named in message and "hunter22" not in message


ARTICLE = {
    "index": 1,
    "title": "Light",
    "fullurl": "https://w.example/Light",
    "extract": "Lit in 1844.",
}


@pytest.mark.parametrize("scheme", ["https", "http"])
@pytest.mark.parametrize(
    ("engine", "address", "body"),
    [
        (Wikipedia, "/w/api.php", json.dumps({"query": {"pages": [ARTICLE]}})),
        (Arxiv, "/api/query", PAPERS),
        (DuckDuckGo, "/html/", RESULT.format("https://a.example/light", "Light", "Lit in 1844.")),
    ],
)
async def test_engines_without_a_key_are_reached_through_the_proxy(
    tmp_path: Path, monkeypatch: Patch, scheme: str, engine: Any, address: str, body: str
) -> None:
    url = f"{scheme}://search.example{address}"
    monkeypatch.setenv("DUCKDUCKGO_URL", url)
    made: SearchEngine = engine(Context()) if engine is DuckDuckGo else engine(Context(), url)
    with (
        serving(lambda _: Answer(body=body)) as server,
        company(tmp_path, monkeypatch, search=server.url) as here,
    ):
        [result] = await made.search("light", 1)
        assert "1844" in result.excerpt and len(here.asked) == 1
        monkeypatch.setenv("SSL_CERT_FILE", "")
        if (
            scheme == "https" and engine is not DuckDuckGo
        ):  # its library reads the authorities once in a process
            with pytest.raises(EngineFailed, match="SSL_CERT_FILE"):
                await made.search("light", 1)


async def test_tavily_is_reached_through_the_proxy(tmp_path: Path, monkeypatch: Patch) -> None:
    with search_api() as server, company(tmp_path, monkeypatch, search=server.url) as here:
        server.on("light", Answer([found("https://a.example/light")]))
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-test-canary")
        monkeypatch.setenv("TAVILY_BASE_URL", "https://search.example")
        [result] = await Tavily(Context()).search("light", 1)
        assert (result.address, here.asked) == (
            "https://a.example/light",
            ["CONNECT search.example:443"],
        )
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
        with pytest.raises(
            EngineFailed, match=r"proxy http://127.0.0.1:9 failed; check HTTPS_PROXY"
        ):
            await Tavily(Context()).search("light", 1)


def at(*addresses: str) -> Any:
    """Finds a host at these addresses; without one it is not found."""

    async def resolve(host: str, port: int) -> list[str]:
        if not addresses:
            raise OSError(f"{host}:{port}")
        return [*addresses]

    return resolve


nowhere, inside, outside = at(), at("10.1.2.3"), at("93.184.215.14")


@pytest.mark.fault("R6")
async def test_pages_go_through_a_proxy_only_where_it_is_trusted(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    limits = Limits(page_seconds=5)
    with hostile_web() as web, company(tmp_path, monkeypatch, pages=web.url("/")) as here:
        web.publish("/light", "The Skerry Light was lit in 1844.")
        for scheme, resolve in (("https", nowhere), ("http", nowhere), ("https", outside)):
            async with Fetcher(
                Context(trust_proxy=True, robots=False, limits=limits), resolve
            ) as fetcher:
                assert b"1844" in (await fetcher.fetch(f"{scheme}://pages.example/light")).data
        assert here.asked[:2] == ["CONNECT pages.example:443", "GET http://pages.example/light"]
        count = len(here.asked)
        refusals = (
            (True, inside, "is in a private network"),
            (False, nowhere, "without the proxy set by HTTPS_PROXY (trust_proxy)"),
        )
        for is_trusted, resolve, words in refusals:
            async with Fetcher(
                Context(trust_proxy=is_trusted, robots=False, limits=limits), resolve
            ) as fetcher:
                with pytest.raises(Unread) as caught:
                    await fetcher.fetch("https://pages.example/light")
            assert words in str(caught.value)
        assert len(here.asked) == count
        monkeypatch.setenv("SSL_CERT_FILE", "")
        async with Fetcher(
            Context(trust_proxy=True, robots=False, limits=limits), nowhere
        ) as fetcher:
            with pytest.raises(Unread, match="certificate is not valid"):
                await fetcher.fetch("https://pages.example/light")
            with pytest.raises(Unread, match=r"refuses it; it was requested through http://127"):
                await fetcher.fetch("https://other.example/light")


async def test_a_proxy_gets_its_password_and_no_page_shows_it(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    with hostile_web() as web, company(tmp_path, monkeypatch, pages=web.url("/")) as here:
        web.publish("/light", "The Skerry Light was lit in 1844.")
        monkeypatch.setenv("HTTPS_PROXY", here.url.replace("://", "://me:p%40ss@"))
        async with Fetcher(Context(trust_proxy=True, robots=False), nowhere) as fetcher:
            await fetcher.fetch("https://pages.example/light")
            with pytest.raises(Unread) as caught:
                await fetcher.fetch("https://other.example/light")
    assert here.passwords == ["Proxy-Authorization: Basic bWU6cEBzcw=="] * 2
    assert "me" not in str(caught.value).split() and "ss@" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["socks5://127.0.0.1:1080", "http://", "http://proxy:x", "proxy 3128"]
)
def test_an_unusable_proxy_address_is_refused_with_a_valid_example(
    monkeypatch: Patch, address: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    with pytest.raises(
        UnknownSetting, match=r"ALL_PROXY.* must be an address such as http://proxy.example:3128"
    ):
        usable_proxy("https://models.example/v1")
    assert usable_proxy("http://localhost:11434/v1") is None


def test_hosts_in_no_proxy_are_reached_directly(monkeypatch: Patch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "models.example, .inner.example")
    direct = (
        "https://models.example/v1",
        "https://a.inner.example",
        "http://other.example",
        "https://127.0.0.2:8443",
    )
    assert [usable_proxy(address) for address in direct] == [None] * 4
    assert usable_proxy("https://other.example") == "http://proxy.example:3128"


def test_doctor_says_what_goes_through_the_proxy(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    for is_trusted, words in (
        (False, "pages are read without it (trust_proxy)"),
        (True, "pages too:"),
    ):
        found_lines = diagnose(Context(data_dir=tmp_path, trust_proxy=is_trusted))
        [line] = [diagnosis for diagnosis in found_lines if diagnosis.what == "proxy"]
        assert (
            line.state == "ok" and "http://proxy.example:3128" in line.text and words in line.text
        )
