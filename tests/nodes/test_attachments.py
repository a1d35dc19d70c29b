"""Files in messages: read and cited or named as unread, and stored with their thread only."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from kit.runs import REPORT, lab, research
from kit.server import (
    BERTHS,
    BROKEN,
    FILES,
    QUESTION,
    TARIFF,
    asked,
    block,
    left_of,
    locked,
    packed,
)
from kit.stored_runs import queried
from langgraph.types import Command

from deep_research.app._loops import hand_over
from deep_research.app.embed import ResearchGraph, build_graph, thread_config
from deep_research.core.settings.context import Context
from deep_research.core.store.location import thread_id

PDF = {"type": "file", "data": packed(TARIFF)}
SHAPES: dict[str, dict[str, Any]] = {
    "LangChain": block("tariff.pdf", TARIFF),
    "LangChain before": {
        **PDF,
        "source_type": "base64",
        "mime_type": "application/pdf",
        "filename": "tariff.pdf",
    },
    "Agent Chat UI": {**PDF, "mimeType": "application/pdf", "metadata": {"filename": "tariff.pdf"}},
    "OpenAI": {
        "type": "file",
        "file": {
            "filename": "tariff.pdf",
            "file_data": f"data:application/pdf;base64,{packed(TARIFF)}",
        },
    },
    "OpenAI's responses": {
        "type": "input_file",
        "filename": "tariff.pdf",
        "file_data": packed(TARIFF),
    },
    "Anthropic": {
        "type": "document",
        "title": "tariff.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": packed(TARIFF)},
    },
    "without a name": {"type": "file", "base64": packed(TARIFF), "mime_type": "application/pdf"},
    "text": {
        "type": "text-plain",
        "text": "The mooring fee at Brannock Pier is 47 crowns a night.",
        "title": "a.txt",
    },
}


def context(folder: Path, **settings: Any) -> Context:
    given = {"models": "extractive", "engines": (), "clarify": "off", "data_dir": folder / "data"}
    return Context(**{**given, **settings})


def files(folder: Path) -> list[str]:
    """Names of stored attachments and their indexes."""
    return sorted(
        path.name for path in (folder / "data" / "attachments").rglob("*") if path.is_file()
    )


def text(state: dict[str, Any]) -> str:
    return str(state["messages"][-1].text.replace("\\", ""))


@pytest.fixture(params=["orchestrated"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> ResearchGraph:
    (tmp_path / "database").mkdir()
    return build_graph(request.param, checkpointer=tmp_path / "database" / "runs.sqlite")


@pytest.mark.parametrize(
    "graph", ["orchestrated", pytest.param("planned", marks=pytest.mark.slow)], indirect=True
)
@pytest.mark.fault("R32", logs="WARNING core.reading.documents.pool")
async def test_files_are_cited_or_named_and_go_with_their_thread_and_a_copy_has_its_own(
    graph: ResearchGraph, tmp_path: Path
) -> None:
    config, settings = thread_config("pier"), context(tmp_path)
    saver: Any = graph.checkpointer
    state = await graph.ainvoke(asked(QUESTION, *FILES), config, context=settings)
    assert "47 crowns a night" in text(state) and "44" in text(state)
    cited = {
        source.title
        for source in state["report"].cited((await graph.aget_state(config)).values["sources"])
    }
    names = {Path(key).name for key in state["report"].sources}
    assert names == {"tariff.pdf", "berths.csv"} and len(cited) == 2
    assert "Not read: torn.pdf (" in text(state)
    [first, *_] = state["messages"]
    assert first.content == QUESTION
    kept = {file["name"]: file for file in first.additional_kwargs["deep_research_attached"]}
    assert kept["tariff.pdf"]["sha256"] == hashlib.sha256(TARIFF).hexdigest()
    assert kept["tariff.pdf"]["size"] == len(TARIFF)
    unread = {name: bool(file["reason"]) for name, file in kept.items()}
    assert unread == {"tariff.pdf": False, "berths.csv": False, "torn.pdf": True}
    # No checkpoint contains the bytes, not even the input that LangGraph stores before any node
    # runs.
    assert left_of(TARIFF, BERTHS, BROKEN, folder=tmp_path / "database") == []
    assert left_of(TARIFF, BERTHS, BROKEN, folder=tmp_path / "data") != []
    assert {"tariff.pdf", "berths.csv", "torn.pdf", "index.sqlite"} <= {*files(tmp_path)}
    await hand_over(saver.acopy_thread(thread_id("pier"), "copy"), saver.loop)
    await hand_over(saver.adelete_thread(thread_id("pier")), saver.loop)
    assert files(tmp_path) == ["berths.csv", "tariff.pdf", "torn.pdf"]
    copy: Any = {"configurable": {"thread_id": "copy"}}
    again = await graph.ainvoke(asked("How long is the north berth?"), copy, context=settings)
    assert "31" in text(again)
    # Files that are written to a thread from outside are removed by its next run, too.
    edit = asked("What is the mooring fee at Brannock Pier?", FILES[0])
    await graph.aupdate_state(copy, edit, as_node="__start__")
    state = await graph.ainvoke(None, copy, context=settings)
    assert "47 crowns a night" in text(state) and packed(TARIFF)[:100] not in str(state)
    await hand_over(saver.adelete_thread("copy"), saver.loop)
    assert files(tmp_path) == [] and not [*(tmp_path / "data" / "attachments").iterdir()]
    for table in ("checkpoints", "writes", "store"):
        assert queried(tmp_path / "database" / "runs.sqlite", f"SELECT count(*) FROM {table}") == [
            (0,)
        ]


def test_each_shape_of_a_file_is_read_and_not_kept_without_a_thread(tmp_path: Path) -> None:
    question = "What is the mooring fee at Brannock Pier?"
    state = build_graph("planned").invoke(
        asked(question, *SHAPES.values()), context=context(tmp_path)
    )
    assert "47 crowns a night" in text(state)
    [first, *_] = state["messages"]
    assert first.content == question
    kept = first.additional_kwargs["deep_research_attached"]
    hashes = {shape: file["sha256"] for shape, file in zip(SHAPES, kept, strict=True)}
    words = SHAPES["text"]["text"].encode()
    assert hashes.pop("text") == hashlib.sha256(words).hexdigest()
    assert set(hashes.values()) == {hashlib.sha256(TARIFF).hexdigest()}
    assert [file["reason"] for file in kept] == [""] * len(SHAPES)
    assert files(tmp_path) == []


@pytest.mark.fault("R32")
async def test_unreadable_and_excess_files_are_named(graph: ResearchGraph, tmp_path: Path) -> None:
    blocks = [
        FILES[1],
        block("locked.pdf", locked("a password")),
        block("large.txt", b"x" * 3000, "text/plain"),
        block("archive.zip", b"PK", "application/zip"),
        {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{packed(b'no picture')}"},
        },
        *(block(f"note {number}.txt", b"A note.", "text/plain") for number in range(17)),
        {
            "type": "image",
            "mimeType": "image/png",
            "data": packed(b"none"),
            "metadata": {"name": "dot.png"},
        },
        {"type": "file", "base64": packed(b"none"), "mime_type": "image/png"},
        {"type": "file", "base64": "no base64!", "filename": "odd.pdf"},
        {"type": "file", "file_id": "file-1", "filename": "elsewhere.pdf"},
        {"type": "input_audio", "input_audio": {"data": packed(b"RIFF"), "format": "wav"}},
        block("../../late.txt", b"One too many.", "text/plain"),
    ]
    settings = context(tmp_path, limits={"max_document_bytes": 2000})
    state = await graph.ainvoke(asked(QUESTION, *blocks), thread_config("odd"), context=settings)
    assert "44" in text(state)
    not_read = {unread.path: unread.code for unread in state["report"].audit.not_read}
    assert not_read == {
        "locked.pdf": "encrypted",
        "large.txt": "too large",
        "archive.zip": "unknown format",
        "picture.png": "broken",
        "dot.png": "too many",
        "file.png": "too many",
        "odd.pdf": "broken",
        "elsewhere.pdf": "empty",
        "recording.wav": "unknown format",
        "late.txt": "too many",
    }
    assert (
        "Not read: large.txt (3000 bytes are more than 2000 (limit max_document_bytes))."
        in text(state)
    )


async def test_a_file_sent_during_research_is_found_by_the_next_question(tmp_path: Path) -> None:
    script = [research("When was it lit?"), OSError("gone"), REPORT]
    run = lab(tmp_path, orchestrator=script, data_dir=tmp_path / "data")
    with pytest.raises(OSError, match="gone"):
        await run.ask()
    state = await run.ask(Command(update=asked("And this?", FILES[1])))
    assert (
        "Not read: berths.csv (it arrived during the research; the next question can search it)."
        in (state.messages[-1].text.replace("\\", ""))
    )
    assert "And this?\n\n(Attached: berths.csv (not read).)" in run.calls("orchestrator")[-1].text
    question = asked("How long is the south berth?")
    again = await run.graph.ainvoke(question, thread_config(run.thread), context=context(tmp_path))
    assert "44" in text(again)
