"""Single requests: lookups of names, their destination, their headers, and the refusals that
responses lead to."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import web as web_pages
from kit.engines import own_authority
from kit.web import Web, hostile_web

from deep_research.core.reading._fetch import LOOKUPS, Fetcher, Resolver
from deep_research.core.reading.addresses import Unread, parse_address
from deep_research.core.settings.context import Context
from deep_research.core.settings.limits import Limits

NAME = "pages.example"


@pytest.fixture
def quiet(web: Web) -> Web:
    web.requests.clear()
    web.robots = None
    return web


@asynccontextmanager
async def fetching(
    web: Web, resolve: Resolver | None = None, **settings: Any
) -> AsyncIterator[Fetcher]:
    """A fetcher that may read this web by IP address and by name."""
    limits = Limits(page_seconds=5, **settings.pop("limits", {}))
    settings = {"allow_private": (web.netloc, f"{NAME}:{web.port}"), "robots": False, **settings}
    async with Fetcher(Context(limits=limits, **settings), resolve) as fetcher:
        yield fetcher


async def refusal(fetcher: Fetcher, address: str) -> str:
    with pytest.raises(Unread) as caught:
        await fetcher.fetch(address)
    assert str(caught.value)
    return caught.value.code


@given(
    st.text(st.sampled_from("hps:/@?#[]%.\\x0 \taé。１")),
    st.sampled_from(["", "http://", "https://a", "http://[::1]"]),
)
@pytest.mark.fault("R1", "R2")
def test_every_address_is_unambiguous_or_refused(text: str, begin: str) -> None:
    try:
        address = parse_address(begin + text)
    except Unread as error:
        assert error.code == "bad address"
        return
    assert parse_address(str(address)) == address
    assert urlsplit(str(address)).hostname == address.host
    assert urlsplit(str(address)).port in (address.port, None)


class Names:
    """A resolver with a list of answers."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        return self.answers.pop(0)


async def test_a_page_is_fetched_with_its_final_address_kind_and_charset(quiet: Web) -> None:
    quiet.publish("/page", "<p>Häfen", content_type="text/HTML; charset='utf-8'")
    async with fetching(quiet) as fetcher:
        fetched = await fetcher.fetch(quiet.url("/redirect?/page#top"))
    assert fetched == (quiet.url("/page"), "html", "utf-8", "<p>Häfen".encode(), False)


