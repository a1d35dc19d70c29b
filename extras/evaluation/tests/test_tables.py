"""Tables of made-up facts, researched by a model that answers perfectly from what it is shown."""

from __future__ import annotations

import re
from pathlib import Path

from deep_research_evaluation.tables.facts import Page, TableRequest
from deep_research_evaluation.tables.folder_requests import folder_requests
from deep_research_evaluation.tables.folders import write_documents
from deep_research_evaluation.tables.run import TableRun, run_request
from deep_research_evaluation.tables.web import served
from deep_research_evaluation.tables.web_requests import web_requests

SEED = 1
FEWEST_PAGES = 300
MENDED_OR_MARKED = 0.95
FEW = 8
"""Documents of a folder that are read here; the command reads all of them."""
SOME = 14
"""Rows that are researched over the web here; the command researches all of them."""


def request(name: str) -> TableRequest:
    requests = [*web_requests(SEED), *folder_requests(SEED)]
    [found] = [request for request in requests if request.name == name]
    return found


def some_ferries() -> TableRequest:
    """The head and the first rows of the only list, of which one does not count."""
    whole = request("ferries")
    [page] = whole.pages
    shown = "</tr>".join(page.body.split("</tr>")[: SOME + 1]) + "</tr></table>"
    return whole._replace(entities=whole.entities[:SOME], pages=[page._replace(body=shown)])


def some_museums() -> TableRequest:
    """The pages of the first museums, of which two do not count, and lists without the others."""
    whole = request("museums")
    pages = [*whole.pages[:SOME]]
    links = {f'href="{page.path}"' for page in pages}

    def is_kept(item: str) -> bool:
        return any(link in item for link in links)

    def shortened(page: Page) -> Page:
        items = re.findall("<li>.*?</li>", page.body)
        return page._replace(body=f"<ul>{''.join(filter(is_kept, items))}</ul>")

    lists = [shortened(page) for page in whole.pages if page.is_list]
    return whole._replace(entities=whole.entities[:SOME], pages=[*pages, *lists])


async def over_the_web(asked: TableRequest, tmp_path: Path, planted: float = 0.0) -> TableRun:
    with served(asked.pages) as web:
        return await run_request(asked, web, tmp_path / "none", planted)


def test_the_same_seed_gives_the_same_facts_and_another_one_others() -> None:
    assert web_requests(SEED) == web_requests(SEED)
    assert folder_requests(SEED) == folder_requests(SEED)
    assert web_requests(SEED) != web_requests(SEED + 1)
    assert sum(len(found.pages) for found in web_requests(SEED)) >= FEWEST_PAGES


async def test_all_that_a_model_is_shown_of_the_web_is_in_the_table(tmp_path: Path) -> None:
    score = (await over_the_web(some_ferries(), tmp_path)).score
    assert (score.rows, score.precision, score.recall) == (SOME - 1, 1, 1)
    assert (score.right, score.marked, score.missing, score.wrong) == (score.cells, 0, 0, ())


async def test_wrong_cells_of_a_model_are_mended_or_marked(tmp_path: Path) -> None:
    score = (await over_the_web(some_museums(), tmp_path, planted=0.3)).score
    assert (score.rows, score.precision, score.recall) == (SOME - 2, 1, 1)
    assert score.planted
    assert score.mended + score.planted_marked >= MENDED_OR_MARKED * score.planted
    assert len(score.wrong) == score.planted - score.mended - score.planted_marked


async def test_each_document_of_a_folder_is_a_row_with_all_that_it_says(tmp_path: Path) -> None:
    whole = request("products")
    few = whole._replace(
        entities=[*whole.entities[:FEW], whole.entities[-1]],
        documents=[*whole.documents[:FEW], whole.documents[-1]],
    )
    write_documents(tmp_path / "products", few.documents)
    with served([]) as web:
        score = (await run_request(few, web, tmp_path / "products")).score
    assert (score.rows, score.precision, score.recall) == (FEW, 1, 1)
    assert (score.right, score.marked, score.missing, score.wrong) == (score.cells, 0, 0, ())


async def test_a_table_with_missing_rows_and_wrong_cells_does_not_score_as_right(
    tmp_path: Path,
) -> None:
    """Of the list, the web shows only the head and fourteen rows, one of which does not count; the
    gold of the first row says something else than its page."""
    whole = request("ferries")
    first = whole.entities[0]
    changed = {**first.facts, "Operator": first.facts["Operator"]._replace(expected=frozenset("?"))}
    gold = whole._replace(entities=[first._replace(facts=changed), *whole.entities[1:]])
    with served(some_ferries().pages) as web:
        score = (await run_request(gold, web, tmp_path / "none")).score
    assert (score.found, score.extra) == (13, 0)
    assert score.missing == (score.rows - 13) * 3
    assert len(score.wrong) == 1
