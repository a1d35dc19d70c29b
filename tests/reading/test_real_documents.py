"""Real questions over real documents: every quoted sentence is in the file that its citation opens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit.files import quotations, stands_in_its_file

from deep_research import Context, build_graph
from deep_research.app.commands import DOCUMENTS, QUESTION

pytestmark = pytest.mark.slow

QUESTIONS = 3


async def report_on(question: str, folder: Path, data: Path) -> str:
    context = Context(docs=(folder,), models="extractive", data_dir=data, clarify="assume")
    result = await build_graph().ainvoke({"messages": [("user", question)]}, context=context)
    return str(result["messages"][-1].text)


async def test_the_demo_cites_at_least_three_documents_and_each_sentence_is_found_in_its_own(tmp_path: Path) -> None:
    found = quotations(await report_on(QUESTION, DOCUMENTS, tmp_path / "data"))
    assert len(found) >= 5
    assert len({quotation.path for quotation in found}) >= 3
    assert [quotation for quotation in found if not stands_in_its_file(quotation)] == []


async def test_reports_over_four_kinds_of_files_quote_what_stands_there(shared_data: Path, tmp_path: Path) -> None:
    corpus = shared_data / "multihop" / "corpus"
    lines = (shared_data / "multihop" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines[:QUESTIONS]:
        found = quotations(await report_on(json.loads(line)["question"], corpus, tmp_path))
        assert found, line
        assert [quotation for quotation in found if not stands_in_its_file(quotation)] == []
