"""What every test may rely on: no network, no settings from outside, a data folder of its own."""

from __future__ import annotations

import gc
import ipaddress
import logging
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    # They import the package, which waits for `pytest_configure`.
    from kit.commands import Desk
    from kit.engines import Directories, SearchApi
    from kit.files import Papers
    from kit.server import Server
    from kit.web import Web
    from kit.wire import Wires
    from langgraph_sdk.client import LangGraphClient

ROOT = Path(__file__).resolve().parents[1]
FOREIGN_SETTINGS = (
    *("DEEP_RESEARCH_", "OPENAI_", "LANGCHAIN_", "LANGSMITH_"),
    *(f"{path.stem.upper()}_" for path in (ROOT / "tools" / "engines").glob("[!_]*.py")),
)
ENGINES = ("DUCKDUCKGO_URL", "WIKIPEDIA_URL", "ARXIV_URL")
DIRECTORIES = (
    "CROSSREF_URL",
    "EUROPEPMC_URL",
    "INTERNETARCHIVE_URL",
    "OPENALEX_URL",
    "UNPAYWALL_URL",
)
NAME_LOOKUPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
TRANSFERS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
REACHING_OUT = NAME_LOOKUPS | TRANSFERS
EXAMPLES = 10
"""So many does hypothesis try where nobody waits for CI, unless a test says how many it needs."""
NEW_OBJECTS = 10_000
"""So many are made before the youngest are searched for garbage."""
AUTHORITY = ROOT / "tests" / "kit" / "authority.pem"
"""A certificate of nobody."""
CHROMIUM = Path("/usr/bin/chromium")
MEMORY = Path("/dev/shm")
"""Folder of files that are kept in memory, on Linux."""
ROOM_BYTES = 2_000_000_000
"""What has to be free there; a whole run of the tests needs a fraction of it."""

refused: list[str] = []


class OutsideConnection(AssertionError):
    """A test reached for an address other than loopback."""


def is_ours(host: Any, *, is_lookup: bool) -> bool:
    """Whether the host is this computer; looking up an address that is a number asks nobody."""
    name = host.decode() if isinstance(host, bytes) else host
    if not name or not isinstance(name, str) or name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return is_lookup or address.is_loopback


