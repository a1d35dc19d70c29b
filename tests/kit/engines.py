"""Fake search engines, directories of papers and a proxy, on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from deep_research.tools.engine import EngineFailed, Found, SearchEngine
from deep_research.tools.engines._api import ApiEngine
from deep_research.tools.engines.brave import Brave
from deep_research.tools.engines.crossref import Crossref
from deep_research.tools.engines.europepmc import EuropePMC
from deep_research.tools.engines.exa import Exa
from deep_research.tools.engines.openalex import OpenAlex
from deep_research.tools.engines.searxng import SearXNG
from deep_research.tools.engines.serper import Serper
from deep_research.tools.engines.wikipedia import Wikipedia
from kit.web import Exchange, Request, Web, listening, request_in

KEY = "tvly-test-canary"


@dataclass(frozen=True)
class Answer:
    """What the server says; `results` unless there is a `body`."""

    results: Sequence[Mapping[str, Any]] = ()
    status: int = 200
    delay: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | bytes | None = None
    hangs_up: bool = False


def found(
    address: str, title: str = "A page", content: str = "What it says.", **more: Any
) -> dict[str, Any]:
    """One result as Tavily writes it."""
    return {
        "url": address,
        "title": title,
        "content": content,
        "score": 0.9,
        "raw_content": None,
        **more,
    }


def pages(site: str, count: int) -> list[dict[str, Any]]:
    """So many results, all different."""
    return [found(f"https://{site}/{number}", f"{site} {number}") for number in range(count)]


def refused(status: int, words: str = "Error", **headers: str) -> Answer:
    """An error as Tavily writes it; a header's name has `_` for `-`."""
    detail = {"detail": {"error": words}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, body=json.dumps(detail), headers=named)


@dataclass
class Loopback:
    """An HTTP server on this computer that records what it is asked."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)


@contextmanager
def serving(
    answer: Callable[[Request], Answer], server: Loopback | None = None
) -> Iterator[Loopback]:
    """A server with answers of one's own."""
    here = server or Loopback()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Whoever asks may give up.
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError):
            request = await request_in(reader)
            here.requests.append(request)
            reply = answer(request)
            await asyncio.sleep(reply.delay)
            if not reply.hangs_up:
                headers = {"connection": "close", **reply.headers}
                await Exchange(request, writer).answer(reply.body or b"", reply.status, **headers)

    with listening(serve) as port:
        here.url = f"http://127.0.0.1:{port}"
        yield here


class SearchApi(Loopback):
    """Tavily's search as far as clients can tell."""

    def __init__(self) -> None:
        super().__init__()
        self.otherwise = Answer()
        """The answer to queries that nothing is said about."""
        self._script: dict[str, Sequence[Answer]] = {}
        self._asked: Counter[str] = Counter()

    def on(self, query: str, *answers: Answer) -> None:
        """Give these answers to the query in turn, and the last one ever after."""
        self._script[query] = answers

    @property
    def queries(self) -> list[str]:
        """The queries alone, in order."""
        return [request.json["query"] for request in self.requests]

    def environment(self) -> dict[str, str]:
        """The variables that lead a client here."""
        return {"TAVILY_API_KEY": KEY, "TAVILY_BASE_URL": self.url}

    def answer(self, request: Request) -> Answer:
        """The answer to a request, by its query."""
        if (request.method, request.target) != ("POST", "/search"):
            return Answer(status=404, body="Not Found")
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return refused(401)
        asked = request.json
        query = asked["query"]
        script = self._script.get(query, (self.otherwise,))
        answer = script[min(self._asked[query], len(script) - 1)]
        self._asked[query] += 1
        if answer.body is not None or answer.hangs_up:
            return answer
        content = {
            "query": query,
            "follow_up_questions": None,
            "answer": None,
            "images": [],
            "response_time": 0.01,
        }
        content["results"] = list(answer.results)[: asked.get("max_results", 5)]
        content["request_id"] = "123e4567-e89b-12d3-a456-426614174111"
        return replace(answer, results=(), body=json.dumps(content))


@contextmanager
def search_api() -> Iterator[SearchApi]:
    """A server that speaks Tavily's API."""
    api = SearchApi()
    with serving(api.answer, api):
        yield api


async def failure_of(engine: SearchEngine) -> EngineFailed:
    """The failure of a search by this engine."""
    with pytest.raises(EngineFailed) as failed:
        await engine.search("q", 5)
    return failed.value


