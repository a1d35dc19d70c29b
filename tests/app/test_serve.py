"""`deep-research serve` starts the server with its page, or names the setting to change."""

from __future__ import annotations

import queue
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from kit.commands import SECONDS, Desk
from kit.engines import Answer, serving
from kit.runs import write_documents
from kit.server import said
from kit.web import Request
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import UnprocessableEntityError

ADDRESS = re.compile(r"Web page: (http://127\.0\.0\.1:\d+)/#token=(\S+)")


@contextmanager
def served(desk: Desk, **environment: str) -> Iterator[tuple[str, str]]:
    """Address and token of a running server; checks that stopping it prints no traceback."""
    process = desk.start("serve", **environment)
    said_by_it = ""
    try:
        assert process.stderr is not None
        while not (found := ADDRESS.search(said_by_it)):
            line = process.stderr.readline()
            assert line, said_by_it
            said_by_it += line
        yield found[1], found[2]
    finally:
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=SECONDS)
    assert process.returncode in (0, 130)
    assert "Traceback" not in said_by_it + rest


@pytest.mark.slow
def test_serve_shows_the_page_and_the_documents_after_the_demo(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    demo = desk.data / "demo" / "lighthouses"
    demo.mkdir(parents=True)
    write_documents(demo)
    with served(desk) as (url, token):
        assert "<title>Deep Research</title>" in httpx.get(url, timeout=SECONDS).text
        assert httpx.get(f"{url}/research/offer", timeout=SECONDS).status_code == 401
        headers = {"X-Api-Key": token}
        offered = httpx.get(f"{url}/research/offer", headers=headers, timeout=SECONDS).json()
        assert (offered["user"], [folder["name"] for folder in offered["docs"]]) == (
            "local",
            ["lighthouses"],
        )
        with get_sync_client(url=url, api_key=token) as client:
            thread = client.threads.create()["thread_id"]
            client.runs.wait(thread, "deep_research", input=said("When was the Skerry Light lit?"))
        (run,) = httpx.get(f"{url}/research/runs", headers=headers, timeout=SECONDS).json()
        assert (run["thread"], run["status"]) == (thread, "completed")
        report = httpx.get(f"{url}/research/runs/{thread}/export", headers=headers, timeout=SECONDS)
        assert "1844" in report.text
        refused = httpx.get(
            f"{url}/research/runs/{thread}/export?format=odt", headers=headers, timeout=SECONDS
        )
        assert (refused.status_code, "unknown format 'odt'" in refused.text) == (422, True)
    assert thread[:6] in desk.run("runs").out


@pytest.mark.fault("R27", 63)
@pytest.mark.slow
def test_the_end_of_a_run_is_posted_to_hosts_that_the_operator_named_and_to_no_other(
    tmp_path: Path,
) -> None:
    desk, calls = Desk(tmp_path), queue.Queue[Request]()
    write_documents(tmp_path / "homes" / "local")
    targets = dict[str, str]()

    def heard(request: Request) -> Answer:
        calls.put(request)
        target = targets.get(request.target)
        return Answer(status=307, headers={"Location": target}) if target else Answer()

    with serving(heard) as receiver, serving(lambda _: Answer()) as other_port:
        targets |= {"/away": f"{other_port.url}/", "/near": f"{receiver.url}/arrived"}
        host = receiver.url.removeprefix("http://")
        settings = {
            "DEEP_RESEARCH_SERVER_WEBHOOK_HOSTS": host,
            "DEEP_RESEARCH_DOCS": "homes/{user}",
        }
        with (
            served(desk, **settings) as (url, token),
            get_sync_client(url=url, api_key=token) as client,
        ):
            thread, question = (
                client.threads.create()["thread_id"],
                said("When was the Skerry Light lit?"),
            )
            for other in (
                f"http://u:p@{host}/",
                "http://127.0.0.1:1/",
                "https://hooks.example/",
                "/threads",
            ):
                with pytest.raises(
                    UnprocessableEntityError, match="DEEP_RESEARCH_SERVER_WEBHOOK_HOSTS"
                ):
                    client.runs.create(thread, "deep_research", input=question, webhook=other)
            client.runs.wait(
                thread, "deep_research", input=question, webhook=f"{receiver.url}/done?key=1"
            )
            call = calls.get(timeout=SECONDS)
            # The second call is made after the redirect of the first one was refused.
            seen = list[str]()
            for target in ("/away", "/near"):
                webhook = f"{receiver.url}{target}"
                client.runs.wait(thread, "deep_research", input=question, webhook=webhook)
                seen.append(calls.get(timeout=SECONDS).target)
            seen.append(calls.get(timeout=SECONDS).target)
    assert (seen, other_port.requests) == (["/away", "/near", "/arrived"], [])
    assert (call.target, call.json["thread_id"], call.json["status"]) == (
        "/done?key=1",
        thread,
        "success",
    )
    assert "1844" not in call.body.decode() and "Skerry" not in call.body.decode()


def test_serve_refuses_wrong_settings_before_it_starts(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    write_documents(desk.docs)
    missing = desk.call("serve", "--docs", str(tmp_path / "nowhere"))
    assert (missing.code, "nowhere" in missing.err) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for folders in (str(desk.docs), str(tmp_path / "homes" / "{user}")):
            busy = desk.call("serve", "--docs", folders, "--port", port)
            assert (busy.code, f"--port {port}" in busy.err) == (2, True)
    others = desk.call("serve", "--docs", str(desk.docs), "--host", "0.0.0.0")
    assert (others.code, "DEEP_RESEARCH_SERVER_TOKENS" in others.err) == (2, True)