def refuse_outside(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise where the interpreter is about to look up a name or reach an address of the network."""
    # The interpreter reports millions of other events.
    if event not in REACHING_OUT:
        return
    if event in NAME_LOOKUPS:
        host = arguments[0]
    else:
        host = arguments[1][0] if isinstance(arguments[1], tuple) else None
    if not is_ours(host, is_lookup=event in NAME_LOOKUPS):
        refused.append(f"{event} {host!r}")
        raise OutsideConnection(f"{event} to {host!r}: tests reach loopback only")


def write_to_memory() -> None:
    """Let tests and their commands put their files into memory: on a disk, databases spend their
    time in waiting."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    system = os.statvfs(MEMORY)
    # Some tests write programs and run them.
    if not system.f_flag & os.ST_NOEXEC and system.f_bavail * system.f_frsize > ROOM_BYTES:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def pytest_configure(config: pytest.Config) -> None:
    """Set up the process before any test module, and with it any library, is imported."""
    for name in [
        name
        for name in os.environ
        if name.startswith(FOREIGN_SETTINGS) or name.lower().endswith("_proxy")
    ]:
        del os.environ[name]
    write_to_memory()
    os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
    os.environ["LANGSMITH_TRACING"] = "false"
    # DuckDuckGo is asked past Python's own sockets, where nobody refuses it.
    os.environ.update(dict.fromkeys(ENGINES + DIRECTORIES, "http://127.0.0.1:9/"))
    # Reading the certificates of all authorities takes each HTTP client 30 ms, and no site that they
    # vouch for is reached.
    os.environ["SSL_CERT_FILE"] = str(AUTHORITY)
    os.environ.pop("SSL_CERT_DIR", None)
    # A verifier is tried by the tests of the trial alone.
    os.environ["DEEP_RESEARCH_TRUST_VERIFIER"] = "true"
    # A browser is started by the tests of the browser alone.
    os.environ["DEEP_RESEARCH_BROWSER"] = "off"
    # A `.env` in the checkout is its owner's.
    os.environ["PYTHON_DOTENV_DISABLED"] = "true"
    # A shell lets what it starts in the background ignore Ctrl-C, and so would every command that a
    # test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.addaudithook(refuse_outside)
    if runs_tests(config):
        set_up_hypothesis()
        gc.disable()


def runs_tests(config: pytest.Config) -> bool:
    """Whether this process runs tests itself instead of handing them to xdist's workers."""
    return hasattr(config, "workerinput") or not config.getoption("numprocesses", None)


def set_up_hypothesis() -> None:
    """Load the settings of property tests."""
    import hypothesis

    is_ci = "CI" in os.environ
    hypothesis.settings.register_profile(
        "suite",
        deadline=None,
        database=None,
        derandomize=is_ci,
        max_examples=100 if is_ci else EXAMPLES,
        # A busy machine is slow, whatever the data.
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("suite")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the further cases of sweeps as slow, before slow tests are left out."""
    cases = Counter[str]()
    for item in items:
        sweep = item.get_closest_marker("sweep")
        if not sweep:
            continue
        test, _, _ = item.nodeid.partition("[")
        cases[test] += 1
        if cases[test] > sweep.kwargs.get("first", 1):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make: what was imported by now stays, and is most of all
    there is."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Collect the garbage once: pytest looks five more times, at whatever is not frozen."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of all runs that name none."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP_RESEARCH_DATA_DIR", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def refusals() -> Iterator[list[str]]:
    """Fail the test whose code reached outside and swallowed the refusal."""
    refused.clear()
    yield refused
    assert not refused, f"reached outside: {refused}"


@pytest.fixture(autouse=True)
def logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test of a fault that leaves no record in the log where its mark says that it does."""
    expected = {
        mark.kwargs["logs"] for mark in request.node.iter_markers("fault") if "logs" in mark.kwargs
    }
    if not expected:
        yield
        return
    caplog: pytest.LogCaptureFixture = request.getfixturevalue("caplog")
    with caplog.at_level(logging.INFO, logger="deep_research"):
        yield
    left = {
        f"{record.levelname} {record.name.removeprefix('deep_research.')}"
        for record in caplog.get_records("call")
    }
    assert expected <= left, f"logged: {sorted(left)}"


@pytest.fixture
def shared_data() -> Path:
    """Real documents beside the repository, for the tests that need them."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no shared data beside the repository")
    return folder


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchApi]:
    """A search server, and the environment that leads to it."""
    from kit.engines import search_api

    with search_api() as api:
        for name, value in api.environment().items():
            monkeypatch.setenv(name, value)
        yield api


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    """A web on loopback."""
    from kit.web import hostile_web

    with hostile_web() as web:
        yield web


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[Directories]:
    """Directories of papers, and the environment that leads to them."""
    from kit.engines import PATHS, Directories
    from kit.web import hostile_web

    with hostile_web() as web:
        for name, path in PATHS.items():
            monkeypatch.setenv(name, web.url(path))
        yield Directories(web)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A folder in which the command is called, with documents."""
    from kit.commands import desk_in

    return desk_in(tmp_path)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with the finished run `light`."""
    from kit.commands import desk_in
    from kit.runs import QUESTION

    desk = desk_in(tmp_path_factory.mktemp("library"))
    assert desk.call("ask", QUESTION, "--docs", str(desk.docs), "--thread", "light").code == 0
    return desk


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    """A client of the server of the test's module, which needs no token."""
    async with server.client() as client:
        yield client


@pytest.fixture
async def alice(server: Server) -> AsyncIterator[LangGraphClient]:
    """A client of one of the server's users."""
    from kit.server import ALICE

    async with server.client(ALICE) as client:
        yield client


@pytest.fixture
async def bob(server: Server) -> AsyncIterator[LangGraphClient]:
    """A client of another one."""
    from kit.server import BOB

    async with server.client(BOB) as client:
        yield client


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser that is started; where there is none, its tests are skipped. Its loop is no place
    for async tests."""
    if not CHROMIUM.exists():
        pytest.skip("there is no Chromium here")
    with pytest.importorskip("playwright.sync_api").sync_playwright() as driver:
        arguments = [
            "--no-sandbox",
            "--disable-background-networking",
            "--disable-component-update",
        ]
        started = driver.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        yield started
        started.close()


@pytest.fixture(scope="module")
def barriers_of() -> Callable[[Any], list[tuple[str, str]]]:
    """Names what keeps people from using a page in a browser, each with the first element that
    does."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def barriers(page: Any) -> list[tuple[str, str]]:
        found = axe.run(page).response["violations"]
        serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
        return [(fault["id"], fault["nodes"][0]["html"]) for fault in serious]

    return barriers


@pytest.fixture
def wires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wires:
    """Servers for whole runs, whose files are in the folder of the test."""
    from kit.wire import wire_lab

    return partial(wire_lab, tmp_path, monkeypatch)


@pytest.fixture
def papers(tmp_path: Path) -> Papers:
    """A folder of three documents."""
    from kit.files import Papers

    return Papers.filled(tmp_path)