@cache
def closed_port() -> str:
    """An address at which nobody listens."""
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))
    port = reserved.getsockname()[1]
    # The descriptor stays open until the process ends, so that no other process gets the port.
    reserved.detach()
    return f"http://127.0.0.1:{port}"


CHALLENGE = """<html><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html" method="POST">
<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div><div class="modal__body">Select all
squares with a duck. <a href="https://duckduckgo.com/help">Help</a></div></form></body></html>"""
RESULT = """<div class="result"><div class="links_main result__body"><h2 class="result__title">
<a class="result__a" href="{0}">{1}</a></h2><a class="result__snippet" href="{0}">{2}</a></div></div>"""
BLOCKS = {
    "shows an empty page": Answer(body=" "),
    "(status 200, a challenge)": Answer(body=CHALLENGE),
    "(status 202, a challenge)": Answer(status=202, body=CHALLENGE),
    "(status 202)": Answer(status=202),
    "(status 403)": Answer(status=403, body="<html>Forbidden</html>"),
    "(status 429)": Answer(status=429, body="Too many requests"),
}
"""How DuckDuckGo turns programs away, by how we call it."""
PAPERS = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">
<opensearch:totalResults>1</opensearch:totalResults><entry><id>http://arxiv.org/abs/1234.5678v1</id><title>Light</title>
<summary>Lit in 1844.</summary><updated>2025-02-03T04:05:06Z</updated><published>2025-01-01T00:00:00Z</published>
<author><name>Ada Moran</name></author></entry></feed>"""
"""How arXiv tells of a paper."""
NOTHING = '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"></feed>'


class FreeWeb(NamedTuple):
    """The three servers."""

    duckduckgo: Loopback
    wikipedia: Loopback
    arxiv: Loopback

    def environment(self) -> dict[str, str]:
        """The variables that lead a client here, without a key for any other engine."""
        named = zip(("DUCKDUCKGO_URL", "WIKIPEDIA_URL", "ARXIV_URL"), self, strict=True)
        return {"TAVILY_API_KEY": "", **{name: server.url for name, server in named}}

    def counts(self) -> tuple[int, ...]:
        """How many requests each server has got."""
        return tuple(len(server.requests) for server in self)


@contextmanager
def free_web(duckduckgo: Answer, articles: Mapping[str, tuple[str, str]]) -> Iterator[FreeWeb]:
    """Serve this answer of DuckDuckGo's; Wikipedia has articles by query, as address and text, and
    arXiv nothing."""

    def of_wikipedia(request: Request) -> Answer:
        [query] = parse_qs(urlsplit(request.target).query)["gsrsearch"]
        found = [articles[query]] if query in articles else []
        pages = [
            {"title": query.title(), "index": 1, "fullurl": page[0], "extract": page[1]}
            for page in found
        ]
        return Answer(
            body=json.dumps({"query": {"pages": pages}} if pages else {"batchcomplete": True})
        )

    with ExitStack() as servers:
        answers = (lambda _: duckduckgo), of_wikipedia, (lambda _: Answer(body=NOTHING))
        yield FreeWeb(*(servers.enter_context(serving(answer)) for answer in answers))


SECRET = "canary-of-a-key-0123"


class Kit(NamedTuple):
    """What is known of one engine."""

    engine: type[ApiEngine]
    documentation: str
    """Address of the page whose example the answers follow."""
    path: str
    """Path of the request for 30 results on `deep sea`, of a.example only and since 2 January 2025.
    """
    sent: Mapping[str, Any]
    """Expected parameters or body, and headers by their lower-case names; the key is `SECRET`."""
    answer: Mapping[str, Any]
    found: Found
    """The first result of the answer."""
    empty: Mapping[str, Any]
    used_up: Answer | None = None
    """How it says that the quota is used up; none if it has none."""

    @property
    def name(self) -> str:
        return self.engine.name

    def environment(self, address: str) -> dict[str, str]:
        """The variables that lead a client to this address."""
        key = {self.engine.key_name: SECRET} if self.engine.key_name else {}
        return {f"{self.name.upper()}_URL": address, **key}


def sent_to(request: Request) -> dict[str, Any]:
    """The parameters or the body of a request, and the header that holds the key."""
    params = {name: value for name, (value,) in parse_qs(urlsplit(request.target).query).items()}
    key = {name: value for name, value in request.headers.items() if value == SECRET}
    return {**params, **(request.json if request.body else {}), **key}


def brave(*results: Mapping[str, Any]) -> dict[str, Any]:
    """Pages as Brave writes them."""
    return {
        "type": "search",
        "query": {"original": "x"},
        "web": {"type": "search", "results": list(results)},
    }


def searxng(*results: Mapping[str, Any]) -> dict[str, Any]:
    """Pages as SearXNG writes them."""
    return {
        "query": "x",
        "number_of_results": 0,
        "results": list(results),
        "answers": [],
        "infoboxes": [],
    }


def turned_away(status: int, **body: Any) -> Answer:
    return Answer(status=status, body=json.dumps(body))


WORK_DOI = "https://doi.org/10.1000/abc(12)"
DEEP = Found("The sea", "https://a.example/", "It is deep.", "2025-03-01")
# fmt: off
KITS = (
    Kit(
        SearXNG, "https://docs.searxng.org/dev/search_api", "/search",
        {"q": "deep sea site:a.example", "format": "json"},
        searxng({"url": "https://a.example/", "title": "The sea", "content": "It is deep.",
                 "publishedDate": "2025-03-01T00:00:00"}),
        DEEP,
        searxng(),
    ),
    Kit(
        Brave, "https://api-dashboard.search.brave.com/api-reference/web/search/get", "/res/v1/web/search",
        {"q": "deep sea site:a.example", "count": "20", "text_decorations": "false", "result_filter": "web",
         "freshness": "2025-01-02to2031-05-06", "x-subscription-token": SECRET},
        brave({"title": "The sea", "url": "https://a.example/", "description": "It&#x27;s <strong>deep</strong>.",
               "page_age": "2025-03-01T07:00:00", "extra_snippets": ["And cold."]}),
        DEEP._replace(excerpt="It's deep.\nAnd cold."),
        {"type": "search", "query": {"original": "deep sea"}},
        turned_away(429, type="ErrorResponse", error={"code": "QUOTA_LIMITED", "detail": "x", "meta": {}}),
    ),
    Kit(
        Exa, "https://docs.exa.ai/reference/search", "/search",
        {"query": "deep sea", "numResults": 30, "contents": {"highlights": True}, "includeDomains": ["a.example"],
         "startPublishedDate": "2025-01-02T00:00:00.000Z", "x-api-key": SECRET},
        {"results": [{"title": "The sea", "url": "https://a.example/", "publishedDate": "2025-03-01T01:36:32.547Z",
                      "highlights": ["It is deep.", "And cold."]}]},
        DEEP._replace(excerpt="It is deep.\nAnd cold."),
        {"results": []},
        turned_away(402, requestId="x", error="x", tag="NO_MORE_CREDITS"),
    ),
    Kit(
        Serper, "https://serper.dev/playground", "/search",
        {"q": "deep sea site:a.example", "num": 30, "tbs": "cdr:1,cd_min:01/02/2025", "x-api-key": SECRET},
        {"organic": [{"title": "The sea", "link": "https://a.example/", "snippet": "It is deep.",
                      "date": "Mar 1, 2025"}]},
        DEEP,
        {"organic": []},
        turned_away(400, message="Not enough credits", statusCode=400),
    ),
    Kit(
        OpenAlex, "https://developers.openalex.org/api-reference/works", "/works",
        {"search": "deep sea", "per_page": "30", "filter": "from_publication_date:2025-01-02", "api_key": SECRET,
         "select": "id,doi,display_name,publication_date,abstract_inverted_index,is_retracted"},
        {"results": [{"id": "https://openalex.org/W1", "doi": "https://doi.org/10.1000/ABC(12)",
                      "display_name": "The <i>sea</i>", "publication_date": "2025-03-01",
                      "abstract_inverted_index": {"deep.": [2, 5], "It": [0, 3], "is": [1, 4]}}]},
        Found("The sea", WORK_DOI, "It is deep. It is deep.", "2025-03-01"),
        {"results": []},
        turned_away(429, error="Rate limit exceeded", message="You have no credits left today."),
    ),
    Kit(
        Crossref, "https://api.crossref.org/swagger-ui/index.html", "/works",
        {"query.bibliographic": "deep sea", "rows": "30", "select": "DOI,title,abstract,issued,updated-by",
         "filter": "from-pub-date:2025-01-02"},
        {"status": "ok", "message": {"items": [
            {"DOI": "10.1000/ABC(12)", "title": ["The sea"], "issued": {"date-parts": [[2025, 3]]},
             "abstract": "<jats:p>It is &lt; 9 km<jats:sup>2</jats:sup>.</jats:p>"}]}},
        Found("The sea", WORK_DOI, "It is < 9 km^2.", "2025-03"),
        {"status": "ok", "message": {"items": []}},
    ),
    Kit(
        EuropePMC, "https://europepmc.org/RestfulWebService", "/search",
        {"query": "(deep sea) AND (FIRST_PDATE:[2025-01-02 TO 3000-01-01])", "format": "json", "resultType": "core",
         "pageSize": "30"},
        {"resultList": {"result": [
            {"id": "12345", "source": "MED", "doi": "10.1000/ABC(12)", "title": "The sea",
             "abstractText": "<h4>Aim</h4>It is deep.", "firstPublicationDate": "2025-03-01"}]}},
        Found("The sea", WORK_DOI, "Aim It is deep.", "2025-03-01"),
        {"resultList": {"result": []}},
    ),
    Kit(
        Wikipedia, "https://www.mediawiki.org/wiki/Extension:TextExtracts", "",
        {"action": "query", "format": "json", "formatversion": "2", "generator": "search", "gsrsearch": "deep sea",
         "gsrlimit": "20", "prop": "extracts|info", "inprop": "url", "exintro": "1", "explaintext": "1",
         "exlimit": "max"},
        {"batchcomplete": True, "query": {"pages": [
            {"pageid": 2, "title": "Neap", "index": 2, "fullurl": "https://a.example/Neap"},
            {"pageid": 1, "title": "The sea", "index": 1, "extract": "It is deep.", "fullurl": "https://a.example/"}]}},
        Found("The sea", "https://a.example/", "It is deep."),
        {"batchcomplete": True},
    ),
)
# fmt: on


DOI = "10.5555/skerry.1844"
TITLE = "The first lamp of the Skerry Light"
EMAIL = "reader@keldness.org"
OPENALEX_KEY = "openalex-canary-key"
PATHS = {
    "CROSSREF_URL": "/crossref",
    "EUROPEPMC_URL": "/europepmc",
    "ARXIV_URL": "/arxiv",
    "OPENALEX_URL": "/openalex",
    "UNPAYWALL_URL": "/unpaywall",
    "INTERNETARCHIVE_URL": "/available",
}
FEED = """<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">
<title>arXiv Query: search_query=doi:{doi}</title>
<entry><id>http://arxiv.org/abs/0000.00001v1</id><title>Another paper</title>
<arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.5555/another</arxiv:doi>
<link title="pdf" href="http://127.0.0.1:9/another" rel="related" type="application/pdf"/></entry>
<entry><id>http://arxiv.org/abs/1844.00001v2</id><title>The first lamp</title>
<link title="doi" href="http://dx.doi.org/{doi}" rel="related"/>
<link href="http://arxiv.org/abs/1844.00001v2" rel="alternate" type="text/html"/>
<arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">{doi}</arxiv:doi>
<link title="pdf" href="{address}" rel="related" type="application/pdf"/></entry></feed>"""


class Directories:
    """The directories, seen from a test; until one is given a copy, all of them know the paper and
    no copy."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.crossref()
        for publish in (self.europe_pmc, self.openalex, self.unpaywall):
            publish("")

    @property
    def asked(self) -> list[str]:
        """Which of them were asked, in order, each time."""
        paths = ["/" + urlsplit(request.target).path.split("/")[1] for request in self.web.requests]
        return [path.removeprefix("/") for path in paths if path in PATHS.values()]

    def query(self, path: str) -> dict[str, list[str]]:
        """What one of them was asked first."""
        return next(
            parse_qs(urlsplit(request.target).query)
            for request in self.web.requests
            if request.target.startswith(path)
        )

    def crossref(self, *updates: str) -> None:
        """A record, with updates of these types."""
        updated = [
            {"DOI": f"10.5555/{kind}", "type": kind, "source": "retraction-watch", "label": kind}
            for kind in updates
        ]
        work = {
            "DOI": DOI,
            "title": [TITLE],
            "type": "journal-article",
            **({"updated-by": updated} if updated else {}),
        }
        self._answer(
            f"/crossref/works/{DOI}", {"status": "ok", "message-type": "work", "message": work}
        )

    def europe_pmc(self, address: str) -> None:
        shared = {"availability": "Open access", "availabilityCode": "OA", "site": "Europe_PMC"}
        texts = [
            {"availability": "Subscription required", "availabilityCode": "S", "documentStyle": "doi",
             "site": "DOI", "url": f"https://doi.org/{DOI}"},
            *([{**shared, "documentStyle": "html", "url": self.web.url("/shell")},
               {**shared, "documentStyle": "pdf", "url": address}] if address else []),
        ]  # fmt: skip
        result = {"id": "1", "source": "MED", "doi": DOI.upper(), "title": TITLE}
        found = [{**result, "fullTextUrlList": {"fullTextUrl": texts}}]
        self._answer("/europepmc/search", {"hitCount": 1, "resultList": {"result": found}})

    def arxiv(self, address: str) -> None:
        self.web.publish(
            "/arxiv", FEED.format(doi=DOI, address=address), content_type="application/atom+xml"
        )

    def openalex(self, address: str) -> None:
        closed = {"is_oa": False, "landing_page_url": f"https://doi.org/{DOI}", "pdf_url": None}
        copy = {"is_oa": True, "landing_page_url": self.web.url("/landing"), "pdf_url": address}
        found = [closed, copy] if address else [closed]
        self._answer(
            f"/openalex/works/doi:{DOI}",
            {"best_oa_location": copy if address else None, "locations": found},
        )

    def unpaywall(self, address: str) -> None:
        copy = {"host_type": "repository", "is_best": True, "url": address, "url_for_pdf": address,
                "url_for_landing_page": self.web.url("/landing"), "version": "acceptedVersion"}  # fmt: skip
        found = [copy] if address else []
        work = {"doi": DOI, "is_oa": bool(found), "title": TITLE, "oa_locations": found}
        self._answer(f"/unpaywall/{DOI}", {**work, "best_oa_location": copy if address else None})

    def archive(self, address: str, kept: str, time: str) -> None:
        closest = {"available": True, "url": kept, "timestamp": time, "status": "200"}
        self._answer(
            "/available",
            {"url": address, "archived_snapshots": {"closest": closest} if kept else {}},
        )

    def _answer(self, path: str, content: object) -> None:
        self.web.publish(path, json.dumps(content), content_type="application/json")


