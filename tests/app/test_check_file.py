"""The command `check`: reports from elsewhere, in the forms in which people have them, against what they cite."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import docx
import pytest
from command import Desk
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from judging_model import figure_judge
from langgraph.store.memory import InMemoryStore

from deep_research import Context
from deep_research.app.check_file import check_file
from deep_research.core.evidence.citations.foreign import Target, read_foreign
from deep_research.core.run.errors import DailyLimitReached
from deep_research.core.run.spending import check_account
from deep_research.core.run.store.pages import Pages

LIGHT = "# Skerry Light\n\nThe light was lit for the first time in 1844. It stands 38 metres tall.\n"
KEEPER = "# Keepers\n\nAda Moran kept the light for 21 years.\n"
BODY = "The light was lit in 1844 [1]. It stands 83 metres tall [1]. She kept it for 21 years [2]. It is red [3]."
LIST = "1. Skerry Light, light.md\n2. Keepers: keeper.md\n3. Gone, <http://127.0.0.1:9/gone.html>"
MARKDOWN = f"# The light\n\n{BODY}\n\n## References\n\n{LIST}\n\nWritten by a machine."
WEB = "https://light.example/a_(b).html"


def documents(folder: Path) -> Path:
    folder.mkdir()
    (folder / "light.md").write_text(LIGHT)
    (folder / "keeper.md").write_text(KEEPER)
    return folder


def judged(docs: Path) -> Context:
    models = {"verifier": figure_judge(), "writer": "extractive"}
    return Context.model_validate(
        {"models": models, "verify": "check", "docs": (docs,), "data_dir": docs.parent / "data"}
    )


def html() -> bytes:
    body = BODY.replace("[1]", '<a href="#r1">[1]</a>').replace("[2]", '<sup><a href="#r2">2</a></sup>')
    entries = "".join(
        f"<li>{line.partition('. ')[2].replace('<', '').replace('>', '')}</li>" for line in LIST.split("\n")
    )
    return f"<html><body><h1>The light</h1><p>{body}</p><h2>References</h2><ol>{entries}</ol></body></html>".encode()


def word() -> bytes:
    document = docx.Document()
    document.add_heading("The light", 1)
    document.add_paragraph(BODY)
    document.add_heading("References", 1)
    for line in LIST.split("\n")[:2]:
        document.add_paragraph(line)
    last = document.add_paragraph("3. ")
    link, run = OxmlElement("w:hyperlink"), last.add_run("Gone")
    link.set(qn("r:id"), document.part.relate_to("http://127.0.0.1:9/gone.html", RELATIONSHIP_TYPE.HYPERLINK, True))
    link.append(run._r)
    last._p.append(link)
    document.save(made := BytesIO())
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data"), [("r.md", MARKDOWN.encode()), ("r.html", html()), ("r.docx", word())], ids=["md", "html", "docx"]
)
async def test_each_statement_is_held_against_what_it_cites(tmp_path: Path, name: str, data: bytes) -> None:
    found = await check_file(data, name, judged(documents(tmp_path / "docs")))
    outcomes = [(one.outcome, one.sources) for one in found.statements if one.sources]
    assert [outcome for outcome, _ in outcomes[:1]] == ["supported"]
    assert outcomes[1] in [("contradicted", (1,)), ("not in the source", (1,))]
    assert outcomes[2:] == [("supported", (2,)), ("source not reachable", (3,))]
    assert found.is_wrong and [*found.unread] == [3]
    text = found.markdown()
    assert "It stands 83 metres tall [1]. *(not verified)*" in text.replace("\u00a0", " ")
    assert "It is red [3]. *(" not in text and "Not read: source 3" in text
    assert "| Statement | Verdict | Sources | Passage |" in text


async def test_what_only_an_unread_source_can_decide_is_neither_wrong_nor_marked(tmp_path: Path) -> None:
    both = MARKDOWN.replace("83 metres tall [1]", "83 metres tall [1][3]").replace("21 years [2]", "33 years [2]")
    found = await check_file(both.encode(), "r.md", judged(documents(tmp_path / "docs")))
    assert [one.outcome for one in found.statements if one.sources][1:] == [
        *("source not reachable", "not in the source", "source not reachable"),
    ]
    assert found.report.audit and found.report.audit.marked == 1
    assert "83 metres tall [1][3]. She kept it for 33 years [2]. *(not verified)* It is red [3]." in found.report.text


async def test_what_a_check_costs_is_charged_to_the_user_of_the_server(tmp_path: Path) -> None:
    context = judged(documents(tmp_path / "docs")).model_copy(update={"user_daily_tokens": 1})
    account = Pages(InMemoryStore(), "", "alice")
    await check_account(account, context)
    await check_file(MARKDOWN.encode(), "r.md", context, account=account)
    with pytest.raises(DailyLimitReached):
        await check_account(account, context)


@pytest.mark.parametrize(
    "text", ["1." + " " * 60_000, "x" + " " * 60_000 + "y", "1. " + "word " * 20_000, "[" * 60_000]
)
def test_a_hostile_report_is_read_at_once(text: str) -> None:
    assert not read_foreign(f"{text}\n[1](http://a.example/{'a' * 60_000}").targets.keys() - {1}


def test_without_a_model_numbers_are_looked_for(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    documents(desk.docs)
    (tmp_path / "report.md").write_text(MARKDOWN)
    given = ("check", str(tmp_path / "report.md"), "--docs", str(desk.docs), "--model", "extractive")
    ended = desk.call(*given, "--format", "json")
    data = json.loads(ended.out)
    assert ended.code == 1
    counts = {"numbers found": 2, "numbers not found": 1, "source not reachable": 1, "no source": 1}
    assert data["counts"] == counts
    (tmp_path / "report.md").write_text(MARKDOWN.replace("83", "38"))
    ended = desk.call(*given, "--out", str(tmp_path / "checked.html"))
    assert ended.code == 0 and "2 numbers found; 1 supported" in ended.err
    assert "The light was lit in 1844" in (tmp_path / "checked.html").read_text("utf-8")


def test_a_report_that_cannot_be_read_is_a_mistake_in_the_call(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "empty.md").write_text(" ")
    (tmp_path / "broken.docx").write_text("no archive")
    for name, words in {"none.md": "No such file", "empty.md": "no text", "broken.docx": "cannot be read"}.items():
        ended = desk.run("check", name, "--model", "extractive")
        assert (ended.code, words in ended.err, "Traceback" in ended.err) == (2, True, False), ended.err
    piped = desk.run("check", "-", "--model", "extractive", stdin=None, input="It was lit in 1844.")
    assert piped.code == 0 and "It was lit in 1844." in piped.out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Lit in 1844 [[1]]({WEB}).", "Lit in 1844 [1]."),
        (f'Lit in 1844 [7]({WEB} "a title").', "Lit in 1844 [7]."),
        (f"Lit [in 1844]({WEB}).", "Lit in 1844 [1]."),
        (f"Lit in 1844 ({WEB}).", "Lit in 1844 [1]."),
        (f"Lit in 1844 【1】.\n\n**Sources**\n\n【1】 The light: {WEB}", "Lit in 1844 [1]."),
        (f"Lit in 1844.[^1]\n\n[^1]: The light, {WEB}", "Lit in 1844.[1]"),
        (f"Lit in 1844 [1](#s).\n\n## Sources\n\n[1] The light  \n{WEB}\n", "Lit in 1844 [1]."),
        (f"Lit in 1844 [2].\n\n### 来源\n\n- [2] The light: {WEB}", "Lit in 1844 [2]."),
    ],
)
def test_the_forms_of_citations_are_read(text: str, expected: str) -> None:
    found = read_foreign(text)
    assert found.text == expected
    assert [target.address for target in found.targets.values()] == [WEB]


def test_a_number_whose_link_names_another_source_than_the_list_gets_one_of_its_own() -> None:
    found = read_foreign(f"A [[1]](https://other.example/) and B [1].\n\n## Sources\n\n1. Light: {WEB}\n2. Two: two.md")
    assert found.text == "A [3] and B [1]."
    assert found.targets[3] == Target("", "https://other.example/") and found.targets[2].address == "two.md"


def test_a_list_in_the_text_and_what_follows_the_sources_stay() -> None:
    steps = "1. Open the door.\n2. Read the sign."
    found = read_foreign(f"{steps}\n\nDone [1].\n\n## Sources\n\n1. Light: {WEB}\n\nThe end.")
    assert found.text == f"{steps}\n\nDone [1].\n\nThe end."


def test_numbered_points_with_links_are_no_list_of_sources() -> None:
    points = f"1. It was lit in 1844 ([register]({WEB})).\n2. It is 38 m tall [survey](https://survey.example/)."
    found = read_foreign(points)
    assert found.text == "1. It was lit in 1844 (register [1]).\n2. It is 38 m tall survey [2]."
    assert [one.address for one in found.targets.values()] == [WEB, "https://survey.example/"]