@pytest.mark.fault("R6")
async def test_a_request_has_only_the_four_necessary_headers(
    quiet: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    quiet.publish("/cookie", "", 302, set_cookie="id=1; Path=/", location="/plain")
    quiet.publish("/plain", "Deep water.", content_type="text/plain", set_cookie="id=2; Path=/")
    async with fetching(quiet) as fetcher:
        await fetcher.fetch(quiet.url("/cookie"))
        await fetcher.fetch(quiet.url("/plain"))
    assert [request.target for request in quiet.requests] == ["/cookie", "/plain", "/plain"]
    for request in quiet.requests:
        assert request.headers.keys() == {"host", "user-agent", "accept", "accept-encoding"}
        assert request.headers["host"] == quiet.netloc
        assert request.headers["user-agent"].startswith("deep-research/0.")
        assert request.headers["accept-encoding"] == "gzip"


@pytest.mark.fault("R2", "R3")
async def test_a_name_is_resolved_once_and_the_connection_goes_to_the_checked_ip_address(
    quiet: Web,
) -> None:
    quiet.publish("/page", "Deep water.")
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    async with fetching(quiet, names) as fetcher:
        fetched = await fetcher.fetch(quiet.url("/page", NAME))
    assert names.asked == [(NAME, quiet.port)]
    assert fetched.address == quiet.url("/page", NAME)
    assert quiet.requests[0].headers["host"] == f"{NAME}:{quiet.port}"


@pytest.mark.fault("R3")
async def test_each_redirect_is_resolved_and_checked_again(quiet: Web) -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    async with fetching(quiet, names) as fetcher:
        assert await refusal(fetcher, quiet.url("/redirect?/page", NAME)) == "private"
    assert len(names.asked) == 2
    assert len(quiet.requests) == 1


@pytest.mark.fault("R3")
async def test_scripts_of_a_page_do_not_read_an_opened_network_under_its_name(quiet: Web) -> None:
    quiet.publish("/page", "Deep water.")
    address = quiet.url("/page", NAME)
    context = Context(allow_private=(f"127.0.0.0/8:{quiet.port}",), robots=False)

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with Fetcher(context, resolve) as fetcher:
        assert (await fetcher.fetch(address)).data == b"Deep water."
    # The author of the page can point its name anywhere.
    async with Fetcher(context, resolve, page_host=NAME) as fetcher:
        with pytest.raises(Unread) as caught:
            await fetcher.fetch_part(address, 1000)
    assert caught.value.code == "private"
    assert len(quiet.requests) == 1


@pytest.mark.fault("R3")
@pytest.mark.parametrize("answer", [["1.1.1.1", "127.0.0.1"], ["::1"], ["fe80::1%eth0"]])
async def test_one_private_answer_among_public_ones_is_enough_to_refuse(
    quiet: Web, answer: list[str]
) -> None:
    async with fetching(quiet, Names(answer), ports=(quiet.port,), allow_private=()) as fetcher:
        assert await refusal(fetcher, quiet.url("/page", NAME)) == "private"
    assert quiet.requests == []


async def test_each_ip_address_is_tried_and_a_name_without_one_that_answers_is_unreachable(
    quiet: Web,
) -> None:
    async def fail(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    quiet.publish("/page", "Deep water.")
    async with fetching(quiet, Names(["127.0.0.2", "127.0.0.1"])) as fetcher:
        assert (await fetcher.fetch(quiet.url("/page", NAME))).data == b"Deep water."
    for names in (fail, Names([]), Names(["no number"]), Names(["127.0.0.2"])):
        async with fetching(quiet, names) as fetcher:
            assert await refusal(fetcher, quiet.url("/", NAME)) == "unreachable"


async def test_domains_are_checked_on_every_hop(quiet: Web) -> None:
    async with fetching(quiet, Names(["127.0.0.1"]), domains_deny=("127.0.0.1",)) as fetcher:
        assert await refusal(fetcher, quiet.url("/page")) == "denied domain"
        assert (
            await refusal(fetcher, quiet.url(f"/redirect?{quiet.url('/page')}", NAME))
            == "denied domain"
        )
    assert len(quiet.requests) == 1


@pytest.mark.fault(29, logs="INFO core.reading._fetch")
@pytest.mark.parametrize(
    ("status", "code"),
    [
        *(
            (401, "blocked"),
            (402, "paywall"),
            (403, "blocked"),
            (404, "gone"),
            (410, "gone"),
            (429, "blocked"),
        ),
        *((451, "blocked"), (406, "blocked"), (300, "broken"), (304, "broken")),
    ],
)
async def test_each_status_has_its_code_and_is_not_asked_twice(
    quiet: Web, status: int, code: str
) -> None:
    async with fetching(quiet) as fetcher:
        assert await refusal(fetcher, quiet.url(f"/status?{status}")) == code
    assert len(quiet.requests) == 1


@pytest.mark.fault(29)
async def test_a_server_error_is_retried_once(quiet: Web) -> None:
    answers = [("Wait.", 503), (web_pages.ARTICLE, 200)]
    quiet.pages["/flaky"] = lambda exchange: exchange.answer(*answers.pop(0))
    async with fetching(quiet) as fetcher:
        assert (await fetcher.fetch(quiet.url("/flaky"))).data == web_pages.ARTICLE.encode()
        assert await refusal(fetcher, quiet.url("/status?503")) == "server error"
    assert quiet.asked("/status") == 2


async def test_robots_txt_is_obeyed_and_read_once(quiet: Web) -> None:
    quiet.publish("/open/page", "Deep water.")
    quiet.robots = "User-agent: *\nDisallow: /\nAllow: /open/\n"
    async with fetching(quiet, robots=True) as fetcher:
        codes = await asyncio.gather(
            *(refusal(fetcher, quiet.url(f"/closed/{number}")) for number in range(4))
        )
        assert (await fetcher.fetch(quiet.url("/open/page"))).data == b"Deep water."
        assert await refusal(fetcher, quiet.url("/redirect?/open/page")) == "robots"
    assert codes == ["robots"] * 4
    assert [request.target for request in quiet.requests] == ["/robots.txt", "/open/page"]


@pytest.mark.parametrize(
    "path", ["/status?404", "/status?500", "/silence", "/redirect?/redirect", "/endless", "/babble"]
)
async def test_a_site_without_readable_robots_txt_forbids_nothing(quiet: Web, path: str) -> None:
    quiet.publish("/page", "Deep water.")
    quiet.publish("/robots.txt", "", 302, location=path)
    try:
        async with fetching(quiet, robots=True) as fetcher:
            assert (await fetcher.fetch(quiet.url("/page"))).data == b"Deep water."
    finally:
        del quiet.pages["/robots.txt"]


@pytest.mark.fault("R3")
async def test_the_certificate_is_checked_for_the_name_while_the_connection_goes_to_the_ip_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = str(own_authority(tmp_path, NAME))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    indicated: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: indicated.append(name)
    with hostile_web(tls) as web:
        web.publish("/page", "Deep water.")
        web.publish("/down", "", 302, location=f"http://{NAME}:{web.port}/page")
        opened, ports = (web.netloc, NAME, "wrong.example"), (web.port,)
        always: Resolver = lambda host, port: asyncio.sleep(0, ["127.0.0.1"])  # noqa: E731 - as short as it gets
        async with fetching(web, always, allow_private=opened, ports=ports) as fetcher:
            assert await refusal(fetcher, web.url("/page", NAME)) == "unreachable"
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
        async with fetching(web, always, allow_private=opened, ports=ports) as fetcher:
            assert (await fetcher.fetch(web.url("/page", NAME))).data == b"Deep water."
            assert web.requests[-1].headers["host"] == f"{NAME}:{web.port}"
            assert indicated[-1] == NAME
            with pytest.raises(Unread, match="certificate") as caught:
                await fetcher.fetch(web.url("/page", "wrong.example"))
            assert caught.value.code == "unreachable"
            assert await refusal(fetcher, web.url("/page")) == "unreachable"
            assert await refusal(fetcher, web.url("/down", NAME)) == "redirects"


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Make lookups of names under `.example` hang; returns the names that were looked up."""
    asked: list[str] = []
    is_over, ask = threading.Event(), socket.getaddrinfo

    def answer(host: Any, *rest: Any, **options: Any) -> Any:
        if str(host).endswith(".example"):
            asked.append(host)
            is_over.wait()
            raise OSError("no such name")
        return ask(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    yield asked
    is_over.set()


@pytest.mark.fault(54)
async def test_unanswered_lookups_time_out_and_block_nothing_else(
    web: Web, slow_names: list[str]
) -> None:
    address = web.publish("/page", "Deep water.")
    patient, hurried = (
        Context(limits=Limits(page_seconds=seconds), robots=True, allow_private=(web.netloc,))
        for seconds in (600, 0.4)
    )
    async with Fetcher(patient) as fetcher, Fetcher(hurried) as other:
        with pytest.raises(Unread, match="cannot be resolved"):
            await other.fetch("http://early.example/")
        slow = [
            asyncio.create_task(fetcher.fetch(f"http://{number}.example/"))
            for number in range(LOOKUPS)
        ]
        while len(slow_names) < LOOKUPS:
            await asyncio.sleep(0.01)
        late = (other.fetch(f"http://late-{number}.example/") for number in range(10))
        results = await asyncio.gather(*late, return_exceptions=True)
        assert await asyncio.to_thread(int) == 0
        assert (await fetcher.fetch(address)).data == b"Deep water."
        assert not any(task.done() for task in slow)
        for task in slow:
            task.cancel()
        await asyncio.wait(slow)
    assert {result.code for result in results if isinstance(result, Unread)} == {"unreachable"}
    assert len(slow_names) == LOOKUPS