def own_authority(folder: Path, *names: str) -> Path:
    """A file with the key and the certificate of these hosts, and of the authority that vouches for
    it.

    No public authority vouches for that one.
    """
    keys, now = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)], datetime.now(UTC)
    board, harbour = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        for name in ("Keldness harbour board", "Keldness")
    )

    def certificate(
        subject: x509.Name, number: int, is_authority: bool, *more: x509.ExtensionType
    ) -> bytes:
        builder = x509.CertificateBuilder(board, subject, keys[number].public_key(), 5 + number)
        builder = builder.not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(9))
        limits = x509.BasicConstraints(ca=is_authority, path_length=None)
        for extension in (limits, *more):
            builder = builder.add_extension(extension, critical=extension is limits)
        return builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    hosts = [x509.DNSName(name) for name in names]
    written = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    leaf = certificate(harbour, 1, False, x509.SubjectAlternativeName(hosts))
    file = folder / "own.pem"
    file.write_bytes(written + leaf + certificate(board, 0, True))
    return file


@dataclass
class Proxy:
    """What the proxy was asked for, and where it is."""

    url: str
    asked: list[str] = field(default_factory=list)
    """The first line of each request."""
    passwords: list[str] = field(default_factory=list)


@contextmanager
def proxy(ports: Mapping[str, int], certificate: Path | None = None) -> Iterator[Proxy]:
    """A proxy that knows these hosts; others get status 502."""
    here = Proxy("")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError), ExitStack() as opened:
            opened.callback(lambda: writer.transport.abort())
            head = await reader.readuntil(b"\r\n\r\n")
            line, _, rest = head.partition(b"\r\n")
            method, target, version = line.decode().split(" ")
            here.asked.append(f"{method} {target}")
            here.passwords += [
                line.decode()
                for line in rest.split(b"\r\n")
                if line.lower().startswith(b"proxy-auth")
            ]
            host = target.removeprefix("http://").partition("/")[0].partition(":")[0]
            if host not in ports:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                writer.close()
                return
            inner, to_server = await asyncio.open_connection("127.0.0.1", ports[host])
            opened.callback(to_server.transport.abort)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await writer.drain()
                context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                context.load_cert_chain(str(certificate))
                await writer.start_tls(context)
            else:
                path = "/" + target.removeprefix("http://").partition("/")[2]
                to_server.write(f"{method} {path} {version}\r\n".encode() + rest)
            await asyncio.gather(_relay(reader, to_server), _relay(inner, writer))

    with listening(serve) as port:
        here.url = f"http://127.0.0.1:{port}"
        yield here


async def _relay(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError, ssl.SSLError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    with suppress(OSError, ssl.SSLError):
        target.close()
