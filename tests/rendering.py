"""Pages that are empty without their scripts, an attack among them, and what a browser leaves behind."""

from __future__ import annotations

import json
import os
import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from web import Web

from deep_research.core.reading.fetch import Resolver
from deep_research.core.reading.records import Unread
from deep_research.core.reading.web_page import WebReader
from deep_research.core.run.context import Context
from deep_research.core.run.limits import Limits

CHROMIUM = Path("/usr/bin/chromium")
# Tests may run as root, and in containers.
BROWSER = f"{CHROMIUM} --no-sandbox"
SECONDS = 60
"""Until what was killed must have ended, on a busy machine."""
SHELL = """<!doctype html><html><head><title>App</title><link rel=stylesheet href=/app.css></head><body>
<div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript>
<script type=module src=/app.js></script></body></html>"""
APP = """const facts = await (await fetch("/facts.json")).json();
document.title = facts.title;
document.querySelector("#root").innerHTML = `<h1>${facts.title}</h1><p>${facts.text}</p><a href=/more>More</a>`;"""
ATTACK = """
const tried = [];
const ask = async (name, attempt) => {
    try { tried.push(`${name}: got ${await attempt()}`); } catch { tried.push(`${name}: refused`); }
};
const add = (kind, fields) => document.body.appendChild(Object.assign(document.createElement(kind), fields));
for (const href of ADDRESSES) {
    await ask(href, async () => (await fetch(href, {mode: "no-cors"})).type);
    for (const kind of ["iframe", "img", "script", "embed"]) add(kind, {src: href});
    for (const rel of ["prefetch", "preconnect", "dns-prefetch", "manifest"]) add("link", {rel, href});
    window.open(href);
    try { navigator.sendBeacon(href, "x"); } catch {}
}
const opened = (thing) => new Promise((yes, no) => { thing.onopen = yes; thing.onerror = no; });
await ask("socket", () => opened(new WebSocket("ws://INNER/")));
await ask("events", () => opened(new EventSource("http://INNER/")));
await ask("post", async () => (await fetch("/posted", {method: "POST", body: "x"})).status);
await ask("service worker", async () => {
    const worker = await navigator.serviceWorker.register("/sw.js");
    return worker.active || worker.installing;
});
await ask("worker", () => new Promise((yes, no) => {
    const code = `fetch("http://INNER/x", {mode: "no-cors"}).then(() => postMessage(1), () => postMessage(0))`;
    new Worker(URL.createObjectURL(new Blob([code]))).onmessage = (event) => event.data ? yes() : no();
}));
const peer = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:UDP"}]});
peer.createDataChannel("x");
await peer.setLocalDescription(await peer.createOffer());
await ask("peer", () => new Promise((yes, no) => {
    peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && no();
}));
add("a", {href: "data:text/plain,x", download: "left.txt"}).click();
alert("1"); confirm("2"); prompt("3");
location = "http://INNER/";
add("form", {action: "file:///etc/passwd"}).submit();
for (const innerText of tried) add("p", {innerText});
"""
"""Tries all addresses in each way there is, then shows what came of it: so many lines more than addresses."""
FURTHER_TRIES = 6


def publish_app(web: Web, path: str, title: str, text: str) -> str:
    """A page that is empty until its script has fetched its text."""
    web.publish("/app.js", APP, content_type="text/javascript")
    web.publish("/facts.json", json.dumps({"title": title, "text": text}), content_type="application/json")
    return web.publish(path, SHELL)


def page_with(code: str) -> str:
    """A page of a script alone."""
    return f"<html><head><title>App</title></head><body><script type=module>{code}</script></body></html>"


def show(text: str) -> str:
    return f"document.body.append({json.dumps(text)});"


@asynccontextmanager
async def reading(web: Web, resolve: Resolver | None = None, **settings: Any) -> AsyncIterator[WebReader]:
    limits = Limits(**{"page_seconds": 60, "render_seconds": 120, **settings.pop("limits", {})})
    usual = {"allow_private": (web.place,), "robots": False, "browser": BROWSER}
    async with WebReader(Context(limits=limits, **{**usual, **settings}), resolve) as reader:
        yield reader


async def refusal(reader: WebReader, address: str, code: str = "empty shell") -> str:
    with pytest.raises(Unread) as caught:
        await reader.read(address)
    assert caught.value.code == code
    return str(caught.value)


class Traces:
    """What a browser leaves behind: its processes and its files, known by the folder for temporary files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: dict[int, int] = {}

    def processes(self) -> set[int]:
        """All that run with this folder in their environment."""
        return {int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if self._is_ours(path)}

    def _is_ours(self, path: Path) -> bool:
        try:
            # Parsers wait for more to parse.
            is_parser = b"documents.worker" in path.with_name("cmdline").read_bytes()
            return f"TMPDIR={self.folder}".encode() in path.read_bytes() and not is_parser
        except OSError:
            return False

    def see(self) -> int:
        """Remember the processes that run now; returns how many."""
        for number in self.processes() - self._seen.keys():
            self._seen[number] = os.pidfd_open(number)
        return len(self._seen)

    def check(self) -> None:
        """All processes that were seen have ended, no other runs, and no file is left."""
        for descriptor in self._seen.values():
            assert select.select([descriptor], [], [], SECONDS)[0], "a process has not ended"
            os.close(descriptor)
        self._seen.clear()
        assert self.processes() == set()
        assert list(self.folder.rglob("*")) == []
