"""One passage that a provider's content filter refuses is left out and named; the run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.openai_server import Received, Reply, fail
from kit.wire import Wires
from langchain_core.messages import ToolMessage

from deep_research.core.models._passages import ShownPassage
from deep_research.core.models.ask import Withheld
from deep_research.prompts import fence

POISON = "zzpoison"
BLOCKED = fail(400, "Filtered due to the content management policy", code="content_filter")
TEXTS = {
    "light.md": "# The light\n\nThe Skerry Light was lit for the first time in 1844.\n",
    "lamp.md": f"# The lamp\n\nThe lamp of the Skerry Light burned {POISON} oil from 1844 on.\n",
    "keeper.md": "# The keeper\n\nAda Moran kept the Skerry Light from 1901 to 1932.\n",
}
RESULTS = (
    '{"results": [{"document": 1, "title": "The light", "address": "a", "text": "Lit in 1844."}, '
    '{"document": 2, "title": "The lamp", "address": "b", "text": "It burned.", "links": []}], '
    '"problems": []}'
)
QUICK = "Source [1]:\n\nLit in 1844.\n\nIt is white.\n\nSource [4]:\n\nIt burned."


def filtered(reply: Reply, request: Received) -> Reply:
    return BLOCKED if POISON in request.prompt else reply


async def test_only_the_refused_document_is_left_out_and_named(
    wires: Wires, tmp_path: Path
) -> None:
    docs = tmp_path / "papers"
    docs.mkdir()
    for name, text in TEXTS.items():
        (docs / name).write_text(text)
    with wires(habit=filtered, docs=(docs,), engines=()) as wire:
        state = await wire.ask("When was the Skerry Light lit, and which lamp did it have?")
        shown = [request.prompt for request in wire.requests("finding")]
    assert state.report
    assert "The lamp; the provider of the model refuses such text" in state.messages[-1].text
    accepted = [prompt for prompt in shown if POISON not in prompt]
    assert accepted and all("for the first time in 1844" in prompt for prompt in accepted)


@pytest.mark.parametrize(
    ("text", "titles", "kept"),
    [(RESULTS, ["The light", "The lamp"], "Lit in 1844."), (QUICK, ["source 1", "source 4"], "white")],
)  # fmt: skip
def test_each_passage_of_a_result_can_be_left_out(text: str, titles: list[str], kept: str) -> None:
    whole = ToolMessage(fence(text), tool_call_id="c")
    passages = ShownPassage.all_in(whole)
    assert len(passages) == 2 and Withheld.of([whole]).titles == ()
    rest = passages[1].taken_out(whole)
    assert Withheld.of([rest]).titles == (titles[1],)
    assert kept in rest.text and "It burned." not in rest.text
    assert rest.text.splitlines()[0] == whole.text.splitlines()[0]
    assert rest.text.splitlines()[-1] == whole.text.splitlines()[-1]
    assert [passage.position for passage in ShownPassage.all_in(rest)] == [0]


@pytest.mark.parametrize("text", ["Noted.", "{broken", '["a"]', '{"results": 3}', "It burned {1}."])
def test_a_result_without_a_list_of_passages_has_none(text: str) -> None:
    assert ShownPassage.all_in(ToolMessage(text, tool_call_id="c")) == []
