"""The server searches by engines that its operator names, dotted names among them, and imports nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from server import GRAPH, ROOT, WATCH, Server, said

pytestmark = pytest.mark.slow

ARCHIVE = '''
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class Archive(BaseRetriever):
    """A retriever of the operator's."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("The Skerry Light was repainted in 1901.", metadata={"title": "The painters' log"})]
'''
LISTED = "archive_there:Archive"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "archive_there.py").write_text(ARCHIVE)
    (tmp_path / "trap_there.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'sprung')!r}).touch()\n")
    folders = os.pathsep.join(map(str, (WATCH, ROOT / "tests", tmp_path)))
    server = Server(tmp_path, DEEP_RESEARCH_ENGINES=LISTED, PYTHONPATH=folders)
    server.start()
    yield server
    server.stop()


@pytest.mark.fault("R27")
def test_a_foreign_dotted_name_is_refused_by_name_and_the_operators_engine_serves(server: Server) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        assert client.get("/research/offer").json()["engines"] == [LISTED]
        thread = client.post("/threads", json={}).json()["thread_id"]
        run = {"assistant_id": GRAPH, "input": said("When was the Skerry Light repainted?")}
        for name in ("trap_there:Trap", "os:system"):
            for given in ({"context": {"engines": [name]}}, {"config": {"configurable": {"engines": [name]}}}):
                answer = client.post(f"/threads/{thread}/runs/wait", json={**run, **given})
                assert (answer.status_code, f"engines: '{name}' is none of the engines" in answer.text) == (422, True)
        values = client.post(f"/threads/{thread}/runs/wait", json={**run, "context": {"engines": [LISTED]}}).json()
        sources = client.get(f"/threads/{thread}/state").json()["values"]["sources"].values()
    assert "1901" in values["report"]["text"]
    assert [source["engines"] for source in sources if source["engines"]] == [[LISTED]]
    assert not (server.folder / "sprung").exists()
    assert [line for line in server.complaints() if "422" not in line] == [], "nothing blocked, nothing else failed"
