"""Whole runs over the wire, packet by packet, as they stand in `golden/`; `UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from packet_check import merged
from planned_lab import plan, step
from test_planned_refusals import run
from test_wire_runs import thorough
from wire import wire_lab

from deep_research.app.stream import read_packet

GOLDEN = Path(__file__).parent / "golden"
PASSING = {"call_finished", "documents_indexed", "chat_heartbeat"}
_NAMES = "elapsed_seconds|pre_answer_processing_seconds|seconds|input_tokens|tokens"
VOLATILE = re.compile(rf'"(?:{_NAMES})": [\d.]+|"id": "[0-9a-f]{{16}}-[0-9a-f]{{8}}"')


def lines_of(packets: Iterable[dict[str, Any]], *hidden: tuple[str, str]) -> list[str]:
    """A line a packet in the order of their places, without what differs from run to run."""
    told = merged(read_packet(packet) for packet in packets if packet["type"] not in PASSING)
    lines = [
        f"{'.'.join(map(str, place))} {kind} {json.dumps(said, ensure_ascii=False, sort_keys=True)}"
        for place, of_place in told.items()
        for kind, said in of_place
    ]
    for text, name in hidden:
        lines = [line.replace(text, name) for line in lines]
    return [VOLATILE.sub('"…"', line) for line in lines]


def is_golden(name: str, lines: list[str]) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lines == path.read_text(encoding="utf-8").splitlines()


async def test_an_orchestrated_run_over_the_wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with wire_lab(tmp_path, monkeypatch, {"researcher": thorough}) as wire:
        await wire.ask()
        is_golden("orchestrated", lines_of(wire.packets, (wire.web.url(""), "https://web.example")))


async def test_a_planned_run_over_the_wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = plan(
        step("Skerry Light lit"),
        step("Ada Moran keeper Tralee"),
        step("Port Anlow harbour ferry", after=(1,)),
        step("Compare light and harbour", search=False),
    )
    rules = {
        "make_plan": steps,
        "record_insights": lambda _: {
            "insights": ["It is an old light."],
            "gaps": [{"question": "Who built it?", "relevance": 0.9}],
        },
    }
    packets, _ = await run(tmp_path, monkeypatch, rules)
    told = [packet.model_dump(mode="json") for packet in packets if packet.type != "elapsed_time"]
    is_golden("planned", lines_of(told, ((tmp_path / "docs").as_uri(), "file:///docs")))
