"""Runs requests for tables through the real graph, and shows how good their tables are."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from deep_research import Context, build_graph
from deep_research.core.tables.report_tables import sheets_of
from deep_research_evaluation.tables.facts import TableRequest
from deep_research_evaluation.tables.folder_requests import folder_requests
from deep_research_evaluation.tables.folders import write_documents
from deep_research_evaluation.tables.model import PerfectModel
from deep_research_evaluation.tables.score import TableScore, score_table
from deep_research_evaluation.tables.web import LoopbackWeb, served
from deep_research_evaluation.tables.web_requests import web_requests

_MOST_ROWS = 80
"""More than any request has."""


class TableRun(NamedTuple):
    """The run of a request."""

    name: str
    score: TableScore
    calls: int
    tokens: int
    seconds: float
    notices: tuple[str, ...]
    """What the report says on how complete the table is."""
    text: str
    """The report."""


async def run_requests(names: Sequence[str], seed: int, planted: float) -> list[TableRun]:
    """Run the requests with these names, or all without any; `planted`: share of wrong cells."""
    over_web = web_requests(seed)
    requests = [*over_web, *folder_requests(seed)]
    chosen = [request for request in requests if not names or request.name in names]
    pages = [page for request in over_web for page in request.pages]
    runs = list[TableRun]()
    with served(pages) as web, tempfile.TemporaryDirectory() as folder:
        for request in chosen:
            own = Path(folder, request.name)
            await asyncio.to_thread(write_documents, own, request.documents)
            runs.append(await run_request(request, web, own, planted))
    return runs


async def run_request(
    request: TableRequest, web: LoopbackWeb, folder: Path, planted: float = 0.0
) -> TableRun:
    """Run a request over a web, or over the folder in which its documents are."""
    model = PerfectModel(request=request, planted=planted)
    graph = build_graph("table", checkpointer=InMemorySaver(), store=InMemoryStore())
    context = Context.model_validate(
        {
            "models": model,
            "docs": [folder] if request.documents else (),
            "engines": () if request.documents else (web,),
            "data_dir": folder.parent / "data",
            "allow_private": (web.netloc,),
            "robots": False,
            "earlier": False,
            "clarify": "off",
            "trust_verifier": True,
            "limits": {"max_rows": _MOST_ROWS},
        }
    )
    config: Any = {"configurable": {"thread_id": request.name}, "recursion_limit": 1000}
    begun = time.perf_counter()
    asked = {"messages": [HumanMessage(request.question)]}
    await graph.ainvoke(asked, config, context=context)
    seconds = time.perf_counter() - begun
    values = (await graph.aget_state(config)).values
    report = values["report"]
    sheets = sheets_of(report)
    spent = [cost for cost in values["spending"].values() if cost.input_tokens]
    return TableRun(
        name=request.name,
        score=score_table(request, sheets[0] if sheets else None, model.wrong),
        calls=len(spent),
        tokens=sum(cost.input_tokens + cost.output_tokens for cost in spent),
        seconds=seconds,
        notices=values["run"].notices,
        text=report.text,
    )


def runs_table(runs: Iterable[TableRun]) -> str:
    """Return a Markdown table with a row for each run."""
    lines = [
        "| request | rows | precision | recall | cells | right | marked (right) | marked keys | missing | "
        "wrong, unmarked | planted: mended, marked, left | calls | tokens a row | s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        score = run.score
        left = score.planted - score.mended - score.planted_marked
        values = [
            run.name,
            score.rows,
            f"{score.precision:.1%}",
            f"{score.recall:.1%}",
            score.cells,
            f"{score.right / score.cells:.1%}",
            f"{score.marked} ({score.marked_right})",
            score.marked_keys,
            score.missing,
            len(score.wrong),
            f"{score.planted}: {score.mended}, {score.planted_marked}, {left}",
            run.calls,
            round(run.tokens / score.rows),
            f"{run.seconds:.0f}",
        ]
        lines.append(f"| {' | '.join(map(str, values))} |")
    return "\n".join(lines)
